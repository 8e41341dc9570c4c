//! What a function is: how it is chosen for its arguments, and how it computes a column.

use arrow::array::ArrayRef;

use rheos_core::error::Result;
use rheos_core::types::LogicalType;

use crate::expr::{EvalConfig, Expr};

/// An argument in a call that is being resolved.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// The expression, for functions that need a constant.
    pub expr: &'a Expr,
}

impl Arg<'_> {
    /// The argument's type.
    pub fn ty(&self) -> &LogicalType {
        self.expr.ty()
    }
}

/// A call as resolved: what the arguments are cast to, and what comes out.
#[derive(Debug, Clone)]
pub struct Signature {
    /// The type that each argument is cast to.
    pub args: Vec<LogicalType>,
    /// The type of the result.
    pub result: LogicalType,
}

/// An evaluated argument.
#[derive(Debug, Clone)]
pub enum Value {
    /// One value for each row.
    Column(ArrayRef),
    /// The same value for all rows: an array of length one.
    Constant(ArrayRef),
}

/// What an evaluation is given.
pub struct Call<'a> {
    /// The arguments, of the types in the signature.
    pub args: &'a [Value],
    /// How many rows there are.
    pub rows: usize,
    /// The types of the arguments.
    pub arg_types: &'a [LogicalType],
    /// The type of the result.
    pub result: &'a LogicalType,
    /// Time zone and the like.
    pub config: &'a EvalConfig,
}

/// A function of the library. Adding one is adding a row to a family's table in `functions/`.
pub struct Function {
    /// Its name, upper case.
    pub name: &'static str,
    /// Chooses the types, or says what would be right (lower case, without the function's name).
    pub resolve: fn(&[Arg<'_>]) -> Result<Signature, String>,
    /// Computes the result: one value for each row, or a constant.
    pub eval: fn(&Call<'_>) -> Result<Value>,
    /// Whether equal arguments give equal results; others are not folded and not shared.
    pub deterministic: bool,
    /// How it is written, for help and error texts: `SUBSTRING(text, start [, length])`.
    pub usage: &'static str,
}

/// A prepared evaluation for a call whose some arguments are constants (a compiled regular expression, a parsed date
/// pattern): made once when the program is compiled. Returned by [`Function`]s through `functions::prepare`.
pub type Prepared = Box<dyn Fn(&Call<'_>) -> Result<Value> + Send + Sync>;
