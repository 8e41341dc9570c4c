//! Stores the parts of snapshots that the subtasks of an attempt give, each subtask's one after the other, and tells how that went.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use rheos_checkpoint::coordinator::{Attempt, Event};
use rheos_checkpoint::{Barrier, SubtaskId};
use rheos_core::Result;
use rheos_core::element::CheckpointKind;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::job::JobHandle;
use crate::part::TakenPart;
use crate::report::TaskEvent;
use crate::runner::{EventSender, JobParts, is_restartable, tell};
use crate::store::{PartStore, Stored};

/// What a subtask has to be stored: at a barrier, or its last part.
type Work = (Option<Barrier>, Box<TakenPart>);

/// The stores of all subtasks of an attempt.
pub(crate) struct Storing<'a> {
    parts: &'a JobParts,
    /// Generation and attempt.
    of: (u64, Attempt),
    handle: Arc<JobHandle>,
    events: EventSender,
    /// Distinguishes the files of the attempt.
    next_file: Arc<AtomicU64>,
    stores: BTreeMap<SubtaskId, (mpsc::UnboundedSender<Work>, JoinHandle<()>)>,
}

impl<'a> Storing<'a> {
    pub(crate) fn new(parts: &'a JobParts, of: (u64, Attempt), handle: Arc<JobHandle>, events: EventSender) -> Self {
        Storing { parts, of, handle, events, next_file: Arc::default(), stores: BTreeMap::new() }
    }

    /// Has a part stored. Failures of subtasks are given back.
    pub(crate) fn take(&mut self, event: TaskEvent) -> Result<()> {
        let work: Work = match event {
            TaskEvent::Failed { error } => return Err(error),
            TaskEvent::Stopped => return Ok(()),
            TaskEvent::Taken { barrier, part } => (Some(barrier), part),
            TaskEvent::Ended { part } => (None, part),
        };
        let subtask = SubtaskId { task: work.1.task, index: work.1.index };
        let Storing { parts, of, handle, events, next_file, stores } = self;
        let (queue, _) = stores.entry(subtask).or_insert_with(|| {
            let (graph, clock) = (Arc::clone(&parts.graph), Arc::clone(&parts.env.clock));
            let store = PartStore::new(parts.storage.clone(), graph, clock, *of, Arc::clone(next_file));
            let (queue, work) = mpsc::unbounded_channel();
            (queue, tokio::spawn(store_all(store, subtask, of.1, work, Arc::clone(handle), events.clone())))
        });
        // A store that is gone has panicked: the snapshot times out.
        drop(queue.send(work));
        Ok(())
    }

    /// Waits until everything is stored.
    pub(crate) async fn finish(self) {
        for (queue, stored) in self.stores.into_values() {
            drop(queue);
            drop(stored.await);
        }
    }
}

/// Stores the parts of a subtask.
async fn store_all(
    mut store: PartStore,
    subtask: SubtaskId,
    attempt: Attempt,
    mut work: mpsc::UnboundedReceiver<Work>,
    handle: Arc<JobHandle>,
    events: EventSender,
) {
    while let Some((barrier, part)) = work.recv().await {
        let kind = barrier.map_or(CheckpointKind::Final, |b| b.kind);
        let after = part.epoch;
        let stored = store.store(after, kind, *part).await;
        if !matches!(stored, Ok(Stored { want_full: false, .. })) {
            handle.want_full(subtask.task, subtask.index);
        }
        tell(
            &events,
            match (stored, barrier) {
                (Ok(Stored { part, .. }), Some(barrier)) => Event::Ack { attempt, epoch: barrier.epoch, part },
                (Ok(Stored { part, .. }), None) => Event::Ended { attempt, after, part },
                (Err(error), Some(barrier)) => Event::Declined { attempt, epoch: barrier.epoch, subtask, reason: error.to_string() },
                (Err(error), None) => Event::Failed { attempt, message: error.to_string(), restartable: is_restartable(&error) },
            },
        );
    }
}
