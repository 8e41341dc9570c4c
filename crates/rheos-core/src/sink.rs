//! The contract of a sink: writers that prepare, and a committer that makes what they prepared visible.
//!
//! Two-phase commit: [`Sink::prepare`] at a barrier (and at the end of the input) makes everything written so far durable
//! but not visible and returns tokens that name it; the tokens are stored with the snapshot; once the snapshot is complete
//! [`Committer::commit`] makes it visible, again after every recovery, so it must be idempotent.
//!
//! What a sink with transactions may count on, and must stand:
//!
//! - A token is committed only after the manifest of a snapshot that has it is durable, or at the end of a job without snapshots.
//! - It may be committed several times, after any time: by the same process whose reply was lost, by another that goes on from
//!   the snapshot, by a process that was thought dead. One that was committed before is passed over.
//! - Before an attempt starts, the tokens of the snapshot that it goes on from have been committed. What else a failed attempt prepared is
//!   given to [`Committer::abort`], but for what a snapshot may still name; what a dead process left behind is for
//!   [`SinkFactory::clean_up`].
//! - What a token names must be unique over all attempts: an epoch may come again after a restart.
//! - Tokens are offered again with every snapshot until one that has them is known to be complete.

use serde::{Deserialize, Serialize};

use crate::batch::Batch;
use crate::changelog::ChangelogMode;
use crate::connector::{MetadataInfo, TableSpec};
use crate::element::Epoch;
use crate::error::Result;
use crate::operator::OperatorContext;
use crate::time::TimestampMs;

/// Names something that a writer made durable and that waits to be made visible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CommitToken {
    /// The sink's stable id.
    pub sink: String,
    /// The snapshot that it belongs to.
    pub epoch: Epoch,
    /// What to commit, in the sink's own terms.
    pub payload: serde_json::Value,
}

/// A writer: one subtask of a sink.
pub trait Sink: Send {
    /// Takes rows in.
    fn write(&mut self, batch: Batch) -> Result<()>;

    /// Event time has reached `at`: a sink that shows progress may use it.
    fn watermark(&mut self, at: TimestampMs) -> Result<()> {
        let _ = at;
        Ok(())
    }

    /// Makes all rows since the last call durable, invisible as yet. A sink without transactions flushes and returns none.
    fn prepare(&mut self, epoch: Epoch) -> Result<Vec<CommitToken>>;

    /// Called once, last, also after a failure: what was not prepared is thrown away.
    fn close(&mut self) {}
}

/// Makes prepared output visible.
pub trait Committer: Send {
    /// Commits every token; one that was committed before is passed over.
    fn commit(&mut self, tokens: &[CommitToken]) -> Result<()>;

    /// Throws away what the tokens name: they were never committed, and never will be.
    fn abort(&mut self, tokens: &[CommitToken]) -> Result<()> {
        let _ = tokens;
        Ok(())
    }
}

/// What the planner must know of a sink table.
#[derive(Debug, Clone)]
pub struct SinkDescription {
    /// The widest kind of changes that it takes.
    pub accepts: ChangelogMode,
}

/// Makes the writers of a kind of sink.
pub trait SinkFactory: Send + Sync {
    /// Checks the table's options and says what it takes. Writes nothing.
    fn describe(&self, table: &TableSpec) -> Result<SinkDescription>;

    /// What can be written with a table's records beside its columns. What of it a table has stands in [`TableSpec::metadata`], and
    /// behind the columns of the rows to write.
    fn metadata(&self, table: &TableSpec) -> Vec<MetadataInfo> {
        let _ = table;
        Vec::new()
    }

    /// Whether tables may be PARTITIONED BY columns ([`TableSpec::partition_keys`]).
    fn takes_partitions(&self) -> bool {
        false
    }

    /// A writer for one subtask.
    fn writer(&self, table: &TableSpec, context: &OperatorContext) -> Result<Box<dyn Sink>>;

    /// Throws away what was prepared for the sink `uid` of the job with the id `job` and has not been committed. Called before the first
    /// attempt of a process, when all that is to be committed has been (what a later attempt finds there may still be committed),
    /// and when the job has finished. What was prepared after `until_ms` (since the epoch) stays: in a cluster the request may reach a
    /// process that stood still for long, and by then later attempts have prepared output.
    fn clean_up(&self, table: &TableSpec, uid: &str, job: &str, until_ms: TimestampMs) -> Result<()> {
        let _ = (table, uid, job, until_ms);
        Ok(())
    }

    /// The committer, where the sink has transactions.
    fn committer(&self, table: &TableSpec) -> Result<Option<Box<dyn Committer>>> {
        let _ = table;
        Ok(None)
    }
}
