//! One attempt of a region on simulated workers: subtasks joined by bounded channels.

use std::collections::VecDeque;

use rheos_checkpoint::{Barrier, Manifest, SubtaskId, SubtaskPart};
use rheos_core::element::Epoch;

use crate::dice::Dice;
use crate::invariant::{Invariant, Violation};
use crate::job::{Edge, Job, Kind, Row};
use crate::outside::Outside;
use crate::plan::{Mutation, Plan};
use crate::storage::Storage;
use crate::subtask::{Memory, Subtask};

#[derive(Debug, Clone, Copy)]
enum Item {
    Row(Row),
    Barrier(Barrier),
    End,
}

/// The channels of a region: the same in all its attempts.
#[derive(Debug)]
pub(crate) struct Topology {
    pub(crate) ids: Vec<SubtaskId>,
    /// Sender and receiver by position in `ids`, and whether barriers may overtake.
    channels: Vec<(usize, usize, bool)>,
    /// For each subtask its edges, each with its channels by the receiver's index.
    outputs: Vec<Vec<(Edge, Vec<usize>)>>,
}

impl Topology {
    pub(crate) fn of(job: &Job, region: usize) -> Topology {
        let ids: Vec<SubtaskId> = job.subtasks().iter().filter(|s| s.region == region).map(|s| s.id).collect();
        let position = |task, index| ids.iter().position(|id| *id == SubtaskId { task, index }).unwrap_or(0);
        let mut topology = Topology { ids: ids.clone(), channels: Vec::new(), outputs: vec![Vec::new(); ids.len()] };
        for edge in &job.edges {
            for from in (0..job.tasks[edge.from].parallelism).filter(|index| ids.contains(&SubtaskId { task: edge.from, index: *index })) {
                let mut channels = Vec::new();
                for to in 0..job.tasks[edge.to].parallelism {
                    channels.push(topology.channels.len());
                    if !edge.forward || from == to {
                        topology.channels.push((position(edge.from, from), position(edge.to, to), !edge.forward));
                    }
                }
                topology.outputs[position(edge.from, from)].push((*edge, channels));
            }
        }
        topology
    }

    /// Whether a snapshot is a consistent cut through the region.
    pub(crate) fn check(&self, manifest: &Manifest) -> Result<(), Violation> {
        let invalid = |text: String| Violation::new(Invariant::Validity, format!("epoch {}: {text}", manifest.epoch));
        let mut memories = Vec::new();
        for id in &self.ids {
            let state = manifest.operators.get(&format!("task{}", id.task)).and_then(|o| o.subtasks.get(&id.index));
            let state = state.ok_or_else(|| invalid(format!("no part of {id}")))?;
            let item = state.lists.get("memory").and_then(|l| l.items.first()).ok_or_else(|| invalid(format!("no memory of {id}")))?;
            let memory: Memory = serde_json::from_slice(&item.0).map_err(|e| invalid(e.to_string()))?;
            memories.push((memory, state));
        }
        for (channel, (from, to, _)) in self.channels.iter().enumerate() {
            let sent = memories[*from].0.sent[channel];
            let received = memories[*to].0.received[channel];
            let in_flight: u64 = memories[*to].1.in_flight.iter().filter(|f| f.sender == channel).map(|f| f.rows).sum();
            if sent != received + in_flight {
                let (from, to) = (self.ids[*from], self.ids[*to]);
                return Err(invalid(format!("{from} has sent {sent} rows to {to}, which has {received} and {in_flight} in flight")));
            }
        }
        Ok(())
    }
}

pub(crate) struct Deployment {
    pub(crate) subtasks: Vec<Subtask>,
    channels: Vec<VecDeque<Item>>,
    /// Subtasks on a worker that has crashed.
    pub(crate) frozen: Vec<bool>,
    pub(crate) failed: bool,
    pub(crate) stopped: bool,
}

/// What a subtask works with.
pub(crate) struct Surroundings<'a> {
    pub(crate) now_ms: i64,
    pub(crate) plan: &'a Plan,
    pub(crate) job: &'a Job,
    pub(crate) topology: &'a Topology,
    pub(crate) dice: &'a Dice,
    pub(crate) storage: &'a mut Storage,
    pub(crate) outside: &'a mut Outside,
}

type Parts = Vec<(Epoch, SubtaskPart)>;

impl Deployment {
    /// One that was stopped before it began.
    pub(crate) fn stopped() -> Self {
        Deployment { subtasks: Vec::new(), channels: Vec::new(), frozen: Vec::new(), failed: false, stopped: true }
    }

    /// Whether something of it runs, as far as its coordinator can know.
    pub(crate) fn runs(&self) -> bool {
        !self.stopped && self.subtasks.iter().any(|s| s.ended.is_none())
    }

    pub(crate) fn new(prefix: &str, generation: u64, with: &Surroundings<'_>, from: Option<&Manifest>) -> Result<Self, String> {
        let topology = with.topology;
        let mut subtasks = Vec::new();
        for (position, id) in topology.ids.iter().enumerate() {
            let task = &with.job.tasks[id.task];
            let inputs = topology.channels.iter().enumerate().filter(|(_, c)| c.1 == position).map(|(i, c)| (i, c.2)).collect::<Vec<_>>();
            let name = format!("{prefix}-{}-{}", id.task, id.index);
            let mut subtask = Subtask::new(*id, task.kind.clone(), task.parallelism, name, generation, &inputs, topology.channels.len());
            if let Some(manifest) = from {
                let state = manifest.operators.get(&format!("task{}", id.task)).and_then(|o| o.subtasks.get(&id.index));
                subtask.restore(state.ok_or("a part is missing")?, with.storage)?;
                subtask.last_epoch = manifest.epoch;
                if with.plan.has(Mutation::SkipRow) && subtask.inputs.is_empty() {
                    subtask.memory.next += 1;
                }
            }
            subtasks.push(subtask);
        }
        let channels = vec![VecDeque::new(); topology.channels.len()];
        Ok(Deployment { frozen: vec![false; subtasks.len()], subtasks, channels, failed: false, stopped: false })
    }

    pub(crate) fn trigger(&mut self, position: usize, barrier: Barrier, stop: bool, with: &mut Surroundings<'_>) -> Parts {
        let subtask = &mut self.subtasks[position];
        if self.stopped || self.frozen[position] || subtask.ended.is_some() || barrier.epoch <= subtask.last_epoch {
            return Vec::new();
        }
        subtask.dry |= stop;
        subtask.take(barrier, with.storage, with.outside);
        let parts = subtask.whole(barrier.epoch).map(|part| (barrier.epoch, part)).into_iter().collect();
        self.send_all(position, Item::Barrier(barrier), with.topology);
        parts
    }

    pub(crate) fn aborted(&mut self, position: usize, epoch: Epoch, with: &mut Surroundings<'_>) {
        let steps = self.subtasks[position].alignment.aborted(epoch);
        self.subtasks[position].follow(steps, with.storage, with.outside);
    }

    /// Lets a subtask work for a moment. Whole parts come out.
    pub(crate) fn step(&mut self, position: usize, with: &mut Surroundings<'_>) -> Parts {
        let mut parts = Vec::new();
        for _ in 0..with.dice.between(1, 4) {
            let subtask = &self.subtasks[position];
            if self.stopped || self.frozen[position] || subtask.ended.is_some() {
                break;
            }
            let went_on = match &subtask.kind {
                Kind::Source(rows) => {
                    let rows = rows[subtask.id.index];
                    self.give(position, rows, with)
                }
                _ => self.take_one(position, with, &mut parts),
            };
            if !went_on {
                break;
            }
        }
        parts
    }

    fn give(&mut self, position: usize, rows: u64, with: &mut Surroundings<'_>) -> bool {
        let subtask = &self.subtasks[position];
        let (id, next) = (subtask.id, subtask.memory.next);
        if subtask.dry {
            return false;
        }
        if next >= rows {
            self.end(position, with);
            return false;
        }
        let sent = self.send(position, Job::source_row(id.task, id.index, next), with);
        self.subtasks[position].memory.next += u64::from(sent);
        sent
    }

    /// Takes one element. False if there is none, or no room for what follows from it.
    fn take_one(&mut self, position: usize, with: &mut Surroundings<'_>, parts: &mut Parts) -> bool {
        if let Some((_, row)) = self.subtasks[position].restored.front().copied() {
            let channel = self.subtasks[position].inputs[self.subtasks[position].restored[0].0];
            if !self.process(position, row, with) {
                return false;
            }
            self.subtasks[position].memory.received[channel] += 1;
            self.subtasks[position].restored.pop_front();
            return true;
        }
        self.overtake(position, with, parts);
        let subtask = &self.subtasks[position];
        let forgets = with.plan.has(Mutation::ForgetHold);
        let ready = |slot: &usize| !self.channels[subtask.inputs[*slot]].is_empty() && (forgets || !subtask.alignment.held(*slot));
        let slots: Vec<usize> = (0..subtask.inputs.len()).filter(ready).collect();
        if slots.is_empty() {
            return false;
        }
        let slot = slots[with.dice.index(slots.len())];
        let channel = subtask.inputs[slot];
        match self.channels[channel][0] {
            Item::Row(row) => {
                if !self.process(position, row, with) {
                    return false;
                }
                let subtask = &mut self.subtasks[position];
                subtask.memory.received[channel] += 1;
                if subtask.alignment.recording(slot)
                    && !with.plan.has(Mutation::DropInFlight)
                    && let Some(current) = subtask.alignment.current()
                {
                    subtask.record(current.epoch, slot, vec![row]);
                }
                self.channels[channel].pop_front();
            }
            Item::Barrier(barrier) => {
                self.channels[channel].pop_front();
                let steps = self.subtasks[position].alignment.barrier(slot, barrier, with.now_ms);
                self.follow(position, steps, with, parts);
            }
            Item::End => {
                self.channels[channel].pop_front();
                self.subtasks[position].inputs_left -= 1;
                let steps = self.subtasks[position].alignment.end(slot, with.now_ms);
                self.follow(position, steps, with, parts);
                if self.subtasks[position].inputs_left == 0 {
                    self.end(position, with);
                }
            }
        }
        true
    }

    /// Barriers whose time has come overtake the rows before them.
    fn overtake(&mut self, position: usize, with: &mut Surroundings<'_>, parts: &mut Parts) {
        let steps = self.subtasks[position].alignment.overtake(with.now_ms);
        self.follow(position, steps, with, parts);
        for slot in 0..self.subtasks[position].inputs.len() {
            let channel = self.subtasks[position].inputs[slot];
            let is_barrier = |item: &Item| if let Item::Barrier(barrier) = item { Some(*barrier) } else { None };
            let queued: Vec<Barrier> = self.channels[channel].iter().filter_map(is_barrier).collect();
            for barrier in queued {
                if barrier.may_overtake(with.now_ms) && self.subtasks[position].alignment.awaits(slot, barrier) {
                    let rows = self.take_out(channel, barrier);
                    if !with.plan.has(Mutation::DropInFlight) {
                        self.subtasks[position].record(barrier.epoch, slot, rows);
                    }
                    let steps = self.subtasks[position].alignment.barrier(slot, barrier, with.now_ms);
                    self.follow(position, steps, with, parts);
                }
            }
        }
    }

    /// Takes a barrier out of a channel: copies of the rows before it, which stay there.
    fn take_out(&mut self, channel: usize, barrier: Barrier) -> Vec<Row> {
        let queue = &mut self.channels[channel];
        let at = queue.iter().position(|item| matches!(item, Item::Barrier(b) if b.epoch == barrier.epoch)).unwrap_or(queue.len());
        queue.remove(at);
        queue.iter().take(at).filter_map(|item| if let Item::Row(row) = item { Some(*row) } else { None }).collect()
    }

    fn follow(&mut self, position: usize, steps: Vec<rheos_checkpoint::Step>, with: &mut Surroundings<'_>, parts: &mut Parts) {
        let (barriers, whole) = self.subtasks[position].follow(steps, with.storage, with.outside);
        barriers.into_iter().for_each(|b| self.send_all(position, Item::Barrier(b), with.topology));
        parts.extend(whole);
    }

    fn process(&mut self, position: usize, row: Row, with: &mut Surroundings<'_>) -> bool {
        let subtask = &mut self.subtasks[position];
        if subtask.kind == Kind::Sink {
            subtask.write(row);
            return true;
        }
        let id = subtask.id;
        let key = with.job.key(id.task, row);
        let count = subtask.next_count(key);
        let sent = self.send(position, Job::count_row(id.task, id.index, key, count), with);
        if sent {
            self.subtasks[position].count(key);
        }
        sent
    }

    fn end(&mut self, position: usize, with: &mut Surroundings<'_>) {
        self.subtasks[position].end(with.storage, with.outside);
        self.send_all(position, Item::End, with.topology);
    }

    /// Sends a row where it belongs, if there is room.
    fn send(&mut self, position: usize, row: Row, with: &Surroundings<'_>) -> bool {
        let index = self.subtasks[position].id.index;
        let target = |(edge, channels): &(Edge, Vec<usize>)| channels[with.job.route(*edge, index, row)];
        let targets: Vec<usize> = with.topology.outputs[position].iter().map(target).collect();
        if targets.iter().any(|c| self.channels[*c].len() >= with.plan.channel_rows) {
            return false;
        }
        for channel in targets {
            self.channels[channel].push_back(Item::Row(row));
            self.subtasks[position].memory.sent[channel] += 1;
        }
        true
    }

    /// Barriers and ends need no room.
    fn send_all(&mut self, position: usize, item: Item, topology: &Topology) {
        let index = self.subtasks[position].id.index;
        for (edge, channels) in &topology.outputs[position] {
            let mine = channels.iter().enumerate().filter(|(to, _)| !edge.forward || *to == index);
            mine.for_each(|(_, channel)| self.channels[*channel].push_back(item));
        }
    }
}
