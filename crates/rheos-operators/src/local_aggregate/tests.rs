//! Two phases against one, over random batches.

use rheos_core::changelog::RowKind;
use rheos_core::schema::{Field, Schema};
use rheos_core::testing::OperatorHarness;
use rheos_core::time::MAX_WATERMARK;
use rheos_core::types::TypeKind;

use super::*;
use crate::spec::{AggregateCall, GroupAggregateSpec, WindowAggregateSpec, WindowProperty, WindowSpec, Windowing};
use crate::testing::{Change, Dice, Table, Value, batch, changes_of, fold};

/// A key, a number, a text, a filter (a number that a program would have made), and the row time.
fn input() -> Schema {
    Schema::new(vec![
        Field::new("k", TypeKind::BigInt.nullable()),
        Field::new("v", TypeKind::BigInt.nullable()),
        Field::new("t", TypeKind::STRING.nullable()),
        Field::new("ts", TypeKind::Timestamp(3).not_null()),
    ])
}

fn calls() -> Vec<AggregateCall> {
    let call = |function: &str, column: usize, ty: TypeKind| AggregateCall {
        function: function.into(),
        args: vec![column],
        arg_types: vec![input().fields[column].ty.clone()],
        filter: None,
        distinct: false,
        ty: ty.nullable(),
    };
    vec![
        AggregateCall::count_rows(None),
        call("COUNT", 1, TypeKind::BigInt),
        call("SUM", 1, TypeKind::BigInt),
        call("AVG", 1, TypeKind::BigInt),
        call("MIN", 2, TypeKind::STRING),
        call("MAX", 1, TypeKind::BigInt),
    ]
}

fn output(keys: &[usize], properties: usize) -> Schema {
    let mut fields: Vec<Field> = keys.iter().map(|k| input().fields[*k].clone()).collect();
    fields.extend(calls().iter().enumerate().map(|(i, call)| Field::new(format!("a{i}"), call.ty.clone())));
    fields.extend((0..properties).map(|i| Field::new(format!("w{i}"), TypeKind::Timestamp(3).not_null())));
    Schema::new(fields)
}

fn rows(dice: &mut Dice, count: u64, keys: u64, from: i64) -> Vec<Change> {
    (0..count)
        .map(|_| {
            let time = Value::Int(from + dice.below(4_000) as i64);
            (RowKind::Insert, vec![dice.int(keys), dice.int(9), dice.text(3), time])
        })
        .collect()
}

fn local(keys: Vec<usize>, slices: Option<(usize, WindowSpec)>) -> OperatorHarness {
    let spec = LocalAggregateSpec::of(input(), keys, slices, &calls()).expect("all of these have states");
    OperatorHarness::open(Box::new(LocalAggregate::new(spec).unwrap())).unwrap()
}

/// What the second phase makes of what the first gives.
fn through(local: &mut OperatorHarness, merging: &mut OperatorHarness, rows: Batch) -> Vec<Batch> {
    let states = local.push(rows).unwrap();
    states.into_iter().flat_map(|states| merging.push_to(1, states).unwrap()).collect()
}

#[test]
fn groups_are_the_same_in_one_phase_and_in_two() {
    for (keys, many) in [(vec![0], 5), (vec![0], 1_000), (vec![0, 2], 5), (vec![], 5)] {
        let one = GroupAggregateSpec {
            input: input(),
            keys: keys.clone(),
            aggregates: calls(),
            input_retracts: false,
            emit_update_before: true,
            state_ttl_ms: None,
            output: output(&keys, 0),
        };
        let mut first = local(keys.clone(), None);
        let make = |spec| Box::new(crate::group_aggregate::GroupAggregate::new(spec).unwrap());
        let (mut alone, mut second) =
            (OperatorHarness::open(make(one.clone())).unwrap(), OperatorHarness::open(make(one.clone())).unwrap());
        let mut dice = Dice::new(7);
        let (mut expected, mut found) = (Table::new(), Table::new());
        for round in 0..40 {
            let rows = batch(&input(), &rows(&mut dice, if round % 3 == 0 { 200 } else { 3 }, many, 0));
            fold(&mut expected, &changes_of(&alone.push(rows.clone()).unwrap()));
            // Rows come as they are too, as after a restore from another plan.
            let out = if round % 5 == 4 { second.push(rows).unwrap() } else { through(&mut first, &mut second, rows) };
            fold(&mut found, &changes_of(&out));
            assert_eq!(found, expected, "keys {keys:?}, round {round}");
            if round == 20 {
                let taken = second.snapshot().unwrap();
                second = OperatorHarness::open_at(make(one.clone()), 0, 1, &[taken]).unwrap();
            }
        }
    }
}

#[test]
fn windows_are_the_same_in_one_phase_and_in_two() {
    let windows = [
        WindowSpec::Tumble { size_ms: 1_000, offset_ms: 300 },
        WindowSpec::Hop { size_ms: 3_000, slide_ms: 1_000, offset_ms: 0 },
        WindowSpec::Cumulate { max_ms: 4_000, step_ms: 2_000, offset_ms: 0 },
    ];
    for window in windows {
        let one = WindowAggregateSpec {
            input: input(),
            windowing: Windowing::Time { column: 3, window },
            keys: vec![0],
            aggregates: calls(),
            input_retracts: false,
            properties: vec![WindowProperty::Start, WindowProperty::End],
            output: output(&[0], 2),
        };
        let mut first = local(vec![0], Some((3, window)));
        let make = |spec: &WindowAggregateSpec| {
            let mut registry = Registry::new();
            crate::window::register(&mut registry);
            registry.make_operator("window-aggregate", &serde_json::to_value(spec).unwrap()).unwrap()
        };
        let (mut alone, mut second) = (OperatorHarness::open(make(&one)).unwrap(), OperatorHarness::open(make(&one)).unwrap());
        let mut dice = Dice::new(11);
        for round in 0..30i64 {
            // Some rows are late.
            let rows = batch(&input(), &rows(&mut dice, 100, 4, round * 1_000));
            alone.push(rows.clone()).unwrap();
            through(&mut first, &mut second, rows);
            let at = if round == 29 { MAX_WATERMARK } else { round * 1_000 + 4_500 };
            let (mut expected, mut found) = (Table::new(), Table::new());
            fold(&mut expected, &changes_of(&alone.watermark(at).unwrap()));
            fold(&mut found, &changes_of(&second.watermark(at).unwrap()));
            assert_eq!(found, expected, "{window:?}, round {round}");
        }
        assert!(alone.metrics().late_rows.get() > 0, "no row was late");
    }
}

#[test]
fn rows_that_agree_become_one_and_others_are_passed_on_without_a_look() {
    let mut first = local(vec![0], None);
    let mut dice = Dice::new(3);
    let count = |first: &mut OperatorHarness, rows: Vec<Change>| -> usize {
        first.push(batch(&input(), &rows)).unwrap().iter().map(Batch::num_rows).sum()
    };
    assert!(count(&mut first, rows(&mut dice, 500, 10, 0)) <= 11);
    assert!(count(&mut first, rows(&mut dice, 500, 1_000_000, 0)) > 300);
    // Now the same key over and over is not looked at, for a while.
    let same = |dice: &mut Dice| rows(dice, 100, 1, 0);
    let passed_on = (0..LOOK_AT_ONE_IN).take_while(|_| count(&mut first, same(&mut dice)) == 100).count();
    assert_eq!(passed_on as u32, LOOK_AT_ONE_IN - 1);
}

#[test]
fn what_has_no_small_state_is_aggregated_in_one_phase() {
    let of = |function: &str, distinct: bool, kind: TypeKind| {
        let call = AggregateCall {
            function: function.into(),
            args: vec![1],
            arg_types: vec![kind.clone().nullable()],
            filter: None,
            distinct,
            ty: kind.nullable(),
        };
        LocalAggregateSpec::of(input(), vec![0], None, &[call])
    };
    for (function, distinct, kind) in
        [("COUNT", true, TypeKind::BigInt), ("FIRST_VALUE", false, TypeKind::BigInt), ("LISTAGG", false, TypeKind::STRING)]
    {
        assert_eq!(of(function, distinct, kind), None, "{function}");
    }
    assert!(of("MIN", true, TypeKind::BigInt).unwrap().is_exact());
    assert!(!of("SUM", false, TypeKind::Double).unwrap().is_exact(), "sums of DOUBLE differ in their last digits");
    let sessions = Some((3, WindowSpec::Session { gap_ms: 10 }));
    assert!(LocalAggregateSpec::of(input(), vec![0], sessions, &calls()).is_none());
}
