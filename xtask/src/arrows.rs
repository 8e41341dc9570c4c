//! Which crate may depend on which: the arrows of the architecture, and no others.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// For each crate of the workspace the crates of the workspace that it may use, in the order in which data meets them.
/// Tests may use more.
const ALLOWED: &[(&str, &[&str])] = &[
    ("rheos-core", &[]),
    ("rheos-graph", &["rheos-core"]),
    ("rheos-expr", &["rheos-core"]),
    ("rheos-connectors", &["rheos-core"]),
    ("rheos-operators", &["rheos-core", "rheos-expr", "rheos-state"]),
    ("rheos-state", &["rheos-core"]),
    ("rheos-exchange", &["rheos-core"]),
    ("rheos-checkpoint", &["rheos-core"]),
    ("rheos-storage", &["rheos-core"]),
    ("rheos-protocol", &["rheos-core", "rheos-graph", "rheos-checkpoint"]),
    ("rheos-coordinator", &["rheos-core", "rheos-graph", "rheos-checkpoint", "rheos-protocol"]),
    ("rheos-worker", &["rheos-core", "rheos-graph", "rheos-exchange", "rheos-state", "rheos-checkpoint", "rheos-protocol"]),
    ("rheos-sql", &["rheos-core", "rheos-graph", "rheos-expr", "rheos-operators"]),
    (
        "rheos",
        &[
            "rheos-core",
            "rheos-graph",
            "rheos-expr",
            "rheos-connectors",
            "rheos-operators",
            "rheos-state",
            "rheos-exchange",
            "rheos-checkpoint",
            "rheos-protocol",
            "rheos-storage",
            "rheos-coordinator",
            "rheos-worker",
            "rheos-sql",
        ],
    ),
    ("rheos-cli", &["rheos-core", "rheos"]),
    ("rheos-differential", &["rheos-core", "rheos"]),
    ("rheos-sim", &["rheos-core", "rheos-checkpoint"]),
    ("xtask", &[]),
];

/// Compares `cargo metadata` with [`ALLOWED`].
pub(crate) fn check(root: &Path) -> Result<()> {
    let program = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(program)
        .current_dir(root)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .context("cargo metadata cannot be run")?;
    if !output.status.success() {
        bail!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    }
    let problems = problems(&serde_json::from_slice(&output.stdout)?);
    if !problems.is_empty() {
        bail!("{}", problems.join("\n"));
    }
    Ok(())
}

fn problems(metadata: &Value) -> Vec<String> {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.iter().copied().collect();
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let mut problems = Vec::new();
    for package in list(metadata, "packages") {
        let name = text(&package, "name");
        let Some(may_use) = allowed.get(name.as_str()) else {
            problems.push(format!("crate '{name}' has no row in ALLOWED (xtask/src/arrows.rs): say what it may depend on"));
            continue;
        };
        for dependency in list(&package, "dependencies") {
            let used = text(&dependency, "name");
            let is_test_only = dependency["kind"].as_str() == Some("dev");
            if allowed.contains_key(used.as_str()) && !is_test_only && !may_use.contains(&used.as_str()) {
                problems.push(format!("'{name}' depends on '{used}': the architecture has no such arrow"));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn package(name: &str, uses: &str, kind: Value) -> Value {
        json!({ "packages": [{ "name": name, "dependencies": [{ "name": uses, "kind": kind }, { "name": "arrow", "kind": null }] }] })
    }

    #[test]
    fn an_arrow_against_the_architecture_is_found() {
        assert_eq!(problems(&package("rheos-worker", "rheos-graph", Value::Null)), Vec::<String>::new());
        let found = problems(&package("rheos-worker", "rheos-sql", Value::Null));
        assert_eq!(found, ["'rheos-worker' depends on 'rheos-sql': the architecture has no such arrow"]);
    }

    #[test]
    fn tests_may_use_more() {
        assert!(problems(&package("rheos-worker", "rheos-operators", json!("dev"))).is_empty());
    }

    #[test]
    fn a_new_crate_must_say_what_it_may_use() {
        assert!(problems(&package("rheos-new", "rheos-core", Value::Null))[0].contains("no row in ALLOWED"));
    }
}
