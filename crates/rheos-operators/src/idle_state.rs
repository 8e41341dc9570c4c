//! State that nothing has touched for some time (`table.exec.state.ttl`) is forgotten.
//!
//! Time is that of the clock, in steps of a sixteenth of the time to live: a slot is forgotten when that time and at most a step more
//! have passed since it was touched last. After a restart the time begins anew.

use std::collections::BTreeMap;

use rheos_core::env::Env;
use rheos_core::time::TimestampMs;

/// When slots (of keys, or of rows) were touched last.
pub(crate) struct IdleState {
    /// `None` where they live for ever; nothing is noted then.
    ttl_ms: Option<i64>,
    step_ms: i64,
    env: Option<Env>,
    /// By slot: the step in which it was touched last.
    touched: Vec<i64>,
    /// By step, the slots touched in it; those touched later are in a later one as well.
    steps: BTreeMap<i64, Vec<u32>>,
}

impl IdleState {
    /// What is to live for `ttl_ms`; for ever without it, or where it is not above zero.
    pub(crate) fn new(ttl_ms: Option<i64>) -> Self {
        let ttl_ms = ttl_ms.filter(|ms| *ms > 0);
        IdleState { ttl_ms, step_ms: (ttl_ms.unwrap_or(0) / 16).max(1), env: None, touched: Vec::new(), steps: BTreeMap::new() }
    }

    /// Whether nothing is ever forgotten.
    pub(crate) fn is_endless(&self) -> bool {
        self.ttl_ms.is_none()
    }

    /// Gives it the clock.
    pub(crate) fn set_env(&mut self, env: Env) {
        self.env = Some(env);
    }

    fn now_ms(&self) -> TimestampMs {
        self.env.as_ref().map_or(0, |env| env.clock.now_ms())
    }

    /// These slots live on.
    pub(crate) fn touch(&mut self, slots: impl IntoIterator<Item = u32>) {
        if self.is_endless() {
            return;
        }
        let step = self.now_ms().div_euclid(self.step_ms);
        let mut of_step = None;
        for slot in slots {
            if self.touched.len() <= slot as usize {
                self.touched.resize(slot as usize + 1, i64::MIN);
            }
            let touched = &mut self.touched[slot as usize];
            if *touched != step {
                *touched = step;
                of_step.get_or_insert_with(Vec::new).push(slot);
            }
        }
        if let Some(slots) = of_step {
            self.steps.entry(step).or_default().extend(slots);
        }
    }

    /// When the next slot may have to be forgotten.
    pub(crate) fn next_ms(&self) -> Option<TimestampMs> {
        let (step, _) = self.steps.first_key_value()?;
        Some(step.saturating_add(1).saturating_mul(self.step_ms).saturating_add(self.ttl_ms?))
    }

    /// Takes out the slots whose time has come by `now_ms`, of those in use: whoever frees a slot need not say so here.
    pub(crate) fn take(&mut self, now_ms: TimestampMs, is_used: impl Fn(u32) -> bool) -> Vec<u32> {
        let mut idle = Vec::new();
        while self.next_ms().is_some_and(|at| at <= now_ms)
            && let Some((step, slots)) = self.steps.pop_first()
        {
            for slot in slots {
                let touched = &mut self.touched[slot as usize];
                if *touched == step {
                    *touched = i64::MIN;
                    idle.extend(is_used(slot).then_some(slot));
                }
            }
        }
        idle
    }
}

#[cfg(test)]
mod tests;
