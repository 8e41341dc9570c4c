//! `values`: constant rows for each row of the input. Keeps no state.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::env::Env;
use rheos_core::error::Result;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_expr::program::Program;

use crate::spec::ValuesSpec;
use crate::{read_spec, records};

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("values", |spec| Ok(Box::new(Values::new(read_spec(spec)?))));
}

struct Values {
    spec: ValuesSpec,
    env: Option<Env>,
    /// The rows, once they were asked for.
    rows: Option<ColumnBatch>,
    /// For how many input rows they are still to be put out.
    owed: usize,
}

impl Values {
    fn new(spec: ValuesSpec) -> Self {
        Values { spec, env: None, rows: None, owed: 0 }
    }

    fn rows(&mut self) -> Result<ColumnBatch> {
        if let Some(rows) = &self.rows {
            return Ok(rows.clone());
        }
        let mut lines: Vec<Vec<ArrayRef>> = Vec::with_capacity(self.spec.rows.len());
        for row in &self.spec.rows {
            let mut program = Program::compile(row, &self.spec.config)?;
            if let Some(env) = &self.env {
                program = program.with_env(env.clone());
            }
            lines.push(program.evaluate(&[], 1)?);
        }
        let schema = self.spec.output.to_arrow();
        let columns = if lines.is_empty() {
            RecordBatch::new_empty(schema.clone()).columns().to_vec()
        } else {
            let column = |c: usize| concat(&lines.iter().map(|line| line[c].as_ref()).collect::<Vec<_>>());
            (0..self.spec.output.len()).map(column).collect::<Result<_, _>>()?
        };
        let rows = ColumnBatch::inserts(records(&schema, columns, lines.len())?);
        self.rows = Some(rows.clone());
        Ok(rows)
    }
}

impl Operator for Values {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        self.env = Some(context.env);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.owed = batch.num_rows();
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let rows = self.rows()?;
        while self.owed > 0 {
            if out.is_full() {
                return Ok(Progress::More);
            }
            out.emit(rows.clone());
            self.owed -= 1;
        }
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
