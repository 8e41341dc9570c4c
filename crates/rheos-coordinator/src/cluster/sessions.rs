//! The workers that are there: one session each, its slots, what it was told and what it tells.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rheos_core::env::Clock;
use rheos_graph::{Host, JobMetrics};
use rheos_protocol::v1;
use rheos_protocol::v1::to_worker::Message;
use tokio::sync::{mpsc, watch};

use super::placement::spread;

/// How many heartbeats of numbers are kept.
const KEPT_METRICS: usize = 6;

/// The number of a session, rising by one.
pub(crate) type SessionId = u64;

/// Where messages for a worker are put.
pub(crate) type ToWorker = mpsc::UnboundedSender<v1::ToWorker>;

/// A worker, as people see it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, utoipa::ToSchema)]
pub struct WorkerInfo {
    /// Unique for each start of its process, in hex.
    pub id: String,
    /// Where it takes in rows of other workers.
    pub address: String,
    /// Where its metrics can be scraped; empty if nowhere.
    pub metrics_address: String,
    /// The version of Rheos.
    pub version: String,
    /// How many slots it has.
    pub slots: usize,
    /// How many of them no job has.
    pub free: usize,
    /// What the rows take that are on their way to other workers, in bytes.
    pub buffered_bytes: u64,
    /// How long ago it was heard of, in milliseconds.
    pub heard_ms_ago: u64,
}

struct Session {
    host: Host,
    version: String,
    metrics_address: String,
    slots: usize,
    messages: ToWorker,
    /// Ends the stream.
    close: mpsc::Sender<()>,
    heard_ns: u64,
    opened: BTreeSet<String>,
    /// By job, the last few, oldest first.
    metrics: BTreeMap<String, VecDeque<(u64, JobMetrics)>>,
    buffered_bytes: u64,
}

impl Session {
    /// Has the stream ended. Where there is no room for the word, it is ending.
    fn end(&self) {
        let _ = self.close.try_send(());
    }
}

#[derive(Default)]
struct State {
    last: SessionId,
    sessions: BTreeMap<SessionId, Session>,
    /// Which session has which slot of which job.
    leases: BTreeMap<(String, usize), SessionId>,
}

/// All sessions.
pub(crate) struct Sessions {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
    changes: watch::Sender<u64>,
}

/// A new session's side of the coordinator.
pub(crate) struct Opened {
    pub(crate) id: SessionId,
    pub(crate) messages: mpsc::UnboundedReceiver<v1::ToWorker>,
    /// Says when the coordinator wants it to end.
    pub(crate) closed: mpsc::Receiver<()>,
}

impl Sessions {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Sessions { state: Mutex::default(), clock, changes: watch::channel(0).0 }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes whoever waits for slots or workers.
    fn changed(&self) {
        self.changes.send_modify(|n| *n += 1);
    }

    /// Changes from now on.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Begins a session. One that the same process still has is told to end.
    pub(crate) fn open(&self, register: &v1::Register) -> Opened {
        let (messages, receiver) = mpsc::unbounded_channel();
        let (close, closed) = mpsc::channel(1);
        let mut state = self.lock();
        state.sessions.values().filter(|s| s.host.id == register.worker).for_each(|s| s.end());
        state.last += 1;
        let id = state.last;
        let session = Session {
            host: Host { id: register.worker, address: register.data_address.clone() },
            version: register.version.clone(),
            metrics_address: register.metrics_address.clone(),
            slots: register.slots as usize,
            messages,
            close,
            heard_ns: self.clock.monotonic_ns(),
            opened: BTreeSet::new(),
            metrics: BTreeMap::new(),
            buffered_bytes: 0,
        };
        state.sessions.insert(id, session);
        drop(state);
        self.changed();
        Opened { id, messages: receiver, closed }
    }

    /// A session is over; its slots are nobody's. Says which worker it was.
    pub(crate) fn end(&self, id: SessionId) -> Option<Host> {
        let mut state = self.lock();
        let session = state.sessions.remove(&id)?;
        state.leases.retain(|_, of| *of != id);
        drop(state);
        self.changed();
        Some(session.host)
    }

    /// Something was heard of a worker.
    pub(crate) fn heard(&self, id: SessionId, heartbeat: Option<(Vec<(String, JobMetrics)>, u64)>) {
        if let Some(session) = self.lock().sessions.get_mut(&id) {
            let now_ns = self.clock.monotonic_ns();
            session.heard_ns = now_ns;
            if let Some((metrics, buffered_bytes)) = heartbeat {
                for (job, metrics) in metrics.into_iter().filter(|(job, _)| session.opened.contains(job)) {
                    let kept = session.metrics.entry(job).or_default();
                    kept.push_back((now_ns, metrics));
                    if kept.len() > KEPT_METRICS {
                        kept.pop_front();
                    }
                }
                session.buffered_bytes = buffered_bytes;
            }
        }
    }

    /// Ends the sessions in which nothing was heard for so long.
    pub(crate) fn close_silent(&self, timeout_ms: u64) {
        let now_ns = self.clock.monotonic_ns();
        for session in self.lock().sessions.values().filter(|s| now_ns.saturating_sub(s.heard_ns) > timeout_ms * 1_000_000) {
            session.end();
        }
    }

    /// Says something to a worker. One that is gone will be reported as such.
    pub(crate) fn tell(&self, id: SessionId, message: Message) {
        if let Some(session) = self.lock().sessions.get(&id) {
            drop(session.messages.send(v1::ToWorker { message: Some(message) }));
        }
    }

    /// The same after the worker knows the job: `open` says it to one that does not.
    pub(crate) fn tell_of(&self, id: SessionId, open: &v1::OpenJob, message: Message) {
        if let Some(session) = self.lock().sessions.get_mut(&id) {
            if session.opened.insert(open.job.clone()) {
                drop(session.messages.send(v1::ToWorker { message: Some(Message::OpenJob(open.clone())) }));
            }
            drop(session.messages.send(v1::ToWorker { message: Some(message) }));
        }
    }

    /// The job is over: its slots are free, and workers forget it.
    pub(crate) fn close_job(&self, job: &str) {
        let mut state = self.lock();
        state.leases.retain(|(of, _), _| of != job);
        for session in state.sessions.values_mut() {
            if !session.opened.remove(job) {
                continue;
            }
            session.metrics.remove(job);
            drop(session.messages.send(v1::ToWorker { message: Some(Message::CloseJob(v1::CloseJob { job: job.into() })) }));
        }
        drop(state);
        self.changed();
    }

    /// Gives a job so many slots: those that it has stay where they are. Where there are not enough it is given none more; the error
    /// is how many are free.
    pub(crate) fn lease(&self, job: &str, slots: usize) -> Result<Vec<SessionId>, usize> {
        let mut state = self.lock();
        let missing: Vec<usize> = (0..slots).filter(|slot| !state.leases.contains_key(&(job.to_string(), *slot))).collect();
        let ids: Vec<SessionId> = state.sessions.keys().copied().collect();
        let free: Vec<usize> = ids.iter().map(|id| state.free(*id)).collect();
        let Some(chosen) = spread(missing.len(), &free) else { return Err(free.iter().sum()) };
        for (slot, worker) in missing.into_iter().zip(chosen) {
            state.leases.insert((job.to_string(), slot), ids[worker]);
        }
        Ok((0..slots).filter_map(|slot| state.leases.get(&(job.to_string(), slot)).copied()).collect())
    }

    /// Some worker that is there, rather one that has slots of the job.
    pub(crate) fn any(&self, job: &str) -> Option<SessionId> {
        let state = self.lock();
        let leased = state.leases.iter().find(|((of, _), _)| of == job).map(|(_, id)| *id);
        leased.or_else(|| state.sessions.keys().next().copied())
    }

    /// Where a worker takes in rows.
    pub(crate) fn host(&self, id: SessionId) -> Option<Host> {
        self.lock().sessions.get(&id).map(|session| session.host.clone())
    }

    /// What the tasks of a job have measured some heartbeats ago and last, from all workers, and the time in between.
    pub(crate) fn metrics_of(&self, job: &str) -> (JobMetrics, JobMetrics, u64) {
        let state = self.lock();
        let (mut before, mut now, mut elapsed_ns) = (JobMetrics::default(), JobMetrics::default(), 0);
        for kept in state.sessions.values().filter_map(|session| session.metrics.get(job)) {
            let (Some((from_ns, first)), Some((to_ns, last))) = (kept.front(), kept.back()) else { continue };
            elapsed_ns = elapsed_ns.max(to_ns - from_ns);
            before.tasks.extend(first.tasks.iter().cloned());
            now.tasks.extend(last.tasks.iter().cloned());
        }
        now.tasks.sort_by_key(|task| (task.task, task.index));
        (before, now, elapsed_ns)
    }

    /// The workers, for people.
    pub(crate) fn workers(&self) -> Vec<WorkerInfo> {
        let (state, now_ns) = (self.lock(), self.clock.monotonic_ns());
        let info = |(id, s): (&SessionId, &Session)| WorkerInfo {
            id: format!("{:016x}", s.host.id),
            address: s.host.address.clone(),
            metrics_address: s.metrics_address.clone(),
            version: s.version.clone(),
            slots: s.slots,
            free: state.free(*id),
            buffered_bytes: s.buffered_bytes,
            heard_ms_ago: now_ns.saturating_sub(s.heard_ns) / 1_000_000,
        };
        state.sessions.iter().map(info).collect()
    }
}

impl State {
    fn free(&self, id: SessionId) -> usize {
        let leased = self.leases.values().filter(|of| **of == id).count();
        self.sessions.get(&id).map_or(0, |session| session.slots.saturating_sub(leased))
    }
}
