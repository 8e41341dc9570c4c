//! The contract of an operator: what the task calls, when, and what a return means.
//!
//! ```text
//! life := open (batch | watermark | timer | snapshot)* finish snapshot? close
//! ```
//!
//! Every call that can emit returns [`Progress`]. After `More` the task drains the collector and calls
//! [`Operator::resume`] until `Done`; after `Wait` it does the same, but first lets [`Operator::poll_wait`] become ready.
//! Nothing else is called in between. An operator knows nothing of threads or sockets, and all calls of one instance come
//! from one task.

use std::sync::Arc;
use std::task::{Context, Poll};

use crate::batch::Batch;
use crate::collector::Collector;
use crate::env::Env;
use crate::error::{Error, Result};
use crate::metrics::OperatorMetrics;
use crate::routing::KeyGroups;
use crate::snapshot::{OperatorSnapshot, SnapshotMode};
use crate::time::TimestampMs;

/// Whether a call said all that it has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// The call is complete.
    Done,
    /// The collector is full: drain it and call `resume`.
    More,
    /// Something from outside is missing, an answer to what the operator asked: when `poll_wait` is ready, call `resume`.
    Wait,
}

/// Which instance of which operator this is.
#[derive(Debug, Clone)]
pub struct SubtaskInfo {
    /// The job's id, the same over all its restarts; empty for a job that is never restored.
    pub job: String,
    /// The operator's stable id, by which its state is found again.
    pub uid: String,
    /// The operator's name for people.
    pub name: String,
    /// Which instance, from 0.
    pub index: usize,
    /// How many instances there are.
    pub parallelism: usize,
    /// The key groups that this instance owns.
    pub key_groups: KeyGroups,
    /// How many key groups the job has: what [`crate::key_group::key_group`] is asked with.
    pub key_group_count: u32,
}

/// What an operator is given when it opens.
#[derive(Clone)]
pub struct OperatorContext {
    /// Who it is.
    pub subtask: SubtaskInfo,
    /// Clock and randomness.
    pub env: Env,
    /// Where it reports what only it knows: state size, late rows, open windows.
    pub metrics: Arc<OperatorMetrics>,
}

/// One operator instance.
pub trait Operator: Send {
    /// Called once, first. `restored` holds the state of the key groups that this instance owns.
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        let _ = context;
        match restored {
            Some(s) if !s.is_empty() => Err(Error::bug("state to restore, but the operator keeps none")),
            _ => Ok(()),
        }
    }

    /// Takes rows from input `port` (0 where there is one input; 0 is left and 1 right in a join).
    fn batch(&mut self, port: usize, batch: Batch, out: &mut Collector) -> Result<Progress>;

    /// Event time has reached `at` on all inputs. What this emits goes out before the watermark does.
    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        let _ = (at, out);
        Ok(Progress::Done)
    }

    /// The watermark that holds for what this operator emits, once its inputs are at `at`: less than `at` where rows that it still
    /// keeps may come out with earlier times. It never falls while `at` rises.
    fn output_watermark(&self, at: TimestampMs) -> TimestampMs {
        at
    }

    /// When [`Operator::timer`] wants to be called next, in processing time. Asked after every call.
    fn next_timer_ms(&self) -> Option<TimestampMs> {
        None
    }

    /// Processing time has reached `now_ms`.
    fn timer(&mut self, now_ms: TimestampMs, out: &mut Collector) -> Result<Progress> {
        let _ = (now_ms, out);
        Ok(Progress::Done)
    }

    /// Goes on where a call that returned `More` stopped.
    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let _ = out;
        Err(Error::bug("resumed an operator that never returns More"))
    }

    /// After a call that returned `Wait`: whether what was missing is there. It is polled by the task that runs the operator, and
    /// wakes it. The task does nothing else meanwhile, so that rows, watermarks and barriers keep their order.
    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let _ = context;
        Poll::Ready(())
    }

    /// Its state, as of the rows and watermarks taken in so far. This is what keeps rows waiting: it gathers, and leaves encoding
    /// to others. After [`Operator::finish`], the state must be one from which a restored instance, finished again, adds nothing.
    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot>;

    /// All inputs have ended; the last watermark has been taken in. May emit.
    fn finish(&mut self, out: &mut Collector) -> Result<Progress> {
        let _ = out;
        Ok(Progress::Done)
    }

    /// Called once, last, also after a failure. May not emit.
    fn close(&mut self) {}
}
