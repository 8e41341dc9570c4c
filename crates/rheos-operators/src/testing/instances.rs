//! Several instances of an operator behind a hash exchange.

use rheos_core::batch::Batch;
use rheos_core::key_group::{ColumnKey, DEFAULT_KEY_GROUPS, KeySelector, key_group};
use rheos_core::operator::Operator;
use rheos_core::routing::RoutingTable;
use rheos_core::testing::OperatorHarness;
use rheos_core::time::TimestampMs;

use super::table::{Change, changes_of};

/// All instances of one operator. Rows go to the instance that owns their key group.
pub(crate) struct Instances {
    make: Box<dyn Fn() -> Box<dyn Operator>>,
    keys: Vec<ColumnKey>,
    collector_rows: usize,
    pub(crate) harnesses: Vec<OperatorHarness>,
    pushes: usize,
}

impl Instances {
    /// One instance; `keys` are the key columns of each input, `collector_rows` is when its collector is full.
    pub(crate) fn new(make: impl Fn() -> Box<dyn Operator> + 'static, keys: &[&[usize]], collector_rows: usize) -> Self {
        let harness = OperatorHarness::open(make()).unwrap().with_collector_rows(collector_rows);
        let keys = keys.iter().map(|k| ColumnKey::new(k.to_vec())).collect();
        Instances { make: Box::new(make), keys, collector_rows, harnesses: vec![harness], pushes: 0 }
    }

    /// Stops all instances with a snapshot, and goes on with as many as asked for.
    pub(crate) fn restart(&mut self, parallelism: usize) {
        let snapshots: Vec<_> = self.harnesses.iter_mut().map(|h| h.snapshot().unwrap()).collect();
        self.harnesses = (0..parallelism)
            .map(|i| OperatorHarness::open_at((self.make)(), i, parallelism, &snapshots).unwrap())
            .map(|h| h.with_collector_rows(self.collector_rows))
            .collect();
    }

    /// Gives rows to input `port`; returns what comes out. No batch may exceed the collector's bound by more than the rows that one step
    /// may add.
    pub(crate) fn push(&mut self, port: usize, batch: Batch) -> Vec<Change> {
        let mut hashes = Vec::new();
        self.keys[port].hashes(&batch, &mut hashes).unwrap();
        let parallelism = self.harnesses.len();
        let routing = RoutingTable::contiguous(DEFAULT_KEY_GROUPS, parallelism);
        let target = |hash: &u64| routing.owner(key_group(*hash, DEFAULT_KEY_GROUPS));
        let parts = batch.split(&hashes.iter().map(target).collect::<Vec<_>>(), parallelism).unwrap();
        let mut out = Vec::new();
        for (harness, part) in self.harnesses.iter_mut().zip(parts) {
            if let Some(part) = part {
                out.extend(harness.push_to(port, part).unwrap());
            }
        }
        self.pushes += 1;
        if self.pushes.is_multiple_of(3) {
            // From the second snapshot on it is changes that are taken.
            self.harnesses.iter_mut().for_each(|h| drop(h.snapshot().unwrap()));
        }
        self.checked(&out)
    }

    /// Moves event time at all instances; returns what comes out.
    pub(crate) fn watermark(&mut self, at: TimestampMs) -> Vec<Change> {
        let out: Vec<Batch> = self.harnesses.iter_mut().flat_map(|h| h.watermark(at).unwrap()).collect();
        self.checked(&out)
    }

    /// Rows in state, all instances together.
    pub(crate) fn state_rows(&self) -> i64 {
        self.harnesses.iter().map(|h| h.metrics().state_rows.get()).sum()
    }

    fn checked(&self, out: &[Batch]) -> Vec<Change> {
        for batch in out {
            let rows = batch.num_rows();
            assert!(rows > 0 && rows <= 3 * self.collector_rows, "a batch of {rows} rows where {} fit", self.collector_rows);
        }
        changes_of(out)
    }
}
