//! Whether a case agrees.

use std::time::Duration;

use serde_json::Value;

use super::record::{Case, HALF, Set};
use super::run::{Cell, Stop, select};
use super::{types, values};
use crate::suite::guard::{Guarded, guarded};

/// How long a case may take. They are tiny; this is for those that never end.
const LIMIT: Duration = Duration::from_secs(20);

/// How a case went.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Verdict {
    /// The value is Flink's, or both refuse it; with whether the type is too, where Flink's is recorded.
    Agrees {
        /// The type that Rheos gives and Flink's, where they differ.
        other_type: Option<String>,
    },
    /// Another value, or an error instead of one.
    Differs(String),
    /// The planner does not know it.
    Refused(String),
    /// It asks for what SQL, or Rheos by design, cannot have; the reason.
    NotApplicable(&'static str),
}

/// How each case of a set goes.
pub(crate) fn judge(set: &Set) -> Vec<Verdict> {
    let fields = fields_of(set);
    set.cases.iter().map(|case| judge_case(set, case, &fields)).collect()
}

/// The fields, `Err` for those that cannot be made.
fn fields_of(set: &Set) -> Vec<Result<Cell, String>> {
    let field = |(i, value): (usize, &Value)| {
        let ty = match &set.types {
            Some(types) => types::parse(types.get(i).ok_or("a field without a type")?)?,
            None => types::of_value(value).ok_or_else(|| format!("the value {value} without a type"))?,
        };
        Ok((values::column(value, &ty)?, ty))
    };
    set.fields.iter().enumerate().map(field).collect()
}

fn judge_case(set: &Set, case: &Case, fields: &[Result<Cell, String>]) -> Verdict {
    if let Some(reason) = inapplicable(set, case) {
        return Verdict::NotApplicable(reason);
    }
    let Some(sql) = &case.sql else { return Verdict::NotApplicable(TABLE_API) };
    let missing = fields.iter().enumerate().find_map(|(i, field)| field.as_ref().err().filter(|_| mentions(sql, i)));
    if let Some(why) = missing {
        return Verdict::Refused(format!("a field that cannot be made: {why}"));
    }
    // A field that the expression does not use stands for itself as a NULL.
    let cells: Vec<Cell> = fields.iter().map(|f| f.clone().unwrap_or_else(|_| unused())).collect();
    let (sql, case) = (sql.clone(), case.clone());
    match guarded(LIMIT, move || compared(&sql, &case, &cells)) {
        Guarded::Done(verdict) => verdict,
        Guarded::Panicked(message) => Verdict::Differs(format!("panic: {message}")),
        Guarded::Hung => Verdict::Differs("hang".into()),
    }
}

fn unused() -> Cell {
    let ty = rheos_core::types::TypeKind::Int.nullable();
    (arrow::array::new_null_array(&ty.to_arrow(), 1), ty)
}

/// Whether an expression uses field `index`.
fn mentions(sql: &str, index: usize) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    sql.split(|c| !is_part(c)).any(|word| word == format!("f{index}"))
}

const TABLE_API: &str = "the Table API";

/// Why a case can say nothing about Rheos.
fn inapplicable(set: &Set, case: &Case) -> Option<&'static str> {
    let Some(sql) = &case.sql else { return Some(TABLE_API) };
    let ty = case.ty.as_deref().unwrap_or_default();
    let java = case.expect.get("java").and_then(Value::as_str).unwrap_or_default();
    if set.file.starts_with("Bitmap") || sql.contains("BITMAP") {
        return Some("BITMAP, newer than Flink 2.3");
    }
    if sql.contains("PARSE_JSON(") {
        return Some("VARIANT, newer than Flink 2.3");
    }
    if calls(sql).any(|name| name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains(|c: char| c.is_ascii_lowercase())) {
        return Some("a function of the user, in Java");
    }
    if sql.contains(".class.") || ty.contains(".class") || java.starts_with("new ") {
        return Some("a class of Java");
    }
    if java.starts_with("DataTypes.") {
        return Some("a random value, of which only the type is recorded");
    }
    if set.file == "CastFunctionMiscLegacyITCase" {
        return Some("a setting for how Flink cast before 1.15");
    }
    (sql.contains(HALF)).then_some("half a surrogate pair, which is no Unicode")
}

/// The names of functions that an expression calls.
fn calls(sql: &str) -> impl Iterator<Item = &str> {
    sql.match_indices('(').map(|(at, _)| {
        let before = &sql[..at];
        let start = before.rfind(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(0, |i| i + 1);
        before.get(start..).unwrap_or_default()
    })
}

fn compared(sql: &str, case: &Case, fields: &[Cell]) -> Verdict {
    let result = select(sql, fields);
    if case.planning_error.is_some() || case.runtime_error.is_some() {
        return refusal(result, case.planning_error.is_some());
    }
    let cells = match result {
        Ok(cells) => cells,
        Err(Stop::Planning(why)) => return Verdict::Refused(why),
        Err(Stop::Running(why)) => return Verdict::Differs(why),
    };
    let expected = match &case.expect {
        Value::Array(several) if cells.len() > 1 => several.clone(),
        one => vec![one.clone()],
    };
    let pairs = cells.iter().zip(&expected);
    let wrong = pairs.filter(|((column, ty), expected)| !values::agrees(column.as_ref(), expected, ty));
    let wrong: Vec<String> =
        wrong.map(|((column, ty), e)| format!("{} ({ty}) instead of {e}", values::text_of(column.as_ref(), ty))).collect();
    if !wrong.is_empty() || cells.len() != expected.len() {
        return Verdict::Differs(wrong.join("; "));
    }
    Verdict::Agrees { other_type: case.ty.as_ref().and_then(|java| other_type(&cells, java)) }
}

/// Flink refuses this, in planning or on the row.
fn refusal(result: Result<Vec<Cell>, Stop>, in_planning: bool) -> Verdict {
    let agrees = Verdict::Agrees { other_type: None };
    match result {
        // What Rheos does not know at all it does not refuse for Flink's reason.
        Err(Stop::Planning(why)) if is_unknown(&why) => Verdict::Refused(why),
        Err(Stop::Planning(_)) if in_planning => agrees,
        Err(Stop::Running(_)) if !in_planning => agrees,
        Err(Stop::Planning(why)) => Verdict::Differs(format!("refused in planning, not on the row: {why}")),
        Err(Stop::Running(why)) => Verdict::Differs(format!("refused on the row, not in planning: {why}")),
        Ok(cells) => {
            let texts: Vec<String> = cells.iter().map(|(column, ty)| values::text_of(column.as_ref(), ty)).collect();
            Verdict::Differs(format!("{} instead of an error", texts.join(", ")))
        }
    }
}

fn is_unknown(why: &str) -> bool {
    ["no function '", "there is no function", "not supported", "expected"].iter().any(|words| why.to_lowercase().contains(words))
}

fn other_type(cells: &[Cell], java: &str) -> Option<String> {
    let expected = match types::parse_all(java) {
        Ok(expected) => expected,
        Err(why) => return Some(why),
    };
    let got: Vec<_> = cells.iter().map(|(_, ty)| ty.clone()).collect();
    let list = |types: &[rheos_core::types::LogicalType]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    (got != expected).then(|| format!("{} instead of {}", list(&got), list(&expected)))
}
