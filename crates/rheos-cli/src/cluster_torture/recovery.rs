//! How long it takes after a kill until the job runs, reads rows and shows output again.

use super::rest::{JobStatus, State};

/// Whose process was killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    /// A worker.
    Worker,
    /// The coordinator.
    Coordinator,
}

/// What came after a kill, in milliseconds after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Recovery {
    /// Who was killed.
    pub(super) victim: Victim,
    /// Whether another fault came before it read rows again.
    pub(super) disturbed: bool,
    /// Until the job was running again.
    pub(super) running_ms: Option<u64>,
    /// Until its tasks had read new rows.
    pub(super) rows_ms: Option<u64>,
    /// Until new output was visible.
    pub(super) output_ms: Option<u64>,
    killed_ms: u64,
    /// Restarts before the kill.
    restarts: u64,
    /// Whether the failure was seen: the job has not been running since, or has started again.
    noticed: bool,
    /// Rows read when it was running again.
    rows_then: Option<u64>,
    /// Files visible when it was running again.
    files_then: Option<usize>,
}

/// All kills of a torture.
#[derive(Debug, Default)]
pub(super) struct Recoveries {
    all: Vec<Recovery>,
    restarts: u64,
}

impl Recoveries {
    /// A process was killed.
    pub(super) fn killed(&mut self, victim: Victim, now_ms: u64) {
        self.disturbed();
        self.all.push(Recovery {
            victim,
            disturbed: false,
            running_ms: None,
            rows_ms: None,
            output_ms: None,
            killed_ms: now_ms,
            restarts: self.restarts,
            noticed: false,
            rows_then: None,
            files_then: None,
        });
    }

    /// Another fault has begun.
    pub(super) fn disturbed(&mut self) {
        let unsettled = |one: &&mut Recovery| one.rows_ms.is_none() && one.output_ms.is_none();
        self.all.iter_mut().filter(unsettled).for_each(|one| one.disturbed = true);
    }

    /// The job was seen, in an answer to a question of `asked_ms`, and so many visible files of output.
    pub(super) fn seen(&mut self, job: &JobStatus, asked_ms: u64, now_ms: u64, files: usize) {
        for one in self.all.iter_mut().filter(|one| one.output_ms.is_none() && one.killed_ms < asked_ms) {
            let after_ms = Some(now_ms - one.killed_ms);
            // A coordinator that answers after its kill is the next one.
            one.noticed |= one.victim == Victim::Coordinator || job.state != State::Running || job.restarts != one.restarts;
            if job.state != State::Running || !one.noticed {
                continue;
            }
            if one.running_ms.is_none() {
                (one.running_ms, one.rows_then, one.files_then) = (after_ms, job.rows_in, Some(files));
                continue;
            }
            if one.rows_ms.is_none() && job.rows_in != one.rows_then {
                one.rows_ms = after_ms;
            }
            if one.files_then.is_some_and(|then| files > then) {
                one.output_ms = after_ms;
            }
        }
        self.restarts = job.restarts;
    }

    /// All of them, in order.
    pub(super) fn all(&self) -> &[Recovery] {
        &self.all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(state: State, restarts: u64, rows: u64) -> JobStatus {
        JobStatus { state, word: String::new(), restarts, snapshots: 0, rows_in: Some(rows), failure: None }
    }

    fn times(one: &Recovery) -> (Option<u64>, Option<u64>, Option<u64>) {
        (one.running_ms, one.rows_ms, one.output_ms)
    }

    #[test]
    fn a_worker_is_replaced_and_the_job_goes_on() {
        let mut recoveries = Recoveries::default();
        recoveries.seen(&job(State::Running, 3, 500), 90, 95, 7);
        recoveries.killed(Victim::Worker, 100);
        recoveries.seen(&job(State::Running, 3, 600), 99, 110, 7);
        recoveries.seen(&job(State::Running, 3, 600), 120, 130, 8);
        assert_eq!(times(&recoveries.all()[0]), (None, None, None), "not noticed yet");
        recoveries.seen(&job(State::Restarting, 4, 0), 140, 150, 8);
        recoveries.seen(&job(State::Running, 4, 0), 300, 310, 8);
        recoveries.seen(&job(State::Running, 4, 0), 320, 330, 8);
        recoveries.seen(&job(State::Running, 4, 50), 340, 350, 8);
        recoveries.seen(&job(State::Running, 4, 90), 440, 450, 9);
        recoveries.seen(&job(State::Running, 4, 95), 540, 550, 10);
        assert_eq!(times(&recoveries.all()[0]), (Some(210), Some(250), Some(350)));
        assert!(!recoveries.all()[0].disturbed);
    }

    #[test]
    fn a_restart_between_two_looks_is_noticed() {
        let mut recoveries = Recoveries::default();
        recoveries.killed(Victim::Worker, 100);
        recoveries.seen(&job(State::Running, 1, 0), 120, 130, 8);
        assert_eq!(recoveries.all()[0].running_ms, Some(30));
    }

    #[test]
    fn the_first_answer_of_the_next_coordinator_counts() {
        let mut recoveries = Recoveries::default();
        recoveries.killed(Victim::Coordinator, 100);
        recoveries.seen(&job(State::Waiting, 0, 0), 1_000, 1_010, 2);
        recoveries.disturbed();
        recoveries.seen(&job(State::Running, 0, 0), 1_100, 1_110, 2);
        assert_eq!((recoveries.all()[0].running_ms, recoveries.all()[0].disturbed), (Some(1_010), true));
    }
}
