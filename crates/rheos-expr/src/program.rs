//! Evaluates expressions on whole batches.
//!
//! 1. [`Program::compile`] turns expressions into a graph (`graph`) in which equal parts are one node, so that each is
//!    computed once a batch; functions prepare what their constants allow (a regular expression, a set of values).
//! 2. Evaluation asks for the roots; a node's value is computed when it is first asked for (`frame`). Constants stay
//!    single values all the way into Arrow's kernels.
//! 3. CASE, COALESCE, IF, AND and OR (`branch`) evaluate their parts only for rows that reach them, unless a part is
//!    cheap and cannot fail: then all rows together are faster.
//! 4. [`CalcProgram`] adds a condition in front: what the projections need is filtered, and nothing else.

mod branch;
mod calc;
mod frame;
mod graph;
pub(crate) mod literal;
#[cfg(test)]
mod tests;

use arrow::array::ArrayRef;

use rheos_core::env::Env;
use rheos_core::error::Result;

use crate::expr::{EvalConfig, Expr};
use frame::Frame;
use graph::{Graph, NodeId};

pub use calc::CalcProgram;

/// Several expressions compiled together.
pub struct Program {
    graph: Graph,
    roots: Vec<NodeId>,
    /// Nodes that are needed anyway and would also be asked for by a branch: computed first, for all rows.
    first: Vec<NodeId>,
}

impl Program {
    /// Compiles expressions over the columns of one input. Fails where a constant argument is not what a function takes
    /// (a wrong pattern), and for functions that do not exist.
    pub fn compile(exprs: &[Expr], config: &EvalConfig) -> Result<Program> {
        let mut graph = Graph::new(config.clone());
        let roots = exprs.iter().map(|e| graph.add(e)).collect::<Result<Vec<_>>>()?;
        let first = graph.shared_with_branches(&roots);
        Ok(Program { graph, roots, first })
    }

    /// Gives functions like NOW and RAND their clock and random numbers.
    pub fn with_env(mut self, env: Env) -> Program {
        self.graph.env = Some(env);
        self
    }

    /// One column for each expression, each of `rows` values; `columns` are those of the input, all of that length.
    pub fn evaluate(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        let mut frame = Frame::of_columns(columns, rows, self.graph.len());
        self.graph.columns(&mut frame, &self.first, &self.roots)
    }
}
