//! The job under torture: its faults one after the other, what is seen of it meanwhile, and its end.

use std::collections::VecDeque;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use super::cluster::Cluster;
use super::fault::{Class, Fault};
use super::host::Host;
use super::moment::Folder;
use super::outcome::{Counter, Outcome};
use super::recovery::Recoveries;
use super::rest::State;
use super::story::Story;
use super::strike::{Scene, Strike};
use super::watch::{Look, Watch};
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// From one step to the next; faults that wait for a moment look that often.
const STEP: Duration = Duration::from_millis(2);
/// After which time a process that has ended by itself is started again, as whoever looks after a cluster would.
const AGAIN_MS: u64 = 1_000;
/// How long nothing may be heard of the job.
const SILENCE_MS: u64 = 120_000;

/// What a torment needs to know.
pub(super) struct TormentOptions<'a> {
    /// The coordinator's folder.
    pub(super) dir: &'a Path,
    /// From one snapshot to the next.
    pub(super) interval_ms: u64,
    /// After which silence a worker counts as dead.
    pub(super) timeout_ms: u64,
    /// How long the job may take to finish once all faults are healed.
    pub(super) limit_ms: u64,
    /// Ends it when somebody asks.
    pub(super) interrupt: &'a Interrupt,
}

/// A job under torture.
pub(super) struct Torment<'a> {
    options: TormentOptions<'a>,
    cluster: &'a mut Cluster,
    story: &'a mut Story,
    faults: VecDeque<Fault>,
    strikes: Vec<Strike>,
    /// Processes that have ended by themselves, and when they are started again.
    again: Vec<(Host, u64)>,
    recoveries: Recoveries,
    restarts: Counter,
    snapshots: Counter,
    outcome: Outcome,
    state: Option<State>,
    /// When the job was last heard of.
    heard_ms: u64,
}

impl<'a> Torment<'a> {
    /// Of a job that is submitted to this cluster.
    pub(super) fn new(options: TormentOptions<'a>, cluster: &'a mut Cluster, story: &'a mut Story, faults: Vec<Fault>) -> Torment<'a> {
        let planned = faults.len();
        Torment {
            options,
            cluster,
            story,
            faults: faults.into(),
            strikes: vec![],
            again: vec![],
            recoveries: Recoveries::default(),
            restarts: Counter::default(),
            snapshots: Counter::default(),
            outcome: Outcome { planned, ..Outcome::default() },
            state: None,
            heard_ms: 0,
        }
    }

    /// Does everything, until the job has ended or it is certain that it never will.
    pub(super) fn run(mut self, watch: &Watch) -> Result<Outcome, Failure> {
        self.await_running(watch)?;
        self.story.begin();
        self.heard_ms = 0;
        let mut healed_ms = None;
        loop {
            if self.options.interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
            let now_ms = self.story.now_ms();
            let ended = self.look(watch, now_ms);
            if ended || self.outcome.failure.is_some() {
                break;
            }
            self.strike(now_ms)?;
            self.look_after_processes(now_ms)?;
            if self.faults.is_empty() && self.strikes.is_empty() {
                let since_ms = *healed_ms.get_or_insert(now_ms);
                if now_ms - since_ms > self.options.limit_ms {
                    self.fail(format!("the job was not finished {} s after the last fault", self.options.limit_ms / 1000));
                    break;
                }
            }
            std::thread::sleep(STEP);
        }
        self.outcome.ms = self.story.now_ms();
        for mut strike in std::mem::take(&mut self.strikes) {
            strike.heal(self.cluster)?;
        }
        (self.outcome.restarts, self.outcome.snapshots) = (self.restarts.total(), self.snapshots.total());
        self.outcome.recoveries = self.recoveries.all().to_vec();
        Ok(self.outcome)
    }

    fn await_running(&mut self, watch: &Watch) -> Result<(), Failure> {
        self.story.begin();
        while self.state != Some(State::Running) {
            if self.options.interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
            let now_ms = self.story.now_ms();
            if self.look(watch, now_ms) {
                return Err(Failure::wrong("the job had finished before the first fault: it needs more input"));
            }
            if now_ms > SILENCE_MS {
                self.fail("the job did not run at first".into());
            }
            if let Some(failure) = self.outcome.failure.take() {
                return Err(Failure::wrong(failure));
            }
            std::thread::sleep(STEP);
        }
        Ok(())
    }

    /// Takes note of all that was seen. Whether the job has finished.
    fn look(&mut self, watch: &Watch, now_ms: u64) -> bool {
        for look in watch.looks() {
            if self.note(look) {
                return true;
            }
        }
        if now_ms > self.heard_ms + SILENCE_MS {
            self.fail(format!("nothing was heard of the job for {} s", SILENCE_MS / 1000));
        }
        false
    }

    fn note(&mut self, look: Look) -> bool {
        let Ok(job) = look.job else { return false };
        let (asked_ms, answered_ms) = (self.story.ms_of(look.asked_ns), self.story.ms_of(look.answered_ns));
        self.heard_ms = answered_ms;
        if self.state != Some(job.state) {
            self.story.tell(&format!("  the job is {}, {} restarts, {} snapshots", job.word, job.restarts, job.snapshots));
            self.state = Some(job.state);
        }
        self.restarts.count(job.restarts);
        self.snapshots.count(job.snapshots);
        self.recoveries.seen(&job, asked_ms, answered_ms, look.files);
        match job.state {
            State::Finished => return true,
            State::Gone => self.fail(format!("the job is {}: {}", job.word, job.failure.as_deref().unwrap_or("no reason is told"))),
            _ => {}
        }
        false
    }

    /// Goes on with the faults that have begun, and begins the next one.
    fn strike(&mut self, now_ms: u64) -> Result<(), Failure> {
        let mut killed = Vec::new();
        let TormentOptions { interval_ms, timeout_ms, .. } = self.options;
        let is_running = self.state == Some(State::Running);
        let mut scene = Scene { now_ms, is_running, interval_ms, timeout_ms, cluster: self.cluster, killed: &mut killed };
        let mut healed = Vec::new();
        for (i, strike) in self.strikes.iter_mut().enumerate() {
            let waited = strike.is_waiting();
            if strike.go_on(&mut scene)? {
                healed.push(i);
            } else if waited && !strike.is_waiting() {
                self.outcome.missed += u64::from(strike.has_missed);
                self.story.tell(&format!("  the coordinator is killed{}", if strike.has_missed { ", at no special moment" } else { "" }));
            }
        }
        for i in healed.into_iter().rev() {
            self.story.tell(&format!("  healed: {}", self.strikes.remove(i).fault.kind.name()));
        }
        let next =
            self.faults.front().is_some_and(|fault| fault.at_ms <= now_ms && self.strikes.iter().all(|s| go_together(&s.fault, fault)));
        if next && self.strikes.len() < 2 {
            let Some(fault) = self.faults.pop_front() else { return Ok(()) };
            self.outcome.begun.push(fault.kind);
            self.story.tell(&format!("{} of {}: {fault}", self.outcome.begun.len(), self.outcome.planned));
            self.recoveries.disturbed();
            self.strikes.push(Strike::begin(fault, Folder::new(self.options.dir), &mut scene)?);
        }
        killed.into_iter().for_each(|victim| self.recoveries.killed(victim, self.story.now_ms()));
        Ok(())
    }

    /// Starts processes again that have ended by themselves.
    fn look_after_processes(&mut self, now_ms: u64) -> Result<(), Failure> {
        for (host, status, words) in self.cluster.fallen() {
            self.story.tell(&format!("  {host} has ended by itself, {status}:\n{}", words.trim_end()));
            self.outcome.fallen += 1;
            if has_crashed(status) {
                self.outcome.crashes.push(format!("{host}, {status}"));
            }
            self.again.push((host, now_ms + AGAIN_MS));
        }
        while let Some(at) = self.again.iter().position(|(_, due_ms)| *due_ms <= now_ms) {
            self.cluster.start_process(self.again.remove(at).0)?;
        }
        Ok(())
    }

    fn fail(&mut self, why: String) {
        self.outcome.failure = Some(format!("{why}\n{}", self.cluster.last_words().trim_end()));
    }
}

/// Whether two faults may be there at the same time.
fn go_together(a: &Fault, b: &Fault) -> bool {
    a.kind.class() != b.kind.class() && (a.worker != b.worker || [a, b].iter().any(|fault| fault.kind.class() == Class::Coordinator))
}

/// A panic, or a signal that nobody here has sent.
fn has_crashed(status: ExitStatus) -> bool {
    const PANIC: i32 = 101;
    status.code().is_none_or(|code| code == PANIC)
}
