//! What is done with rows that a sink's table must not be given.

use rheos_core::connector::TableSpec;
use rheos_core::types::TypeKind;
use rheos_graph::{NodeId, NodeKind, Partitioning};
use rheos_operators::spec::ConstraintSpec;

use super::{Lowering, to_value};
use crate::error::SqlResult;
use crate::plan::Plan;

/// What is done with NULL for a column that is NOT NULL (`table.exec.sink.not-null-enforcer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NotNullEnforcer {
    /// The job fails.
    #[default]
    Error,
    /// The row is left out.
    Drop,
}

/// What is done with texts and bytes that are not of their column's length (`table.exec.sink.type-length-enforcer`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LengthEnforcer {
    /// They are written as they are.
    #[default]
    Ignore,
    /// They are cut, and CHAR and BINARY are filled up.
    TrimPad,
    /// The job fails where one is too long.
    Error,
}

impl NotNullEnforcer {
    /// What a setting says.
    pub fn of(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "ERROR" => Some(NotNullEnforcer::Error),
            "DROP" => Some(NotNullEnforcer::Drop),
            _ => None,
        }
    }
}

impl LengthEnforcer {
    /// What a setting says.
    pub fn of(text: &str) -> Option<Self> {
        match text.to_ascii_uppercase().as_str() {
            "IGNORE" => Some(LengthEnforcer::Ignore),
            "TRIM_PAD" => Some(LengthEnforcer::TrimPad),
            "ERROR" => Some(LengthEnforcer::Error),
            _ => None,
        }
    }
}

/// The length that a type of texts or bytes has; `None` where there is none to keep to.
fn length(kind: &TypeKind) -> Option<usize> {
    match kind {
        TypeKind::Char(n) | TypeKind::Varchar(n) | TypeKind::Binary(n) | TypeKind::Varbinary(n) => Some(*n as usize),
        _ => None,
    }
}

impl Lowering<'_> {
    /// The rows of `inputs` that the table can be given. Where the query's types say that all can, these are the inputs themselves.
    pub(super) fn enforced(&mut self, plan: &Plan, inputs: Vec<NodeId>, table: &TableSpec) -> SqlResult<Vec<NodeId>> {
        let pairs = || plan.columns.iter().enumerate().zip(table.schema.fields.iter().chain(&table.metadata));
        let not_null: Vec<usize> = pairs().filter(|((_, c), field)| c.ty.nullable && !field.ty.nullable).map(|((i, _), _)| i).collect();
        let mut lengths = Vec::new();
        if self.options.length_enforcer == LengthEnforcer::Error {
            for ((i, column), field) in pairs() {
                if let (Some(from), Some(to)) = (length(&column.ty.kind), length(&field.ty.kind))
                    && from > to
                {
                    lengths.push((i, to));
                }
            }
        }
        if not_null.is_empty() && lengths.is_empty() {
            return Ok(inputs);
        }
        let names: Vec<String> = pairs().map(|(_, field)| field.name.clone()).collect();
        let drops = self.options.not_null_enforcer == NotNullEnforcer::Drop;
        let all: Vec<&str> = not_null.iter().map(|i| names[*i].as_str()).collect();
        let checked: Vec<String> = lengths.iter().map(|(i, most)| format!("{} <= {most}", names[*i])).collect();
        let detail = format!("notNull=[{}], length=[{}], drops=[{drops}]", all.join(", "), checked.join(", "));
        let spec = to_value(&ConstraintSpec { table: table.name.clone(), names, not_null, drops, lengths })?;
        let mut enforced = Vec::with_capacity(inputs.len());
        for input in inputs {
            let kind = NodeKind::Operator { kind: "constraint-enforcer".into(), spec: spec.clone() };
            let p = self.graph.nodes[input].parallelism;
            let edge: [(&[NodeId], usize, Partitioning); 1] = [(&[input], 0, Partitioning::Forward)];
            enforced.push(self.node("ConstraintEnforcer", detail.clone(), kind, p, Some(plan.schema()), plan.changelog, &edge));
        }
        Ok(enforced)
    }
}
