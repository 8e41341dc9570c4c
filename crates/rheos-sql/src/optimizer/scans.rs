//! One scan for all uses of a table: it is read once, and its rows come to all of its uses at one pace.
//!
//! Two scans of a table would each run as fast as what follows them. A join of the one with the other holds all that the faster
//! one is ahead, without a bound; windows of the faster one wait for the slower. So the scans of a job that differ only in the
//! columns and rows that they want become one, which reads what any of them wants; each use then takes what is its own.

use std::sync::Arc;

use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue, TableSpec};
use rheos_expr::{Expr, build};

use super::prune::{collect_paths, covering, over_paths};
use super::{calcs, renamed};
use crate::binder::and_all;
use crate::error::{SqlError, SqlResult};
use crate::plan::{JoinScope, Plan, Rel};

/// Rewrites the plans of one job, each optimized by itself; each keeps its columns.
pub fn share_scans(plans: Vec<Plan>) -> SqlResult<Vec<Plan>> {
    let mut tables = Vec::new();
    plans.iter().for_each(|plan| collect(plan, &mut tables));
    tables.retain(|table: &Uses| table.asked.len() > 1);
    let shared = tables.into_iter().map(Shared::of).collect::<Vec<_>>();
    let rewritten = plans.into_iter().map(|plan| if shared.is_empty() { Ok(plan) } else { rewrite(plan, &shared) });
    rewritten.collect()
}

/// The scans of one table.
struct Uses<'a> {
    /// One of them.
    scan: &'a Plan,
    /// What each asks for; none twice.
    asked: Vec<&'a TableSpec>,
}

fn collect<'a>(plan: &'a Plan, tables: &mut Vec<Uses<'a>>) {
    if let Rel::Scan { spec, .. } = &plan.rel {
        match tables.iter_mut().find(|of| is_same_table(of.scan, plan)) {
            Some(of) if of.asked.contains(&spec) => {}
            Some(of) => of.asked.push(spec),
            None => tables.push(Uses { scan: plan, asked: vec![spec] }),
        }
    }
    scanned_inputs(plan).into_iter().for_each(|input| collect(input, tables));
}

/// The inputs whose tables are scanned: a table that is looked up is read by the join itself.
fn scanned_inputs(plan: &Plan) -> Vec<&Plan> {
    match &plan.rel {
        Rel::Join { left, scope: JoinScope::Lookup, .. } => vec![left],
        _ => plan.inputs(),
    }
}

/// Whether two scans read the same, the columns and the rows that they want aside.
fn is_same_table(a: &Plan, b: &Plan) -> bool {
    let (Rel::Scan { table: of_a, .. }, Rel::Scan { table: of_b, .. }) = (&a.rel, &b.rel) else { return false };
    (Arc::ptr_eq(of_a, of_b) || of_a == of_b) && a.changelog == b.changelog
}

/// The scan that serves all uses of a table.
struct Shared {
    scan: Plan,
    /// What it reads; `None`: whole columns, all of them.
    paths: Option<Vec<ColumnPath>>,
    /// The conditions that all uses have.
    common: Vec<Predicate>,
}

impl Shared {
    fn of(uses: Uses<'_>) -> Shared {
        let Uses { scan, asked } = uses;
        let Rel::Scan { table, .. } = &scan.rel else { unreachable!("uses are collected of scans") };
        let common: Vec<Predicate> =
            asked[0].predicates.iter().filter(|p| asked.iter().all(|spec| spec.predicates.contains(p))).cloned().collect();
        let own = |spec: &TableSpec| spec.predicates.iter().filter(|p| !common.contains(p)).cloned().collect::<Vec<_>>();
        let mut alternatives: Vec<Vec<Predicate>> = asked.iter().map(|spec| own(spec)).collect();
        if alternatives.iter().any(Vec::is_empty) {
            alternatives.clear();
        }

        let mut watermark = table.watermark.as_ref().map(|(_, expr)| expr.clone());
        let paths = asked.iter().map(|spec| spec.projection.clone()).collect::<Option<Vec<_>>>().map(|of_uses| {
            let mut paths: Vec<ColumnPath> = of_uses.into_iter().flatten().collect();
            paths.extend(asked.iter().flat_map(|spec| own(spec)).map(|predicate| predicate.path));
            watermark.iter().for_each(|expr| collect_paths(expr, &mut paths));
            covering(paths)
        });
        if let Some(paths) = &paths {
            watermark = watermark.map(|expr| over_paths(expr, paths));
        }
        let spec = TableSpec { projection: paths.clone(), predicates: common.clone(), alternatives, ..table.spec.clone() };
        let scan = Plan::scan_of(table, spec, watermark, scan.changelog, scan.bounded);
        Shared { scan, paths, common }
    }

    /// What a use of its own would give.
    fn serve(&self, old: &Plan, asked: &TableSpec) -> Result<Plan, String> {
        let whole = || (0..asked.width()).map(|column| ColumnPath { column, fields: vec![] }).collect();
        let wanted = asked.projection.clone().unwrap_or_else(whole);
        let projections = wanted.iter().map(|path| self.read(asked, path)).collect::<Result<_, _>>()?;
        let own = asked.predicates.iter().filter(|p| !self.common.contains(p));
        let conditions = own.map(|p| self.condition(asked, p)).collect::<Result<Vec<_>, _>>()?;
        let condition = and_all(conditions).map_err(|e| e.message)?;
        Ok(renamed(old, Plan::calc(self.scan.clone(), condition, projections, old.names())))
    }

    /// What lies at a path of the table.
    fn read(&self, table: &TableSpec, path: &ColumnPath) -> Result<Expr, String> {
        let mut expr = Expr::column(path.column, table.column(path.column).ty.clone());
        for step in &path.fields {
            expr = build::call("FIELD", vec![expr, build::literal_int(*step as i64)])?;
        }
        Ok(match &self.paths {
            Some(paths) => over_paths(expr, paths),
            None => expr,
        })
    }

    fn condition(&self, table: &TableSpec, predicate: &Predicate) -> Result<Expr, String> {
        let value = match &predicate.value {
            PredicateValue::Int(n) => build::literal_int(*n),
            PredicateValue::Text(text) => build::literal_text(text),
            PredicateValue::Bool(b) => build::literal_bool(*b),
        };
        let operator = match predicate.comparison {
            Comparison::Equal => "=",
            Comparison::NotEqual => "<>",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
        };
        build::call(operator, vec![self.read(table, &predicate.path)?, value])
    }
}

fn rewrite(plan: Plan, shared: &[Shared]) -> SqlResult<Plan> {
    let mut failed = None;
    let plan = serve_all(plan, shared, &mut failed);
    match failed {
        Some(message) => Err(SqlError::new(message)),
        None => Ok(renamed(&plan.clone(), calcs::merge(plan))),
    }
}

fn serve_all(plan: Plan, shared: &[Shared], failed: &mut Option<String>) -> Plan {
    if let Rel::Scan { spec, .. } = &plan.rel
        && let Some(of) = shared.iter().find(|s| is_same_table(&s.scan, &plan))
    {
        match of.serve(&plan, spec) {
            Ok(served) => return served,
            Err(message) => *failed = Some(message),
        }
        return plan;
    }
    // The left input comes first.
    let mut scanned = scanned_inputs(&plan).len();
    plan.map_inputs(|input| match scanned.checked_sub(1) {
        None => input,
        Some(left) => {
            scanned = left;
            serve_all(input, shared, failed)
        }
    })
}
