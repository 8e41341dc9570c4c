//! Which operator holds a job back: found by comparing how tasks spend their time.
//!
//! A task that cannot keep up is busy all the time, those before it wait for room in their output, those after it for input. So it is
//! the busiest task that does not itself wait for room. Among the instances of one task, one that is much busier than the others is
//! told by its number: it has more rows to do (skew), or does as many more slowly (straggler).

use std::collections::BTreeMap;

use rheos_graph::{JobMetrics, TaskId, TaskReport};
use serde::Serialize;
use utoipa::ToSchema;

/// A task that is busy for this part of its time holds the job back, also where nobody waits for it: a source.
const BUSY: f64 = 0.5;
/// A task that waits for room for this part of its time is held back.
const HELD_BACK: f64 = 0.2;
/// How much busier than the others an instance is that is told by its number.
const OUTSTANDING: f64 = 1.5;

/// What a subtask did between two moments. Parts are of the time between.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct SubtaskRates {
    /// Which instance.
    pub index: usize,
    /// The part of useful time.
    pub useful: f64,
    /// The part of waiting for input.
    pub waits_for_input: f64,
    /// The part of waiting for room in its output.
    pub waits_for_output: f64,
    /// Rows taken in a second.
    pub rows_in_per_s: f64,
    /// Rows given a second.
    pub rows_out_per_s: f64,
    /// Rows taken in all.
    pub rows_in: u64,
    /// Rows given in all.
    pub rows_out: u64,
    /// What waits in its inbox, as a part of what may wait there.
    pub queue_occupancy: f64,
    /// How far event time has come, in milliseconds since the epoch; `None` before the first watermark and after the last.
    pub watermark_ms: Option<i64>,
    /// The part of useful time of each operator of its chain.
    pub operators: Vec<OperatorRate>,
}

/// What an operator of a subtask did.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct OperatorRate {
    /// Its name.
    pub name: String,
    /// Its stable id.
    pub uid: String,
    /// The part of the time between.
    pub useful: f64,
    /// Rows in its state.
    pub state_rows: i64,
    /// Rows that came too late and were dropped.
    pub late_rows: u64,
    /// Records that could not be read and were skipped.
    pub bad_records: u64,
}

/// What all instances of a task did.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct TaskRates {
    /// Which task.
    pub task: TaskId,
    /// The names of its operators.
    pub name: String,
    /// Its instances.
    pub subtasks: Vec<SubtaskRates>,
}

/// What holds a job back.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Bottleneck {
    /// The operator.
    pub operator: String,
    /// Its stable id.
    pub uid: String,
    /// The task that it is in.
    pub task: TaskId,
    /// The instance, where one is much busier than the others.
    pub index: Option<usize>,
    /// The part of its time that the task is busy.
    pub useful: f64,
    /// In words.
    pub why: String,
}

/// What tasks did between two moments that lie `elapsed_ns` apart. Subtasks that began in between are taken from their beginning.
pub fn rates(before: &JobMetrics, now: &JobMetrics, elapsed_ns: u64) -> Vec<TaskRates> {
    let earlier: BTreeMap<(TaskId, usize), &TaskReport> = before.tasks.iter().map(|t| ((t.task, t.index), t)).collect();
    let mut tasks: BTreeMap<TaskId, TaskRates> = BTreeMap::new();
    for report in &now.tasks {
        // Numbers that fell are those of a new attempt.
        let before = earlier
            .get(&(report.task, report.index))
            .copied()
            .filter(|b| b.rows_in <= report.rows_in && b.useful_ns() <= report.useful_ns());
        let rates = subtask(before, report, elapsed_ns.max(1));
        let task = tasks.entry(report.task);
        task.or_insert_with(|| TaskRates { task: report.task, name: report.name.clone(), subtasks: Vec::new() }).subtasks.push(rates);
    }
    tasks.into_values().collect()
}

fn subtask(before: Option<&TaskReport>, now: &TaskReport, elapsed_ns: u64) -> SubtaskRates {
    let part = |of: fn(&TaskReport) -> u64| {
        let ns = of(now).saturating_sub(before.map_or(0, of));
        (ns as f64 / elapsed_ns as f64).min(1.0)
    };
    let per_s = |of: fn(&TaskReport) -> u64| of(now).saturating_sub(before.map_or(0, of)) as f64 * 1e9 / elapsed_ns as f64;
    let operators = now.operators.iter().enumerate().map(|(i, operator)| {
        let earlier = before.and_then(|b| b.operators.get(i)).map_or(0, |o| o.process_ns);
        OperatorRate {
            name: operator.name.clone(),
            uid: operator.uid.clone(),
            useful: (operator.process_ns.saturating_sub(earlier) as f64 / elapsed_ns as f64).min(1.0),
            state_rows: operator.state_rows,
            late_rows: operator.late_rows,
            bad_records: operator.bad_records,
        }
    });
    SubtaskRates {
        index: now.index,
        useful: part(TaskReport::useful_ns),
        waits_for_input: part(|t| t.wait_input_ns),
        waits_for_output: part(|t| t.wait_output_ns),
        rows_in_per_s: per_s(|t| t.rows_in),
        rows_out_per_s: per_s(|t| t.rows_out),
        rows_in: now.rows_in,
        rows_out: now.rows_out,
        queue_occupancy: if now.queue_capacity_bytes > 0 {
            (now.queued_bytes as f64 / now.queue_capacity_bytes as f64).clamp(0.0, 1.0)
        } else {
            0.0
        },
        watermark_ms: Some(now.watermark_ms).filter(|at| *at != i64::MIN && *at != i64::MAX),
        operators: operators.collect(),
    }
}

/// What holds the job back, if anything does.
pub fn bottleneck(tasks: &[TaskRates]) -> Option<Bottleneck> {
    let busiest = |task: &TaskRates| -> Option<SubtaskRates> {
        let free = task.subtasks.iter().filter(|s| s.waits_for_output < BUSY);
        free.max_by(|a, b| a.useful.total_cmp(&b.useful)).cloned()
    };
    let candidates = tasks.iter().filter_map(|task| Some((task, busiest(task)?)));
    // Where tasks share processors, none may be busy half of the time though somebody waits for it.
    let is_held_back = tasks.iter().flat_map(|task| &task.subtasks).any(|s| s.waits_for_output >= HELD_BACK);
    let (task, subtask) = candidates.max_by(|(_, a), (_, b)| a.useful.total_cmp(&b.useful))?;
    if subtask.useful < BUSY && !is_held_back {
        return None;
    }
    let operator = subtask.operators.iter().max_by(|a, b| a.useful.total_cmp(&b.useful))?;
    let others: Vec<&SubtaskRates> = task.subtasks.iter().filter(|s| s.index != subtask.index).collect();
    let mean = |of: fn(&SubtaskRates) -> f64| others.iter().map(|s| of(s)).sum::<f64>() / others.len() as f64;
    let percent = |part: f64| format!("{:.0} %", part * 100.0);
    let name = &operator.name;
    let (index, why) = if others.is_empty() || subtask.useful < mean(|s| s.useful) * OUTSTANDING {
        (None, format!("{name} is busy {} of the time, and what is before it waits", percent(subtask.useful)))
    } else if subtask.rows_in_per_s >= mean(|s| s.rows_in_per_s) * OUTSTANDING {
        let times = subtask.rows_in_per_s / mean(|s| s.rows_in_per_s).max(1e-9);
        let times = if times < 1000.0 { format!("{times:.1} times") } else { "nearly all of".to_string() };
        (Some(subtask.index), format!("skew: instance {} of {name} gets {times} the rows of the others", subtask.index))
    } else {
        let of_others = percent(mean(|s| s.useful));
        let why = format!(
            "straggler: instance {} of {name} is busy {} of the time, the others {of_others}",
            subtask.index,
            percent(subtask.useful)
        );
        (Some(subtask.index), why)
    };
    Some(Bottleneck { operator: operator.name.clone(), uid: operator.uid.clone(), task: task.task, index, useful: subtask.useful, why })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subtask(index: usize, useful: f64, waits_for_output: f64, rows_in_per_s: f64, operators: &[(&str, f64)]) -> SubtaskRates {
        SubtaskRates {
            index,
            useful,
            waits_for_input: 0.0,
            waits_for_output,
            rows_in_per_s,
            rows_out_per_s: 0.0,
            rows_in: 0,
            rows_out: 0,
            queue_occupancy: 0.0,
            watermark_ms: None,
            operators: operators
                .iter()
                .map(|(name, useful)| OperatorRate {
                    name: name.to_string(),
                    uid: name.to_string(),
                    useful: *useful,
                    state_rows: 0,
                    late_rows: 0,
                    bad_records: 0,
                })
                .collect(),
        }
    }

    fn task(task: usize, subtasks: Vec<SubtaskRates>) -> TaskRates {
        TaskRates { task, name: String::new(), subtasks }
    }

    #[test]
    fn the_task_is_named_before_which_others_wait_and_in_it_the_operator_that_takes_the_time() {
        let source = task(0, vec![subtask(0, 0.1, 0.9, 0.0, &[("Source", 0.1)])]);
        let slow = task(1, vec![subtask(0, 0.97, 0.0, 0.0, &[("Calc", 0.02), ("Join", 0.9)])]);
        let sink = task(2, vec![subtask(0, 0.05, 0.0, 0.0, &[("Sink", 0.05)])]);
        let found = bottleneck(&[source, slow, sink]).unwrap();
        assert_eq!((found.operator.as_str(), found.task, found.index), ("Join", 1, None));
    }

    #[test]
    fn nothing_is_named_where_all_wait_for_input() {
        assert_eq!(bottleneck(&[task(0, vec![subtask(0, 0.2, 0.0, 0.0, &[("Source", 0.2)])])]), None);
        assert_eq!(bottleneck(&[]), None);
    }

    #[test]
    fn skew_and_stragglers_are_told_apart() {
        let skewed = task(0, vec![subtask(0, 0.2, 0.0, 10.0, &[("Count", 0.2)]), subtask(1, 0.95, 0.0, 90.0, &[("Count", 0.9)])]);
        let found = bottleneck(&[skewed]).unwrap();
        assert_eq!((found.index, &found.why[..4]), (Some(1), "skew"));
        let slow = task(0, vec![subtask(0, 0.9, 0.0, 50.0, &[("Count", 0.9)]), subtask(1, 0.2, 0.0, 50.0, &[("Count", 0.2)])]);
        let found = bottleneck(&[slow]).unwrap();
        assert_eq!((found.index, &found.why[..9]), (Some(0), "straggler"));
    }
}
