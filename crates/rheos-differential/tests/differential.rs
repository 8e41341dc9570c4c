//! Random queries agree, cases that once differed agree, and a fault would be found.

use rheos_differential::file;
use rheos_differential::run::run;

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is '{text}', which is no number")))
}

/// Seeds from `RHEOS_SEED` on, `RHEOS_QUERIES` many in all, a quarter of them in each of four tests, which run side by side.
fn quarter(of: u64) {
    let (seed, queries) = (number("RHEOS_SEED", 1), number("RHEOS_QUERIES", 1_000).div_ceil(4));
    let summary = run(seed + of * queries..seed + (of + 1) * queries, |sql| sql).expect("DataFusion starts");
    eprintln!("seeds from {}: {summary}", seed + of * queries);
    assert!(summary.differ.is_empty(), "{summary}");
    let refused: usize = summary.refused.values().map(Vec::len).sum();
    let without_oracle: usize = summary.no_oracle.values().map(Vec::len).sum();
    assert!(refused * 100 <= summary.cases, "more than one in a hundred is refused: {summary}");
    assert!(without_oracle * 20 <= summary.cases, "DataFusion answers too few: {summary}");
    assert!(summary.agree * 10 >= summary.cases * 6, "too few have rows: {summary}");
}

#[test]
fn random_queries_agree_1() {
    quarter(0);
}

#[test]
fn random_queries_agree_2() {
    quarter(1);
}

#[test]
fn random_queries_agree_3() {
    quarter(2);
}

#[test]
fn random_queries_agree_4() {
    quarter(3);
}

#[test]
fn what_once_differed_agrees() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/cases");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "case")
            && let Err(e) = file::run_again(&std::fs::read_to_string(&path).unwrap())
        {
            wrong.push(format!("{}: {e:#}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_fault_is_found_and_made_small() {
    let summary = run(1..200, |sql| sql.replace("MAX(", "MIN(")).unwrap();
    let (_, text) = summary.differ.first().expect("DataFusion was told to give the least for the greatest");
    let query = text.lines().skip_while(|line| *line != "== query").nth(1).unwrap();
    assert!(query.contains("MAX(") && query.len() < 120, "{text}");
    assert!(text.lines().filter(|line| line.starts_with("  +I ")).count() <= 2, "two rows tell it: {text}");
}
