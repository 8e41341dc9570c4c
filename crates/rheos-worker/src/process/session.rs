//! One session of a worker with its coordinator.

use std::sync::Arc;
use std::time::Duration;

use rheos_core::Error;
use rheos_exchange::net::LinkFailure;
use rheos_protocol::codec::to_json;
use rheos_protocol::token::Token;
use rheos_protocol::v1;
use rheos_protocol::v1::control_client::ControlClient;
use rheos_protocol::v1::from_worker::Message as Said;
use rheos_protocol::v1::to_worker::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::Code;
use tonic::transport::Endpoint;

use super::Inner;
use super::artifact::Client;
use super::jobs::Jobs;
use crate::runner::lock;

/// How long a coordinator may take to answer at all.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// How a session has ended, or why there was none.
pub(crate) enum Ended {
    /// This process is to end.
    Stopped,
    /// The coordinator will not have it, now or ever.
    Refused(Error),
    /// There was one.
    Lost(String),
    /// There was none.
    Unreachable(String),
}

/// Has a session from its beginning to its end.
pub(crate) async fn session(
    process: &Arc<Inner>,
    mut failures: Option<&mut mpsc::UnboundedReceiver<LinkFailure>>,
    registered: impl Fn(),
) -> Ended {
    let (mut client, said, mut messages) = match begin(process).await {
        Ok(begun) => begun,
        Err(ended) => return ended,
    };
    let first = tokio::time::timeout(CONNECT_TIMEOUT, messages.message()).await;
    let timing = match first {
        Ok(Ok(Some(v1::ToWorker { message: Some(Message::Registered(timing)) }))) => timing,
        Ok(Ok(_)) => return Ended::Unreachable("it did not answer the registration".into()),
        Ok(Err(status)) => return of(&status),
        Err(_) => return Ended::Unreachable("it took too long to answer".into()),
    };
    registered();
    let clock = &process.env.clock;
    let (interval_ms, timeout_ms) = (timing.heartbeat_interval_ms.max(10), timing.heartbeat_timeout_ms.max(100));
    *lock(&process.jobs) = Some(Jobs::new(Arc::clone(process), said.clone()));
    let mut heard_ns = clock.monotonic_ns();
    let mut beat = tokio::time::interval(Duration::from_millis(interval_ms));
    let mut sequence = 0;
    loop {
        tokio::select! {
            message = messages.message() => match message {
                Ok(Some(v1::ToWorker { message })) => {
                    heard_ns = clock.monotonic_ns();
                    match message {
                        None | Some(Message::HeartbeatReply(_) | Message::Registered(_)) => {}
                        Some(Message::OpenJob(open)) => {
                            let opened = Jobs::open(process, &mut client, &open).await;
                            lock(&process.jobs).iter_mut().for_each(|jobs| jobs.opened(&open.job, opened.as_ref()));
                        }
                        Some(message) => lock(&process.jobs).iter_mut().for_each(|jobs| jobs.carry_out(message.clone())),
                    }
                }
                Ok(None) => return Ended::Lost("it has ended the session".into()),
                Err(status) => return Ended::Lost(status.message().to_string()),
            },
            _ = beat.tick() => {
                if clock.monotonic_ns().saturating_sub(heard_ns) > timeout_ms * 1_000_000 {
                    return Ended::Lost(format!("nothing was heard of it for {timeout_ms} ms"));
                }
                sequence += 1;
                if said.send(heartbeat(process, sequence)).is_err() {
                    return Ended::Lost("its stream is closed".into());
                }
            }
            failure = next(&mut failures) => {
                lock(&process.jobs).iter_mut().for_each(|jobs| jobs.link_failed(&failure));
            }
        }
    }
}

async fn next(failures: &mut Option<&mut mpsc::UnboundedReceiver<LinkFailure>>) -> LinkFailure {
    match failures {
        Some(failures) => match failures.recv().await {
            Some(failure) => failure,
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

type Begun = (Client, mpsc::UnboundedSender<v1::FromWorker>, tonic::Streaming<v1::ToWorker>);

async fn begin(process: &Inner) -> Result<Begun, Ended> {
    let options = &process.options;
    let wrong = |message: String| Ended::Refused(Error::config(message));
    let endpoint = Endpoint::from_shared(format!("http://{}", options.coordinator))
        .map_err(|e| wrong(format!("'{}' is no address of a coordinator: {e}", options.coordinator)))?
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true);
    let token = Token::send(options.token.as_deref()).ok_or_else(|| wrong("the token has characters that cannot be sent".into()))?;
    let channel = endpoint.connect().await.map_err(|e| Ended::Unreachable(root_of(&e)))?;
    let mut client = ControlClient::with_interceptor(channel, token)
        .max_decoding_message_size(rheos_protocol::MAX_MESSAGE_BYTES)
        .max_encoding_message_size(rheos_protocol::MAX_MESSAGE_BYTES);
    let (said, to_say) = mpsc::unbounded_channel();
    let register = v1::Register {
        protocol: rheos_protocol::VERSION,
        version: options.version.clone(),
        worker: options.id,
        data_address: options.data_address.clone(),
        slots: options.slots as u32,
        metrics_address: options.metrics_address.clone(),
    };
    // The other end of the stream is held here.
    let _ = said.send(v1::FromWorker { message: Some(Said::Register(register)) });
    let call = tokio::time::timeout(CONNECT_TIMEOUT, client.session(UnboundedReceiverStream::new(to_say)));
    match call.await {
        Ok(Ok(answer)) => Ok((client, said, answer.into_inner())),
        Ok(Err(status)) => Err(of(&status)),
        Err(_) => Err(Ended::Unreachable("it took too long to answer".into())),
    }
}

fn of(status: &tonic::Status) -> Ended {
    match status.code() {
        Code::Unauthenticated | Code::FailedPrecondition | Code::InvalidArgument => {
            Ended::Refused(Error::config(status.message().to_string()))
        }
        _ => Ended::Unreachable(status.message().to_string()),
    }
}

/// The innermost reason: what libraries say around it helps nobody.
fn root_of(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(source) = root.source() {
        root = source;
    }
    root.to_string()
}

fn heartbeat(process: &Inner, sequence: u64) -> v1::FromWorker {
    let metrics = lock(&process.jobs).as_ref().map(Jobs::metrics).unwrap_or_default();
    let metrics = metrics.into_iter().filter_map(|(job, metrics)| Some(v1::JobMetrics { job, metrics_json: to_json(&metrics).ok()? }));
    let buffered_bytes = process.network.buffered_bytes() as u64;
    v1::FromWorker { message: Some(Said::Heartbeat(v1::Heartbeat { sequence, metrics: metrics.collect(), buffered_bytes })) }
}
