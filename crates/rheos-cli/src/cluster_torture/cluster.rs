//! A coordinator and its workers, as processes on hosts of their own or on this one, and what befalls them.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rheos_core::env::system_monotonic_ns;

use super::host::Host;
use super::network::Network;
use super::process::{Process, Signal};
use super::rest;
use crate::failure::Failure;
use crate::interrupt::Interrupt;

/// The coordinator's port on a host of its own.
const CONTROL_PORT: u16 = 7070;
/// A worker's port on a host of its own.
const DATA_PORT: u16 = 7071;
/// How long a cluster may take until all workers are known.
const START_MS: u64 = 60_000;

/// How a cluster is made.
pub(super) struct ClusterOptions {
    /// The program `rheos`.
    pub(super) program: PathBuf,
    /// How many workers.
    pub(super) workers: usize,
    /// How many subtasks of an operator each has room for.
    pub(super) slots: usize,
    /// After which silence a worker counts as dead, as the command line spells it.
    pub(super) heartbeat_timeout: String,
    /// The coordinator's folder.
    pub(super) dir: PathBuf,
    /// The folder for logs.
    pub(super) logs: PathBuf,
}

/// A running cluster. It is gone when it is dropped: first the processes, then their network.
pub(super) struct Cluster {
    options: ClusterOptions,
    coordinator: Process,
    workers: Vec<Process>,
    /// Ports on this host, where there are no other hosts: the coordinator's, then the workers'.
    ports: Vec<u16>,
    network: Option<Network>,
}

impl Cluster {
    /// A cluster of which nothing runs yet.
    pub(super) fn new(options: ClusterOptions, network: Option<Network>) -> Result<Cluster, Failure> {
        let process = |host: Host| Process::new(host.to_string(), options.logs.join(format!("{host}.log")));
        let coordinator = process(Host::Coordinator);
        let workers = (0..options.workers).map(|worker| process(Host::Worker(worker))).collect();
        let ports = free_ports(options.workers + 1);
        if ports.len() <= options.workers {
            return Err(Failure::wrong("not enough ports are free below 32000"));
        }
        Ok(Cluster { coordinator, workers, ports, network, options })
    }

    /// Starts all, and waits until the coordinator knows its workers.
    pub(super) fn start(&mut self, interrupt: &Interrupt) -> Result<(), Failure> {
        self.start_coordinator()?;
        for worker in 0..self.workers.len() {
            self.start_worker(worker)?;
        }
        let until_ns = system_monotonic_ns() + START_MS * 1_000_000;
        loop {
            if interrupt.is_requested() {
                return Err(Failure::Interrupted);
            }
            if let Some((host, status, words)) = self.fallen().pop() {
                return Err(Failure::wrong(format!("{host} has ended at once, {status}:\n{words}")));
            }
            match rest::workers(self.coordinator_address()?) {
                Ok(known) if known >= self.workers.len() => return Ok(()),
                told if system_monotonic_ns() > until_ns => {
                    let (wanted, words) = (self.workers.len(), self.last_words());
                    let told = told.map_or_else(|e| e.to_string(), |known| format!("{known} of {wanted} are known"));
                    return Err(Failure::wrong(format!("the workers were not all known within {} s: {told}\n{words}", START_MS / 1000)));
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Where the coordinator is found.
    pub(super) fn coordinator_address(&self) -> Result<SocketAddr, Failure> {
        let text = self.address(Host::Coordinator);
        text.parse().map_err(|e| Failure::wrong(format!("'{text}' is no address: {e}")))
    }

    fn address(&self, host: Host) -> String {
        match (&self.network, host) {
            (Some(network), Host::Coordinator) => format!("{}:{CONTROL_PORT}", network.address(host)),
            (Some(network), _) => format!("{}:{DATA_PORT}", network.address(host)),
            (None, Host::Worker(worker)) => format!("127.0.0.1:{}", self.ports[worker + 1]),
            (None, _) => format!("127.0.0.1:{}", self.ports[0]),
        }
    }

    fn command(&self, host: Host, words: &[&str]) -> Command {
        let mut command = match &self.network {
            Some(network) => network.command(host, &self.options.program),
            None => Command::new(&self.options.program),
        };
        command.args(words);
        command
    }

    /// Starts the process of a host, if it does not run.
    pub(super) fn start_process(&mut self, host: Host) -> Result<(), Failure> {
        match host {
            Host::Coordinator => self.start_coordinator(),
            Host::Worker(worker) => self.start_worker(worker),
            Host::Client => Ok(()),
        }
    }

    fn start_coordinator(&mut self) -> Result<(), Failure> {
        let mut command = self.command(Host::Coordinator, &["coordinator"]);
        command.arg("--listen").arg(self.address(Host::Coordinator)).arg("--dir").arg(&self.options.dir);
        command.arg("--heartbeat-timeout").arg(&self.options.heartbeat_timeout);
        self.coordinator.start(command)
    }

    fn start_worker(&mut self, worker: usize) -> Result<(), Failure> {
        let host = Host::Worker(worker);
        let mut command = self.command(host, &["worker"]);
        command.arg("--coordinator").arg(self.address(Host::Coordinator)).arg("--data-listen").arg(self.address(host));
        command.arg("--slots").arg(self.options.slots.to_string());
        self.workers[worker].start(command)
    }

    /// kill -9.
    pub(super) fn kill(&mut self, host: Host) {
        match host {
            Host::Coordinator => self.coordinator.kill(),
            Host::Worker(worker) => self.workers[worker].kill(),
            Host::Client => {}
        }
    }

    /// Has a worker stand still or go on.
    pub(super) fn signal(&self, worker: usize, signal: Signal) -> Result<(), Failure> {
        self.workers[worker].signal(signal)
    }

    /// The processes that have ended by themselves since the last look: where, how, last words.
    pub(super) fn fallen(&mut self) -> Vec<(Host, ExitStatus, String)> {
        let workers = self.workers.iter_mut().enumerate().map(|(worker, process)| (Host::Worker(worker), process));
        let all = std::iter::once((Host::Coordinator, &mut self.coordinator)).chain(workers);
        all.filter_map(|(host, process)| process.ended().map(|status| (host, status, process.last_words(5)))).collect()
    }

    /// The network of its own, if it has one.
    pub(super) fn network(&mut self) -> Option<&mut Network> {
        self.network.as_mut()
    }

    /// The ends of all logs.
    pub(super) fn last_words(&self) -> String {
        let all = std::iter::once(&self.coordinator).chain(&self.workers);
        all.map(|process| format!("{} ({}):\n{}", process.name(), process.log().display(), process.last_words(8))).collect()
    }
}

/// Ports that nobody listens on now, below those that the kernel gives to whoever connects.
fn free_ports(count: usize) -> Vec<u16> {
    let first = 20_000 + (std::process::id() % 600) as u16 * 16;
    (first..32_000).filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).take(count).collect()
}

/// Makes a folder and those above it.
pub(super) fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|e| Failure::wrong(format!("'{}' cannot be made: {e}", folder.display())))
}
