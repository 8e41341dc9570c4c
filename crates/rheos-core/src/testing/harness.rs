//! Drives one operator as a task would, call by call.

use std::sync::Arc;
use std::task::{Context, Waker};

use crate::batch::Batch;
use crate::collector::Collector;
use crate::env::{Clock, Env, ManualClock, SplitMix64};
use crate::error::Result;
use crate::key_group::DEFAULT_KEY_GROUPS;
use crate::metrics::OperatorMetrics;
use crate::operator::{Operator, OperatorContext, Progress, SubtaskInfo};
use crate::routing::RoutingTable;
use crate::snapshot::{OperatorSnapshot, Segment, SnapshotMode};
use crate::time::TimestampMs;

/// One open operator instance. Every call that can emit returns what was emitted until the operator said `Done`.
pub struct OperatorHarness {
    operator: Box<dyn Operator>,
    collector: Collector,
    clock: Arc<ManualClock>,
    metrics: Arc<OperatorMetrics>,
    /// What all snapshots so far make together.
    taken: OperatorSnapshot,
    resumed: usize,
    closed: bool,
}

impl OperatorHarness {
    /// Opens the only instance of an operator, without state.
    pub fn open(operator: Box<dyn Operator>) -> Result<Self> {
        Self::open_at(operator, 0, 1, &[])
    }

    /// Opens instance `index` of `parallelism` with its share of `snapshots`, those of all instances of an earlier run.
    pub fn open_at(mut operator: Box<dyn Operator>, index: usize, parallelism: usize, snapshots: &[OperatorSnapshot]) -> Result<Self> {
        let key_groups = RoutingTable::contiguous(DEFAULT_KEY_GROUPS, parallelism).groups_of(index);
        let restored = (!snapshots.is_empty()).then(|| OperatorSnapshot::redistribute(snapshots, index, parallelism, key_groups.clone()));
        let clock = Arc::new(ManualClock::default());
        let metrics = Arc::new(OperatorMetrics::default());
        let context = OperatorContext {
            subtask: SubtaskInfo {
                job: String::new(),
                uid: "harness".into(),
                name: "harness".into(),
                index,
                parallelism,
                key_groups,
                key_group_count: DEFAULT_KEY_GROUPS,
            },
            env: Env { clock: Arc::clone(&clock) as Arc<dyn Clock>, random: Arc::new(SplitMix64::new(1)) },
            metrics: Arc::clone(&metrics),
        };
        operator.open(context, restored)?;
        let taken = OperatorSnapshot::new();
        Ok(OperatorHarness { operator, collector: Collector::default(), clock, metrics, taken, resumed: 0, closed: false })
    }

    /// The same with a collector that is full at `max_rows`: a small one makes the operator return `More`.
    pub fn with_collector_rows(mut self, max_rows: usize) -> Self {
        self.collector = Collector::new(max_rows);
        self
    }

    /// Gives rows to the first input.
    pub fn push(&mut self, batch: impl Into<Batch>) -> Result<Vec<Batch>> {
        self.push_to(0, batch)
    }

    /// Gives rows to input `port`.
    pub fn push_to(&mut self, port: usize, batch: impl Into<Batch>) -> Result<Vec<Batch>> {
        let progress = self.operator.batch(port, batch.into(), &mut self.collector)?;
        self.drain(progress)
    }

    /// Moves event time to `at`.
    pub fn watermark(&mut self, at: TimestampMs) -> Result<Vec<Batch>> {
        let progress = self.operator.watermark(at, &mut self.collector)?;
        self.drain(progress)
    }

    /// Moves the clock to `now_ms`, and calls the timers that are due by then, each at its own time.
    pub fn set_clock_ms(&mut self, now_ms: TimestampMs) -> Result<Vec<Batch>> {
        let mut out = Vec::new();
        while let Some(due_ms) = self.operator.next_timer_ms().filter(|due| *due <= now_ms) {
            let at = due_ms.max(self.clock.now_ms());
            self.clock.set_ms(at as u64);
            let progress = self.operator.timer(at, &mut self.collector)?;
            out.extend(self.drain(progress)?);
        }
        self.clock.set_ms(now_ms as u64);
        Ok(out)
    }

    /// When the operator wants its timer to be called.
    pub fn next_timer_ms(&self) -> Option<TimestampMs> {
        self.operator.next_timer_ms()
    }

    /// The state so far; the operator goes on. From the second time on, the operator is asked only for what changed, and this
    /// gives all that it gave, as it would be stored: encoded.
    pub fn snapshot(&mut self) -> Result<OperatorSnapshot> {
        let (keyed, lists) = self.operator.snapshot(SnapshotMode::Changes)?.into_parts();
        let mut next = OperatorSnapshot::new();
        for (name, chains) in keyed {
            for segment in chains.into_iter().flatten() {
                next.put_keyed(&name, Segment::decode(segment.encode()?)?);
            }
        }
        for (name, (kind, items)) in lists {
            items.into_iter().for_each(|item| next.put_list(&name, kind, item));
        }
        self.taken.follow(next);
        Ok(self.taken.clone())
    }

    /// Ends the input.
    pub fn finish(&mut self) -> Result<Vec<Batch>> {
        let progress = self.operator.finish(&mut self.collector)?;
        self.drain(progress)
    }

    /// Closes the operator; dropping the harness does it too.
    pub fn close(mut self) {
        self.close_once();
    }

    /// What the operator reports of itself.
    pub fn metrics(&self) -> &OperatorMetrics {
        &self.metrics
    }

    /// How often the operator returned `More` so far.
    pub fn resumed(&self) -> usize {
        self.resumed
    }

    fn drain(&mut self, mut progress: Progress) -> Result<Vec<Batch>> {
        let mut out = Vec::new();
        loop {
            out.extend(std::iter::from_fn(|| self.collector.pop()));
            if progress == Progress::Done {
                return Ok(out);
            }
            if progress == Progress::Wait {
                let mut context = Context::from_waker(Waker::noop());
                while self.operator.poll_wait(&mut context).is_pending() {
                    std::thread::yield_now();
                }
            }
            self.resumed += 1;
            progress = self.operator.resume(&mut self.collector)?;
        }
    }

    fn close_once(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            self.operator.close();
        }
    }
}

impl Drop for OperatorHarness {
    fn drop(&mut self) {
        self.close_once();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field, Schema};

    use super::*;
    use crate::batch::ColumnBatch;
    use crate::snapshot::ListKind;
    use crate::testing::changes;

    /// Emits each row by itself, at most as many as fit; its timer is due every 10 ms and emits the time.
    #[derive(Default)]
    struct OneByOne {
        pending: Vec<Batch>,
        due_ms: TimestampMs,
    }

    fn batch(values: Vec<i64>) -> Batch {
        let schema = Arc::new(Schema::new(vec![Field::new("v", DataType::Int64, true)]));
        ColumnBatch::inserts(RecordBatch::try_new(schema, vec![Arc::new(Int64Array::from(values))]).unwrap()).into()
    }

    impl Operator for OneByOne {
        fn open(&mut self, _: OperatorContext, restored: Option<OperatorSnapshot>) -> Result<()> {
            self.due_ms = restored.map_or(10, |s| i64::from(s.list("due")[0][0]));
            Ok(())
        }

        fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
            self.pending = (0..batch.num_rows()).rev().map(|i| batch.slice(i, 1)).collect();
            self.resume(out)
        }

        fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
            while !out.is_full() {
                match self.pending.pop() {
                    Some(row) => out.emit(row),
                    None => return Ok(Progress::Done),
                }
            }
            Ok(if self.pending.is_empty() { Progress::Done } else { Progress::More })
        }

        fn next_timer_ms(&self) -> Option<TimestampMs> {
            Some(self.due_ms)
        }

        fn timer(&mut self, now_ms: TimestampMs, out: &mut Collector) -> Result<Progress> {
            self.due_ms += 10;
            out.emit(batch(vec![now_ms]));
            Ok(Progress::Done)
        }

        fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
            let mut snapshot = OperatorSnapshot::new();
            snapshot.put_list("due", ListKind::Union, vec![self.due_ms as u8]);
            Ok(snapshot)
        }
    }

    #[test]
    fn more_is_resumed_until_done_and_timers_fire_at_their_times() {
        let mut harness = OperatorHarness::open(Box::<OneByOne>::default()).unwrap().with_collector_rows(2);
        let out = harness.push(batch(vec![1, 2, 3, 4, 5])).unwrap();
        assert_eq!(changes(&out), ["+I 1", "+I 2", "+I 3", "+I 4", "+I 5"]);
        assert_eq!(harness.resumed(), 2);
        assert_eq!(changes(&harness.set_clock_ms(25).unwrap()), ["+I 10", "+I 20"]);
        let snapshot = harness.snapshot().unwrap();
        let mut again = OperatorHarness::open_at(Box::<OneByOne>::default(), 1, 2, &[snapshot]).unwrap();
        assert_eq!(changes(&again.set_clock_ms(30).unwrap()), ["+I 30"]);
    }
}
