//! The coordinator's end of the sessions: messages of workers brought to the jobs that they concern.

use std::pin::Pin;

use futures_util::{Stream, StreamExt, stream};
use rheos_checkpoint::coordinator::Event;
use rheos_core::Error;
use rheos_graph::JobMetrics;
use rheos_protocol::codec::{event_from, failure_from, from_json};
use rheos_protocol::token::Token;
use rheos_protocol::v1;
use rheos_protocol::v1::control_server::{Control, ControlServer};
use rheos_protocol::v1::from_worker::Message;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::service::interceptor::InterceptedService;
use tonic::{Request, Response, Status, Streaming};

use super::Cluster;
use super::sessions::{Opened, SessionId};

/// What is streamed to whoever called.
type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

impl Cluster {
    /// The service that workers speak to.
    pub fn control(&self) -> InterceptedService<ControlServer<Cluster>, Token> {
        let server = ControlServer::new(self.clone())
            .max_decoding_message_size(rheos_protocol::MAX_MESSAGE_BYTES)
            .max_encoding_message_size(rheos_protocol::MAX_MESSAGE_BYTES);
        InterceptedService::new(server, Token::expect(self.options().token.clone()))
    }

    /// Takes in what a worker says, until its session is over.
    async fn listen(&self, id: SessionId, mut messages: Streaming<v1::FromWorker>, mut closed: tokio::sync::mpsc::Receiver<()>) {
        let why = loop {
            let message = tokio::select! {
                message = messages.message() => message,
                _ = closed.recv() => break format!("nothing was heard of it for {} ms", self.options().heartbeat_timeout_ms),
            };
            match message {
                Ok(Some(v1::FromWorker { message: Some(message) })) => {
                    if let Err(error) = self.take_in(id, message) {
                        break format!("it said what cannot be understood: {error}");
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => break "it has left".to_string(),
                Err(status) => break format!("its connection broke: {}", status.message()),
            }
        };
        let Some(host) = self.sessions().end(id) else { return };
        let name = format!("{:016x} at {} ({why})", host.id, host.address);
        tracing::warn!("worker {name} is gone");
        for job in self.jobs() {
            job.workers().into_iter().for_each(|workers| workers.lost(id, &name));
        }
    }

    fn take_in(&self, id: SessionId, message: Message) -> Result<(), Error> {
        let workers_of = |job: &str| self.job(job).ok().and_then(|job| job.workers());
        match message {
            Message::Register(_) => return Err(Error::corrupt("a second registration in one session")),
            Message::Heartbeat(v1::Heartbeat { sequence, metrics, buffered_bytes }) => {
                let read = |m: v1::JobMetrics| Ok((m.job, from_json::<JobMetrics>("metrics", &m.metrics_json)?));
                let metrics = metrics.into_iter().map(read).collect::<Result<_, Error>>()?;
                self.sessions().heard(id, Some((metrics, buffered_bytes)));
                let reply = v1::HeartbeatReply { sequence };
                self.sessions().tell(id, v1::to_worker::Message::HeartbeatReply(reply));
                return Ok(());
            }
            Message::AttemptEvent(v1::AttemptEvent { job, attempt, event }) => {
                let event = event_from(attempt, event.ok_or_else(|| Error::corrupt("an event of no kind"))?)?;
                workers_of(&job).into_iter().for_each(|workers| workers.told(id, event.clone()));
            }
            Message::CommitDone(v1::CommitDone { job, commit, failure }) => {
                let outcome = failure.map_or(Ok(()), |failed| Err(failure_from(failed)));
                let event = Event::CommitDone { commit, outcome };
                workers_of(&job).into_iter().for_each(|workers| workers.committed(id, event.clone()));
            }
            Message::SplitsFound(v1::SplitsFound { job, request, splits_json, failure }) => {
                let outcome = failed(failure).map_or(Ok(splits_json), Err);
                if let Some(workers) = workers_of(&job) {
                    workers.answered(request, outcome);
                }
            }
            Message::CleanedUp(v1::CleanedUp { job, request, failure }) => {
                let outcome = failed(failure).map_or(Ok(Vec::new()), Err);
                if let Some(workers) = workers_of(&job) {
                    workers.answered(request, outcome);
                }
            }
        }
        self.sessions().heard(id, None);
        Ok(())
    }
}

fn failed(failure: Option<v1::Failed>) -> Option<Error> {
    let failed = failure?;
    Some(if failed.restartable { Error::restart(failed.message) } else { Error::config(failed.message) })
}

#[tonic::async_trait]
impl Control for Cluster {
    type SessionStream = Answers<v1::ToWorker>;
    type ArtifactStream = Answers<v1::ArtifactChunk>;

    async fn session(&self, request: Request<Streaming<v1::FromWorker>>) -> Result<Response<Self::SessionStream>, Status> {
        let mut messages = request.into_inner();
        let Some(v1::FromWorker { message: Some(Message::Register(register)) }) = messages.message().await? else {
            return Err(Status::invalid_argument("a session begins with a registration"));
        };
        if register.protocol != rheos_protocol::VERSION {
            let (theirs, ours) = (register.protocol, rheos_protocol::VERSION);
            let message = format!(
                "the worker (Rheos {}) speaks protocol {theirs}, this coordinator (Rheos {}) {ours}: use one version",
                register.version,
                self.options().version
            );
            return Err(Status::failed_precondition(message));
        }
        let Opened { id, messages: answers, closed } = self.sessions().open(&register);
        tracing::info!("worker {:016x} at {} is here, with {} slots", register.worker, register.data_address, register.slots);
        let options = self.options();
        let registered =
            v1::Registered { heartbeat_interval_ms: options.heartbeat_interval_ms, heartbeat_timeout_ms: options.heartbeat_timeout_ms };
        let registered = v1::ToWorker { message: Some(v1::to_worker::Message::Registered(registered)) };
        let cluster = self.clone();
        tokio::spawn(async move { cluster.listen(id, messages, closed).await });
        let answers = stream::iter([registered]).chain(UnboundedReceiverStream::new(answers)).map(Ok);
        Ok(Response::new(Box::pin(answers)))
    }

    async fn artifact(&self, request: Request<v1::ArtifactRequest>) -> Result<Response<Self::ArtifactStream>, Status> {
        let content = self.0.records.artifact(&request.into_inner().hash).await.map_err(|e| Status::not_found(e.to_string()))?;
        let starts = (0..content.len()).step_by(rheos_protocol::CHUNK_BYTES);
        let chunk = move |start: usize| {
            let end = content.len().min(start + rheos_protocol::CHUNK_BYTES);
            Ok(v1::ArtifactChunk { content: content.slice(start..end).to_vec() })
        };
        Ok(Response::new(Box::pin(stream::iter(starts.map(chunk).collect::<Vec<_>>()))))
    }
}
