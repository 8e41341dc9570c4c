//! A filter and a projection in one pass over a batch.

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, UInt8Array};
use arrow::datatypes::SchemaRef;

use rheos_core::batch::ColumnBatch;
use rheos_core::env::Env;
use rheos_core::error::{Error, Result};

use super::frame::Frame;
use super::graph::{Graph, NodeId};
use crate::expr::{EvalConfig, Expr};
use crate::function::Value;

/// Keeps the rows where a condition is true and computes columns for those. What condition and projections share is
/// computed once, before the filter.
pub struct CalcProgram {
    graph: Graph,
    condition: Option<NodeId>,
    first_of_condition: Vec<NodeId>,
    projections: Vec<NodeId>,
    first_of_projections: Vec<NodeId>,
}

impl CalcProgram {
    /// Compiles a condition, `None` to keep all rows, and the output columns.
    pub fn compile(condition: Option<&Expr>, projections: &[Expr], config: &EvalConfig) -> Result<CalcProgram> {
        let mut graph = Graph::new(config.clone());
        let condition = condition.map(|c| graph.add(c)).transpose()?;
        let projections = projections.iter().map(|p| graph.add(p)).collect::<Result<Vec<_>>>()?;
        let first_of_condition = condition.map_or_else(Vec::new, |c| graph.shared_with_branches(&[c]));
        let first_of_projections = graph.shared_with_branches(&projections);
        Ok(CalcProgram { graph, condition, first_of_condition, projections, first_of_projections })
    }

    /// Gives functions like NOW and RAND their clock and random numbers.
    pub fn with_env(mut self, env: Env) -> CalcProgram {
        self.graph.env = Some(env);
        self
    }

    /// Tells CURRENT_WATERMARK what it is from now on, in milliseconds.
    pub fn set_watermark_ms(&mut self, at: i64) {
        self.graph.watermark_ms = Some(at);
    }

    /// The projections of the rows that fit, with their kinds; `None` where no row is left.
    pub fn evaluate(&mut self, batch: &ColumnBatch, output: &SchemaRef) -> Result<Option<ColumnBatch>> {
        let rows = batch.num_rows();
        if rows == 0 {
            return Ok(None);
        }
        let mut frame = Frame::of_columns(batch.columns(), rows, self.graph.len());
        let Some(condition) = self.condition else {
            return self.project(&mut frame, batch.kinds(), output);
        };
        for id in &self.first_of_condition {
            self.graph.value(&mut frame, *id)?;
        }
        let fits = self.graph.value(&mut frame, condition)?;
        let mask = fits.array().as_boolean_opt().ok_or_else(|| Error::bug("a filter's condition is not BOOLEAN"))?;
        match (mask.true_count(), &fits) {
            (0, _) => Ok(None),
            (_, Value::Constant(_)) => self.project(&mut frame, batch.kinds(), output),
            (count, Value::Column(_)) if count == rows => self.project(&mut frame, batch.kinds(), output),
            _ => {
                let mut selected = Frame::of_selection(&frame, mask);
                let kinds = match batch.kinds() {
                    Some(kinds) => {
                        let kinds: ArrayRef = std::sync::Arc::new(kinds.clone());
                        Some(selected.filter(&kinds)?)
                    }
                    None => None,
                };
                let kinds = kinds.as_ref().and_then(|k| k.as_any().downcast_ref::<UInt8Array>());
                self.project(&mut selected, kinds, output)
            }
        }
    }

    fn project(&self, frame: &mut Frame<'_>, kinds: Option<&UInt8Array>, output: &SchemaRef) -> Result<Option<ColumnBatch>> {
        let columns = self.graph.columns(frame, &self.first_of_projections, &self.projections)?;
        let options = RecordBatchOptions::new().with_row_count(Some(frame.rows()));
        let records = RecordBatch::try_new_with_options(output.clone(), columns, &options)?;
        Ok(Some(match kinds {
            Some(kinds) => ColumnBatch::changes(records, kinds.clone())?,
            None => ColumnBatch::inserts(records),
        }))
    }
}
