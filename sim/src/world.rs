//! The event loop of a schedule: who is told what, when, and what goes wrong on the way.

mod actions;
mod faults;

use std::collections::{BTreeMap, BTreeSet};

use rheos_checkpoint::coordinator::{CommitId, Config, Event, JobEnd, JobMaster, OpId, Restore, Start, StorageOp};
use rheos_checkpoint::{Barrier, JobInfo, RestartStrategy};
use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;

use crate::deployment::{Deployment, Surroundings, Topology};
use crate::dice::Dice;
use crate::invariant::{Invariant, Violation};
use crate::job::{Job, Row};
use crate::outside::Outside;
use crate::plan::{BOUND_MS, Mutation, Plan};
use crate::storage::Storage;
use faults::Fault;

/// What a schedule came to.
#[derive(Debug)]
pub struct Report {
    /// Its seed.
    pub seed: u64,
    /// The promise that was broken, if one was.
    pub violation: Option<Violation>,
    /// A hash over all that happened: equal for equal runs.
    pub hash: u64,
    /// How many snapshots were completed.
    pub checkpoints: u64,
    /// Of them, those in which barriers overtook rows.
    pub overtaking: u64,
    /// How many regions the job has.
    pub regions: usize,
    /// How many attempts were deployed.
    pub attempts: u64,
    /// How often a region was to restart while others ran on.
    pub alone: u64,
    /// How many coordinators there were.
    pub coordinators: usize,
    /// How many of them were fenced.
    pub fenced: usize,
    /// When the job finished.
    pub finished_ms: Option<i64>,
    /// What happened, if the plan says `verbose`.
    pub trace: Vec<String>,
}

/// Which attempt of which coordinator.
type RunId = (usize, u64);

#[derive(Debug)]
enum Message {
    Trigger(Barrier, bool),
    Completed(Epoch),
    Aborted(Epoch),
}

#[derive(Debug)]
enum Happening {
    StartCoordinator,
    ToMaster(usize, Event),
    Store { coordinator: usize, op: OpId, request: StorageOp, replies: bool },
    Commit { coordinator: usize, commit: CommitId, tokens: Vec<CommitToken> },
    Deploy { run: RunId, generation: u64, restore: Restore },
    Cancel(RunId),
    ToSubtask(RunId, usize, Message),
    Step(RunId, usize),
    Supervise(RunId),
    Fault(Fault),
    Calm,
    Over,
}

struct Coordinator {
    master: JobMaster,
    dead: bool,
    end: Option<JobEnd>,
    /// Messages to and from it wait until then.
    cut_until_ms: i64,
    /// It sees nothing until then.
    asleep_until_ms: i64,
    planned_tick_ms: i64,
}

struct World {
    plan: Plan,
    dice: Dice,
    job: Job,
    expected: BTreeSet<Row>,
    /// By region.
    topologies: Vec<Topology>,
    /// The regions of attempts, until they are forgotten.
    regions: BTreeMap<RunId, usize>,
    now_ms: i64,
    queue: BTreeMap<(i64, u64), Happening>,
    sequence: u64,
    storage: Storage,
    outside: Outside,
    coordinators: Vec<Coordinator>,
    runs: BTreeMap<RunId, Deployment>,
    highest_deployed: u64,
    over: bool,
    report: Report,
}

/// Plays a schedule.
pub fn run(plan: &Plan) -> Report {
    let mut world = World::new(plan.clone());
    if let Err(violation) = world.play() {
        world.note(0, || format!("VIOLATION {violation}"));
        world.report.violation = Some(violation);
    }
    world.report
}

impl World {
    fn new(plan: Plan) -> World {
        let dice = Dice::new(plan.seed);
        let job = Job::random(&dice, plan.pieces.unwrap_or(1), plan.pieces.is_some());
        let duplicates_allowed = plan.recovery != rheos_checkpoint::coordinator::Recovery::Precise;
        let storage = Storage::new(plan.checkpointing.retained, plan.has(Mutation::SkipFence));
        let outside = Outside::new(duplicates_allowed, plan.has(Mutation::CommitTwice));
        let report = Report {
            seed: plan.seed,
            violation: None,
            hash: plan.seed,
            checkpoints: 0,
            overtaking: 0,
            regions: job.regions(),
            attempts: 0,
            alone: 0,
            coordinators: 0,
            fenced: 0,
            finished_ms: None,
            trace: Vec::new(),
        };
        World {
            expected: job.expected(),
            topologies: (0..job.regions()).map(|region| Topology::of(&job, region)).collect(),
            regions: BTreeMap::new(),
            plan,
            dice,
            job,
            now_ms: 0,
            queue: BTreeMap::new(),
            sequence: 0,
            storage,
            outside,
            coordinators: Vec::new(),
            runs: BTreeMap::new(),
            highest_deployed: 0,
            over: false,
            report,
        }
    }

    fn play(&mut self) -> Result<(), Violation> {
        self.note(1, || "start".into());
        if self.plan.verbose {
            let job = format!("{:?}", self.job);
            self.report.trace.push(job);
        }
        self.after(0, Happening::StartCoordinator);
        self.plan_faults();
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            self.now_ms = at;
            if self.over {
                break;
            }
            if self.now_ms > self.plan.faults_until_ms + BOUND_MS {
                let text = format!("the job has not finished {BOUND_MS} ms after the last fault");
                return Err(Violation::new(Invariant::Termination, text));
            }
            self.happen(happening)?;
        }
        self.report.coordinators = self.coordinators.len();
        self.outside.check_all(&self.expected)
    }

    fn happen(&mut self, happening: Happening) -> Result<(), Violation> {
        match happening {
            Happening::StartCoordinator => self.start_coordinator(),
            Happening::ToMaster(to, event) => self.tell_master(to, event),
            Happening::Store { coordinator, op, request, replies } => self.store(coordinator, op, &request, replies),
            Happening::Commit { coordinator, commit, tokens } => self.commit(coordinator, commit, &tokens),
            Happening::Deploy { run, generation, restore } => self.deploy(run, generation, &restore),
            Happening::Cancel(run) => {
                self.note(2, || format!("run {run:?} stops"));
                if self.regions.contains_key(&run) {
                    self.runs.entry(run).or_insert_with(Deployment::stopped).stopped = true;
                }
                Ok(())
            }
            Happening::ToSubtask(run, position, message) => self.tell_subtask(run, position, &message),
            Happening::Step(run, position) => self.step(run, position),
            Happening::Supervise(run) => {
                self.supervise(run);
                Ok(())
            }
            Happening::Fault(fault) => {
                self.strike(fault);
                Ok(())
            }
            Happening::Calm => {
                self.calm();
                Ok(())
            }
            Happening::Over => {
                self.over = true;
                Ok(())
            }
        }
    }

    fn start_coordinator(&mut self) -> Result<(), Violation> {
        if self.report.finished_ms.is_some() {
            return Ok(());
        }
        let config = Config {
            job: JobInfo { id: "job".into(), name: "job".into() },
            rheos: "sim".into(),
            plan: serde_json::Value::Null,
            checkpointing: Some(self.plan.checkpointing.clone()),
            recovery: self.plan.recovery,
            restart: RestartStrategy::FixedDelay { attempts: u32::MAX, delay_ms: 5 },
            start: Start::Latest,
            nonce: self.dice.number(),
        };
        let master = JobMaster::new(config, self.job.subtasks());
        let coordinator = Coordinator { master, dead: false, end: None, cut_until_ms: 0, asleep_until_ms: 0, planned_tick_ms: i64::MAX };
        self.coordinators.push(coordinator);
        let id = self.coordinators.len() - 1;
        self.note(3, || format!("coordinator {id} starts"));
        self.tell_master(id, Event::Tick)
    }

    fn tell_master(&mut self, to: usize, event: Event) -> Result<(), Violation> {
        let coordinator = &mut self.coordinators[to];
        if coordinator.dead || coordinator.end.is_some() {
            return Ok(());
        }
        if coordinator.asleep_until_ms > self.now_ms {
            let at = coordinator.asleep_until_ms;
            self.at(at, Happening::ToMaster(to, event));
            return Ok(());
        }
        if matches!(event, Event::Tick) {
            coordinator.planned_tick_ms = i64::MAX;
        } else {
            self.note(4, || format!("coordinator {to} hears {}", brief(&event)));
        }
        if let (Event::Ack { part, .. }, true) = (&event, self.plan.has(Mutation::CommitBeforeManifest)) {
            for token in part.tokens.clone() {
                self.outside.commit(&token, &self.expected)?;
            }
        }
        let now_ms = self.now_ms;
        let coordinator = &mut self.coordinators[to];
        let actions = coordinator.master.handle(now_ms, event);
        if let Some(at) = coordinator.master.next_wakeup_ms()
            && at < coordinator.planned_tick_ms
        {
            coordinator.planned_tick_ms = at;
            self.at(at.max(now_ms), Happening::ToMaster(to, Event::Tick));
        }
        for action in actions {
            self.act(to, action)?;
        }
        Ok(())
    }

    fn tell_subtask(&mut self, run: RunId, position: usize, message: &Message) -> Result<(), Violation> {
        let Some(mut deployment) = self.runs.remove(&run) else { return Ok(()) };
        let region = self.regions[&run];
        let mut parts = Vec::new();
        if !deployment.stopped && !deployment.frozen[position] {
            match message {
                Message::Trigger(barrier, stop) => parts = deployment.trigger(position, *barrier, *stop, &mut self.surroundings(region)),
                Message::Completed(epoch) => deployment.subtasks[position].completed(*epoch),
                Message::Aborted(epoch) => deployment.aborted(position, *epoch, &mut self.surroundings(region)),
            }
        }
        let id = self.topologies[region].ids[position];
        self.note(5, || format!("run {run:?} subtask {id} hears {message:?}"));
        self.runs.insert(run, deployment);
        self.acknowledge(run, parts);
        Ok(())
    }

    fn step(&mut self, run: RunId, position: usize) -> Result<(), Violation> {
        let Some(mut deployment) = self.runs.remove(&run) else { return Ok(()) };
        let parts = deployment.step(position, &mut self.surroundings(self.regions[&run]));
        let goes_on = !deployment.stopped && !deployment.frozen[position] && deployment.subtasks[position].ended.is_none();
        self.runs.insert(run, deployment);
        self.acknowledge(run, parts);
        if goes_on {
            let ms = self.dice.between(1, 6);
            self.after(ms, Happening::Step(run, position));
        }
        Ok(())
    }

    fn surroundings(&mut self, region: usize) -> Surroundings<'_> {
        Surroundings {
            now_ms: self.now_ms,
            plan: &self.plan,
            job: &self.job,
            topology: &self.topologies[region],
            dice: &self.dice,
            storage: &mut self.storage,
            outside: &mut self.outside,
        }
    }

    fn after(&mut self, ms: u64, happening: Happening) {
        self.at(self.now_ms + ms as i64, happening);
    }

    fn at(&mut self, at_ms: i64, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((at_ms, self.sequence), happening);
    }

    /// Adds something that happened to the hash, and to the trace if there is one.
    fn note(&mut self, code: u64, text: impl FnOnce() -> String) {
        let mixed = (self.report.hash ^ code ^ ((self.now_ms as u64) << 8)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.report.hash = mixed ^ (mixed >> 29) ^ self.sequence;
        if self.plan.verbose {
            self.report.trace.push(format!("{:>6} {}", self.now_ms, text()));
        }
    }
}

fn brief(event: &Event) -> String {
    match event {
        Event::Ack { attempt, epoch, part } => format!("ack {attempt} epoch {epoch} of {}", part.subtask),
        Event::Ended { attempt, part, .. } => format!("ended {attempt} {}", part.subtask),
        other => format!("{other:?}").chars().take(120).collect(),
    }
}
