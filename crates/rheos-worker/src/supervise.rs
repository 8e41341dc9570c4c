//! Watches over the subtasks of a job: one failure ends all; what they prepared is committed when all have finished, else aborted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rheos_core::sink::{CommitToken, Committer};
use rheos_core::{Error, Result};
use rheos_graph::NodeId;
use tokio::sync::{mpsc, watch};

use crate::job::JobEnd;
use crate::subtask::{SubtaskEnd, panic_text};

/// A sink of the job and who commits for it.
pub(crate) struct SinkCommit {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    pub(crate) committer: Option<Box<dyn Committer>>,
}

/// The sink node at the end of a subtask's chain, if there is one, and how the subtask ended.
pub(crate) type Ended = (Option<NodeId>, SubtaskEnd);

/// Waits for all subtasks, and commits if all have finished, or else aborts.
pub(crate) async fn supervise(
    mut ends: mpsc::UnboundedReceiver<Ended>,
    subtasks: usize,
    sinks: Vec<SinkCommit>,
    cancel: watch::Sender<bool>,
) -> Result<JobEnd> {
    let mut tokens: Vec<(Option<NodeId>, Vec<CommitToken>)> = Vec::new();
    let mut failure: Option<Error> = None;
    let (mut cancelled, mut peer_gone) = (false, false);
    for _ in 0..subtasks {
        let Some((sink, end)) = ends.recv().await else {
            failure.get_or_insert(Error::bug("a subtask was dropped before its end"));
            break;
        };
        match end {
            SubtaskEnd::Finished(prepared) => {
                tokens.push((sink, prepared));
                continue;
            }
            SubtaskEnd::Cancelled => cancelled = true,
            SubtaskEnd::PeerGone => peer_gone = true,
            SubtaskEnd::Failed(error) => {
                if let Some(first) = &failure {
                    tracing::warn!(%error, %first, "another subtask failed after the first");
                } else {
                    failure = Some(error);
                }
            }
        }
        cancel.send_replace(true);
    }
    let end = match failure {
        Some(error) => Err(error),
        None if cancelled => Ok(JobEnd::Cancelled),
        None if peer_gone => Err(Error::bug("a subtask lost its peer, and none failed")),
        None => return commit(sinks, &tokens).map(|()| JobEnd::Finished),
    };
    abort(sinks, &tokens);
    end
}

/// Commits one sink after the other. After a failure those that have not had their turn are aborted; the one that failed keeps
/// what it has, since a part of it may be visible.
fn commit(sinks: Vec<SinkCommit>, tokens: &[(Option<NodeId>, Vec<CommitToken>)]) -> Result<()> {
    let mut sinks = sinks.into_iter();
    while let Some(SinkCommit { node, name, committer }) = sinks.next() {
        let prepared = prepared_by(node, tokens);
        let committed = match committer {
            Some(mut committer) => guarded(|| committer.commit(&prepared)).map_err(|e| e.context(format!("commit of {name}"))),
            None if prepared.is_empty() => Ok(()),
            None => Err(Error::bug(format!("{name} prepared output, but has no committer"))),
        };
        if committed.is_err() {
            abort(sinks.collect(), tokens);
            return committed;
        }
    }
    Ok(())
}

/// Throws away what was prepared. That this fails is told, but is not why the job ended.
fn abort(sinks: Vec<SinkCommit>, tokens: &[(Option<NodeId>, Vec<CommitToken>)]) {
    for SinkCommit { node, name, committer } in sinks {
        let prepared = prepared_by(node, tokens);
        if let Some(mut committer) = committer
            && !prepared.is_empty()
            && let Err(error) = guarded(|| committer.abort(&prepared))
        {
            tracing::warn!(%error, sink = %name, "prepared output cannot be thrown away");
        }
    }
}

fn prepared_by(node: NodeId, tokens: &[(Option<NodeId>, Vec<CommitToken>)]) -> Vec<CommitToken> {
    tokens.iter().filter(|(sink, _)| *sink == Some(node)).flat_map(|(_, tokens)| tokens.iter().cloned()).collect()
}

/// A panic of a committer is its error.
fn guarded(call: impl FnOnce() -> Result<()>) -> Result<()> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(Error::bug(format!("panicked: {}", panic_text(panic.as_ref())))))
}
