//! Expressions over rows of a match: what their columns stand for is looked up, for many matches at once.

use std::collections::VecDeque;

use arrow::array::{ArrayRef, new_empty_array};
use arrow::datatypes::DataType;
use rheos_core::env::Env;
use rheos_core::error::{Error, Result};
use rheos_expr::EvalConfig;
use rheos_expr::program::Program;
use rheos_state::{Slot, SlotColumns};

use super::automaton::{Pattern, Run};
use crate::aggregate::{AggregateSet, Rows};
use crate::row_store::{NO_ROW, RowStore};
use crate::spec::{MatchExprs, MatchReference};

/// The rows of a partition that are still looked at, by number.
#[derive(Debug, Default)]
pub(super) struct Numbered {
    /// The number of the first.
    pub(super) first: u64,
    /// Their slots in the store.
    pub(super) rows: VecDeque<u32>,
}

impl Numbered {
    /// The slot of a row; [`NO_ROW`] where it is gone or there never was one.
    pub(super) fn slot(&self, number: u64) -> u32 {
        let at = number.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.rows.get(at)).copied().unwrap_or(NO_ROW)
    }

    /// The number that the next row gets.
    pub(super) fn next(&self) -> u64 {
        self.first + self.rows.len() as u64
    }
}

/// A run of a partition with, where a row is tested, the variable that it is tested for.
pub(super) struct Subject<'a> {
    pub(super) rows: &'a Numbered,
    pub(super) run: &'a Run,
    /// The row tested comes right after the run's.
    pub(super) tested_for: Option<usize>,
}

impl Subject<'_> {
    /// The numbers of the rows of a variable, the row that is tested among them if it is tested for that.
    fn rows_of<'a>(&'a self, pattern: &'a Pattern, variable: Option<usize>) -> impl Iterator<Item = std::ops::Range<u64>> + 'a {
        let end = self.run.end();
        let tested = self.tested_for.filter(|t| variable.is_none_or(|v| v == *t)).map(|_| end..end + 1);
        pattern.rows_of(self.run, variable).chain(tested)
    }

    /// The row that is `offset` after the first, or before the last.
    fn nth(&self, pattern: &Pattern, variable: Option<usize>, offset: u64, from_end: bool) -> u32 {
        let count: u64 = self.rows_of(pattern, variable).map(|r| r.end - r.start).sum();
        if offset >= count {
            return NO_ROW;
        }
        let mut left = if from_end { count - 1 - offset } else { offset };
        for range in self.rows_of(pattern, variable) {
            let length = range.end - range.start;
            if left < length {
                return self.rows.slot(range.start + left);
            }
            left -= length;
        }
        NO_ROW
    }

    /// The number of the row that is tested, or of the last of the match.
    fn current(&self) -> u64 {
        if self.tested_for.is_some() { self.run.end() } else { self.run.end() - 1 }
    }

    fn resolve(&self, pattern: &Pattern, reference: &MatchReference) -> u32 {
        match reference {
            MatchReference::Current { .. } => self.rows.slot(self.current()),
            MatchReference::First { variable, offset, .. } => self.nth(pattern, *variable, *offset, false),
            MatchReference::Last { variable, offset, .. } => self.nth(pattern, *variable, *offset, true),
            MatchReference::Previous { offset, .. } => self.current().checked_sub(*offset).map_or(NO_ROW, |n| self.rows.slot(n)),
            MatchReference::Aggregate { .. } => NO_ROW,
        }
    }
}

/// Compiled expressions with their references.
pub(super) struct References {
    exprs: MatchExprs,
    program: Program,
    /// For each aggregate among the references, its accumulators.
    aggregates: Vec<Option<AggregateSet>>,
}

impl References {
    pub(super) fn compile(exprs: &MatchExprs, config: &EvalConfig) -> Result<Self> {
        let aggregate = |reference: &MatchReference| match reference {
            MatchReference::Aggregate { call, .. } => AggregateSet::new(std::slice::from_ref(call), false).map(Some),
            _ => Ok(None),
        };
        Ok(References {
            program: Program::compile(&exprs.exprs, config)?,
            aggregates: exprs.references.iter().map(aggregate).collect::<Result<_>>()?,
            exprs: exprs.clone(),
        })
    }

    /// Gives functions like NOW their clock.
    pub(super) fn set_env(&mut self, config: &EvalConfig, env: &Env) -> Result<()> {
        self.program = Program::compile(&self.exprs.exprs, config)?.with_env(env.clone());
        Ok(())
    }

    /// Whether the expressions read nothing but the row that is tested; then the columns that they read.
    pub(super) fn of_one_row(&self) -> Option<Vec<usize>> {
        let column = |reference: &MatchReference| match reference {
            MatchReference::Current { column } => Some(*column),
            _ => None,
        };
        self.exprs.references.iter().map(column).collect()
    }

    /// The values for columns as [`References::of_one_row`] gave them.
    pub(super) fn evaluate_rows(&mut self, columns: &[ArrayRef], rows: usize) -> Result<Vec<ArrayRef>> {
        self.program.evaluate(columns, rows)
    }

    /// The values for each subject.
    pub(super) fn evaluate(&mut self, pattern: &Pattern, store: &mut RowStore, subjects: &[Subject<'_>]) -> Result<Vec<ArrayRef>> {
        let mut columns = Vec::with_capacity(self.exprs.references.len());
        for (reference, aggregate) in self.exprs.references.iter().zip(&mut self.aggregates) {
            let column = match reference {
                MatchReference::Current { column }
                | MatchReference::First { column, .. }
                | MatchReference::Last { column, .. }
                | MatchReference::Previous { column, .. } => {
                    let slots: Vec<u32> = subjects.iter().map(|s| s.resolve(pattern, reference)).collect();
                    store.gather(&[*column], &slots)?.pop()
                }
                MatchReference::Aggregate { variable, .. } => {
                    let Some(aggregate) = aggregate else { return Err(Error::bug("an aggregate without accumulators")) };
                    aggregate_rows(aggregate, reference, *variable, pattern, store, subjects)?.pop()
                }
            };
            columns.push(column.ok_or_else(|| Error::bug("a reference without a column"))?);
        }
        self.program.evaluate(&columns, subjects.len())
    }
}

/// An aggregate over the rows of a variable, for each subject.
fn aggregate_rows(
    aggregate: &mut AggregateSet,
    reference: &MatchReference,
    variable: Option<usize>,
    pattern: &Pattern,
    store: &mut RowStore,
    subjects: &[Subject<'_>],
) -> Result<Vec<ArrayRef>> {
    let MatchReference::Aggregate { call, .. } = reference else { return Err(Error::bug("not an aggregate")) };
    let (mut slots, mut rows): (Vec<Slot>, Vec<u32>) = (Vec::new(), Vec::new());
    for (i, subject) in subjects.iter().enumerate() {
        for number in subject.rows_of(pattern, variable).flatten() {
            slots.push(i as Slot);
            rows.push(subject.rows.slot(number));
        }
    }
    let mut read: Vec<usize> = call.args.iter().copied().chain(call.filter).collect();
    read.sort_unstable();
    read.dedup();
    let mut columns: Vec<ArrayRef> = vec![new_empty_array(&DataType::Null); store.width()];
    for (at, column) in read.iter().zip(store.gather(&read, &rows)?) {
        columns[*at] = column;
    }
    let all: Vec<Slot> = (0..subjects.len() as Slot).collect();
    aggregate.grow(subjects.len());
    aggregate.update(&Rows { slots: &slots, rows: None, signs: None }, &columns)?;
    let values = aggregate.evaluate(&all)?;
    aggregate.clear(&all);
    Ok(values)
}
