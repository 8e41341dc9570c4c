//! `match`: MATCH_RECOGNIZE. Rows wait until the watermark has passed them; then the runs of their partition move on ([`automaton`]).
//!
//! State: the rows that wait, and of each partition the runs that may become matches, with the rows that they are of. Rows of
//! different partitions are tested together, the first row due of each, then the second, and so on; conditions on nothing but
//! the row itself are evaluated for all rows due at once.

mod automaton;
mod partitions;
mod references;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, UInt64Array};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::metrics::OperatorMetrics;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs};
use rheos_state::{KeyedTable, Slot};

use self::automaton::{Pattern, Run};
use self::partitions::{Partition, Partitions};
use self::references::{References, Subject};
use crate::rank::RowOrder;
use crate::row_store::{NO_ROW, RowStore, take_rows};
use crate::row_time::{RowTimes, restore_watermark, save_watermark};
use crate::spec::{MatchReference, MatchSpec};
use crate::{holds, read_spec, records};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("match", |spec| Ok(Box::new(Match::new(read_spec(spec)?)?)));
}

const ROWS: &str = "rows";
const PARTITIONS: &str = "partitions";
/// The number of a row that waits.
const WAITS: u64 = u64::MAX;

struct Match {
    spec: MatchSpec,
    types: Vec<DataType>,
    output: SchemaRef,
    pattern: Pattern,
    order: Option<RowOrder>,
    /// By variable: its condition.
    defines: Vec<Option<References>>,
    measures: References,
    /// How many rows before a run PREV may look at.
    kept_back: u64,
    partitions: KeyedTable<Partitions>,
    rows: RowStore,
    /// By row slot: its partition, its time, when it arrived, and its number once it does not wait.
    partition_of: Vec<Slot>,
    times: Vec<TimestampMs>,
    arrivals: Vec<u64>,
    numbers: Vec<u64>,
    next_arrival: u64,
    waiting: BTreeMap<TimestampMs, Vec<u32>>,
    /// Partitions with runs that end with their time (WITHIN), by that time.
    timeouts: BTreeMap<TimestampMs, Vec<Slot>>,
    /// Matches that did not fit the collector yet, and the partitions that may be tidied up once they are out.
    found: VecDeque<(Slot, Run)>,
    touched: Vec<Slot>,
    watermark: TimestampMs,
    key_group_count: u32,
    metrics: Arc<OperatorMetrics>,
}

/// A row that is due: its slot in the store, its partition, its position among those due.
#[derive(Debug, Clone, Copy)]
struct Due {
    row: u32,
    partition: Slot,
    position: usize,
}

/// A test: may the row belong to this element of this run?
struct Test {
    due: usize,
    run: usize,
    variable: usize,
}

impl Match {
    fn new(spec: MatchSpec) -> Result<Self> {
        let input = spec.input.to_arrow();
        let types: Vec<DataType> = input.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<DataType> = spec.partition.iter().map(|k| types[*k].clone()).collect();
        let defines = spec.defines.iter().map(|d| d.as_ref().map(|d| References::compile(d, &spec.config)).transpose());
        let all_references = spec.defines.iter().flatten().chain([&spec.measures]).flat_map(|e| &e.references);
        let looked_back = all_references.map(|r| if let MatchReference::Previous { offset, .. } = r { *offset } else { 0 });
        let kept_back = looked_back.max().unwrap_or(0);
        let partitions = Partitions { all: Vec::new(), elements: spec.pattern.len() };
        Ok(Match {
            output: spec.output.to_arrow(),
            pattern: Pattern(spec.pattern.clone()),
            order: (!spec.order.is_empty()).then(|| RowOrder::new(&spec.order, &input)).transpose()?,
            defines: defines.collect::<Result<_>>()?,
            measures: References::compile(&spec.measures, &spec.config)?,
            kept_back,
            partitions: KeyedTable::new(&key_types, 0, partitions)?,
            rows: RowStore::new(types.clone()),
            types,
            partition_of: Vec::new(),
            times: Vec::new(),
            arrivals: Vec::new(),
            numbers: Vec::new(),
            next_arrival: 0,
            waiting: BTreeMap::new(),
            timeouts: BTreeMap::new(),
            found: VecDeque::new(),
            touched: Vec::new(),
            watermark: MIN_WATERMARK,
            key_group_count: 1,
            metrics: Arc::default(),
            spec,
        })
    }

    fn keep(&mut self, columns: &[ArrayRef], slots: &[Slot], times: &[TimestampMs], arrivals: &[u64], numbers: &[u64]) -> Result<Vec<u32>> {
        let mut rows = Vec::with_capacity(slots.len());
        self.rows.append(columns, slots.len(), &mut rows)?;
        let bound = self.rows.slot_bound();
        self.partition_of.resize(bound, 0);
        self.times.resize(bound, 0);
        self.arrivals.resize(bound, 0);
        self.numbers.resize(bound, WAITS);
        for (i, row) in rows.iter().enumerate() {
            let row = *row as usize;
            (self.partition_of[row], self.times[row]) = (slots[i], times[i]);
            (self.arrivals[row], self.numbers[row]) = (arrivals[i], numbers[i]);
        }
        Ok(rows)
    }

    /// Takes the next rows that are due, about `room` of them, in order.
    fn due(&mut self, room: usize) -> Result<Vec<Due>> {
        let mut rows: Vec<u32> = Vec::new();
        while rows.len() < room
            && let Some(entry) = self.waiting.first_entry().filter(|e| *e.key() <= self.watermark)
        {
            let mut of_time = entry.remove();
            if let Some(order) = &self.order {
                let keys = order.keys(&self.rows.gather_all(&of_time)?)?;
                let mut positions: Vec<usize> = (0..of_time.len()).collect();
                positions.sort_by(|a, b| keys.get(*a).cmp(keys.get(*b)));
                of_time = positions.into_iter().map(|i| of_time[i]).collect();
            }
            rows.extend(of_time);
        }
        let due = |(position, row): (usize, u32)| Due { row, partition: self.partition_of[row as usize], position };
        Ok(rows.into_iter().enumerate().map(due).collect())
    }

    /// Lets the rows that are due move on the runs of their partitions; returns the matches that come out.
    fn advance(&mut self, due: &[Due]) -> Result<Vec<(Slot, Run)>> {
        let known = self.known(due)?;
        let mut matches = Vec::new();
        let mut taken: BTreeMap<Slot, usize> = BTreeMap::new();
        let mut rounds: Vec<Vec<usize>> = Vec::new();
        for (i, d) in due.iter().enumerate() {
            let round = taken.entry(d.partition).or_default();
            if rounds.len() == *round {
                rounds.push(Vec::new());
            }
            rounds[*round].push(i);
            *round += 1;
        }
        for round in rounds {
            self.advance_one_each(due, &round, &known, &mut matches)?;
        }
        self.partitions.touch(&taken.into_keys().collect::<Vec<_>>());
        Ok(matches)
    }

    /// For each variable whose condition is on the row alone: for which rows it holds.
    fn known(&mut self, due: &[Due]) -> Result<Vec<Option<BooleanBuffer>>> {
        let rows: Vec<u32> = due.iter().map(|d| d.row).collect();
        let store = &mut self.rows;
        let mut known = |define: &mut Option<References>| -> Result<Option<BooleanBuffer>> {
            let Some(define) = define else { return Ok(Some(BooleanBuffer::new_set(due.len()))) };
            let Some(columns) = define.of_one_row() else { return Ok(None) };
            let values = define.evaluate_rows(&store.gather(&columns, &rows)?, due.len())?;
            holds(&values).map(Some)
        };
        self.defines.iter_mut().map(&mut known).collect()
    }

    /// Takes one row of each of some partitions.
    fn advance_one_each(
        &mut self,
        due: &[Due],
        round: &[usize],
        known: &[Option<BooleanBuffer>],
        matches: &mut Vec<(Slot, Run)>,
    ) -> Result<()> {
        // The row gets its number, and a run of its own that it may begin.
        for i in round {
            let Due { row, partition, .. } = due[*i];
            let time = self.times[row as usize];
            self.time_out(partition, time, matches);
            let Partition { rows, runs, waiting, .. } = &mut self.partitions.values.all[partition as usize];
            let number = rows.next();
            self.numbers[row as usize] = number;
            self.rows.touch(row);
            rows.rows.push_back(row);
            runs.push(Run::begin(number, self.pattern.0.len()));
            *waiting -= 1;
        }
        // What cannot be known from the row alone is tested, variable by variable.
        let all = &self.partitions.values.all;
        let mut candidates: Vec<Vec<Vec<usize>>> = Vec::with_capacity(round.len());
        let mut tests: Vec<Test> = Vec::new();
        for (r, i) in round.iter().enumerate() {
            let runs = &all[due[*i].partition as usize].runs;
            let of_runs: Vec<Vec<usize>> = runs.iter().map(|run| self.pattern.candidates(run)).collect();
            for (run, elements) in of_runs.iter().enumerate() {
                let variables = elements.iter().map(|e| self.pattern.0[*e].variable);
                tests.extend(variables.filter(|v| known[*v].is_none()).map(|variable| Test { due: r, run, variable }));
            }
            candidates.push(of_runs);
        }
        let mut passed = vec![false; tests.len()];
        for (variable, define) in self.defines.iter_mut().enumerate() {
            let Some(define) = define else { continue };
            let of_variable: Vec<usize> = (0..tests.len()).filter(|t| tests[*t].variable == variable).collect();
            if of_variable.is_empty() {
                continue;
            }
            let subjects: Vec<Subject<'_>> = of_variable
                .iter()
                .map(|t| {
                    let partition = &all[due[round[tests[*t].due]].partition as usize];
                    Subject { rows: &partition.rows, run: &partition.runs[tests[*t].run], tested_for: Some(variable) }
                })
                .collect();
            let values = holds(&define.evaluate(&self.pattern, &mut self.rows, &subjects)?)?;
            of_variable.iter().enumerate().for_each(|(i, t)| passed[*t] = values.value(i));
        }
        // The runs move on.
        let mut tested = passed.into_iter();
        for (i, of_runs) in round.iter().zip(candidates) {
            let Due { partition: slot, position, .. } = due[*i];
            let partition = &mut self.partitions.values.all[slot as usize];
            let runs = std::mem::take(&mut partition.runs);
            for (run, elements) in runs.into_iter().zip(of_runs) {
                let fits: Vec<bool> = elements
                    .iter()
                    .map(|e| match &known[self.pattern.0[*e].variable] {
                        Some(known) => known.value(position),
                        None => tested.next().unwrap_or(false),
                    })
                    .collect();
                if self.pattern.ends(&run, &elements, &fits) {
                    // A greedy end that the row does not belong to.
                    partition.hold(run);
                    continue;
                }
                for next in self.pattern.successors(&run, &elements, &fits) {
                    if self.pattern.accepts(&next) && !self.pattern.wants_more(&next) {
                        partition.hold(next);
                    } else {
                        partition.runs.push(next);
                    }
                }
            }
            let released = partition.release(&self.pattern, self.spec.after);
            matches.extend(released.into_iter().map(|run| (slot, run)));
            self.arrange_timeout(slot);
        }
        Ok(())
    }

    /// Sees to it that a partition is looked at when the watermark passes the time of its first run. One entry a partition is enough:
    /// later runs end later.
    fn arrange_timeout(&mut self, slot: Slot) {
        let Some(ms) = self.spec.within_ms else { return };
        let partition = &mut self.partitions.values.all[slot as usize];
        if let (None, Some(first)) = (partition.timeout_ms, partition.runs.first()) {
            let at = self.times[partition.rows.slot(first.start) as usize].saturating_add(ms);
            partition.timeout_ms = Some(at);
            self.timeouts.entry(at).or_default().push(slot);
        }
    }

    /// Ends the runs of a partition that a row at `time` would be too late for.
    fn time_out(&mut self, slot: Slot, time: TimestampMs, matches: &mut Vec<(Slot, Run)>) {
        let Some(ms) = self.spec.within_ms else { return };
        let partition = &mut self.partitions.values.all[slot as usize];
        let (times, rows) = (&self.times, &partition.rows);
        let is_over = |run: &Run| time.saturating_sub(times[rows.slot(run.start) as usize]) >= ms;
        if !partition.runs.iter().any(is_over) {
            return;
        }
        let (over, open): (Vec<Run>, Vec<Run>) = std::mem::take(&mut partition.runs).into_iter().partition(is_over);
        partition.runs = open;
        over.into_iter().filter(|run| self.pattern.accepts(run)).for_each(|run| partition.hold(run));
        matches.extend(partition.release(&self.pattern, self.spec.after).into_iter().map(|run| (slot, run)));
    }

    /// Ends runs that no row can belong to any more, since the watermark has passed their time, or all time. Returns the partitions concerned.
    fn end_runs(&mut self, matches: &mut Vec<(Slot, Run)>) -> Vec<Slot> {
        let mut touched = Vec::new();
        while let Some(entry) = self.timeouts.first_entry().filter(|e| *e.key() <= self.watermark) {
            touched.extend(entry.remove());
        }
        let at_end = self.watermark == MAX_WATERMARK;
        if at_end {
            touched = self.partitions.index().slots();
        }
        touched.sort_unstable();
        touched.dedup();
        touched.retain(|slot| self.partitions.index().is_used(*slot));
        for slot in &touched {
            self.time_out(*slot, self.watermark, matches);
            let partition = &mut self.partitions.values.all[*slot as usize];
            if at_end {
                let runs = std::mem::take(&mut partition.runs);
                runs.into_iter().filter(|run| self.pattern.accepts(run)).for_each(|run| partition.hold(run));
                matches.extend(partition.release(&self.pattern, self.spec.after).into_iter().map(|run| (*slot, run)));
            } else {
                // The slot may be another partition's than the one whose time it was.
                partition.timeout_ms = partition.timeout_ms.filter(|at| *at > self.watermark);
                self.arrange_timeout(*slot);
            }
        }
        self.partitions.touch(&touched);
        touched
    }

    /// Puts out the matches that were found, as many as fit; then tidies up.
    fn put_out(&mut self, out: &mut Collector) -> Result<Progress> {
        while !self.found.is_empty() {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let part: Vec<(Slot, Run)> = self.found.drain(..self.found.len().min(out.room())).collect();
            let all = &self.partitions.values.all;
            let subjects: Vec<Subject<'_>> =
                part.iter().map(|(slot, run)| Subject { rows: &all[*slot as usize].rows, run, tested_for: None }).collect();
            let firsts: Vec<u32> = subjects.iter().map(|s| s.rows.slot(s.run.start)).collect();
            let mut columns = self.rows.gather(&self.spec.partition, &firsts)?;
            columns.extend(self.measures.evaluate(&self.pattern, &mut self.rows, &subjects)?);
            out.emit(ColumnBatch::inserts(records(&self.output, columns, part.len())?));
        }
        let touched = std::mem::take(&mut self.touched);
        self.trim(touched)?;
        Ok(if out.is_full() { Progress::More } else { Progress::Done })
    }

    /// Gives up the rows and partitions that nothing looks at any more.
    fn trim(&mut self, mut touched: Vec<Slot>) -> Result<()> {
        touched.sort_unstable();
        touched.dedup();
        touched.retain(|slot| self.partitions.index().is_used(*slot));
        let mut idle = Vec::new();
        for slot in touched {
            let partition = &mut self.partitions.values.all[slot as usize];
            for row in partition.trim(self.kept_back) {
                debug_assert_ne!(row, NO_ROW);
                self.rows.remove(row);
            }
            if partition.is_idle() {
                idle.push(slot);
            }
        }
        self.partitions.remove(&idle);
        self.rows.settle()
    }

    fn report(&self) {
        self.metrics.state_rows.set(self.rows.len() as i64);
        self.metrics.next_close_ms.set(self.timeouts.keys().next().copied().unwrap_or(TimestampMs::MAX));
    }
}

impl Operator for Match {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.key_group_count = context.subtask.key_group_count;
        self.metrics = context.metrics;
        for exprs in self.defines.iter_mut().flatten().chain([&mut self.measures]) {
            exprs.set_env(&self.spec.config, &context.env)?;
        }
        let Some(restored) = restored else { return Ok(()) };
        self.partitions.restore(PARTITIONS, &restored)?;
        self.restore_rows(&restored)?;
        self.watermark = restore_watermark(&restored)?;
        self.report();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, _: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        if batch.kinds().is_some() {
            return Err(Error::bug("a pattern over an input that takes rows back"));
        }
        let row_times = RowTimes::of(batch.column(self.spec.time))?;
        let (mut taken, mut times) = (Vec::new(), Vec::new());
        for row in 0..batch.num_rows() {
            match row_times.get_ms(row) {
                Some(time) if time > self.watermark => {
                    taken.push(row as u32);
                    times.push(time);
                }
                Some(_) => self.metrics.late_rows.add(1),
                None => self.metrics.bad_records.add(1),
            }
        }
        let columns = take_rows(batch.columns(), &taken)?;
        let keys: Vec<&ArrayRef> = self.spec.partition.iter().map(|k| &columns[*k]).collect();
        let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
        self.partitions.resolve(&keys, taken.len(), &mut slots, &mut new_rows)?;
        let arrivals: Vec<u64> = (self.next_arrival..).take(taken.len()).collect();
        self.next_arrival += taken.len() as u64;
        let rows = self.keep(&columns, &slots, &times, &arrivals, &vec![WAITS; taken.len()])?;
        for ((row, time), slot) in rows.into_iter().zip(times).zip(slots) {
            self.partitions.values.all[slot as usize].waiting += 1;
            self.waiting.entry(time).or_default().push(row);
        }
        self.rows.settle()?;
        self.report();
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        // After a restore the inputs may begin behind what was seen.
        self.watermark = self.watermark.max(at);
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let mut at_end = false;
        loop {
            if self.put_out(out)? == Progress::More {
                return Ok(Progress::More);
            }
            if at_end {
                self.report();
                return Ok(Progress::Done);
            }
            let due = self.due(out.room())?;
            let mut matches = self.advance(&due)?;
            self.touched.extend(due.iter().map(|d| d.partition));
            if due.is_empty() {
                self.touched = self.end_runs(&mut matches);
                at_end = matches.is_empty();
            }
            self.found.extend(matches);
        }
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        let mut taken = OperatorSnapshot::new();
        self.partitions.snapshot(PARTITIONS, mode, self.key_group_count, &mut taken)?;
        let (arrivals, numbers) = (&self.arrivals, &self.numbers);
        let beside = |rows: &[u32]| -> Vec<ArrayRef> {
            let of = |list: &[u64]| Arc::new(UInt64Array::from_iter_values(rows.iter().map(|row| list[*row as usize])));
            vec![of(arrivals), of(numbers)]
        };
        self.rows.snapshot(ROWS, &self.spec.partition, &beside, mode, self.key_group_count, &mut taken)?;
        save_watermark(self.watermark, &mut taken);
        Ok(taken)
    }
}

impl Match {
    fn restore_rows(&mut self, restored: &OperatorSnapshot) -> Result<()> {
        let width = self.types.len();
        let mut types = self.types.clone();
        types.extend([DataType::UInt64, DataType::UInt64]);
        let (mut numbered, mut waiting) = (Vec::new(), Vec::new());
        for batch in restored.rows(ROWS, &types)? {
            let (columns, beside) = batch.columns().split_at(width);
            let keys: Vec<&ArrayRef> = self.spec.partition.iter().map(|k| &columns[*k]).collect();
            let (mut slots, mut new_rows) = (Vec::new(), Vec::new());
            self.partitions.resolve(&keys, batch.num_rows(), &mut slots, &mut new_rows)?;
            let row_times = RowTimes::of(&columns[self.spec.time])?;
            let times = (0..batch.num_rows()).map(|row| row_times.get_ms(row));
            let times: Vec<TimestampMs> = times.collect::<Option<_>>().ok_or_else(|| Error::corrupt("a row without its time"))?;
            let arrivals = beside[0].as_primitive::<UInt64Type>().values();
            let numbers = beside[1].as_primitive::<UInt64Type>().values();
            let rows = self.keep(columns, &slots, &times, arrivals, numbers)?;
            for (i, row) in rows.into_iter().enumerate() {
                self.next_arrival = self.next_arrival.max(arrivals[i] + 1);
                match numbers[i] {
                    WAITS => waiting.push((times[i], arrivals[i], row)),
                    number => numbered.push((number, row)),
                }
            }
        }
        numbered.sort_unstable();
        for (number, row) in numbered {
            let partition = &mut self.partitions.values.all[self.partition_of[row as usize] as usize];
            if partition.rows.next() != number {
                return Err(Error::corrupt(format!("row {number} of a pattern where {} is expected", partition.rows.next())));
            }
            partition.rows.rows.push_back(row);
        }
        waiting.sort_unstable();
        for (time, _, row) in waiting {
            self.partitions.values.all[self.partition_of[row as usize] as usize].waiting += 1;
            self.waiting.entry(time).or_default().push(row);
        }
        (0..self.partitions.values.all.len()).for_each(|slot| self.arrange_timeout(slot as Slot));
        self.rows.settle()
    }
}
