//! `processing-time`: an operator over event time that follows the clock. Keeps no state of its own.

use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{ArrayRef, TimestampMillisecondArray};
use arrow::datatypes::DataType;
use rheos_core::batch::Batch;
use rheos_core::collector::Collector;
use rheos_core::error::{Error, Result};
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MAX_WATERMARK, MIN_WATERMARK, TimestampMs};

use crate::read_spec;
use crate::spec::ProcessingTimeSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("processing-time", |spec| {
        let spec: ProcessingTimeSpec = read_spec(spec)?;
        let mut known = Registry::new();
        crate::register(&mut known);
        let inner = known.make_operator(&spec.kind, &spec.spec)?;
        Ok(Box::new(ProcessingTime { spec, inner, context: None, last_ms: MIN_WATERMARK, told_ms: MIN_WATERMARK, stage: Stage::Idle }))
    });
}

struct ProcessingTime {
    spec: ProcessingTimeSpec,
    inner: Box<dyn Operator>,
    context: Option<OperatorContext>,
    /// The time of the last batch.
    last_ms: TimestampMs,
    /// The watermark that the operator was told last.
    told_ms: TimestampMs,
    stage: Stage,
}

/// What the operator returned `More` from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// A batch; after it the time goes on to the batch's.
    Rows,
    Time,
}

impl ProcessingTime {
    fn now_ms(&self) -> Result<TimestampMs> {
        let context = self.context.as_ref().ok_or_else(|| Error::bug("an operator that is not open"))?;
        Ok(context.env.clock.now_ms())
    }

    fn tell(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        if at <= self.told_ms {
            return Ok(Progress::Done);
        }
        self.told_ms = at;
        self.stage = Stage::Time;
        self.inner.watermark(at, out)
    }

    fn after_rows(&mut self, progress: Progress, out: &mut Collector) -> Result<Progress> {
        match progress {
            Progress::Done if self.spec.at_once => self.tell(self.last_ms, out),
            progress => Ok(progress),
        }
    }
}

impl Operator for ProcessingTime {
    fn open(&mut self, context: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
        self.context = Some(context.clone());
        self.inner.open(context, restored)
    }

    fn batch(&mut self, port: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        let batch = batch.into_columns()?;
        // A clock may be set back: time never goes back here. Where rows are worked off at once, those of the next batch come after.
        let least = if self.spec.at_once { self.told_ms.saturating_add(1) } else { self.told_ms.saturating_add(1).max(self.last_ms) };
        self.last_ms = self.now_ms()?.max(least);
        let column = self.spec.times[port];
        let DataType::Timestamp(_, zone) = batch.column(column).data_type() else {
            return Err(Error::bug(format!("processing time in a column of {}", batch.column(column).data_type())));
        };
        let times = TimestampMillisecondArray::from_value(self.last_ms, batch.num_rows()).with_timezone_opt(zone.clone());
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        columns[column] = Arc::new(times);
        let stamped = batch.with_columns(batch.schema(), columns)?;
        self.stage = Stage::Rows;
        let progress = self.inner.batch(port, stamped.into(), out)?;
        self.after_rows(progress, out)
    }

    fn watermark(&mut self, at: TimestampMs, out: &mut Collector) -> Result<Progress> {
        if at == MAX_WATERMARK { self.tell(at, out) } else { Ok(Progress::Done) }
    }

    fn next_timer_ms(&self) -> Option<TimestampMs> {
        // All rows of a millisecond have come when the next one begins.
        let next = self.context.as_ref()?.metrics.next_close_ms.get();
        (next < TimestampMs::MAX).then(|| next.saturating_add(1))
    }

    fn timer(&mut self, now_ms: TimestampMs, out: &mut Collector) -> Result<Progress> {
        self.tell(now_ms.saturating_sub(1), out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let progress = self.inner.resume(out)?;
        match self.stage {
            Stage::Rows => self.after_rows(progress, out),
            Stage::Idle | Stage::Time => Ok(progress),
        }
    }

    fn poll_wait(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.inner.poll_wait(context)
    }

    fn snapshot(&mut self, mode: SnapshotMode) -> Result<OperatorSnapshot> {
        self.inner.snapshot(mode)
    }

    fn finish(&mut self, out: &mut Collector) -> Result<Progress> {
        self.stage = Stage::Time;
        self.inner.finish(out)
    }

    fn close(&mut self) {
        self.inner.close();
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::changelog::RowKind;
    use rheos_core::schema::{Field, Schema};
    use rheos_core::testing::OperatorHarness;
    use rheos_core::types::TypeKind;

    use super::*;
    use crate::spec::{AggregateCall, WindowAggregateSpec, WindowProperty, WindowSpec, Windowing};
    use crate::testing::{Value, batch, changes_of};

    fn count_of_ten_seconds() -> ProcessingTimeSpec {
        let input = Schema::new(vec![Field::new("k", TypeKind::BigInt.nullable()), Field::new("p", TypeKind::Timestamp(3).not_null())]);
        let field = |name: &str, kind: TypeKind| Field::new(name, kind.not_null());
        let window = WindowSpec::Tumble { size_ms: 10_000, offset_ms: 0 };
        let spec = WindowAggregateSpec {
            input,
            windowing: Windowing::Time { column: 1, window },
            keys: vec![0],
            aggregates: vec![AggregateCall::count_rows(None)],
            input_retracts: false,
            properties: vec![WindowProperty::Start],
            output: Schema::new(vec![
                Field::new("k", TypeKind::BigInt.nullable()),
                field("n", TypeKind::BigInt),
                field("window_start", TypeKind::Timestamp(3)),
            ]),
        };
        ProcessingTimeSpec { times: vec![1], at_once: false, kind: "window-aggregate".into(), spec: serde_json::to_value(spec).unwrap() }
    }

    #[test]
    fn a_window_closes_by_the_clock_whatever_the_rows_say() {
        let mut registry = Registry::new();
        crate::register(&mut registry);
        let spec = count_of_ten_seconds();
        let operator = registry.make_operator("processing-time", &serde_json::to_value(&spec).unwrap()).unwrap();
        let inner: WindowAggregateSpec = serde_json::from_value(spec.spec).unwrap();
        let mut harness = OperatorHarness::open(operator).unwrap();
        let rows = |n: i64| batch(&inner.input, &vec![(RowKind::Insert, vec![Value::Int(1), Value::Int(n)]); 2]);
        assert!(harness.set_clock_ms(12_000).unwrap().is_empty());
        assert!(harness.push(rows(1)).unwrap().is_empty());
        assert!(harness.watermark(50_000).unwrap().is_empty());
        assert!(harness.set_clock_ms(19_999).unwrap().is_empty());
        assert!(harness.push(rows(99)).unwrap().is_empty());
        let closed = changes_of(&harness.set_clock_ms(20_000).unwrap());
        assert_eq!(closed, [(RowKind::Insert, vec![Value::Int(1), Value::Int(4), Value::Int(10_000)])]);
        harness.push(rows(0)).unwrap();
        let last = changes_of(&harness.watermark(MAX_WATERMARK).unwrap());
        assert_eq!(last, [(RowKind::Insert, vec![Value::Int(1), Value::Int(2), Value::Int(20_000)])]);
    }
}
