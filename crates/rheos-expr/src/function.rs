//! What a function is: how it is chosen for its arguments, and how it computes a column.

use arrow::array::{Array, ArrayRef, Datum};

use rheos_core::env::Env;
use rheos_core::error::{Error, Result};
use rheos_core::types::{LogicalType, TypeKind};

use crate::expr::{EvalConfig, Expr, Literal};

/// An argument in a call that is being resolved.
#[derive(Debug, Clone, Copy)]
pub struct Arg<'a> {
    /// The expression, for functions that need a constant.
    pub expr: &'a Expr,
}

impl<'a> Arg<'a> {
    /// The argument's type.
    pub fn ty(&self) -> &'a LogicalType {
        self.expr.ty()
    }

    /// What kind of values it has.
    pub fn kind(&self) -> &'a TypeKind {
        &self.expr.ty().kind
    }

    /// The constant's value; `None` for what is computed from columns.
    pub fn literal(&self) -> Option<&'a Literal> {
        self.expr.literal()
    }

    /// The constant text.
    pub fn text(&self) -> Option<&'a str> {
        self.expr.literal_text()
    }

    /// The constant integer.
    pub fn int(&self) -> Option<i64> {
        match self.literal() {
            Some(Literal::Int(v)) => Some(*v),
            _ => None,
        }
    }

    /// Whether it is a bare NULL, whatever its type.
    pub fn is_null(&self) -> bool {
        matches!(self.literal(), Some(Literal::Null))
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

/// An evaluated argument. As a [`Datum`] it goes into Arrow's kernels as it is.
#[derive(Debug, Clone)]
pub enum Value {
    /// One value for each row.
    Column(ArrayRef),
    /// The same value for all rows: an array of length one.
    Constant(ArrayRef),
}

impl Value {
    /// The array: of as many values as there are rows, or of one.
    pub fn array(&self) -> &ArrayRef {
        match self {
            Value::Column(a) | Value::Constant(a) => a,
        }
    }

    /// Whether it is the same for all rows.
    pub fn is_constant(&self) -> bool {
        matches!(self, Value::Constant(_))
    }

    /// One value for each of `rows` rows.
    pub fn into_column(self, rows: usize) -> Result<ArrayRef> {
        match self {
            Value::Column(a) => Ok(a),
            Value::Constant(a) => crate::functions::kernel::repeat(&a, rows),
        }
    }
}

impl Datum for Value {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array().as_ref(), self.is_constant())
    }
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
    /// Clock and randomness, where the program was given them: see [`Call::env`].
    pub env: Option<&'a Env>,
    /// The watermark that holds for the rows, in milliseconds, where the program was told of one: see [`Call::watermark_ms`].
    pub watermark_ms: Option<i64>,
}

impl<'a> Call<'a> {
    /// The watermark before these rows; [`rheos_core::time::MIN_WATERMARK`] where none has come.
    pub fn watermark_ms(&self) -> Result<i64> {
        self.watermark_ms.ok_or_else(|| Error::bug("an expression asks for the watermark where none is known"))
    }

    /// Clock and randomness, for functions like NOW and RAND.
    pub fn env(&self) -> Result<&'a Env> {
        self.env.ok_or_else(|| Error::bug("an expression asks for the clock or a random number, but was given no environment"))
    }
}

/// A function of the library. Adding one is adding a row to a family's table in `functions/`:
///
/// ```text
/// Function::new("UPPER", "UPPER(text)", |args| signature(args, &[Text], &[], STRING), upper).aliases(&["UCASE"])
/// ```
pub struct Function {
    /// Its name, upper case.
    pub name: &'static str,
    /// Other names of the same function, upper case.
    pub aliases: &'static [&'static str],
    /// How it is written, for help and error texts: `SUBSTRING(text, start [, length])`.
    pub usage: &'static str,
    /// Chooses the types, or says what would be right (lower case, without the function's name).
    pub resolve: Resolve,
    /// Computes the result: one value for each row, or a constant.
    pub eval: Eval,
    /// Makes an evaluation for constant arguments once for the whole program, see [`Prepare`].
    pub prepare: Option<Prepare>,
    /// Whether equal arguments give equal results; others are not folded and not shared.
    pub deterministic: bool,
    /// Whether the result depends on [`EvalConfig`]; such calls are not folded before the session is known.
    pub session_dependent: bool,
    /// Whether it never fails and costs but a few nanoseconds a row; all others are evaluated only for rows that need it.
    pub cheap: bool,
}

/// Chooses the types of a call.
pub type Resolve = fn(&[Arg<'_>]) -> Result<Signature, String>;

/// Computes a call.
pub type Eval = fn(&Call<'_>) -> Result<Value>;

/// A prepared evaluation for a call whose some arguments are constants: a compiled regular expression, a parsed date
/// pattern, a set of values.
pub type Prepared = Box<dyn Fn(&Call<'_>) -> Result<Value> + Send + Sync>;

/// Called once for each call of a program with the arguments as expressions and the type of the result. `None` leaves the call to
/// [`Function::eval`], for instance where a pattern is not constant.
pub type Prepare = fn(&[Expr], &LogicalType, &EvalConfig) -> Result<Option<Prepared>>;

impl Function {
    /// A deterministic function without preparation.
    pub const fn new(name: &'static str, usage: &'static str, resolve: Resolve, eval: Eval) -> Function {
        Function { name, aliases: &[], usage, resolve, eval, prepare: None, deterministic: true, session_dependent: false, cheap: false }
    }

    /// Also known under these names.
    pub const fn aliases(mut self, aliases: &'static [&'static str]) -> Function {
        self.aliases = aliases;
        self
    }

    /// With an evaluation that is made once for constant arguments.
    pub const fn prepared(mut self, prepare: Prepare) -> Function {
        self.prepare = Some(prepare);
        self
    }

    /// Equal arguments may give different results.
    pub const fn nondeterministic(mut self) -> Function {
        self.deterministic = false;
        self
    }

    /// The result depends on the session's time zone.
    pub const fn session_dependent(mut self) -> Function {
        self.session_dependent = true;
        self
    }

    /// Never fails, costs next to nothing.
    pub const fn cheap(mut self) -> Function {
        self.cheap = true;
        self
    }
}
