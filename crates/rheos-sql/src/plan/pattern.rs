//! What a pattern reads of its input.

use rheos_expr::Expr;
use rheos_operators::spec::{MatchExprs, MatchReference, SortKey};

use super::MatchPattern;

/// Renumbers what a reference reads.
fn map_reference(reference: MatchReference, map: &[usize]) -> MatchReference {
    use MatchReference as R;
    match reference {
        R::Current { column } => R::Current { column: map[column] },
        R::First { variable, column, offset } => R::First { variable, column: map[column], offset },
        R::Last { variable, column, offset } => R::Last { variable, column: map[column], offset },
        R::Previous { column, offset } => R::Previous { column: map[column], offset },
        R::Aggregate { variable, mut call } => {
            call.args.iter_mut().for_each(|a| *a = map[*a]);
            call.filter = call.filter.map(|f| map[f]);
            R::Aggregate { variable, call }
        }
    }
}

fn columns_of(exprs: &MatchExprs) -> impl Iterator<Item = usize> + '_ {
    exprs.references.iter().flat_map(|reference| match reference {
        MatchReference::Current { column }
        | MatchReference::First { column, .. }
        | MatchReference::Last { column, .. }
        | MatchReference::Previous { column, .. } => vec![*column],
        MatchReference::Aggregate { call, .. } => call.args.iter().copied().chain(call.filter).collect(),
    })
}

impl MatchPattern {
    /// The columns of the input that it reads.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.partition.clone();
        columns.push(self.time);
        columns.extend(self.order.iter().map(|o| o.column));
        self.defines.iter().flatten().chain([&self.measures]).for_each(|exprs| columns.extend(columns_of(exprs)));
        columns
    }

    /// The same over an input whose column `i` is column `map[i]` of the old one's.
    pub(crate) fn map(mut self, map: &[usize]) -> MatchPattern {
        let over = |exprs: MatchExprs| MatchExprs {
            references: exprs.references.into_iter().map(|r| map_reference(r, map)).collect(),
            exprs: exprs.exprs,
        };
        self.partition.iter_mut().for_each(|p| *p = map[*p]);
        self.time = map[self.time];
        self.order = self.order.iter().map(|o| SortKey { column: map[o.column], ..*o }).collect();
        self.defines = self.defines.into_iter().map(|d| d.map(over)).collect();
        self.measures = over(self.measures);
        self
    }
}

/// Leaves out the references that no expression reads.
pub(crate) fn forget_unused(exprs: MatchExprs) -> MatchExprs {
    let mut used: Vec<usize> = exprs.exprs.iter().flat_map(Expr::columns).collect();
    used.sort_unstable();
    used.dedup();
    let renumbered = |e: Expr| {
        e.transform(&mut |e| match e {
            Expr::Column { index, ty } => Expr::Column { index: used.iter().position(|u| *u == index).unwrap_or(index), ty },
            other => other,
        })
    };
    MatchExprs {
        exprs: exprs.exprs.into_iter().map(renumbered).collect(),
        references: used.iter().map(|u| exprs.references[*u].clone()).collect(),
    }
}
