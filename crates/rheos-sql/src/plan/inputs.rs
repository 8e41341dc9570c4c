//! A plan's inputs: looked at, and replaced.

use super::{Column, Plan, Rel};

impl Plan {
    /// The inputs.
    pub fn inputs(&self) -> Vec<&Plan> {
        match &self.rel {
            Rel::Scan { .. } | Rel::Values { .. } => vec![],
            Rel::Calc { input, .. }
            | Rel::Expand { input, .. }
            | Rel::WindowTable { input, .. }
            | Rel::Aggregate { input, .. }
            | Rel::WindowAggregate { input, .. }
            | Rel::Over { input, .. }
            | Rel::Match { input, .. }
            | Rel::Stream { input, .. }
            | Rel::Unnest { input, .. }
            | Rel::Rank { input, .. }
            | Rel::Limit { input, .. } => vec![input],
            Rel::Join { left, right, .. } => vec![left, right],
            Rel::Union { inputs } => inputs.iter().collect(),
        }
    }

    /// The same plan over other inputs of the same columns; what is known of it is derived anew, names and types stay, and so do row
    /// times.
    pub fn map_inputs(self, mut f: impl FnMut(Plan) -> Plan) -> Plan {
        let old = self.columns.clone();
        let state_ttl_ms = self.state_ttl_ms;
        let names = |from: usize, to: usize| old[from..to].iter().map(|c| c.name.clone()).collect::<Vec<_>>();
        let mut boxed = |p: Box<Plan>| f(*p);
        let mut plan = match self.rel {
            Rel::Scan { .. } | Rel::Values { .. } => return self,
            Rel::Calc { input, condition, projections } => Plan::calc(boxed(input), condition, projections, names(0, old.len())),
            Rel::Expand { input, projections } => Plan::expand(boxed(input), projections, old.clone()),
            Rel::WindowTable { input, time, window, keys } => Plan::window_table(boxed(input), time, window, keys),
            Rel::Aggregate { input, keys, calls } => {
                let names = names(keys.len(), old.len());
                Plan::aggregate(boxed(input), keys, calls, names)
            }
            Rel::WindowAggregate { input, windowing, window, keys, calls, properties, time_ty } => {
                let names = names(keys.len(), keys.len() + calls.len());
                Plan::window_aggregate(boxed(input), windowing, window, keys, calls, names, properties, time_ty)
            }
            Rel::Join { left, right, kind, left_keys, right_keys, condition, scope } => {
                let left = boxed(left);
                Plan::join(left, boxed(right), kind, (left_keys, right_keys), condition, scope)
            }
            Rel::Union { inputs } => Plan::union(inputs.into_iter().map(f).collect()),
            Rel::Over { input, partition, order, calls, .. } => {
                let names = names(old.len() - calls.len(), old.len());
                Plan::over(boxed(input), partition, order, calls, names)
            }
            Rel::Stream { input, mode } => Plan::stream(boxed(input), mode),
            Rel::Match { input, pattern } => Plan::pattern(boxed(input), *pattern),
            Rel::Unnest { input, unnesting } => {
                let elements = old[input.columns.len()..].to_vec();
                Plan::unnest(boxed(input), unnesting, elements)
            }
            Rel::Rank { input, partition, order, start, end, rank_column, strategy } => {
                let name = rank_column.then(|| old[old.len() - 1].name.clone());
                Plan::rank(boxed(input), partition, order, (start, end), name, strategy)
            }
            Rel::Limit { input, offset, fetch } => Plan::limit(boxed(input), offset, fetch),
        };
        plan.state_ttl_ms = state_ttl_ms;
        for (column, old) in plan.columns.iter_mut().zip(old) {
            let time = column.time.or(old.time);
            *column = Column { time, ..old };
        }
        plan
    }
}
