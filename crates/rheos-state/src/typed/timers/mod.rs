//! Times at which keys are to be called, of event time and of processing time.

mod heap;

use std::cmp::Ordering;
use std::hash::{BuildHasher, Hash, Hasher};

use foldhash::fast::FixedState;
use rheos_core::Result;
use rheos_core::operator::SubtaskInfo;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use serde::{Deserialize, Serialize};

use self::heap::TimerHeap;
use super::codec::decode;
use super::columns;
use super::descriptor::StateDescriptor;
use super::expiry::Expiry;
use super::hash_index::HashIndex;
use super::header::{Kind, Shape};
use super::rows::Rows;
use super::scope::{Scope, StateKey};
use super::stored::Stored;
use super::ttl::TimeDomain;
use crate::slots::Slot;

/// A timer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timer<K, N> {
    /// The hash of the key.
    pub hash: u64,
    /// Whose it is.
    pub key: K,
    /// What it is for: a window, or `()` where a key has timers of one sort.
    pub namespace: N,
    /// When it is due.
    pub time_ms: TimestampMs,
}

/// The timers of the keys whose groups this subtask owns. A key has at most one for a domain, a namespace and a time. They are
/// part of every snapshot.
///
/// ```
/// # use rheos_core::{operator::SubtaskInfo, routing::KeyGroups};
/// use rheos_state::typed::{StateDescriptor, TimeDomain, Timers};
///
/// # fn main() -> rheos_core::Result<()> {
/// # let subtask = SubtaskInfo {
/// #     job: String::new(), uid: "m".into(), name: "m".into(), index: 0, parallelism: 1, key_groups: KeyGroups::all(128), key_group_count: 128,
/// # };
/// # let hash = 7;
/// let mut timers: Timers<String, ()> = Timers::open(&StateDescriptor::new("timers"), &subtask, None)?;
/// timers.register(TimeDomain::EventTime, hash, &"b".to_string(), &(), 20)?;
/// timers.register(TimeDomain::EventTime, hash, &"a".to_string(), &(), 10)?;
/// // A watermark of 15, and room for a hundred rows:
/// let due = timers.fire_until(TimeDomain::EventTime, 15, 100);
/// assert_eq!((due.len(), due[0].key.as_str()), (1, "a"));
/// assert_eq!(timers.next_ms(TimeDomain::EventTime), Some(20));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Timers<K, N> {
    scope: Scope,
    shape: Shape,
    index: HashIndex,
    rows: Rows<Row<K, N>>,
    heaps: [TimerHeap; 2],
}

/// When a timer is due. As it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Due {
    is_event_time: bool,
    time_ms: TimestampMs,
}

#[derive(Debug)]
struct Row<K, N> {
    due: Due,
    timer: Timer<K, N>,
}

impl<K: StateKey, N: StateKey + Ord + Hash> Timers<K, N> {
    /// The timers of a subtask, with what a snapshot holds of them.
    pub fn open(descriptor: &StateDescriptor<Self>, subtask: &SubtaskInfo, restored: Option<&OperatorSnapshot>) -> Result<Self> {
        let shape = Shape { kind: Kind::Timers, type_name: std::any::type_name::<Self>() };
        let scope = Scope::new(descriptor.name(), subtask);
        let mut restored_timers = Vec::new();
        Stored::find(&scope, shape, None, restored)?.each_row(|row| {
            restored_timers.push((row.hash, decode::<K>(row.parts[0])?, decode::<N>(row.parts[1])?, decode::<Due>(row.parts[2])?));
            Ok(())
        })?;
        let rows = Rows::new(Expiry::new(None)?);
        let mut timers = Timers { scope, shape, index: HashIndex::default(), rows, heaps: Default::default() };
        for (hash, key, namespace, due) in restored_timers {
            timers.add(due, Timer { hash, key, namespace, time_ms: due.time_ms });
        }
        Ok(timers)
    }

    /// Calls for a key at a time. Returns whether that was not so already.
    pub fn register(&mut self, domain: TimeDomain, hash: u64, key: &K, namespace: &N, time_ms: TimestampMs) -> Result<bool> {
        let due = due(domain, time_ms);
        if self.find(due, hash, key, namespace)?.is_some() {
            return Ok(false);
        }
        self.add(due, Timer { hash, key: key.clone(), namespace: namespace.clone(), time_ms });
        Ok(true)
    }

    /// Takes a timer back. Returns whether there was one.
    pub fn delete(&mut self, domain: TimeDomain, hash: u64, key: &K, namespace: &N, time_ms: TimestampMs) -> Result<bool> {
        let Some(slot) = self.find(due(domain, time_ms), hash, key, namespace)? else { return Ok(false) };
        let rows = &self.rows;
        self.heaps[domain as usize].remove(slot, |a, b| order(rows, a, b));
        self.forget(slot);
        Ok(true)
    }

    /// When the first timer of a domain is due.
    pub fn next_ms(&self, domain: TimeDomain) -> Option<TimestampMs> {
        self.heaps[domain as usize].first().map(|(time_ms, _)| time_ms)
    }

    /// Takes the first timer of a domain out, if it is due by `until_ms`: in the order of their times, those of the same time in
    /// the order of their keys' hashes and their namespaces. Whoever handles it may register others, due ones too.
    pub fn fire_next(&mut self, domain: TimeDomain, until_ms: TimestampMs) -> Option<Timer<K, N>> {
        let rows = &self.rows;
        let slot = self.heaps[domain as usize].pop_until(until_ms, |a, b| order(rows, a, b))?;
        self.forget(slot)
    }

    /// The same for at most `max` timers at once. Where it gives so many, there may be more.
    pub fn fire_until(&mut self, domain: TimeDomain, until_ms: TimestampMs, max: usize) -> Vec<Timer<K, N>> {
        std::iter::from_fn(|| self.fire_next(domain, until_ms)).take(max).collect()
    }

    /// How many there are, of both domains.
    pub fn len(&self) -> usize {
        self.rows.slab.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// As [`ValueState::snapshot`](super::ValueState::snapshot).
    pub fn snapshot(&mut self, mode: SnapshotMode, into: &mut OperatorSnapshot) -> Result<()> {
        columns::put(
            &mut self.rows,
            &self.scope,
            self.shape,
            mode,
            into,
            |row| row.timer.hash,
            |row, parts| {
                parts.put(&row.timer.key)?;
                parts.put(&row.timer.namespace)?;
                parts.put(&row.due)
            },
        )
    }

    fn find(&self, due: Due, hash: u64, key: &K, namespace: &N) -> Result<Option<Slot>> {
        let is = |row: &Row<K, N>| row.due == due && row.timer.hash == hash && row.timer.namespace == *namespace && row.timer.key == *key;
        match self.index.find(timer_hash(due, hash, namespace), |slot| self.rows.get(slot).is_some_and(is)) {
            None => self.scope.check(hash).map(|()| None),
            found => Ok(found),
        }
    }

    fn add(&mut self, due: Due, timer: Timer<K, N>) {
        let hash = timer_hash(due, timer.hash, &timer.namespace);
        let slot = self.rows.insert(Row { due, timer });
        self.index.insert(hash, slot);
        let rows = &self.rows;
        let domain = if due.is_event_time { TimeDomain::EventTime } else { TimeDomain::ProcessingTime };
        self.heaps[domain as usize].push(due.time_ms, slot, |a, b| order(rows, a, b));
    }

    fn forget(&mut self, slot: Slot) -> Option<Timer<K, N>> {
        let Row { due, timer } = self.rows.remove(slot)?;
        self.index.remove(timer_hash(due, timer.hash, &timer.namespace), slot);
        Some(timer)
    }
}

fn due(domain: TimeDomain, time_ms: TimestampMs) -> Due {
    Due { is_event_time: domain == TimeDomain::EventTime, time_ms }
}

/// The order of timers of the same time. It does not depend on slots, so that it is the same after a restore.
fn order<K, N: Ord>(rows: &Rows<Row<K, N>>, a: Slot, b: Slot) -> Ordering {
    let key = |slot| rows.get(slot).map(|row| (row.timer.hash, &row.timer.namespace));
    key(a).cmp(&key(b))
}

fn timer_hash<N: Hash>(due: Due, hash: u64, namespace: &N) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write_u64(hash);
    hasher.write_i64(due.time_ms);
    hasher.write_u8(u8::from(due.is_event_time));
    namespace.hash(&mut hasher);
    hasher.finish()
}
