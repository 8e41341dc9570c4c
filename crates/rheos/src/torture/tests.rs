//! The checker finds what it is to find: planted faults of each kind.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{Comparison, Output, Repetition, Rows, compare};
use crate::Recovery;

const KEYED: Rows = Rows::Changes { key: None };

/// Two folders with the same files.
struct Twins(TempDir);

impl Twins {
    fn new(files: &[(&str, &str)]) -> Twins {
        let twins = Twins(TempDir::new().unwrap());
        for folder in [twins.reference(), twins.output()] {
            fs::create_dir(&folder).unwrap();
            files.iter().for_each(|(name, text)| fs::write(folder.join(name), text).unwrap());
        }
        twins
    }

    fn reference(&self) -> PathBuf {
        self.0.path().join("reference")
    }

    fn output(&self) -> PathBuf {
        self.0.path().join("output")
    }

    fn compare(&self, rows: &Rows, recovery: Recovery) -> Comparison {
        let read = |folder: &Path| Output::read(folder, rows).unwrap();
        compare(&read(&self.reference()), &read(&self.output()), rows, recovery)
    }

    /// Lost, duplicated, changed, added.
    fn counts(&self, rows: &Rows) -> [u64; 4] {
        let found = self.compare(rows, Recovery::Precise).differences;
        [&found.lost, &found.duplicated, &found.changed, &found.added].map(|tally| tally.count)
    }
}

fn rows() -> Twins {
    Twins::new(&[("part-a-0-0.json", "{\"k\":1}\n{\"k\":2}\n"), ("part-a-0-1.json", "{\"k\":2}\n{\"k\":3}\n{\"k\":4}\n")])
}

#[test]
fn the_same_rows_in_other_files_are_the_same() {
    let twins = rows();
    fs::remove_file(twins.output().join("part-a-0-0.json")).unwrap();
    fs::write(twins.output().join("part-b-0-7.json"), "{\"k\":2}\n{\"k\":1}\n").unwrap();
    assert_eq!(twins.counts(&Rows::Added), [0; 4]);
}

#[test]
fn a_part_file_that_is_gone_is_lost_rows() {
    let twins = rows();
    fs::remove_file(twins.output().join("part-a-0-0.json")).unwrap();
    assert_eq!(twins.counts(&Rows::Added), [2, 0, 0, 0]);
    assert_eq!(twins.compare(&Rows::Added, Recovery::Rollback).differences.lost.examples, ["{\"k\":1}", "{\"k\":2}"]);
}

#[test]
fn a_part_file_that_is_there_twice_is_duplicated_rows() {
    let twins = rows();
    fs::copy(twins.output().join("part-a-0-1.json"), twins.output().join("part-a-0-2.json")).unwrap();
    assert_eq!(twins.counts(&Rows::Added), [0, 3, 0, 0]);
    assert_eq!(twins.compare(&Rows::Added, Recovery::Rollback).repetition, Repetition::Repeating);
}

#[test]
fn another_row_in_the_place_of_one_is_a_changed_row() {
    let twins = rows();
    fs::write(twins.output().join("part-a-0-0.json"), "{\"k\":1}\n{\"k\":9}\n").unwrap();
    assert_eq!(twins.counts(&Rows::Added), [0, 0, 1, 0]);
    let found = twins.compare(&Rows::Added, Recovery::Rollback);
    assert_eq!((found.repetition, found.differences.changed.examples[0].as_str()), (Repetition::Divergent, "{\"k\":2} -> {\"k\":9}"));
    fs::write(twins.output().join("part-a-0-0.json"), "{\"k\":1}\n{\"k\":9}\n{\"k\":2}\n").unwrap();
    assert_eq!(twins.counts(&Rows::Added), [0, 0, 0, 1]);
    assert_eq!(twins.compare(&Rows::Added, Recovery::Rollback).repetition, Repetition::Convergent);
}

#[test]
fn hidden_files_are_no_output_and_are_named() {
    let twins = rows();
    fs::write(twins.output().join(".part-a-0-2.json.inprogress"), "{\"k\":5}\n{\"k").unwrap();
    let output = Output::read(&twins.output(), &Rows::Added).unwrap();
    assert_eq!((output.changes.len(), output.hidden), (5, vec![".part-a-0-2.json.inprogress".to_string()]));
}

#[test]
fn a_line_that_was_cut_off_is_an_error() {
    let twins = rows();
    fs::write(twins.output().join("part-a-0-2.json"), "{\"k\":5}\n{\"k").unwrap();
    let error = Output::read(&twins.output(), &Rows::Added).unwrap_err().to_string();
    assert!(error.contains("'part-a-0-2.json', line 2"), "{error}");
}

fn add(k: u32, n: u32) -> String {
    format!("{{\"before\":null,\"after\":{{\"k\":{k},\"n\":{n}}},\"op\":\"c\"}}\n")
}

fn remove(k: u32, n: u32) -> String {
    format!("{{\"before\":{{\"k\":{k},\"n\":{n}}},\"after\":null,\"op\":\"d\"}}\n")
}

/// Key 1 counts to 3 in two files, key 2 stays at 1.
fn changes() -> Twins {
    let first = [add(1, 1), remove(1, 1), add(1, 2), add(2, 1)].concat();
    Twins::new(&[("part-a-0-9.json", &first), ("part-a-0-10.json", &[remove(1, 2), add(1, 3)].concat())])
}

#[test]
fn other_changes_that_lead_to_the_same_table_are_the_same() {
    let twins = changes();
    fs::remove_file(twins.output().join("part-a-0-9.json")).unwrap();
    fs::write(twins.output().join("part-a-0-10.json"), [add(2, 1), add(1, 3)].concat()).unwrap();
    assert_eq!(twins.counts(&KEYED), [0; 4]);
}

#[test]
fn changes_that_are_gone_copied_or_changed_are_found_in_the_table() {
    let twins = changes();
    let last = twins.output().join("part-a-0-10.json");
    fs::remove_file(&last).unwrap();
    assert_eq!(twins.counts(&Rows::Changes { key: Some(vec![0]) }), [0, 0, 1, 0], "key 1 stands at 2");
    assert_eq!(twins.counts(&KEYED), [0, 0, 1, 0]);
    fs::write(&last, [remove(1, 2), add(1, 4)].concat()).unwrap();
    assert_eq!(twins.counts(&KEYED), [0, 0, 1, 0]);
    fs::write(&last, [remove(1, 2), add(1, 3), remove(2, 1)].concat()).unwrap();
    assert_eq!(twins.counts(&KEYED), [1, 0, 0, 0]);
    fs::write(&last, [remove(1, 2), add(1, 3), remove(1, 2), add(1, 3)].concat()).unwrap();
    assert_eq!(twins.counts(&KEYED), [1, 1, 0, 0], "what is removed twice is owed");
}

#[test]
fn folding_by_key_hides_repetition_but_no_loss() {
    let twins = changes();
    let by_key = Rows::Changes { key: Some(vec![0]) };
    fs::write(twins.output().join("part-a-0-11.json"), [remove(1, 2), add(1, 3)].concat()).unwrap();
    let found = twins.compare(&by_key, Recovery::Rollback);
    assert!(found.differences.is_empty());
    assert_eq!((found.repetition, found.repeated_changes), (Repetition::Convergent, 2));
    fs::write(twins.output().join("part-a-0-12.json"), remove(2, 1)).unwrap();
    let found = twins.compare(&by_key, Recovery::Rollback);
    assert_eq!((found.repetition, found.differences.lost.count), (Repetition::Divergent, 1));
}
