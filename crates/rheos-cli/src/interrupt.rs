//! Ctrl-C and SIGTERM: the first asks jobs to end cleanly, the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{SignalKind, signal};

/// The exit code of an interrupted command.
const INTERRUPTED: i32 = 3;

/// Whether somebody wants the command to end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Interrupt {
    requested: Arc<AtomicBool>,
    listening: Arc<AtomicBool>,
    told: Arc<AtomicBool>,
}

impl Interrupt {
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
                        _ = interrupted.recv() => {}
                        _ = terminated.recv() => {}
                    }
                    interrupt.request();
                }
            })
        });
        let _: Result<std::thread::JoinHandle<std::io::Result<()>>, _> = thread;
        // A job must not start before Ctrl-C means it; an error just drops the sender.
        let _ = is_ready.recv();
    }

    /// Asks for the end; whoever asks twice does not want to wait.
    pub(crate) fn request(&self) {
        if self.requested.swap(true, Ordering::Relaxed) {
            crate::live::leave_terminal();
            eprintln!("aborted");
            std::process::exit(INTERRUPTED);
        }
    }

    /// Whether nobody has asked this before: whoever is the first carries the request out.
    pub(crate) fn is_first_look(&self) -> bool {
        !self.told.swap(true, Ordering::Relaxed)
    }

    /// Whether the end was asked for.
    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }
}
