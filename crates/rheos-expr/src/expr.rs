//! The expression as data.

use serde::{Deserialize, Serialize};

use rheos_core::types::LogicalType;

/// An expression over the columns of its input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Expr {
    /// An input column.
    Column {
        /// Its position.
        index: usize,
        /// Its type.
        ty: LogicalType,
    },
    /// A constant.
    Literal {
        /// Its value.
        value: Literal,
        /// Its type.
        ty: LogicalType,
    },
    /// A function or an operator, whose arguments have exactly the types that it takes.
    Call {
        /// The function's canonical name: `SUBSTRING`, `+`, `AND`, `IS NULL`.
        function: String,
        /// Its arguments.
        args: Vec<Expr>,
        /// The type of the result.
        ty: LogicalType,
    },
    /// A conversion.
    Cast {
        /// What is converted.
        arg: Box<Expr>,
        /// To what.
        ty: LogicalType,
        /// Whether a value that cannot be converted gives NULL (TRY_CAST) instead of an error.
        or_null: bool,
    },
    /// The first branch whose condition is true; branches are evaluated only for rows that reach them.
    Case {
        /// Conditions and results.
        branches: Vec<(Expr, Expr)>,
        /// The result where no condition is true; NULL if absent.
        otherwise: Option<Box<Expr>>,
        /// The type of the results.
        ty: LogicalType,
    },
}

/// A constant's value. Which Arrow type carries it follows from the type beside it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Literal {
    /// NULL of whatever type.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer type, or the stored number of DATE (days), TIME (ms), TIMESTAMP and TIMESTAMP_LTZ (in the unit of the
    /// precision), INTERVAL YEAR TO MONTH (months), INTERVAL DAY TO SECOND (ms).
    Int(i64),
    /// FLOAT or DOUBLE, as the bits of an f64, so that it compares and serialises exactly.
    Float(u64),
    /// DECIMAL: the unscaled value as text, the scale is the type's.
    Decimal(String),
    /// CHAR or VARCHAR.
    Text(String),
    /// BINARY or VARBINARY.
    Bytes(Vec<u8>),
}

/// What evaluation depends on besides the rows. Part of the job graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalConfig {
    /// `table.local-time-zone`: how TIMESTAMP_LTZ is shown and read.
    pub time_zone: String,
}

impl Default for EvalConfig {
    fn default() -> Self {
        EvalConfig { time_zone: "UTC".into() }
    }
}

impl Expr {
    /// A reference to an input column.
    pub fn column(index: usize, ty: LogicalType) -> Expr {
        Expr::Column { index, ty }
    }

    /// The type of its values.
    pub fn ty(&self) -> &LogicalType {
        match self {
            Expr::Column { ty, .. } | Expr::Literal { ty, .. } | Expr::Call { ty, .. } | Expr::Cast { ty, .. } | Expr::Case { ty, .. } => {
                ty
            }
        }
    }

    /// What the casts around it are of.
    pub fn without_casts(&self) -> &Expr {
        match self {
            Expr::Cast { arg, .. } => arg.without_casts(),
            other => other,
        }
    }

    /// The value, if it is a constant.
    pub fn literal(&self) -> Option<&Literal> {
        match self {
            Expr::Literal { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The text, if it is a constant text.
    pub fn literal_text(&self) -> Option<&str> {
        match self.literal() {
            Some(Literal::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Its direct parts.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Column { .. } | Expr::Literal { .. } => Vec::new(),
            Expr::Call { args, .. } => args.iter().collect(),
            Expr::Cast { arg, .. } => vec![arg],
            Expr::Case { branches, otherwise, .. } => branches.iter().flat_map(|(c, r)| [c, r]).chain(otherwise.as_deref()).collect(),
        }
    }

    /// The same expression with each direct part replaced.
    pub fn map_children(self, f: &mut impl FnMut(Expr) -> Expr) -> Expr {
        match self {
            leaf @ (Expr::Column { .. } | Expr::Literal { .. }) => leaf,
            Expr::Call { function, args, ty } => Expr::Call { function, args: args.into_iter().map(f).collect(), ty },
            Expr::Cast { arg, ty, or_null } => Expr::Cast { arg: Box::new(f(*arg)), ty, or_null },
            Expr::Case { branches, otherwise, ty } => {
                let branches = branches.into_iter().map(|(c, r)| (f(c), f(r))).collect();
                let otherwise = otherwise.map(|o| Box::new(f(*o)));
                Expr::Case { branches, otherwise, ty }
            }
        }
    }

    /// Replaces parts bottom-up.
    pub fn transform(self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let mapped = self.map_children(&mut |e| e.transform(f));
        f(mapped)
    }

    /// Calls `f` on this expression and all its parts.
    pub fn visit(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        for child in self.children() {
            child.visit(f);
        }
    }

    /// The input columns that it reads, ascending, each once.
    pub fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        self.visit(&mut |e| {
            if let Expr::Column { index, .. } = e {
                columns.push(*index);
            }
        });
        columns.sort_unstable();
        columns.dedup();
        columns
    }
}
