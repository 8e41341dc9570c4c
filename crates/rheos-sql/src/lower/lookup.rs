//! What a lookup join is told: the table of its right side, and what becomes of the rows that are found.

use rheos_expr::Expr;
use rheos_operators::spec::{CalcSpec, LookupCache, LookupJoinSpec};

use super::Lowering;
use crate::error::{SqlError, SqlResult};
use crate::plan::{JoinScope, Plan, Rel};

impl Lowering<'_> {
    /// The specification of a join of scope [`JoinScope::Lookup`].
    pub(super) fn lookup(&self, plan: &Plan) -> SqlResult<LookupJoinSpec> {
        let Rel::Join { left, right, kind, left_keys, right_keys, condition, scope: JoinScope::Lookup } = &plan.rel else {
            return Err(SqlError::new("a lookup join was expected"));
        };
        let (scan, filter, projections) = match &right.rel {
            Rel::Scan { .. } => (&**right, None, right.all_columns()),
            Rel::Calc { input, condition, projections } => (&**input, condition.clone(), projections.clone()),
            _ => (&**right, None, vec![]),
        };
        let Rel::Scan { spec: table, .. } = &scan.rel else {
            let error = SqlError::new("FOR SYSTEM_TIME AS OF a processing time looks up a table, but the right side is more than that");
            return Err(error.hint(Some("name a table, or a view that filters and projects one; join what else there is behind it".into())));
        };
        if !scan.changelog.is_insert_only() {
            let error = SqlError::new(format!("'{}' gives changes: it cannot be looked up", table.name));
            return Err(error.hint(Some("a join without FOR SYSTEM_TIME keeps up with changes of both sides".into())));
        }
        if left_keys.is_empty() {
            let error = SqlError::new(format!("nothing says which rows of '{}' are to be looked up", table.name));
            return Err(error.hint(Some(format!("compare a column of '{}' with one of the left side by '=' in ON", table.name))));
        }
        // The table's own columns behind the keys.
        let column_of = |key: &usize| match &projections[*key] {
            Expr::Column { index, .. } => match &table.projection {
                None => Some(*index),
                Some(paths) => paths.get(*index).filter(|path| path.fields.is_empty()).map(|path| path.column),
            },
            _ => None,
        };
        let asked_by: Option<Vec<usize>> = right_keys.iter().map(column_of).collect();
        let source = self.registry.connector(&table.connector).and_then(|connector| connector.source.as_ref());
        let source = source.ok_or_else(|| SqlError::new(format!("'{}' cannot be read", table.name)))?;
        let cache = LookupCache::of(table, source.as_ref(), asked_by.as_deref())?;
        let output = right.schema();
        let config = self.options.config.clone();
        Ok(LookupJoinSpec {
            kind: *kind,
            left: left.schema(),
            left_keys: left_keys.clone(),
            table: table.clone(),
            right: CalcSpec { condition: filter, projections, output, config: config.clone() },
            right_keys: right_keys.clone(),
            asked_by: asked_by.unwrap_or_default(),
            condition: condition.clone(),
            cache,
            max_retries: LookupCache::max_retries(table)?,
            timeout_ms: self.options.lookup_timeout_ms,
            output: plan.schema(),
            config,
        })
    }
}
