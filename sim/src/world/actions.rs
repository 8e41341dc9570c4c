//! What the masters want done, with what can go wrong about it.

use rheos_checkpoint::SubtaskPart;
use rheos_checkpoint::coordinator::{
    Action, CommitError, CommitId, Event, JobEnd, Note, OpId, Recovery, Restore, StorageOp, StorageOutcome,
};
use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;

use crate::deployment::Deployment;
use crate::invariant::{Invariant, Violation};
use crate::plan::Mutation;
use crate::subtask::Subtask;
use crate::world::{Happening, Message, RunId, World};

impl World {
    pub(super) fn act(&mut self, from: usize, action: Action) -> Result<(), Violation> {
        if !matches!(action, Action::Storage { .. }) || self.plan.verbose {
            self.note(10, || format!("coordinator {from} {}", format!("{action:?}").chars().take(160).collect::<String>()));
        }
        match action {
            Action::Storage { op, request } => self.ask_storage(from, op, request),
            Action::Deploy { attempt, region, generation, restore } => {
                self.regions.insert((from, attempt), region);
                let delay = self.way_out(from);
                self.after(delay, Happening::Deploy { run: (from, attempt), generation, restore });
            }
            Action::Cancel { attempt } => {
                let delay = self.way_out(from);
                self.after(delay, Happening::Cancel((from, attempt)));
                self.after(delay + 1, Happening::Supervise((from, attempt)));
            }
            Action::Trigger { attempt, barrier, stop } => {
                let run = (from, attempt);
                let is_running_source = |s: &Subtask| s.inputs.is_empty() && s.ended.is_none();
                let subtasks = self.runs.get(&run).map_or(&[][..], |d| &d.subtasks);
                let sources: Vec<usize> = (0..subtasks.len()).filter(|p| is_running_source(&subtasks[*p])).collect();
                sources.into_iter().for_each(|p| self.send_to_subtask(run, p, || Message::Trigger(barrier, stop)));
            }
            Action::Completed { attempt, epoch } => {
                self.send_to_all((from, attempt), || Message::Completed(epoch));
            }
            Action::Aborted { attempt, epoch } => {
                self.send_to_all((from, attempt), || Message::Aborted(epoch));
            }
            Action::Commit { commit, tokens } => {
                let delay = self.way_out(from) + self.dice.between(0, 20);
                self.after(delay, Happening::Commit { coordinator: from, commit, tokens });
            }
            Action::Abort { tokens } => tokens.iter().try_for_each(|token| self.outside.abort(token))?,
            Action::Ended(end) => self.coordinator_ended(from, end),
            Action::Note(Note::Restarting { region: Some(_), .. }) => self.report.alone += 1,
            Action::Note(_) => {}
        }
        Ok(())
    }

    fn coordinator_ended(&mut self, id: usize, end: JobEnd) {
        match &end {
            JobEnd::Finished => {
                if self.report.finished_ms.is_none() {
                    self.report.finished_ms = Some(self.now_ms);
                    // Whoever slept may still do something.
                    self.after(400, Happening::Over);
                }
            }
            JobEnd::Fenced => self.report.fenced += 1,
            JobEnd::Cancelled | JobEnd::Stopped { .. } | JobEnd::Failed { .. } => {}
        }
        let finished = end == JobEnd::Finished;
        self.coordinators[id].end = Some(end);
        if !finished && id + 1 == self.coordinators.len() {
            let delay = self.dice.between(10, 60);
            self.after(delay, Happening::StartCoordinator);
        }
    }

    /// How long a message from a coordinator takes, and one to it.
    fn way_out(&self, coordinator: usize) -> u64 {
        let cut = (self.coordinators[coordinator].cut_until_ms - self.now_ms).max(0) as u64;
        let slow = if self.faulty(self.plan.slow) { self.dice.between(20, 200) } else { 0 };
        cut + slow + self.dice.between(0, 4)
    }

    fn send_to_subtask(&mut self, run: RunId, position: usize, message: impl Fn() -> Message) {
        let copies = if self.faulty(self.plan.lose) { 0 } else { 1 + u64::from(self.faulty(self.plan.double)) };
        for _ in 0..copies {
            let delay = self.way_out(run.0);
            self.after(delay, Happening::ToSubtask(run, position, message()));
        }
    }

    fn send_to_all(&mut self, run: RunId, message: impl Fn() -> Message) {
        let subtasks = self.topologies[self.regions[&run]].ids.len();
        (0..subtasks).for_each(|position| self.send_to_subtask(run, position, &message));
    }

    fn send_to_master(&mut self, to: usize, event: &Event) {
        let copies = if self.faulty(self.plan.lose) { 0 } else { 1 + u64::from(self.faulty(self.plan.double)) };
        for _ in 0..copies {
            let delay = self.way_out(to);
            self.after(delay, Happening::ToMaster(to, event.clone()));
        }
    }

    pub(super) fn acknowledge(&mut self, run: RunId, parts: Vec<(Epoch, SubtaskPart)>) {
        for (epoch, part) in parts {
            if self.plan.has(Mutation::LoseAcks) && self.job.subtasks().last().is_some_and(|s| s.id == part.subtask) {
                continue;
            }
            let attempt = run.1;
            let event = if self.faulty(self.plan.decline) {
                Event::Declined { attempt, epoch, subtask: part.subtask, reason: "the disk is full".into() }
            } else {
                Event::Ack { attempt, epoch, part }
            };
            self.send_to_master(run.0, &event);
        }
    }

    fn ask_storage(&mut self, coordinator: usize, op: OpId, request: StorageOp) {
        let delay = self.way_out(coordinator);
        if !self.faulty(self.plan.storage_fails) {
            return self.after(delay, Happening::Store { coordinator, op, request, replies: true });
        }
        // No reply: without effect, with it, or with it later.
        let outcome = StorageOutcome::Failed("storage is away".into());
        let reply = delay + self.dice.between(1, 20);
        self.after(reply, Happening::ToMaster(coordinator, Event::Storage { op, outcome }));
        match self.dice.index(3) {
            0 => {}
            1 => self.after(delay, Happening::Store { coordinator, op, request, replies: false }),
            _ => {
                let late = reply + self.dice.between(1, 150);
                self.after(late, Happening::Store { coordinator, op, request, replies: false });
            }
        }
    }

    pub(super) fn store(&mut self, coordinator: usize, op: OpId, request: &StorageOp, replies: bool) -> Result<(), Violation> {
        let (outcome, manifest) = self.storage.apply(request)?;
        if let Some(manifest) = manifest {
            let rows = manifest.in_flight_rows();
            self.note(11, || format!("generation {} completes epoch {}", manifest.generation, manifest.epoch));
            self.report.checkpoints += 1;
            self.report.overtaking += u64::from(rows > 0);
            self.topologies.iter().try_for_each(|topology| topology.check(&manifest))?;
            if self.plan.has(Mutation::DeleteEarly) {
                self.storage.delete_early(&manifest);
            }
        }
        if replies {
            let delay = self.way_out(coordinator);
            self.after(delay, Happening::ToMaster(coordinator, Event::Storage { op, outcome }));
        }
        Ok(())
    }

    pub(super) fn commit(&mut self, coordinator: usize, commit: CommitId, tokens: &[CommitToken]) -> Result<(), Violation> {
        let fails = self.faulty(self.plan.commit_fails);
        // One that fails may have done nothing, a part, or all.
        let done = if fails { self.dice.index(tokens.len() + 1) } else { tokens.len() };
        let generation = self.coordinators[coordinator].master.generation().unwrap_or(0);
        for token in &tokens[..done] {
            let new = self.outside.commit(token, &self.expected)?;
            if new && generation < self.highest_deployed && self.plan.recovery == Recovery::Precise {
                let text = format!("generation {generation} makes {token:?} visible after {} has deployed", self.highest_deployed);
                return Err(Violation::new(Invariant::Fencing, text));
            }
        }
        self.note(12, || format!("coordinator {coordinator} commit {commit}: {done} of {} tokens", tokens.len()));
        let error = CommitError { message: "the sink is away".into(), restartable: true };
        let outcome = if fails { Err(error) } else { Ok(()) };
        let delay = self.way_out(coordinator);
        self.after(delay, Happening::ToMaster(coordinator, Event::CommitDone { commit, outcome }));
        Ok(())
    }

    pub(super) fn deploy(&mut self, run: RunId, generation: u64, restore: &Restore) -> Result<(), Violation> {
        // One that came so late that its coordinator has gone on is passed over: its workers know that it was cancelled.
        let Some(region) = self.regions.get(&run).copied() else { return Ok(()) };
        self.report.attempts += 1;
        self.after(1, Happening::Supervise(run));
        if self.runs.contains_key(&run) || self.coordinators[run.0].dead {
            return Ok(());
        }
        let of_region = |(id, d): (&RunId, &Deployment)| id.0 == run.0 && self.regions[id] == region && d.runs();
        if self.runs.iter().any(of_region) {
            return Err(Violation::new(Invariant::OneAttempt, format!("region {region} is deployed by {run:?}, and runs")));
        }
        self.highest_deployed = self.highest_deployed.max(generation);
        let from = if let Restore::From(manifest) = restore { Some(manifest.as_ref()) } else { None };
        let prefix = format!("{generation}.{}", run.1);
        let deployment = match Deployment::new(&prefix, generation, &self.surroundings(region), from) {
            Ok(deployment) => deployment,
            // Whoever has been overtaken may find that its snapshot is gone.
            Err(_) if generation < self.storage.highest_claim() => Deployment::stopped(),
            Err(e) => return Err(Violation::new(Invariant::Retention, format!("generation {generation} cannot restore: {e}"))),
        };
        for position in 0..deployment.subtasks.len() {
            let delay = self.dice.between(1, 10);
            self.after(delay, Happening::Step(run, position));
        }
        self.note(13, || format!("run {run:?} deployed"));
        self.runs.insert(run, deployment);
        Ok(())
    }

    /// Whether its coordinator has gone on to a later attempt of the region.
    fn runs_later(&self, run: RunId) -> bool {
        let later = self.runs.range((run.0, run.1 + 1)..).take_while(|((coordinator, _), _)| *coordinator == run.0);
        later.into_iter().any(|(id, _)| self.regions[id] == self.regions[&run])
    }

    /// Tells the master how a run is, again and again.
    pub(super) fn supervise(&mut self, run: RunId) {
        let (coordinator, attempt) = run;
        if self.runs.get(&run).is_some_and(|d| d.stopped) && self.runs_later(run) {
            self.runs.remove(&run);
            self.regions.remove(&run);
            return;
        }
        let Some(deployment) = self.runs.get_mut(&run) else { return };
        let master = &self.coordinators[coordinator];
        if master.dead || master.end.is_some() {
            // Its lease runs out.
            deployment.stopped = true;
            return;
        }
        let mut events = Vec::new();
        if deployment.stopped {
            events.push(Event::Stopped { attempt });
        } else if deployment.failed {
            events.push(Event::Failed { attempt, message: "a worker is lost".into(), restartable: true });
        } else {
            events.push(Event::Deployed { attempt });
            events.extend(
                deployment.subtasks.iter().filter_map(|s| s.ended.clone().map(|part| Event::Ended { attempt, after: s.last_epoch, part })),
            );
        }
        events.iter().for_each(|event| self.send_to_master(coordinator, event));
        let delay = self.dice.between(10, 25);
        self.after(delay, Happening::Supervise(run));
    }
}
