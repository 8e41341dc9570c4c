//! Work that may panic or hang, run so that neither ends the suite; and many pieces of it, several at a time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

/// The stack of a program's main thread, so that what is nested deeply behaves as on the command line.
const STACK_BYTES: usize = 8 << 20;

/// How guarded work has ended.
#[derive(Debug)]
pub(crate) enum Guarded<T> {
    /// With a value.
    Done(T),
    /// It panicked, with this message.
    Panicked(String),
    /// It was not done in time; its thread is left behind.
    Hung,
}

/// Runs `work` on a thread of its own, for at most `limit`.
pub(crate) fn guarded<T: Send + 'static>(limit: Duration, work: impl FnOnce() -> T + Send + 'static) -> Guarded<T> {
    let (sender, receiver) = mpsc::channel();
    let body = move || {
        let done = catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|t| t.to_string()));
            text.unwrap_or_else(|| "without a message".into())
        });
        // Nobody listens any more if it took too long.
        drop(sender.send(done));
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(body).expect("a thread for a case");
    match receiver.recv_timeout(limit) {
        Ok(Ok(value)) => Guarded::Done(value),
        Ok(Err(message)) => Guarded::Panicked(message),
        Err(_) => Guarded::Hung,
    }
}

/// `work` on every item, on as many threads as there are cores; the results in the order of the items.
pub(crate) fn for_all<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::with_capacity(items.len()));
    let lanes = std::thread::available_parallelism().map_or(2, usize::from).max(2);
    std::thread::scope(|scope| {
        for _ in 0..lanes {
            scope.spawn(|| {
                while let Some((i, item)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| items.get(i).map(|item| (i, item))) {
                    let result = work(item);
                    results.lock().expect("no lane panics with the lock held").push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("all lanes have ended");
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}
