//! The conformance suite: small scripts whose final rows must be those of Apache Flink.
//!
//! `tests/conformance/failing.txt` lists the cases that do not pass yet; it may only shrink. `RHEOS_UPDATE=1` takes the cases
//! off that list that pass by now. `RHEOS_CASE=window/` runs only cases whose name contains that text, and tells what
//! they gave.

mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use suite::compare::difference;
use suite::guard::{Guarded, for_all, guarded};
use suite::run::{Outcome, run};

/// How long a case may take. They are tiny; this is for those that never end.
const CASE_LIMIT: Duration = Duration::from_secs(60);

/// What the list of failing cases opens with.
const LIST_HEADER: &str =
    "# Cases of the suite that do not pass yet. The list may only shrink: RHEOS_UPDATE=1 takes off what passes by now.\n";

/// A case of the suite.
struct Case {
    /// `area/name`.
    name: String,
    sql: String,
    expected: String,
    types: Vec<String>,
    meta: BTreeSet<String>,
}

/// How a case went.
enum Verdict {
    Pass,
    /// It does not give what it should.
    Fail(String),
    /// Nothing excuses this: a panic, a hang, an internal error.
    Broken(String),
}

#[test]
fn every_case_passes_but_for_those_on_the_list() {
    let folder = suite::workspace("tests/conformance");
    let only = std::env::var("RHEOS_CASE").ok();
    let mut cases = cases(&folder);
    assert!(!cases.is_empty(), "no cases below {}", folder.display());
    if let Some(only) = &only {
        cases.retain(|c| c.name.contains(only));
    }
    let verdicts = for_all(&cases, judge);

    let mut totals: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut passing, mut failing, mut broken) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    for (case, verdict) in cases.iter().zip(&verdicts) {
        let area = totals.entry(case.name.split('/').next().unwrap_or_default()).or_default();
        area.1 += 1;
        match verdict {
            Verdict::Pass => {
                area.0 += 1;
                passing.insert(case.name.as_str());
            }
            Verdict::Fail(why) => drop(failing.insert(case.name.as_str(), why.as_str())),
            Verdict::Broken(why) => {
                failing.insert(case.name.as_str(), why.as_str());
                broken.push(format!("{}: {why}", case.name));
            }
        }
    }
    for (area, (passed, all)) in &totals {
        eprintln!("{area:24} {passed:4} / {all}");
    }
    eprintln!("{} passed, {} failed", passing.len(), failing.len());
    for (name, why) in &failing {
        eprintln!("  {name}: {why}");
    }

    assert!(broken.is_empty(), "panics, hangs and internal errors are never right:\n  {}", broken.join("\n  "));
    if only.is_none() {
        compare_with_list(&folder.join("failing.txt"), &passing, &failing);
    }
}

/// The list may only shrink.
fn compare_with_list(path: &Path, passing: &BTreeSet<&str>, failing: &BTreeMap<&str, &str>) {
    let text = fs::read_to_string(path).unwrap_or_default();
    let listed: BTreeSet<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let unexpected: Vec<String> = failing.iter().filter(|(n, _)| !listed.contains(*n)).map(|(n, why)| format!("{n}: {why}")).collect();
    assert!(
        unexpected.is_empty(),
        "{} cases fail that are not on the list ({}). RHEOS_CASE=<name> shows one alone:\n  {}",
        unexpected.len(),
        path.display(),
        unexpected.join("\n  ")
    );
    let gone: Vec<&str> = listed.iter().filter(|n| !failing.contains_key(*n)).copied().collect();
    if gone.is_empty() {
        return;
    }
    if suite::is_update() {
        let kept: String = listed.iter().filter(|n| failing.contains_key(*n)).map(|n| format!("{n}\n")).collect();
        fs::write(path, format!("{LIST_HEADER}{kept}")).expect("the list is written");
        return;
    }
    let passes = gone.iter().filter(|n| passing.contains(*n)).count();
    panic!(
        "{passes} cases on the list pass by now (or are no cases any more). Take them off with\n  \
         RHEOS_UPDATE=1 cargo nextest run -p rheos --test conformance\n  {}",
        gone.join("\n  ")
    );
}

fn cases(folder: &Path) -> Vec<Case> {
    let data = folder.join("data").canonicalize().expect("the suite's data");
    let mut cases = Vec::new();
    for area in entries(&folder.join("cases")) {
        for file in entries(&area).into_iter().filter(|f| f.extension().is_some_and(|e| e == "sql")) {
            let read = |extension: &str| fs::read_to_string(file.with_extension(extension)).unwrap_or_default();
            let stem = |path: &Path| path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            cases.push(Case {
                name: format!("{}/{}", stem(&area), stem(&file)),
                sql: read("sql").replace("${DATA}", &data.display().to_string()),
                expected: read("expected"),
                types: read("types").trim_end_matches('\n').split('\t').map(str::to_string).collect(),
                meta: read("meta").split_whitespace().map(str::to_string).collect(),
            });
        }
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    cases
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    entries.map(|e| e.expect("an entry of the folder").path()).collect()
}

fn judge(case: &Case) -> Verdict {
    let (sql, per_row) = (case.sql.clone(), case.meta.contains("per-row-watermark"));
    let work = move || run(&sql, if per_row { &[("pipeline.auto-watermark-interval", "0")] } else { &[] });
    match guarded(CASE_LIMIT, work) {
        Guarded::Done(outcome) => compare(case, outcome),
        Guarded::Panicked(message) => Verdict::Broken(format!("panic: {message}")),
        Guarded::Hung => Verdict::Broken("hang".into()),
    }
}

fn compare(case: &Case, outcome: Outcome) -> Verdict {
    let wants_error = case.expected.starts_with("ERROR");
    match outcome {
        Outcome::InternalError(why) => Verdict::Broken(format!("internal error: {why}")),
        Outcome::Rejected(_) if wants_error => Verdict::Pass,
        Outcome::Rejected(why) => Verdict::Fail(format!("error: {why}")),
        Outcome::Rows { .. } if case.meta.contains("flink-limitation") => Verdict::Pass,
        Outcome::Rows { .. } if wants_error => Verdict::Fail("not rejected".into()),
        // Where Flink plans an update as if it were an insert, taking rows back is right.
        Outcome::Rows { updating: true, .. } if case.meta.contains("insert-only") && !case.sql.contains("-- materialize:") => {
            Verdict::Fail("planned as updating; it only inserts".into())
        }
        Outcome::Rows { text, .. } => match difference(&text, &case.expected, &case.types) {
            None => Verdict::Pass,
            Some(difference) => Verdict::Fail(difference),
        },
    }
}
