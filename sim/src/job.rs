//! Small random jobs: sources with sequence numbers, keyed counts, a sink, in one piece or several; and the output that each must
//! have.

use std::collections::BTreeSet;

use rheos_checkpoint::SubtaskId;
use rheos_checkpoint::coordinator::Subtask;

use crate::dice::Dice;

/// A row: where it is from, and a number. Rows of a run's output are all different.
pub type Row = (u64, u64);

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// Gives so many rows in each of its subtasks.
    Source(Vec<u64>),
    /// Counts rows by key, and gives each new count.
    Count {
        /// How many keys there are.
        keys: u64,
    },
    /// Makes rows visible.
    Sink,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// What it does.
    pub kind: Kind,
    /// In how many subtasks.
    pub parallelism: usize,
}

/// An exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Edge {
    /// The sender.
    pub from: usize,
    /// The receiver.
    pub to: usize,
    /// To the subtask of the same index, instead of by hash.
    pub forward: bool,
}

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The tasks, senders first.
    pub tasks: Vec<Task>,
    /// The exchanges.
    pub edges: Vec<Edge>,
    /// Whether what is connected is a region of its own; otherwise all of it is one.
    pub by_region: bool,
}

impl Job {
    /// One in so many pieces.
    pub(crate) fn random(dice: &Dice, pieces: u64, by_region: bool) -> Job {
        let mut job = Job { tasks: Vec::new(), edges: Vec::new(), by_region };
        (0..pieces).for_each(|_| job.add_piece(dice));
        job
    }

    fn add_piece(&mut self, dice: &Dice) {
        let first = self.tasks.len();
        let sources = dice.between(1, 2) as usize;
        for _ in 0..sources {
            let parallelism = dice.between(1, 3) as usize;
            let rows = (0..parallelism).map(|_| if dice.chance(250) { dice.between(0, 10) } else { dice.between(30, 120) }).collect();
            self.tasks.push(Task { kind: Kind::Source(rows), parallelism });
        }
        let mut from: Vec<usize> = (first..first + sources).collect();
        for _ in 0..dice.between(0, 2) {
            let keys = dice.between(1, 12);
            from = vec![self.add(dice, &from, Kind::Count { keys })];
        }
        self.add(dice, &from, Kind::Sink);
    }

    fn add(&mut self, dice: &Dice, from: &[usize], kind: Kind) -> usize {
        let forward = dice.chance(350);
        let parallelism = if forward { self.tasks[from[0]].parallelism } else { dice.between(1, 3) as usize };
        let to = self.tasks.len();
        self.tasks.push(Task { kind, parallelism });
        for from in from {
            let forward = forward && self.tasks[*from].parallelism == parallelism;
            self.edges.push(Edge { from: *from, to, forward });
        }
        to
    }

    /// All subtasks.
    pub fn subtasks(&self) -> Vec<Subtask> {
        let of = |(task, t): (usize, &Task)| {
            let source = matches!(t.kind, Kind::Source(_));
            (0..t.parallelism).map(move |index| Subtask { id: SubtaskId { task, index }, source, region: 0 }).collect::<Vec<_>>()
        };
        let mut subtasks: Vec<Subtask> = self.tasks.iter().enumerate().flat_map(of).collect();
        if self.by_region {
            self.number_regions(&mut subtasks);
        }
        subtasks
    }

    /// How many regions there are.
    pub fn regions(&self) -> usize {
        self.subtasks().iter().map(|s| s.region + 1).max().unwrap_or(0)
    }

    /// Subtasks that an exchange joins get the lower of their numbers, until nothing changes.
    fn number_regions(&self, subtasks: &mut [Subtask]) {
        subtasks.iter_mut().enumerate().for_each(|(i, s)| s.region = i);
        loop {
            let before: Vec<usize> = subtasks.iter().map(|s| s.region).collect();
            for edge in &self.edges {
                for from in 0..subtasks.len() {
                    for to in 0..subtasks.len() {
                        let (a, b) = (subtasks[from], subtasks[to]);
                        if a.id.task == edge.from && b.id.task == edge.to && (!edge.forward || a.id.index == b.id.index) {
                            subtasks[from].region = a.region.min(b.region);
                            subtasks[to].region = a.region.min(b.region);
                        }
                    }
                }
            }
            if subtasks.iter().map(|s| s.region).eq(before) {
                break;
            }
        }
        let numbers: BTreeSet<usize> = subtasks.iter().map(|s| s.region).collect();
        subtasks.iter_mut().for_each(|s| s.region = numbers.range(..s.region).count());
    }

    /// Which subtask of `edge`'s receiver gets a row that subtask `index` of the sender gives.
    pub fn route(&self, edge: Edge, index: usize, row: Row) -> usize {
        if edge.forward { index } else { (self.key(edge.to, row) % self.tasks[edge.to].parallelism as u64) as usize }
    }

    /// The key of a row for a task.
    pub fn key(&self, task: usize, row: Row) -> u64 {
        let hash = mix(row.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ row.1);
        if let Kind::Count { keys } = self.tasks[task].kind { hash % keys } else { hash }
    }

    /// The row that a source gives.
    pub fn source_row(task: usize, index: usize, number: u64) -> Row {
        (tag(task, index, 0), number)
    }

    /// The row that a count gives.
    pub fn count_row(task: usize, index: usize, key: u64, count: u64) -> Row {
        (tag(task, index, key + 1), count)
    }

    /// The output without failure.
    pub fn expected(&self) -> BTreeSet<Row> {
        let mut inputs: Vec<Vec<Vec<Row>>> = self.tasks.iter().map(|t| vec![Vec::new(); t.parallelism]).collect();
        let mut output = BTreeSet::new();
        for (task, t) in self.tasks.iter().enumerate() {
            for index in 0..t.parallelism {
                let rows = std::mem::take(&mut inputs[task][index]);
                let given: Vec<Row> = match &t.kind {
                    Kind::Source(rows) => (0..rows[index]).map(|n| Job::source_row(task, index, n)).collect(),
                    Kind::Count { keys } => {
                        let mut counts = vec![0u64; *keys as usize];
                        let mut count = |row: &Row| {
                            let key = self.key(task, *row);
                            counts[key as usize] += 1;
                            Job::count_row(task, index, key, counts[key as usize])
                        };
                        rows.iter().map(&mut count).collect()
                    }
                    Kind::Sink => {
                        output.extend(rows);
                        continue;
                    }
                };
                for edge in self.edges.iter().filter(|e| e.from == task) {
                    given.iter().for_each(|row| inputs[edge.to][self.route(*edge, index, *row)].push(*row));
                }
            }
        }
        output
    }
}

fn tag(task: usize, index: usize, key: u64) -> u64 {
    task as u64 * 1_000_000 + index as u64 * 10_000 + key
}

fn mix(mut k: u64) -> u64 {
    k ^= k >> 33;
    k = k.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    k ^ (k >> 33)
}
