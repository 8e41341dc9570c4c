//! The loop around a master: events in, actions carried out.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::pending;
use rheos_checkpoint::coordinator::{Action, Event, JobEnd, JobMaster, Note, Restore, StorageOutcome};
use rheos_core::env::Clock;
use rheos_core::storage::Storage;
use tokio::sync::mpsc;

use crate::storage::ask;
use crate::workers::{EventSender, Observer, Workers};

/// What somebody wants of a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// A savepoint.
    Savepoint,
    /// The end, at once.
    Cancel,
    /// The end, with a savepoint to go on from.
    StopWithSavepoint,
}

/// Runs a job until it is over. `storage` is the job's folder, where its master is to have one. When the requests' senders are gone, the
/// job is cancelled.
pub async fn run(
    mut master: JobMaster,
    workers: Arc<dyn Workers>,
    storage: Option<Arc<dyn Storage>>,
    clock: Arc<dyn Clock>,
    observer: Arc<dyn Observer>,
    mut requests: mpsc::UnboundedReceiver<Request>,
) -> JobEnd {
    let (sender, mut events) = mpsc::unbounded_channel();
    let mut event = Event::Tick;
    let mut is_listening = true;
    loop {
        let actions = master.handle(clock.now_ms(), event);
        note_running(&actions, &*observer);
        for action in actions {
            if let Action::Ended(end) = action {
                return end;
            }
            carry_out(action, &workers, storage.as_ref(), &*observer, &sender);
        }
        let wakeup = async {
            match master.next_wakeup_ms() {
                Some(at_ms) => clock.sleep_ms(at_ms.saturating_sub(clock.now_ms()).max(0) as u64).await,
                None => pending().await,
            }
        };
        event = tokio::select! {
            event = events.recv() => event.unwrap_or(Event::Tick),
            request = requests.recv(), if is_listening => match request {
                Some(Request::Savepoint) => Event::SavepointRequested,
                Some(Request::StopWithSavepoint) => Event::StopRequested { savepoint: true },
                Some(Request::Cancel) => Event::StopRequested { savepoint: false },
                None => {
                    is_listening = false;
                    Event::StopRequested { savepoint: false }
                }
            },
            () = wakeup => Event::Tick,
        };
    }
}

/// Regions that are deployed together go on from the same snapshot.
fn note_running(actions: &[Action], observer: &dyn Observer) {
    let mut restores = actions.iter().filter_map(|action| if let Action::Deploy { restore, .. } = action { Some(restore) } else { None });
    if let Some(restore) = restores.next() {
        let from = if let Restore::From(manifest) = restore { Some(manifest.epoch) } else { None };
        observer.note(Note::Running { from });
    }
}

fn carry_out(
    action: Action,
    workers: &Arc<dyn Workers>,
    storage: Option<&Arc<dyn Storage>>,
    observer: &dyn Observer,
    events: &EventSender,
) {
    match action {
        Action::Storage { op, request } => {
            let Some(storage) = storage.map(Arc::clone) else {
                tracing::error!(?request, "a job without storage asks for it");
                return;
            };
            let events = events.clone();
            tokio::spawn(async move {
                let asked = AssertUnwindSafe(ask(storage, request)).catch_unwind().await;
                // Every request must get an outcome.
                let outcome = asked.unwrap_or_else(|_| StorageOutcome::Failed("storage panicked".into()));
                // The driver may be gone: then nobody wants to know.
                drop(events.send(Event::Storage { op, outcome }));
            });
        }
        Action::Deploy { attempt, region, generation, restore } => workers.deploy(attempt, region, generation, restore, events.clone()),
        Action::Trigger { attempt, barrier, stop } => workers.trigger(attempt, barrier, stop),
        Action::Completed { attempt, epoch } => workers.completed(attempt, epoch),
        Action::Aborted { attempt, epoch } => workers.aborted(attempt, epoch),
        Action::Cancel { attempt } => workers.cancel(attempt),
        Action::Commit { commit, tokens } => workers.commit(commit, tokens, events.clone()),
        Action::Abort { tokens } => workers.abort(tokens),
        Action::Note(note) => {
            if let Note::CheckpointDone { epoch, stats } = &note {
                tracing::info!(epoch, ?stats, "snapshot complete");
            }
            observer.note(note);
        }
        Action::Ended(_) => {}
    }
}
