//! AND, OR and CASE: parts that cost or can fail are evaluated only for the rows that reach them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array, new_null_array};
use arrow::buffer::BooleanBuffer;
use arrow::compute::kernels::boolean::{and_kleene, or_kleene};
use arrow::compute::{concat, interleave, prep_null_mask_filter, take};

use rheos_core::error::{Error, Result};
use rheos_core::types::LogicalType;

use super::frame::Frame;
use super::graph::{Graph, NodeId, Op};
use crate::function::Value;
use crate::functions::kernel::select;

/// AND (`all`) or OR of several parts, from left to right.
pub(super) fn junction(graph: &Graph, frame: &mut Frame<'_>, parts: &[NodeId], all: bool) -> Result<Value> {
    // AND is decided where a part is false, OR where one is true.
    let deciding = !all;
    let mut result: Option<Value> = None;
    for part in parts {
        let Some(so_far) = result else {
            result = Some(graph.value(frame, *part)?);
            continue;
        };
        let value = if graph.node(*part).cheap {
            graph.value(frame, *part)?
        } else {
            let undecided = match &so_far {
                Value::Constant(a) if !a.is_null(0) && boolean(a)?.value(0) == deciding => return Ok(so_far),
                Value::Constant(_) => None,
                Value::Column(a) => Some(!&equal_to(boolean(a)?, deciding)),
            };
            match undecided {
                Some(rows) if rows.count_set_bits() == 0 => {
                    result = Some(so_far);
                    break;
                }
                Some(rows) if rows.count_set_bits() < frame.rows() => on_selection(graph, frame, *part, &rows)?,
                _ => graph.value(frame, *part)?,
            }
        };
        result = Some(combine(&so_far, &value, all, frame.rows())?);
    }
    result.ok_or_else(|| Error::bug("AND or OR of nothing"))
}

/// A boolean part evaluated for some rows only, and NULL for the others.
fn on_selection(graph: &Graph, frame: &Frame<'_>, part: NodeId, rows: &BooleanBuffer) -> Result<Value> {
    let mut selected = Frame::of_selection(frame, &BooleanArray::new(rows.clone(), None));
    let value = graph.value(&mut selected, part)?;
    Ok(match value {
        Value::Constant(_) => value,
        Value::Column(array) => Value::Column(Arc::new(scatter(boolean(&array)?, rows))),
    })
}

/// The values of the selected rows at their places, NULL elsewhere.
fn scatter(values: &BooleanArray, rows: &BooleanBuffer) -> BooleanArray {
    let mut scattered = vec![None; rows.len()];
    for (i, row) in rows.set_indices().enumerate() {
        scattered[row] = values.is_valid(i).then(|| values.value(i));
    }
    BooleanArray::from(scattered)
}

fn combine(a: &Value, b: &Value, all: bool, rows: usize) -> Result<Value> {
    let both_constant = a.is_constant() && b.is_constant();
    let kernel = if all { and_kleene } else { or_kleene };
    if both_constant {
        return Ok(Value::Constant(Arc::new(kernel(boolean(a.array())?, boolean(b.array())?)?)));
    }
    // TRUE changes nothing in AND, FALSE decides it; the other way round in OR.
    for (constant, other) in [(a, b), (b, a)] {
        if constant.is_constant() && !constant.array().is_null(0) {
            let neutral = boolean(constant.array())?.value(0) == all;
            return Ok(if neutral { other.clone() } else { constant.clone() });
        }
    }
    let (a, b) = (a.clone().into_column(rows)?, b.clone().into_column(rows)?);
    Ok(Value::Column(Arc::new(kernel(boolean(&a)?, boolean(&b)?)?)))
}

fn boolean(array: &ArrayRef) -> Result<&BooleanArray> {
    array.as_boolean_opt().ok_or_else(|| Error::bug(format!("a condition is of type {}", array.data_type())))
}

/// The rows whose value is `expected`, not NULL.
fn equal_to(values: &BooleanArray, expected: bool) -> BooleanBuffer {
    let bits = if expected { values.values().clone() } else { !values.values() };
    match values.nulls() {
        Some(nulls) => &bits & nulls.inner(),
        None => bits,
    }
}

/// CASE: each row gets the result of the first condition that is true for it.
pub(super) fn case(
    graph: &Graph,
    frame: &mut Frame<'_>,
    branches: &[(NodeId, NodeId)],
    otherwise: Option<NodeId>,
    ty: &LogicalType,
) -> Result<Value> {
    let mut parts = branches.iter().flat_map(|(c, r)| [*c, *r]).chain(otherwise);
    if parts.all(|id| graph.node(id).cheap) {
        return cheap_case(graph, frame, branches, otherwise, ty);
    }
    let rows = frame.rows();
    let mut remaining = BooleanBuffer::new_set(rows);
    let mut pieces: Vec<Piece> = Vec::new();
    for (condition, result) in branches {
        let left = remaining.count_set_bits();
        if left == 0 {
            break;
        }
        let fits = if left == rows || graph.node(*condition).cheap {
            graph.value(frame, *condition)?
        } else {
            on_selection(graph, frame, *condition, &remaining)?
        };
        let hit = match &fits {
            Value::Constant(a) if a.is_null(0) || !boolean(a)?.value(0) => continue,
            Value::Constant(_) => remaining.clone(),
            Value::Column(a) => &equal_to(boolean(a)?, true) & &remaining,
        };
        if hit.count_set_bits() > 0 {
            remaining = &remaining & &!&hit;
            pieces.push(Piece::evaluate(graph, frame, *result, hit)?);
        }
    }
    if remaining.count_set_bits() > 0 {
        pieces.push(match otherwise {
            Some(result) => Piece::evaluate(graph, frame, result, remaining)?,
            None => Piece { value: Value::Constant(new_null_array(&ty.to_arrow(), 1)), rows: remaining, compact: false },
        });
    }
    assemble(pieces, rows, ty)
}

/// The result of one branch.
struct Piece {
    value: Value,
    /// The rows that it is for.
    rows: BooleanBuffer,
    /// Whether the value holds those rows only, rather than all.
    compact: bool,
}

impl Piece {
    fn evaluate(graph: &Graph, frame: &mut Frame<'_>, result: NodeId, rows: BooleanBuffer) -> Result<Piece> {
        if graph.node(result).cheap || rows.count_set_bits() == rows.len() {
            return Ok(Piece { value: graph.value(frame, result)?, rows, compact: false });
        }
        let mut selected = Frame::of_selection(frame, &BooleanArray::new(rows.clone(), None));
        Ok(Piece { value: graph.value(&mut selected, result)?, rows, compact: true })
    }
}

fn assemble(mut pieces: Vec<Piece>, rows: usize, ty: &LogicalType) -> Result<Value> {
    if let [_] = pieces.as_slice()
        && let Some(only) = pieces.pop()
    {
        return Ok(only.value);
    }
    if pieces.is_empty() {
        return Ok(Value::Column(new_null_array(&ty.to_arrow(), rows)));
    }
    let mut places = vec![(0, 0); rows];
    for (source, piece) in pieces.iter().enumerate() {
        for (i, row) in piece.rows.set_indices().enumerate() {
            places[row] = (
                source,
                if piece.value.is_constant() {
                    0
                } else if piece.compact {
                    i
                } else {
                    row
                },
            );
        }
    }
    let sources: Vec<&dyn Array> = pieces.iter().map(|p| p.value.array().as_ref()).collect();
    Ok(Value::Column(interleave(&sources, &places)?))
}

/// CASE whose parts are all cheap: every part for all rows, and a choice between columns from the last branch to the first.
/// Between constants the choice is made once, at the end.
fn cheap_case(
    graph: &Graph,
    frame: &mut Frame<'_>,
    branches: &[(NodeId, NodeId)],
    otherwise: Option<NodeId>,
    ty: &LogicalType,
) -> Result<Value> {
    let mut result = match otherwise {
        Some(id) => graph.value(frame, id)?,
        None => Value::Constant(new_null_array(&ty.to_arrow(), 1)),
    };
    let is_constant = |id: NodeId| matches!(graph.node(id).op, Op::Constant(_));
    if branches.len() > 1 && result.is_constant() && branches.iter().all(|(_, then)| is_constant(*then)) {
        return choose_constants(graph, frame, branches, &result);
    }
    for (condition, then) in branches.iter().rev() {
        match graph.value(frame, *condition)? {
            Value::Constant(a) if a.is_null(0) || !boolean(&a)?.value(0) => {}
            Value::Constant(_) => result = graph.value(frame, *then)?,
            Value::Column(mask) => {
                let then = graph.value(frame, *then)?;
                let mask = boolean(&mask)?;
                let mask = if mask.null_count() > 0 { &prep_null_mask_filter(mask) } else { mask };
                result = Value::Column(select(mask, &then, &result)?);
            }
        }
    }
    Ok(result)
}

fn choose_constants(graph: &Graph, frame: &mut Frame<'_>, branches: &[(NodeId, NodeId)], otherwise: &Value) -> Result<Value> {
    let mut constants = vec![otherwise.array().clone()];
    let mut choices = vec![0u32; frame.rows()];
    for (condition, then) in branches.iter().rev() {
        let chosen = constants.len() as u32;
        match graph.value(frame, *condition)? {
            Value::Constant(a) if a.is_null(0) || !boolean(&a)?.value(0) => continue,
            Value::Constant(_) => choices.fill(chosen),
            Value::Column(mask) => {
                let mask = equal_to(boolean(&mask)?, true);
                choices.iter_mut().zip(mask.iter()).for_each(|(choice, hit)| *choice = if hit { chosen } else { *choice });
            }
        }
        constants.push(graph.value(frame, *then)?.array().clone());
    }
    let constants: Vec<&dyn Array> = constants.iter().map(AsRef::as_ref).collect();
    Ok(Value::Column(take(&concat(&constants)?, &UInt32Array::from(choices), None)?))
}
