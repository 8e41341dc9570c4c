//! Partitioned tables: folders named by values, hidden until committed, read back and pruned.

use arrow::array::{ArrayRef, StringArray};
use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue};
use rheos_core::types::LogicalType;

use super::*;
use crate::filesystem::writer::MAX_OPEN_FILES;
use crate::fixture::project;

/// A table of `day STRING, x INT, hour INT`, by day and hour.
fn by_day_and_hour(dir: &Path, format: &str) -> TableSpec {
    let columns = [("day", T::STRING), ("x", T::Int), ("hour", T::Int)];
    let mut t = table(&columns, &[("path", dir.to_str().unwrap()), ("format", format)]);
    t.partition_keys = vec![0, 2];
    t
}

fn rows_of(t: &TableSpec, rows: &[(Option<&str>, i32, Option<i32>)]) -> Batch {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|r| r.0).collect::<StringArray>()),
        Arc::new(Int32Array::from_iter_values(rows.iter().map(|r| r.1))),
        Arc::new(rows.iter().map(|r| r.2).collect::<Int32Array>()),
    ];
    Batch::Columns(ColumnBatch::inserts(RecordBatch::try_new(t.schema.to_arrow(), columns).unwrap()))
}

/// All visible files below a folder, by path, sorted.
fn visible(dir: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()) {
        let name = entry.file_name().unwrap().to_str().unwrap().to_string();
        if entry.is_dir() {
            paths.extend(visible(&entry).into_iter().map(|below| format!("{name}/{below}")));
        } else if !name.starts_with('.') {
            paths.push(name);
        }
    }
    paths.sort();
    paths
}

fn only(mut t: TableSpec, column: usize, value: PredicateValue) -> TableSpec {
    t.predicates.push(Predicate { path: ColumnPath { column, fields: vec![] }, comparison: Comparison::Equal, value });
    t
}

#[test]
fn each_partition_has_a_folder_that_appears_with_its_first_commit() {
    for format in ["csv", "json", "parquet"] {
        let dir = TempDir::new().unwrap();
        let t = by_day_and_hour(dir.path(), format);
        let mut sink = writer(&t);
        let first = [(Some("2024-01-01"), 1, Some(5)), (Some("a/b=c"), 2, None), (Some("2024-01-01"), 3, Some(5)), (None, 4, Some(7))];
        sink.write(rows_of(&t, &first)).unwrap();
        sink.write(rows_of(&t, &[(Some(""), 5, Some(7)), (Some("2024-01-01"), 6, Some(6))])).unwrap();
        let tokens = sink.prepare(1).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().filter(|e| e.as_ref().unwrap().path().is_dir()).count(), 0, "no folder is there yet");
        assert_eq!((tokens.len(), files(dir.path()).1), (4, 4));
        for _ in 0..2 {
            commit(&t, &tokens).unwrap();
            let expected = [
                format!("day=2024-01-01/hour=5/part-sink-1-0-0.{format}"),
                format!("day=2024-01-01/hour=6/part-sink-1-0-3.{format}"),
                format!("day=__DEFAULT_PARTITION__/hour=7/part-sink-1-0-2.{format}"),
                format!("day=a%2Fb%3Dc/hour=__DEFAULT_PARTITION__/part-sink-1-0-1.{format}"),
            ];
            let mut written = visible(dir.path());
            // Which numbers the others have follows from the order in which they are closed.
            let folder = |path: &String| path.rsplit_once('/').unwrap().0.to_string();
            written.iter_mut().for_each(|path| *path = folder(path));
            assert_eq!(written, expected.iter().map(folder).collect::<Vec<_>>());
        }
        let mut read = rows(&t);
        read.sort();
        let all = [r"+I 2024-01-01|1|5", r"+I 2024-01-01|3|5", r"+I 2024-01-01|6|6", r"+I \N|4|7", r"+I \N|5|7", r"+I a/b=c|2|\N"];
        assert_eq!(read, all, "{format}");
        if format == "csv" {
            let file = visible(dir.path()).into_iter().find(|p| p.starts_with("day=2024-01-01/hour=5")).unwrap();
            assert_eq!(fs::read_to_string(dir.path().join(file)).unwrap(), "1\n3\n", "without the partition columns");
        }
        let mut of_hours = rows(&project(t.clone(), &[&[2], &[2]]));
        of_hours.sort();
        assert_eq!(of_hours, [r"+I 5|5", r"+I 5|5", r"+I 6|6", r"+I 7|7", r"+I 7|7", r"+I \N|\N"], "from the folders alone");
        let mut both = rows(&project(t.clone(), &[&[1], &[0]]));
        both.sort();
        assert_eq!(both[0], "+I 1|2024-01-01");
    }
}

#[test]
fn conditions_on_partition_columns_leave_files_out() {
    let dir = TempDir::new().unwrap();
    for (path, x) in [("day=a/hour=05", 1), ("day=a/hour=6", 2), ("day=b/hour=5", 3), ("day=__DEFAULT_PARTITION__/hour=5", 4)] {
        write(&dir.path().join(path).join("x.csv"), &format!("{x}\n"));
    }
    let t = by_day_and_hour(dir.path(), "csv");
    let (text, int) = (|t: &str| PredicateValue::Text(t.into()), PredicateValue::Int);
    assert_eq!(rows(&only(t.clone(), 0, text("a"))), ["+I a|1|5", "+I a|2|6"]);
    assert_eq!(rows(&only(only(t.clone(), 0, text("a")), 2, int(5))), ["+I a|1|5"]);
    let asked = only(only(t.clone(), 2, int(5)), 1, int(3));
    assert_eq!(Files.describe(&asked).unwrap().predicates_applied, [true, false], "CSV itself filters nothing");
    assert_eq!(Files.splits(&asked, 1).unwrap().len(), 3);
    // A snapshot of a query with other conditions has the other files too.
    let mut reader = Files.reader(&only(t.clone(), 0, text("b")), Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
    assert_eq!(read_all(&t.schema, reader.as_mut(), 10).unwrap(), ["+I b|3|5"]);
}

#[test]
fn folders_that_are_no_partitions_and_columns_that_cannot_be_are_refused() {
    let dir = TempDir::new().unwrap();
    let t = by_day_and_hour(dir.path(), "csv");
    let refused = |path: &str| {
        write(&dir.path().join(path), "1\n");
        let mut reader = Files.reader(&t, Files.splits(&t, 1).unwrap(), &context(0, 1)).unwrap();
        let e = next(reader.as_mut(), 1).unwrap_err().to_string();
        fs::remove_file(dir.path().join(path)).unwrap();
        e
    };
    assert!(refused("stray.csv").contains("it lies in no folder 'hour=...'"));
    assert!(refused("day=a/x.csv").contains("it lies in no folder 'hour=...'"));
    assert!(refused("hour=5/day=a/x.csv").contains("it lies in no folder 'day=...'"));
    assert!(refused("day=a/hour=five/x.csv").contains("partition column 'hour': 'five' is no INT"));
    let describe = |kind: T, name: &str| {
        let mut t = table(&[(name, kind), ("x", T::Int)], &[("path", "x"), ("format", "csv")]);
        t.partition_keys = vec![0];
        PartFiles.describe(&t).map(|_| String::new()).unwrap_or_else(|e| e.to_string())
    };
    assert_eq!(describe(T::Date, "day"), "");
    assert!(describe(T::BYTES, "b").contains("partition column 'b' is BYTES, which names no folder"));
    assert!(describe(T::Int, "_b").contains("begins as hidden files do"));
    let mut t = numbers("x", "csv");
    t.partition_keys = vec![0];
    assert!(PartFiles.describe(&t).unwrap_err().to_string().contains("only partition columns"));
}

#[test]
fn values_of_every_type_come_back_from_the_names_of_folders() {
    for (kind, text) in [
        (T::Boolean, "true"),
        (T::BigInt, "-7"),
        (T::Decimal(5, 2), "1.50"),
        (T::STRING, "50% of {x}"),
        (T::Date, "2024-02-29"),
        (T::Time(0), "09:05:00"),
        (T::Timestamp(3), "2024-02-29 09:05:00.123"),
    ] {
        let dir = TempDir::new().unwrap();
        let mut t = table(&[("x", T::Int), ("key", kind)], &[("path", dir.path().to_str().unwrap()), ("format", "json")]);
        let source = TableSpec { options: [("format".to_string(), "json".to_string())].into(), ..t.clone() };
        let mut decoder = crate::format::Format::of(&source).unwrap().decoder(&source, Default::default());
        let json = if matches!(t.schema.fields[1].ty, LogicalType { kind: T::Boolean | T::BigInt | T::Decimal(..), .. }) {
            format!("{{\"x\":1,\"key\":{text}}}")
        } else {
            format!("{{\"x\":1,\"key\":\"{text}\"}}")
        };
        decoder.decode(json.as_bytes(), true, 1).unwrap();
        t.partition_keys = vec![1];
        let mut sink = writer(&t);
        sink.write(Batch::Columns(decoder.finish().unwrap().unwrap())).unwrap();
        commit(&t, &sink.prepare(1).unwrap()).unwrap();
        assert_eq!(rows(&t), [format!("+I 1|{text}")]);
    }
}

#[test]
fn many_partitions_keep_few_files_open_and_lose_nothing() {
    let dir = TempDir::new().unwrap();
    let t = by_day_and_hour(dir.path(), "csv");
    let mut sink = writer(&t);
    let count = MAX_OPEN_FILES as i32 + 20;
    for round in 0..2 {
        let rows: Vec<_> = (0..count).map(|i| (Some("d"), round * count + i, Some(i))).collect();
        sink.write(rows_of(&t, &rows)).unwrap();
    }
    let tokens = sink.prepare(1).unwrap();
    assert!(tokens.len() as i32 > count, "some were closed early");
    commit(&t, &tokens).unwrap();
    assert_eq!(rows(&t).len() as i32, 2 * count);
    // A crash leaves nothing behind that the same job would not remove.
    let mut sink = writer_of(&t, "j", "sink", 0);
    let rows: Vec<_> = (0..count).map(|i| (Some("d"), i, Some(i))).collect();
    sink.write(rows_of(&t, &rows)).unwrap();
    assert!(files(dir.path()).1 > 0);
    PartFiles.clean_up(&t, "sink", "j", i64::MAX).unwrap();
    assert_eq!(files(dir.path()).1, 0);
}
