//! What this machine lets a torture do: whether hosts can be made, and which faults.

use std::os::unix::fs::MetadataExt;

use super::fault::{Kind, Needs};
use super::network::Network;
use crate::args::NamespacesKind;
use crate::failure::Failure;

/// The network, if there can be one; the kinds of faults that can be made; and what has to be said about that.
pub(super) struct Machine {
    /// Hosts of their own for all processes.
    pub(super) network: Option<Network>,
    /// The faults that can be made.
    pub(super) kinds: Vec<Kind>,
    /// Which cannot, and why.
    pub(super) notes: Vec<String>,
}

/// Makes hosts for so many workers, or finds out why that cannot be.
pub(super) fn prepare(namespaces: NamespacesKind, workers: usize) -> Result<Machine, Failure> {
    let made = match namespaces {
        NamespacesKind::Off => Err("as --namespaces off says".to_string()),
        _ if !is_root() => Err("network namespaces need root".to_string()),
        _ => Network::new(workers).map_err(text),
    };
    let mut notes = Vec::new();
    let network = match made {
        Ok(network) => Some(network),
        Err(why) if namespaces == NamespacesKind::On => {
            return Err(Failure::wrong(format!("no network namespaces, but --namespaces on: {why}")));
        }
        Err(why) => {
            notes.push(format!("all processes are on this host, and the network stays whole: {why}"));
            None
        }
    };
    let mut kinds = Vec::new();
    for kind in Kind::ALL {
        let has = match (kind.needs(), &network) {
            (Needs::Signals, _) => Ok(()),
            (_, None) => continue,
            (Needs::Network, Some(_)) => Ok(()),
            (Needs::Discipline(name), Some(network)) => network.has_discipline(name).map_err(text),
        };
        match has {
            Ok(()) => kinds.push(kind),
            Err(why) => notes.push(format!("no fault '{}', which this kernel cannot do: {why}", kind.name())),
        }
    }
    Ok(Machine { network, kinds, notes })
}

fn text(failure: Failure) -> String {
    match failure {
        Failure::Wrong(text) => text.trim().trim_start_matches("error: ").to_string(),
        other => format!("{other:?}"),
    }
}

/// Whether this process may do everything: who owns it is who owns its folder in /proc.
fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|folder| folder.uid() == 0)
}
