//! Measurements as tables for people and as JSON for programs.

use rheos::{JobMetrics, SqlError};
use serde_json::json;

use super::measure::Measured;
use crate::figures::{count, magnitude, table};
use crate::progress::is_sink;

/// The head of the table of queries.
pub(crate) const HEADER: [&str; 8] = ["query", "events", "seconds", "cpu s", "ns/event", "events/s", "rows out", ""];

/// A query's row in the table; the last cell says why it did not run.
pub(crate) fn row(query: &str, outcome: &Result<Measured, SqlError>) -> Vec<String> {
    match outcome {
        Ok(m) => vec![
            query.into(),
            count(m.events, ""),
            format!("{:.2}", m.wall_ns as f64 / 1e9),
            m.cpu_ns.map_or("?".into(), |ns| format!("{:.2}", ns as f64 / 1e9)),
            m.cpu_ns_per_event().map_or("?".into(), |ns| format!("{ns:.0}")),
            magnitude(m.events_per_second()),
            count(m.rows_out, ""),
            String::new(),
        ],
        Err(refused) => {
            let mut row = vec![query.to_string()];
            row.resize(HEADER.len() - 1, "-".into());
            row.push(refused.message.clone());
            row
        }
    }
}

/// All rows as a table; without the last column where there is nothing to say.
pub(crate) fn queries(rows: &[Vec<String>]) -> String {
    let columns = if rows.iter().all(|row| row.last().is_some_and(String::is_empty)) { HEADER.len() - 1 } else { HEADER.len() };
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row[..columns].to_vec()).collect();
    table(&HEADER[..columns].iter().map(|h| h.to_string()).collect::<Vec<_>>(), &rows)
}

/// What each operator of a job cost and let through, its instances together.
pub(crate) fn operators(metrics: &JobMetrics) -> String {
    let nodes = nodes(metrics);
    let total_ns = nodes.iter().map(|n| n.process_ns).sum::<u64>().max(1);
    let row = |n: &Node| {
        let per_row = |x: u64| if n.rows_in == 0 { "-".into() } else { format!("{:.2}", x as f64 / n.rows_in as f64) };
        vec![
            n.name.clone(),
            count(n.rows_in, ""),
            count(n.rows_out, ""),
            if is_sink(&n.name) { "-".into() } else { per_row(n.rows_out) },
            if n.rows_in == 0 { per_row_out(n) } else { per_row(n.process_ns) },
            format!("{:.1}%", n.process_ns as f64 * 100.0 / total_ns as f64),
            count(u64::try_from(n.state_rows).unwrap_or(0), ""),
        ]
    };
    let rows: Vec<Vec<String>> = nodes.iter().map(row).collect();
    table(&["operator", "rows in", "rows out", "selectivity", "ns/row", "time", "state rows"].map(String::from), &rows)
}

/// A source takes no rows in: its cost is that of a row that it gives.
fn per_row_out(node: &Node) -> String {
    if node.rows_out == 0 { "-".into() } else { format!("{:.2}", node.process_ns as f64 / node.rows_out as f64) }
}

struct Node {
    id: usize,
    name: String,
    rows_in: u64,
    rows_out: u64,
    process_ns: u64,
    state_rows: i64,
}

fn nodes(metrics: &JobMetrics) -> Vec<Node> {
    let mut nodes: Vec<Node> = Vec::new();
    for task in &metrics.tasks {
        for (i, o) in task.operators.iter().enumerate() {
            // A source's own time is the task's for reading.
            let process_ns = if i == 0 && o.rows_in == 0 { o.process_ns.max(task.deserialize_ns) } else { o.process_ns };
            match nodes.iter_mut().find(|n| n.id == o.node) {
                Some(n) => {
                    n.rows_in += o.rows_in;
                    n.rows_out += o.rows_out;
                    n.process_ns += process_ns;
                    n.state_rows += o.state_rows;
                }
                None => {
                    let (id, name) = (o.node, o.name.clone());
                    nodes.push(Node { id, name, rows_in: o.rows_in, rows_out: o.rows_out, process_ns, state_rows: o.state_rows });
                }
            }
        }
    }
    nodes.sort_by_key(|n| n.id);
    nodes
}

/// A line of JSON with a query's figures.
pub(crate) fn json_line(query: &str, outcome: &Result<Measured, SqlError>) -> String {
    let value = match outcome {
        Err(refused) => json!({ "query": query, "refused": refused.to_string() }),
        Ok(m) => {
            let node = |n: Node| json!({ "operator": n.name, "rows_in": n.rows_in, "rows_out": n.rows_out, "process_ns": n.process_ns, "state_rows": n.state_rows });
            json!({
                "query": query,
                "events": m.events,
                "wall_ns": m.wall_ns,
                "cpu_ns": m.cpu_ns,
                "rows_out": m.rows_out,
                "operators": nodes(&m.metrics).into_iter().map(node).collect::<Vec<_>>(),
            })
        }
    };
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::tests::{operator, task};

    #[test]
    fn instances_of_an_operator_are_added_up() {
        let instance = || task(0, vec![rheos::OperatorReport { node: 1, process_ns: 50, ..operator("Calc", 10, 5) }]);
        let shown = operators(&JobMetrics { tasks: vec![instance(), instance()] });
        let calc = shown.lines().nth(2).unwrap();
        let cells: Vec<&str> = calc.split('┆').map(str::trim).collect();
        assert_eq!(cells, ["Calc", "20", "10", "0.50", "5.00", "100.0%", "0"]);
    }

    #[test]
    fn a_refused_query_keeps_its_reason() {
        let refused = Err(SqlError::new("OVER is not supported yet"));
        assert_eq!(row("q18", &refused).last().unwrap(), "OVER is not supported yet");
        assert!(json_line("q18", &refused).contains("\"refused\""));
    }
}
