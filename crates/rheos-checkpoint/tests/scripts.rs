//! Runs the scripts of `tests/scripts`: events in, actions out. `RHEOS_UPDATE=1` rewrites what comes out.
//!
//! A script is read line by line. Lines that begin with two spaces are what came out of the line above them. Storage is a map
//! that answers at once; only what changes it is shown.

#![allow(clippy::unwrap_used)] // a test, with functions of its own

#[path = "script/mod.rs"]
mod script;

use std::fs;
use std::path::Path;

#[test]
fn every_script_gives_the_actions_that_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut differ = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let found = script::run(&text);
        if found != text {
            if std::env::var_os("RHEOS_UPDATE").is_some() {
                fs::write(&path, &found).unwrap();
            } else {
                differ.push(format!("{}:\n{}", path.display(), difference(&text, &found)));
            }
        }
    }
    assert!(differ.is_empty(), "RHEOS_UPDATE=1 rewrites:\n{}", differ.join("\n"));
}

/// The first line that differs, with what was there before it.
fn difference(expected: &str, found: &str) -> String {
    let at = expected.lines().zip(found.lines()).take_while(|(e, f)| e == f).count();
    let before: Vec<&str> = expected.lines().take(at).collect();
    let line = |text: &str| text.lines().nth(at).unwrap_or("(nothing)").to_string();
    format!("{}\nexpected: {}\nfound:    {}", before[at.saturating_sub(3)..].join("\n"), line(expected), line(found))
}
