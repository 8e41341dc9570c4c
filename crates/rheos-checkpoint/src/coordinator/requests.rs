//! Open requests to storage, those that wait to be repeated, and deletions that wait their turn.

use std::collections::{BTreeMap, VecDeque};

use rheos_core::time::TimestampMs;

use crate::coordinator::event::{Action, OpId, StorageOp};

/// How often a request is made before it counts as failed.
pub(crate) const TRIES: u32 = 8;
/// How many requests of one kind that come in bulk are open at a time.
const AT_ONCE: usize = 16;
const FIRST_DELAY_MS: u64 = 100;
const LONGEST_DELAY_MS: u64 = 5_000;

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Purpose {
    ListForClaim,
    PutClaim,
    LookAtClaim,
    ListAfterClaim,
    ReadRecord(u64),
    ListFiles,
    PutManifest,
    LookAtManifest,
    PutRetired,
    LookAtRetired,
    DropManifest(u64),
    DropFile,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) purpose: Purpose,
    pub(crate) op: StorageOp,
    pub(crate) tries: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Requests {
    last: OpId,
    open: BTreeMap<OpId, Request>,
    delayed: Vec<(TimestampMs, Request)>,
    /// Reads and deletions in bulk.
    queue: VecDeque<Request>,
    bulk: usize,
}

impl Requests {
    pub(crate) fn make(&mut self, purpose: Purpose, op: StorageOp, actions: &mut Vec<Action>) {
        self.send(Request { purpose, op, tries: 0 }, actions);
    }

    /// Makes it when fewer than a limit are open.
    pub(crate) fn make_in_bulk(&mut self, purpose: Purpose, op: StorageOp) {
        self.queue.push_back(Request { purpose, op, tries: 0 });
    }

    /// Repeats a request after a while that grows with its tries.
    pub(crate) fn repeat(&mut self, request: Request, now_ms: TimestampMs) {
        let delay = FIRST_DELAY_MS.saturating_mul(1 << request.tries.min(16)).min(LONGEST_DELAY_MS);
        self.delayed.push((now_ms.saturating_add(delay as i64), Request { tries: request.tries + 1, ..request }));
    }

    /// Takes the request out whose outcome has come.
    pub(crate) fn done(&mut self, op: OpId) -> Option<Request> {
        let request = self.open.remove(&op)?;
        if is_bulk(&request.purpose) {
            self.bulk = self.bulk.saturating_sub(1);
        }
        Some(request)
    }

    /// Makes what is due.
    pub(crate) fn pump(&mut self, now_ms: TimestampMs, actions: &mut Vec<Action>) {
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, _)| *at <= now_ms);
        self.delayed = later;
        let due: Vec<(TimestampMs, Request)> = due;
        due.into_iter().for_each(|(_, request)| self.send(request, actions));
        while self.bulk < AT_ONCE
            && let Some(request) = self.queue.pop_front()
        {
            self.send(request, actions);
        }
    }

    pub(crate) fn next_wakeup_ms(&self) -> Option<TimestampMs> {
        self.delayed.iter().map(|(at, _)| *at).min()
    }

    fn send(&mut self, request: Request, actions: &mut Vec<Action>) {
        self.last += 1;
        if is_bulk(&request.purpose) {
            self.bulk += 1;
        }
        actions.push(Action::Storage { op: self.last, request: request.op.clone() });
        self.open.insert(self.last, request);
    }
}

fn is_bulk(purpose: &Purpose) -> bool {
    matches!(purpose, Purpose::ReadRecord(_) | Purpose::DropFile | Purpose::DropManifest(_))
}
