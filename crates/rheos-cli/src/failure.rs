//! How a command ends when it does not end well: in words on standard error, and as an exit code.

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use rheos::{Error, ErrorKind};

/// Why a command did not do what was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A statement or the configuration is wrong; the text is ready to be shown. Exit code 1.
    Wrong(String),
    /// A job failed. Exit code 2.
    Job(Error),
    /// What was to be shown is not so, as has been told already. Exit code 2.
    Told,
    /// Somebody ended it. Exit code 3.
    Interrupted,
    /// Whoever read the results has gone; nothing is left to say.
    ReaderGone,
}

impl Failure {
    /// Something is wrong, said in a sentence.
    pub(crate) fn wrong(message: impl std::fmt::Display) -> Failure {
        Failure::Wrong(format!("error: {message}\n"))
    }

    /// The same, with something more to know about what is wrong.
    pub(crate) fn noting(self, note: &str) -> Failure {
        match self {
            Failure::Wrong(text) => Failure::Wrong(format!("{text}note: {note}\n")),
            other => other,
        }
    }

    /// A job that could not be started: by its kind the configuration is to blame, or the world.
    pub(crate) fn of_start(error: Error) -> Failure {
        match error.kind() {
            ErrorKind::FixConfig => Failure::Wrong(story(&error)),
            _ => Failure::Job(error),
        }
    }

    /// Standard output could not be written.
    pub(crate) fn of_output(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            _ => Failure::Job(Error::restart(format!("standard output cannot be written: {error}")).caused_by(error)),
        }
    }
}

/// Tells how a command, or a statement of a shell, has ended.
pub(crate) fn report(outcome: Result<(), Failure>) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Wrong(text)) => {
            eprint!("{text}");
            ExitCode::from(1)
        }
        Err(Failure::Job(error)) if is_reader_gone(&error) => ExitCode::SUCCESS,
        Err(Failure::Job(error)) => {
            eprint!("{}", story(&error));
            ExitCode::from(2)
        }
        Err(Failure::Told) => ExitCode::from(2),
        Err(Failure::Interrupted) => ExitCode::from(3),
    }
}

/// Whether the job failed because nobody reads what the connector 'print' prints.
fn is_reader_gone(error: &Error) -> bool {
    let mut cause = error.source();
    while let Some(next) = cause {
        if next.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe) {
            return error.to_string().contains("cannot print");
        }
        cause = next.source();
    }
    false
}

/// Help and version go to standard output and are no failure; wrong arguments are.
pub(crate) fn report_usage(usage: &clap::Error) -> ExitCode {
    // Where standard error cannot be written there is no place left to say so.
    drop(usage.print());
    ExitCode::from(u8::from(usage.use_stderr()))
}

/// The error and its causes, each on a line. A cause whose text the line before it contains says nothing new.
fn story(error: &Error) -> String {
    let mut told = error.to_string();
    let mut story = format!("error: {told}\n");
    let mut cause = error.source();
    while let Some(next) = cause {
        let text = next.to_string();
        if !told.contains(&text) {
            // Writing to a text does not fail.
            let _ = writeln!(story, "caused by: {text}");
        }
        told = text;
        cause = next.source();
    }
    if error.kind() == ErrorKind::Bug {
        story.push_str("this is a bug in Rheos, not in your input; please report it with the statement that led here\n");
    }
    story
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let io = io::Error::other("disk full");
        let error = Error::restart("cannot write 'out/part-0': disk full").caused_by(io);
        assert_eq!(story(&error), "error: cannot write 'out/part-0': disk full\n");

        let error = Error::input("line 3: 'x' is no INT").caused_by(Error::input("invalid digit"));
        assert_eq!(story(&error), "error: line 3: 'x' is no INT\ncaused by: invalid digit\n");
    }

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert!(matches!(Failure::of_output(io::ErrorKind::BrokenPipe.into()), Failure::ReaderGone));
        assert!(matches!(Failure::of_output(io::ErrorKind::StorageFull.into()), Failure::Job(_)));
        let broken = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_reader_gone(&Error::restart("Sink: cannot print: broken pipe").caused_by(broken())));
        assert!(!is_reader_gone(&Error::restart("the server has gone").caused_by(broken())));
    }

    #[test]
    fn a_wrong_option_at_the_start_is_not_a_failed_job() {
        assert!(matches!(Failure::of_start(Error::config("no such folder")), Failure::Wrong(_)));
        assert!(matches!(Failure::of_start(Error::restart("no threads")), Failure::Job(_)));
    }
}
