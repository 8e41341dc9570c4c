//! A network of the torture's own: a namespace for each host, joined by a bridge in one more, and links that are cut and spoiled.
//!
//! A link is cut one way by what the sender believes of the receiver's hardware address: with one that nobody has, packets go out
//! and arrive nowhere, and nobody is told, as with a cable that is cut. That needs neither filters nor queueing disciplines.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::host::Host;
use crate::failure::Failure;

/// All names begin so, followed by the process id of the torture they belong to.
const PREFIX: &str = "rheos-torture-";
/// Where `ip` keeps namespaces.
const NAMESPACES: &str = "/run/netns";
/// A hardware address that no host has.
const NOWHERE: &str = "02:77:00:00:ff:ff";

/// How the network of a host is bad.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weakness {
    /// Every packet takes so many milliseconds longer.
    DelayMs(u64),
    /// So many of a hundred packets are lost.
    LossPercent(u64),
    /// So many megabits pass a second.
    Mbits(u64),
}

/// Namespaces and what joins them. They are removed when it is dropped.
pub(super) struct Network {
    prefix: String,
    /// The third number of all addresses.
    subnet: u32,
    workers: usize,
    /// By sender and receiver: how many cuts keep them apart.
    cuts: BTreeMap<(Host, Host), usize>,
}

impl Network {
    /// Lays the network out for a coordinator and so many workers. Fails where this process may not, or the machine cannot.
    pub(super) fn new(workers: usize) -> Result<Network, Failure> {
        remove_leftovers();
        let id = std::process::id();
        let network = Network { prefix: format!("{PREFIX}{id}-"), subnet: id % 250, workers, cuts: BTreeMap::new() };
        network.lay_out()?;
        Ok(network)
    }

    fn lay_out(&self) -> Result<(), Failure> {
        let bridge = self.bridge();
        ip(&["netns", "add", &bridge])?;
        ip(&["-n", &bridge, "link", "add", "br0", "type", "bridge"])?;
        ip(&["-n", &bridge, "link", "set", "br0", "up"])?;
        for host in Host::all(self.workers) {
            let (port, address) = (port(host), format!("{}/24", self.address(host)));
            if host != Host::Client {
                ip(&["netns", "add", &self.namespace(host)])?;
                self.ip_in(host, &["link", "set", "lo", "up"])?;
            }
            let device = self.device(host);
            self.ip_in(
                host,
                &["link", "add", &device, "address", &hardware(host), "type", "veth", "peer", "name", &port, "netns", &bridge],
            )?;
            ip(&["-n", &bridge, "link", "set", &port, "master", "br0", "up"])?;
            self.ip_in(host, &["addr", "add", &address, "dev", &device])?;
            self.ip_in(host, &["link", "set", &device, "up"])?;
        }
        for from in Host::all(self.workers) {
            for to in Host::all(self.workers).filter(|to| *to != from) {
                self.set_link(from, to, true)?;
            }
        }
        Ok(())
    }

    /// The address of a host.
    pub(super) fn address(&self, host: Host) -> String {
        format!("10.77.{}.{}", self.subnet, host.number())
    }

    /// A command that runs a program as this host.
    pub(super) fn command(&self, host: Host, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host)]).arg(program);
        command
    }

    /// From now on nothing arrives that `from` sends to `to`, until it has been mended as often as it was cut.
    pub(super) fn cut(&mut self, from: Host, to: Host) -> Result<(), Failure> {
        let cuts = self.cuts.entry((from, to)).or_default();
        *cuts += 1;
        if *cuts == 1 { self.set_link(from, to, false) } else { Ok(()) }
    }

    /// Takes one cut back.
    pub(super) fn mend(&mut self, from: Host, to: Host) -> Result<(), Failure> {
        let cuts = self.cuts.entry((from, to)).or_default();
        *cuts = cuts.saturating_sub(1);
        if *cuts == 0 { self.set_link(from, to, true) } else { Ok(()) }
    }

    /// Pulls the plug of a host, or puts it in again.
    pub(super) fn plug(&self, host: Host, is_in: bool) -> Result<(), Failure> {
        ip(&["-n", &self.bridge(), "link", "set", &port(host), if is_in { "up" } else { "down" }])
    }

    /// Makes the network of a host bad, in both directions.
    pub(super) fn weaken(&self, host: Host, weakness: Weakness) -> Result<(), Failure> {
        let (delay, loss, rate);
        let qdisc: &[&str] = match weakness {
            // Half of it on the way out, half on the way in.
            Weakness::DelayMs(ms) => {
                delay = format!("{}us", ms * 500);
                &["netem", "delay", &delay]
            }
            Weakness::LossPercent(percent) => {
                loss = format!("{percent}%");
                &["netem", "loss", &loss]
            }
            Weakness::Mbits(mbits) => {
                rate = format!("{mbits}mbit");
                &["tbf", "rate", &rate, "burst", "16kb", "latency", "200ms"]
            }
        };
        let (namespace, device, bridge, port) = (self.namespace(host), self.device(host), self.bridge(), port(host));
        for (namespace, device) in [(&namespace, &device), (&bridge, &port)] {
            tc(&[&["-n", namespace, "qdisc", "replace", "dev", device, "root"], qdisc].concat())?;
        }
        Ok(())
    }

    /// Takes the weakness back.
    pub(super) fn strengthen(&self, host: Host) -> Result<(), Failure> {
        tc(&["-n", &self.namespace(host), "qdisc", "del", "dev", &self.device(host), "root"])?;
        tc(&["-n", &self.bridge(), "qdisc", "del", "dev", &port(host), "root"])
    }

    /// Whether the kernel has a queueing discipline; otherwise what it says.
    pub(super) fn has_discipline(&self, name: &str) -> Result<(), Failure> {
        let weakness = if name == "tbf" { Weakness::Mbits(1) } else { Weakness::DelayMs(1) };
        self.weaken(Host::Coordinator, weakness)?;
        self.strengthen(Host::Coordinator)
    }

    /// What `from` believes of the hardware address of `to`.
    fn set_link(&self, from: Host, to: Host, is_whole: bool) -> Result<(), Failure> {
        let (address, device) = (self.address(to), self.device(from));
        let at = if is_whole { hardware(to) } else { NOWHERE.into() };
        self.ip_in(from, &["neigh", "replace", &address, "lladdr", &at, "nud", "permanent", "dev", &device])
    }

    fn ip_in(&self, host: Host, args: &[&str]) -> Result<(), Failure> {
        match host {
            Host::Client => ip(args),
            host => ip(&[&["-n", &self.namespace(host)], args].concat()),
        }
    }

    fn bridge(&self) -> String {
        format!("{}bridge", self.prefix)
    }

    /// The namespace of a host; the client is where the torture was started.
    pub(super) fn namespace(&self, host: Host) -> String {
        format!("{}{host}", self.prefix)
    }

    /// The network device of a host.
    fn device(&self, host: Host) -> String {
        match host {
            // At most 15 characters, and no other torture's.
            Host::Client => format!("rheos{}", std::process::id()),
            _ => "eth0".into(),
        }
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        // A namespace is taken down in the background, but the next network may want this name at once.
        drop(ip(&["link", "del", &self.device(Host::Client)]));
        remove(&self.prefix);
    }
}

/// Removes what a torture has left whose process was killed.
fn remove_leftovers() {
    for name in names() {
        let owner = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
        if let Some((id, _)) = owner
            && !Path::new("/proc").join(id).exists()
        {
            remove(&name);
        }
    }
}

/// Removes the namespaces whose names begin so, and ends what still runs in them.
fn remove(prefix: &str) {
    for name in names().into_iter().filter(|name| name.starts_with(prefix)) {
        let running = Command::new("ip").args(["netns", "pids", &name]).output();
        let ids = running.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        for id in ids.split_whitespace() {
            drop(Command::new("sh").args(["-c", &format!("kill -KILL {id}")]).output());
        }
        drop(ip(&["netns", "del", &name]));
    }
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.starts_with(PREFIX)).collect()
}

/// The port of the bridge that a host is plugged into.
fn port(host: Host) -> String {
    format!("port{}", host.number())
}

fn hardware(host: Host) -> String {
    format!("02:77:00:00:00:{:02x}", host.number())
}

fn ip(args: &[&str]) -> Result<(), Failure> {
    succeed("ip", args)
}

fn tc(args: &[&str]) -> Result<(), Failure> {
    succeed("tc", args)
}

fn succeed(program: &str, args: &[&str]) -> Result<(), Failure> {
    let told = Command::new(program).args(args).output();
    let output = told.map_err(|e| Failure::wrong(format!("'{program}' (of iproute2) cannot be run: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Failure::wrong(format!("{program} {}: {}", args.join(" "), said.trim().replace('\n', "; "))))
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
