//! The splits of a job's sources, found once for all processes and regions that read them.

use std::collections::BTreeMap;

use rheos_checkpoint::coordinator::Restore;
use rheos_core::Result;
use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::source::{Split, assign_splits};
use rheos_graph::{JobGraph, NodeId, NodeKind};

use crate::wiring::source_factory;

/// For each source that begins without state: the splits of each of its instances.
pub type Splits = BTreeMap<NodeId, Vec<Vec<Split>>>;

/// Finds the splits of all sources that `restore` has no state of. What is looked at (folders, servers) changes, so whoever deploys
/// parts of a job at different places or times has it done once.
pub fn find_splits(job: &JobGraph, registry: &Registry, env: &Env, restore: &Restore) -> Result<Splits> {
    let mut splits = Splits::new();
    for node in &job.nodes {
        let NodeKind::Source { table, .. } = &node.kind else { continue };
        let factory = source_factory(registry, table)?;
        let found = match restore {
            Restore::From(manifest) if manifest.operators.contains_key(&node.uid) => continue,
            Restore::From(_) | Restore::Fresh => factory.splits(table, node.parallelism),
            Restore::EndOfInput => factory.end_splits(table, node.parallelism, env),
        };
        splits.insert(node.id, assign_splits(found.map_err(|e| e.context(&node.name))?, node.parallelism));
    }
    Ok(splits)
}
