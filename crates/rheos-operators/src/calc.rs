//! `calc`: filter and projection in one pass. Keeps no state.

use arrow::datatypes::SchemaRef;
use rheos_core::batch::Batch;
use rheos_core::collector::Collector;
use rheos_core::error::Result;
use rheos_core::operator::{Operator, OperatorContext, Progress};
use rheos_core::registry::Registry;
use rheos_core::snapshot::{OperatorSnapshot, SnapshotMode};
use rheos_core::time::{MIN_WATERMARK, TimestampMs};
use rheos_expr::program::CalcProgram;

use crate::read_spec;
use crate::spec::CalcSpec;

/// Makes the kind known.
pub(crate) fn register(registry: &mut Registry) {
    registry.add_operator("calc", |spec| Ok(Box::new(Calc::new(read_spec(spec)?)?)));
}

struct Calc {
    spec: CalcSpec,
    program: CalcProgram,
    output: SchemaRef,
}

impl Calc {
    fn new(spec: CalcSpec) -> Result<Self> {
        Ok(Calc { program: compile(&spec)?, output: spec.output.to_arrow(), spec })
    }
}

fn compile(spec: &CalcSpec) -> Result<CalcProgram> {
    CalcProgram::compile(spec.condition.as_ref(), &spec.projections, &spec.config)
}

impl Operator for Calc {
    fn open(&mut self, context: OperatorContext, _: Option<OperatorSnapshot>) -> Result<()> {
        self.program = compile(&self.spec)?.with_env(context.env);
        self.program.set_watermark_ms(MIN_WATERMARK);
        Ok(())
    }

    fn batch(&mut self, _: usize, batch: Batch, out: &mut Collector) -> Result<Progress> {
        if let Some(kept) = self.program.evaluate(&batch.into_columns()?, &self.output)? {
            out.emit(kept);
        }
        Ok(Progress::Done)
    }

    fn watermark(&mut self, at: TimestampMs, _: &mut Collector) -> Result<Progress> {
        self.program.set_watermark_ms(at);
        Ok(Progress::Done)
    }

    fn snapshot(&mut self, _: SnapshotMode) -> Result<OperatorSnapshot> {
        Ok(OperatorSnapshot::new())
    }
}

#[cfg(test)]
mod tests;
