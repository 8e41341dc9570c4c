//! What a schedule does: its faults, its settings, and the error that is planted in it, if one is.

use rheos_checkpoint::coordinator::{Checkpointing, Recovery};

use crate::dice::Dice;

/// An error planted in the simulated world, to see that the invariants find it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutation {
    /// Output becomes visible when it is acknowledged, before the manifest.
    CommitBeforeManifest,
    /// A commit that was made already shows its rows again.
    CommitTwice,
    /// Storage lets a coordinator append behind the claim of another.
    SkipFence,
    /// Rows that a barrier overtakes are not recorded.
    DropInFlight,
    /// Inputs are not held back while a barrier is aligned.
    ForgetHold,
    /// When a snapshot completes, a file of an older one goes, whoever names it.
    DeleteEarly,
    /// No acknowledgement of one subtask ever comes.
    LoseAcks,
    /// A source that is restored skips a row.
    SkipRow,
}

/// What a schedule does. Chances are out of a thousand.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Everything follows from it.
    pub seed: u64,
    /// The planted error.
    pub mutation: Option<Mutation>,
    /// Whether to keep a trace for people.
    pub verbose: bool,
    pub(crate) checkpointing: Checkpointing,
    pub(crate) recovery: Recovery,
    /// In how many pieces the job is, each of one region or several; `None`: all of it is one region.
    pub(crate) pieces: Option<u64>,
    /// When faults stop.
    pub(crate) faults_until_ms: i64,
    pub(crate) lose: u64,
    pub(crate) double: u64,
    pub(crate) slow: u64,
    pub(crate) storage_fails: u64,
    pub(crate) commit_fails: u64,
    pub(crate) decline: u64,
    pub(crate) crashes: u64,
    pub(crate) takeovers: u64,
    pub(crate) sleeps: u64,
    pub(crate) savepoints: u64,
    /// How many rows a channel holds.
    pub(crate) channel_rows: usize,
}

/// How long after the last fault a job may take.
pub(crate) const BOUND_MS: i64 = 60_000;

impl Plan {
    /// The schedule of a seed.
    pub fn new(seed: u64) -> Self {
        let dice = Dice::new(seed ^ 0x5EED);
        let shape = Dice::new(seed ^ 0x4E61);
        let some = |most: u64| if dice.chance(300) { 0 } else { dice.between(0, most) };
        let aligned_timeout_ms = [None, Some(0), Some(dice.between(1, 30))][dice.index(3)];
        Plan {
            seed,
            mutation: None,
            verbose: false,
            checkpointing: Checkpointing {
                interval_ms: dice.between(20, 80),
                min_pause_ms: dice.between(0, 20),
                timeout_ms: dice.between(200, 600),
                tolerable_failures: dice.between(0, 3) as u32,
                retained: dice.between(1, 3) as usize,
                aligned_timeout_ms,
                durable: true,
            },
            recovery: if dice.chance(800) { Recovery::Precise } else { Recovery::Rollback },
            pieces: shape.chance(400).then(|| shape.between(1, 3)),
            faults_until_ms: dice.between(300, 900) as i64,
            lose: some(80),
            double: some(80),
            slow: some(80),
            storage_fails: some(120),
            commit_fails: some(150),
            decline: some(30),
            crashes: some(3),
            takeovers: some(2),
            sleeps: some(3),
            savepoints: some(2),
            channel_rows: dice.between(1, 8) as usize,
        }
    }

    /// The same without faults.
    #[must_use]
    pub fn calm(self) -> Self {
        Plan {
            faults_until_ms: 0,
            lose: 0,
            double: 0,
            slow: 0,
            storage_fails: 0,
            commit_fails: 0,
            decline: 0,
            crashes: 0,
            takeovers: 0,
            sleeps: 0,
            savepoints: 0,
            ..self
        }
    }

    /// The same with an error planted.
    #[must_use]
    pub fn with(self, mutation: Mutation) -> Self {
        Plan { mutation: Some(mutation), ..self }
    }

    /// The same with a way of recovery.
    #[must_use]
    pub fn recovering(self, recovery: Recovery) -> Self {
        Plan { recovery, ..self }
    }

    pub(crate) fn has(&self, mutation: Mutation) -> bool {
        self.mutation == Some(mutation)
    }
}
