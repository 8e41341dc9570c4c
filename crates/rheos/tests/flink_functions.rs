//! Cases of Apache Flink's own tests of functions, where the folder of recorded data is at hand: bound by the planner and
//! evaluated on one row, value and type compared with Flink's.
//!
//! A case agrees where its value does, or where Flink refuses it and Rheos does too, at the same stage. Types are counted apart.
//! Cases that cannot say anything about Rheos (the Table API, functions in Java) are counted as not applicable.
//!
//! What does not agree, and why:
//!
//! - `REGEXP(f1, '(' || '')` and its like: constants are computed before they are checked, so a wrong expression is refused in
//!   planning although no literal holds it. Flink gives FALSE or NULL.
//! - A MAP with a key that is NULL: columns of maps cannot hold one. It is refused on the row.
//! - `OBJECT_OF`, `OBJECT_UPDATE` and casts to STRUCTURED: there are no structured types.
//! - One map of numbers for a type of texts, as the recording has it.
//!
//! `RHEOS_CASE=JSON_QUOTE` shows the cases whose name contains that text, and asserts nothing.

mod functions;
mod suite;

use std::collections::BTreeSet;

use functions::record::Set;
use functions::report;
use functions::verdict::{Verdict, judge};
use suite::guard::for_all;
use suite::list;

#[test]
fn flinks_functions_agree() {
    let Some(folder) = suite::shared("peers/flink_functions") else {
        eprintln!("skipped: no recorded functions (RHEOS_SHARED names the shared folder)");
        return;
    };
    let only = std::env::var("RHEOS_CASE").ok();
    let mut sets = Set::all_in(&folder);
    if let Some(only) = &only {
        sets.iter_mut().for_each(|set| set.cases.retain(|case| case.id.contains(only)));
    }
    let verdicts = for_all(&sets, judge);
    let mut agreeing = BTreeSet::new();
    let cases = sets.iter().flat_map(|set| set.cases.iter().map(move |case| (set.file.as_str(), case.id.as_str())));
    let judged: Vec<((&str, &str), &Verdict)> = cases.zip(verdicts.iter().flatten()).collect();
    for ((_, id), verdict) in &judged {
        match verdict {
            Verdict::Agrees { other_type: None } => drop(agreeing.insert(*id)),
            Verdict::Agrees { other_type: Some(why) } => {
                agreeing.insert(id);
                eprintln!("type:    {id}: {why}");
            }
            Verdict::Differs(why) => eprintln!("differs: {id}: {why}"),
            Verdict::Refused(why) => eprintln!("refused: {id}: {why}"),
            Verdict::NotApplicable(_) => {}
        }
    }
    eprint!("{}", report::table(judged.iter().map(|((file, _), verdict)| (*file, *verdict))));
    if only.is_none() {
        list::compare(&suite::workspace("crates/rheos/tests/functions/agreeing.txt"), "cases", "flink_functions", &agreeing);
    }
}
