//! The watermark generator `expression`: a TIMESTAMP expression over the rows of a source.

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use arrow::compute::max;
use arrow::datatypes::{
    ArrowTimestampType, DataType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use rheos_core::batch::Batch;
use rheos_core::error::{Error, Result};
use rheos_core::registry::Registry;
use rheos_core::source::WatermarkGenerator;
use rheos_core::time::TimestampMs;
use rheos_expr::program::Program;

use crate::read_spec;
use crate::spec::WatermarkExprSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_watermark_generator("expression", |spec| Ok(Box::new(WatermarkExpression::new(&read_spec(spec)?)?)));
}

struct WatermarkExpression {
    program: Program,
}

impl WatermarkExpression {
    fn new(spec: &WatermarkExprSpec) -> Result<Self> {
        Ok(WatermarkExpression { program: Program::compile(std::slice::from_ref(&spec.expr), &spec.config)? })
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<ArrayRef> {
        let Batch::Columns(columns) = batch else { return Err(Error::bug("a watermark expression over typed rows")) };
        let values = self.program.evaluate(columns.columns(), columns.num_rows())?;
        values.into_iter().next().ok_or_else(|| Error::bug("a watermark expression without a value"))
    }
}

impl WatermarkGenerator for WatermarkExpression {
    fn watermarks(&mut self, batch: &Batch) -> Result<Vec<Option<TimestampMs>>> {
        let times = self.evaluate(batch)?;
        match times.data_type() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => Ok(each::<TimestampMillisecondType>(times.as_primitive(), 1)),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Ok(each::<TimestampMicrosecondType>(times.as_primitive(), 1_000)),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => Ok(each::<TimestampNanosecondType>(times.as_primitive(), 1_000_000)),
            other => Err(not_a_time(other)),
        }
    }

    /// Rounding down keeps order, so the greatest value alone needs it.
    fn watermark(&mut self, batch: &Batch) -> Result<Option<TimestampMs>> {
        let times = self.evaluate(batch)?;
        let (greatest, per_ms) = match times.data_type() {
            DataType::Timestamp(TimeUnit::Millisecond, _) => (max(times.as_primitive::<TimestampMillisecondType>()), 1),
            DataType::Timestamp(TimeUnit::Microsecond, _) => (max(times.as_primitive::<TimestampMicrosecondType>()), 1_000),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => (max(times.as_primitive::<TimestampNanosecondType>()), 1_000_000),
            other => return Err(not_a_time(other)),
        };
        Ok(greatest.map(|t| t.div_euclid(per_ms)))
    }
}

fn each<T: ArrowTimestampType>(times: &PrimitiveArray<T>, per_ms: i64) -> Vec<Option<TimestampMs>> {
    times.iter().map(|t| t.map(|t| t.div_euclid(per_ms))).collect()
}

fn not_a_time(ty: &DataType) -> Error {
    Error::bug(format!("a watermark expression of type {ty}, a timestamp is needed"))
}
