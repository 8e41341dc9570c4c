//! Watches over the subtasks of a job: one failure ends all; when all have finished, what they prepared is committed.

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

/// Waits for all subtasks, and commits if all have finished.
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
    match failure {
        Some(error) => Err(error),
        None if cancelled => Ok(JobEnd::Cancelled),
        None if peer_gone => Err(Error::bug("a subtask lost its peer, and none failed")),
        None => commit(sinks, tokens).map(|()| JobEnd::Finished),
    }
}

fn commit(sinks: Vec<SinkCommit>, tokens: Vec<(Option<NodeId>, Vec<CommitToken>)>) -> Result<()> {
    for SinkCommit { node, name, committer } in sinks {
        let prepared: Vec<CommitToken> =
            tokens.iter().filter(|(sink, _)| *sink == Some(node)).flat_map(|(_, tokens)| tokens.iter().cloned()).collect();
        match committer {
            Some(mut committer) => catch_unwind(AssertUnwindSafe(|| committer.commit(&prepared)))
                .unwrap_or_else(|panic| Err(Error::bug(format!("panicked: {}", panic_text(panic.as_ref())))))
                .map_err(|e| e.context(format!("commit of {name}")))?,
            None if prepared.is_empty() => {}
            None => return Err(Error::bug(format!("{name} prepared output, but has no committer"))),
        }
    }
    Ok(())
}
