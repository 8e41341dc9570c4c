//! The workers of one job, wherever they are: what the job's driver wants done, said to their sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rheos_checkpoint::Barrier;
use rheos_checkpoint::coordinator::{Attempt, CommitId, Event, Restore};
use rheos_core::element::Epoch;
use rheos_core::env::Env;
use rheos_core::sink::CommitToken;
use rheos_core::{Error, ErrorKind, Result};
use rheos_graph::{JobGraph, NodeKind, Placement, Regions, TaskGraph};
use rheos_protocol::codec::{restore_to, to_json};
use rheos_protocol::v1;
use rheos_protocol::v1::to_worker::Message;
use tokio::sync::OnceCell;

use super::placement::{place, slots_of};
use super::requests::Requests;
use super::sessions::{SessionId, Sessions};
use crate::workers::{EventSender, Workers};

/// The workers of a job. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RemoteWorkers(Arc<Inner>);

struct Inner {
    open: v1::OpenJob,
    graph: Arc<TaskGraph>,
    regions: Regions,
    sessions: Arc<Sessions>,
    requests: Requests,
    env: Env,
    state: Mutex<State>,
    /// Whether what earlier coordinators' attempts left at the sinks has been thrown away.
    clean: OnceCell<()>,
    /// The splits of the sources where the job began at the beginning: regions that begin there again read the same ones.
    fresh: OnceCell<Vec<u8>>,
}

#[derive(Default)]
struct State {
    attempts: BTreeMap<Attempt, Deployed>,
    commits: BTreeMap<CommitId, Committing>,
    /// How many slots are free, while there are too few.
    lacks: BTreeMap<Attempt, usize>,
}

/// An attempt from the moment it was asked for until nothing of it is left.
struct Deployed {
    events: EventSender,
    /// The workers that run a part of it, as far as they are known.
    runs_on: BTreeSet<SessionId>,
    /// Those of them that have not made everything yet.
    preparing: BTreeSet<SessionId>,
    is_cancelled: bool,
    /// Whether all workers were told to go.
    goes: bool,
}

struct Committing {
    tokens: Vec<CommitToken>,
    events: EventSender,
    by: Option<SessionId>,
}

/// How a job stands with its workers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It needs so many slots, and so many are free.
    Lacks { needs: usize, free: usize },
    /// Something of it is being deployed.
    Deploys,
    /// All that is to run runs.
    Runs,
    /// Nothing of it is to run.
    Rests,
}

impl RemoteWorkers {
    pub(crate) fn new(open: v1::OpenJob, graph: Arc<TaskGraph>, sessions: Arc<Sessions>, env: Env) -> Self {
        let regions = Regions::of(&graph);
        let requests = Requests::new(open.clone(), Arc::clone(&sessions));
        let (clean, fresh) = (OnceCell::new(), OnceCell::new());
        RemoteWorkers(Arc::new(Inner { open, graph, regions, sessions, requests, env, state: Mutex::default(), clean, fresh }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How the job stands.
    pub(crate) fn standing(&self) -> Standing {
        let state = self.lock();
        let needs = slots_of(&self.0.graph);
        match (state.lacks.values().next(), state.attempts.is_empty()) {
            (Some(free), _) => Standing::Lacks { needs, free: *free },
            (None, true) => Standing::Rests,
            (None, false) if state.attempts.values().all(|a| a.goes) => Standing::Runs,
            (None, false) => Standing::Deploys,
        }
    }

    /// Has the sinks throw away what was prepared and never committed: when the job has finished.
    pub(crate) async fn leave_clean(&self) {
        if let Err(error) = self.0.requests.clean_up(self.0.env.clock.now_ms()).await {
            tracing::warn!(job = self.0.open.job, %error, "what failed attempts left at the sinks stays there");
        }
    }

    /// A worker tells something of an attempt.
    pub(crate) fn told(&self, session: SessionId, event: Event) {
        let mut state = self.lock();
        let attempt = match &event {
            Event::Deployed { attempt } | Event::Stopped { attempt } => *attempt,
            Event::Ack { attempt, .. } | Event::Declined { attempt, .. } => *attempt,
            Event::Ended { attempt, .. } | Event::Failed { attempt, .. } => *attempt,
            _ => return,
        };
        let Some(deployed) = state.attempts.get_mut(&attempt).filter(|deployed| deployed.runs_on.contains(&session)) else { return };
        match event {
            Event::Deployed { .. } => {
                deployed.preparing.remove(&session);
                if deployed.preparing.is_empty() && !deployed.goes && !deployed.is_cancelled {
                    deployed.goes = true;
                    for session in &deployed.runs_on {
                        self.0.sessions.tell(*session, Message::Go(v1::Go { job: self.0.open.job.clone(), attempt }));
                    }
                    tell(&deployed.events, event);
                }
            }
            Event::Stopped { .. } => stop(&mut state, attempt, session),
            event => tell(&deployed.events, event),
        }
    }

    /// A commit has ended.
    pub(crate) fn committed(&self, session: SessionId, event: Event) {
        let Event::CommitDone { commit, .. } = &event else { return };
        let mut state = self.lock();
        // Another worker may have been asked meanwhile; then its answer counts.
        if state.commits.get(commit).is_some_and(|committing| committing.by == Some(session))
            && let Some(committing) = state.commits.remove(commit)
        {
            tell(&committing.events, event);
        }
    }

    /// What was asked for has been found or done.
    pub(crate) fn answered(&self, request: u64, outcome: Result<Vec<u8>>) {
        self.0.requests.answered(request, outcome);
    }

    /// A worker is lost: what it ran has failed, what it was asked is asked elsewhere.
    pub(crate) fn lost(&self, session: SessionId, name: &str) {
        self.0.requests.lost(session, name);
        let mut state = self.lock();
        let affected = state.attempts.iter().filter(|(_, deployed)| deployed.runs_on.contains(&session));
        for attempt in affected.map(|(attempt, _)| *attempt).collect::<Vec<_>>() {
            if let Some(deployed) = state.attempts.get(&attempt).filter(|deployed| !deployed.is_cancelled) {
                let message = format!("worker {name} was lost");
                tell(&deployed.events, Event::Failed { attempt, message, restartable: true });
            }
            stop(&mut state, attempt, session);
        }
        let open: Vec<CommitId> = state.commits.iter_mut().filter(|(_, c)| c.by == Some(session)).map(|(id, _)| *id).collect();
        drop(state);
        open.into_iter().for_each(|commit| self.ask_to_commit(commit));
    }

    /// Asks some worker to commit; where there is none, as soon as one comes.
    fn ask_to_commit(&self, commit: CommitId) {
        let workers = self.clone();
        if let Some(committing) = self.lock().commits.get_mut(&commit) {
            committing.by = None;
        }
        tokio::spawn(async move {
            let session = workers.0.requests.some_worker().await;
            let mut state = workers.lock();
            let Some(committing) = state.commits.get_mut(&commit).filter(|committing| committing.by.is_none()) else { return };
            committing.by = Some(session);
            let Inner { open, sessions, .. } = &*workers.0;
            match to_json(&committing.tokens) {
                Ok(tokens_json) => {
                    sessions.tell_of(session, open, Message::Commit(v1::Commit { job: open.job.clone(), commit, tokens_json }));
                }
                Err(error) => tracing::error!(%error, "tokens cannot be told"),
            }
            drop(state);
            // Gone before it was known whom to tell of its loss.
            if workers.0.sessions.host(session).is_none() {
                workers.ask_to_commit(commit);
            }
        });
    }

    /// Waits until the job has its slots; `None` when the attempt was cancelled meanwhile.
    async fn slots(&self, attempt: Attempt) -> Option<Vec<SessionId>> {
        let Inner { sessions, graph, open, .. } = &*self.0;
        let mut changes = sessions.watch();
        loop {
            changes.mark_unchanged();
            if self.is_cancelled(attempt) {
                return None;
            }
            match sessions.lease(&open.job, slots_of(graph)) {
                Ok(slots) => {
                    self.lock().lacks.remove(&attempt);
                    return Some(slots);
                }
                Err(free) => drop(self.lock().lacks.insert(attempt, free)),
            }
            // Cancelling is looked for now and then; whoever gives slots lives as long as we do.
            drop(tokio::time::timeout(std::time::Duration::from_millis(100), changes.changed()).await);
        }
    }

    fn is_cancelled(&self, attempt: Attempt) -> bool {
        self.lock().attempts.get(&attempt).is_none_or(|deployed| deployed.is_cancelled)
    }

    async fn splits(&self, restore: &Restore) -> Result<Vec<u8>> {
        let Inner { requests, fresh, graph, .. } = &*self.0;
        match restore {
            Restore::Fresh => Ok(fresh.get_or_try_init(|| requests.find_splits(Restore::Fresh)).await?.clone()),
            Restore::From(manifest) if is_in(&graph.job, |uid| manifest.operators.contains_key(uid)) => Ok(b"{}".to_vec()),
            other => requests.find_splits(other.clone()).await,
        }
    }

    async fn run(&self, attempt: Attempt, region: usize, generation: u64, restore: Restore) -> Result<()> {
        let Inner { open, graph, regions, sessions, env, clean, requests, .. } = &*self.0;
        let Some(slots) = self.slots(attempt).await else { return Ok(()) };
        clean.get_or_try_init(|| requests.clean_up(env.clock.now_ms())).await?;
        let splits_json = self.splits(&restore).await?;
        let places = place(graph);
        let mut on: Vec<SessionId> = slots.clone();
        on.sort_unstable();
        on.dedup();
        let hosts =
            on.iter().map(|id| sessions.host(*id).ok_or_else(|| Error::restart("a worker was lost while the job was being placed")));
        let hosts = hosts.collect::<Result<Vec<_>>>()?;
        let position = |slot: &usize| on.binary_search(&slots[*slot]).map_err(|_| Error::bug("a slot of no worker"));
        let subtasks = places.iter().map(|of| of.iter().map(position).collect()).collect::<Result<Vec<Vec<usize>>>>()?;
        let mut runs_on = BTreeSet::new();
        for task in &graph.tasks {
            for index in (0..task.parallelism).filter(|index| regions.region(task.id, *index) == region) {
                runs_on.insert(on[subtasks[task.id][index]]);
            }
        }
        let deploy = v1::Deploy {
            job: open.job.clone(),
            attempt,
            generation,
            region: region as u32,
            deployment: env.random.next_u64(),
            restore: Some(restore_to(&restore)?),
            placement_json: to_json(&Placement { hosts, subtasks })?,
            splits_json,
        };
        let mut state = self.lock();
        let Some(deployed) = state.attempts.get_mut(&attempt).filter(|deployed| !deployed.is_cancelled) else { return Ok(()) };
        deployed.runs_on.clone_from(&runs_on);
        deployed.preparing.clone_from(&runs_on);
        for session in &runs_on {
            sessions.tell_of(*session, open, Message::Deploy(deploy.clone()));
        }
        drop(state);
        // Lost before it was known whom to tell of it.
        runs_on.into_iter().filter(|session| sessions.host(*session).is_none()).for_each(|session| self.lost(session, "on its way"));
        Ok(())
    }

    fn tell_all(&self, attempt: Attempt, message: impl Fn() -> Message) {
        let state = self.lock();
        for session in state.attempts.get(&attempt).iter().flat_map(|deployed| &deployed.runs_on) {
            self.0.sessions.tell(*session, message());
        }
    }

    fn notice(&self, attempt: Attempt, epoch: Epoch) -> v1::EpochNotice {
        v1::EpochNotice { job: self.0.open.job.clone(), attempt, epoch }
    }
}

/// Whether all sources of a job are among those that `holds` says.
fn is_in(job: &JobGraph, holds: impl Fn(&str) -> bool) -> bool {
    job.nodes.iter().filter(|node| matches!(node.kind, NodeKind::Source { .. })).all(|node| holds(&node.uid))
}

/// Nothing of an attempt runs on a worker any more.
fn stop(state: &mut State, attempt: Attempt, session: SessionId) {
    let Some(deployed) = state.attempts.get_mut(&attempt) else { return };
    deployed.runs_on.remove(&session);
    deployed.preparing.remove(&session);
    if deployed.runs_on.is_empty()
        && let Some(deployed) = state.attempts.remove(&attempt)
    {
        tell(&deployed.events, Event::Stopped { attempt });
    }
}

/// Tells the job's driver, who may be gone.
fn tell(events: &EventSender, event: Event) {
    drop(events.send(event));
}

impl Workers for RemoteWorkers {
    fn deploy(&self, attempt: Attempt, region: usize, generation: u64, restore: Restore, events: EventSender) {
        let (runs_on, preparing) = (BTreeSet::new(), BTreeSet::new());
        self.lock().attempts.insert(attempt, Deployed { events, runs_on, preparing, is_cancelled: false, goes: false });
        let workers = self.clone();
        tokio::spawn(async move {
            let failure = workers.run(attempt, region, generation, restore).await.err();
            let mut state = workers.lock();
            state.lacks.remove(&attempt);
            let Some(deployed) = state.attempts.get(&attempt) else { return };
            if let Some(error) = failure {
                let restartable = matches!(error.kind(), ErrorKind::Retry | ErrorKind::RestartJob | ErrorKind::Bug);
                tell(&deployed.events, Event::Failed { attempt, message: error.to_string(), restartable });
            }
            // It came to no worker.
            if deployed.runs_on.is_empty()
                && let Some(deployed) = state.attempts.remove(&attempt)
            {
                tell(&deployed.events, Event::Stopped { attempt });
            }
        });
    }

    fn trigger(&self, attempt: Attempt, barrier: Barrier, stop: bool) {
        let barrier_json = match to_json(&barrier) {
            Ok(json) => json,
            Err(error) => return tracing::error!(%error, "a barrier cannot be told"),
        };
        let job = &self.0.open.job;
        self.tell_all(attempt, || Message::Trigger(v1::Trigger { job: job.clone(), attempt, barrier_json: barrier_json.clone(), stop }));
    }

    fn completed(&self, attempt: Attempt, epoch: Epoch) {
        self.tell_all(attempt, || Message::Completed(self.notice(attempt, epoch)));
    }

    fn aborted(&self, attempt: Attempt, epoch: Epoch) {
        self.tell_all(attempt, || Message::Aborted(self.notice(attempt, epoch)));
    }

    fn cancel(&self, attempt: Attempt) {
        if let Some(deployed) = self.lock().attempts.get_mut(&attempt) {
            deployed.is_cancelled = true;
        }
        self.tell_all(attempt, || Message::Cancel(v1::Cancel { job: self.0.open.job.clone(), attempt }));
    }

    fn commit(&self, commit: CommitId, tokens: Vec<CommitToken>, events: EventSender) {
        self.lock().commits.insert(commit, Committing { tokens, events, by: None });
        self.ask_to_commit(commit);
    }

    fn abort(&self, tokens: Vec<CommitToken>) {
        let Inner { open, sessions, .. } = &*self.0;
        match (to_json(&tokens), sessions.any(&open.job)) {
            (Ok(tokens_json), Some(session)) => {
                sessions.tell_of(session, open, Message::AbortTokens(v1::Tokens { job: open.job.clone(), tokens_json }));
            }
            // What nobody throws away now is thrown away when the job has finished.
            (_, None) => {}
            (Err(error), _) => tracing::error!(%error, "tokens cannot be told"),
        }
    }
}
