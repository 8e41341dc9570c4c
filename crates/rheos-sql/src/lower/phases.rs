//! Aggregation in two phases: rows become states of the aggregates before they cross an exchange, and are merged behind it.

use serde_json::Value;

use rheos_core::changelog::ChangelogMode;
use rheos_graph::{KeySpec, NodeId, NodeKind, Partitioning};
use rheos_operators::spec::{AggregateCall, LocalAggregateSpec, WindowSpec};

use super::{Lowering, to_value};
use crate::error::SqlResult;
use crate::explain::{calls_text, column_names, describe};
use crate::plan::{Plan, Rel};

/// In how many phases rows are aggregated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AggregatePhases {
    /// In two where rows are exchanged and the result is the same to the last digit.
    #[default]
    Auto,
    /// In one.
    One,
    /// In two wherever that is possible. Floating-point sums may differ in their last digits then.
    Two,
}

impl AggregatePhases {
    /// What a setting says.
    pub fn of(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "AUTO" => AggregatePhases::Auto,
            "ONE_PHASE" => AggregatePhases::One,
            "TWO_PHASE" => AggregatePhases::Two,
            _ => return None,
        })
    }
}

impl Lowering<'_> {
    /// The first phase of an aggregation of `input`, whose rows come out of `inputs`, if it is to have one.
    pub(super) fn local_aggregate(
        &self,
        input: &Plan,
        keys: Vec<usize>,
        slices: Option<(usize, WindowSpec)>,
        calls: &[AggregateCall],
        inputs: &[NodeId],
    ) -> Option<LocalAggregateSpec> {
        let asked = self.options.aggregate_phases;
        let is_exchanged = self.options.parallelism > 1 || inputs.iter().any(|node| self.graph.nodes[*node].parallelism > 1);
        let wanted = match asked {
            AggregatePhases::Auto => is_exchanged,
            AggregatePhases::One => false,
            AggregatePhases::Two => true,
        };
        if !wanted || !input.changelog.is_insert_only() {
            return None;
        }
        LocalAggregateSpec::of(input.schema(), keys, slices, calls, asked == AggregatePhases::Two)
    }

    /// An aggregation by hash of `by`, of which `spec` says what it is in one phase. `phases` has the specification that merges states, and
    /// the first phase. The id is that of one phase: the state is the same, and a job that goes on from a snapshot may have other phases.
    pub(super) fn aggregate(
        &mut self,
        plan: &Plan,
        kind: &str,
        spec: Value,
        inputs: &[NodeId],
        by: &[usize],
        phases: Option<(Value, LocalAggregateSpec)>,
    ) -> SqlResult<NodeId> {
        let Some((merging, local)) = phases else { return Ok(self.keyed(plan, kind, spec, inputs, by)) };
        let (name, detail) = describe(plan);
        let one_phase = NodeKind::Operator { kind: kind.into(), spec };
        let uid = self.uid(name, &one_phase, &[(inputs, 0, Partitioning::Forward)]);
        // Where the columns are by which rows are exchanged.
        let exchanged = by.iter().filter_map(|column| local.keys.iter().position(|key| key == column)).collect();
        let input = match &plan.rel {
            Rel::Aggregate { input, .. } | Rel::WindowAggregate { input, .. } => input,
            _ => plan,
        };
        let local_detail = format!("groupBy=[{}], select=[{}]", column_names(input, &local.keys), calls_text(input, &local.aggregates));
        let (schema, local_spec) = (local.output.clone(), to_value(&local)?);
        let mut locals = Vec::with_capacity(inputs.len());
        for from in inputs {
            let node = NodeKind::Operator { kind: "local-aggregate".into(), spec: local_spec.clone() };
            let p = self.graph.nodes[*from].parallelism;
            let edge: [(&[NodeId], usize, Partitioning); 1] = [(&[*from], 0, Partitioning::Forward)];
            let (schema, only_added) = (Some(schema.clone()), ChangelogMode::InsertOnly);
            locals.push(self.node("LocalAggregate", local_detail.clone(), node, p, schema, only_added, &edge));
        }
        let p = if by.is_empty() { 1 } else { self.options.parallelism };
        let node = NodeKind::Operator { kind: kind.into(), spec: merging };
        let edge: [(&[NodeId], usize, Partitioning); 1] = [(&locals, 0, Partitioning::Hash(KeySpec::Columns(exchanged)))];
        Ok(self.node_of(uid, name, detail, node, p, Some(plan.schema()), plan.changelog, &edge))
    }
}
