//! Recognises joins whose rows must be near each other in event time: their state is bounded.

use rheos_core::types::TypeKind;
use rheos_expr::{Expr, Literal};
use rheos_operators::spec::Interval;

use crate::plan::Plan;

/// The interval that the conditions of a join give, which are taken out of `residual`; `None` where they do not bound the time
/// between both sides from below and from above. Conditions are over both sides' columns.
pub(super) fn recognise(left: &Plan, right: &Plan, keys: &(Vec<usize>, Vec<usize>), residual: &mut Vec<Expr>) -> Option<Interval> {
    if !left.changelog.is_insert_only() || !right.changelog.is_insert_only() {
        return None;
    }
    let split = left.columns.len();
    let is_time = |index: usize| match index.checked_sub(split) {
        Some(right_index) => right.columns.get(right_index).is_some_and(|c| c.time.is_some()),
        None => left.columns[index].time.is_some(),
    };
    // Equal row times are an interval of no length.
    let equal = keys.0.iter().zip(&keys.1).find(|(l, r)| is_time(**l) && left.columns[**l].time == right.columns[**r].time);
    if let Some((left_time, right_time)) = equal {
        return Some(Interval { left_time: *left_time, right_time: *right_time, lower_ms: 0, upper_ms: 0 });
    }
    let bounds: Vec<Option<Bound>> = residual.iter().map(|c| bound(c, split, &is_time)).collect();
    let first = bounds.iter().flatten().next()?;
    let (left_time, right_time) = (first.left_time, first.right_time);
    if left.columns[left_time].time != right.columns[right_time - split].time {
        return None;
    }
    let of_pair = |b: &&Bound| b.left_time == left_time && b.right_time == right_time;
    let lower_ms = bounds.iter().flatten().filter(of_pair).filter_map(|b| b.lower_ms).max()?;
    let upper_ms = bounds.iter().flatten().filter(of_pair).filter_map(|b| b.upper_ms).min()?;
    let mut taken = bounds.iter().map(|b| b.as_ref().is_some_and(|b| of_pair(&b)));
    residual.retain(|_| !taken.next().unwrap_or(false));
    Some(Interval { left_time, right_time: right_time - split, lower_ms, upper_ms })
}

/// What a comparison says of the time from a left row to a right one.
struct Bound {
    left_time: usize,
    right_time: usize,
    lower_ms: Option<i64>,
    upper_ms: Option<i64>,
}

fn bound(condition: &Expr, split: usize, is_time: &impl Fn(usize) -> bool) -> Option<Bound> {
    let Expr::Call { function, args, .. } = condition else { return None };
    let [a, b] = args.as_slice() else { return None };
    let ((a_column, a_ms), (b_column, b_ms)) = (shifted(a, is_time)?, shifted(b, is_time)?);
    // right <op> left + apart_ms
    let (left_time, right_time, operator, apart_ms) = match (a_column < split, b_column < split) {
        (false, true) => (b_column, a_column, function.as_str(), b_ms.checked_sub(a_ms)?),
        (true, false) => (a_column, b_column, super::filters::flip(function)?, a_ms.checked_sub(b_ms)?),
        _ => return None,
    };
    let (lower_ms, upper_ms) = match operator {
        ">=" => (Some(apart_ms), None),
        ">" => (Some(apart_ms.checked_add(1)?), None),
        "<=" => (None, Some(apart_ms)),
        "<" => (None, Some(apart_ms.checked_sub(1)?)),
        "=" => (Some(apart_ms), Some(apart_ms)),
        _ => return None,
    };
    Some(Bound { left_time, right_time, lower_ms, upper_ms })
}

fn is_of_kind(a: &TypeKind, b: &TypeKind) -> bool {
    use TypeKind::{Timestamp, TimestampLtz};
    matches!((a, b), (Timestamp(_), Timestamp(_)) | (TimestampLtz(_), TimestampLtz(_)))
}

/// A row time with a constant added: its column, and the milliseconds.
fn shifted(expr: &Expr, is_time: &impl Fn(usize) -> bool) -> Option<(usize, i64)> {
    match expr {
        // Row times are of milliseconds at most, so that a cast to another precision changes none. One between TIMESTAMP and
        // TIMESTAMP_LTZ does, by the session's time zone.
        Expr::Cast { arg, ty, .. } if is_of_kind(&ty.kind, &arg.ty().kind) => shifted(arg, is_time),
        Expr::Column { index, .. } => is_time(*index).then_some((*index, 0)),
        Expr::Call { function, args, .. } => {
            let [time, Expr::Literal { value: Literal::Int(ms), ty }] = args.as_slice() else { return None };
            if ty.kind != TypeKind::IntervalDayTime {
                return None;
            }
            let (column, before_ms) = shifted(time, is_time)?;
            match function.as_str() {
                "+" => Some((column, before_ms.checked_add(*ms)?)),
                "-" => Some((column, before_ms.checked_sub(*ms)?)),
                _ => None,
            }
        }
        _ => None,
    }
}
