//! Time to live of state: operators that forget against ones that do not, one for each key and each of its lives.

use std::collections::BTreeMap;
use std::sync::Arc;

use rheos_core::changelog::RowKind;
use rheos_core::env::{ManualClock, SplitMix64};
use rheos_core::operator::Operator;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::OperatorHarness;
use rheos_core::types::TypeKind;
use rheos_expr::EvalConfig;
use serde::Serialize;
use serde_json::Value as Json;

use super::*;
use crate::spec::{
    AggregateCall, ChangelogNormalizeSpec, DeduplicateSpec, GroupAggregateSpec, JoinKind, JoinSide, JoinSpec, OverCall, OverSpec, RankSpec,
    SortKey, UpsertMaterializeSpec,
};
use crate::testing::{Change, Changelog, Dice, Instances, Row, Table, Value, batch, changes_of, fold};

/// Ages are multiples of [`QUANTUM_MS`]: 1600 is younger than this, and 1800 is older by more than a step.
const TTL_MS: i64 = 1650;
const QUANTUM_MS: i64 = 200;

#[test]
fn a_slot_lives_from_its_last_touch() {
    let clock = Arc::new(ManualClock::default());
    let mut idle = IdleState::new(Some(1600));
    idle.set_env(Env { clock: clock.clone(), random: Arc::new(SplitMix64::new(1)) });
    idle.touch([1, 2]);
    clock.set_ms(1000);
    idle.touch([2, 3]);
    assert_eq!(idle.next_ms(), Some(1700));
    assert!(idle.take(1699, |_| true).is_empty());
    assert_eq!(idle.take(1700, |_| true), [1]);
    assert_eq!(idle.take(2700, |_| true), [2, 3]);
    assert_eq!(idle.next_ms(), None);
    idle.touch([4, 5]);
    assert_eq!(idle.take(9000, |slot| slot != 4), [5], "slot 4 was freed");
    for ttl_ms in [None, Some(0)] {
        let mut endless = IdleState::new(ttl_ms);
        endless.touch([1]);
        assert!(endless.is_endless() && endless.next_ms().is_none());
        assert!(endless.take(i64::MAX, |_| true).is_empty());
    }
}

#[test]
fn a_slot_that_was_freed_and_given_again_lives_its_own_time() {
    let clock = Arc::new(ManualClock::default());
    let mut idle = IdleState::new(Some(1600));
    idle.set_env(Env { clock: clock.clone(), random: Arc::new(SplitMix64::new(1)) });
    idle.touch([7]);
    clock.set_ms(1500);
    // Nobody said that the slot was free in between.
    idle.touch([7]);
    assert!(idle.take(3000, |_| true).is_empty());
    assert_eq!(idle.take(3200, |_| true), [7]);
}

/// A key, a number, a text and a time.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("v", TypeKind::BigInt),
        field("t", TypeKind::STRING),
        field("ts", TypeKind::Timestamp(3)),
    ])
}

fn with(columns: &[(&str, TypeKind)]) -> Schema {
    let mut fields = schema().fields;
    fields.extend(columns.iter().map(|(name, kind)| Field::new(*name, kind.clone().nullable())));
    Schema::new(fields)
}

/// Few values: equal rows are stored many times.
fn row(dice: &mut Dice) -> Row {
    vec![Value::Null, dice.int(3), dice.text(1), Value::Int(dice.below(4) as i64)]
}

/// The operators that keep something for a key: their kind, whether their input takes rows back, and their specification.
fn operators(ttl_ms: Option<i64>) -> Vec<(&'static str, bool, Json)> {
    let json = |spec: &dyn erased::Spec| spec.json();
    let order = vec![SortKey { column: 1, descending: false, nulls_first: true }];
    let sum = AggregateCall {
        function: "SUM".into(),
        args: vec![1],
        arg_types: vec![TypeKind::BigInt.nullable()],
        filter: None,
        distinct: false,
        ty: TypeKind::BigInt.nullable(),
    };
    let mut all = Vec::new();
    for input_retracts in [false, true] {
        let output = Schema::new([&schema().fields[..1], &with(&[("s", TypeKind::BigInt)]).fields[4..]].concat());
        let spec = GroupAggregateSpec {
            input: schema(),
            keys: vec![0],
            aggregates: vec![sum.clone()],
            input_retracts,
            emit_update_before: true,
            state_ttl_ms: ttl_ms,
            output,
        };
        all.push(("group-aggregate", input_retracts, json(&spec)));
        let spec = RankSpec {
            input: schema(),
            partition: vec![0],
            order: order.clone(),
            start: 1,
            end: 3,
            rank_column: true,
            input_retracts,
            state_ttl_ms: ttl_ms,
            output: with(&[("rank", TypeKind::BigInt)]),
        };
        all.push(("rank", input_retracts, json(&spec)));
        let spec = OverSpec {
            input: schema(),
            partition: vec![0],
            order: order.clone(),
            time: None,
            calls: vec![OverCall::RowNumber],
            input_retracts,
            state_ttl_ms: ttl_ms,
            output: with(&[("n", TypeKind::BigInt)]),
        };
        all.push(("over-aggregate", input_retracts, json(&spec)));
    }
    let (input, keys) = (schema(), vec![0]);
    let spec = DeduplicateSpec { input: input.clone(), keys: keys.clone(), time: 3, keep_last: true, state_ttl_ms: ttl_ms };
    all.push(("deduplicate", false, json(&spec)));
    let spec = ChangelogNormalizeSpec { input: input.clone(), keys: keys.clone(), emit_update_before: true, state_ttl_ms: ttl_ms };
    all.push(("changelog-normalize", true, json(&spec)));
    let spec = UpsertMaterializeSpec { input, keys, emit_update_before: true, state_ttl_ms: ttl_ms };
    all.push(("upsert-materialize", true, json(&spec)));
    all
}

mod erased {
    /// A specification of whatever type.
    pub(super) trait Spec {
        fn json(&self) -> serde_json::Value;
    }

    impl<T: super::Serialize> Spec for T {
        fn json(&self) -> serde_json::Value {
            serde_json::to_value(self).unwrap()
        }
    }
}

fn operator(kind: &str, spec: &Json) -> Box<dyn Operator> {
    let mut registry = Registry::new();
    crate::register(&mut registry);
    registry.make_operator(kind, spec).unwrap()
}

/// A key from when it was new until it is forgotten: an operator of its own, which forgets nothing.
struct Life {
    input: Changelog,
    alone: OperatorHarness,
    touched_ms: i64,
}

fn set_clock(instances: &mut Instances, now_ms: i64) {
    for harness in &mut instances.harnesses {
        assert!(harness.set_clock_ms(now_ms).unwrap().is_empty(), "state is forgotten in silence");
    }
}

fn sorted(mut changes: Vec<Change>) -> Vec<(u8, Row)> {
    let mut sorted: Vec<(u8, Row)> = changes.drain(..).map(|(kind, row)| (kind as u8, row)).collect();
    sorted.sort();
    sorted
}

fn run(kind: &'static str, retracts: bool, spec: &Json, endless: &Json, seed: u64) {
    let told = format!("{kind}, retracts {retracts}, seed {seed}");
    let spec = spec.clone();
    let mut forgetful = Instances::new(move || operator(kind, &spec), &[&[0]], 50);
    let mut dice = Dice::new(seed);
    let mut lives: BTreeMap<i64, Life> = BTreeMap::new();
    let (mut now_ms, mut forgotten, mut revived) = (0, 0, 0);
    for round in 0..80 {
        if round % 15 == 14 {
            // Its time begins anew.
            forgetful.restart(1 + (round / 15) % 3);
            now_ms = 0;
            lives.values_mut().for_each(|life| life.touched_ms = 0);
        }
        now_ms += QUANTUM_MS * dice.below(5) as i64;
        set_clock(&mut forgetful, now_ms);
        let before = lives.len();
        lives.retain(|_, life| now_ms - life.touched_ms < TTL_MS);
        forgotten += before - lives.len();
        let kept: i64 = lives.values().map(|life| life.alone.metrics().state_rows.get()).sum();
        assert_eq!(forgetful.state_rows(), kept, "round {round}: {told}");
        let (mut changes, mut wanted) = (Vec::new(), Vec::new());
        for key in 0..6 {
            if dice.below(4) > 0 {
                continue;
            }
            revived += usize::from(forgotten > 0 && !lives.contains_key(&key));
            let life = lives.entry(key).or_insert_with(|| Life {
                input: Changelog::new(row, retracts),
                alone: OperatorHarness::open(operator(kind, endless)).unwrap(),
                touched_ms: now_ms,
            });
            life.touched_ms = now_ms;
            let count = 1 + dice.below(6);
            let mut of_key = life.input.next(&mut dice, count);
            of_key.iter_mut().for_each(|(_, row)| row[0] = Value::Int(key));
            wanted.extend(changes_of(&life.alone.push(batch(&schema(), &of_key)).unwrap()));
            changes.extend(of_key);
        }
        if !changes.is_empty() {
            assert_eq!(sorted(forgetful.push(0, batch(&schema(), &changes))), sorted(wanted), "round {round}: {told}");
        }
    }
    assert!(forgotten > 3 && revived > 3, "{forgotten} keys were forgotten, {revived} came again: {told}");
    set_clock(&mut forgetful, now_ms + 2 * TTL_MS);
    assert_eq!(forgetful.state_rows(), 0, "{told}");
    assert!(forgetful.harnesses.iter().all(|h| h.next_timer_ms().is_none()), "{told}");
    forgetful.restart(2);
    assert_eq!(forgetful.state_rows(), 0, "what was forgotten is not in the snapshot: {told}");
}

#[test]
fn a_key_is_kept_for_its_time_and_then_as_if_it_had_never_been() {
    let all = operators(Some(TTL_MS)).into_iter().zip(operators(None));
    for ((kind, retracts, spec), (_, _, endless)) in all {
        for seed in 0..4 {
            run(kind, retracts, &spec, &endless, seed);
        }
    }
}

#[test]
fn a_first_row_that_waits_for_its_time_is_not_forgotten() {
    let spec = DeduplicateSpec { input: schema(), keys: vec![0], time: 3, keep_last: false, state_ttl_ms: Some(TTL_MS) };
    let spec = serde_json::to_value(spec).unwrap();
    let mut first = Instances::new(move || operator("deduplicate", &spec), &[&[0]], 50);
    let row = |v, time| (RowKind::Insert, vec![Value::Int(1), Value::Int(v), Value::Null, Value::Int(time)]);
    first.push(0, batch(&schema(), &[row(1, 10)]));
    set_clock(&mut first, 10 * TTL_MS);
    first.restart(2);
    set_clock(&mut first, 10 * TTL_MS);
    assert_eq!(first.watermark(10), [row(1, 10)]);
    first.push(0, batch(&schema(), &[row(2, 20)]));
    assert_eq!(first.watermark(20), [], "the key has had its row");
    assert_eq!(first.state_rows(), 1);
    set_clock(&mut first, 11 * TTL_MS - 200);
    first.restart(1);
    assert_eq!(first.state_rows(), 1);
    set_clock(&mut first, 2 * TTL_MS);
    assert_eq!(first.state_rows(), 0);
    first.restart(3);
    first.push(0, batch(&schema(), &[row(3, 30)]));
    assert_eq!(first.watermark(30), [row(3, 30)], "it was forgotten, and so is new");
}

fn join(kind: JoinKind, ttls: [Option<i64>; 2]) -> Instances {
    let side = |i: usize| JoinSide { schema: schema(), keys: vec![0], retracts: true, unique_key: None, state_ttl_ms: ttls[i] };
    let mut output = schema().fields;
    if !matches!(kind, JoinKind::Semi | JoinKind::Anti) {
        output.extend(schema().fields);
    }
    let (left, right, output) = (side(0), side(1), Schema::new(output));
    let spec = JoinSpec { kind, left, right, condition: None, output, config: EvalConfig::default() };
    let spec = serde_json::to_value(spec).unwrap();
    Instances::new(move || operator("join", &spec), &[&[0], &[0]], 20)
}

#[test]
fn a_join_forgets_rows_and_takes_back_only_what_it_put_out() {
    use JoinKind::*;
    for (i, kind) in [Inner, Left, Right, Full, Semi, Anti].into_iter().enumerate() {
        for (j, ttls) in [[Some(TTL_MS), Some(TTL_MS)], [Some(TTL_MS), None], [None, Some(TTL_MS)]].into_iter().enumerate() {
            let told = format!("{kind:?}, {ttls:?}");
            let mut dice = Dice::new((10 * i + j) as u64);
            let mut join = join(kind, ttls);
            let mut sides = [Changelog::new(row, true), Changelog::new(row, true)];
            let (mut result, mut now_ms) = (Table::new(), 0);
            for round in 0..100 {
                if round % 20 == 19 {
                    join.restart(1 + (round / 20) % 3);
                    now_ms = 0;
                }
                now_ms += QUANTUM_MS * dice.below(8) as i64;
                set_clock(&mut join, now_ms);
                let (port, count) = (dice.below(2) as usize, 1 + dice.below(8));
                let mut changes = sides[port].next(&mut dice, count);
                // The key follows from the row, so that a row that is taken back has the one that it came with.
                changes.iter_mut().for_each(|(_, row)| row[0] = row[3].clone());
                // Nothing may be taken back that is not there.
                fold(&mut result, &join.push(port, batch(&schema(), &changes)));
            }
            set_clock(&mut join, now_ms + 2 * TTL_MS);
            let kept = |side: usize| if ttls[side].is_some() { 0 } else { sides[side].live.len() as i64 };
            assert_eq!(join.state_rows(), kept(0) + kept(1), "{told}");
        }
    }
}

#[test]
fn a_row_whose_match_is_forgotten_is_not_taken_for_one_without() {
    let row = |kind, v| (kind, vec![Value::Int(1), Value::Int(v), Value::Null, Value::Null]);
    let (mut left, mut semi) = (join(JoinKind::Left, [None, Some(TTL_MS)]), join(JoinKind::Semi, [None, Some(TTL_MS)]));
    let symbols = |changes: Vec<Change>| changes.iter().map(|(kind, _)| kind.symbol()).collect::<Vec<_>>();
    for join in [&mut left, &mut semi] {
        join.push(0, batch(&schema(), &[row(RowKind::Insert, 1)]));
        join.push(1, batch(&schema(), &[row(RowKind::Insert, 2)]));
        set_clock(join, 2 * TTL_MS);
        join.restart(2);
        assert_eq!(join.state_rows(), 1);
    }
    let again = batch(&schema(), &[row(RowKind::Insert, 3)]);
    assert_eq!(symbols(left.push(1, again.clone())), ["+I"], "the padded row was taken back long ago");
    assert_eq!(symbols(semi.push(1, again)), [""; 0], "the row is there");
    let gone = batch(&schema(), &[row(RowKind::Delete, 1)]);
    assert_eq!(symbols(left.push(0, gone.clone())), ["-D"], "the pair with the row that is known");
    assert_eq!(symbols(semi.push(0, gone)), ["-D"]);
}

#[test]
fn of_many_equal_rows_each_is_forgotten_once() {
    let mut join = join(JoinKind::Inner, [Some(TTL_MS), Some(TTL_MS)]);
    let row = (RowKind::Insert, vec![Value::Int(1), Value::Int(1), Value::Null, Value::Null]);
    for second in 0..4 {
        set_clock(&mut join, second * 1000);
        for _ in 0..100 {
            join.push(0, batch(&schema(), &vec![row.clone(); 10]));
        }
    }
    assert_eq!(join.state_rows(), 2000, "those of the last two seconds");
    let taken = vec![(RowKind::Delete, row.1.clone()); 1500];
    for part in taken.chunks(50) {
        join.push(0, batch(&schema(), part));
    }
    assert_eq!(join.state_rows(), 500);
    join.push(1, batch(&schema(), std::slice::from_ref(&row)));
    set_clock(&mut join, 3600);
    assert_eq!(join.state_rows(), 501);
    set_clock(&mut join, 4000);
    assert_eq!(join.state_rows(), 1, "the rows that came last were taken back first: those of the second before have had their time");
    set_clock(&mut join, 9000);
    assert_eq!(join.state_rows(), 0);
}
