//! Patterns against a slow reference: it tries every way to give the rows from each beginning to the elements of the pattern, from
//! scratch at each watermark, and then lets matches out by the rules for matches that overlap.

mod model;

use std::collections::BTreeMap;

use rheos_core::changelog::RowKind;
use rheos_core::operator::Operator;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::time::{MAX_WATERMARK, TimestampMs};
use rheos_core::types::TypeKind;
use rheos_expr::{EvalConfig, Expr, build};

use self::model::{Model, Value3};
use crate::spec::{AfterMatch, AggregateCall, MatchExprs, MatchReference, MatchSpec, PatternElement, SortKey};
use crate::testing::{Change, Dice, Instances, Row, Value, batch};

/// A partition, a time, a number, and a number of the row.
fn schema() -> Schema {
    let field = |name: &str, kind: TypeKind| Field::new(name, kind.nullable());
    Schema::new(vec![
        field("k", TypeKind::BigInt),
        field("at", TypeKind::Timestamp(3)),
        field("v", TypeKind::BigInt),
        field("id", TypeKind::BigInt),
    ])
}

const AT: usize = 1;
const V: usize = 2;
const ID: usize = 3;

/// `left operator right`, where right is a reference or a number.
#[derive(Debug, Clone)]
struct Condition {
    left: MatchReference,
    operator: &'static str,
    right: Result<MatchReference, i64>,
}

#[derive(Debug, Clone)]
struct Case {
    elements: Vec<PatternElement>,
    defines: Vec<Option<Condition>>,
    measures: Vec<MatchReference>,
    after: AfterMatch,
    within_ms: Option<i64>,
    order: Vec<SortKey>,
}

fn element(variable: usize, min: u32, max: Option<u32>, greedy: bool) -> PatternElement {
    PatternElement { variable, min, max, greedy }
}

fn aggregate(function: &str, variable: Option<usize>) -> MatchReference {
    let args = if function == "COUNT" { vec![] } else { vec![V] };
    let ty = if function == "COUNT" { TypeKind::BigInt.not_null() } else { TypeKind::BigInt.nullable() };
    let arg_types = args.iter().map(|_| TypeKind::BigInt.nullable()).collect();
    MatchReference::Aggregate {
        variable,
        call: AggregateCall { function: function.into(), args, arg_types, filter: None, distinct: false, ty },
    }
}

fn first(variable: Option<usize>, column: usize, offset: u64) -> MatchReference {
    MatchReference::First { variable, column, offset }
}

fn last(variable: Option<usize>, column: usize, offset: u64) -> MatchReference {
    MatchReference::Last { variable, column, offset }
}

fn current() -> MatchReference {
    MatchReference::Current { column: V }
}

fn compiled(condition: &Condition) -> MatchExprs {
    let column = |index| Expr::column(index, TypeKind::BigInt.nullable());
    let mut references = vec![condition.left.clone()];
    let right = match &condition.right {
        Ok(reference) => {
            references.push(reference.clone());
            column(1)
        }
        Err(number) => build::cast(build::literal_int(*number), TypeKind::BigInt.not_null(), false).unwrap(),
    };
    MatchExprs { references, exprs: vec![build::call(condition.operator, vec![column(0), right]).unwrap()] }
}

fn spec(case: &Case) -> MatchSpec {
    let mut output = vec![schema().fields[0].clone()];
    let measure = |i| Field::new(format!("m{i}"), TypeKind::BigInt.nullable());
    output.extend((0..case.measures.len()).map(measure));
    let exprs = (0..case.measures.len()).map(|i| Expr::column(i, TypeKind::BigInt.nullable())).collect();
    MatchSpec {
        input: schema(),
        partition: vec![0],
        time: AT,
        order: case.order.clone(),
        pattern: case.elements.clone(),
        defines: case.defines.iter().map(|d| d.as_ref().map(compiled)).collect(),
        measures: MatchExprs { references: case.measures.clone(), exprs },
        after: case.after,
        within_ms: case.within_ms,
        output: Schema::new(output),
        config: EvalConfig::default(),
    }
}

fn operator(spec: &MatchSpec) -> Box<dyn Operator> {
    let mut registry = Registry::new();
    super::register(&mut registry);
    registry.make_operator("match", &serde_json::to_value(spec).unwrap()).unwrap()
}

fn number(value: &Value) -> Value3 {
    match value {
        Value::Int(i) => Some(*i),
        Value::Null => None,
        Value::Text(t) => panic!("text {t} where a number is expected"),
    }
}

/// A random pattern of up to four elements over three variables.
fn random_case(dice: &mut Dice) -> Case {
    let variables = 3;
    let bounds = [(1, Some(1)), (1, Some(1)), (0, None), (1, None), (0, Some(1)), (2, Some(2)), (1, Some(3)), (0, Some(2)), (2, None)];
    let elements: Vec<PatternElement> = loop {
        let random = |dice: &mut Dice| {
            let (min, max) = bounds[dice.below(bounds.len() as u64) as usize];
            element(dice.below(variables) as usize, min, max, (min, max) == (1, Some(1)) || dice.below(2) == 0)
        };
        let count = 1 + dice.below(4);
        let elements: Vec<PatternElement> = (0..count).map(|_| random(dice)).collect();
        if elements.iter().any(|e| e.min > 0) {
            break elements;
        }
    };
    let some_variable = |dice: &mut Dice| (dice.below(3) > 0).then(|| dice.below(variables) as usize);
    let reference = |dice: &mut Dice, column: usize| match dice.below(8) {
        0 | 1 => last(some_variable(dice), column, dice.below(3)),
        2 | 3 => first(some_variable(dice), column, dice.below(2)),
        4 => MatchReference::Previous { column, offset: dice.below(3) },
        5 => aggregate("COUNT", some_variable(dice)),
        6 => aggregate("SUM", some_variable(dice)),
        _ => aggregate("MAX", some_variable(dice)),
    };
    let operators = ["<", "<=", "=", "<>", ">="];
    let condition = |dice: &mut Dice| {
        let operator = operators[dice.below(operators.len() as u64) as usize];
        match dice.below(7) {
            0 | 6 => None,
            1..3 => Some(Condition { left: current(), operator, right: Err(dice.below(4) as i64) }),
            3 | 4 => Some(Condition { left: current(), operator, right: Ok(reference(dice, V)) }),
            _ => Some(Condition { left: reference(dice, V), operator, right: Err(dice.below(6) as i64) }),
        }
    };
    let defines = (0..variables).map(|_| condition(dice)).collect();
    let mut measures = vec![first(None, ID, 0), last(None, ID, 0), aggregate("COUNT", None)];
    measures.extend((0..variables as usize).map(|v| aggregate("COUNT", Some(v))));
    measures.extend((0..3).map(|_| reference(dice, ID)));
    let of_pattern = elements[dice.below(elements.len() as u64) as usize].variable;
    let after = match dice.below(4) {
        0 => AfterMatch::PastLastRow,
        1 => AfterMatch::ToNextRow,
        2 => AfterMatch::ToFirst(of_pattern),
        _ => AfterMatch::ToLast(of_pattern),
    };
    let within_ms = (dice.below(3) == 0).then(|| 1 + 10 * dice.below(5) as i64);
    let order = match dice.below(3) {
        0 => vec![SortKey { column: V, descending: true, nulls_first: false }],
        _ => vec![],
    };
    Case { elements, defines, measures, after, within_ms, order }
}

fn inserts(rows: &[Row]) -> Vec<Change> {
    rows.iter().map(|row| (RowKind::Insert, row.clone())).collect()
}

/// Returns how many matches there were.
fn run(case: &Case, seed: u64, collector_rows: usize) -> usize {
    let spec = spec(case);
    let mut operator_under_test = Instances::new(move || operator(&spec), &[&[0]], collector_rows);
    let mut dice = Dice::new(seed);
    let mut model = Model::new(case.clone());
    let (mut now, mut id) = (1000, 0);
    let mut found: BTreeMap<Value, Vec<Row>> = BTreeMap::new();
    for round in 0..24 {
        if round % 5 == 4 {
            operator_under_test.restart(1 + (round / 5) % 3);
        }
        let count = 1 + dice.below(6);
        let rows: Vec<Row> = (0..count)
            .map(|_| {
                id += 1;
                let at = if dice.below(25) == 0 { Value::Null } else { Value::Int(now + 5 - 5 * dice.below(4) as i64) };
                vec![dice.int(2), at, dice.int(4), Value::Int(id)]
            })
            .collect();
        rows.iter().for_each(|row| model.push(row));
        assert_eq!(operator_under_test.push(0, batch(&schema(), &inserts(&rows))), []);
        now += 5 * dice.below(4) as i64;
        if dice.below(3) == 0 && round < 23 {
            continue;
        }
        let at: TimestampMs = if round == 23 { MAX_WATERMARK } else { now - 5 * dice.below(4) as i64 };
        for (kind, row) in operator_under_test.watermark(at) {
            assert_eq!(kind, RowKind::Insert);
            found.entry(row[0].clone()).or_default().push(row);
        }
        let wanted = model.watermark(at);
        assert_eq!(found, wanted, "after round {round}, watermark {at}, seed {seed}, {case:#?}");
    }
    let previous = |r: &MatchReference| if let MatchReference::Previous { offset, .. } = r { *offset as i64 } else { 0 };
    let of_conditions = case.defines.iter().flatten().flat_map(|d| [Some(&d.left), d.right.as_ref().ok()]).flatten();
    let kept_back = of_conditions.chain(&case.measures).map(previous).max().unwrap_or(0);
    let kept = operator_under_test.state_rows();
    assert!(kept <= 3 * kept_back, "{kept} rows are kept, seed {seed}, {case:#?}");
    found.values().map(Vec::len).sum()
}

#[test]
fn random_patterns_agree_with_the_reference() {
    let mut matches = 0;
    let mut without = 0;
    for seed in 0..200 {
        let case = random_case(&mut Dice::new(seed));
        let found = run(&case, seed, [1000, 1, 4][seed as usize % 3]);
        matches += found;
        without += usize::from(found == 0);
    }
    assert!(matches > 2000 && without < 100, "{matches} matches, {without} patterns without any");
}

fn greater(number: i64) -> Option<Condition> {
    Some(Condition { left: current(), operator: ">", right: Err(number) })
}

fn row(at: i64, v: i64) -> Row {
    vec![Value::Int(1), Value::Int(at), Value::Int(v), Value::Int(at)]
}

/// The ends of the matches in rows at times 1, 2 and so on with these numbers.
fn ends(case: &Case, numbers: &[i64], collector_rows: usize) -> Vec<(i64, i64)> {
    let spec = spec(case);
    let mut under_test = Instances::new(move || operator(&spec), &[&[0]], collector_rows);
    let rows: Vec<Row> = numbers.iter().zip(1..).map(|(v, at)| row(at, *v)).collect();
    under_test.push(0, batch(&schema(), &inserts(&rows)));
    let end = |row: &Row| (number(&row[1]).unwrap(), number(&row[2]).unwrap());
    under_test.watermark(MAX_WATERMARK).iter().map(|(_, row)| end(row)).collect()
}

/// A is 1, B is greater than 1, C greater than 2.
fn case_of(elements: Vec<PatternElement>) -> Case {
    Case {
        elements,
        defines: vec![Some(Condition { left: current(), operator: "=", right: Err(1) }), greater(1), greater(2)],
        measures: vec![first(None, ID, 0), last(None, ID, 0)],
        after: AfterMatch::PastLastRow,
        within_ms: None,
        order: vec![],
    }
}

#[test]
fn a_reluctant_element_takes_no_row_that_a_greedy_end_does_not() {
    // A B*? C*: the row 2 is not of C, so the match is over, though B could go on.
    let case = case_of(vec![element(0, 1, Some(1), true), element(1, 0, None, false), element(2, 0, None, true)]);
    assert_eq!(ends(&case, &[1, 2, 2], 100), [(1, 1)]);
    assert_eq!(ends(&case, &[1, 3, 3, 2], 100), [(1, 3)]);
    // A B* C??: C takes nothing.
    let case = case_of(vec![element(0, 1, Some(1), true), element(2, 0, None, true), element(1, 0, Some(1), false)]);
    assert_eq!(ends(&case, &[1, 3, 2], 100), [(1, 2)]);
}

#[test]
fn matches_that_waited_for_one_run_do_not_overfill_the_collector() {
    // A+ B?: a run from each row waits for the end, and all come out at once.
    let mut case = case_of(vec![element(0, 1, None, true), element(1, 0, Some(1), true)]);
    case.after = AfterMatch::ToNextRow;
    let spec = spec(&case);
    let mut under_test = Instances::new(move || operator(&spec), &[&[0]], 10);
    let rows: Vec<Row> = (1..=95).map(|at| row(at, 1)).collect();
    under_test.push(0, batch(&schema(), &inserts(&rows)));
    assert_eq!(under_test.watermark(MAX_WATERMARK).len(), 95);
    assert!(under_test.harnesses[0].resumed() >= 9, "resumed {} times", under_test.harnesses[0].resumed());
}
