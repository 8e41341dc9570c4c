//! `join`: two changelogs joined by equal keys and a condition. Keeps all rows of both sides.
//!
//! A batch of one side meets a state of the other that stands still meanwhile. So the batch is first taken into its own
//! side's state as a whole ([`changes`]), then paired with the other side's rows in steps that fit the collector
//! ([`probe`]); the condition is evaluated on a step's pairs at once, and the rows to put out are gathered column by column
//! ([`output`]).
//!
//! Where rows without a match matter (outer joins, SEMI, ANTI), they are put out and taken back as the number of their
//! matches leaves and reaches zero. Without a condition that is the number of the other side's rows of the key; with one, and where
//! rows are forgotten, it is counted for each row ([`side`]).

mod changes;
mod condition;
mod lists;
mod output;
mod probe;
mod side;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::KeyIndex;

use self::changes::Changes;
use self::side::Side;
use crate::read_spec;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::spec::{JoinKind, JoinSpec};

pub(crate) use self::changes::{find, resolve};
pub(crate) use self::condition::Condition;
pub(crate) use self::lists::{KeyLists, remove_unused};
pub(crate) use self::output::Assembly;
pub(crate) use self::probe::{Cursor, MAX_STEPS, Pairs, collect};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("join", |spec| Ok(Box::new(Join::new(&read_spec(spec)?)?)));
}

/// The names of the sides in a snapshot.
const SIDES: [&str; 2] = ["left", "right"];

struct Join {
    kind: JoinKind,
    output: SchemaRef,
    condition: Option<Condition>,
    /// The keys of both sides together: each key has one slot.
    keys: KeyIndex,
    sides: [Side; 2],
    /// For each side whether its rows without a match matter.
    preserved: [bool; 2],
    /// Whether matches are counted for each row.
    counts: bool,
    work: Option<Work>,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// A batch that is being joined.
struct Work {
    port: usize,
    batch: ColumnBatch,
    changes: Changes,
    cursor: Cursor,
    /// How many matches of the row at the cursor were seen so far.
    matches: u32,
}

impl Join {
    fn new(spec: &JoinSpec) -> Result<Self> {
        let condition = spec.condition.as_ref().map(|c| Condition::compile(c, spec.left.schema.len(), &spec.config)).transpose()?;
        let preserved = preserved(spec.kind);
        let left = spec.left.schema.to_arrow();
        let key_types: Vec<_> = spec.left.keys.iter().map(|k| left.field(*k).data_type().clone()).collect();
        // A match that was put out stands, though the row that made it is forgotten: the rows that are kept tell too little.
        let forgets = spec.left.state_ttl_ms.is_some() || spec.right.state_ttl_ms.is_some();
        let counts = condition.is_some() || (forgets && preserved.contains(&true));
        let side = |side, i: usize| Side::new(side, counts && preserved[i]);
        Ok(Join {
            kind: spec.kind,
            output: spec.output.to_arrow(),
            keys: KeyIndex::new(&key_types)?,
            sides: [side(&spec.left, 0), side(&spec.right, 1)],
            preserved,
            counts,
            condition,
            work: None,
            key_group_count: 1,
            metrics: Arc::default(),
        })
    }

    /// SEMI and ANTI put out rows of the left side only.
    fn left_only(&self) -> bool {
        matches!(self.kind, JoinKind::Semi | JoinKind::Anti)
    }

    /// Pairs the next rows of the batch at hand, about `room` of them, and returns what is to be put out.
    fn step(&mut self, work: &mut Work, room: usize) -> Result<Option<ColumnBatch>> {
        let (own, other) = (work.port, 1 - work.port);
        let counted = !self.counts;
        let (left_only, first_row) = (self.left_only(), work.cursor.row);
        let changes = &work.changes;
        // Where the rows of the key tell all, the pairs of SEMI and ANTI are not needed: for a left row the number of right rows of the key
        // tells all, a right row matters only where the key's first row comes or its last one goes.
        let skip = |row: usize| changes.ignored(row) || (left_only && counted && (own == 0 || !changes.turns(row)));
        let alone = usize::from(self.preserved[own]);
        let mut pairs = collect(&mut work.cursor, &changes.keys, &self.sides[other].lists, room, alone, skip);
        if let Some(condition) = &mut self.condition {
            retain(condition, &mut pairs, own, work.batch.columns(), &mut self.sides[other].rows)?;
        }
        let rows = if self.kind == JoinKind::Inner {
            let kinds = match changes.kinds.is_empty() {
                true => Vec::new(),
                false => pairs.own.iter().map(|row| changes.kinds[*row as usize]).collect(),
            };
            Assembly { own: pairs.own, other: pairs.other, kinds }
        } else {
            self.transitions(work, first_row, &pairs)
        };
        if rows.len() == 0 {
            return Ok(None);
        }
        rows.build(&self.output, own, work.batch.columns(), &mut self.sides[other].rows, left_only).map(Some)
    }

    /// The rows to put out for these pairs and for the rows that are complete, where rows without a match matter.
    fn transitions(&mut self, work: &mut Work, first_row: usize, pairs: &Pairs) -> Assembly {
        let (own, other) = (work.port, 1 - work.port);
        let changes = &work.changes;
        let mut rows = Assembly::default();
        let mut pair = 0;
        // The row at the cursor may have had some of its pairs; it ends in a later step.
        let last = work.cursor.row.min(changes.len() - 1);
        for row in first_row..=last {
            let kind = changes.kind(row);
            while pairs.own.get(pair) == Some(&(row as u32)) {
                let slot = pairs.other[pair];
                let turns = self.preserved[other] && self.turns(other, slot, changes, row);
                self.put_pair(&mut rows, row as u32, slot, kind, turns);
                pair += 1;
                work.matches += 1;
            }
            if row < work.cursor.row {
                let matches = std::mem::take(&mut work.matches);
                if self.preserved[own] && !changes.ignored(row) {
                    self.put_alone(&mut rows, own, row, changes, matches);
                }
            }
        }
        rows
    }
}

impl Operator for Join {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        self.sides.iter_mut().for_each(|side| side.idle.set_env(context.env.clone()));
        self.condition = self.condition.take().map(|c| c.with_env(context.env));
        let Some(restored) = restored else { return Ok(()) };
        for (side, name) in self.sides.iter_mut().zip(SIDES) {
            side.restore(name, &restored, &mut self.keys)?;
        }
        self.report();
        Ok(())
    }

    fn batch(&mut self, port: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        let changes = Changes::admit(&mut self.keys, &mut self.sides[port], &batch, self.counts, &self.metrics)?;
        self.work = Some(Work { port, batch, changes, cursor: Cursor::default(), matches: 0 });
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some(mut work) = self.work.take() else { return Ok(Progress::Done) };
        let first = work.cursor.steps;
        while work.cursor.row < work.batch.num_rows() {
            // A condition may reject all pairs, SEMI and ANTI only count them: nothing fills the collector then.
            if out.is_full() || work.cursor.steps - first >= MAX_STEPS {
                self.work = Some(work);
                return Ok(Progress::More);
            }
            if let Some(rows) = self.step(&mut work, out.room())? {
                out.emit(rows);
            }
        }
        self.settle(&mut work)?;
        Ok(Progress::Done)
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.sides.iter().filter_map(|side| side.idle.next_ms()).min()
    }

    fn timer(&mut self, now_ms: TimestampMs, _: &mut Collector) -> Result<Progress> {
        let mut keys = self.sides[0].forget_idle(now_ms)?;
        keys.extend(self.sides[1].forget_idle(now_ms)?);
        let [left, right] = &self.sides;
        remove_unused(&mut self.keys, [&left.lists, &right.lists], keys);
        self.report();
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        for (side, name) in self.sides.iter_mut().zip(SIDES) {
            side.snapshot(name, mode, self.key_group_count, &mut taken)?;
        }
        Ok(taken)
    }
}

impl Join {
    /// Whether pair (`row`, `slot`) is the first match that the other side's row gains, or the last that it loses.
    #[inline]
    fn turns(&mut self, other: usize, slot: u32, changes: &Changes, row: usize) -> bool {
        let Side { degrees, rows, .. } = &mut self.sides[other];
        match degrees {
            None => changes.turns(row),
            Some(degrees) => {
                rows.touch(slot);
                let degree = &mut degrees[slot as usize];
                if changes.kind(row).is_addition() {
                    *degree += 1;
                    *degree == 1
                } else {
                    *degree = degree.saturating_sub(1);
                    *degree == 0
                }
            }
        }
    }

    /// Puts out what a row of the batch itself is, with `matches` rows of the other side.
    #[inline]
    fn put_alone(&mut self, rows: &mut Assembly, own: usize, row: usize, changes: &Changes, matches: u32) {
        let kind = changes.kind(row);
        let matched = match &mut self.sides[own].degrees {
            Some(degrees) => match degrees.get_mut(changes.slots[row] as usize) {
                Some(degree) => {
                    if kind.is_addition() {
                        *degree = matches;
                    }
                    *degree > 0
                }
                None => matches > 0,
            },
            None => self.sides[1 - own].lists.count(changes.keys[row]) > 0,
        };
        if matched == (self.kind == JoinKind::Semi) {
            rows.push(row as u32, NO_ROW, kind);
        }
    }

    /// Forgets keys without rows, and packs what is kept.
    fn settle(&mut self, work: &mut Work) -> Result<()> {
        self.sides[work.port].rows.settle()?;
        let [left, right] = &self.sides;
        remove_unused(&mut self.keys, [&left.lists, &right.lists], std::mem::take(&mut work.changes.emptied));
        self.report();
        Ok(())
    }

    fn report(&self) {
        self.metrics.state_rows.set((self.sides[0].rows.len() + self.sides[1].rows.len()) as i64);
    }

    /// Puts out what a pair changes. `turns`: the other side's row gains its first or loses its last match by it.
    #[inline]
    fn put_pair(&self, rows: &mut Assembly, row: u32, slot: u32, kind: RowKind, turns: bool) {
        let adds = kind.is_addition();
        match self.kind {
            // The pairs of a left row only count; a right row takes left rows in or out.
            JoinKind::Semi if turns => rows.push(NO_ROW, slot, if adds { RowKind::Insert } else { RowKind::Delete }),
            JoinKind::Anti if turns => rows.push(NO_ROW, slot, if adds { RowKind::Delete } else { RowKind::Insert }),
            JoinKind::Semi | JoinKind::Anti => {}
            _ if adds => {
                if turns {
                    rows.push(NO_ROW, slot, RowKind::Delete);
                }
                rows.push(row, slot, kind);
            }
            _ => {
                rows.push(row, slot, kind);
                if turns {
                    rows.push(NO_ROW, slot, RowKind::Insert);
                }
            }
        }
    }
}

/// For each side whether its rows without a match matter.
pub(crate) fn preserved(kind: JoinKind) -> [bool; 2] {
    let left = matches!(kind, JoinKind::Left | JoinKind::Full | JoinKind::Semi | JoinKind::Anti);
    [left, matches!(kind, JoinKind::Right | JoinKind::Full)]
}

/// Keeps the pairs for which the condition holds. `own` is the side of `batch`.
pub(crate) fn retain(condition: &mut Condition, pairs: &mut Pairs, own: usize, batch: &[ArrayRef], other: &mut RowStore) -> Result<()> {
    if pairs.own.is_empty() {
        return Ok(());
    }
    let mine: Vec<ArrayRef> = condition.columns(own).iter().map(|c| batch[*c].clone()).collect();
    let mut sides: [Vec<ArrayRef>; 2] = [Vec::new(), Vec::new()];
    sides[own] = take_rows(&mine, &pairs.own)?;
    sides[1 - own] = other.gather(condition.columns(1 - own), &pairs.other)?;
    let holds = condition.evaluate(&sides.concat(), pairs.own.len())?;
    pairs.retain(|i| holds.value(i));
    Ok(())
}
