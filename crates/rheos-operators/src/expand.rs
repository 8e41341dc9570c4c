//! `expand`: each row once for each list of projections. Keeps no state.

use arrow::datatypes::SchemaRef;
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_expr::program::Program;

use crate::read_spec;
use crate::spec::ExpandSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("expand", |spec| Ok(Box::new(Expand::new(read_spec(spec)?)?)));
}

/// The copies of one list come as one batch: what the lists have in common differs in no key, so only the order within
/// a list counts.
struct Expand {
    spec: ExpandSpec,
    programs: Vec<Program>,
    output: SchemaRef,
    /// The batch being copied, and the list that is next.
    pending: Option<(ColumnBatch, usize)>,
}

impl Expand {
    fn new(spec: ExpandSpec) -> Result<Self> {
        Ok(Expand { programs: compile(&spec)?, output: spec.output.to_arrow(), spec, pending: None })
    }
}

fn compile(spec: &ExpandSpec) -> Result<Vec<Program>> {
    spec.projections.iter().map(|list| Program::compile(list, &spec.config)).collect()
}

impl Operator for Expand {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        self.programs = compile(&self.spec)?.into_iter().map(|p| p.with_env(context.env.clone())).collect();
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        self.pending = Some((batch.into_columns()?, 0));
        self.resume(out)
    }

    fn resume(&mut self, out: &mut Collector) -> Result<Progress> {
        let Some((batch, next)) = &mut self.pending else { return Ok(Progress::Done) };
        while let Some(program) = self.programs.get_mut(*next) {
            if out.is_full() {
                return Ok(Progress::More);
            }
            let columns = program.evaluate(batch.columns(), batch.num_rows())?;
            out.emit(batch.with_columns(self.output.clone(), columns)?);
            *next += 1;
        }
        self.pending = None;
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}
