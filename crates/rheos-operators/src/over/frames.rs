//! Frames slide over the rows of partitions.
//!
//! Calls over one frame share a set of accumulators, with a slot for each partition. A frame moves on by taking in the rows that
//! come in and taking back those that fall out. It does so for all partitions at once, a step (a row, or a group of peers) of each
//! at a time: the accumulators see whole columns where there are many partitions.

use std::collections::VecDeque;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, UInt32Array};
use arrow::compute::kernels::zip::zip;
use arrow::compute::{interleave, take};
use arrow::datatypes::Int64Type;
use rheos_core::error::{Error, Result};
use rheos_state::{Slot, SlotColumns};

use crate::aggregate::{AggregateSet, Rows};
use crate::row_store::NO_ROW;
use crate::spec::{AggregateCall, Frame, OverCall};

/// A row of a partition: its place in the order (peers have the same), and its number.
pub(super) type Member = (i64, u32);

/// What a group of calls counts at a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    /// All rows of the frame.
    Frame,
    /// The rows before the peers of the row at hand.
    Before,
    /// The first row of each group of peers.
    Places,
}

/// Calls over one frame.
struct Group {
    frame: Frame,
    count: Count,
    aggregates: AggregateSet,
    calls: Vec<AggregateCall>,
    /// Where the results go.
    outputs: Vec<usize>,
}

impl Group {
    /// How far back the frame reaches: rows, or milliseconds.
    fn preceding(&self) -> Option<i64> {
        match self.frame {
            Frame::Rows { preceding } => preceding.map(|n| n.min(i64::MAX as u64) as i64),
            Frame::Range { preceding_ms } => preceding_ms,
        }
    }

    /// Where the frame of the row at `at` begins, knowing that it does not begin before `start`.
    fn start(&self, rows: &VecDeque<Member>, start: usize, at: usize) -> usize {
        let Some(preceding) = self.preceding() else { return start };
        match self.frame {
            Frame::Rows { .. } => start.max(at.saturating_sub(preceding as usize)),
            Frame::Range { .. } => {
                let least = rows[at].0.saturating_sub(preceding);
                (start..at).find(|i| rows[*i].0 >= least).unwrap_or(at)
            }
        }
    }

    /// One past the last row that shares the step of the row at `at`.
    fn step_end(&self, rows: &VecDeque<Member>, at: usize) -> usize {
        match self.frame {
            Frame::Rows { .. } => at + 1,
            Frame::Range { .. } => (at..rows.len()).find(|i| rows[*i].0 != rows[at].0).unwrap_or(rows.len()),
        }
    }
}

/// All calls of an operator.
pub(super) struct Frames {
    groups: Vec<Group>,
    /// LAG and LEAD, with where the results go.
    offsets: Vec<(usize, OverCall)>,
    /// How many calls there are.
    calls: usize,
}

/// The rows of a partition in order; of those before `done` the values are known.
pub(super) struct Sequence<'a> {
    /// The slot of its accumulators.
    pub(super) slot: Slot,
    pub(super) rows: &'a VecDeque<Member>,
    pub(super) done: usize,
    /// For each frame the first row that its accumulators count; moved on.
    pub(super) starts: &'a mut [u32],
}

/// What one frame does at one step of some partitions.
#[derive(Default)]
struct Wave {
    /// Rows that come in and fall out, with the partition's slot.
    slots: Vec<Slot>,
    rows: Vec<u32>,
    signs: Vec<i8>,
    /// The partitions at this step.
    evaluated: Vec<Slot>,
}

/// What is to be done for the rows of some sequences that are not done.
pub(super) struct Work {
    /// By frame.
    waves: Vec<Vec<Wave>>,
    /// By frame, for each new row: the wave and the position in it.
    picks: Vec<Vec<(usize, usize)>>,
    /// By offset call, for each new row: the row looked at, [`NO_ROW`] where there is none.
    looked_at: Vec<Vec<u32>>,
    /// The new rows, sequence by sequence.
    pub(super) new_rows: Vec<u32>,
}

impl Frames {
    /// The frames of `calls`.
    pub(super) fn new(calls: &[OverCall]) -> Result<Self> {
        let mut groups: Vec<Group> = Vec::new();
        let mut offsets = Vec::new();
        for (output, call) in calls.iter().enumerate() {
            let unbounded = Frame::Range { preceding_ms: None };
            let (frame, count, call) = match call {
                OverCall::Aggregate { call, frame } => (*frame, Count::Frame, call.clone()),
                OverCall::RowNumber => (Frame::Rows { preceding: None }, Count::Frame, AggregateCall::count_rows(None)),
                OverCall::Rank => (unbounded, Count::Before, AggregateCall::count_rows(None)),
                OverCall::DenseRank => (unbounded, Count::Places, AggregateCall::count_rows(None)),
                OverCall::Offset { .. } => {
                    offsets.push((output, call.clone()));
                    continue;
                }
            };
            match groups.iter_mut().find(|g| g.frame == frame && g.count == count) {
                Some(group) => {
                    group.calls.push(call);
                    group.outputs.push(output);
                }
                None => groups.push(Group { frame, count, aggregates: AggregateSet::default(), calls: vec![call], outputs: vec![output] }),
            }
        }
        for group in &mut groups {
            group.aggregates = AggregateSet::new(&group.calls, group.preceding().is_some())?;
        }
        Ok(Frames { groups, offsets, calls: calls.len() })
    }

    /// How many frames there are: [`Sequence::starts`] has one for each.
    pub(super) fn len(&self) -> usize {
        self.groups.len()
    }

    /// The accumulators of the frames that are bounded (and follow from the rows kept) or unbounded.
    pub(super) fn accumulators(&self, bounded: bool) -> impl Iterator<Item = &AggregateSet> {
        self.groups.iter().filter(move |g| g.preceding().is_some() == bounded).map(|g| &g.aggregates)
    }

    /// The same, to be changed.
    pub(super) fn accumulators_mut(&mut self, bounded: bool) -> impl Iterator<Item = &mut AggregateSet> {
        self.groups.iter_mut().filter(move |g| g.preceding().is_some() == bounded).map(|g| &mut g.aggregates)
    }

    /// The columns that the calls read.
    pub(super) fn columns_read(&self) -> Vec<usize> {
        let of_aggregates = self.groups.iter().flat_map(|g| &g.calls).flat_map(|c| c.args.iter().copied().chain(c.filter));
        let of_offsets = self.offsets.iter().flat_map(|(_, call)| match call {
            OverCall::Offset { value, default, .. } => std::iter::once(*value).chain(*default).collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let mut columns: Vec<usize> = of_aggregates.chain(of_offsets).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Where the first row that any bounded frame, or LAG, may still want to see is, in a partition of `len` rows.
    pub(super) fn first_needed(&self, len: usize, starts: &[u32]) -> usize {
        let bounded = self.groups.iter().zip(starts).filter(|(g, _)| g.preceding().is_some()).map(|(_, s)| *s as usize);
        let looked_at = self.offsets.iter().map(|(_, call)| len.saturating_sub(call.rows_looked_back().unwrap_or(0) as usize));
        bounded.chain(looked_at).min().unwrap_or(len)
    }

    /// Plans the steps of all rows that are not done.
    pub(super) fn plan(&self, sequences: &mut [Sequence<'_>]) -> Work {
        let mut work = Work { waves: Vec::new(), picks: Vec::new(), looked_at: Vec::new(), new_rows: Vec::new() };
        let mut firsts = Vec::with_capacity(sequences.len());
        for s in sequences.iter() {
            firsts.push(work.new_rows.len());
            work.new_rows.extend(s.rows.range(s.done..).map(|(_, row)| *row));
        }
        for (g, group) in self.groups.iter().enumerate() {
            let mut waves: Vec<Wave> = Vec::new();
            let mut picks = vec![(0, 0); work.new_rows.len()];
            for (s, first) in sequences.iter_mut().zip(&firsts) {
                let (mut at, mut step) = (s.done, 0);
                while at < s.rows.len() {
                    let end = group.step_end(s.rows, at);
                    if waves.len() == step {
                        waves.push(Wave::default());
                    }
                    let wave = &mut waves[step];
                    let start = group.start(s.rows, s.starts[g] as usize, at);
                    for out in s.starts[g] as usize..start {
                        wave.push(s.slot, s.rows[out].1, -1);
                    }
                    s.starts[g] = start as u32;
                    let taken_in = if group.count == Count::Places { at + 1 } else { end };
                    for row in s.rows.range(at..taken_in) {
                        wave.push(s.slot, row.1, 1);
                    }
                    for pick in at..end {
                        picks[first + pick - s.done] = (step, wave.evaluated.len());
                    }
                    wave.evaluated.push(s.slot);
                    (at, step) = (end, step + 1);
                }
            }
            work.waves.push(waves);
            work.picks.push(picks);
        }
        for (_, call) in &self.offsets {
            let OverCall::Offset { rows_before, .. } = call else { continue };
            let row = |s: &Sequence<'_>, at: usize| {
                let at = (at as i64).checked_sub(*rows_before).and_then(|at| usize::try_from(at).ok());
                at.and_then(|at| s.rows.get(at)).map_or(NO_ROW, |(_, row)| *row)
            };
            work.looked_at.push(sequences.iter().flat_map(|s| (s.done..s.rows.len()).map(|at| row(s, at))).collect());
        }
        work
    }

    /// The results of all calls for the new rows, in their order. `columns` are the input's, of those that are read; the rows
    /// of `work` are positions in them.
    pub(super) fn execute(&mut self, work: Work, columns: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        let mut results: Vec<Option<ArrayRef>> = vec![None; self.calls];
        for ((group, waves), picks) in self.groups.iter_mut().zip(&work.waves).zip(&work.picks) {
            let mut evaluated: Vec<Vec<ArrayRef>> = Vec::with_capacity(waves.len());
            for wave in waves {
                let signs = group.preceding().is_some().then_some(wave.signs.as_slice());
                let rows = Rows { slots: &wave.slots, rows: Some(&wave.rows), signs };
                if group.count == Count::Before {
                    evaluated.push(group.aggregates.evaluate(&wave.evaluated)?.iter().map(one_more).collect());
                    group.aggregates.update(&rows, columns)?;
                } else {
                    group.aggregates.update(&rows, columns)?;
                    evaluated.push(group.aggregates.evaluate(&wave.evaluated)?);
                }
            }
            if evaluated.is_empty() {
                evaluated.push(group.aggregates.evaluate(&[])?);
            }
            for (i, output) in group.outputs.iter().enumerate() {
                let arrays: Vec<&dyn Array> = evaluated.iter().map(|e| e[i].as_ref()).collect();
                results[*output] = Some(interleave(&arrays, picks)?);
            }
        }
        for ((output, call), looked_at) in self.offsets.iter().zip(&work.looked_at) {
            results[*output] = Some(look_at(call, looked_at, &work.new_rows, columns)?);
        }
        results.into_iter().map(|r| r.ok_or_else(|| Error::bug("a window function without a result"))).collect()
    }

    /// Takes rows whose values are known into the accumulators of bounded frames, as if they had just been put out. Sets where each
    /// frame begins. Rows are positions in `columns`.
    pub(super) fn refill(&mut self, sequences: &mut [Sequence<'_>], columns: &[ArrayRef]) -> Result<()> {
        for (g, group) in self.groups.iter_mut().enumerate() {
            if group.preceding().is_none() {
                continue;
            }
            let mut wave = Wave::default();
            for s in sequences.iter_mut().filter(|s| s.done > 0) {
                // A row that comes next begins no earlier than where the frame of the last row does.
                let start = group.start(s.rows, 0, s.done - 1);
                s.starts[g] = start as u32;
                s.rows.range(start..s.done).for_each(|row| wave.push(s.slot, row.1, 1));
            }
            group.aggregates.update(&Rows { slots: &wave.slots, rows: Some(&wave.rows), signs: Some(&wave.signs) }, columns)?;
        }
        Ok(())
    }
}

impl Wave {
    fn push(&mut self, slot: Slot, row: u32, sign: i8) {
        self.slots.push(slot);
        self.rows.push(row);
        self.signs.push(sign);
    }
}

impl Work {
    /// Renumbers all rows by `number`.
    pub(super) fn renumber(&mut self, mut number: impl FnMut(u32) -> u32) {
        let waves = self.waves.iter_mut().flatten().flat_map(|w| w.rows.iter_mut());
        let all = waves.chain(self.looked_at.iter_mut().flatten()).chain(self.new_rows.iter_mut());
        all.filter(|row| **row != NO_ROW).for_each(|row| *row = number(*row));
    }
}

impl SlotColumns for Frames {
    fn types(&self) -> Vec<arrow::datatypes::DataType> {
        self.accumulators(false).flat_map(SlotColumns::types).collect()
    }

    fn grow(&mut self, bound: usize) {
        self.groups.iter_mut().for_each(|g| g.aggregates.grow(bound));
    }

    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::new();
        for aggregates in self.accumulators(false) {
            columns.extend(aggregates.save(slots)?);
        }
        Ok(columns)
    }

    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()> {
        let mut rest = columns;
        for aggregates in self.accumulators_mut(false) {
            let (mine, others) = rest.split_at(aggregates.types().len());
            aggregates.load(slots, mine)?;
            rest = others;
        }
        Ok(())
    }

    fn clear(&mut self, slots: &[Slot]) {
        self.groups.iter_mut().for_each(|g| g.aggregates.clear(slots));
    }
}

fn one_more(counts: &ArrayRef) -> ArrayRef {
    let counts: &Int64Array = counts.as_primitive::<Int64Type>();
    std::sync::Arc::new(counts.unary::<_, Int64Type>(|n| n + 1))
}

/// The values of LAG or LEAD.
fn look_at(call: &OverCall, looked_at: &[u32], rows: &[u32], columns: &[ArrayRef]) -> Result<ArrayRef> {
    let OverCall::Offset { value, default, .. } = call else { return Err(Error::bug("a call that looks at no row")) };
    let indices: UInt32Array = looked_at.iter().map(|row| (*row != NO_ROW).then_some(*row)).collect();
    let found = take(columns[*value].as_ref(), &indices, None)?;
    let Some(default) = default else { return Ok(found) };
    let defaults = take(columns[*default].as_ref(), &UInt32Array::from(rows.to_vec()), None)?;
    let is_there: BooleanArray = looked_at.iter().map(|row| Some(*row != NO_ROW)).collect();
    Ok(zip(&is_there, &found, &defaults)?)
}
