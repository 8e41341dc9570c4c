//! The jobs that a worker runs under one session.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rheos_checkpoint::coordinator::{Attempt, CommitError, Event};
use rheos_core::{Error, Result};
use rheos_exchange::net::LinkFailure;
use rheos_graph::{JobMetrics, Placement, Regions, TaskGraph};
use rheos_protocol::codec::{event_to, failure_to, from_json, restore_from, to_json};
use rheos_protocol::v1;
use rheos_protocol::v1::from_worker::Message as Said;
use rheos_protocol::v1::to_worker::Message;
use tokio::sync::{mpsc, oneshot};

use super::Inner;
use super::artifact::{Client, fetch};
use crate::options::RuntimeOptions;
use crate::runner::{Deployment, EventSender, JobParts, JobRunner, is_restartable, lock};
use crate::share::{Share, Spread};

/// Where a worker says things.
type Says = mpsc::UnboundedSender<v1::FromWorker>;

/// The attempts that wait for the others, or run.
type Deployments = Arc<Mutex<BTreeMap<Attempt, (u64, Option<oneshot::Sender<()>>)>>>;

/// All jobs of a session.
pub(crate) struct Jobs {
    process: Arc<Inner>,
    says: Says,
    jobs: BTreeMap<String, Result<OpenJob, Error>>,
}

/// A job that can be run here.
#[derive(Clone)]
pub(crate) struct OpenJob {
    runner: JobRunner,
    regions: Arc<Regions>,
    events: EventSender,
    deployments: Deployments,
}

/// What a job is made of, fetched and put together.
pub(crate) struct Opened {
    runner: JobRunner,
    regions: Arc<Regions>,
}

impl Jobs {
    pub(crate) fn new(process: Arc<Inner>, says: Says) -> Self {
        Jobs { process, says, jobs: BTreeMap::new() }
    }

    /// Fetches what a job is made of.
    pub(crate) async fn open(process: &Arc<Inner>, client: &mut Client, open: &v1::OpenJob) -> Result<Opened> {
        let content = fetch(client, &open.graph).await?;
        let graph: TaskGraph = from_json("a task graph", &content)?;
        let options: BTreeMap<String, String> = open.storage_options.clone().into_iter().collect();
        let storage = process.assembly.open_storage(&open.storage, &options)?;
        let regions = Arc::new(Regions::of(&graph));
        let assembly = Arc::clone(&process.assembly);
        let runner = JobRunner::new(JobParts {
            graph: Arc::new(graph),
            registry: Arc::new(process.assembly.registry(&storage)),
            env: process.env.clone(),
            pool: Arc::clone(&process.pool),
            runtime: tokio::runtime::Handle::current(),
            storage: Some(storage),
            open_storage: Arc::new(move |place: &str| assembly.open_storage(place, &options)),
            job_id: open.job.clone(),
            lost_replies: None,
            options: RuntimeOptions { buffer_bytes: open.buffer_bytes as usize, ..RuntimeOptions::default() },
        })?;
        Ok(Opened { runner, regions })
    }

    /// A job has been opened, or cannot be: then whatever is to be run of it fails with the reason.
    pub(crate) fn opened(&mut self, job: &str, opened: Result<&Opened, &Error>) {
        let opened = opened.map_err(|e| Error::new(e.kind(), format!("this worker cannot run the job: {e}"))).map(|opened| {
            let (events, told) = mpsc::unbounded_channel();
            let deployments = Deployments::default();
            let network = self.process.network.clone();
            tokio::spawn(report(job.to_string(), told, self.says.clone(), Arc::clone(&deployments), network));
            OpenJob { runner: opened.runner.clone(), regions: Arc::clone(&opened.regions), events, deployments }
        });
        self.jobs.insert(job.to_string(), opened);
    }

    /// What the tasks of each job have measured.
    pub(crate) fn metrics(&self) -> Vec<(String, JobMetrics)> {
        self.jobs.iter().filter_map(|(id, job)| Some((id.clone(), job.as_ref().ok()?.runner.metrics()))).collect()
    }

    /// Does what the coordinator says.
    pub(crate) fn carry_out(&mut self, message: Message) {
        match message {
            Message::Deploy(deploy) => self.deploy(deploy),
            Message::Go(v1::Go { job, attempt }) => {
                let go = self.job(&job).and_then(|job| lock(&job.deployments).get_mut(&attempt)?.1.take());
                // An attempt that was cancelled does not listen.
                go.into_iter().for_each(|go| {
                    let _ = go.send(());
                });
            }
            Message::Trigger(v1::Trigger { job, attempt, barrier_json, stop }) => match from_json("a barrier", &barrier_json) {
                Ok(barrier) => self.job(&job).into_iter().for_each(|job| job.runner.trigger(attempt, barrier, stop)),
                Err(error) => tracing::error!(%error, "no barrier is put in"),
            },
            Message::Completed(v1::EpochNotice { job, attempt, epoch }) => {
                self.job(&job).into_iter().for_each(|job| job.runner.completed(attempt, epoch));
            }
            Message::Aborted(v1::EpochNotice { job, attempt, epoch }) => {
                self.job(&job).into_iter().for_each(|job| job.runner.aborted(attempt, epoch));
            }
            Message::Cancel(v1::Cancel { job, attempt }) => self.job(&job).into_iter().for_each(|job| job.runner.cancel(attempt)),
            Message::Commit(v1::Commit { job, commit, tokens_json }) => {
                let tokens = from_json("tokens", &tokens_json);
                match self.with(&job, tokens) {
                    Ok((open, tokens)) => open.runner.commit(commit, tokens, open.events.clone()),
                    Err(error) => {
                        let failed = CommitError { message: error.to_string(), restartable: is_restartable(&error) };
                        self.say(Said::CommitDone(v1::CommitDone { job, commit, failure: Some(failure_to(&failed)) }));
                    }
                }
            }
            Message::AbortTokens(v1::Tokens { job, tokens_json }) => {
                if let Ok((open, tokens)) = self.with(&job, from_json("tokens", &tokens_json)) {
                    open.runner.abort(tokens);
                }
            }
            Message::FindSplits(v1::FindSplits { job, request, restore }) => {
                let (open, says) = (self.with(&job, restore_from(restore)), self.says.clone());
                tokio::spawn(async move {
                    let found = async {
                        let (open, restore) = open?;
                        to_json(&open.runner.find_splits(restore).await?)
                    };
                    let (splits_json, failure) = parts(found.await);
                    say(&says, Said::SplitsFound(v1::SplitsFound { job, request, splits_json, failure }));
                });
            }
            Message::CleanUp(v1::CleanUp { job, request, until_ms }) => {
                let (open, says) = (self.with(&job, Ok(())), self.says.clone());
                tokio::spawn(async move {
                    let cleaned = async { open?.0.runner.clean_up(until_ms).await.map(|()| Vec::new()) };
                    let (_, failure) = parts(cleaned.await);
                    say(&says, Said::CleanedUp(v1::CleanedUp { job, request, failure }));
                });
            }
            Message::CloseJob(v1::CloseJob { job }) => {
                if let Some(Ok(job)) = self.jobs.remove(&job) {
                    job.runner.cancel_all();
                }
            }
            Message::Registered(_) | Message::HeartbeatReply(_) | Message::OpenJob(_) => {}
        }
    }

    fn job(&self, id: &str) -> Option<&OpenJob> {
        self.jobs.get(id)?.as_ref().ok()
    }

    /// A job together with what is to be done with it.
    fn with<T>(&self, id: &str, what: Result<T>) -> Result<(OpenJob, T)> {
        match self.jobs.get(id) {
            Some(Ok(job)) => Ok((job.clone(), what?)),
            Some(Err(error)) => Err(Error::new(error.kind(), error.to_string())),
            None => Err(Error::bug(format!("job '{id}' is not open here"))),
        }
    }

    fn deploy(&mut self, deploy: v1::Deploy) {
        let v1::Deploy { job, attempt, generation, region, deployment, restore, placement_json, splits_json } = deploy;
        let read = || {
            let placement: Placement = from_json("a placement", &placement_json)?;
            Ok((placement, from_json("splits", &splits_json)?, restore_from(restore)?))
        };
        let (open, (placement, splits, restore)) = match self.with(&job, read()) {
            Ok(read) => read,
            Err(error) => {
                let failed = v1::Failed { message: error.to_string(), restartable: is_restartable(&error) };
                let event = |event| Said::AttemptEvent(v1::AttemptEvent { job: job.clone(), attempt, event: Some(event) });
                self.say(event(v1::attempt_event::Event::Failed(failed)));
                self.say(event(v1::attempt_event::Event::Stopped(v1::Stopped {})));
                return;
            }
        };
        let (go, goes) = oneshot::channel();
        lock(&open.deployments).insert(attempt, (deployment, Some(go)));
        let spread =
            Spread { placement: Arc::new(placement), own_id: self.process.options.id, deployment, network: self.process.network.clone() };
        let share = Share::region(Arc::clone(&open.regions), region as usize).spread(spread);
        let deployment = Deployment { generation, share, restore, splits: Arc::new(splits), go: Some(goes) };
        open.runner.deploy(attempt, std::future::ready(Ok(deployment)), open.events.clone());
    }

    /// Rows cannot reach another worker: the attempts that send or await some cannot go on.
    pub(crate) fn link_failed(&mut self, failure: &LinkFailure) {
        for job in self.jobs.values().flatten() {
            let deployments = lock(&job.deployments);
            for (attempt, _) in deployments.iter().filter(|(_, (deployment, _))| failure.deployments.contains(deployment)) {
                let message = format!("the link to worker {:016x} failed: {}", failure.peer, failure.reason);
                job.runner.fail(*attempt, Error::restart(message), &job.events);
            }
        }
    }

    fn say(&self, message: Said) {
        say(&self.says, message);
    }

    /// Ends everything; returns when nothing runs any more.
    pub(crate) async fn end(self) {
        let jobs: Vec<OpenJob> = self.jobs.into_values().flatten().collect();
        jobs.iter().for_each(|job| job.runner.cancel_all());
        for job in &jobs {
            job.runner.idle().await;
        }
    }
}

/// Tells the coordinator, if the session lasts.
fn say(says: &Says, message: Said) {
    drop(says.send(v1::FromWorker { message: Some(message) }));
}

fn parts(outcome: Result<Vec<u8>>) -> (Vec<u8>, Option<v1::Failed>) {
    match outcome {
        Ok(content) => (content, None),
        Err(error) => (Vec::new(), Some(v1::Failed { message: error.to_string(), restartable: is_restartable(&error) })),
    }
}

/// Tells the coordinator what happens to a job, until nobody can tell any more.
async fn report(
    job: String,
    mut told: mpsc::UnboundedReceiver<Event>,
    says: Says,
    deployments: Deployments,
    network: rheos_exchange::net::Network,
) {
    while let Some(event) = told.recv().await {
        if let Event::CommitDone { commit, outcome } = &event {
            let failure = outcome.as_ref().err().map(failure_to);
            say(&says, Said::CommitDone(v1::CommitDone { job: job.clone(), commit: *commit, failure }));
            continue;
        }
        if let Event::Stopped { attempt } = &event
            && let Some((deployment, _)) = lock(&deployments).remove(attempt)
        {
            network.close(deployment);
        }
        match event_to(&event) {
            Ok(Some((attempt, event))) => {
                say(&says, Said::AttemptEvent(v1::AttemptEvent { job: job.clone(), attempt, event: Some(event) }));
            }
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "an event cannot be told"),
        }
    }
}
