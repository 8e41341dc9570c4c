//! A simulated subtask: takes elements in under the engine's alignment, keeps state in bases and deltas, prepares output.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rheos_checkpoint::{
    Alignment, Barrier, Bytes, CheckpointKind, DataHandle, InFlight, ListState, OperatorPart, PartStats, SegmentHandle, SegmentKind, Step,
    SubtaskId, SubtaskPart, SubtaskState,
};
use rheos_core::element::Epoch;
use rheos_core::sink::CommitToken;
use rheos_core::snapshot::ListKind;
use serde::{Deserialize, Serialize};

use crate::job::{Kind, Row};
use crate::outside::Outside;
use crate::storage::Storage;

/// After so many deltas a base follows.
const LONGEST_CHAIN: usize = 3;

/// What a subtask must remember beside its counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    /// The next number of a source.
    pub(crate) next: u64,
    /// Rows sent into each channel of the job.
    pub(crate) sent: Vec<u64>,
    /// Rows taken out of each channel of the job.
    pub(crate) received: Vec<u64>,
}

/// A part whose last rows are still awaited.
struct Part {
    state: SubtaskState,
    tokens: Vec<CommitToken>,
}

pub(crate) struct Subtask {
    pub(crate) id: SubtaskId,
    pub(crate) kind: Kind,
    pub(crate) parallelism: usize,
    /// Prefix of the names of what it writes: unique to it and its attempt.
    pub(crate) name: String,
    pub(crate) generation: u64,
    /// The channels that it reads.
    pub(crate) inputs: Vec<usize>,
    pub(crate) alignment: Alignment,
    pub(crate) memory: Memory,
    counts: BTreeMap<u64, u64>,
    changed: BTreeSet<u64>,
    chain: Vec<SegmentHandle>,
    files: u64,
    /// Rows in flight of the snapshot that it was restored from, by input.
    pub(crate) restored: VecDeque<(usize, Row)>,
    buffer: Vec<Row>,
    tokens: Vec<CommitToken>,
    part: Option<Part>,
    /// Rows that barriers have overtaken, by epoch and input.
    recorded: BTreeMap<Epoch, BTreeMap<usize, Vec<Row>>>,
    pub(crate) last_epoch: Epoch,
    /// A source that gives nothing more.
    pub(crate) dry: bool,
    pub(crate) ended: Option<SubtaskPart>,
    pub(crate) inputs_left: usize,
}

impl Subtask {
    pub(crate) fn new(
        id: SubtaskId,
        kind: Kind,
        parallelism: usize,
        name: String,
        generation: u64,
        inputs: &[(usize, bool)],
        channels: usize,
    ) -> Self {
        Subtask {
            id,
            kind,
            parallelism,
            name,
            generation,
            alignment: Alignment::new(inputs.iter().map(|(_, overtakable)| *overtakable)),
            memory: Memory { next: 0, sent: vec![0; channels], received: vec![0; channels] },
            inputs_left: inputs.len(),
            inputs: inputs.iter().map(|(channel, _)| *channel).collect(),
            counts: BTreeMap::new(),
            changed: BTreeSet::new(),
            chain: Vec::new(),
            files: 0,
            restored: VecDeque::new(),
            buffer: Vec::new(),
            tokens: Vec::new(),
            part: None,
            recorded: BTreeMap::new(),
            last_epoch: 0,
            dry: false,
            ended: None,
        }
    }

    /// Takes its state from a snapshot. False if a file is missing.
    pub(crate) fn restore(&mut self, state: &SubtaskState, storage: &Storage) -> Result<(), String> {
        let item = state.lists.get("memory").and_then(|l| l.items.first()).ok_or("no memory")?;
        self.memory = serde_json::from_slice(&item.0).map_err(|e| e.to_string())?;
        for segment in state.keyed.values().flatten() {
            let name = segment.data.file_name().ok_or("no file")?;
            let bytes = storage.read(name).ok_or_else(|| format!("'{name}' is not there"))?;
            segment.data.verify(bytes).map_err(|e| e.to_string())?;
            let rows: Vec<(u64, u64)> = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
            self.counts.extend(rows);
            self.chain.push(segment.clone());
        }
        for in_flight in &state.in_flight {
            let DataHandle::Inline { bytes } = &in_flight.data else { return Err("rows in flight in a file".into()) };
            let rows: Vec<Row> = serde_json::from_slice(&bytes.0).map_err(|e| e.to_string())?;
            self.restored.extend(rows.into_iter().map(|row| (in_flight.port, row)));
        }
        Ok(())
    }

    /// Counts a row; the new count.
    pub(crate) fn count(&mut self, key: u64) -> u64 {
        let count = self.counts.entry(key).or_default();
        *count += 1;
        self.changed.insert(key);
        *count
    }

    /// The count that the next row of a key will give.
    pub(crate) fn next_count(&self, key: u64) -> u64 {
        self.counts.get(&key).copied().unwrap_or(0) + 1
    }

    pub(crate) fn write(&mut self, row: Row) {
        self.buffer.push(row);
    }

    /// Keeps copies of rows that the barrier of an epoch has overtaken, for the part.
    pub(crate) fn record(&mut self, epoch: Epoch, input: usize, rows: Vec<Row>) {
        if !rows.is_empty() {
            self.recorded.entry(epoch).or_default().entry(input).or_default().extend(rows);
        }
    }

    /// Does what alignment says. Barriers to send on and whole parts come out.
    pub(crate) fn follow(
        &mut self,
        steps: Vec<Step>,
        storage: &mut Storage,
        outside: &mut Outside,
    ) -> (Vec<Barrier>, Vec<(Epoch, SubtaskPart)>) {
        let (mut barriers, mut parts) = (Vec::new(), Vec::new());
        for step in steps {
            match step {
                Step::HoldBack(_) | Step::ReleaseAll => {}
                Step::Snapshot(barrier) => {
                    self.take(barrier, storage, outside);
                    barriers.push(barrier);
                }
                Step::Complete(epoch) => parts.extend(self.whole(epoch).map(|part| (epoch, part))),
                Step::Abandon(epoch) => {
                    self.part = None;
                    self.recorded.remove(&epoch);
                }
            }
        }
        (barriers, parts)
    }

    /// Takes state.
    pub(crate) fn take(&mut self, barrier: Barrier, storage: &mut Storage, outside: &mut Outside) {
        self.last_epoch = barrier.epoch;
        self.prepare(barrier.epoch, outside);
        let state = self.state(barrier, storage);
        self.part = Some(Part { state, tokens: self.tokens.clone() });
    }

    /// The part that was taken, with what was recorded since.
    pub(crate) fn whole(&mut self, epoch: Epoch) -> Option<SubtaskPart> {
        let recorded = self.recorded.remove(&epoch).unwrap_or_default();
        let Part { mut state, tokens } = self.part.take()?;
        for (port, rows) in recorded {
            let data = DataHandle::inline(serde_json::to_vec(&rows).unwrap_or_default());
            state.in_flight.push(InFlight {
                from: String::new(),
                to: String::new(),
                port,
                sender: self.inputs[port],
                receiver: 0,
                data,
                rows: rows.len() as u64,
            });
        }
        Some(self.part_of(state, tokens))
    }

    /// All input has ended: the last part.
    pub(crate) fn end(&mut self, storage: &mut Storage, outside: &mut Outside) {
        self.prepare(self.last_epoch + 1, outside);
        let barrier = Barrier { epoch: self.last_epoch + 1, overtake_from_ms: None, kind: CheckpointKind::Final, full: true };
        let state = self.state(barrier, storage);
        let part = self.part_of(state, self.tokens.clone());
        self.ended = Some(part);
    }

    pub(crate) fn completed(&mut self, epoch: Epoch) {
        self.tokens.retain(|t| t.epoch > epoch);
    }

    fn part_of(&self, state: SubtaskState, tokens: Vec<CommitToken>) -> SubtaskPart {
        let uid = format!("task{}", self.id.task);
        let operator = OperatorPart { name: uid.clone(), uid, parallelism: self.parallelism, state };
        SubtaskPart { subtask: self.id, operators: vec![operator], tokens, stats: PartStats::default() }
    }

    fn prepare(&mut self, epoch: Epoch, outside: &mut Outside) {
        if !self.buffer.is_empty() {
            let id = format!("{}-{epoch}", self.name);
            outside.prepare(id.clone(), std::mem::take(&mut self.buffer));
            self.tokens.push(CommitToken { sink: "sink".into(), epoch, payload: id.into() });
        }
    }

    fn state(&mut self, barrier: Barrier, storage: &mut Storage) -> SubtaskState {
        let memory = Bytes(serde_json::to_vec(&self.memory).unwrap_or_default());
        let mut state = SubtaskState::default();
        state.lists.insert("memory".into(), ListState { kind: ListKind::Split, items: vec![memory] });
        if matches!(self.kind, Kind::Count { .. }) {
            state.keyed.insert("counts".into(), self.segments(barrier, storage));
        }
        state
    }

    /// Writes the counts: all of them, or what has changed since the last checkpoint.
    fn segments(&mut self, barrier: Barrier, storage: &mut Storage) -> Vec<SegmentHandle> {
        let base = barrier.full || self.chain.is_empty() || self.chain.len() > LONGEST_CHAIN;
        let rows: Vec<(u64, u64)> = self.counts.iter().filter(|(k, _)| base || self.changed.contains(k)).map(|(k, c)| (*k, *c)).collect();
        let content = serde_json::to_vec(&rows).unwrap_or_default();
        self.files += 1;
        let name = rheos_checkpoint::log::file_name(self.generation, &format!("{}-{}", self.name, self.files));
        let data = DataHandle::file(name.clone(), &content);
        storage.write(name, content);
        let kind = if base { SegmentKind::Base } else { SegmentKind::Delta };
        let segment = SegmentHandle { kind, rows: rows.len() as u64, removed: 0, key_groups: Vec::new(), data };
        let mut chain = if base { Vec::new() } else { self.chain.clone() };
        chain.push(segment);
        // Nothing is built on a savepoint: somebody may delete it.
        if barrier.kind == CheckpointKind::Checkpoint {
            self.changed.clear();
            self.chain.clone_from(&chain);
        }
        chain
    }
}
