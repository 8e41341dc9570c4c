//! Alignment: when a subtask takes its part of a snapshot, which inputs wait for it, and which rows become part of it.
//!
//! Aligned (Chandy and Lamport's cut without channel state, as Flink does it): an input on which the barrier has come is held
//! back until it has come on all; then state is taken. From the barrier's deadline on it may overtake rows (the unaligned
//! checkpoints of Flink, FLIP-76): state is taken at once, the barrier is sent on, nothing is held back, and rows that still
//! come before the barrier on the other inputs are recorded, until it has come there too.
//!
//! Only inputs whose rows can be given out again at another parallelism can be overtaken. Forward and broadcast edges are
//! waited for in any case.

use rheos_core::element::Epoch;
use rheos_core::time::TimestampMs;

use crate::barrier::Barrier;

/// What the subtask has to do now, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Take nothing from this input until told otherwise.
    HoldBack(usize),
    /// Take state, and send the barrier on.
    Snapshot(Barrier),
    /// Take from all inputs again.
    ReleaseAll,
    /// All rows that belong to the part are in it: it is whole.
    Complete(Epoch),
    /// Throw away what was taken for this snapshot: it will not be completed.
    Abandon(Epoch),
}

/// The alignment of one subtask's inputs. At most one snapshot is aligned at a time.
#[derive(Debug)]
pub struct Alignment {
    inputs: Vec<Input>,
    round: Option<Round>,
    /// The highest epoch that is over, one way or another: later barriers of it, and of older ones, mean nothing.
    over: Epoch,
}

#[derive(Debug)]
struct Input {
    overtakable: bool,
    /// The barrier of the current round has come.
    arrived: bool,
    ended: bool,
    held: bool,
}

#[derive(Debug)]
struct Round {
    barrier: Barrier,
    /// State has been taken, and rows before the barrier on other inputs are being recorded.
    taken: bool,
}

impl Alignment {
    /// For inputs of which each can be overtaken or not.
    pub fn new(overtakable: impl IntoIterator<Item = bool>) -> Self {
        let input = |overtakable| Input { overtakable, arrived: false, ended: false, held: false };
        Alignment { inputs: overtakable.into_iter().map(input).collect(), round: None, over: 0 }
    }

    /// The barrier came out of `input`. One of an epoch that is over is passed over.
    pub fn barrier(&mut self, input: usize, barrier: Barrier, now_ms: TimestampMs) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.enter(barrier, &mut steps) || self.inputs[input].arrived {
            return steps;
        }
        self.inputs[input].arrived = true;
        if self.round.as_ref().is_some_and(|r| !r.taken) {
            self.inputs[input].held = true;
            steps.push(Step::HoldBack(input));
        }
        self.advance(now_ms, &mut steps);
        steps
    }

    /// `input` has ended: it counts as aligned from now on.
    pub fn end(&mut self, input: usize, now_ms: TimestampMs) -> Vec<Step> {
        let mut steps = Vec::new();
        self.inputs[input].ended = true;
        self.advance(now_ms, &mut steps);
        steps
    }

    /// Time has passed: call it when [`Self::deadline_ms`] has come.
    pub fn overtake(&mut self, now_ms: TimestampMs) -> Vec<Step> {
        let mut steps = Vec::new();
        self.advance(now_ms, &mut steps);
        steps
    }

    /// The coordinator has given up a snapshot.
    pub fn aborted(&mut self, epoch: Epoch) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.round.as_ref().is_some_and(|r| r.barrier.epoch <= epoch) {
            self.abandon(&mut steps);
        }
        self.over = self.over.max(epoch);
        steps
    }

    /// Whether a barrier that is seen in the queue of `input` is to overtake what waits before it, once its time has come.
    pub fn awaits(&self, input: usize, barrier: Barrier) -> bool {
        let is_current = self.round.as_ref().is_none_or(|r| r.barrier.epoch <= barrier.epoch);
        self.inputs[input].overtakable && barrier.epoch > self.over && is_current
    }

    /// Whether rows of `input` are to be copied into the part: the barrier has overtaken them.
    pub fn recording(&self, input: usize) -> bool {
        let input = &self.inputs[input];
        self.round.as_ref().is_some_and(|r| r.taken) && !input.arrived && !input.ended
    }

    /// Whether nothing may be taken from `input`.
    pub fn held(&self, input: usize) -> bool {
        self.inputs[input].held
    }

    /// The snapshot that is being aligned or recorded.
    pub fn current(&self) -> Option<Barrier> {
        self.round.as_ref().map(|r| r.barrier)
    }

    /// When [`Self::overtake`] is due, if ever; not while an input has to be waited for.
    pub fn deadline_ms(&self) -> Option<TimestampMs> {
        let may_overtake = self.inputs.iter().all(|i| i.arrived || i.ended || i.overtakable);
        self.round.as_ref().filter(|r| !r.taken && may_overtake).and_then(|r| r.barrier.overtake_from_ms)
    }

    /// Makes `barrier`'s the current round; a round of a lower epoch is abandoned. False if it is over, or lower.
    fn enter(&mut self, barrier: Barrier, steps: &mut Vec<Step>) -> bool {
        if barrier.epoch <= self.over {
            return false;
        }
        match self.round.as_ref().map(|r| r.barrier.epoch) {
            Some(current) if current == barrier.epoch => return true,
            Some(current) if current > barrier.epoch => return false,
            Some(_) => self.abandon(steps),
            None => {}
        }
        self.round = Some(Round { barrier, taken: false });
        true
    }

    fn abandon(&mut self, steps: &mut Vec<Step>) {
        if let Some(round) = self.round.take() {
            self.over = self.over.max(round.barrier.epoch);
            steps.push(Step::Abandon(round.barrier.epoch));
            self.release(steps);
            self.inputs.iter_mut().for_each(|i| i.arrived = false);
        }
    }

    fn release(&mut self, steps: &mut Vec<Step>) {
        if self.inputs.iter().any(|i| i.held) {
            self.inputs.iter_mut().for_each(|i| i.held = false);
            steps.push(Step::ReleaseAll);
        }
    }

    fn advance(&mut self, now_ms: TimestampMs, steps: &mut Vec<Step>) {
        let Some(round) = &mut self.round else { return };
        let whole = self.inputs.iter().all(|i| i.arrived || i.ended);
        if !round.taken {
            let due = round.barrier.overtake_from_ms.is_some_and(|from| from <= now_ms);
            let may_overtake = due && self.inputs.iter().all(|i| i.arrived || i.ended || i.overtakable);
            if !whole && !may_overtake {
                return;
            }
            round.taken = true;
            steps.push(Step::Snapshot(round.barrier));
        }
        let epoch = round.barrier.epoch;
        self.release(steps);
        if whole {
            self.round = None;
            self.over = epoch;
            self.inputs.iter_mut().for_each(|i| i.arrived = false);
            steps.push(Step::Complete(epoch));
        }
    }
}

#[cfg(test)]
mod tests;
