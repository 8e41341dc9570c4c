//! Table programs with a savepoint in the middle: Apache Flink's own, where the folder of recorded data is at hand, and the
//! project's.
//!
//! A program is fed its rows of `before`, stopped with a savepoint, started again from there (at the same parallelism and at
//! twice), and fed its rows of `after`; then its input ends, and with it event time, as in Flink's restore tests: what Flink's
//! sinks got in the second run contains the windows that only the end closes. The tables that all changes of both runs amount
//! to must be the same: by the sink's primary key, or else as multisets. Flink compares its changes themselves, which depend on
//! mini-batches and the like.
//!
//! `RHEOS_CASE=window-join` runs the programs whose id contains that text, and asserts nothing.

mod programs;
mod suite;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use programs::program::Program;
use programs::verdict::{Verdict, judge};
use suite::guard::for_all;
use suite::list;

#[test]
fn flinks_programs_agree_over_a_savepoint() {
    let Some(folder) = suite::shared("peers/flink_programs") else {
        eprintln!("skipped: no recorded programs (RHEOS_SHARED names the shared folder)");
        return;
    };
    let all = Program::all_in(&folder);
    let only = std::env::var("RHEOS_CASE").ok();
    let wanted = |p: &&Program| only.as_ref().is_none_or(|only| p.id.contains(only));
    let programs: Vec<Program> = all.iter().filter(wanted).cloned().collect();
    let verdicts = for_all(&programs, judge);
    let (mut agreeing, mut differing) = (BTreeSet::new(), Vec::new());
    let mut refused: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (program, verdict) in programs.iter().zip(&verdicts) {
        match verdict {
            Verdict::Agrees => drop(agreeing.insert(program.id.as_str())),
            Verdict::Refused(why) => refused.entry(why).or_default().push(&program.id),
            Verdict::Differs(why) => differing.push(format!("{}: {why}", program.id)),
        }
    }
    for (why, ids) in &refused {
        eprintln!("refused: {why}: {} ({})", ids.len(), ids.join(", "));
    }
    eprintln!("{} programs, {} with a savepoint", all.len(), all.iter().filter(|p| p.has_savepoint()).count());
    let run = agreeing.len() + differing.len();
    eprintln!("{} refused, {run} run: {} agree, {} differ", refused.values().map(Vec::len).sum::<usize>(), agreeing.len(), differing.len());
    differing.iter().for_each(|why| eprintln!("  {why}"));
    if only.is_none() {
        list::compare(&suite::workspace("crates/rheos/tests/programs/agreeing.txt"), "programs", "flink_programs", &agreeing);
    }
}

#[test]
fn the_projects_programs_agree_over_a_savepoint() {
    let programs = Program::all_in(&own());
    assert!(programs.len() >= 3 && programs.iter().all(Program::has_savepoint));
    let verdicts = for_all(&programs, judge);
    let wrong: Vec<String> = programs
        .iter()
        .zip(verdicts)
        .filter(|(_, verdict)| !matches!(verdict, Verdict::Agrees))
        .map(|(program, verdict)| format!("{}: {verdict:?}", program.id))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn rows_lost_doubled_or_changed_are_found() {
    for wrong in ["-D[bob, 1, 10.00]", "+I[eve, 1, 1.00]", "+U[bob, 1, 10.01]"] {
        let mut program = Program::all_in(&own()).into_iter().find(|p| p.id.ends_with("/totals")).expect("the program");
        program.sinks[0].after.iter_mut().for_each(|lines| lines.push(wrong.into()));
        assert!(matches!(judge(&program), Verdict::Differs(_)), "{wrong}");
    }
}

/// Where the project's programs are.
fn own() -> PathBuf {
    suite::workspace("crates/rheos/tests/programs/own")
}
