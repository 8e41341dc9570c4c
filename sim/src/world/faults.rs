//! Faults that strike whole processes, and the calm after them.

use rheos_checkpoint::coordinator::Event;

use crate::world::{Happening, World};

#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// A worker is lost.
    WorkerCrash,
    /// A coordinator is lost.
    CoordinatorCrash,
    /// A second coordinator starts while the first goes on.
    Takeover,
    /// A coordinator stands still for a while, and then goes on.
    Sleep,
    /// A coordinator is cut off from everything for a while.
    Cut,
    /// Not a fault: somebody wants a savepoint.
    Savepoint,
    /// Not a fault: somebody deletes a savepoint.
    DeleteSavepoint,
    /// Somebody stops the job with a savepoint, and starts it again.
    Stop,
}

impl World {
    pub(super) fn plan_faults(&mut self) {
        let until = self.plan.faults_until_ms;
        let kinds = [
            (self.plan.crashes, Fault::WorkerCrash),
            (self.plan.crashes / 2, Fault::CoordinatorCrash),
            (self.plan.takeovers, Fault::Takeover),
            (self.plan.sleeps, Fault::Sleep),
            (self.plan.sleeps, Fault::Cut),
            (self.plan.savepoints, Fault::Savepoint),
            (self.plan.savepoints, Fault::DeleteSavepoint),
            (self.plan.savepoints / 2, Fault::Stop),
        ];
        for (times, fault) in kinds {
            for _ in 0..times {
                let at = self.dice.between(1, until.max(1) as u64);
                self.after(at, Happening::Fault(fault));
            }
        }
        self.after(until.max(0) as u64, Happening::Calm);
    }

    /// Whether a fault of this chance strikes now.
    pub(super) fn faulty(&self, per_mille: u64) -> bool {
        self.now_ms < self.plan.faults_until_ms && per_mille > 0 && self.dice.chance(per_mille)
    }

    pub(super) fn strike(&mut self, fault: Fault) {
        self.note(20, || format!("{fault:?}"));
        let live: Vec<usize> =
            (0..self.coordinators.len()).filter(|i| !self.coordinators[*i].dead && self.coordinators[*i].end.is_none()).collect();
        let Some(&someone) = live.get(self.dice.index(live.len())) else { return };
        let newest = self.coordinators.len() - 1;
        match fault {
            Fault::WorkerCrash => {
                let runs: Vec<_> = self.runs.iter().filter(|(_, d)| !d.stopped && !d.failed).map(|(id, _)| *id).collect();
                let Some(run) = runs.get(self.dice.index(runs.len())) else { return };
                let worker = self.dice.number();
                // What it ran may be of several regions.
                let runs = if self.topologies.len() > 1 && self.dice.chance(300) { runs.clone() } else { vec![*run] };
                for run in runs {
                    let Some(deployment) = self.runs.get_mut(&run) else { continue };
                    deployment.failed = true;
                    deployment.frozen.iter_mut().enumerate().for_each(|(i, frozen)| *frozen |= (worker >> (i % 64)) & 1 == 1);
                }
            }
            Fault::CoordinatorCrash => {
                self.coordinators[newest].dead = true;
                let delay = self.dice.between(5, 100);
                self.after(delay, Happening::StartCoordinator);
            }
            Fault::Takeover => self.after(0, Happening::StartCoordinator),
            Fault::Sleep => self.coordinators[someone].asleep_until_ms = self.now_ms + self.dice.between(20, 400) as i64,
            Fault::Cut => self.coordinators[someone].cut_until_ms = self.now_ms + self.dice.between(20, 400) as i64,
            Fault::Savepoint => self.after(0, Happening::ToMaster(someone, Event::SavepointRequested)),
            Fault::DeleteSavepoint => self.storage.delete_savepoint(),
            Fault::Stop => self.after(0, Happening::ToMaster(someone, Event::StopRequested { savepoint: true })),
        }
    }

    /// Faults stop. What was cut off is joined again; who sleeps wakes up in its time.
    pub(super) fn calm(&mut self) {
        self.note(21, || "calm".into());
        self.coordinators.iter_mut().for_each(|c| c.cut_until_ms = 0);
    }
}
