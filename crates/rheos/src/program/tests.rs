//! Command lines of programs.

use std::path::Path;

use rheos_graph::JobGraph;

use super::{Arguments, Program, arguments_of};
use crate::start::StartFrom;
use crate::torture::Life;

fn parse(line: &str) -> rheos_core::Result<Arguments> {
    Arguments::parse(&line.split(' ').map(String::from).collect::<Vec<_>>())
}

#[test]
fn restore_may_stand_alone_or_name_a_place() {
    assert_eq!(parse("--output o --restore").unwrap().from, StartFrom::Latest);
    assert_eq!(parse("--restore --output o").unwrap().from, StartFrom::Latest);
    assert_eq!(parse("--output o --restore a/b -p 2").unwrap().from, StartFrom::Snapshot("a/b".into()));
    assert_eq!(parse("--output o --fresh").unwrap().from, StartFrom::Fresh);
}

#[test]
fn a_wrong_argument_is_told_with_what_would_be_right() {
    let message = |line: &str| parse(line).unwrap_err().to_string();
    assert!(message("--checkpoint-dir d").starts_with("--output names the folder"));
    assert!(message("--output").contains("wants a value"));
    assert!(message("--output o -p 0").contains("no number from 1 to 1024"));
    assert!(message("--output o --kills 3").contains("'--kills' is not understood"));
    assert!(message("--output o --set a").contains("name=value"));
}

#[test]
fn a_life_has_the_arguments_of_its_torture() {
    let given = parse("--output o -p 3 --var n=7 --set a=b").unwrap();
    let life = Life { output: Path::new("out"), snapshots: Some(Path::new("s")), restore: true, faults: Some("fail=0.1") };
    let line = arguments_of(&life, &given);
    assert_eq!(line[0], "run");
    let lived = Arguments::parse(&line[1..]).unwrap();
    assert_eq!((lived.parallelism, lived.number("n", 0).unwrap(), lived.output.as_path()), (3, 7, life.output));
    assert_eq!((&lived.from, lived.faults.as_deref(), lived.is_tortured), (&StartFrom::Latest, life.faults, true));
    assert!(lived.settings.contains(&("execution.checkpointing.dir".into(), "s".into())));
    assert_eq!(lived.settings.last(), Some(&("a".to_string(), "b".to_string())), "what was given is the strongest");
    let undisturbed = arguments_of(&Life { snapshots: None, restore: false, faults: None, ..life }, &given);
    assert_eq!(Arguments::parse(&undisturbed[1..]).unwrap().settings, [("a".to_string(), "b".to_string())]);
}

#[test]
fn a_program_without_a_verb_says_what_it_understands() {
    let program = Program::new(crate::registry(), |_| Ok(JobGraph::new("none")));
    let code = program.main_with(&["walk".into()], &|_| unreachable!("nothing is started"));
    assert_eq!(format!("{code:?}"), format!("{:?}", std::process::ExitCode::from(1)));
}
