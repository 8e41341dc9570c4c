//! Stores parts of snapshots: encoded, put into files or inline, known by handles from then on.
//!
//! Of each keyed state a chain of segments is kept in mind: what was stored last, and what later deltas stand on. A delta whose
//! predecessor could not be stored is worth nothing; then the subtask is asked for everything.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use rheos_checkpoint::data::content_hash;
use rheos_checkpoint::log::file_name;
use rheos_checkpoint::{
    DataHandle, InFlight, ListState, OperatorPart, PartStats, SegmentHandle, SegmentKind, SubtaskId, SubtaskPart, SubtaskState,
};
use rheos_core::element::{CheckpointKind, Epoch};
use rheos_core::env::Clock;
use rheos_core::snapshot::{OperatorSnapshot, Segment};
use rheos_core::storage::Storage;
use rheos_core::{Batch, Error, Result, batch_bytes};
use rheos_graph::TaskGraph;

use crate::part::{InFlightRows, TakenPart};

/// What is not longer goes into the manifest (Flink's `execution.checkpointing.data-inline-threshold`).
const INLINE_BYTES: usize = 20 << 10;
/// A chain of more segments than this is begun anew.
const MAX_SEGMENTS: usize = 32;

/// Stores the parts of one subtask, one after the other.
pub struct PartStore {
    storage: Option<Arc<dyn Storage>>,
    graph: Arc<TaskGraph>,
    clock: Arc<dyn Clock>,
    generation: u64,
    attempt: u64,
    /// Distinguishes the files of the attempt.
    next_file: Arc<AtomicU64>,
    /// By node and state: what was stored. Without an entry only a base can be stored.
    chains: BTreeMap<(usize, String), Vec<SegmentHandle>>,
}

/// A part that is stored, and whether the next one has to be whole.
pub struct Stored {
    /// The part.
    pub part: SubtaskPart,
    /// Whether chains have grown so that they are better begun anew.
    pub want_full: bool,
}

impl PartStore {
    /// A store for each subtask of an attempt uses the same `next_file`. Without storage, what would go into a file is an error:
    /// only tokens and small states can be had then.
    pub fn new(
        storage: Option<Arc<dyn Storage>>,
        graph: Arc<TaskGraph>,
        clock: Arc<dyn Clock>,
        (generation, attempt): (u64, u64),
        next_file: Arc<AtomicU64>,
    ) -> Self {
        PartStore { storage, graph, clock, generation, attempt, next_file, chains: BTreeMap::new() }
    }

    /// Stores a part. After an error nothing counts as stored: the next part has to be whole.
    pub async fn store(&mut self, epoch: Epoch, kind: CheckpointKind, part: TakenPart) -> Result<Stored> {
        let start_ns = self.clock.monotonic_ns();
        let stored = self.store_states(epoch, part, start_ns).await;
        if stored.is_err() || kind == CheckpointKind::Savepoint {
            // Nothing may stand on files of a savepoint, which somebody may delete.
            self.chains.clear();
        }
        let want_full = self.chains.values().any(|chain| is_long(chain)) || kind == CheckpointKind::Savepoint;
        Ok(Stored { part: stored?, want_full })
    }

    async fn store_states(&mut self, epoch: Epoch, part: TakenPart, start_ns: u64) -> Result<SubtaskPart> {
        let TakenPart { task, index, states, in_flight, tokens, freeze_ns, alignment_ns, epoch: _ } = part;
        let overtaken = !in_flight.is_empty();
        let mut by_node: BTreeMap<usize, SubtaskState> = BTreeMap::new();
        for (node, snapshot) in states {
            by_node.insert(node, self.store_state(epoch, (task, index, node), snapshot).await?);
        }
        for rows in in_flight {
            let (node, rows) = self.store_rows(epoch, (task, index), rows).await?;
            by_node.entry(node).or_default().in_flight.push(rows);
        }
        let graph = Arc::clone(&self.graph);
        let operator = |(node, state): (usize, SubtaskState)| {
            let node = &graph.job.nodes[node];
            OperatorPart { uid: node.uid.clone(), name: node.name.clone(), parallelism: node.parallelism, state }
        };
        let upload_ms = self.clock.monotonic_ns().saturating_sub(start_ns) / 1_000_000;
        let stats = PartStats { alignment_ms: alignment_ns / 1_000_000, freeze_ms: freeze_ns / 1_000_000, upload_ms, overtaken };
        let operators = by_node.into_iter().map(operator).collect();
        Ok(SubtaskPart { subtask: SubtaskId { task, index }, operators, tokens, stats })
    }

    async fn store_state(&mut self, epoch: Epoch, of: (usize, usize, usize), snapshot: OperatorSnapshot) -> Result<SubtaskState> {
        let (keyed, lists) = snapshot.into_parts();
        let mut state = SubtaskState::default();
        let mut before: BTreeMap<String, Vec<SegmentHandle>> = BTreeMap::new();
        let known: Vec<_> = self.chains.keys().filter(|(node, _)| *node == of.2).cloned().collect();
        for key in known {
            before.extend(self.chains.remove(&key).map(|chain| (key.1, chain)));
        }
        for (name, segments) in keyed {
            let chain = before.remove(&name);
            let segment = segments.into_iter().flatten().next().ok_or_else(|| Error::bug(format!("state '{name}' without a segment")))?;
            let chain = self.store_segment(epoch, of, &name, segment, chain).await?;
            self.chains.insert((of.2, name.clone()), chain.clone());
            state.keyed.insert(name, chain);
        }
        for (name, (kind, items)) in lists {
            let items = items.into_iter().map(rheos_checkpoint::Bytes).collect();
            state.lists.insert(name, ListState { kind, items });
        }
        Ok(state)
    }

    async fn store_segment(
        &self,
        epoch: Epoch,
        (task, index, _): (usize, usize, usize),
        name: &str,
        segment: Segment,
        chain: Option<Vec<SegmentHandle>>,
    ) -> Result<Vec<SegmentHandle>> {
        let (kind, rows, removed) = (segment.kind, segment.num_rows() as u64, segment.removed.len() as u64);
        let mut chain = match (kind, chain) {
            (SegmentKind::Base, _) => Vec::new(),
            (SegmentKind::Delta, Some(chain)) if rows == 0 && removed == 0 => return Ok(chain),
            (SegmentKind::Delta, Some(chain)) => chain,
            (SegmentKind::Delta, None) => {
                return Err(Error::retry(format!("changes of state '{name}', where what they are changes of is not stored")));
            }
        };
        let key_groups = segment.groups.clone();
        let bytes = blocking(move || segment.encode()).await?;
        let data = self.put(format!("{}-{task}-{index}-{epoch}", self.attempt), bytes).await?;
        chain.push(SegmentHandle { kind, rows, removed, key_groups, data });
        Ok(chain)
    }

    /// Stores rows that were on their way; returns in the state of which node they belong.
    async fn store_rows(&self, epoch: Epoch, (task, index): (usize, usize), rows: InFlightRows) -> Result<(usize, InFlight)> {
        let edge = &self.graph.edges[rows.edge];
        let node = |task: usize, last: bool| {
            let nodes = &self.graph.tasks[task].nodes;
            if last { nodes.last() } else { nodes.first() }.copied().ok_or_else(|| Error::bug("a task without nodes"))
        };
        let (from, to) = (node(edge.from, true)?, node(edge.to, false)?);
        let InFlightRows { sender, receiver, rows, .. } = rows;
        let count = rows.iter().map(Batch::num_rows).sum::<usize>() as u64;
        let batches = rows.into_iter().map(Batch::into_columns).collect::<Result<Vec<_>>>()?;
        let bytes = blocking(move || batch_bytes::encode(&batches)).await?;
        let data = self.put(format!("{}-{task}-{index}-{epoch}", self.attempt), bytes).await?;
        let uid = |node: usize| self.graph.job.nodes[node].uid.clone();
        let in_flight = InFlight { from: uid(from), to: uid(to), port: edge.port, sender, receiver, data, rows: count };
        Ok((if task == edge.to { to } else { from }, in_flight))
    }

    async fn put(&self, name: String, bytes: Bytes) -> Result<DataHandle> {
        if bytes.len() <= INLINE_BYTES {
            return Ok(DataHandle::inline(bytes.to_vec()));
        }
        let Some(storage) = &self.storage else {
            return Err(Error::bug("state to be stored, and no storage"));
        };
        let number = self.next_file.fetch_add(1, Ordering::Relaxed);
        let name = file_name(self.generation, &format!("{name}-{number}"));
        let hashed = bytes.clone();
        let hash = blocking(move || Ok(content_hash(&hashed))).await?;
        let handle = DataHandle::File { name: name.clone(), bytes: bytes.len() as u64, hash };
        storage.put(&name, bytes).await?;
        Ok(handle)
    }
}

/// Whether reading a chain costs about twice what reading a base would.
fn is_long(chain: &[SegmentHandle]) -> bool {
    let bytes = |of: &[SegmentHandle]| of.iter().map(|segment| segment.data.len()).sum::<u64>();
    chain.len() > MAX_SEGMENTS || chain.split_first().is_some_and(|(base, deltas)| bytes(deltas) > base.data.len().max(1 << 20))
}

/// Runs what takes processor time away from the threads that drive timers and sockets.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| Err(Error::bug(format!("work in the background ended: {e}"))))
}
