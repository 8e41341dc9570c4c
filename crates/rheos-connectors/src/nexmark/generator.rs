//! Turns a plan of events into a batch of just the columns that are asked for.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StructArray, TimestampMillisecondArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::SchemaRef;
use rheos_core::connector::TableSpec;
use rheos_core::time::TimestampMs;
use rheos_core::{ColumnBatch, Result};

use super::auction::{self, AuctionRandom};
use super::bid::{self, BidRandom};
use super::columns::{Column, Leaf, projected};
use super::config::Config;
use super::layout::{Kind, Plan, Run};
use super::person::{self, PersonRandom};

/// Makes the columns of events. Each value is a function of the seed and the event's number alone.
#[derive(Debug)]
pub(super) struct Generator {
    /// What the options say.
    pub(super) config: Config,
    /// The time of the first event.
    pub(super) base_ms: TimestampMs,
    /// Randomness of persons.
    pub(super) person: PersonRandom,
    /// Randomness of auctions.
    pub(super) auction: AuctionRandom,
    /// Randomness of bids.
    pub(super) bid: BidRandom,
    columns: Vec<Column>,
    schema: SchemaRef,
}

impl Generator {
    /// A generator of what `table` asks for.
    pub(super) fn new(table: &TableSpec, config: Config) -> Result<Self> {
        Ok(Generator {
            base_ms: 0,
            person: PersonRandom::new(config.seed),
            auction: AuctionRandom::new(config.seed),
            bid: BidRandom::new(config.seed),
            columns: projected(table)?,
            schema: table.output_schema().to_arrow(),
            config,
        })
    }

    /// The rows of `plan`.
    pub(super) fn batch(&self, plan: &Plan) -> Result<ColumnBatch> {
        let nulls = Kind::ALL.map(|kind| plan.nulls(kind));
        let columns = self.columns.iter().map(|column| self.column(column, plan, &nulls)).collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(plan.rows));
        Ok(ColumnBatch::inserts(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?))
    }

    fn column(&self, column: &Column, plan: &Plan, nulls: &[Option<NullBuffer>; 3]) -> Result<ArrayRef> {
        match column {
            Column::EventType => {
                let mut types = Vec::with_capacity(plan.rows);
                for run in &plan.runs {
                    types.resize(types.len() + run.rows, run.kind as i32);
                }
                Ok(Arc::new(Int32Array::from(types)))
            }
            Column::Leaf(leaf) => self.leaf(*leaf, plan, nulls),
            Column::Row(kind, leaves, fields) => {
                let arrays = leaves.iter().map(|leaf| self.leaf(*leaf, plan, nulls)).collect::<Result<Vec<_>>>()?;
                let nulls = nulls[*kind as usize].clone();
                Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), arrays, nulls, plan.rows)?))
            }
        }
    }

    fn leaf(&self, leaf: Leaf, plan: &Plan, nulls: &[Option<NullBuffer>; 3]) -> Result<ArrayRef> {
        let nulls = nulls[leaf.kind() as usize].clone();
        match leaf {
            Leaf::Person(field) => person::column(self, field, plan, nulls),
            Leaf::Auction(field) => auction::column(self, field, plan, nulls),
            Leaf::Bid(field) => bid::column(self, field, plan, nulls),
        }
    }

    /// The `dateTime` of the events of `kind`.
    pub(super) fn times(&self, plan: &Plan, kind: Kind, nulls: Option<NullBuffer>) -> ArrayRef {
        let values = long_values(plan, kind, |run, times| self.config.timeline.push_times(run, self.base_ms, times));
        Arc::new(TimestampMillisecondArray::new(values.into(), nulls))
    }
}

/// A BIGINT column: `push` adds the values of each run of `kind`, one a row; the rows of other kinds get 0 under their NULL.
pub(super) fn longs(plan: &Plan, kind: Kind, nulls: Option<NullBuffer>, push: impl FnMut(&Run, &mut Vec<i64>)) -> ArrayRef {
    Arc::new(Int64Array::new(long_values(plan, kind, push).into(), nulls))
}

/// The values of such a column.
pub(super) fn long_values(plan: &Plan, kind: Kind, mut push: impl FnMut(&Run, &mut Vec<i64>)) -> Vec<i64> {
    let mut values = Vec::with_capacity(plan.rows);
    for run in plan.runs_of(kind) {
        match run {
            Ok(run) => push(run, &mut values),
            Err(rows) => values.resize(values.len() + rows, 0),
        }
    }
    values
}
