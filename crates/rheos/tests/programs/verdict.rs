//! Whether a program agrees with its expected rows, over a savepoint.

use std::collections::BTreeSet;
use std::time::Duration;

use rheos::Error;

use super::line::parse;
use super::program::{Program, Sink};
use super::run::{Results, Stop, restored, straight};
use super::table::{difference, fold};
use super::taken::{Got, Line};
use crate::suite::guard::{Guarded, guarded};

/// How long a program may take. They are tiny; this is for those that never end.
const LIMIT: Duration = Duration::from_secs(60);

/// How a program went.
#[derive(Debug)]
pub(crate) enum Verdict {
    Agrees,
    /// Rheos says that it does not have what the program needs.
    Refused(String),
    /// Where, and whether it differs without a savepoint too.
    Differs(String),
}

/// Runs it with a savepoint, going on at the same and at twice the parallelism; where it has none, from beginning to end.
pub(crate) fn judge(program: &Program) -> Verdict {
    if !program.functions.is_empty() {
        return Verdict::Refused("functions of the user".into());
    }
    if !program.has_savepoint() {
        let copy = program.clone();
        return match run(move || straight(&copy)) {
            Ok(results) => compare(program, &results).map_or(Verdict::Agrees, Verdict::Differs),
            Err(Stop::Refused(why)) => Verdict::Refused(why),
            Err(Stop::Failed(why)) => Verdict::Differs(why),
        };
    }
    for parallelisms in [[1, 1], [1, 2]] {
        let copy = program.clone();
        let why = match run(move || restored(&copy, parallelisms)) {
            Ok(results) => compare(program, &results),
            Err(Stop::Refused(why)) => return Verdict::Refused(why),
            Err(Stop::Failed(why)) => Some(why),
        };
        let Some(why) = why else { continue };
        let copy = program.clone();
        let alone = match run(move || straight(&copy)) {
            Ok(results) => compare(program, &results).unwrap_or_else(|| "agrees".into()),
            Err(Stop::Refused(why) | Stop::Failed(why)) => why,
        };
        let [from, to] = parallelisms;
        let alone = if alone == why { "the same".into() } else { alone };
        return Verdict::Differs(format!("parallelism {from} then {to}:\n      {why}\n    without a savepoint:\n      {alone}"));
    }
    Verdict::Agrees
}

fn run(work: impl FnOnce() -> Result<Results, Stop> + Send + 'static) -> Result<Results, Stop> {
    match guarded(LIMIT, work) {
        Guarded::Done(result) => result,
        Guarded::Panicked(message) => Err(Stop::Failed(format!("panic: {message}"))),
        Guarded::Hung => Err(Stop::Failed("hang".into())),
    }
}

/// The first difference of a sink's final table.
fn compare(program: &Program, results: &Results) -> Option<String> {
    program.sinks.iter().find_map(|sink| compare_sink(sink, results))
}

fn compare_sink(sink: &Sink, results: &Results) -> Option<String> {
    let name = sink.name.trim_matches('`');
    let got: Vec<&Got> = results.iter().filter_map(|run| run.get(name)).collect();
    let key = got.first().map(|got| got.key.clone()).unwrap_or_default();
    let lines: Vec<&Line> = got.iter().flat_map(|got| &got.lines).collect();
    let widths: BTreeSet<usize> = lines.iter().map(|(_, row)| row.len()).collect();
    let columns = widths.first().copied().unwrap_or(usize::MAX);
    let changes = sink.before.iter().chain(&sink.after).flatten();
    let expected: Vec<Line> = match changes.map(|line| parse(line, columns)).collect() {
        Ok(expected) => expected,
        Err(e) => return Some(Error::to_string(&e)),
    };
    if expected.iter().all(|(_, row)| row.len() == columns) {
        return difference(&fold(lines, &key), &fold(&expected, &key));
    }
    let joined = |(kind, row): &Line| (*kind, vec![row.join(", ")]);
    let got: Vec<Line> = lines.into_iter().map(joined).collect();
    let expected: Vec<Line> = expected.iter().map(joined).collect();
    difference(&fold(&got, &[]), &fold(&expected, &[]))
}
