//! What is written comes back; files of other writers fit or are refused; what cannot match is not read.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryArray, Float32Array, Int32Array, Int64Array, RecordBatch, StringArray, StructArray, TimestampNanosecondArray,
    UInt32Array,
};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rheos_core::connector::{ColumnPath, Comparison, Predicate, PredicateValue, TableSpec};
use rheos_core::types::TypeKind as T;
use tempfile::TempDir;

use super::{FileReader, FileWriter, Options};
use crate::fixture::{array, decode, lines, map, project, row, table};
use crate::format::Format;
use crate::format::predicates::is_applied;

/// A file of columns as another program writes it, with row groups and pages of so many rows.
fn file(dir: &TempDir, columns: Vec<(&str, ArrayRef)>, group_rows: usize, page_rows: usize) -> PathBuf {
    let path = dir.path().join("file.parquet");
    let fields: Vec<Field> = columns.iter().map(|(name, c)| Field::new(*name, c.data_type().clone(), true)).collect();
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(group_rows))
        .set_data_page_row_count_limit(page_rows)
        .set_write_batch_size(page_rows)
        .build();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), schema.clone(), Some(properties)).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns.into_iter().map(|(_, c)| c).collect()).unwrap()).unwrap();
    writer.close().unwrap();
    path
}

/// The rows from `row` on, and how many rows of the file were read for them.
fn read(path: &Path, table: &TableSpec, row: u64, batch_rows: usize) -> rheos_core::Result<Vec<String>> {
    let mut reader = FileReader::open(path, table, row, batch_rows)?;
    let mut rows = Vec::new();
    while let Some(next) = reader.next(batch_rows)? {
        rows.extend(next.batch.iter().flat_map(|b| lines(&table.output_schema(), b)));
    }
    Ok(rows)
}

fn parquet(columns: &[(&str, T)]) -> TableSpec {
    table(columns, &[("connector", "filesystem"), ("path", "x"), ("format", "parquet")])
}

fn only(mut table: TableSpec, column: usize, comparison: Comparison, value: PredicateValue) -> TableSpec {
    let predicate = Predicate { path: ColumnPath { column, fields: vec![] }, comparison, value };
    assert!(is_applied(&table.schema, &predicate));
    table.predicates.push(predicate);
    table
}

#[test]
fn every_type_comes_back_as_it_was_written() {
    let columns = [
        ("b", T::Boolean),
        ("i8", T::TinyInt),
        ("i16", T::SmallInt),
        ("i32", T::Int),
        ("i64", T::BigInt),
        ("f", T::Float),
        ("d", T::Double),
        ("small", T::Decimal(9, 2)),
        ("large", T::Decimal(38, 10)),
        ("s", T::STRING),
        ("bytes", T::BYTES),
        ("day", T::Date),
        ("time", T::Time(3)),
        ("ms", T::Timestamp(3)),
        ("us", T::Timestamp(6)),
        ("ns", T::Timestamp(9)),
        ("at", T::TimestampLtz(3)),
        ("list", array(T::Int)),
        ("map", map(T::BigInt)),
        ("row", row(&[("x", T::Int), ("y", array(row(&[("z", T::STRING)])))])),
    ];
    let json = table(&columns, &[("format", "json")]);
    let text = concat!(
        r#"{"b":true,"i8":-128,"i16":-32768,"i32":-1,"i64":9007199254740993,"f":1.5,"d":-0.1,"small":1234567.89,"large":"1.0000000001","#,
        r#""s":"ä","bytes":"AAEC","day":"1969-12-31","time":"23:59:59","ms":"1969-12-31 23:59:59.999","us":"2024-02-29 00:00:00.000001","#,
        r#""ns":"2024-02-29 00:00:00.000000001","at":"2024-02-29 12:00:00.123Z","list":[1,null,3],"map":{"a":1,"b":null},"#,
        r#""row":{"x":1,"y":[{"z":"deep"},null]}}"#,
        "\n{}\n",
        r#"{"list":[],"map":{},"row":{"y":[]}}"#,
        "\n"
    );
    let expected = decode(&json, text).unwrap();
    assert_eq!(expected.len(), 3);
    let mut decoder = Format::of(&json).unwrap().decoder(&json, Default::default());
    decoder.decode(text.as_bytes(), true, 100).unwrap();
    let batch = decoder.finish().unwrap().unwrap();
    let dir = TempDir::new().unwrap();
    for compression in ["SNAPPY", "ZSTD", "gzip", "LZ4_RAW", "UNCOMPRESSED"] {
        let mut t = parquet(&columns);
        t.options.insert("parquet.compression".into(), compression.into());
        let path = dir.path().join(compression);
        let mut writer = FileWriter::new(File::create(&path).unwrap(), &t.schema, &Options::of(&t).unwrap()).unwrap();
        writer.write(batch.records()).unwrap();
        assert!(writer.bytes() > 0);
        writer.finish().unwrap();
        assert_eq!(read(&path, &t, 0, 10).unwrap(), expected, "{compression}");
    }
}

#[test]
fn columns_are_found_by_name_and_those_that_a_file_lacks_are_null() {
    let dir = TempDir::new().unwrap();
    let fields = vec![Field::new("p", DataType::Int32, true), Field::new("q", DataType::Utf8, true)];
    let columns: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1, 2])), Arc::new(StringArray::from(vec!["x", "y"]))];
    let inner = StructArray::new(fields.into(), columns, Some(vec![true, false].into()));
    let path = file(&dir, vec![("r", Arc::new(inner)), ("a", Arc::new(Int32Array::from(vec![7, 8])))], 10, 10);
    let t = parquet(&[("no", T::Int), ("a", T::Int), ("r", row(&[("q", T::STRING), ("none", T::Date)]))]);
    assert_eq!(read(&path, &t, 0, 10).unwrap(), ["+I \\N|7|(x, NULL)", "+I \\N|8|\\N"]);
    let paths: &[&[usize]] = &[&[2, 0], &[1], &[2, 1], &[2, 0]];
    assert_eq!(read(&path, &project(t.clone(), paths), 0, 10).unwrap(), ["+I x|7|\\N|x", "+I \\N|8|\\N|\\N"]);
    assert_eq!(read(&path, &project(t, &[]), 0, 10).unwrap(), ["+I ", "+I "], "rows are counted without a column");
    let none = parquet(&[("no", T::Int)]);
    assert_eq!(read(&path, &none, 1, 10).unwrap(), ["+I \\N"]);
}

#[test]
fn other_types_are_read_where_no_value_can_change() {
    let dir = TempDir::new().unwrap();
    let at = TimestampNanosecondArray::from(vec![-1, 1_500_000_001]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![-5, 5]))),
        ("u", Arc::new(UInt32Array::from(vec![u32::MAX, 1]))),
        ("f", Arc::new(Float32Array::from(vec![0.5, 1.5]))),
        ("at", Arc::new(at.with_timezone("UTC"))),
        ("raw", Arc::new(BinaryArray::from(vec![b"a".as_slice(), b"\xc3\xa4"]))),
    ];
    let path = file(&dir, columns, 10, 10);
    let read = |columns: &[(&str, T)]| read(&path, &parquet(columns), 0, 10);
    let wide = read(&[("i", T::BigInt), ("u", T::BigInt), ("f", T::Double), ("at", T::Timestamp(3)), ("raw", T::STRING)]).unwrap();
    assert_eq!(
        wide,
        ["+I -5|4294967295|0.5|1969-12-31 23:59:59.999|a", "+I 5|1|1.5|1970-01-01 00:00:01.500|ä"],
        "timestamps are rounded down"
    );
    assert_eq!(read(&[("i", T::Decimal(12, 2))]).unwrap(), ["+I -5.00", "+I 5.00"]);
    for (column, kind, refused) in [
        ("i", T::SmallInt, "column 'i' is Int32 there, which cannot be read as SMALLINT"),
        ("i", T::STRING, "column 'i' is Int32 there, which cannot be read as STRING"),
        ("u", T::Int, "column 'u' is UInt32 there, which cannot be read as INT"),
        ("i", T::Decimal(11, 2), "column 'i' is Int32 there, which cannot be read as DECIMAL(11, 2)"),
        ("f", T::Decimal(38, 10), "column 'f' is Float32 there, which cannot be read as DECIMAL(38, 10)"),
        ("i", row(&[("x", T::Int)]), "column 'i' is Int32 there, which cannot be read as ROW<`x` INT>"),
    ] {
        let e = read(&[(column, kind)]).unwrap_err();
        assert_eq!((e.kind(), e.to_string()), (rheos_core::ErrorKind::FixInput, refused.to_string()));
    }
    let nested = project(parquet(&[("i", row(&[("x", T::Int)]))]), &[&[0, 0]]);
    let e = super::tests::read(&path, &nested, 0, 10).unwrap_err().to_string();
    assert!(e.contains("column 'i' is Int32 there, which cannot be read as ROW"), "{e}");
}

#[test]
fn what_is_no_parquet_is_refused() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x");
    for bytes in [b"".as_slice(), b"a,b\n1,2\n", b"PAR1 and nothing that follows PAR1"] {
        std::fs::write(&path, bytes).unwrap();
        let e = read(&path, &parquet(&[("a", T::Int)]), 0, 10).unwrap_err();
        assert_eq!(e.kind(), rheos_core::ErrorKind::FixInput, "{e}");
        assert!(e.to_string().contains("no Parquet file"), "{e}");
    }
    let invalid = file(&dir, vec![("s", Arc::new(BinaryArray::from(vec![b"\xff".as_slice()])))], 10, 10);
    let e = read(&invalid, &parquet(&[("s", T::STRING)]), 0, 10).unwrap_err().to_string();
    assert!(e.starts_with("column 's': "), "{e}");
}

#[test]
fn conditions_leave_out_row_groups_pages_and_rows() {
    let dir = TempDir::new().unwrap();
    let n = Int64Array::from_iter((0..100).map(|i| if i == 42 { None } else { Some(i) }));
    let s = StringArray::from_iter_values((0..100).map(|i| format!("{:03}", i)));
    let path = file(&dir, vec![("n", Arc::new(n)), ("s", Arc::new(s))], 40, 10);
    let t = parquet(&[("n", T::BigInt), ("s", T::STRING)]);
    let (int, text) = (PredicateValue::Int, |t: &str| PredicateValue::Text(t.into()));
    let cases = [
        (vec![(0, Comparison::Equal, int(7))], vec![7], 10),
        (vec![(0, Comparison::GreaterOrEqual, int(95))], (95..100).collect(), 10),
        (vec![(0, Comparison::Greater, int(38)), (1, Comparison::Less, text("043"))], vec![39, 40, 41], 20),
        (vec![(0, Comparison::LessOrEqual, int(-1))], vec![], 0),
        (vec![(1, Comparison::Equal, text("050"))], vec![50], 10),
        (vec![(0, Comparison::NotEqual, int(3))], (0..100).filter(|i| ![3, 42].contains(i)).collect(), 100),
        (vec![(0, Comparison::Equal, int(42))], vec![], 10),
    ];
    for (conditions, expected, rows_read) in cases {
        let t = conditions.iter().fold(t.clone(), |t, (column, comparison, value)| only(t, *column, *comparison, value.clone()));
        let expected: Vec<String> = expected.iter().map(|i: &i64| format!("+I {i:03}")).collect();
        let projected = project(t.clone(), &[&[1]]);
        assert_eq!(read(&path, &projected, 0, 7).unwrap(), expected, "{conditions:?}");
        let mut reader = FileReader::open(&path, &t, 0, 1000).unwrap();
        let (mut read, mut from) = (0, 0);
        while let Some(next) = reader.next(1).unwrap() {
            read += 1;
            assert!(next.row > from);
            from = next.row;
        }
        assert_eq!(read, rows_read, "{conditions:?}");
        // From any row on: the rest.
        for row in [0, 1, 39, 40, 41, 55, 99, 100] {
            let rest: Vec<String> = expected.iter().filter(|line| line[3..].parse::<u64>().unwrap() >= row).cloned().collect();
            assert_eq!(super::tests::read(&path, &projected, row, 7).unwrap(), rest, "{conditions:?} from {row}");
        }
    }
    let e = read(&path, &t, 101, 7).unwrap_err().to_string();
    assert!(e.contains("100 rows, but was read up to row 101"), "{e}");
}

#[test]
fn options_and_types_that_parquet_does_not_have_are_refused() {
    let mut t = parquet(&[("a", T::Int)]);
    for (key, value, expected) in [
        ("parquet.compression", "LZO", "it can be SNAPPY, ZSTD, GZIP, LZ4_RAW or UNCOMPRESSED"),
        ("parquet.block.size", "much", "is no size"),
        ("parquet.utc-timezone", "false", "can only be 'true'"),
    ] {
        t.options.clear();
        t.options.insert(key.into(), value.into());
        let e = Options::of(&t).unwrap_err().to_string();
        assert!(e.contains(expected) && e.contains(key), "{e}");
    }
    let e = super::check_types(&crate::fixture::schema(&[("a", array(T::IntervalDayTime))])).unwrap_err().to_string();
    assert!(e.starts_with("column 'a': Parquet cannot carry INTERVAL"), "{e}");
    let e = Format::of(&parquet(&[("a", T::Int)])).unwrap_err().to_string();
    assert!(e.contains("only files can have"), "{e}");
}
