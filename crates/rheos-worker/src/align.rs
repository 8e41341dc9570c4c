//! Alignment: a snapshot is taken when its barrier has come on every input, and an input on which it came waits until then.

use rheos_core::element::{Barrier, Epoch};
use rheos_core::sink::CommitToken;
use rheos_core::snapshot::OperatorSnapshot;
use rheos_core::{Error, Result};

/// What a subtask hands over at a barrier.
#[derive(Debug)]
pub struct SubtaskSnapshot {
    /// Which snapshot it is a part of.
    pub epoch: Epoch,
    /// Which instance of the operators.
    pub index: usize,
    /// The uid and the state of each operator of the chain.
    pub operators: Vec<(String, OperatorSnapshot)>,
    /// What the sink at the end of the chain prepared.
    pub tokens: Vec<CommitToken>,
}

/// Takes over the parts of snapshots. Called from the subtasks' own tasks, so it must be quick: upload elsewhere.
pub trait SnapshotHook: Send + Sync {
    /// A subtask has taken its part.
    fn taken(&self, part: SubtaskSnapshot);
}

/// Which inputs have delivered the barrier that is being aligned.
#[derive(Debug)]
pub(crate) struct Aligner {
    barrier: Option<Barrier>,
    /// Inputs that need not be waited for: the barrier came, or the input ended.
    arrived: Vec<bool>,
    ended: Vec<bool>,
}

impl Aligner {
    pub(crate) fn new(inputs: usize) -> Self {
        Aligner { barrier: None, arrived: vec![false; inputs], ended: vec![false; inputs] }
    }

    /// The barrier came on `input`, which is to be held back. Returns the barrier when it has come on all.
    pub(crate) fn barrier(&mut self, input: usize, barrier: Barrier) -> Result<Option<Barrier>> {
        let current = *self.barrier.get_or_insert(barrier);
        if current != barrier {
            return Err(Error::bug(format!("barrier {} came while {} is being aligned", barrier.epoch, current.epoch)));
        }
        self.arrived[input] = true;
        Ok(self.complete())
    }

    /// `input` has ended. Returns the barrier when it was the last that was waited for.
    pub(crate) fn end(&mut self, input: usize) -> Option<Barrier> {
        self.ended[input] = true;
        self.complete()
    }

    fn complete(&mut self) -> Option<Barrier> {
        self.barrier?;
        if self.arrived.iter().zip(&self.ended).all(|(arrived, ended)| *arrived || *ended) {
            self.arrived.fill(false);
            self.barrier.take()
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_is_complete_when_it_came_on_all_inputs_that_have_not_ended() {
        let mut aligner = Aligner::new(3);
        let barrier = Barrier { epoch: 1 };
        assert_eq!(aligner.barrier(0, barrier).unwrap(), None);
        assert_eq!(aligner.end(2), None);
        assert_eq!(aligner.barrier(1, barrier).unwrap(), Some(barrier));
        let next = Barrier { epoch: 2 };
        assert_eq!(aligner.barrier(1, next).unwrap(), None, "the arrivals of the first do not count");
        assert_eq!(aligner.end(0), Some(next));
    }
}
