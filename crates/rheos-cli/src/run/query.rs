//! A query whose rows go to standard output as text.

use std::io::{self, Write};
use std::time::Duration;

use rheos::{JobEnd, NoMoreResults, ResultEvent, Running};

use super::form::Form;
use super::jobs::Stop;
use crate::failure::Failure;

/// How much text is gathered while more rows are there already.
const BUFFER_BYTES: usize = 64 * 1024;
/// How often an interruption is looked for while no rows come.
const PATIENCE: Duration = Duration::from_millis(50);

/// Shows the rows of a query until it ends or is interrupted.
pub(crate) fn stream(running: &mut Running, mut form: Form, stop: &Stop<'_>) -> Result<(), Failure> {
    let mut text = String::new();
    form.begin(&mut text);
    let shown = follow(running, &mut form, &mut text, stop);
    if shown.is_err() {
        running.cancel();
        drain(running);
    }
    let end = running.wait();
    shown?;
    finished(end.map_err(Failure::Job)?)?;
    form.end(&mut text).map_err(Failure::Job)?;
    flush(&mut text)
}

/// Whether a job that did not fail has done all it was to do.
pub(crate) fn finished(end: JobEnd) -> Result<(), Failure> {
    match end {
        JobEnd::Finished => Ok(()),
        JobEnd::Cancelled => Err(Failure::Interrupted),
        JobEnd::Stopped { savepoint } => {
            eprintln!("stopped with the savepoint of epoch {savepoint}: --restore goes on from there");
            Err(Failure::Interrupted)
        }
    }
}

/// Takes what a cancelled query still gives, so that it need not wait for a reader to end.
pub(crate) fn drain(running: &mut Running) {
    while running.next_result().is_some() {}
}

fn follow(running: &mut Running, form: &mut Form, text: &mut String, stop: &Stop<'_>) -> Result<(), Failure> {
    let mut wait = PATIENCE;
    loop {
        if stop.ends(running) {
            return Err(Failure::Interrupted);
        }
        match running.next_result_within(wait) {
            Ok(Some(ResultEvent::Rows(batch))) => {
                form.rows(&batch, text).map_err(Failure::Job)?;
                wait = Duration::ZERO;
            }
            Ok(Some(ResultEvent::Watermark(_))) => {}
            Ok(None) => {
                flush(text)?;
                wait = PATIENCE;
            }
            Err(NoMoreResults) => return flush(text),
        }
        if text.len() >= BUFFER_BYTES {
            flush(text)?;
        }
    }
}

fn flush(text: &mut String) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::of_output)?;
    text.clear();
    Ok(())
}
