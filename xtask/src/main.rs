//! The project's chores: `cargo xtask check` looks at everything that is no test.

mod arrows;
mod headers;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

const USAGE: &str = "\
cargo xtask check    format, dependency arrows, first lines of files, lints, documentation";

/// A check: what it is called, and what it does.
type Check = (&'static str, fn(&Path) -> Result<()>);

/// The quick ones first.
const CHECKS: [Check; 5] = [
    ("format", |root| cargo(root, &["fmt", "--all", "--check"], &[])),
    ("dependency arrows", arrows::check),
    ("first lines of files", headers::check),
    ("lints", |root| cargo(root, &["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"], &[])),
    ("documentation", |root| {
        cargo(root, &["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"], &[("RUSTDOCFLAGS", "-D warnings")])
    }),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["check"] => check(),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all checks, also after one has failed, so that one run tells everything.
fn check() -> ExitCode {
    let root = root();
    let mut failed = Vec::new();
    for (name, check) in CHECKS {
        eprintln!("check: {name}");
        if let Err(error) = check(&root) {
            eprintln!("{error:#}\n");
            failed.push(name);
        }
    }
    if failed.is_empty() {
        eprintln!("check: all good");
        return ExitCode::SUCCESS;
    }
    eprintln!("check failed: {}", failed.join(", "));
    ExitCode::FAILURE
}

/// The workspace's folder.
fn root() -> PathBuf {
    let mut root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    root.pop();
    root
}

fn cargo(root: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Result<()> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let mut command = Command::new(&program);
    command.current_dir(root).args(arguments).envs(environment.iter().copied());
    let status = command.status().with_context(|| format!("'{program}' cannot be run"))?;
    if !status.success() {
        bail!("cargo {} found something", arguments.join(" "));
    }
    Ok(())
}
