//! The rows that are being evaluated: all of a batch, or those that a condition selected, with the values known so far.

use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::{FilterBuilder, FilterPredicate};

use rheos_core::error::Result;

use super::graph::{Graph, NodeId, Op};
use crate::function::Value;

/// Rows with the values of the nodes that were computed for them.
pub(super) struct Frame<'a> {
    rows: usize,
    values: Vec<Option<Value>>,
    origin: Origin<'a>,
}

enum Origin<'a> {
    /// All rows of a batch.
    Columns(&'a [ArrayRef]),
    /// Some rows of another frame: what is known there is filtered when it is asked for.
    Selection { of: &'a Frame<'a>, predicate: FilterPredicate },
}

impl<'a> Frame<'a> {
    /// All rows of a batch, for a graph of `nodes` nodes.
    pub(super) fn of_columns(columns: &'a [ArrayRef], rows: usize, nodes: usize) -> Frame<'a> {
        Frame { rows, values: vec![None; nodes], origin: Origin::Columns(columns) }
    }

    /// The rows of `of` where `mask` is true.
    pub(super) fn of_selection(of: &'a Frame<'a>, mask: &BooleanArray) -> Frame<'a> {
        let predicate = FilterBuilder::new(mask).optimize().build();
        Frame { rows: predicate.count(), values: vec![None; of.values.len()], origin: Origin::Selection { of, predicate } }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The rows of an array of the frame that this one selects from.
    pub(super) fn filter(&self, array: &ArrayRef) -> Result<ArrayRef> {
        match &self.origin {
            Origin::Columns(_) => Ok(array.clone()),
            Origin::Selection { predicate, .. } => Ok(predicate.filter(array.as_ref())?),
        }
    }

    /// The value of a node that needs no computation: it was computed here, or for more rows, or is a column.
    pub(super) fn known(&mut self, graph: &Graph, id: NodeId) -> Result<Option<Value>> {
        let value = self.find(graph, id)?;
        if let Some(value) = &value
            && self.values[id].is_none()
        {
            self.keep(id, value);
        }
        Ok(value)
    }

    fn find(&self, graph: &Graph, id: NodeId) -> Result<Option<Value>> {
        if let Some(value) = &self.values[id] {
            return Ok(Some(value.clone()));
        }
        match &self.origin {
            Origin::Columns(columns) => match graph.node(id).op {
                Op::Column(index) => Ok(columns.get(index).map(|c| Value::Column(c.clone()))),
                _ => Ok(None),
            },
            Origin::Selection { of, predicate } => match of.find(graph, id)? {
                Some(Value::Column(array)) => Ok(Some(Value::Column(predicate.filter(array.as_ref())?))),
                constant_or_unknown => Ok(constant_or_unknown),
            },
        }
    }

    /// Notes a node's value.
    pub(super) fn keep(&mut self, id: NodeId, value: &Value) {
        self.values[id] = Some(value.clone());
    }
}
