//! The Nexmark queries at several parallelisms: over recorded events against Apache Flink's results where those are at hand,
//! and over generated events against themselves.

mod suite;

use std::fs;
use std::path::Path;
use std::time::Duration;

use std::sync::atomic::Ordering;
use suite::compare::difference;
use suite::guard::{Guarded, for_all, guarded};

use suite::run::{Outcome, STOPPED, run, run_restored};

/// The queries of the suite: those of `benches/nexmark`, and those recorded.
const QUERIES: [&str; 20] =
    ["q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q9", "q11", "q14", "q15", "q16", "q17", "q18", "q19", "q20", "q21", "q22", "q23"];
/// Queries whose result depends on the order in which bids of equal price and time arrive: only one subtask keeps it.
const ORDER_DEPENDENT: [&str; 2] = ["q18", "q19"];
/// The parallelisms that must agree.
const PARALLELISMS: [&str; 3] = ["1", "2", "4"];
/// How long a query may take.
const LIMIT: Duration = Duration::from_secs(300);

/// Runs a query over `tables` and gives the final rows.
fn rows(tables: &str, query: &str, parallelism: &'static str, per_row: bool) -> Result<String, String> {
    let sql = format!("{tables}\n{query}");
    let interval = if per_row { "0" } else { "200 ms" };
    let settings = [("parallelism.default", parallelism), ("pipeline.auto-watermark-interval", interval)];
    outcome(guarded(LIMIT, move || run(&sql, &settings)))
}

fn outcome(outcome: Guarded<Outcome>) -> Result<String, String> {
    match outcome {
        Guarded::Done(Outcome::Rows { text, .. }) => Ok(text),
        Guarded::Done(Outcome::Rejected(why)) => Err(why),
        Guarded::Done(Outcome::InternalError(why)) => Err(format!("internal error: {why}")),
        Guarded::Panicked(message) => Err(format!("panic: {message}")),
        Guarded::Hung => Err("hang".into()),
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn recorded_events_give_flinks_rows_at_every_parallelism() {
    let Some(folder) = suite::shared("nexmark") else {
        eprintln!("skipped: no recorded events (RHEOS_SHARED names the shared folder)");
        return;
    };
    let tables = read(&folder.join("tables.sql")).replace("${DATA}", &folder.display().to_string());
    let runs: Vec<(&str, &'static str)> = QUERIES.iter().flat_map(|q| PARALLELISMS.map(|p| (*q, p))).collect();
    let wrong: Vec<String> = for_all(&runs, |(query, parallelism)| {
        if ORDER_DEPENDENT.contains(query) && *parallelism != "1" {
            return None;
        }
        let expected = read(&folder.join(format!("{query}.expected")));
        let sql = read(&folder.join(format!("{query}.sql")));
        let found = match rows(&tables, &sql, parallelism, *parallelism == "1") {
            Ok(text) => difference(&text, &expected, &[])?,
            Err(why) => why,
        };
        Some(format!("{query} at parallelism {parallelism}: {found}"))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generated_events_give_the_same_rows_at_every_parallelism() {
    let folder = suite::workspace("benches/nexmark");
    let tables = read(&folder.join("tables.sql")).replace("${EVENTS}", "5000");
    let wrong: Vec<String> = for_all(&QUERIES, |query| {
        let sql = read(&folder.join(format!("{query}.sql")));
        let one = match rows(&tables, &sql, "1", false) {
            Ok(text) if text.lines().count() > 1 => text,
            Ok(_) => return Some(format!("{query} gives no rows")),
            Err(why) => return Some(format!("{query}: {why}")),
        };
        if ORDER_DEPENDENT.contains(query) {
            return None;
        }
        PARALLELISMS[1..].iter().find_map(|parallelism| match rows(&tables, &sql, parallelism, false) {
            Ok(text) => difference(&text, &one, &[]).map(|d| format!("{query} at parallelism {parallelism}: {d}")),
            Err(why) => Some(format!("{query} at parallelism {parallelism}: {why}")),
        })
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_savepoint_in_the_middle_and_another_parallelism_after_it_change_nothing() {
    let folder = suite::workspace("benches/nexmark");
    let tables = read(&folder.join("tables.sql")).replace("${EVENTS}", "60000");
    let runs: Vec<(&str, [&'static str; 2])> =
        QUERIES.iter().flat_map(|q| [["1", "1"], ["1", "2"], ["2", "2"], ["4", "3"]].map(|p| (*q, p))).collect();
    let wrong: Vec<String> = for_all(&runs, |(query, parallelisms)| {
        if ORDER_DEPENDENT.contains(query) && *parallelisms != ["1", "1"] {
            return None;
        }
        let sql = format!("{tables}\n{}", read(&folder.join(format!("{query}.sql"))));
        let expected = rows(&tables, &read(&folder.join(format!("{query}.sql"))), "1", false);
        // Barriers that overtake rows, and barriers that do not.
        let unaligned = if parallelisms[0] == "4" { "true" } else { "false" };
        let settings = [("execution.checkpointing.unaligned.enabled", unaligned)];
        let parallelisms = *parallelisms;
        let found = outcome(guarded(LIMIT, move || run_restored(&sql, &settings, parallelisms, 15_000)));
        let difference = match (expected, found) {
            (Ok(expected), Ok(found)) => difference(&found, &expected, &[])?,
            (Err(why), _) | (_, Err(why)) => why,
        };
        Some(format!("{query} at parallelism {} then {}: {difference}", parallelisms[0], parallelisms[1]))
    })
    .into_iter()
    .flatten()
    .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let stopped = STOPPED.load(Ordering::Relaxed);
    assert!(stopped * 2 > runs.len(), "only {stopped} of {} jobs were stopped in the middle", runs.len());
}
