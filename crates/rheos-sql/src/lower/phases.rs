//! Aggregation in two phases: rows become states of the aggregates before they cross an exchange, and are merged behind it.

use serde_json::Value;

use rheos_core::changelog::ChangelogMode;
use rheos_graph::{FormerEdge, KeySpec, NodeId, NodeKind, Partitioning};
use rheos_operators::spec::{AggregateCall, LocalAggregateSpec, WindowSpec};

use super::{Lowering, to_value};
use crate::error::SqlResult;
use crate::explain::{calls_text, column_names, describe};
use crate::plan::Plan;

/// The name of the first phase.
const LOCAL: &str = "LocalAggregate";
/// The inputs of an aggregate.
const ROWS: usize = 0;
const STATES: usize = 1;

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
    /// The first phase of an aggregation of `input`, if it can have one.
    pub(super) fn first_phase(
        &self,
        input: &Plan,
        keys: Vec<usize>,
        slices: Option<(usize, WindowSpec)>,
        calls: &[AggregateCall],
    ) -> Option<LocalAggregateSpec> {
        if !input.changelog.is_insert_only() {
            return None;
        }
        LocalAggregateSpec::of(input.schema(), keys, slices, calls)
    }

    /// An aggregation of `input`, whose rows come out of `inputs`, by hash of `by`; `local` is its first phase, if it can have one.
    ///
    /// In one phase and in two the operator is the same, under the same id, with the same state: only its input is another. A job may
    /// go on in other phases than a snapshot was taken in, and rows that were on their way then know where to go.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn aggregate(
        &mut self,
        plan: &Plan,
        input: &Plan,
        kind: &str,
        spec: Value,
        inputs: &[NodeId],
        by: &[usize],
        local: Option<LocalAggregateSpec>,
    ) -> SqlResult<NodeId> {
        let Some(local) = local else { return Ok(self.keyed(plan, kind, spec, inputs, by)) };
        let (name, detail) = describe(plan);
        let node = NodeKind::Operator { kind: kind.into(), spec };
        let uid = self.uid(name, &node, &[(inputs, ROWS, Partitioning::Forward)]);
        let local_node = NodeKind::Operator { kind: "local-aggregate".into(), spec: to_value(&local)? };
        let p = if by.is_empty() { 1 } else { self.options.parallelism };
        // Where the columns are by which rows are exchanged, in rows and in states.
        let of_rows = Partitioning::Hash(KeySpec::Columns(by.to_vec()));
        let in_states = by.iter().filter_map(|column| local.keys.iter().position(|key| key == column)).collect();
        let of_states = Partitioning::Hash(KeySpec::Columns(in_states));

        let is_exchanged = self.options.parallelism > 1 || inputs.iter().any(|node| self.graph.nodes[*node].parallelism > 1);
        let in_two = match self.options.aggregate_phases {
            AggregatePhases::Auto => is_exchanged && local.is_exact(),
            AggregatePhases::One => false,
            AggregatePhases::Two => true,
        };
        if !in_two {
            let of_locals: Vec<String> =
                inputs.iter().map(|from| self.uid(LOCAL, &local_node, &[(&[*from], ROWS, Partitioning::Forward)])).collect();
            let edge: [(&[NodeId], usize, Partitioning); 1] = [(inputs, ROWS, of_rows)];
            let id = self.node_of(uid, name, detail, node, p, Some(plan.schema()), plan.changelog, &edge);
            self.former(of_locals, id, STATES, &of_states);
            return Ok(id);
        }
        let local_detail = format!("groupBy=[{}], select=[{}]", column_names(input, &local.keys), calls_text(input, &local.aggregates));
        let mut locals = Vec::with_capacity(inputs.len());
        for from in inputs {
            let parallelism = self.graph.nodes[*from].parallelism;
            let edge: [(&[NodeId], usize, Partitioning); 1] = [(&[*from], ROWS, Partitioning::Forward)];
            let (schema, only_added) = (Some(local.output.clone()), ChangelogMode::InsertOnly);
            locals.push(self.node(LOCAL, local_detail.clone(), local_node.clone(), parallelism, schema, only_added, &edge));
        }
        let edge: [(&[NodeId], usize, Partitioning); 1] = [(&locals, STATES, of_states)];
        let id = self.node_of(uid, name, detail, node, p, Some(plan.schema()), plan.changelog, &edge);
        let of_inputs = inputs.iter().map(|from| self.graph.nodes[*from].uid.clone()).collect();
        self.former(of_inputs, id, ROWS, &of_rows);
        Ok(id)
    }

    /// Ways to a node that it has in the other number of phases.
    fn former(&mut self, from: Vec<String>, to: NodeId, port: usize, partitioning: &Partitioning) {
        let former = from.into_iter().map(|from| FormerEdge { from, to, port, partitioning: partitioning.clone() });
        self.graph.former.extend(former);
    }
}
