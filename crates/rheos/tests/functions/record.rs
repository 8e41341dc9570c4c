//! Recorded cases.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::mended;

/// Stands for half a surrogate pair, which Java's texts may have and no text of Unicode can.
pub(crate) const HALF: char = '\u{e000}';

/// A file of cases.
#[derive(Deserialize)]
struct File {
    sets: Vec<Recorded>,
}

/// Fields, and expressions over them.
#[derive(Deserialize)]
struct Recorded {
    fields: Option<Vec<Value>>,
    types: Option<Vec<String>>,
    cases: Vec<Case>,
}

/// An expression and what comes of it.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Case {
    /// Where it is and what it asks; of one line.
    #[serde(skip)]
    pub(crate) id: String,
    /// One expression or several; none where only Flink's Table API can ask it.
    pub(crate) sql: Option<String>,
    /// The value; a list where there are several expressions.
    #[serde(default)]
    pub(crate) expect: Value,
    /// The type as Java writes it.
    #[serde(rename = "type")]
    pub(crate) ty: Option<String>,
    /// What Flink says when it refuses the expression.
    #[serde(rename = "testSqlValidationError")]
    pub(crate) planning_error: Option<Value>,
    /// What Flink says when it fails on the row.
    #[serde(rename = "testSqlRuntimeError")]
    pub(crate) runtime_error: Option<Value>,
}

/// The fields `f0`, `f1`, ... of a row, and expressions over them.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    /// The file's name without its ending.
    pub(crate) file: String,
    pub(crate) fields: Vec<Value>,
    /// Their types as Java writes them; none where they follow from the values.
    pub(crate) types: Option<Vec<String>>,
    pub(crate) cases: Vec<Case>,
}

impl Set {
    /// The sets of all JSON files of a folder, in order.
    pub(crate) fn all_in(folder: &Path) -> Vec<Set> {
        let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut files: Vec<_> = entries.map(|e| e.expect("an entry of the folder").path()).collect();
        files.retain(|f| f.extension().is_some_and(|e| e == "json"));
        files.sort();
        files.iter().flat_map(|path| sets_of(path)).collect()
    }
}

fn sets_of(path: &Path) -> Vec<Set> {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let read: File = serde_json::from_str(&without_halves(&text)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let sets = read.sets.into_iter().enumerate();
    sets.map(|(index, recorded)| {
        let named = |(i, case): (usize, Case)| {
            let sql: String = case.sql.as_deref().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
            let short: String = sql.chars().take(80).collect();
            Case { id: format!("{file} {index}.{i} {short}").trim_end().to_string(), ..case }
        };
        let cases = recorded.cases.into_iter().enumerate().map(named).collect();
        let set = Set { file: file.clone(), fields: recorded.fields.unwrap_or_default(), types: recorded.types, cases };
        mended::mended(set, index)
    })
    .collect()
}

/// The JSON with [`HALF`] for escapes of surrogates that are in no pair.
fn without_halves(json: &str) -> String {
    let unit = |at: usize| {
        let escape = json.get(at..at + 6).filter(|e| e.starts_with("\\u") && !json[..at].ends_with('\\'))?;
        u32::from_str_radix(&escape[2..], 16).ok()
    };
    let is = |at: usize, range: std::ops::Range<u32>| unit(at).is_some_and(|u| range.contains(&u));
    let (mut out, mut at) = (String::with_capacity(json.len()), 0);
    while at < json.len() {
        let (high, low) = (is(at, 0xd800..0xdc00), is(at, 0xdc00..0xe000));
        let next = if high && is(at + 6, 0xdc00..0xe000) {
            out.push_str(&json[at..at + 12]);
            at + 12
        } else if high || low {
            out.push(HALF);
            at + 6
        } else {
            let char = json[at..].chars().next().unwrap_or_default();
            out.push(char);
            at + char.len_utf8()
        };
        at = next;
    }
    out
}

#[test]
fn half_a_surrogate_pair_is_marked() {
    assert_eq!(without_halves(r#""\ud83d\ude00 \ud83d \ude00 \u0041""#), "\"\\ud83d\\ude00 \u{e000} \u{e000} \\u0041\"");
}
