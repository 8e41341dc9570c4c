//! What can befall a cluster: the kinds of faults, and one fault with its victim and its measures.

use std::fmt;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    /// kill -9 of a worker's process.
    KillWorker,
    /// A worker stands still for longer than the heartbeat time-out, and then goes on as if nothing had been.
    PauseLong,
    /// A worker stands still for less than the time-out.
    PauseShort,
    /// Two workers do not hear each other.
    CutWorkers,
    /// One worker does not hear another, which does hear it.
    CutWorkersOneWay,
    /// The coordinator and a worker do not hear each other.
    CutCoordinator,
    /// One of the two does not hear the other.
    CutCoordinatorOneWay,
    /// Packets from and to a host take longer.
    Delay,
    /// Some packets from and to a host are lost.
    Loss,
    /// A host is cut off for moments, over and over.
    Flicker,
    /// A host has little bandwidth.
    Narrow,
    /// kill -9 of the coordinator, at any time.
    KillCoordinator,
    /// kill -9 of the coordinator while a snapshot is taken: before its manifest.
    KillInSnapshot,
    /// kill -9 of the coordinator right after a manifest, while output is committed.
    KillInCommit,
    /// kill -9 of a worker, and of the coordinator while the job starts again.
    KillInDeployment,
}

/// What a kind of fault needs of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Signals to processes.
    Signals,
    /// A network of the torture's own.
    Network,
    /// The kernel's queueing discipline of this name.
    Discipline(&'static str),
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Kind; 15] = [
        Kind::KillWorker,
        Kind::PauseLong,
        Kind::PauseShort,
        Kind::CutWorkers,
        Kind::CutWorkersOneWay,
        Kind::CutCoordinator,
        Kind::CutCoordinatorOneWay,
        Kind::Delay,
        Kind::Loss,
        Kind::Flicker,
        Kind::Narrow,
        Kind::KillCoordinator,
        Kind::KillInSnapshot,
        Kind::KillInCommit,
        Kind::KillInDeployment,
    ];

    /// What it needs.
    pub(super) fn needs(self) -> Needs {
        match self {
            Kind::Delay | Kind::Loss => Needs::Discipline("netem"),
            Kind::Narrow => Needs::Discipline("tbf"),
            Kind::CutWorkers | Kind::CutWorkersOneWay | Kind::CutCoordinator | Kind::CutCoordinatorOneWay | Kind::Flicker => Needs::Network,
            _ => Needs::Signals,
        }
    }

    /// Kinds of one class never overlap.
    pub(super) fn class(self) -> Class {
        match self {
            Kind::KillWorker => Class::Kill,
            Kind::PauseLong | Kind::PauseShort => Class::Pause,
            Kind::CutWorkers | Kind::CutWorkersOneWay | Kind::CutCoordinator | Kind::CutCoordinatorOneWay => Class::Cut,
            Kind::Delay | Kind::Loss | Kind::Flicker | Kind::Narrow => Class::Weak,
            Kind::KillCoordinator | Kind::KillInSnapshot | Kind::KillInCommit | Kind::KillInDeployment => Class::Coordinator,
        }
    }

    /// Whether it waits for a moment of the job before it strikes.
    pub(super) fn waits(self) -> bool {
        matches!(self, Kind::KillInSnapshot | Kind::KillInCommit | Kind::KillInDeployment)
    }

    /// What it is called in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::KillWorker => "worker killed",
            Kind::PauseLong => "worker stopped past the time-out",
            Kind::PauseShort => "worker stopped shortly",
            Kind::CutWorkers => "workers cut apart",
            Kind::CutWorkersOneWay => "workers cut apart one way",
            Kind::CutCoordinator => "worker cut off the coordinator",
            Kind::CutCoordinatorOneWay => "worker cut off the coordinator one way",
            Kind::Delay => "network delayed",
            Kind::Loss => "packets lost",
            Kind::Flicker => "network flickering",
            Kind::Narrow => "network narrow",
            Kind::KillCoordinator => "coordinator killed",
            Kind::KillInSnapshot => "coordinator killed in a snapshot",
            Kind::KillInCommit => "coordinator killed in a commit",
            Kind::KillInDeployment => "coordinator killed in a deployment",
        }
    }
}

/// Kinds of which at most one is there at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A worker's process is gone.
    Kill,
    /// A worker's process stands still.
    Pause,
    /// Two hosts are cut apart.
    Cut,
    /// The network of a host is bad.
    Weak,
    /// The coordinator's process is gone.
    Coordinator,
}

/// One fault of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    /// When it begins, from when the job runs.
    pub(super) at_ms: u64,
    /// How long until it is healed: until a killed process is started again, a stopped one goes on, a cut is mended.
    pub(super) lasts_ms: u64,
    /// What it is.
    pub(super) kind: Kind,
    /// The worker that it befalls, from 0.
    pub(super) worker: usize,
    /// Another worker, where two are cut apart.
    pub(super) other: usize,
    /// Whether the worker is the one who does not hear, of two that are cut apart one way.
    pub(super) deaf: bool,
    /// Milliseconds of a delay, per cent of lost packets, per cent of the time that flickering cuts, megabits a second; for a
    /// kill at a moment, the milliseconds that it comes after it.
    pub(super) measure: u64,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (worker, other, measure) = (self.worker + 1, self.other + 1, self.measure);
        let (from, to) = if self.deaf { (other, worker) } else { (worker, other) };
        match self.kind {
            Kind::KillWorker => write!(f, "worker {worker} is killed")?,
            Kind::PauseLong | Kind::PauseShort => write!(f, "worker {worker} stands still")?,
            Kind::CutWorkers => write!(f, "workers {worker} and {other} do not hear each other")?,
            Kind::CutWorkersOneWay => write!(f, "worker {to} does not hear worker {from}")?,
            Kind::CutCoordinator => write!(f, "the coordinator and worker {worker} do not hear each other")?,
            Kind::CutCoordinatorOneWay if self.deaf => write!(f, "worker {worker} does not hear the coordinator")?,
            Kind::CutCoordinatorOneWay => write!(f, "the coordinator does not hear worker {worker}")?,
            Kind::Delay => write!(f, "packets of worker {worker} are delayed by {measure} ms")?,
            Kind::Loss => write!(f, "{measure} % of the packets of worker {worker} are lost")?,
            Kind::Flicker => write!(f, "the network of worker {worker} is gone for {measure} % of the time")?,
            Kind::Narrow => write!(f, "worker {worker} has {measure} Mbit/s")?,
            Kind::KillCoordinator => write!(f, "the coordinator is killed")?,
            Kind::KillInSnapshot => write!(f, "the coordinator is killed in a snapshot")?,
            Kind::KillInCommit => write!(f, "the coordinator is killed after a manifest")?,
            Kind::KillInDeployment => write!(f, "worker {worker} is killed, and the coordinator when the job starts again")?,
        }
        write!(f, ", for {:.1} s", self.lasts_ms as f64 / 1000.0)
    }
}
