//! Over event time.

use std::collections::{BTreeMap, BTreeSet};

use rheos_core::changelog::RowKind;
use rheos_core::time::{MAX_WATERMARK, TimestampMs};

use super::*;
use crate::testing::{Dice, Instances, batch};

/// Keeps all rows, and computes each from scratch.
struct Model {
    order: Vec<SortKey>,
    calls: Vec<OverCall>,
    counts_all: bool,
    reach_ms: Option<i64>,
    partitions: BTreeMap<Value, Partition>,
    watermark: TimestampMs,
    late: usize,
    without_time: usize,
}

/// What Apache Flink keeps of a partition, and all its rows.
#[derive(Default)]
struct Partition {
    out: Vec<Row>,
    waiting: Vec<Row>,
    last_ms: Option<TimestampMs>,
    cleanup_ms: Option<TimestampMs>,
    timers: BTreeSet<TimestampMs>,
}

impl Model {
    fn new(order: &[SortKey], calls: &[OverCall]) -> Self {
        let range_ms = |call: &OverCall| match call {
            OverCall::Aggregate { frame: Frame::Range { preceding_ms: Some(ms) }, .. } => Some(*ms),
            _ => None,
        };
        let is_bounded = |call: &OverCall| match call {
            OverCall::Aggregate { frame, .. } => ![ROWS, RANGE].contains(frame),
            _ => false,
        };
        let all_in_time = !calls.is_empty() && calls.iter().all(|call| range_ms(call).is_some());
        Model {
            order: order.to_vec(),
            calls: calls.to_vec(),
            counts_all: !calls.iter().all(is_bounded),
            reach_ms: all_in_time.then(|| calls.iter().filter_map(range_ms).max().unwrap()),
            partitions: BTreeMap::new(),
            watermark: TimestampMs::MIN,
            late: 0,
            without_time: 0,
        }
    }

    fn push(&mut self, key: Value, row: &Row) {
        let Value::Int(time) = row[AT] else {
            self.without_time += 1;
            return;
        };
        let partition = self.partitions.entry(key).or_default();
        if (self.counts_all && time <= self.watermark) || partition.last_ms.is_some_and(|last| time <= last) {
            self.late += 1;
            return;
        }
        partition.waiting.push(row.clone());
        if let Some(reach_ms) = self.reach_ms
            && partition.cleanup_ms.is_none_or(|at| at < time + reach_ms + 1)
        {
            let at = time + reach_ms + reach_ms / 2 + 1;
            partition.cleanup_ms = Some(at);
            partition.timers.insert(at);
        }
    }

    /// What comes out of each partition, in order.
    fn watermark(&mut self, at: TimestampMs) -> BTreeMap<Value, Vec<Row>> {
        self.watermark = self.watermark.max(at);
        let mut out = BTreeMap::new();
        for (key, partition) in &mut self.partitions {
            let is_due = |row: &Row| number(&row[AT]) <= self.watermark;
            let (mut due, waiting): (Vec<Row>, Vec<Row>) = std::mem::take(&mut partition.waiting).into_iter().partition(is_due);
            partition.waiting = waiting;
            due.sort_by(|a, b| compare(&self.order, a, b));
            if let Some(last) = due.last() {
                partition.last_ms = partition.last_ms.max(Some(number(&last[AT])));
            }
            let first = partition.out.len();
            partition.out.extend(due);
            let rows = first..partition.out.len();
            let of_key: Vec<Row> = rows.map(|i| with_values(&self.calls, &self.order, &partition.out, i)).collect();
            if !of_key.is_empty() {
                out.insert(key.clone(), of_key);
            }
            while let Some(timer) = partition.timers.first().copied().filter(|timer| *timer <= self.watermark) {
                partition.timers.pop_first();
                partition.last_ms = partition.last_ms.max(Some(timer));
                if partition.cleanup_ms.is_some_and(|at| at <= timer) {
                    assert!(partition.waiting.is_empty() && partition.timers.is_empty());
                    *partition = Partition::default();
                }
            }
        }
        out
    }
}

struct Case {
    calls: Vec<OverCall>,
    order: Vec<SortKey>,
    partitioned: bool,
    collector_rows: usize,
}

fn run(case: &Case, seed: u64) {
    let Case { calls, order, partitioned, collector_rows } = case;
    let partition: &[usize] = if *partitioned { &[KEY] } else { &[] };
    let spec = spec(partition, order, Some(AT), calls, false);
    let mut over = Instances::new(move || operator(&spec), &[partition], *collector_rows);
    let mut model = Model::new(order, calls);
    let mut dice = Dice::new(seed);
    let mut now = 1000;
    let key_of = |row: &Row| if *partitioned { row[KEY].clone() } else { Value::Null };
    let (mut late, mut without_time) = (0, 0);
    for round in 0..60 {
        if round % 7 == 6 {
            // Metrics begin anew.
            late += over.harnesses.iter().map(|h| h.metrics().late_rows.get()).sum::<u64>();
            without_time += over.harnesses.iter().map(|h| h.metrics().bad_records.get()).sum::<u64>();
            over.restart(if *partitioned { 1 + (round / 7) % 3 } else { 1 });
        }
        let count = 1 + dice.below(12);
        let rows: Vec<Row> = (0..count).map(|_| row(&mut dice, now)).collect();
        rows.iter().for_each(|row| model.push(key_of(row), row));
        assert_eq!(over.push(0, batch(&schema(), &inserts(&rows))), [], "a row comes out before the watermark passes it");
        now += 5 * dice.below(6) as i64;
        if dice.below(12) == 0 {
            now += 200;
        }
        if dice.below(3) == 0 {
            continue;
        }
        let at = if round == 59 { MAX_WATERMARK } else { now - 5 * dice.below(8) as i64 };
        let wanted = model.watermark(at);
        let mut found: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
        let mut times = Vec::new();
        for (kind, row) in over.watermark(at) {
            assert_eq!(kind, RowKind::Insert);
            times.push(number(&row[AT]));
            found.entry(key_of(&row)).or_default().push(row);
        }
        assert_eq!(found, wanted, "after round {round}, watermark {at}, seed {seed}, {calls:?}, order {order:?}");
        assert!(over.harnesses.len() > 1 || times.is_sorted(), "rows come in the order of time");
    }
    late += over.harnesses.iter().map(|h| h.metrics().late_rows.get()).sum::<u64>();
    without_time += over.harnesses.iter().map(|h| h.metrics().bad_records.get()).sum::<u64>();
    assert_eq!((late, without_time), (model.late as u64, model.without_time as u64), "seed {seed}, {calls:?}");
    over.watermark(MAX_WATERMARK);
    if model.reach_ms.is_some() {
        assert_eq!(over.state_rows(), 0, "all partitions are forgotten");
    } else {
        let looked_back = calls.iter().filter_map(OverCall::rows_looked_back).max().unwrap_or(0) as i64;
        let by_time = calls.iter().any(|c| matches!(c, OverCall::Aggregate { frame: Frame::Range { preceding_ms: Some(_) }, .. }));
        assert!(by_time || over.state_rows() <= 5 * (looked_back + 2), "{} rows kept", over.state_rows());
    }
}

fn row(dice: &mut Dice, now: i64) -> Row {
    let at = match dice.below(20) {
        0 => Value::Null,
        // Now and then a row that is far ahead of the others.
        1 => Value::Int(now + 150),
        _ => Value::Int(now - 5 * dice.below(9) as i64 + 10),
    };
    vec![dice.int(3), at, dice.int(4), dice.text(3), dice.int(100)]
}

fn run_all(calls: &[OverCall], order: &[SortKey]) {
    for (seed, partitioned, collector_rows) in [(1, true, 1000), (2, false, 1000), (3, true, 5), (4, false, 1), (5, true, 20)] {
        run(&Case { calls: calls.to_vec(), order: order.to_vec(), partitioned, collector_rows }, seed);
    }
}

#[test]
fn unbounded_frames_agree_with_the_reference() {
    run_all(&aggregates(ROWS), &[ascending(AT)]);
    run_all(&aggregates(RANGE), &[ascending(AT)]);
}

#[test]
fn frames_of_rows_agree_with_the_reference() {
    for n in [0, 1, 4] {
        run_all(&aggregates(rows_before(n)), &[ascending(AT)]);
    }
}

#[test]
fn frames_of_time_agree_with_the_reference_and_partitions_are_forgotten() {
    for ms in [0, 7, 50] {
        run_all(&aggregates(ms_before(ms)), &[ascending(AT)]);
    }
    run_all(&[aggregate("COUNT", None, ms_before(10)), aggregate("SUM", Some(V), ms_before(40))], &[ascending(AT)]);
}

#[test]
fn numbers_and_neighbours_agree_with_the_reference() {
    run_all(&[OverCall::RowNumber, OverCall::Rank, OverCall::DenseRank], &[ascending(AT)]);
    run_all(&[lag(V, 1, None), lag(T, 2, None), lag(V, 3, Some(D)), lag(V, 0, None)], &[ascending(AT)]);
}

#[test]
fn several_frames_at_once_agree_with_the_reference() {
    let mut calls = vec![OverCall::Rank, lag(V, 2, Some(D)), OverCall::RowNumber, OverCall::DenseRank];
    for frame in [ROWS, RANGE, rows_before(2), ms_before(15)] {
        calls.extend([aggregate("SUM", Some(V), frame), aggregate("MIN", Some(T), frame)]);
    }
    run_all(&calls, &[ascending(AT)]);
    let bounded = [aggregate("COUNT", None, rows_before(3)), aggregate("COUNT", None, ms_before(20))];
    run_all(&bounded, &[ascending(AT)]);
}

#[test]
fn rows_are_sorted_by_time_and_more() {
    run_all(&[], &[ascending(AT)]);
    run_all(&[], &[ascending(AT), descending(V), ascending(T)]);
}

#[test]
fn rows_of_one_time_keep_their_order_over_a_restart() {
    let calls = [aggregate("FIRST_VALUE", Some(V), rows_before(2)), lag(V, 1, None), lag(V, 2, None), OverCall::RowNumber];
    run_all(&calls, &[ascending(AT), descending(V)]);
}
