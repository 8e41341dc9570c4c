//! The scripts that are tortured, each as a job of its own: what the command line gives, and the queries of Nexmark.

use std::path::{Path, PathBuf};

use super::nexmark;
use crate::args::{ClusterTortureArgs, ScriptArgs};
use crate::failure::Failure;

/// A script to be tortured.
pub(super) struct Trial {
    /// What it is called.
    pub(super) name: String,
    /// Its text and its variables, as `rheos run` takes them.
    pub(super) script: ScriptArgs,
}

/// The scripts of a command line: each file, and all of `-e` together. Files that have to be made go below `dir`. `length_ms` is how long
/// the input has to last.
pub(super) fn trials(args: &ClusterTortureArgs, dir: &Path, length_ms: u64) -> Result<Vec<Trial>, Failure> {
    let mut trials = Vec::new();
    for file in &args.script.files {
        let name = file.display().to_string();
        if name == "-" {
            return Err(Failure::wrong("torture runs the script more than once: it cannot come from standard input"));
        }
        let script = match name.strip_prefix(nexmark::PREFIX) {
            Some(query) => of_nexmark(args, query, dir, length_ms)?,
            None => script(args, vec![file.clone()], vec![], vec![]),
        };
        trials.push(Trial { name, script });
    }
    if !args.script.execute.is_empty() {
        trials.push(Trial { name: "-e".into(), script: script(args, vec![], args.script.execute.clone(), vec![]) });
    }
    Ok(trials)
}

fn of_nexmark(args: &ClusterTortureArgs, query: &str, dir: &Path, length_ms: u64) -> Result<ScriptArgs, Failure> {
    let file = dir.join(format!("{query}.sql"));
    let text = nexmark::script(query)?;
    std::fs::write(&file, text).map_err(|e| Failure::wrong(format!("'{}' cannot be written: {e}", file.display())))?;
    let given = args.script.variables.iter().rev().find(|(name, _)| name == "RATE").map(|(_, value)| value.parse());
    let rate: u64 = match given {
        Some(rate) => rate.map_err(|_| Failure::wrong("--var RATE is no number of events a second"))?,
        None => nexmark::RATE,
    };
    let events = (rate * length_ms).div_ceil(1000).max(1);
    let variables = vec![("EVENTS".to_string(), events.to_string()), ("RATE".to_string(), rate.to_string())];
    Ok(script(args, vec![file], vec![], variables))
}

/// What is given later is stronger.
fn script(args: &ClusterTortureArgs, files: Vec<PathBuf>, execute: Vec<String>, mut variables: Vec<(String, String)>) -> ScriptArgs {
    variables.extend(args.script.variables.iter().cloned());
    let parallelism = Some(args.script.parallelism.clone().unwrap_or_else(|| super::PARALLELISM.to_string()));
    ScriptArgs { files, execute, set: args.script.set.clone(), variables, parallelism }
}

/// A script as arguments of `run` and `submit`.
pub(super) fn arguments(script: &ScriptArgs, is_paced: bool) -> Vec<String> {
    let mut words: Vec<String> = script.files.iter().map(|file| file.display().to_string()).collect();
    let mut pair = |flag: &str, value: String| words.extend([flag.to_string(), value]);
    script.execute.iter().for_each(|sql| pair("-e", sql.clone()));
    // A script that has the variable can be run faster where nothing befalls it.
    pair("--var", format!("PACED={is_paced}"));
    script.variables.iter().for_each(|(name, value)| pair("--var", format!("{name}={value}")));
    script.set.iter().for_each(|(key, value)| pair("--set", format!("{key}={value}")));
    script.parallelism.iter().for_each(|parallelism| pair("--parallelism", parallelism.clone()));
    words
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(words: &[&str]) -> ClusterTortureArgs {
        let cli = Cli::try_parse_from(["rheos", "torture-cluster"].iter().chain(words)).unwrap();
        let Command::TortureCluster(args) = cli.command else { panic!("torture-cluster") };
        args
    }

    #[test]
    fn each_file_is_a_job_and_so_are_all_texts_together() {
        let dir = tempfile::tempdir().unwrap();
        let args = args(&["a.sql", "nexmark:q5", "-e", "x", "-e", "y", "--var", "RATE=100", "--var", "EVENTS=9"]);
        let trials = trials(&args, dir.path(), 2_500).unwrap();
        let names: Vec<&str> = trials.iter().map(|trial| trial.name.as_str()).collect();
        assert_eq!(names, ["a.sql", "nexmark:q5", "-e"]);
        let words = arguments(&trials[1].script, true).join(" ");
        assert!(
            words.ends_with("q5.sql --var PACED=true --var EVENTS=250 --var RATE=100 --var RATE=100 --var EVENTS=9 --parallelism 3"),
            "{words}"
        );
        assert_eq!(trials[2].script.execute, ["x", "y"]);
    }
}
