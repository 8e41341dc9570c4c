//! UNION, INTERSECT and EXCEPT.
//!
//! The latter two count, for each row, how often either side has it: one grouping of the rows of both, in which NULL equals NULL.
//! What remains is a condition on the counts; with ALL the rows are put out as often as the counts say.

use sqlparser::ast::{SetExpr, SetOperator, SetQuantifier};

use rheos_expr::{Expr, build};
use rheos_operators::spec::{AggregateCall, Unnesting};

use super::query::{distinct, same_types};
use crate::error::{SqlError, SqlResult};
use crate::plan::Plan;

/// Joins two queries.
pub(super) fn bind(at: &SetExpr, left: Plan, right: Plan, op: SetOperator, quantifier: SetQuantifier) -> SqlResult<Plan> {
    let all = match quantifier {
        SetQuantifier::All => true,
        SetQuantifier::None | SetQuantifier::Distinct => false,
        other => return Err(SqlError::unsupported(at, format!("{op} {other}"))),
    };
    let plans = same_types(at, vec![left, right], &op.to_string())?;
    let intersects = match op {
        SetOperator::Union if all => return Ok(Plan::union(plans)),
        SetOperator::Union => return Ok(distinct(Plan::union(plans))),
        SetOperator::Intersect => true,
        SetOperator::Except | SetOperator::Minus => false,
    };
    combine(plans, intersects, all).map_err(|e| SqlError::at(at, e))
}

fn combine(plans: Vec<Plan>, intersects: bool, all: bool) -> Result<Plan, String> {
    let width = plans[0].columns.len();
    let names = plans[0].names();
    // Each row says of which side it is.
    let marked: Vec<Plan> = plans
        .into_iter()
        .enumerate()
        .map(|(side, plan)| {
            let sides = [build::literal_bool(side == 0), build::literal_bool(side == 1)];
            let projections = plan.all_columns().into_iter().chain(sides).collect();
            let names = plan.names().into_iter().chain(["$left".into(), "$right".into()]).collect();
            Plan::calc(plan, None, projections, names)
        })
        .collect();
    let calls = [width, width + 1].map(|side| AggregateCall::count_rows(Some(side))).to_vec();
    let counted = Plan::aggregate(Plan::union(marked), (0..width).collect(), calls, vec!["$left".into(), "$right".into()]);
    let (left, right) = (counted.column(width), counted.column(width + 1));
    let shown: Vec<Expr> = (0..width).map(|c| counted.column(c)).collect();
    if !all {
        let in_left = build::call(">", vec![left, build::literal_bigint(0)])?;
        let by_right = build::call(if intersects { ">" } else { "=" }, vec![right, build::literal_bigint(0)])?;
        let condition = build::call("AND", vec![in_left, by_right])?;
        return Ok(Plan::calc(counted, Some(condition), shown, names));
    }
    let times = if intersects {
        let fewer = build::call("<", vec![left.clone(), right.clone()])?;
        build::case(vec![(fewer, left)], Some(right))?
    } else {
        build::call("-", vec![left, right])?
    };
    let condition = build::call(">", vec![times.clone(), build::literal_bigint(0)])?;
    let projections = shown.into_iter().chain([times]).collect();
    let with_times: Vec<String> = names.iter().cloned().chain(["$times".into()]).collect();
    let repeated = Plan::unnest(Plan::calc(counted, Some(condition), projections, with_times), Unnesting::Times { column: width }, vec![]);
    let shown = (0..width).map(|c| repeated.column(c)).collect();
    Ok(Plan::calc(repeated, None, shown, names))
}
