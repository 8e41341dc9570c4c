//! MATCH_RECOGNIZE, and collections turned into rows.

use serde::{Deserialize, Serialize};

use rheos_core::schema::Schema;
use rheos_expr::{EvalConfig, Expr};

use super::aggregate::AggregateCall;
use super::rank::SortKey;

/// A variable with its quantifier, as it stands in a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternElement {
    /// The position of the variable among [`MatchSpec::defines`].
    pub variable: usize,
    /// How many rows at least.
    pub min: u32,
    /// How many at most; `None`: any number.
    pub max: Option<u32>,
    /// Whether it takes every row that it can. Such an element never gives a row back to the next. A reluctant one takes no row that
    /// the pattern can do without.
    pub greedy: bool,
}

/// What a column of an expression over a match stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum MatchReference {
    /// A column of the row that is tested (DEFINE).
    Current {
        /// The column.
        column: usize,
    },
    /// FIRST(variable.column, offset): of the rows of a variable, or of all where that is `None`.
    First {
        /// The variable.
        variable: Option<usize>,
        /// The column.
        column: usize,
        /// How many rows after the first.
        offset: u64,
    },
    /// LAST(variable.column, offset); `variable.column` alone is offset 0. In DEFINE the row that is tested is one of its variable's.
    Last {
        /// The variable.
        variable: Option<usize>,
        /// The column.
        column: usize,
        /// How many rows before the last.
        offset: u64,
    },
    /// PREV(column, offset): a row of the partition, some rows before the row that is tested, or before the last of the match.
    Previous {
        /// The column.
        column: usize,
        /// How many rows before.
        offset: u64,
    },
    /// An aggregate over the rows of a variable, or of all.
    Aggregate {
        /// The variable.
        variable: Option<usize>,
        /// The aggregate.
        call: AggregateCall,
    },
}

/// Expressions over a match: their columns are positions in `references`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchExprs {
    /// What the columns stand for.
    pub references: Vec<MatchReference>,
    /// The expressions.
    pub exprs: Vec<Expr>,
}

/// Where matching goes on after a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AfterMatch {
    /// After the last row of the match.
    PastLastRow,
    /// At the row after the match's first.
    ToNextRow,
    /// At the first row of a variable; at the row after the match's first where the variable has none, or that is it.
    ToFirst(usize),
    /// At the last row of a variable; as above where there is none.
    ToLast(usize),
}

/// `match`: MATCH_RECOGNIZE with ONE ROW PER MATCH over event time and an insert-only input. Rows of a partition are matched in the
/// order of time (rows that are late are dropped); a match is a run of rows without gaps. Of matches that begin at one row the
/// first to be complete counts; a match waits for those that began earlier and are still open.
///
/// Output columns: the partition's, then the measures. Insert-only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MatchSpec {
    /// The columns of the input.
    pub input: Schema,
    /// The partition's columns.
    pub partition: Vec<usize>,
    /// The column of the row time.
    pub time: usize,
    /// The order of rows of one time.
    pub order: Vec<SortKey>,
    /// The pattern; at least one element takes a row.
    pub pattern: Vec<PatternElement>,
    /// For each variable its condition, one expression; `None` is true of every row.
    pub defines: Vec<Option<MatchExprs>>,
    /// The measures.
    pub measures: MatchExprs,
    /// Where matching goes on after a match.
    pub after: AfterMatch,
    /// WITHIN: the times of the first and the last row must be less than this apart, in milliseconds.
    pub within_ms: Option<i64>,
    /// The columns of the output.
    pub output: Schema,
    /// What evaluation depends on.
    pub config: EvalConfig,
}

/// What makes several rows of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unnesting {
    /// The elements of a column of ARRAY, MAP or MULTISET, in columns after the input's: those of a ROW, key and value, or one.
    Elements {
        /// The column.
        column: usize,
        /// Whether it is a MULTISET, whose elements are there as often as they count.
        counted: bool,
        /// Whether a row without elements is put out with NULLs.
        outer: bool,
        /// Whether the position of the element, from 1 (INT), is one more column.
        ordinality: bool,
    },
    /// The row itself, as many times as a column of BIGINT says.
    Times {
        /// The column.
        column: usize,
    },
}

/// `unnest`: each row several times. Stateless; kinds are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnnestSpec {
    /// What makes several rows of one.
    pub unnesting: Unnesting,
    /// The columns of the output.
    pub output: Schema,
}
