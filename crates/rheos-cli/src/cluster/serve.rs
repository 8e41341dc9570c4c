//! The processes of a cluster: coordinator, worker, or all of them as processes of this machine.

use std::process::{Child, Command, Stdio};

use rheos::cluster::{CoordinatorSettings, WorkerSettings, serve_coordinator, serve_worker};
use rheos::{Error, Result};
use tokio::io::AsyncReadExt;
use tokio::signal::unix::{SignalKind, signal};

use super::client::{failed, runtime, token};
use crate::args::{ClusterArgs, CoordinatorArgs, OfferArgs, WorkerArgs};
use crate::failure::Failure;

/// `rheos coordinator`
pub(crate) fn coordinator(args: &CoordinatorArgs) -> Result<(), Failure> {
    let settings = coordinator_settings(args)?;
    runtime(1)?.block_on(serve_coordinator(settings, stopped(false), say)).map_err(failed)
}

/// `rheos worker`
pub(crate) fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let settings = WorkerSettings {
        coordinator: args.coordinator.clone(),
        data_listen: args.data_listen.clone(),
        data_address: args.data_address.clone(),
        metrics_listen: args.metrics_listen.clone(),
        slots: args.offer.slots.map_or_else(cores, |slots| slots as usize),
        threads: args.offer.threads.map_or_else(cores, |threads| threads as usize),
        link_timeout_ms: args.offer.link_timeout,
        compress: args.offer.compress,
        copies: args.copies.clone().map(|folder| (folder, args.copies_size)),
        token: token(args.token_file.as_deref())?,
    };
    let runtime = runtime(1)?;
    let served = runtime.block_on(serve_worker(settings, stopped(args.until_input_ends), say)).map_err(failed);
    // Reading standard input cannot be interrupted.
    runtime.shutdown_background();
    served
}

/// `rheos cluster`
pub(crate) fn cluster(args: &ClusterArgs) -> Result<(), Failure> {
    let settings = coordinator_settings(&args.coordinator)?;
    let runtime = runtime(1)?;
    let mut workers = Workers(Vec::new());
    let token_file = args.coordinator.token_file.as_deref();
    let share = u32::try_from(cores()).unwrap_or(1).div_ceil(args.workers);
    let offer = OfferArgs { threads: args.offer.threads.or(Some(share)), ..args.offer.clone() };
    let served = runtime.block_on(async {
        let (listening, mut address) = tokio::sync::mpsc::unbounded_channel();
        let tell = |text: &str| {
            say(text);
            if let Some(rest) = text.strip_prefix("listening on ")
                && let Some((address, _)) = rest.split_once(';')
            {
                // It is told while we listen.
                let _ = listening.send(address.to_string());
            }
        };
        let serve = std::pin::pin!(serve_coordinator(settings, stopped(false), tell));
        let started = async {
            let Some(address) = address.recv().await else { return Ok(()) };
            for _ in 0..args.workers {
                workers.0.push(start(&address, &offer, token_file)?);
            }
            std::future::pending().await
        };
        tokio::select! {
            served = serve => served,
            failed = started => failed,
        }
    });
    drop(workers);
    served.map_err(failed)
}

/// Worker processes. They end when their standard input does, so also when this process is killed.
struct Workers(Vec<Child>);

impl Drop for Workers {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|worker| drop(worker.stdin.take()));
        for worker in &mut self.0 {
            // One that cannot be waited for is gone.
            drop(worker.wait());
        }
    }
}

fn start(coordinator: &str, offer: &OfferArgs, token_file: Option<&std::path::Path>) -> Result<Child> {
    let program = std::env::current_exe()?;
    let mut command = Command::new(program);
    command.args(["worker", "--until-input-ends", "--coordinator", coordinator, "--link-timeout", &format!("{} ms", offer.link_timeout)]);
    if let Some(slots) = offer.slots {
        command.args(["--slots", &slots.to_string()]);
    }
    if let Some(threads) = offer.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    if offer.compress {
        command.arg("--compress");
    }
    if let Some(file) = token_file {
        command.arg("--token-file").arg(file);
    }
    let started = command.stdin(Stdio::piped()).spawn();
    started.map_err(|e| Error::restart(format!("a worker cannot be started: {e}")).caused_by(e))
}

fn coordinator_settings(args: &CoordinatorArgs) -> Result<CoordinatorSettings, Failure> {
    // Workers may have another working directory.
    let dir = if args.dir.contains("://") {
        args.dir.clone()
    } else {
        let absolute = std::path::absolute(&args.dir).map_err(|e| Failure::wrong(format!("'{}' is no folder: {e}", args.dir)))?;
        absolute.display().to_string()
    };
    Ok(CoordinatorSettings {
        listen: args.listen.clone(),
        dir,
        storage_options: args.set.iter().cloned().collect(),
        heartbeat_timeout_ms: args.heartbeat_timeout.max(100),
        token: token(args.token_file.as_deref())?,
    })
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn say(text: &str) {
    eprintln!("{text}");
}

/// Is ready on SIGINT and SIGTERM, or when standard input ends if that is to count.
async fn stopped(until_input_ends: bool) {
    let input_ends = async {
        if !until_input_ends {
            std::future::pending::<()>().await;
        }
        let mut nothing = [0; 64];
        while matches!(tokio::io::stdin().read(&mut nothing).await, Ok(1..)) {}
    };
    match (signal(SignalKind::interrupt()), signal(SignalKind::terminate())) {
        (Ok(mut interrupted), Ok(mut terminated)) => tokio::select! {
            _ = interrupted.recv() => {}
            _ = terminated.recv() => {}
            () = input_ends => {}
        },
        // Signals end the process as usual then.
        _ => input_ends.await,
    }
}
