//! Reading files from any position, and writing part files that appear only when whole.

mod folder;
mod partitions;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Int32Array, RecordBatch, UInt8Array};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::FutureExt;
use rheos_core::batch::ColumnBatch;
use rheos_core::connector::TableSpec;
use rheos_core::sink::{CommitToken, Sink, SinkFactory};
use rheos_core::source::{SourceEvent, SourceFactory};
use rheos_core::types::TypeKind as T;
use rheos_core::{Batch, ErrorKind};
use tempfile::TempDir;

use crate::filesystem::reading::YIELD_BYTES;
use crate::filesystem::sink::PartFiles;
use crate::filesystem::source::Files;
use crate::fixture::{context, lines, next, read_all, table};

fn numbers(path: &str, format: &str) -> TableSpec {
    table(&[("x", T::Int)], &[("connector", "filesystem"), ("path", path), ("format", format)])
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn write_gzip(path: &Path, text: &str) {
    let mut file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::default());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap();
}

/// In two frames, as programs write that compress on several cores.
fn write_zstd(path: &Path, text: &str) {
    let frames = text.as_bytes().chunks(text.len() / 2 + 1).map(|half| zstd::encode_all(half, 0).unwrap());
    fs::write(path, frames.collect::<Vec<_>>().concat()).unwrap();
}

/// All rows of a table, read by one reader.
fn rows(t: &TableSpec) -> Vec<String> {
    Files.describe(t).unwrap();
    let mut reader = Files.reader(t, Files.splits(t, 1).unwrap(), &context(0, 1)).unwrap();
    read_all(&t.output_schema(), reader.as_mut(), 1000).unwrap()
}

#[test]
fn a_reader_goes_on_after_any_row() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    let csv = "\u{feff}a,\"two\nlines\"\r\n\r\nb,2\r\nc,\"3\"\nd,4";
    let jsonl = "{\"k\":\"a\",\"v\":\"1\"}\n\n{\"k\":\"b\",\"v\":2}\r\n{\"k\":\"c\"}\n{\"k\":\"d\"}";
    let cdc = "{\"op\":\"c\",\"after\":{\"k\":\"a\"}}\n{\"op\":\"u\",\"before\":{\"k\":\"a\"},\"after\":{\"k\":\"b\"}}\n{\"op\":\"d\",\"before\":{\"k\":\"b\"}}\n";
    for (format, text) in [("csv", csv), ("json", jsonl), ("debezium-json", cdc)] {
        write(Path::new(&path("plain")), text);
        write_gzip(Path::new(&path("packed.gz")), text);
        write_zstd(Path::new(&path("packed.zst")), text);
        write_zstd(Path::new(&path("packed.zstd")), text);
        for name in ["plain", "packed.gz", "packed.zst", "packed.zstd"] {
            let t = table(&[("k", T::STRING), ("v", T::STRING)], &[("path", &path(name)), ("format", format)]);
            let all = rows(&t);
            assert_eq!(all.len(), 4);
            for max_rows in 1..=4 {
                let mut splits = Files.splits(&t, 1).unwrap();
                let mut read = Vec::new();
                loop {
                    let mut reader = Files.reader(&t, splits, &context(0, 1)).unwrap();
                    let rest =
                        read_all(&t.schema, Files.reader(&t, reader.positions().unwrap(), &context(0, 1)).unwrap().as_mut(), 7).unwrap();
                    assert_eq!([read.clone(), rest].concat(), all, "{format} {name} after {} rows", read.len());
                    let SourceEvent::Rows { batch: Batch::Columns(batch), .. } = next(reader.as_mut(), max_rows).unwrap() else { break };
                    read.extend(lines(&t.schema, &batch));
                    splits = reader.positions().unwrap();
                }
                assert_eq!(read, all);
            }
        }
    }
}

#[test]
fn errors_name_file_and_line_also_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("n.csv");
    write(&file, "1\n2\nthree\n");
    let t = numbers(file.to_str().unwrap(), "csv");
    let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    next(reader.as_mut(), 2).unwrap();
    let mut restarted = Files.reader(&t, reader.positions().unwrap(), &context(0, 1)).unwrap();
    for reader in [&mut reader, &mut restarted] {
        let e = next(reader.as_mut(), 10).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::FixInput);
        assert_eq!(e.to_string(), format!("table 't', file '{}': line 3: column 'x': 'three' is no INT", file.display()));
    }
}

#[test]
fn folders_and_patterns_give_their_files_but_no_hidden_ones() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().to_str().unwrap();
    for (name, text) in
        [("a.csv", "1"), ("b.txt", "2"), ("x/c.csv", "3"), ("x/y/d.csv", "4"), ("_SUCCESS", "9"), (".part", "9"), ("_t/e.csv", "9")]
    {
        write(&dir.path().join(name), text);
    }
    let read = |path: &str| rows(&numbers(&format!("{root}/{path}"), "csv")).iter().map(|r| r[3..].to_string()).collect::<Vec<_>>();
    assert_eq!(read(""), ["1", "2", "3", "4"]);
    assert_eq!(read("*.csv"), ["1"]);
    assert_eq!(read("**/*.csv"), ["1", "3", "4"]);
    assert_eq!(read("x/*/?.csv"), ["4"]);
    assert_eq!(read("x*"), ["3", "4"]);
    assert_eq!(read("_SUCCESS"), ["9"]);
    let mut t = numbers(&format!("file://{root}"), "csv");
    t.options.insert("source.path.regex-pattern".into(), ".*/[ad]\\.csv".into());
    assert_eq!(rows(&t), ["+I 1", "+I 4"]);
    let mut reader = Files.reader(&t, vec![], &context(1, 2)).unwrap();
    assert!(matches!(next(reader.as_mut(), 5).unwrap(), SourceEvent::End));
}

#[test]
fn a_missing_path_is_refused_with_what_is_missing() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().to_str().unwrap();
    let refused = |path: &str, more: &[(&str, &str)]| {
        let mut t = numbers(path, "csv");
        t.options.extend(more.iter().map(|(k, v)| (k.to_string(), v.to_string())));
        let e = Files.describe(&t).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::FixConfig);
        e.to_string()
    };
    let expected = format!("table 't' reads '{root}/no/file.csv', which does not exist: '{root}' has no 'no'");
    assert_eq!(refused(&format!("{root}/no/file.csv"), &[]), expected);
    assert_eq!(refused("no-such.csv", &[]), "table 't' reads 'no-such.csv', which does not exist: the current folder has no 'no-such.csv'");
    assert!(refused(&format!("{root}/*.csv"), &[]).contains("no file matches"));
    assert!(refused("s3://bucket/x", &[]).contains("not s3:"));
    assert!(refused(root, &[("source.monitor-interval", "0 s")]).contains("must be at least 1 ms"));
    assert!(refused(root, &[("format", "avro")]).contains("there are 'csv', 'json', 'debezium-json'"));
}

/// The visible files of a folder and the hidden ones, by name, with their text.
fn files(dir: &Path) -> (Vec<(String, String)>, usize) {
    let mut all: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    all.sort();
    let name = |p: &Path| p.file_name().unwrap().to_str().unwrap().to_string();
    let hidden = all.iter().filter(|p| name(p).starts_with('.')).count();
    (all.iter().filter(|p| !name(p).starts_with('.')).map(|p| (name(p), fs::read_to_string(p).unwrap_or_default())).collect(), hidden)
}

fn batch(values: &[i32]) -> Batch {
    let schema = numbers("", "csv").schema.to_arrow();
    let records = RecordBatch::try_new(schema, vec![Arc::new(Int32Array::from(values.to_vec()))]).unwrap();
    Batch::Columns(ColumnBatch::inserts(records))
}

fn writer(t: &TableSpec) -> Box<dyn Sink> {
    PartFiles.describe(t).unwrap();
    PartFiles.writer(t, &context(0, 1)).unwrap()
}

fn commit(t: &TableSpec, tokens: &[CommitToken]) -> rheos_core::Result<()> {
    PartFiles.committer(t).unwrap().unwrap().commit(tokens)
}

#[test]
fn rows_appear_only_when_committed_and_committing_again_changes_nothing() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("new/out");
    let t = numbers(out.to_str().unwrap(), "csv");
    let mut sink = writer(&t);
    sink.write(batch(&[1, 2])).unwrap();
    let tokens = sink.prepare(1).unwrap();
    sink.write(batch(&[3])).unwrap();
    assert_eq!(files(&out), (vec![], 1));
    commit(&t, &tokens).unwrap();
    commit(&t, &tokens).unwrap();
    assert_eq!(files(&out), (vec![("part-sink-1-0-0.csv".into(), "1\n2\n".into())], 0));
    let second = sink.prepare(2).unwrap();
    assert_eq!(second[0].epoch, 2);
    assert!(sink.prepare(3).unwrap().is_empty());
    commit(&t, &second).unwrap();
    assert_eq!(files(&out).0.len(), 2);
    assert_eq!(rows(&t), ["+I 1", "+I 2", "+I 3"]);
    // Whoever reads them may take published files away before they are committed again.
    fs::remove_file(out.join("part-sink-1-0-0.csv")).unwrap();
    commit(&t, &tokens).unwrap();
}

#[test]
fn a_crash_leaves_nothing_visible_and_a_prepared_file_survives_it() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "json");
    let mut sink = writer(&t);
    sink.write(batch(&[1])).unwrap();
    let tokens = sink.prepare(1).unwrap();
    sink.write(batch(&vec![2; 100_000])).unwrap();
    assert_eq!(files(dir.path()), (vec![], 2));
    sink.close();
    assert_eq!(files(dir.path()), (vec![], 1));
    // The next attempt does not take names that wait to be committed.
    let mut again = writer(&t);
    again.write(batch(&[3])).unwrap();
    let more = again.prepare(2).unwrap();
    commit(&t, &tokens).unwrap();
    commit(&t, &more).unwrap();
    assert_eq!(rows(&t), ["+I 1", "+I 3"]);
}

#[test]
fn another_jobs_file_is_never_overwritten() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    let (mut one, mut two) = (writer(&t), writer(&t));
    one.write(batch(&[1])).unwrap();
    two.write(batch(&[2])).unwrap();
    let (first, second) = (one.prepare(1).unwrap(), two.prepare(1).unwrap());
    commit(&t, &first).unwrap();
    commit(&t, &second).unwrap();
    assert_eq!(rows(&t), ["+I 1", "+I 2"]);
    one.write(batch(&[3])).unwrap();
    let third = one.prepare(2).unwrap();
    let name = third[0].payload["name"].as_str().unwrap();
    fs::write(name, "mine").unwrap();
    assert!(commit(&t, &third).unwrap_err().to_string().contains("another job has written"));
    assert_eq!(fs::read_to_string(name).unwrap(), "mine");
}

#[test]
fn a_large_file_is_closed_early_but_published_with_the_rest() {
    let dir = TempDir::new().unwrap();
    for (compression, suffix) in [("none", ""), ("gzip", ".gz"), ("zstd", ".zst")] {
        let dir = dir.path().join(compression);
        let mut t = numbers(dir.to_str().unwrap(), "csv");
        t.options.insert("sink.rolling-policy.file-size".into(), "4 b".into());
        t.options.insert("compression".into(), compression.into());
        let mut sink = writer(&t);
        sink.write(batch(&[10, 20, 30, 40, 50])).unwrap();
        assert_eq!(files(&dir).0, vec![]);
        let tokens = sink.prepare(1).unwrap();
        assert_eq!(tokens.len(), 3);
        commit(&t, &tokens).unwrap();
        assert!(dir.join(format!("part-sink-1-0-2.csv{suffix}")).exists());
        assert_eq!(rows(&t), ["+I 10", "+I 20", "+I 30", "+I 40", "+I 50"]);
    }
    let mut t = numbers(dir.path().to_str().unwrap(), "csv");
    t.options.insert("compression".into(), "brotli".into());
    assert!(PartFiles.describe(&t).unwrap_err().to_string().contains("it can be 'none', 'gzip' or 'zstd'"));
}

#[test]
fn a_compressed_file_that_is_cut_off_or_changed_is_an_error() {
    let dir = TempDir::new().unwrap();
    let text = (0..20_000).map(|i| format!("{}\n", i * 7919 % 10_007)).collect::<String>();
    for (name, write) in [("n.gz", write_gzip as fn(&Path, &str)), ("n.zst", write_zstd)] {
        let file = dir.path().join(name);
        write(&file, &text);
        let whole = fs::read(&file).unwrap();
        let t = numbers(file.to_str().unwrap(), "csv");
        assert_eq!(rows(&t).len(), 20_000);
        fs::write(&file, &whole[..whole.len() - 9]).unwrap();
        let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
        let e = read_all(&t.schema, reader.as_mut(), 1000).unwrap_err();
        assert!(e.to_string().contains(name), "{e}");
    }
}

#[test]
fn changelogs_are_written_by_debezium_json_alone() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "debezium-json");
    assert!(!PartFiles.describe(&t).unwrap().accepts.is_insert_only());
    assert!(PartFiles.describe(&numbers("out", "csv")).unwrap().accepts.is_insert_only());
    let (records, _) = batch(&[1, 1, 2]).into_columns().unwrap().into_parts();
    let changes = ColumnBatch::changes(records, UInt8Array::from(vec![0, 1, 2])).unwrap();
    let mut sink = writer(&t);
    sink.write(Batch::Columns(changes)).unwrap();
    commit(&t, &sink.prepare(1).unwrap()).unwrap();
    assert_eq!(rows(&t), ["+I 1", "-D 1", "+I 2"]);
}

#[test]
fn a_sink_refuses_what_is_no_folder() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("f");
    write(&file, "");
    let e = PartFiles.describe(&numbers(file.to_str().unwrap(), "csv")).unwrap_err();
    assert!(e.to_string().contains("that is no folder"));
}

#[test]
fn only_the_file_being_read_is_polled() {
    let dir = TempDir::new().unwrap();
    write(&dir.path().join("a.csv"), "1\n2\n");
    write(&dir.path().join("b.csv"), "3\n");
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    let mut polled = Vec::new();
    loop {
        polled.push([reader.is_polled(0), reader.is_polled(1)]);
        if matches!(next(reader.as_mut(), 10).unwrap(), SourceEvent::End) {
            break;
        }
    }
    assert_eq!(polled, [[true, false], [true, false], [false, true], [false, true], [false, false]]);
}

#[test]
fn a_reader_that_skips_much_lets_others_run_and_goes_on_from_there() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("n.csv");
    let bad_line = "x".repeat(9999) + "\n";
    write(&file, &(bad_line.repeat(2 * YIELD_BYTES as usize / bad_line.len()) + "7\n"));
    let mut t = numbers(file.to_str().unwrap(), "csv");
    t.options.insert("csv.on-error".into(), "skip".into());
    let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    assert!(reader.next(10).now_or_never().is_none());
    let position = reader.positions().unwrap();
    assert!(position[0].position["offset"].as_u64().unwrap() >= YIELD_BYTES);
    let mut restarted = Files.reader(&t, position, &context(0, 1)).unwrap();
    for reader in [&mut reader, &mut restarted] {
        let event = std::iter::from_fn(|| Some(reader.next(10).now_or_never())).take(9).flatten().next();
        let Some(Ok(SourceEvent::Rows { batch: Batch::Columns(batch), .. })) = event else { panic!("{event:?}") };
        assert_eq!(lines(&t.schema, &batch), ["+I 7"]);
    }
}

#[test]
fn a_restart_within_the_first_line_takes_no_row_for_a_header() {
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("n.csv");
    // Records that end in a carriage return alone: no lines are counted before the second row.
    write(&file, "x\r1\r2\r3\r");
    let mut t = numbers(file.to_str().unwrap(), "csv");
    t.options.insert("csv.ignore-first-line".into(), "true".into());
    let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    next(reader.as_mut(), 1).unwrap();
    let mut position = reader.positions().unwrap();
    position[0].position["line"] = 0.into();
    let mut restarted = Files.reader(&t, position, &context(0, 1)).unwrap();
    assert_eq!(read_all(&t.schema, restarted.as_mut(), 10).unwrap(), ["+I 2", "+I 3"]);
}

#[test]
fn aborting_removes_prepared_files_but_no_published_ones() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    let mut sink = writer(&t);
    sink.write(batch(&[1])).unwrap();
    let published = sink.prepare(1).unwrap();
    commit(&t, &published).unwrap();
    sink.write(batch(&[2])).unwrap();
    let prepared = sink.prepare(2).unwrap();
    let mut committer = PartFiles.committer(&t).unwrap().unwrap();
    for _ in 0..2 {
        committer.abort(&[published.clone(), prepared.clone()].concat()).unwrap();
        assert_eq!(files(dir.path()), (vec![("part-sink-1-0-0.csv".into(), "1\n".into())], 0));
    }
}

#[test]
fn committing_again_passes_over_a_folder_that_was_taken_away() {
    let dir = TempDir::new().unwrap();
    let out = dir.path().join("out");
    let t = numbers(out.to_str().unwrap(), "csv");
    let mut sink = writer(&t);
    sink.write(batch(&[1])).unwrap();
    let tokens = sink.prepare(1).unwrap();
    commit(&t, &tokens).unwrap();
    fs::remove_dir_all(&out).unwrap();
    commit(&t, &tokens).unwrap();
}

/// A writer of a job that may be restored.
fn writer_of(t: &TableSpec, job: &str, uid: &str, index: usize) -> Box<dyn Sink> {
    let mut context = context(index, 2);
    context.subtask.job = job.into();
    context.subtask.uid = uid.into();
    PartFiles.writer(t, &context).unwrap()
}

#[test]
fn a_restore_in_the_commit_phase_gives_each_row_once() {
    // The manifest with both tokens is stored; then the process dies when none, one or both of them are committed.
    for committed in 0..=2 {
        let dir = TempDir::new().unwrap();
        let t = numbers(dir.path().to_str().unwrap(), "csv");
        let mut tokens = Vec::new();
        for index in 0..2 {
            let mut sink = writer_of(&t, "j", "sink", index);
            sink.write(batch(&[10 * index as i32 + 1, 10 * index as i32 + 2])).unwrap();
            tokens.extend(sink.prepare(1).unwrap());
            sink.write(batch(&vec![99; 100_000])).unwrap();
        }
        commit(&t, &tokens[..committed]).unwrap();
        assert_eq!(files(dir.path()).1, 2 - committed + 2, "what is prepared, and what is in progress");
        commit(&t, &tokens).unwrap();
        PartFiles.clean_up(&t, "sink", "j", i64::MAX).unwrap();
        let mut sink = writer_of(&t, "j", "sink", 0);
        writer_of(&t, "j", "sink", 1);
        assert_eq!(files(dir.path()).1, 0);
        // The reply of this one is lost, so that it is repeated.
        sink.write(batch(&[3])).unwrap();
        let next = sink.prepare(2).unwrap();
        commit(&t, &next).unwrap();
        commit(&t, &[tokens, next].concat()).unwrap();
        let mut read = rows(&t);
        read.sort();
        assert_eq!(read, ["+I 1", "+I 11", "+I 12", "+I 2", "+I 3"], "{committed} committed before");
        assert_eq!(files(dir.path()).1, 0);
    }
}

#[test]
fn only_what_the_same_sink_of_the_same_job_left_behind_is_removed() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    let big = || batch(&vec![1; 100_000]);
    let left = [("a", "sink", 0), ("a", "sink", 1), ("a", "sink-1", 0), ("b", "sink", 0), ("a-sink", "1", 0)];
    for (job, uid, index) in left {
        writer_of(&t, job, uid, index).write(big()).unwrap();
    }
    writer(&t).write(big()).unwrap();
    fs::write(dir.path().join(".part-a-sink-0-0.notes"), "mine").unwrap();
    let hidden = || {
        let names = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with('.')).collect();
        names.sort();
        names
    };
    let before = hidden();
    writer_of(&t, "a", "sink", 0);
    assert_eq!(hidden(), before, "no writer cleans up");
    PartFiles.clean_up(&t, "sink", "a", 0).unwrap();
    assert_eq!(hidden(), before, "what was prepared later than the clean-up was asked for stays");
    PartFiles.clean_up(&t, "sink", "a", i64::MAX).unwrap();
    let gone: Vec<String> = before.iter().filter(|name| !hidden().contains(name)).cloned().collect();
    let of: Vec<&str> = gone.iter().map(|name| &name[..".part-a-sink-0".len()]).collect();
    assert_eq!(of, [".part-a-sink-0", ".part-a-sink-1"], "{gone:?}");
    PartFiles.clean_up(&numbers("no/such/folder", "csv"), "sink", "a", i64::MAX).unwrap();
}

#[test]
fn attempts_of_a_job_never_take_the_same_name() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    for attempt in 0..3 {
        let mut context = context(0, 2);
        context.subtask.job = "j".into();
        context.env = rheos_core::env::Env::manual(attempt as u64);
        let mut sink = PartFiles.writer(&t, &context).unwrap();
        sink.write(batch(&[attempt])).unwrap();
        commit(&t, &sink.prepare(attempt as u64).unwrap()).unwrap();
        // Dies with a file in progress.
        sink.write(batch(&vec![9; 100_000])).unwrap();
    }
    let attempts: std::collections::BTreeSet<String> =
        files(dir.path()).0.into_iter().map(|(name, _)| name.trim_end_matches("-0.csv").to_string()).collect();
    assert_eq!(attempts.len(), 3, "a number alone would come again once a file is taken away: {attempts:?}");
    let mut read = rows(&t);
    read.sort();
    assert_eq!(read, ["+I 0", "+I 1", "+I 2"]);
}

#[test]
fn the_end_of_a_file_is_where_nothing_follows() {
    let dir = TempDir::new().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_string();
    write(Path::new(&path("plain")), "1\n2\n");
    write_gzip(Path::new(&path("packed.gz")), "1\n2\n");
    write_zstd(Path::new(&path("packed.zst")), "1\n2\n");
    for name in ["plain", "packed.gz", "packed.zst"] {
        let t = numbers(&path(name), "csv");
        let ends = Files.end_splits(&t, 1, &context(0, 1).env).unwrap();
        assert_eq!(ends.iter().map(|s| &s.id).collect::<Vec<_>>(), Files.splits(&t, 1).unwrap().iter().map(|s| &s.id).collect::<Vec<_>>());
        let mut reader = Files.reader(&t, ends, &context(0, 1)).unwrap();
        assert_eq!(read_all(&t.schema, reader.as_mut(), 10).unwrap(), Vec::<String>::new(), "{name}");
    }
    // What comes later is read.
    let t = numbers(&path("plain"), "csv");
    let ends = Files.end_splits(&t, 1, &context(0, 1).env).unwrap();
    fs::OpenOptions::new().append(true).open(path("plain")).unwrap().write_all(b"3\n").unwrap();
    let mut reader = Files.reader(&t, ends, &context(0, 1)).unwrap();
    assert_eq!(read_all(&t.schema, reader.as_mut(), 10).unwrap(), ["+I 3"]);
}

#[test]
fn another_attempt_in_the_same_process_leaves_what_may_still_be_published() {
    let dir = TempDir::new().unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "csv");
    let mut context = context(0, 1);
    context.subtask.job = "j".into();
    let sinks = PartFiles;
    let mut first = sinks.writer(&t, &context).unwrap();
    first.write(batch(&[1])).unwrap();
    // Named in a manifest of which nobody knows whether it is stored.
    let tokens = first.prepare(1).unwrap();
    first.close();
    sinks.writer(&t, &context).unwrap();
    commit(&t, &tokens).unwrap();
    assert_eq!(rows(&t), ["+I 1"]);
}

#[test]
fn parquet_is_written_hidden_until_committed_and_read_from_any_row() {
    let dir = TempDir::new().unwrap();
    let mut t = numbers(dir.path().to_str().unwrap(), "parquet");
    let mut sink = writer(&t);
    sink.write(batch(&(0..5).collect::<Vec<_>>())).unwrap();
    let tokens = sink.prepare(1).unwrap();
    sink.write(batch(&(5..9).collect::<Vec<_>>())).unwrap();
    assert_eq!((files(dir.path()).0.len(), files(dir.path()).1), (0, 2));
    commit(&t, &tokens).unwrap();
    let second = sink.prepare(2).unwrap();
    commit(&t, &second).unwrap();
    let names: Vec<String> = files(dir.path()).0.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["part-sink-1-0-0.parquet", "part-sink-1-0-1.parquet"]);
    for predicate in [None, Some(3)] {
        let value = |n| rheos_core::connector::PredicateValue::Int(n);
        let path = rheos_core::connector::ColumnPath { column: 0, fields: vec![] };
        let at_least = |n| rheos_core::connector::Predicate {
            path: path.clone(),
            comparison: rheos_core::connector::Comparison::GreaterOrEqual,
            value: value(n),
        };
        t.predicates = predicate.into_iter().map(at_least).collect();
        assert_eq!(Files.describe(&t).unwrap().predicates_applied, vec![true; t.predicates.len()]);
        let all = rows(&t);
        assert_eq!(all, (predicate.unwrap_or(0)..9).map(|i| format!("+I {i}")).collect::<Vec<_>>());
        for max_rows in 1..=4 {
            let (mut splits, mut read) = (Files.splits(&t, 1).unwrap(), Vec::new());
            loop {
                let mut reader = Files.reader(&t, splits, &context(0, 1)).unwrap();
                let event = std::iter::from_fn(|| Some(reader.next(max_rows).now_or_never())).flatten().next().unwrap().unwrap();
                splits = reader.positions().unwrap();
                match event {
                    SourceEvent::Rows { batch: Batch::Columns(batch), .. } => read.extend(lines(&t.schema, &batch)),
                    SourceEvent::SplitEnd { .. } => {
                        splits.remove(0);
                    }
                    _ => break,
                }
            }
            assert_eq!(read, all, "in steps of {max_rows}");
        }
    }
    let ends = Files.end_splits(&t, 1, &context(0, 1).env).unwrap();
    assert_eq!(ends.iter().map(|s| s.position["row"].as_u64().unwrap()).collect::<Vec<_>>(), [5, 4]);
}

#[test]
fn errors_in_parquet_name_table_file_column_and_both_types() {
    let dir = TempDir::new().unwrap();
    let written = table(&[("x", T::STRING)], &[("path", dir.path().to_str().unwrap()), ("format", "parquet")]);
    let mut sink = writer(&written);
    let text = arrow::array::StringArray::from(vec!["a"]);
    let records = RecordBatch::try_new(written.schema.to_arrow(), vec![Arc::new(text)]).unwrap();
    sink.write(Batch::Columns(ColumnBatch::inserts(records))).unwrap();
    commit(&written, &sink.prepare(1).unwrap()).unwrap();
    let t = numbers(dir.path().to_str().unwrap(), "parquet");
    let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    let e = next(reader.as_mut(), 2).unwrap_err();
    let file = dir.path().join("part-sink-1-0-0.parquet");
    let expected = format!("table 't', file '{}': column 'x' is Utf8 there, which cannot be read as INT", file.display());
    assert_eq!((e.kind(), e.to_string()), (ErrorKind::FixInput, expected));
}

#[test]
fn parquet_files_are_closed_by_size_too() {
    let dir = TempDir::new().unwrap();
    let mut t = numbers(dir.path().to_str().unwrap(), "parquet");
    t.options.insert("sink.rolling-policy.file-size".into(), "4 kb".into());
    let mut sink = writer(&t);
    sink.write(batch(&(0..10_000).collect::<Vec<_>>())).unwrap();
    let tokens = sink.prepare(1).unwrap();
    assert!(tokens.len() > 1, "{}", tokens.len());
    commit(&t, &tokens).unwrap();
    assert_eq!(rows(&t).len(), 10_000);
    t.options.insert("compression".into(), "gzip".into());
    assert!(PartFiles.describe(&t).unwrap_err().to_string().contains("'parquet.compression' = 'GZIP'"));
}
