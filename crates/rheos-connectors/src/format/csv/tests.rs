//! What CSV reads and writes.

use rheos_core::connector::TableSpec;
use rheos_core::types::TypeKind as T;
use rheos_core::{Error, ErrorKind};

use super::{Encoder, Options};
use crate::fixture::{array, decode, decode_pieces, map, project, row, schema, table};
use crate::format::Format;

fn csv(columns: &[(&str, T)], options: &[(&str, &str)]) -> TableSpec {
    table(columns, &[&[("format", "csv")], options].concat())
}

fn int_and_text(options: &[(&str, &str)]) -> TableSpec {
    csv(&[("a", T::Int), ("b", T::STRING)], options)
}

fn error(table: &TableSpec, input: &str) -> Error {
    decode(table, input).unwrap_err()
}

#[test]
fn every_scalar_type_is_read_and_written_back() {
    let columns = [
        ("d", T::Date),
        ("tm", T::Time(0)),
        ("ts", T::Timestamp(3)),
        ("ltz", T::TimestampLtz(6)),
        ("s", T::Varchar(4)),
        ("b", T::Boolean),
        ("x", T::Double),
        ("f", T::Float),
        ("n", T::Decimal(10, 2)),
        ("i8", T::TinyInt),
        ("i16", T::SmallInt),
        ("i64", T::BigInt),
        ("bin", T::BYTES),
    ];
    let t = csv(&columns, &[("csv.null-literal", "NULL")]);
    let input = "2024-02-29,12:34:56,2024-02-29 12:34:56.789,2024-02-29 12:34:56.789123Z,abcdef,true,1.25,0.1,1.005,-128,7,-9,AQL/\n\
                 2024-2-9,00:00:00,1969-12-31 23:59:59.001,1970-01-01T00:00:00Z,x,maybe,1e10, 2 ,-0.005, 1,2,3,\n\
                 0001-01-01,23:59:59,9999-12-31 23:59:59.999,2038-01-19 03:14:07.001Z,,TRUE,NaN,-Infinity,123456789012,1,2,3,NULL\n";
    let rows = [
        "+I 2024-02-29|12:34:56|2024-02-29 12:34:56.789|2024-02-29 12:34:56.789123Z|abcdef|true|1.25|0.1|1.01|-128|7|-9|0x0102ff",
        "+I 2024-02-09|00:00:00|1969-12-31 23:59:59.001|1970-01-01 00:00:00.000000Z|x|false|1.0E10|2.0|-0.01|1|2|3|\\N",
        "+I 0001-01-01|23:59:59|9999-12-31 23:59:59.999|2038-01-19 03:14:07.001000Z||true|NaN|-Infinity|\\N|1|2|3|\\N",
    ];
    assert_eq!(decode(&t, input).unwrap(), rows);

    let format = Format::of(&t).unwrap();
    let mut decoder = format.decoder(&t, Default::default());
    decoder.decode(input.as_bytes(), true, 10).unwrap();
    let mut text = String::new();
    format.encoder(&t.schema).unwrap().encode_batch(&decoder.finish().unwrap().unwrap(), &mut text, |_| Ok(())).unwrap();
    assert_eq!(decode(&t, &text).unwrap(), rows);
}

#[test]
fn quotes_enclose_delimiters_quotes_and_line_ends() {
    let t = int_and_text(&[]);
    let input = "1,\"a,b\"\r\n2,\"say \"\"hi\"\"\"\r\n3,\"two\nlines\"\n\n4,a \"b\" c";
    assert_eq!(decode(&t, input).unwrap(), ["+I 1|a,b", "+I 2|say \"hi\"", "+I 3|two\\nlines", "+I 4|a \"b\" c"]);
    let other = int_and_text(&[("csv.quote-character", "'"), ("csv.field-delimiter", "\\t"), ("csv.escape-character", "\\")]);
    assert_eq!(decode(&other, "1\t'it''s'\n2\t'a\\'b\tc'\n").unwrap(), ["+I 1|it's", "+I 2|a'b\\tc"]);
    let none = int_and_text(&[("csv.disable-quote-character", "true")]);
    assert_eq!(decode(&none, "1,\"x\"\n").unwrap(), ["+I 1|\"x\""]);
}

#[test]
fn an_empty_field_is_an_empty_text_but_no_number() {
    let t = int_and_text(&[("csv.null-literal", "n/a")]);
    assert_eq!(decode(&t, ",\nn/a,n/a\n7,x\n").unwrap(), ["+I \\N|", "+I \\N|\\N", "+I 7|x"]);
    let t = int_and_text(&[("csv.empty-string-as-null", "true")]);
    assert_eq!(decode(&t, "1,\n").unwrap(), ["+I 1|\\N"]);
}

#[test]
fn a_bad_field_is_named_with_line_column_value_and_type() {
    let t = csv(&[("a", T::STRING), ("b", T::Int)], &[("csv.allow-comments", "true")]);
    let e = error(&t, "x,1\n\n# comment\n\"two\nlines\",2\ny,apple\n");
    assert_eq!(e.kind(), ErrorKind::FixInput);
    assert_eq!(e.to_string(), "line 6: column 'b': 'apple' is no INT");
    let t = csv(&[("ts", T::Timestamp(3))], &[]);
    assert_eq!(error(&t, "x").to_string(), "line 1: column 'ts': 'x' is no TIMESTAMP(3) (2024-02-29 09:05:00)");
    assert!(error(&csv(&[("i", T::Int)], &[]), "2147483648").to_string().contains("'2147483648' is no INT"));
}

#[test]
fn the_number_of_fields_must_be_that_of_the_columns() {
    let t = int_and_text(&[]);
    assert_eq!(error(&t, "1,x\n2\n").to_string(), "line 2: the record has 1 fields, the table has 2 columns");
    assert_eq!(error(&t, "1,x,y\r\n").to_string(), "line 1: the record has 3 fields, the table has 2 columns");
    assert_eq!(decode(&t, "1,x,\n").unwrap(), ["+I 1|x"]);
    assert!(decode(&int_and_text(&[("csv.allow-trailing-comma", "false")]), "1,x,\n").is_err());
    assert_eq!(decode(&int_and_text(&[("csv.ignore-trailing-unmappable", "true")]), "1,x,y,z\n").unwrap(), ["+I 1|x"]);
}

#[test]
fn ignored_errors_leave_null_fields_and_no_bad_lines() {
    let columns = [("a", T::Int), ("b", T::Double), ("c", T::Boolean)];
    let options = [("csv.field-delimiter", ";"), ("csv.ignore-parse-errors", "true"), ("csv.allow-comments", "true")];
    let input = "# a comment line\n1;1.5;true\nx;2.5;false\n3;oops;true\n4;4.25;maybe\n\n6;6;FALSE\n7\n8;1;true;9\n";
    let rows = ["+I 1|1.5|true", "+I \\N|2.5|false", "+I 3|\\N|true", "+I 4|4.25|false", "+I 6|6.0|false", "+I 7|\\N|\\N"];
    let t = csv(&columns, &options);
    assert_eq!(decode(&t, input).unwrap(), rows);
    assert_eq!(decode_pieces(&t, input.as_bytes(), 1000).unwrap().1, 1);
}

#[test]
fn skipped_errors_are_counted() {
    let t = int_and_text(&[("csv.on-error", "skip")]);
    let (rows, bad) = decode_pieces(&t, b"1,x\ny,z\n2\n3,\xff\n4,w\n5,\"open", 9).unwrap();
    assert_eq!(rows, ["+I 1|x", "+I 4|w"]);
    assert_eq!(bad, 4);
    let t = int_and_text(&[]);
    assert_eq!(error(&t, "1,x\n5,\"open\n").to_string(), "line 2: a quoted field is not closed before the end of the input");
}

#[test]
fn arrays_and_rows_are_split_by_their_own_delimiter() {
    let columns = [("xs", array(T::Int)), ("r", row(&[("p", T::STRING), ("q", T::Int)]))];
    let t = csv(&columns, &[("csv.array-element-delimiter", "|"), ("csv.null-literal", "-")]);
    let rows = ["+I [1, 2, NULL]|(a, 7)", "+I []|\\N", "+I \\N|(, NULL)"];
    assert_eq!(decode(&t, "1|2|-,a|7\n,\n-,|-\n").unwrap(), rows);
    assert_eq!(error(&t, "1,a|b\n").to_string(), "line 1: column 'r': 'a|b' is no ROW<`p` STRING, `q` INT>");
    let lenient = csv(&columns, &[("csv.array-element-delimiter", "|"), ("csv.ignore-parse-errors", "true")]);
    assert_eq!(decode(&lenient, "1|x,a\n").unwrap(), ["+I [1, NULL]|(a, NULL)"]);
}

#[test]
fn a_header_is_passed_over() {
    let t = int_and_text(&[("csv.ignore-first-line", "true")]);
    assert_eq!(decode(&t, "a,b\n1,x\n").unwrap(), ["+I 1|x"]);
}

#[test]
fn only_projected_columns_are_read() {
    let r = row(&[("p", T::STRING), ("q", T::Int)]);
    let t = project(csv(&[("a", T::Int), ("b", T::STRING), ("r", r)], &[]), &[&[2, 1], &[1]]);
    assert_eq!(decode(&t, "no number,x,u;5\n1,y,\n").unwrap(), ["+I 5|x", "+I \\N|y"]);
    assert_eq!(decode(&project(t, &[]), "1,2,3\n4,5,6\n").unwrap(), ["+I ", "+I "]);
}

#[test]
fn what_csv_cannot_do_is_refused_before_anything_runs() {
    let refused = |t: &TableSpec| {
        let e = Format::of(t).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::FixConfig);
        e.to_string()
    };
    assert!(refused(&int_and_text(&[("csv.field-delimiter", ";;")])).contains("one ASCII character"));
    assert!(refused(&int_and_text(&[("csv.on-error", "ignore")])).contains("'fail' or 'skip'"));
    assert!(refused(&int_and_text(&[("csv.allow-comments", "yes")])).contains("'true' or 'false'"));
    assert!(refused(&csv(&[("m", map(T::Int))], &[])).contains("CSV cannot carry MAP<STRING NOT NULL, INT>"));
    assert!(refused(&csv(&[("m", array(array(T::Int)))], &[])).contains("column 'm'"));
}

#[test]
fn fields_that_need_quotes_get_them() {
    let s = schema(&[("a", T::STRING), ("b,c", T::STRING)]);
    let encoder = Encoder::new(&s, Options { allow_comments: true, ..Options::default() }).unwrap();
    let mut out = Vec::new();
    encoder.header(&mut out);
    let batch = rheos_core::batch::ColumnBatch::inserts(
        arrow::array::RecordBatch::try_new(
            s.to_arrow(),
            vec![
                std::sync::Arc::new(arrow::array::StringArray::from(vec![Some("#x"), None])),
                std::sync::Arc::new(arrow::array::StringArray::from(vec!["say \"é\"\n", "plain"])),
            ],
        )
        .unwrap(),
    );
    encoder.encode(&batch, 0, &mut out).unwrap();
    encoder.encode(&batch, 1, &mut out).unwrap();
    assert_eq!(String::from_utf8(out).unwrap(), "a,\"b,c\"\n\"#x\",\"say \"\"é\"\"\n\"\n,plain\n");
}

#[test]
fn a_row_of_one_empty_text_is_no_blank_line() {
    let t = csv(&[("a", T::STRING)], &[]);
    let mut out = Vec::new();
    let column = std::sync::Arc::new(arrow::array::StringArray::from(vec!["", "x"]));
    let batch = arrow::array::RecordBatch::try_new(t.schema.to_arrow(), vec![column]).unwrap();
    let batch = rheos_core::batch::ColumnBatch::inserts(batch);
    let encoder = Encoder::new(&t.schema, Options::default()).unwrap();
    encoder.encode(&batch, 0, &mut out).unwrap();
    encoder.encode(&batch, 1, &mut out).unwrap();
    assert_eq!(decode(&t, std::str::from_utf8(&out).unwrap()).unwrap(), ["+I ", "+I x"]);
}

#[test]
fn delimiters_may_be_written_as_in_java() {
    for (text, input) in [("\\u0001", "1\u{1}x\n"), ("\\1", "1\u{1}x\n"), ("\\\\", "1\\x\n"), ("|", "1|x\n")] {
        let t = int_and_text(&[("csv.field-delimiter", text)]);
        assert_eq!(decode(&t, input).unwrap(), ["+I 1|x"], "{text}");
    }
}
