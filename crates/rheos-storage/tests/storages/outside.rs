//! Runs a future on a plain thread, as the engine's own threads do.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls `future` on a thread that no runtime knows of until it is done.
pub(crate) fn run<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> T {
    let work = move || {
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let mut future = pin!(future);
        loop {
            match future.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::park(),
            }
        }
    };
    thread::spawn(work).join().unwrap()
}
