//! The condition of a join beside its equal keys.

use arrow::array::ArrayRef;
use arrow::buffer::BooleanBuffer;
use rheos_core::env::Env;
use rheos_core::error::Result;
use rheos_expr::program::Program;
use rheos_expr::{EvalConfig, Expr};

use crate::holds;

/// A condition over pairs of rows, with the columns that it reads.
pub(crate) struct Condition {
    program: Program,
    /// The columns that it reads, of each side.
    sides: [Vec<usize>; 2],
}

impl Condition {
    /// A condition over the columns of the left side, `left_columns` many, and then those of the right.
    pub(crate) fn compile(expr: &Expr, left_columns: usize, config: &EvalConfig) -> Result<Self> {
        let read = expr.columns();
        let (left, right): (Vec<usize>, Vec<usize>) = read.iter().partition(|c| **c < left_columns);
        // It is given these columns only, so they are renumbered.
        let renumbered = expr.clone().transform(&mut |e| match e {
            Expr::Column { index, ty } => Expr::Column { index: read.iter().position(|c| *c == index).unwrap_or(index), ty },
            other => other,
        });
        let program = Program::compile(&[renumbered], config)?;
        Ok(Condition { program, sides: [left, right.into_iter().map(|c| c - left_columns).collect()] })
    }

    /// With a clock and random numbers.
    pub(crate) fn with_env(mut self, env: Env) -> Self {
        self.program = self.program.with_env(env);
        self
    }

    /// The columns of side `side` (0 left, 1 right) that [`Condition::evaluate`] is to be given.
    pub(crate) fn columns(&self, side: usize) -> &[usize] {
        &self.sides[side]
    }

    /// For each pair whether it holds; NULL counts as false. `columns` are the left side's and then the right side's.
    pub(crate) fn evaluate(&mut self, columns: &[ArrayRef], pairs: usize) -> Result<BooleanBuffer> {
        holds(&self.program.evaluate(columns, pairs)?)
    }
}
