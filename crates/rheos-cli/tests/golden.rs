//! What the command prints, as readable files: `tests/golden/*.test`, rewritten by `RHEOS_UPDATE=1`.
//!
//! A file has sections, each opened by a line that begins with `--- `:
//!
//! ```text
//! # What is shown here.
//! --- file sales.sql
//! SELECT 1 AS one;
//! --- run rheos run sales.sql --output final-tsv
//! --- stdout
//! one
//! 1
//! --- show out
//! ```
//!
//! `file` is written into an empty folder; `copy FROM TO` puts a folder of the repository there, `remove` and `cut FILE BYTES`
//! damage what is there. `run` runs a command there; `stdout`, `stderr` and `exit` after it are what it gave,
//! left out where empty or 0. `show` is followed by the contents of a file, or of all files of a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[test]
fn commands_print_what_the_files_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).expect("the folder of golden files").map(|e| e.expect("an entry").path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "test"));
    files.sort();
    assert!(!files.is_empty(), "no golden files in {}", folder.display());
    let update = std::env::var("RHEOS_UPDATE").is_ok_and(|v| v == "1");
    let mut wrong = Vec::new();
    for file in files {
        let expected = fs::read_to_string(&file).expect("a golden file");
        let got = play(&expected);
        if got == expected {
            continue;
        }
        if update {
            fs::write(&file, got).expect("a golden file is rewritten");
        } else {
            wrong.push(format!("{}\n{}", file.display(), first_difference(&expected, &got)));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nRHEOS_UPDATE=1 cargo nextest run -p rheos-cli --test golden rewrites the files; look at what changes",
        wrong.join("\n")
    );
}

/// A section: the line that opens it, without the dashes, and its lines.
struct Section {
    title: String,
    body: String,
}

fn parse(text: &str) -> (String, Vec<Section>) {
    let (mut preamble, mut sections) = (String::new(), Vec::<Section>::new());
    for line in text.lines() {
        match (line.strip_prefix("--- "), sections.last_mut()) {
            (Some(title), _) => sections.push(Section { title: title.to_string(), body: String::new() }),
            (None, Some(section)) => section.body.push_str(&format!("{line}\n")),
            (None, None) => preamble.push_str(&format!("{line}\n")),
        }
    }
    (preamble, sections)
}

/// Does what the file says, and gives the file as it should be.
fn play(text: &str) -> String {
    let folder = tempfile::tempdir().expect("an empty folder");
    let (mut out, sections) = parse(text);
    for Section { title, body } in sections {
        let (word, rest) = title.split_once(' ').unwrap_or((&title, ""));
        match word {
            "file" => {
                let path = folder.path().join(rest);
                fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("folders of a file");
                fs::write(path, &body).expect("a file of the case");
                out.push_str(&format!("--- {title}\n{body}"));
            }
            "copy" | "remove" | "cut" => {
                change(word, rest, folder.path());
                out.push_str(&format!("--- {title}\n"));
            }
            "run" => {
                out.push_str(&format!("--- {title}\n"));
                run(rest, folder.path(), &mut out);
            }
            "show" => out.push_str(&format!("--- {title}\n{}", contents(&folder.path().join(rest)))),
            "stdout" | "stderr" | "exit" => {}
            _ => panic!("no section is called '{title}'"),
        }
    }
    out
}

/// Copies a folder of the repository, removes a file, or cuts one off.
fn change(word: &str, rest: &str, folder: &Path) {
    let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
    match word {
        "copy" => copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(first), &folder.join(second)),
        "remove" => fs::remove_file(folder.join(first)).expect("a file to remove"),
        _ => {
            let file = fs::OpenOptions::new().write(true).open(folder.join(first)).expect("a file to cut off");
            file.set_len(second.parse().expect("a number of bytes")).expect("a file is cut off");
        }
    }
}

fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder to copy") {
            let name = entry.expect("an entry").file_name();
            copy(&from.join(&name), &to.join(&name));
        }
    } else {
        fs::copy(from, to).expect("a file is copied");
    }
}

fn run(line: &str, folder: &Path, out: &mut String) {
    let words = words(line);
    let is_variable = |w: &&String| w.split_once('=').is_some_and(|(name, _)| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    let variables: Vec<(&str, &str)> = words.iter().take_while(is_variable).filter_map(|w| w.split_once('=')).collect();
    let mut arguments = words.iter().skip(variables.len());
    assert_eq!(arguments.next().map(String::as_str), Some("rheos"), "only rheos is run: {line}");
    let mut command = Command::new(env!("CARGO_BIN_EXE_rheos"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("RHEOS_")) {
        command.env_remove(name);
    }
    command.args(arguments).envs(variables).env("NO_COLOR", "1").env("COLUMNS", "120").current_dir(folder).stdin(Stdio::null());
    let output = command.output().expect("rheos runs");
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            let text = String::from_utf8_lossy(bytes);
            let text = without_times(&text.replace(&folder.display().to_string(), "$FOLDER"));
            out.push_str(&format!("--- {name}\n{text}{}", if text.ends_with('\n') { "" } else { "(no line end)\n" }));
        }
    }
    match output.status.code() {
        Some(0) => {}
        Some(code) => out.push_str(&format!("--- exit {code}\n")),
        None => out.push_str("--- exit by a signal\n"),
    }
}

/// Words as a shell splits them, with single and double quotes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The contents of a file, or of all files of a folder and below, by name.
fn contents(path: &Path) -> String {
    if !path.is_dir() {
        return fs::read_to_string(path).unwrap_or_else(|e| format!("({e})\n"));
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    entries.sort();
    entries.iter().map(|e| contents(e)).collect()
}

/// `in 0.31 s` differs from run to run.
fn without_times(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(" in ") {
        let (before, after) = rest.split_at(at + 4);
        out.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').len();
        rest = after;
        if digits > 0 && after[digits..].starts_with(" s") {
            out.push('_');
            rest = &after[digits..];
        }
    }
    out + rest
}

fn first_difference(expected: &str, got: &str) -> String {
    let (mut e, mut g) = (expected.lines(), got.lines());
    for number in 1.. {
        match (e.next(), g.next()) {
            (Some(a), Some(b)) if a == b => {}
            (None, None) => break,
            (a, b) => return format!("  line {number}\n  - {}\n  + {}", a.unwrap_or("(end)"), b.unwrap_or("(end)")),
        }
    }
    "  they differ in line ends".into()
}
