//! Which slot runs which subtask: load is spread, and what is joined by forward edges stays together.

use rheos_graph::{Partitioning, TaskGraph};

/// The slots that a job takes: as many as its widest task has instances.
pub(crate) fn slots_of(graph: &TaskGraph) -> usize {
    graph.tasks.iter().map(|task| task.parallelism).max().unwrap_or(0)
}

/// By task and instance the slot, from 0 to [`slots_of`].
///
/// A slot holds one instance of as many tasks as possible (as slot sharing does in Flink), so that rows between instances of equal
/// number stay in a process. Tasks that forward to each other get the same slots; narrower ones than the widest get those that hold
/// least so far.
pub(crate) fn place(graph: &TaskGraph) -> Vec<Vec<usize>> {
    let slots = slots_of(graph);
    let mut held = vec![0; slots];
    let mut placed: Vec<Option<Vec<usize>>> = vec![None; graph.tasks.len()];
    for task in &graph.tasks {
        // Edges go forward: whoever forwards to this task is placed by now, and all of them in the same way.
        let forwarded = graph.edges.iter().find(|e| e.to == task.id && e.partitioning == Partitioning::Forward);
        let of_task = forwarded.and_then(|edge| placed[edge.from].clone()).unwrap_or_else(|| least_held(&held, task.parallelism));
        of_task.iter().for_each(|slot| held[*slot] += 1);
        placed[task.id] = Some(of_task);
    }
    placed.into_iter().map(Option::unwrap_or_default).collect()
}

/// The slots that hold least, in their order.
fn least_held(held: &[usize], count: usize) -> Vec<usize> {
    let mut slots: Vec<usize> = (0..held.len()).collect();
    slots.sort_by_key(|slot| (held[*slot], *slot));
    slots.truncate(count);
    slots.sort_unstable();
    slots
}

/// The worker for each slot that has none yet: the one with the most free slots, and among equals the one that is named first.
/// `free` is by worker; `None` where there are not enough.
pub(crate) fn spread(wanted: usize, free: &[usize]) -> Option<Vec<usize>> {
    let mut free = free.to_vec();
    let mut chosen = Vec::with_capacity(wanted);
    for _ in 0..wanted {
        let (worker, left) = free.iter_mut().enumerate().max_by_key(|(i, left)| (**left, usize::MAX - i))?;
        *left = left.checked_sub(1)?;
        chosen.push(worker);
    }
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use rheos_core::changelog::ChangelogMode;
    use rheos_graph::{JobGraph, KeySpec, Node, NodeKind};

    use super::*;

    fn graph(parallelism: &[usize], edges: &[(usize, usize, Partitioning)]) -> TaskGraph {
        let mut job = JobGraph::new("test");
        for (i, parallelism) in parallelism.iter().enumerate() {
            job.add(Node {
                id: 0,
                uid: i.to_string(),
                name: i.to_string(),
                detail: String::new(),
                kind: NodeKind::Operator { kind: "none".into(), spec: serde_json::Value::Null },
                parallelism: *parallelism,
                schema: None,
                changelog: ChangelogMode::InsertOnly,
            });
        }
        edges.iter().for_each(|(from, to, partitioning)| job.connect(*from, *to, 0, partitioning.clone()));
        TaskGraph::of(&job)
    }

    fn hash() -> Partitioning {
        Partitioning::Hash(KeySpec::Columns(vec![0]))
    }

    #[test]
    fn equal_numbers_share_a_slot() {
        let graph = graph(&[3, 3, 3], &[(0, 1, hash()), (1, 2, hash())]);
        assert_eq!(slots_of(&graph), 3);
        assert_eq!(place(&graph), vec![vec![0, 1, 2]; 3]);
    }

    #[test]
    fn narrow_tasks_go_where_least_is_and_forward_edges_stay_in_a_slot() {
        // A source and a sink of one instance around a wide task; two narrow tasks that forward to a fork.
        let graph = graph(
            &[1, 3, 1, 2, 2, 2],
            &[(0, 1, Partitioning::Rebalance), (1, 2, hash()), (3, 4, Partitioning::Forward), (3, 5, Partitioning::Forward)],
        );
        assert_eq!(place(&graph), vec![vec![0], vec![0, 1, 2], vec![1], vec![0, 2], vec![0, 2], vec![0, 2]]);
    }

    #[test]
    fn slots_are_spread_over_workers_as_far_as_they_reach() {
        assert_eq!(spread(3, &[2, 2, 2]), Some(vec![0, 1, 2]));
        assert_eq!(spread(4, &[1, 4, 0]), Some(vec![1, 1, 1, 0]));
        assert_eq!(spread(4, &[1, 2, 0]), None);
        assert_eq!(spread(1, &[]), None);
    }
}
