//! Ctrl-C and SIGTERM: the first asks jobs to end cleanly, the second ends the process. In a shell Ctrl-C only ever ends the job,
//! and SIGTERM the shell.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rheos_core::env::system_monotonic_ns;
use tokio::signal::unix::{SignalKind, signal};

/// The exit code of an interrupted command.
const INTERRUPTED: i32 = 3;
/// What comes within this time after the first signal is the same one: `timeout` of the GNU coreutils sends SIGTERM to the
/// process and again to its group.
const SAME_NS: u64 = 300_000_000;

/// Whether somebody wants the command to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    /// When it was asked for first, on the monotonic clock; 0: not yet.
    requested_ns: Arc<AtomicU64>,
    listening: Arc<AtomicBool>,
    told: Arc<AtomicBool>,
    /// Of a shell: whether something runs that a signal can end.
    shell: Option<Arc<ShellState>>,
}

/// What signals mean to a shell.
#[derive(Debug, Default)]
struct ShellState {
    is_busy: AtomicBool,
    is_terminated: AtomicBool,
}

impl Interrupt {
    /// One of a shell, which outlives its jobs.
    pub(crate) fn of_shell() -> Interrupt {
        Interrupt { shell: Some(Arc::default()), ..Interrupt::default() }
    }

    /// Whether it is one of a shell: then asking twice does no more than asking once.
    pub(crate) fn is_of_shell(&self) -> bool {
        self.shell.is_some()
    }

    /// A statement of a shell begins: from now on signals are for it.
    pub(crate) fn begin_statement(&self) {
        self.requested_ns.store(0, Ordering::Relaxed);
        self.told.store(false, Ordering::Relaxed);
        self.shell.iter().for_each(|shell| shell.is_busy.store(true, Ordering::Relaxed));
    }

    /// The statement has ended.
    pub(crate) fn end_statement(&self) {
        self.shell.iter().for_each(|shell| shell.is_busy.store(false, Ordering::Relaxed));
    }

    /// Whether the shell was asked to end.
    pub(crate) fn is_terminated(&self) -> bool {
        self.shell.as_ref().is_some_and(|shell| shell.is_terminated.load(Ordering::Relaxed))
    }

    /// SIGTERM: ends a shell, after its job if there is one.
    fn terminate(&self) {
        match &self.shell {
            Some(shell) if shell.is_busy.load(Ordering::Relaxed) && !shell.is_terminated.swap(true, Ordering::Relaxed) => self.request(),
            Some(_) => {
                crate::live::leave_terminal();
                crate::shell::leave_terminal();
                std::process::exit(INTERRUPTED);
            }
            None => self.request(),
        }
    }

    /// Takes signals from now on; before, they end the process as usual. Where that is not possible they still do.
    pub(crate) fn listen(&self) {
        if self.listening.swap(true, Ordering::Relaxed) {
            return;
        }
        let interrupt = self.clone();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("signals".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
            runtime.block_on(async {
                let mut interrupted = signal(SignalKind::interrupt())?;
                let mut terminated = signal(SignalKind::terminate())?;
                let _ = ready.send(());
                loop {
                    tokio::select! {
                        _ = interrupted.recv() => interrupt.request(),
                        _ = terminated.recv() => interrupt.terminate(),
                    }
                }
            })
        });
        let _: Result<std::thread::JoinHandle<std::io::Result<()>>, _> = thread;
        // A job must not start before Ctrl-C means it; an error just drops the sender.
        let _ = is_ready.recv();
    }

    /// Asks for the end; whoever asks twice does not want to wait.
    pub(crate) fn request(&self) {
        if self.is_second(system_monotonic_ns()) && !self.is_of_shell() {
            crate::live::leave_terminal();
            eprintln!("aborted");
            std::process::exit(INTERRUPTED);
        }
    }

    /// Notes a request, and says whether another one came before it.
    fn is_second(&self, now_ns: u64) -> bool {
        let first = self.requested_ns.compare_exchange(0, now_ns.max(1), Ordering::Relaxed, Ordering::Relaxed);
        first.is_err_and(|first_ns| now_ns.saturating_sub(first_ns) >= SAME_NS)
    }

    /// Whether nobody has asked this before: whoever is the first carries the request out.
    pub(crate) fn is_first_look(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// Whether the end was asked for.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested_ns.load(Ordering::Relaxed) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_that_come_together_are_one() {
        let interrupt = Interrupt::default();
        assert!(!interrupt.is_requested());
        assert!(!interrupt.is_second(0), "the first, at the very beginning");
        assert!(interrupt.is_requested());
        assert!(!interrupt.is_second(SAME_NS / 2));
        assert!(interrupt.is_second(SAME_NS + 1), "counted from the first");
    }

    #[test]
    fn each_statement_of_a_shell_is_interrupted_by_itself() {
        let interrupt = Interrupt::of_shell();
        interrupt.begin_statement();
        interrupt.request();
        assert!(interrupt.is_requested() && interrupt.is_first_look() && !interrupt.is_first_look());
        interrupt.end_statement();
        interrupt.begin_statement();
        assert!(!interrupt.is_requested());
        assert!(interrupt.is_first_look());
        interrupt.terminate();
        assert!(interrupt.is_requested() && interrupt.is_terminated(), "the job is ended, and then the shell");
    }
}
