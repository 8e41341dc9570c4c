//! Interval joins against a slow reference: all rows that ever came, with the watermark that they met.

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use super::*;
use crate::spec::{Interval, JoinSide};
use crate::testing::{Change, Dice, Instances, Row, Table, Value, batch, fold};

const KINDS: [JoinKind; 6] = [JoinKind::Inner, JoinKind::Left, JoinKind::Right, JoinKind::Full, JoinKind::Semi, JoinKind::Anti];
/// Around a row's time, of no length, after it, before it, and one that nothing is in.
const INTERVALS: [(i64, i64); 6] = [(-5, 5), (0, 0), (2, 10), (-10, -2), (0, 20), (3, -3)];

/// A key, a number, a text and the row time.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("ts", TypeKind::Timestamp(3)),
    ])
}

fn spec(kind: JoinKind, (lower_ms, upper_ms): (i64, i64), conditional: bool) -> IntervalJoinSpec {
    let side = || JoinSide { schema: schema(), keys: vec![0], retracts: false, unique_key: None, state_ttl_ms: None };
    let column = |index| Expr::column(index, TypeKind::BigInt.nullable());
    let mut output = schema().fields;
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        output.extend(schema().fields);
    }
    IntervalJoinSpec {
        kind,
        left: side(),
        right: side(),
        interval: Interval { left_time: 3, right_time: 3, lower_ms, upper_ms },
        condition: conditional.then(|| build::call("<", vec![column(1), column(5)]).unwrap()),
        output: Schema::new(output),
        config: EvalConfig::default(),
    }
}

fn time_of(row: &Row) -> Option<i64> {
    match row[3] {
        Value::Int(time) => Some(time),
        _ => None,
    }
}

/// A row that came, and how it fared.
struct Came {
    row: Row,
    matched: bool,
    /// Whether it is waited with: a partner may come.
    open: bool,
}

/// Every row that ever came, each looked at again and again.
struct Reference {
    kind: JoinKind,
    interval: (i64, i64),
    conditional: bool,
    watermark: i64,
    sides: [Vec<Came>; 2],
    wanted: Table,
}

impl Reference {
    /// The latest time that a partner of a row may have; `None` where it can have none.
    fn last_partner(&self, side: usize, row: &Row) -> Option<i64> {
        let time = time_of(row).filter(|_| row[0] != Value::Null)?;
        Some(if side == 0 { time + self.interval.1 } else { time - self.interval.0 })
    }

    fn is_open(&self, side: usize, row: &Row) -> bool {
        self.last_partner(side, row).is_some_and(|last| last > self.watermark)
    }

    fn match_up(&self, left: &Row, right: &Row) -> bool {
        let (Some(l), Some(r)) = (time_of(left), time_of(right)) else { return false };
        let near = l + self.interval.0 <= r && r <= l + self.interval.1;
        let holds = !self.conditional || (left[1] != Value::Null && right[1] != Value::Null && left[1] < right[1]);
        left[0] == right[0] && left[0] != Value::Null && near && holds
    }

    fn put(&mut self, left: Option<&Row>, right: Option<&Row>) {
        let nulls = || vec![Value::Null; 4];
        let mut row = left.cloned().unwrap_or_else(nulls);
        if !matches!(self.kind, JoinKind::Semi | JoinKind::Anti) {
            row.extend(right.cloned().unwrap_or_else(nulls));
        }
        *self.wanted.entry(row).or_default() += 1;
    }

    /// A row that nobody waits with any more.
    fn close(&mut self, side: usize, row: &Row, matched: bool) {
        match (side, self.kind) {
            (0, JoinKind::Left | JoinKind::Full | JoinKind::Anti) if !matched => self.put(Some(row), None),
            (1, JoinKind::Right | JoinKind::Full) if !matched => self.put(None, Some(row)),
            _ => {}
        }
    }

    fn come(&mut self, side: usize, row: Row) {
        let mut matched = false;
        for i in 0..self.sides[1 - side].len() {
            let other = &self.sides[1 - side][i];
            let (left, right) = if side == 0 { (&row, &other.row) } else { (&other.row, &row) };
            if !other.open || !self.match_up(left, right) {
                continue;
            }
            let (left, right) = (left.clone(), right.clone());
            let left_had = if side == 0 { matched } else { other.matched };
            match self.kind {
                JoinKind::Semi if left_had => {}
                JoinKind::Anti => {}
                _ => self.put(Some(&left), Some(&right)),
            }
            matched = true;
            self.sides[1 - side][i].matched = true;
        }
        let open = self.is_open(side, &row);
        if !open {
            self.close(side, &row, matched);
        }
        self.sides[side].push(Came { row, matched, open });
    }

    fn move_to(&mut self, watermark: i64) {
        self.watermark = watermark;
        for side in 0..2 {
            for i in 0..self.sides[side].len() {
                let came = &self.sides[side][i];
                let (row, matched) = (came.row.clone(), came.matched);
                if came.open && !self.is_open(side, &row) {
                    self.sides[side][i].open = false;
                    self.close(side, &row, matched);
                }
            }
        }
    }

    fn open_rows(&self) -> i64 {
        self.sides.iter().flatten().filter(|came| came.open).count() as i64
    }
}

fn run(kind: JoinKind, interval: (i64, i64), conditional: bool, late: bool, seed: u64, collector_rows: usize) {
    let told = format!("{kind:?}, interval {interval:?}, conditional {conditional}, late {late}, seed {seed}");
    let make = move || Box::new(IntervalJoin::new(spec(kind, interval, conditional)).unwrap()) as Box<dyn Operator>;
    let of_output = make();
    let mut join = Instances::new(make, &[&[0], &[0]], collector_rows);
    let mut dice = Dice::new(seed);
    let mut reference = Reference { kind, interval, conditional, watermark: 0, sides: [vec![], vec![]], wanted: Table::new() };
    let mut result = Table::new();
    join.watermark(0);
    let (mut most_state, mut out_watermark) = (0, of_output.output_watermark(0));
    for round in 0..60 {
        if round % 10 == 9 {
            join.restart(1 + (round / 10) % 3);
        }
        let port = dice.below(2) as usize;
        let count = 1 + dice.below(12);
        let rows: Vec<Change> = (0..count)
            .map(|_| {
                let ahead = dice.below(16) as i64 - if late { 5 } else { -1 };
                let time = if dice.below(16) == 0 { Value::Null } else { Value::Int(reference.watermark + ahead) };
                (RowKind::Insert, vec![dice.int(4), dice.int(5), dice.text(2), time])
            })
            .collect();
        let mut out = join.push(port, batch(&schema(), &rows));
        rows.into_iter().for_each(|(_, row)| reference.come(port, row));
        most_state = most_state.max(join.state_rows());
        if dice.below(3) > 0 {
            let watermark = reference.watermark + dice.below(8) as i64;
            out.extend(join.watermark(watermark));
            reference.move_to(watermark);
        }
        assert!(out.iter().all(|(kind, _)| *kind == RowKind::Insert), "{told}");
        for (_, row) in out.iter().filter(|_| !late) {
            let times = [row.get(3), row.get(7)].into_iter().flatten();
            let too_early = |v: &Value| matches!(v, Value::Int(time) if *time <= out_watermark);
            assert!(!times.into_iter().any(too_early), "{row:?} is late behind {out_watermark}: {told}");
        }
        out_watermark = of_output.output_watermark(reference.watermark);
        fold(&mut result, &out);
        assert_eq!(result, reference.wanted, "round {round}: {told}");
        assert_eq!(join.state_rows(), reference.open_rows(), "round {round}: {told}");
    }
    fold(&mut result, &join.watermark(MAX_WATERMARK));
    reference.move_to(i64::MAX - 1000);
    assert_eq!(result, reference.wanted, "at the end: {told}");
    assert_eq!(join.state_rows(), 0, "{told}");
    assert!(most_state < 200, "{most_state} rows at once: {told}");
    assert!(interval == (3, -3) || interval == (0, 0) || result.len() > 5, "{} rows: {told}", result.len());
}

#[test]
fn every_kind_of_interval_join_agrees_with_the_reference() {
    for (i, kind) in KINDS.into_iter().enumerate() {
        for (j, interval) in INTERVALS.into_iter().enumerate() {
            for conditional in [false, true] {
                run(kind, interval, conditional, false, (10 * i + j) as u64, 1000);
                run(kind, interval, conditional, true, (100 + 10 * i + j) as u64, 1000);
            }
        }
    }
}

#[test]
fn the_collectors_bound_is_kept_and_changes_nothing() {
    for (i, kind) in KINDS.into_iter().enumerate() {
        for conditional in [false, true] {
            run(kind, (-5, 5), conditional, false, i as u64, 1);
            run(kind, (-3, 8), conditional, true, 20 + i as u64, 3);
        }
    }
}

fn row(k: i64, v: i64, time: i64) -> Change {
    (RowKind::Insert, vec![Value::Int(k), Value::Int(v), Value::Null, Value::Int(time)])
}

fn join(kind: JoinKind, interval: (i64, i64), conditional: bool, collector_rows: usize) -> Instances {
    let make = move || Box::new(IntervalJoin::new(spec(kind, interval, conditional)).unwrap()) as Box<dyn Operator>;
    Instances::new(make, &[&[0], &[0]], collector_rows)
}

#[test]
fn many_rows_of_one_time_that_find_no_partner_come_in_steps() {
    let mut join = join(JoinKind::Full, (0, 10), false, 100);
    let rows: Vec<Change> = (0..90).map(|i| row(i, i, 5)).collect();
    for _ in 0..20 {
        assert_eq!(join.push(0, batch(&schema(), &rows)), []);
    }
    assert_eq!(join.watermark(14), [], "a partner may still come");
    join.restart(1);
    assert_eq!(join.watermark(15).len(), 20 * 90);
    assert_eq!(join.state_rows(), 0);
}

#[test]
fn a_partner_before_a_restart_counts_after_it() {
    for (kind, rows) in [(JoinKind::Full, 0), (JoinKind::Anti, 0), (JoinKind::Semi, 0)] {
        let mut join = join(kind, (-5, 5), false, 100);
        join.push(0, batch(&schema(), &[row(1, 1, 10)]));
        // From here on only what changed is taken.
        join.restart(2);
        join.push(1, batch(&schema(), &[row(1, 1, 10)]));
        join.restart(3);
        let again = join.push(1, batch(&schema(), &[row(1, 2, 11)]));
        assert_eq!(again.len(), usize::from(kind == JoinKind::Full), "{kind:?}");
        join.restart(1);
        assert_eq!(join.watermark(MAX_WATERMARK).len(), rows, "{kind:?}");
    }
}

#[test]
fn pairs_of_which_nothing_comes_are_looked_at_in_steps_too() {
    let mut join = join(JoinKind::Inner, (-5, 5), true, 1000);
    for (port, from) in [(0, 1000), (1, 0)] {
        let rows: Vec<Change> = (from..from + 300).map(|v| row(1, v, 10)).collect();
        assert_eq!(join.push(port, batch(&schema(), &rows)), [], "no left number is less than a right one");
    }
    assert_eq!(join.harnesses[0].resumed(), 300 * 300 / MAX_STEPS);
}
