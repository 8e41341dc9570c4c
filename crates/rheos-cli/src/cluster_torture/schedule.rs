//! The schedule of a torture: from a seed, which faults come when. Pure, so that a seed can be tried again.

use rheos_core::env::{Random, SplitMix64};

use super::fault::{Class, Fault, Kind};

/// How long a kill waits for its moment before it strikes all the same.
pub(super) const MOMENT_MS: u64 = 4_000;
/// How much of [`MOMENT_MS`] is expected to pass.
const EXPECTED_MOMENT_MS: u64 = 1_000;
/// How many of a hundred faults begin while another one lasts.
const OVERLAPPING_PERCENT: u64 = 25;

/// What a schedule is made from.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    /// From which everything follows.
    pub(super) seed: u64,
    /// How many faults there are.
    pub(super) faults: usize,
    /// How many workers the cluster has.
    pub(super) workers: usize,
    /// After which silence the coordinator takes a worker for dead.
    pub(super) timeout_ms: u64,
    /// Which kinds of faults this machine can make.
    pub(super) kinds: Vec<Kind>,
}

/// The faults in the order in which they begin. Each kind comes as often as every other, give or take one.
pub(super) fn schedule(plan: &Plan) -> Vec<Fault> {
    let mut dice = Dice(SplitMix64::new(plan.seed));
    let usable: Vec<Kind> = plan.kinds.iter().copied().filter(|kind| plan.workers > 1 || !is_between_workers(*kind)).collect();
    let mut faults: Vec<Fault> = Vec::new();
    let (mut free_ms, mut deck) = (0, Vec::new());
    // The fault that the next one may overlap.
    let mut last: Option<Fault> = None;
    while faults.len() < plan.faults && !usable.is_empty() {
        if deck.is_empty() {
            deck = dice.shuffled(&usable);
        }
        let overlapped = last.take().filter(|_| dice.below(100) < OVERLAPPING_PERCENT);
        let partner = overlapped.and_then(|other| {
            let fits = |kind: &Kind| kind.class() != other.kind.class() && !is_clash(kind.class(), other.kind.class());
            deck.iter().rposition(fits).map(|at| (deck.remove(at), other))
        });
        let fault = match partner {
            Some((kind, other)) => {
                let at_ms = other.at_ms + dice.between(100, other.lasts_ms.max(200));
                let mut fault = dice.fault(kind, at_ms, plan);
                if fault.worker == other.worker && plan.workers > 1 {
                    fault.worker = (fault.worker + 1) % plan.workers;
                    fault.other = (fault.worker + 1) % plan.workers;
                }
                fault
            }
            None => {
                let Some(kind) = deck.pop() else { break };
                let at_ms = free_ms + dice.between(500, 2_500);
                let fault = dice.fault(kind, at_ms, plan);
                last = Some(fault.clone());
                fault
            }
        };
        free_ms = free_ms.max(end_ms(&fault));
        faults.push(fault);
    }
    faults.sort_by_key(|fault| fault.at_ms);
    faults
}

/// How long a schedule is about to take.
pub(super) fn length_ms(faults: &[Fault]) -> u64 {
    faults.iter().map(end_ms).max().unwrap_or(0)
}

fn end_ms(fault: &Fault) -> u64 {
    fault.at_ms + fault.lasts_ms + if fault.kind.waits() { EXPECTED_MOMENT_MS } else { 0 }
}

fn is_between_workers(kind: Kind) -> bool {
    matches!(kind, Kind::CutWorkers | Kind::CutWorkersOneWay)
}

/// Flickering and a cut change the same links: together they would be one.
fn is_clash(a: Class, b: Class) -> bool {
    matches!((a, b), (Class::Cut, Class::Weak) | (Class::Weak, Class::Cut))
}

/// Random numbers.
struct Dice(SplitMix64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.next_u64() % limit.max(1)
    }

    /// A number of which both bounds are possible.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    fn shuffled(&mut self, kinds: &[Kind]) -> Vec<Kind> {
        let mut deck = kinds.to_vec();
        for i in (1..deck.len()).rev() {
            deck.swap(i, self.below(i as u64 + 1) as usize);
        }
        deck
    }

    fn fault(&mut self, kind: Kind, at_ms: u64, plan: &Plan) -> Fault {
        let timeout_ms = plan.timeout_ms;
        let lasts_ms = match kind {
            Kind::KillWorker | Kind::KillInDeployment => self.between(0, 3_000),
            Kind::KillCoordinator | Kind::KillInSnapshot | Kind::KillInCommit => self.between(0, 2_000),
            Kind::PauseLong => timeout_ms + self.between(500, 2_500),
            Kind::PauseShort => self.between(timeout_ms / 10, timeout_ms * 6 / 10),
            Kind::CutWorkers | Kind::CutWorkersOneWay | Kind::CutCoordinator | Kind::CutCoordinatorOneWay => match self.below(2) {
                0 => self.between(timeout_ms / 5, timeout_ms * 7 / 10),
                _ => timeout_ms + self.between(500, 2_500),
            },
            Kind::Delay | Kind::Loss | Kind::Flicker | Kind::Narrow => self.between(2_000, 5_000),
        };
        let measure = match kind {
            Kind::Delay => self.between(50, 200),
            Kind::Loss | Kind::Narrow => self.between(1, 10),
            Kind::Flicker => self.between(5, 20),
            Kind::KillInSnapshot | Kind::KillInDeployment => self.between(0, 60),
            Kind::KillInCommit => self.between(0, 20),
            _ => 0,
        };
        let workers = plan.workers.max(1);
        let worker = self.below(workers as u64) as usize;
        let other = (worker + self.between(1, (workers as u64 - 1).max(1)) as usize) % workers;
        Fault { at_ms, lasts_ms, kind, worker, other, deaf: self.below(2) == 0, measure }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(seed: u64, faults: usize) -> Plan {
        Plan { seed, faults, workers: 3, timeout_ms: 4_000, kinds: Kind::ALL.to_vec() }
    }

    #[test]
    fn a_seed_is_a_schedule() {
        assert_eq!(schedule(&plan(7, 60)), schedule(&plan(7, 60)));
        assert_ne!(schedule(&plan(7, 60)), schedule(&plan(8, 60)));
    }

    #[test]
    fn every_kind_comes_and_none_much_more_often_than_others() {
        for seed in 0..50 {
            let faults = schedule(&plan(seed, 60));
            assert_eq!(faults.len(), 60);
            for kind in Kind::ALL {
                assert_eq!(faults.iter().filter(|fault| fault.kind == kind).count(), 4, "{kind:?}, seed {seed}");
            }
        }
    }

    #[test]
    fn at_most_two_overlap_and_never_of_one_class_or_on_one_worker() {
        let mut overlaps = 0;
        for seed in 0..50 {
            let faults = schedule(&plan(seed, 60));
            for (i, fault) in faults.iter().enumerate() {
                let during = |other: &&Fault| other.at_ms + other.lasts_ms > fault.at_ms;
                let earlier: Vec<&Fault> = faults[..i].iter().filter(during).collect();
                assert!(earlier.len() <= 1, "seed {seed}: {fault:?} in {earlier:?}");
                for other in earlier {
                    overlaps += 1;
                    assert_ne!(fault.kind.class(), other.kind.class(), "seed {seed}");
                    assert_ne!(fault.worker, other.worker, "seed {seed}");
                }
            }
        }
        assert!(overlaps > 300, "{overlaps}");
    }

    #[test]
    fn measures_are_on_their_side_of_the_time_out() {
        for fault in (0..50).flat_map(|seed| schedule(&plan(seed, 60))) {
            assert!(fault.worker < 3 && fault.other < 3 && fault.worker != fault.other, "{fault:?}");
            match fault.kind {
                Kind::PauseLong => assert!(fault.lasts_ms > 4_000),
                Kind::PauseShort => assert!(fault.lasts_ms < 3_000),
                Kind::KillWorker => assert!(fault.lasts_ms <= 3_000),
                Kind::Delay => assert!((50..=200).contains(&fault.measure)),
                Kind::Loss => assert!((1..=10).contains(&fault.measure)),
                _ => {}
            }
        }
    }

    #[test]
    fn one_worker_has_nobody_to_be_cut_apart_from() {
        let alone = Plan { workers: 1, ..plan(1, 60) };
        let faults = schedule(&alone);
        assert_eq!(faults.len(), 60);
        assert!(faults.iter().all(|fault| fault.worker == 0 && !is_between_workers(fault.kind)));
        assert!(schedule(&Plan { kinds: vec![], ..alone }).is_empty());
    }
}
