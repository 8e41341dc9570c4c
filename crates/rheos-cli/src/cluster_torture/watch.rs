//! A thread that looks at the job all the time, so that nothing else waits for the coordinator's answers.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rheos_core::env::system_monotonic_ns;

use super::moment::count;
use super::rest::{self, JobStatus};

/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(20);

/// What was seen at a look.
#[derive(Debug)]
pub(super) struct Look {
    /// When it began, on the monotonic clock.
    pub(super) asked_ns: u64,
    /// When it ended.
    pub(super) answered_ns: u64,
    /// The job; an error where the coordinator could not be asked, or does not know it.
    pub(super) job: std::io::Result<JobStatus>,
    /// How many files of output were visible.
    pub(super) files: usize,
}

/// The thread; it ends when this is dropped.
pub(super) struct Watch {
    looks: Receiver<Look>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Looks at a job, and at the folder of its output.
    pub(super) fn begin(coordinator: SocketAddr, id: String, output: PathBuf) -> std::io::Result<Watch> {
        let (seen, looks) = channel();
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let look = move || {
            while !until.load(Ordering::Relaxed) {
                let asked_ns = system_monotonic_ns();
                let job = rest::job(coordinator, &id);
                let (files, _) = count(&output);
                if seen.send(Look { asked_ns, answered_ns: system_monotonic_ns(), job, files }).is_err() {
                    return;
                }
                std::thread::sleep(PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("watch".into()).spawn(look)?;
        Ok(Watch { looks, ended, thread: Some(thread) })
    }

    /// What was seen since the last call.
    pub(super) fn looks(&self) -> impl Iterator<Item = Look> + '_ {
        self.looks.try_iter()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}
