//! One fault in progress: how it begins, waits for its moment, lasts and is healed.

use super::cluster::Cluster;
use super::fault::{Fault, Kind};
use super::host::Host;
use super::moment::{Folder, Seen};
use super::network::{Network, Weakness};
use super::process::Signal;
use super::recovery::Victim;
use super::schedule::MOMENT_MS;
use crate::failure::Failure;

/// From one moment of flickering to the next.
const FLICKER_MS: u64 = 500;

/// What a strike knows of the job.
pub(super) struct Scene<'a> {
    /// The time, from when the job ran.
    pub(super) now_ms: u64,
    /// Whether the job was running at the last look.
    pub(super) is_running: bool,
    /// From one snapshot to the next.
    pub(super) interval_ms: u64,
    /// After which silence a worker counts as dead.
    pub(super) timeout_ms: u64,
    /// What befalls.
    pub(super) cluster: &'a mut Cluster,
    /// Whose processes were killed, to be filled.
    pub(super) killed: &'a mut Vec<Victim>,
}

impl Scene<'_> {
    fn kill(&mut self, host: Host) {
        self.cluster.kill(host);
        self.killed.push(if host == Host::Coordinator { Victim::Coordinator } else { Victim::Worker });
    }
}

/// A fault that has begun and is not healed.
pub(super) struct Strike {
    /// The fault.
    pub(super) fault: Fault,
    /// Whether its moment did not come, so that it struck at another one.
    pub(super) has_missed: bool,
    /// When it is over; not known while it waits for its moment.
    until_ms: Option<u64>,
    /// When it strikes at the latest.
    latest_ms: u64,
    /// When it strikes, once its moment has come.
    due_ms: Option<u64>,
    folder: Folder,
    /// Whether the victim's plug is out, and when that changes.
    flicker: (bool, u64),
}

impl Strike {
    /// Begins a fault. `folder` is that of the coordinator.
    pub(super) fn begin(fault: Fault, mut folder: Folder, scene: &mut Scene<'_>) -> Result<Strike, Failure> {
        let (now_ms, worker) = (scene.now_ms, Host::Worker(fault.worker));
        match fault.kind {
            Kind::KillWorker | Kind::KillInDeployment => scene.kill(worker),
            Kind::KillCoordinator => scene.kill(Host::Coordinator),
            Kind::KillInSnapshot | Kind::KillInCommit => folder.begin(),
            Kind::PauseLong | Kind::PauseShort => scene.cluster.signal(fault.worker, Signal::Stop)?,
            Kind::Flicker => {}
            _ => with_network(scene.cluster, |network| match weakness(&fault) {
                Some(weakness) => network.weaken(worker, weakness),
                None => links(&fault).into_iter().try_for_each(|(from, to)| network.cut(from, to)),
            })?,
        }
        let until_ms = (!fault.kind.waits()).then_some(now_ms + fault.lasts_ms);
        // It may be the silence of the killed worker by which the coordinator notices.
        let latest_ms = now_ms + MOMENT_MS + if fault.kind == Kind::KillInDeployment { scene.timeout_ms } else { 0 };
        Ok(Strike { fault, has_missed: false, until_ms, latest_ms, due_ms: None, folder, flicker: (false, now_ms) })
    }

    /// Goes on with it, and heals it when its time has come. Whether it is healed.
    pub(super) fn go_on(&mut self, scene: &mut Scene<'_>) -> Result<bool, Failure> {
        match self.until_ms {
            None => self.wait(scene),
            Some(until_ms) if scene.now_ms >= until_ms => {
                self.heal(scene.cluster)?;
                return Ok(true);
            }
            Some(_) if self.fault.kind == Kind::Flicker => self.flicker(scene)?,
            Some(_) => {}
        }
        Ok(false)
    }

    /// Whether it has yet to see its moment.
    pub(super) fn is_waiting(&self) -> bool {
        self.until_ms.is_none()
    }

    /// Kills the coordinator if it is the moment.
    fn wait(&mut self, scene: &mut Scene<'_>) {
        let (now_ms, after_ms) = (scene.now_ms, self.fault.measure);
        match self.fault.kind {
            Kind::KillInDeployment => {
                if self.due_ms.is_none() && !scene.is_running {
                    self.due_ms = Some(now_ms + after_ms);
                }
            }
            kind => match self.folder.look() {
                Seen::Files if kind == Kind::KillInSnapshot => self.due_ms = Some(now_ms),
                Seen::Record if kind == Kind::KillInCommit => self.due_ms = Some(now_ms + after_ms),
                // Small states go into the manifest, without files: but when the next snapshot begins is known.
                Seen::Record => self.due_ms = Some(now_ms + scene.interval_ms + after_ms),
                _ => {}
            },
        }
        if self.due_ms.is_none_or(|due_ms| now_ms < due_ms) {
            if now_ms < self.latest_ms {
                return;
            }
            self.has_missed = true;
        }
        scene.kill(Host::Coordinator);
        self.until_ms = Some(now_ms + self.fault.lasts_ms);
    }

    fn flicker(&mut self, scene: &mut Scene<'_>) -> Result<(), Failure> {
        let (is_out, change_ms) = self.flicker;
        if scene.now_ms < change_ms {
            return Ok(());
        }
        let out_ms = FLICKER_MS * self.fault.measure / 100;
        self.flicker = (!is_out, scene.now_ms + if is_out { FLICKER_MS - out_ms } else { out_ms });
        let worker = Host::Worker(self.fault.worker);
        with_network(scene.cluster, |network| network.plug(worker, is_out))
    }

    /// Ends it.
    pub(super) fn heal(&mut self, cluster: &mut Cluster) -> Result<(), Failure> {
        let worker = Host::Worker(self.fault.worker);
        match self.fault.kind {
            Kind::KillWorker => cluster.start_process(worker),
            Kind::KillCoordinator | Kind::KillInSnapshot | Kind::KillInCommit => cluster.start_process(Host::Coordinator),
            Kind::KillInDeployment => cluster.start_process(Host::Coordinator).and_then(|()| cluster.start_process(worker)),
            Kind::PauseLong | Kind::PauseShort => cluster.signal(self.fault.worker, Signal::Continue),
            Kind::Flicker => with_network(cluster, |network| network.plug(worker, true)),
            _ => with_network(cluster, |network| match weakness(&self.fault) {
                Some(_) => network.strengthen(worker),
                None => links(&self.fault).into_iter().try_for_each(|(from, to)| network.mend(from, to)),
            }),
        }
    }
}

fn with_network(cluster: &mut Cluster, change: impl FnOnce(&mut Network) -> Result<(), Failure>) -> Result<(), Failure> {
    cluster.network().map_or(Ok(()), change)
}

/// How the network of the worker is made bad by this fault.
fn weakness(fault: &Fault) -> Option<Weakness> {
    match fault.kind {
        Kind::Delay => Some(Weakness::DelayMs(fault.measure)),
        Kind::Loss => Some(Weakness::LossPercent(fault.measure)),
        Kind::Narrow => Some(Weakness::Mbits(fault.measure)),
        _ => None,
    }
}

/// The links that this fault cuts, by sender and receiver.
fn links(fault: &Fault) -> Vec<(Host, Host)> {
    let worker = Host::Worker(fault.worker);
    let other = match fault.kind {
        Kind::CutWorkers | Kind::CutWorkersOneWay => Host::Worker(fault.other),
        _ => Host::Coordinator,
    };
    let (away, back) = ((worker, other), (other, worker));
    match fault.kind {
        Kind::CutWorkers | Kind::CutCoordinator => vec![away, back],
        Kind::CutWorkersOneWay | Kind::CutCoordinatorOneWay => vec![if fault.deaf { back } else { away }],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_one_way_is_half_of_a_cut() {
        let fault = |kind, deaf| Fault { at_ms: 0, lasts_ms: 0, kind, worker: 0, other: 2, deaf, measure: 0 };
        let (one, other) = (Host::Worker(0), Host::Worker(2));
        assert_eq!(links(&fault(Kind::CutWorkers, false)), [(one, other), (other, one)]);
        assert_eq!(links(&fault(Kind::CutWorkersOneWay, false)), [(one, other)]);
        assert_eq!(links(&fault(Kind::CutCoordinatorOneWay, true)), [(Host::Coordinator, one)]);
        assert!(links(&fault(Kind::KillWorker, false)).is_empty());
    }
}
