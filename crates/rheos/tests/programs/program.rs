//! A program as its JSON says it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

/// A file of programs.
#[derive(Deserialize)]
struct File {
    programs: Vec<Program>,
}

/// Tables, SQL over them, and what comes of it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Program {
    /// Its name; made unique by the file's name, and by a number where a file has it twice.
    pub(crate) id: String,
    /// Settings, by the names of Flink's Java constants.
    #[serde(default)]
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) sources: Vec<Source>,
    pub(crate) sinks: Vec<Sink>,
    /// The user functions that it needs.
    #[serde(default)]
    pub(crate) functions: Vec<Value>,
    #[serde(default)]
    pub(crate) setup_sql: Vec<String>,
    /// The INSERT; none where there are several, in one job.
    #[serde(default)]
    pub(crate) sql: Vec<String>,
    #[serde(default)]
    statement_set: Vec<String>,
}

/// A table that is read.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Source {
    pub(crate) name: String,
    schema: Vec<String>,
    #[serde(default)]
    options: BTreeMap<String, String>,
    #[serde(default)]
    partition_keys: Vec<String>,
    /// The rows up to the savepoint.
    #[serde(default)]
    pub(crate) before: Vec<Change>,
    /// The rows from there on.
    #[serde(default)]
    pub(crate) after: Vec<Change>,
}

/// A row and what it does.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Change {
    pub(crate) kind: String,
    pub(crate) row: Vec<Value>,
}

/// A table that is written.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Sink {
    pub(crate) name: String,
    schema: Vec<String>,
    #[serde(default)]
    partition_keys: Vec<String>,
    /// The changes that it gets up to the savepoint, as lines such as `+U[1, null, 2.0]`.
    #[serde(default)]
    pub(crate) before: Option<Vec<String>>,
    /// Those that it gets from there on.
    #[serde(default)]
    pub(crate) after: Option<Vec<String>>,
}

/// The connector that feeds sources and keeps what sinks get.
pub(crate) const CONNECTOR: &str = "program";
/// The option that says which kinds of changes a source gives.
pub(crate) const MODE: &str = "changelog-mode";

impl Program {
    /// The programs of all JSON files of a folder, in order of their names.
    pub(crate) fn all_in(folder: &Path) -> Vec<Program> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut files: Vec<_> = entries.map(|e| e.expect("an entry of the folder").path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "json"));
        files.sort();
        let (mut programs, mut ids) = (Vec::new(), BTreeSet::new());
        for file in files {
            let text = fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let read: File = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
            let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            for mut program in read.programs {
                let id = format!("{stem}/{}", program.id);
                let numbered = (2..).map(|n| format!("{id}#{n}"));
                program.id = std::iter::once(id.clone()).chain(numbered).find(|id| !ids.contains(id)).unwrap_or_default();
                ids.insert(program.id.clone());
                programs.push(program);
            }
        }
        programs
    }

    /// Whether it has rows on both sides of a savepoint.
    pub(crate) fn has_savepoint(&self) -> bool {
        self.sources.iter().any(|s| !s.before.is_empty() && !s.after.is_empty())
    }

    /// The statements that make its tables, in order.
    pub(crate) fn tables(&self) -> Vec<String> {
        let sources = self.sources.iter().map(|s| create(&s.name, &s.schema, &s.partition_keys, &s.changelog_mode()));
        let sinks = self.sinks.iter().map(|s| create(&s.name, &s.schema, &s.partition_keys, ""));
        sources.chain(sinks).collect()
    }

    /// The statement that starts its job.
    pub(crate) fn insert(&self) -> String {
        match &self.statement_set[..] {
            [] => match (self.sql.as_slice(), self.sinks.as_slice()) {
                // A query whose rows Flink's test collects.
                ([query], [sink]) if !query.trim_start().to_uppercase().starts_with("INSERT") => {
                    format!("INSERT INTO {} {}", sink.name, query.trim_start().trim_end_matches(';'))
                }
                _ => self.sql.join("; "),
            },
            several => format!("EXECUTE STATEMENT SET BEGIN {}; END", several.join("; ")),
        }
    }

    /// Whether the outcome depends on which source is ahead of the other: their watermarks meet, and make rows late.
    pub(crate) fn is_raced(&self) -> bool {
        let says_time = |s: &Source| s.schema.iter().any(|column| column.to_uppercase().contains("WATERMARK"));
        self.sources.len() > 1 && self.sources.iter().any(says_time)
    }

    /// Whether rows are compared by the time at which they are processed.
    pub(crate) fn tells_time(&self) -> bool {
        self.insert().contains("proc_time BETWEEN")
    }
}

impl Source {
    /// The kinds that it says it has, such as `I,UA,D`.
    fn changelog_mode(&self) -> String {
        let said = self.options.iter().find(|(key, _)| *key == MODE || key.ends_with("CHANGELOG_MODE"));
        match said.map(|(_, mode)| mode.as_str()) {
            Some("ChangelogMode.upsert()") => "I,UA,D".into(),
            Some("ChangelogMode.all()") => "I,UB,UA,D".into(),
            Some("ChangelogMode.insertOnly()") => "I".into(),
            Some(mode) if mode.contains("addContainedKind") => {
                let kinds = [("+I", "I"), ("-U", "UB"), ("+U", "UA"), ("-D", "D")];
                let has = |kind: &str| mode.contains(&format!("addContainedKind({kind})"));
                kinds.iter().filter(|(kind, _)| has(kind)).map(|(_, short)| *short).collect::<Vec<_>>().join(",")
            }
            Some(mode) => mode.into(),
            // As Flink's connector for tests, which sees it from the rows.
            None => {
                let has = |kind: &str| self.before.iter().chain(&self.after).any(|change| change.kind == kind);
                match (has("-U") || has("-D"), has("+U")) {
                    (true, _) if has("-U") || !has("+U") => "I,UB,UA,D".into(),
                    (false, false) => "I".into(),
                    _ => "I,UA,D".into(),
                }
            }
        }
    }
}

fn create(name: &str, schema: &[String], partition_keys: &[String], mode: &str) -> String {
    let columns: Vec<String> = schema.iter().map(|column| mended(column)).collect();
    let partitioned = match partition_keys {
        [] => String::new(),
        keys => format!(" PARTITIONED BY ({})", keys.join(", ")),
    };
    let option = if mode.is_empty() { String::new() } else { format!(", '{MODE}' = '{mode}'") };
    format!("CREATE TABLE {name} ({}){partitioned} WITH ('connector' = '{CONNECTOR}'{option})", columns.join(", "))
}

/// Where the recording of Flink's programs took the parts of `joining(", ", "primary key (", ") not enforced")` for the delimiter,
/// the primary key that was meant.
fn mended(column: &str) -> String {
    const DELIMITER: &str = ", , primary key (, ) not enforced";
    if !column.contains(DELIMITER) {
        return column.to_string();
    }
    format!("PRIMARY KEY ({}) NOT ENFORCED", column.replace(DELIMITER, ", "))
}
