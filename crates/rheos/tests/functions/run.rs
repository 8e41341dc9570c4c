//! Expressions bound by the planner and evaluated on one row.

use std::sync::{Arc, OnceLock};

use arrow::array::ArrayRef;
use rheos::{Error, SqlError};
use rheos_core::connector::TableSpec;
use rheos_core::env::Env;
use rheos_core::registry::Registry;
use rheos_core::schema::{Field, Schema};
use rheos_core::types::LogicalType;
use rheos_expr::program::Program;
use rheos_expr::{EvalConfig, Expr};
use rheos_sql::binder::Binder;
use rheos_sql::catalog::{Catalog, Relation, Table};
use rheos_sql::parser::{self, Statement};
use rheos_sql::plan::{Plan, Rel};

/// Why there is no value.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The planner refuses it.
    Planning(String),
    /// It fails on the row.
    Running(String),
}

impl From<SqlError> for Stop {
    fn from(e: SqlError) -> Stop {
        Stop::Planning(e.message)
    }
}

impl From<Error> for Stop {
    fn from(e: Error) -> Stop {
        Stop::Running(e.to_string())
    }
}

/// A column of one row, and its type.
pub(crate) type Cell = (ArrayRef, LogicalType);

/// What `SELECT sql` gives over a row of the fields `f0`, `f1`, ...
pub(crate) fn select(sql: &str, fields: &[Cell]) -> Result<Vec<Cell>, Stop> {
    let plan = plan(sql, fields)?;
    let columns = evaluate(&plan, fields)?;
    Ok(columns.into_iter().zip(plan.columns).map(|(column, c)| (column, c.ty)).collect())
}

/// The type of an expression without fields.
pub(crate) fn type_of(sql: &str) -> Option<LogicalType> {
    plan(sql, &[]).ok()?.columns.pop().map(|column| column.ty)
}

fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(rheos::registry)
}

fn plan(sql: &str, fields: &[Cell]) -> Result<Plan, Stop> {
    let from = if fields.is_empty() { "" } else { " FROM fields" };
    let mut statements = parser::parse(&format!("DROP TABLE fields; SELECT {sql}{from}"))?;
    let (Some(Statement::Query(query)), Some(Statement::Drop { name, .. })) =
        (statements.pop().map(|p| p.statement), statements.pop().map(|p| p.statement))
    else {
        return Err(Stop::Planning(format!("no query: {sql}")));
    };
    let mut catalog = Catalog::default();
    catalog.add(&name, Relation::Table(Arc::new(table(fields))), false)?;
    Ok(Binder::new(&catalog, registry()).bind(&query)?)
}

fn table(fields: &[Cell]) -> Table {
    let columns = Schema::new(fields.iter().enumerate().map(|(i, (_, ty))| Field::new(format!("f{i}"), ty.clone())).collect());
    let spec = TableSpec {
        name: "fields".into(),
        connector: "datagen".into(),
        schema: columns.clone(),
        primary_key: vec![],
        partition_keys: vec![],
        metadata: vec![],
        options: [("connector".to_string(), "datagen".to_string())].into(),
        projection: None,
        predicates: vec![],
        alternatives: vec![],
    };
    let exprs = fields.iter().enumerate().map(|(i, (_, ty))| Expr::column(i, ty.clone())).collect();
    Table { spec, columns, exprs, metadata: vec![], watermark: None }
}

fn evaluate(plan: &Plan, fields: &[Cell]) -> Result<Vec<ArrayRef>, Stop> {
    match &plan.rel {
        Rel::Scan { .. } => Ok(fields.iter().map(|(column, _)| Arc::clone(column)).collect()),
        Rel::Values { rows } => {
            let rows: Vec<Expr> = rows.iter().flatten().cloned().collect();
            compute(&rows, &[])
        }
        Rel::Calc { input, condition: None, projections } => compute(projections, &evaluate(input, fields)?),
        other => Err(Stop::Planning(format!("a plan that is no projection: {other:?}"))),
    }
}

fn compute(exprs: &[Expr], columns: &[ArrayRef]) -> Result<Vec<ArrayRef>, Stop> {
    let mut program = Program::compile(exprs, &EvalConfig::default())?.with_env(Env::manual(1));
    Ok(program.evaluate(columns, 1)?)
}
