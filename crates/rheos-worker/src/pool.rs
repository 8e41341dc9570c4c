//! The threads that run tasks, apart from those of network and control.
//!
//! One queue, first in, first out, for all threads: a task that is woken runs on the first thread that is free. (Tokio's
//! scheduler keeps a woken task for the thread that woke it, where no other can take it: right for messages, but a task here
//! computes for milliseconds, and producer and consumer would take turns on one core while another is free.) A task is
//! scheduled about once for each batch, so one lock around the queue costs nothing that can be measured.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::JoinHandle;

use tokio::runtime::Handle;

/// Threads for tasks. What tasks await (timers, sockets) is driven by the runtime whose handle the pool was given. Dropping
/// the pool ends its threads after the step they are in and drops the tasks that have not ended.
#[derive(Debug)]
pub struct TaskPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    queue: Mutex<Queue>,
    available: Condvar,
    runtime: Handle,
}

#[derive(Debug, Default)]
struct Queue {
    ready: VecDeque<Arc<Task>>,
    /// Threads that wait for a task.
    sleeping: usize,
    shut_down: bool,
    /// All tasks that have not ended, to be dropped with the pool.
    live: HashMap<u64, Arc<Task>>,
    next_id: u64,
}

struct Task {
    id: u64,
    /// `None` when it has ended.
    future: Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>,
    state: AtomicU8,
    shared: Weak<Shared>,
}

/// Expressions are compiled and evaluated recursively; what is not used of a stack is not taken from memory.
const STACK_BYTES: usize = 64 << 20;

/// Waits to be woken.
const ASLEEP: u8 = 0;
/// Is in the queue.
const QUEUED: u8 = 1;
/// Is being polled.
const RUNNING: u8 = 2;
/// Is being polled, and was woken meanwhile.
const WOKEN: u8 = 3;

impl TaskPool {
    /// A pool of `threads` threads, at least one. Tasks may use what `runtime` drives, so somebody must drive it.
    pub fn new(threads: usize, runtime: Handle) -> io::Result<TaskPool> {
        let shared = Arc::new(Shared { queue: Mutex::default(), available: Condvar::new(), runtime });
        let mut pool = TaskPool { shared, threads: Vec::new() };
        for i in 0..threads.max(1) {
            let shared = Arc::clone(&pool.shared);
            pool.threads.push(std::thread::Builder::new().name(format!("task-{i}")).stack_size(STACK_BYTES).spawn(move || shared.work())?);
        }
        Ok(pool)
    }

    /// How many threads it has.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The runtime that drives what the tasks await.
    pub(crate) fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// Runs a future to its end. A panic ends it.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        let mut queue = self.shared.lock();
        let id = queue.next_id;
        queue.next_id += 1;
        let task = Arc::new(Task {
            id,
            future: Mutex::new(Some(Box::pin(future))),
            state: AtomicU8::new(QUEUED),
            shared: Arc::downgrade(&self.shared),
        });
        queue.live.insert(id, Arc::clone(&task));
        self.shared.push(queue, task);
    }
}

impl Drop for TaskPool {
    fn drop(&mut self) {
        self.shared.lock().shut_down = true;
        self.shared.available.notify_all();
        let this = std::thread::current().id();
        for thread in self.threads.drain(..).filter(|t| t.thread().id() != this) {
            // Its panics are caught where they happen.
            let _ = thread.join();
        }
        let mut queue = self.shared.lock();
        queue.ready.clear();
        let live = std::mem::take(&mut queue.live);
        drop(queue);
        for task in live.into_values() {
            // A future that is locked is the one that drops the pool: it ends when it next waits, with its thread.
            let future = match task.future.try_lock() {
                Ok(mut slot) => slot.take(),
                Err(TryLockError::Poisoned(slot)) => slot.into_inner().take(),
                Err(TryLockError::WouldBlock) => None,
            };
            drop(future);
        }
    }
}

impl Shared {
    fn work(&self) {
        let _entered = self.runtime.enter();
        while let Some(task) = self.next() {
            task.poll_once();
        }
    }

    fn next(&self) -> Option<Arc<Task>> {
        let mut queue = self.lock();
        loop {
            if queue.shut_down {
                return None;
            }
            if let Some(task) = queue.ready.pop_front() {
                return Some(task);
            }
            queue.sleeping += 1;
            queue = self.available.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.sleeping -= 1;
        }
    }

    fn push(&self, mut queue: MutexGuard<'_, Queue>, task: Arc<Task>) {
        queue.ready.push_back(task);
        let asleep = queue.sleeping > 0;
        drop(queue);
        if asleep {
            self.available.notify_one();
        }
    }

    /// No code that can panic runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Task {
    fn poll_once(self: Arc<Self>) {
        self.state.store(RUNNING, Ordering::Release);
        let waker = Waker::from(Arc::clone(&self));
        let mut slot = self.lock();
        let Some(future) = slot.as_mut() else { return };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker))));
        if !matches!(polled, Ok(Poll::Pending)) {
            let ended = slot.take();
            drop(slot);
            if catch_unwind(AssertUnwindSafe(|| drop(ended))).is_err() || polled.is_err() {
                tracing::error!("a task panicked");
            }
            if let Some(shared) = self.shared.upgrade() {
                shared.lock().live.remove(&self.id);
            }
            return;
        }
        drop(slot);
        let slept = self.state.compare_exchange(RUNNING, ASLEEP, Ordering::AcqRel, Ordering::Acquire);
        if slept.is_err() {
            // Woken while it ran.
            self.state.store(QUEUED, Ordering::Release);
            self.queue();
        }
    }

    fn queue(self: Arc<Self>) {
        if let Some(shared) = self.shared.upgrade() {
            let queue = shared.lock();
            shared.push(queue, self);
        }
    }

    /// Polling and dropping catch their panics before this lock could be poisoned.
    fn lock(&self) -> MutexGuard<'_, Option<Pin<Box<dyn Future<Output = ()> + Send>>>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        let woken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| match state {
            ASLEEP => Some(QUEUED),
            RUNNING => Some(WOKEN),
            _ => None,
        });
        if woken == Ok(ASLEEP) {
            self.queue();
        }
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn pool(threads: usize) -> (tokio::runtime::Runtime, TaskPool) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let pool = TaskPool::new(threads, runtime.handle().clone()).unwrap();
        (runtime, pool)
    }

    #[test]
    fn tasks_wake_each_other_and_use_the_timers_of_the_runtime() {
        let (_runtime, pool) = pool(2);
        let (ask, mut asked) = tokio::sync::mpsc::channel::<u64>(1);
        let (answer, mut answered) = tokio::sync::mpsc::channel::<u64>(1);
        let (done, result) = mpsc::channel();
        pool.spawn(async move {
            while let Some(n) = asked.recv().await {
                tokio::task::yield_now().await;
                answer.send(n * 2).await.unwrap();
            }
        });
        pool.spawn(async move {
            let mut sum = 0;
            for n in 0..1000 {
                ask.send(n).await.unwrap();
                sum += answered.recv().await.unwrap();
            }
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            done.send(sum).unwrap();
        });
        assert_eq!(result.recv().unwrap(), 999 * 1000);
    }

    #[test]
    fn a_woken_task_runs_while_the_one_that_woke_it_computes() {
        let (_runtime, pool) = pool(2);
        let (ask, asked) = tokio::sync::oneshot::channel::<()>();
        let (answer, answered) = mpsc::channel();
        let (done, result) = mpsc::channel();
        pool.spawn(async move {
            asked.await.unwrap();
            answer.send(()).unwrap();
        });
        pool.spawn(async move {
            ask.send(()).unwrap();
            // Keeps its thread until the other has run.
            answered.recv().unwrap();
            done.send(()).unwrap();
        });
        result.recv().unwrap();
    }

    #[test]
    fn a_panic_ends_one_task_and_no_thread() {
        let (_runtime, pool) = pool(1);
        let (done, result) = mpsc::channel();
        pool.spawn(async { panic!("expected in this test") });
        pool.spawn(async move { done.send(()).unwrap() });
        result.recv().unwrap();
    }

    #[test]
    fn a_task_may_drop_its_own_pool() {
        let (_runtime, pool) = pool(2);
        let (hand_over, handed) = mpsc::channel::<TaskPool>();
        let (done, result) = mpsc::channel();
        pool.spawn(async move {
            drop(handed.recv().unwrap());
            done.send(()).unwrap();
        });
        hand_over.send(pool).unwrap();
        result.recv().unwrap();
    }

    #[test]
    fn tasks_that_have_not_ended_are_dropped_with_the_pool() {
        let (_runtime, pool) = pool(1);
        let kept = Arc::new(());
        let (in_task, (started, has_started)) = (Arc::clone(&kept), mpsc::channel());
        pool.spawn(async move {
            started.send(()).unwrap();
            std::future::pending::<()>().await;
            drop(in_task);
        });
        has_started.recv().unwrap();
        drop(pool);
        assert_eq!(Arc::strong_count(&kept), 1);
    }
}
