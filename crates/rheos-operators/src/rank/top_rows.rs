//! The first rows of each partition, as [`super::Rank`] and [`super::window_rank`] keep them.
//!
//! Over an insert-only input a partition keeps the rows up to the last rank that is asked for, and a row that does not get
//! there is dropped at once. Where rows are taken back, all are kept.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, RecordBatch, UInt64Array};
use arrow::compute::interleave_record_batch;
use arrow::datatypes::{DataType, SchemaRef, UInt64Type};
use rheos_core::batch::ColumnBatch;
use rheos_core::env::Env;
use rheos_core::error::{Error, Result};
use rheos_core::key_group::hash_columns;
use rheos_core::metrics::OperatorMetrics;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::TimestampMs;
use rheos_state::{KeyIndex, Slot};

use super::order::{OrderKey, RowKeys, RowOrder};
use super::ordered::Ordered;
use crate::idle_state::IdleState;
use crate::row_store::{NO_ROW, RowIndex, RowStore, take_rows};

/// How many rows of a snapshot are taken in at a time.
const RESTORED_ROWS: usize = 16 * 1024;

/// Partitions with their rows in order.
pub(crate) struct TopRows<K> {
    partition: Vec<usize>,
    /// How many of the partition's first columns are not part of the key by which rows are distributed.
    namespace_columns: usize,
    order: RowOrder,
    keep: u64,
    pub(crate) keys: KeyIndex,
    pub(crate) rows: RowStore,
    partitions: Vec<Ordered<K>>,
    next_arrival: u64,
    /// By row slot: when it arrived.
    arrivals: Vec<u64>,
    /// For taking rows back: the rows by value.
    retracted: Option<RowIndex>,
    types: Vec<DataType>,
    /// By partition: the batch that touched it last, so that it is recorded once a batch.
    touched_in: Vec<u64>,
    batch: u64,
    idle: IdleState,
}

/// The partitions that a batch touched, and what was visible of each before.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    pub(crate) partitions: Vec<Slot>,
    before: Vec<u32>,
    ends: Vec<usize>,
    /// The first row of each partition that is new, and the partition.
    new_rows: Vec<u32>,
    new_partitions: Vec<Slot>,
}

impl Touched {
    /// The rows that were visible of the partition at position `i`.
    pub(crate) fn before(&self, i: usize) -> &[u32] {
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.before[start..self.ends[i]]
    }

    /// The partitions that are new, each with the number of its first row.
    pub(crate) fn added(&self) -> impl Iterator<Item = (usize, Slot)> {
        self.new_rows.iter().map(|row| *row as usize).zip(self.new_partitions.iter().copied())
    }
}

/// What [`TopRows`] is made of.
pub(crate) struct TopRowsSpec {
    pub(crate) input: SchemaRef,
    pub(crate) partition: Vec<usize>,
    pub(crate) namespace_columns: usize,
    pub(crate) keep: u64,
    pub(crate) retracts: bool,
    /// How long a partition that nothing comes for is kept.
    pub(crate) ttl_ms: Option<i64>,
}

impl<K: OrderKey> TopRows<K> {
    pub(crate) fn new(spec: TopRowsSpec, order: RowOrder) -> Result<Self> {
        let types: Vec<DataType> = spec.input.fields().iter().map(|f| f.data_type().clone()).collect();
        let key_types: Vec<DataType> = spec.partition.iter().map(|c| types[*c].clone()).collect();
        Ok(TopRows {
            partition: spec.partition,
            namespace_columns: spec.namespace_columns,
            order,
            keep: spec.keep,
            keys: KeyIndex::new(&key_types)?,
            rows: RowStore::new(types.clone()),
            partitions: Vec::new(),
            next_arrival: 0,
            arrivals: Vec::new(),
            retracted: spec.retracts.then(Default::default),
            types,
            touched_in: Vec::new(),
            batch: 0,
            idle: IdleState::new(spec.ttl_ms),
        })
    }

    /// Takes a batch in. `visible` are the ranks whose rows before the batch are asked for. Rows that vanish can be gathered
    /// until [`TopRows::settle`].
    pub(crate) fn apply(&mut self, batch: &ColumnBatch, visible: (u64, u64), metrics: &OperatorMetrics) -> Result<Touched> {
        let (columns, rows) = (batch.columns(), batch.num_rows());
        let mut touched = Touched::default();
        let keys: Vec<&ArrayRef> = self.partition.iter().map(|c| &columns[*c]).collect();
        let mut slots = Vec::new();
        self.keys.resolve(&keys, rows, &mut slots, &mut touched.new_rows)?;
        touched.new_partitions.extend(touched.new_rows.iter().map(|row| slots[*row as usize]));
        self.partitions.resize_with(self.keys.slot_bound(), Ordered::default);
        self.touched_in.resize(self.keys.slot_bound(), 0);
        self.batch += 1;
        self.idle.touch(slots.iter().copied());
        let order = self.order.keys(columns)?;
        if self.retracted.is_some() {
            self.change(batch, &slots, &order, visible, metrics, &mut touched)?;
        } else if batch.kinds().is_some() {
            return Err(Error::bug("a row is taken back on an input of a rank that was said to be insert-only"));
        } else {
            self.insert(columns, &slots, &order, visible, &mut touched)?;
        }
        self.next_arrival += rows as u64;
        Ok(touched)
    }

    /// The rows of rank `start ..= end` of a partition, added to `rows`.
    pub(crate) fn range(&self, partition: Slot, (start, end): (u64, u64), rows: &mut Vec<u32>) {
        self.partitions[partition as usize].range(start, end, rows);
    }

    /// Forgets partitions with their rows; the rows can be gathered until [`TopRows::settle`].
    pub(crate) fn forget(&mut self, partitions: &[Slot]) {
        let mut rows = Vec::new();
        for partition in partitions {
            rows.clear();
            std::mem::take(&mut self.partitions[*partition as usize]).range(1, u64::MAX, &mut rows);
            rows.iter().for_each(|row| self.rows.remove(*row));
        }
        self.keys.remove(partitions);
    }

    /// Gives it the clock by which partitions are forgotten.
    pub(crate) fn set_env(&mut self, env: Env) {
        self.idle.set_env(env);
    }

    /// When a partition may have to be forgotten.
    pub(crate) fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.idle.next_ms()
    }

    /// Forgets the partitions that nothing has come for.
    pub(crate) fn forget_idle(&mut self, now_ms: TimestampMs) -> Result<()> {
        let idle = self.idle.take(now_ms, |slot| self.keys.is_used(slot));
        if self.retracted.is_some() {
            let mut rows = Vec::new();
            idle.iter().for_each(|partition| self.range(*partition, (1, u64::MAX), &mut rows));
            let columns = self.rows.gather_all(&rows)?;
            let mut hashes = Vec::new();
            hash_columns(&columns.iter().collect::<Vec<_>>(), rows.len(), &mut hashes)?;
            let (Some(index), store) = (&mut self.retracted, &self.rows) else { return Ok(()) };
            // The latest first: of equal rows it is the one that is found at once.
            for (at, row) in rows.iter().enumerate().rev() {
                index.remove_slot(hashes[at], *row, |other| store.equals(other, &columns, at));
            }
        }
        self.forget(&idle);
        self.rows.settle()
    }

    /// Ends a batch: of `touched`, partitions without rows are forgotten.
    pub(crate) fn settle(&mut self, touched: &[Slot]) -> Result<()> {
        let empty: Vec<Slot> = touched.iter().copied().filter(|p| self.partitions[*p as usize].is_empty()).collect();
        self.keys.remove(&empty);
        self.rows.settle()
    }

    fn touch(&mut self, partition: Slot, (start, end): (u64, u64), touched: &mut Touched) {
        let touched_in = &mut self.touched_in[partition as usize];
        if *touched_in != self.batch {
            *touched_in = self.batch;
            self.partitions[partition as usize].range(start, end, &mut touched.before);
            touched.partitions.push(partition);
            touched.ends.push(touched.before.len());
        }
    }

    fn insert(&mut self, columns: &[ArrayRef], slots: &[Slot], order: &RowKeys, visible: (u64, u64), touched: &mut Touched) -> Result<()> {
        let mut kept = Vec::new();
        for (row, slot) in slots.iter().enumerate() {
            let key = order.get(row);
            let partition = &self.partitions[*slot as usize];
            if partition.len() as u64 >= self.keep && partition.last_key().is_none_or(|last| last.compare(key).is_le()) {
                continue;
            }
            self.touch(*slot, visible, touched);
            let partition = &mut self.partitions[*slot as usize];
            let stored = self.rows.reserve()?;
            kept.push((stored, row as u32));
            let arrival = self.next_arrival + row as u64;
            self.arrivals.resize(self.arrivals.len().max(stored as usize + 1), 0);
            self.arrivals[stored as usize] = arrival;
            partition.insert(K::of(key), arrival, stored);
            if partition.len() as u64 > self.keep {
                partition.pop_last().into_iter().for_each(|last| self.rows.remove(last));
            }
        }
        self.rows.fill(columns, &kept)
    }

    fn change(
        &mut self,
        batch: &ColumnBatch,
        slots: &[Slot],
        order: &RowKeys,
        visible: (u64, u64),
        metrics: &OperatorMetrics,
        touched: &mut Touched,
    ) -> Result<()> {
        let columns = batch.columns();
        let mut hashes = Vec::new();
        hash_columns(&columns.iter().collect::<Vec<_>>(), batch.num_rows(), &mut hashes)?;
        let added: Vec<u32> = (0..batch.num_rows()).filter(|i| batch.kind(*i).is_addition()).map(|i| i as u32).collect();
        let mut stored = Vec::with_capacity(added.len());
        self.rows.append(&take_rows(columns, &added)?, added.len(), &mut stored)?;
        let mut stored = stored.into_iter();
        for (row, partition) in slots.iter().enumerate() {
            self.touch(*partition, visible, touched);
            let Some(index) = &mut self.retracted else { break };
            let (arrivals, rows, ordered) = (&mut self.arrivals, &mut self.rows, &mut self.partitions[*partition as usize]);
            if batch.kind(row).is_addition() {
                let slot = stored.next().unwrap_or(NO_ROW);
                index.add(hashes[row], slot, |other| rows.equals(other, columns, row));
                arrivals.resize(rows.slot_bound(), 0);
                arrivals[slot as usize] = self.next_arrival + row as u64;
                ordered.insert(K::of(order.get(row)), arrivals[slot as usize], slot);
            } else if let Some(slot) = index.remove(hashes[row], |other| rows.equals(other, columns, row)) {
                ordered.remove(&K::of(order.get(row)), arrivals[slot as usize]);
                rows.remove(slot);
            } else {
                metrics.bad_records.add(1);
            }
        }
        Ok(())
    }

    /// Puts all rows, or those that changed, under `name`, each with when it arrived.
    pub(crate) fn snapshot(&mut self, name: &str, mode: SnapshotMode, key_group_count: u32, into: &mut OperatorSnapshot) -> Result<()> {
        let arrivals = &self.arrivals;
        let beside = |slots: &[u32]| -> Vec<ArrayRef> {
            vec![Arc::new(UInt64Array::from_iter_values(slots.iter().map(|slot| arrivals[*slot as usize])))]
        };
        self.rows.snapshot(name, &self.partition[self.namespace_columns..], &beside, mode, key_group_count, into)
    }

    /// Takes in what [`TopRows::snapshot`] gave: rows that arrive again, in their order.
    pub(crate) fn restore(&mut self, name: &str, from: &OperatorSnapshot, metrics: &OperatorMetrics) -> Result<()> {
        let mut types = self.types.clone();
        types.push(DataType::UInt64);
        let batches = from.rows(name, &types)?;
        let arrivals = batches.iter().map(|b| b.column(types.len() - 1).as_primitive::<UInt64Type>().values());
        let mut order: Vec<(u64, usize, usize)> =
            arrivals.enumerate().flat_map(|(b, arrivals)| arrivals.iter().enumerate().map(move |(row, at)| (*at, b, row))).collect();
        order.sort_unstable();
        let all: Vec<&RecordBatch> = batches.iter().collect();
        for part in order.chunks(RESTORED_ROWS) {
            let places: Vec<(usize, usize)> = part.iter().map(|(_, batch, row)| (*batch, *row)).collect();
            let mut rows = interleave_record_batch(&all, &places)?;
            rows.remove_column(types.len() - 1);
            let touched = self.apply(&ColumnBatch::inserts(rows), (1, 1), metrics)?;
            self.settle(&touched.partitions)?;
        }
        Ok(())
    }
}
