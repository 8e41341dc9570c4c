//! What JSON reads and writes.

use rheos_core::ErrorKind;
use rheos_core::connector::TableSpec;
use rheos_core::types::TypeKind as T;

use super::{Encoder, Options};
use crate::fixture::{array, decode, decode_pieces, map, project, row, table};
use crate::format::Format;

fn json(columns: &[(&str, T)], options: &[(&str, &str)]) -> TableSpec {
    table(columns, &[&[("format", "json")], options].concat())
}

fn one(kind: T) -> TableSpec {
    json(&[("x", kind)], &[])
}

fn error(table: &TableSpec, input: &str) -> String {
    let e = decode(table, input).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::FixInput);
    e.to_string()
}

/// The batch of an input, written as JSON again.
fn rewritten(table: &TableSpec, input: &str, options: Options) -> String {
    let mut decoder = Format::of(table).unwrap().decoder(table, Default::default());
    decoder.decode(input.as_bytes(), true, 1000).unwrap();
    let mut out = String::new();
    Encoder::new(&table.schema, options).unwrap().encode_batch(&decoder.finish().unwrap().unwrap(), &mut out, |_| Ok(())).unwrap();
    out
}

#[test]
fn ignored_errors_leave_null_fields_and_no_bad_lines() {
    let columns = [("a", T::Int), ("b", T::STRING), ("c", T::Decimal(6, 2)), ("d", array(T::Int))];
    let input = r#"{"a":1,"b":"one","c":1.10,"d":[1,2]}
{"a":"2","b":22,"c":"2.345","d":[]}
{"a":"x","b":{"k": 1},"c":null,"d":[1,"y",3]}
{broken
{"b":"no a","c":12345.678}
[]
{"a":5.9,"b":true,"c":-0.005,"d":null}
"#;
    let t = json(&columns, &[("json.ignore-parse-errors", "true")]);
    let rows =
        ["+I 1|one|1.10|[1, 2]", "+I 2|22|2.35|[]", "+I \\N|{\"k\":1}|\\N|[1, NULL, 3]", "+I \\N|no a|\\N|\\N", "+I 5|true|-0.01|\\N"];
    assert_eq!(decode(&t, input).unwrap(), rows);
    assert_eq!(decode_pieces(&t, input.as_bytes(), 64).unwrap().1, 2);
}

#[test]
fn rows_arrays_and_maps_nest() {
    let address = row(&[("city", T::STRING), ("zip", T::STRING)]);
    let user = row(&[("name", T::STRING), ("address", address)]);
    let items = array(row(&[("sku", T::STRING), ("qty", T::Int)]));
    let t = json(&[("user", user), ("props", map(T::STRING)), ("items", items), ("aa", array(array(T::Int)))], &[]);
    let input = r#"{"user":{"address":{"zip":"4000","city":"Porto","x":[1]},"name":"Ana"},"props":{"os":"ios","v":null},"items":[{"qty":2,"sku":"A"},{"sku":null},null],"aa":[[1,2],[],null],"extra":{"a":[{}]}}
{"user":{"name":"Bo","address":null},"props":{},"items":[]}
{"user":null,"props":null,"items":null,"aa":[[null]]}
"#;
    let rows = [
        "+I (Ana, (Porto, 4000))|{os=ios, v=NULL}|[(A, 2), (NULL, NULL), NULL]|[[1, 2], [], NULL]",
        "+I (Bo, NULL)|{}|[]|\\N",
        "+I \\N|\\N|\\N|[[NULL]]",
    ];
    assert_eq!(decode(&t, input).unwrap(), rows);
    let again = rewritten(&t, input, Options::default());
    assert_eq!(decode(&t, &again).unwrap(), rows);
}

#[test]
fn a_projection_reaches_into_rows_and_a_missing_parent_gives_null() {
    let bid = row(&[("auction", T::BigInt), ("price", T::BigInt), ("info", row(&[("url", T::STRING)]))]);
    let t = json(&[("event_type", T::Int), ("bid", bid)], &[]);
    let input = r#"{"event_type":2,"bid":{"price":7,"auction":1,"info":{"url":"u"}}}
{"event_type":1}
{"event_type":1,"bid":null}
{"event_type":2,"bid":{"info":null,"auction":"3"}}
"#;
    let t = project(t, &[&[1, 1], &[1, 2, 0], &[0], &[1, 0], &[1, 1]]);
    assert_eq!(t.output_schema().fields[1].name, "bid.info.url");
    let rows = ["+I 7|u|2|1|7", "+I \\N|\\N|1|\\N|\\N", "+I \\N|\\N|1|\\N|\\N", "+I \\N|\\N|2|3|\\N"];
    assert_eq!(decode(&t, input).unwrap(), rows);
    // The whole row beside one of its fields.
    let rows = ["+I 7|(1, 7, (u))", "+I \\N|\\N", "+I \\N|\\N", "+I \\N|(3, NULL, NULL)"];
    assert_eq!(decode(&project(t.clone(), &[&[1, 1], &[1]]), input).unwrap(), rows);
    assert_eq!(decode(&project(t.clone(), &[]), input).unwrap().len(), 4);
    assert_eq!(error(&t, r#"{"bid":{"price":"dear"}}"#), "line 1: column 'bid.price': '\"dear\"' is no BIGINT");
    assert_eq!(error(&t, r#"{"bid":[1]}"#), "line 1: column 'bid': '[...]' is no JSON object");
}

#[test]
fn a_bad_value_is_named_with_line_path_and_type() {
    let t = json(&[("user", row(&[("age", T::Int)])), ("d", T::Date)], &[]);
    assert_eq!(error(&t, "{\"user\":{\"age\":1}}\n\n{\"user\":{\"age\":\"old\"}}\n"), "line 3: column 'user.age': '\"old\"' is no INT");
    assert_eq!(error(&t, "{\"user\":7}\n"), "line 1: column 'user': '7' is no ROW<`age` INT>");
    assert_eq!(error(&t, "{\"d\":\"29.2.2024\"}\n"), "line 1: column 'd': '\"29.2.2024\"' is no DATE (2024-02-29)");
    assert_eq!(error(&t, "{}\n{broken\n"), "line 2: no JSON, key must be a string at byte 2: {broken");
    assert_eq!(error(&t, "[1]\n"), "line 1: '[...]' is no JSON object");
    assert!(error(&t, "{} {}\n").contains("trailing characters at byte 4"));
}

#[test]
fn numbers_and_texts_stand_for_each_other() {
    let columns = [("s", T::STRING), ("i", T::Int), ("l", T::BigInt), ("d", T::Double), ("n", T::Decimal(38, 4)), ("b", T::Boolean)];
    let t = json(&columns, &[]);
    let input = r#"{"s":1.10,"i":"7","l":" -8 ","d":"1e3","n":"99999999999999999999999999.00005","b":"TRUE"}
{"s":false,"i":5.9,"l":-2.5e3,"d":1,"n":1e-3,"b":"no"}
{"s":[1, {"a": "b c"}],"l":9223372036854775807,"n":99999999999999999999999999999999999999,"b":1}
"#;
    let rows = [
        "+I 1.10|7|-8|1000.0|99999999999999999999999999.0001|true",
        "+I false|5|-2500|1.0|0.0010|false",
        "+I [1,{\"a\":\"b c\"}]|\\N|9223372036854775807|\\N|\\N|false",
    ];
    assert_eq!(decode(&t, input).unwrap(), rows);
    for (kind, value) in
        [(T::Int, "2147483648"), (T::Int, "1e10"), (T::TinyInt, "1.5"), (T::BigInt, "1e19"), (T::Int, "true"), (T::BYTES, "1")]
    {
        assert!(decode(&one(kind.clone()), &format!("{{\"x\":{value}}}")).is_err(), "{value} as {kind}");
    }
}

#[test]
fn escapes_stand_for_their_characters() {
    let input = r#"{"x":"a\"b\\c\/\u00e9\n\ud83d\ude00\ud800!"}"#;
    assert_eq!(decode(&one(T::STRING), input).unwrap(), ["+I a\"b\\\\c/é\\n😀\u{fffd}!"]);
    assert_eq!(decode(&one(T::Int), r#"{"\u0078":"\u0031"}"#).unwrap(), ["+I 1"]);
    assert_eq!(decode(&one(T::STRING), "{\"x\":\"tab\there \\\"\t\\\"\"}").unwrap(), ["+I tab\\there \"\\t\""]);
    let out = rewritten(&one(T::STRING), input, Options::default());
    assert_eq!(out, "{\"x\":\"a\\\"b\\\\c/é\\n😀\u{fffd}!\"}\n");
}

#[test]
fn of_members_and_keys_that_come_twice_the_last_counts() {
    let t = json(&[("a", T::Int), ("m", map(T::Int)), ("r", row(&[("p", T::STRING)]))], &[]);
    let input = r#"{"a":1,"m":{"x":1,"y":2,"x":3},"r":{"p":"one","p":"two"},"a":2}
{"m":{"z":1},"m":null,"r":{"p":"lost"},"r":{}}
"#;
    assert_eq!(decode(&t, input).unwrap(), ["+I 2|{x=3, y=2}|(two)", "+I \\N|\\N|(NULL)"]);
}

#[test]
fn timestamps_have_the_form_of_the_standard() {
    let columns = [("a", T::Timestamp(3)), ("b", T::TimestampLtz(3)), ("c", T::Time(0)), ("d", T::Timestamp(9))];
    let iso = json(&columns, &[("json.timestamp-format.standard", "ISO-8601")]);
    let input = r#"{"a":"2024-02-29T12:34:56.789","b":"2024-02-29T12:34Z","c":"12:34:56","d":"2024-02-29T00:00:00.123456789"}"#;
    let rows = ["+I 2024-02-29 12:34:56.789|2024-02-29 12:34:00.000Z|12:34:56|2024-02-29 00:00:00.123456789"];
    assert_eq!(decode(&iso, input).unwrap(), rows);
    let written = rewritten(&iso, input, Options { temporal_style: crate::format::TemporalStyle::Iso8601, ..Options::default() });
    let expected = r#"{"a":"2024-02-29T12:34:56.789","b":"2024-02-29T12:34:00Z","c":"12:34:56","d":"2024-02-29T00:00:00.123456789"}"#;
    assert_eq!(written.trim(), expected);
    let sql = json(&columns, &[]);
    assert!(error(&sql, input).contains("'\"2024-02-29T12:34:56.789\"' is no TIMESTAMP(3) (2024-02-29 09:05:00)"));
    assert!(error(&sql, r#"{"b":"2024-02-29 12:34:56"}"#).contains("(2024-02-29 09:05:00Z)"));
    assert_eq!(decode(&sql, r#"{"a":"1969-12-31 23:59:59.5"}"#).unwrap(), ["+I 1969-12-31 23:59:59.500|\\N|\\N|\\N"]);
}

#[test]
fn missing_fields_fail_where_they_must_be_there() {
    let r = row(&[("p", T::Int), ("q", T::Int)]);
    let t = json(&[("a", T::Int), ("r", r)], &[("json.fail-on-missing-field", "true")]);
    assert_eq!(decode(&t, r#"{"a":null,"r":null}"#).unwrap(), ["+I \\N|\\N"]);
    assert_eq!(error(&t, r#"{"r":null}"#), "line 1: column 'a': the field is missing");
    assert_eq!(error(&t, r#"{"a":1,"r":{"p":1}}"#), "line 1: column 'r.q': the field is missing");
    let t = project(t, &[&[1, 1]]);
    assert_eq!(decode(&t, r#"{"r":null}"#).unwrap(), ["+I \\N"]);
    assert_eq!(error(&t, r#"{"r":{}}"#), "line 1: column 'r.q': the field is missing");
    let both = [("json.fail-on-missing-field", "true"), ("json.ignore-parse-errors", "true")];
    assert!(Format::of(&json(&[("a", T::Int)], &both)).unwrap_err().to_string().contains("one excludes the other"));
}

#[test]
fn skipped_errors_are_counted_and_leave_nothing_behind() {
    let t = json(&[("a", T::STRING), ("xs", array(T::Int)), ("b", T::Int)], &[("json.on-error", "skip")]);
    let input = "{\"a\":\"x\",\"xs\":[1,2],\"b\":1}\n{\"a\":\"lost\",\"xs\":[7,8,\"nine\"],\"b\":2}\n{\"a\":\"lost\",\"xs\":[3]\n\n{\"a\":\"y\",\"xs\":[4],\"b\":3}\n";
    let (rows, bad) = decode_pieces(&t, input.as_bytes(), 10).unwrap();
    assert_eq!(rows, ["+I x|[1, 2]|1", "+I y|[4]|3"]);
    assert_eq!(bad, 2);
}

#[test]
fn every_type_is_written_as_flink_writes_it() {
    let columns = [
        ("bin", T::BYTES),
        ("dbl", T::Double),
        ("f", T::Float),
        ("dec", T::Decimal(20, 10)),
        ("d", T::Date),
        ("tm", T::Time(3)),
        ("ltz", T::TimestampLtz(6)),
        ("ms", T::Multiset(Box::new(T::STRING.not_null()))),
        ("n", T::Int),
    ];
    let t = json(&columns, &[]);
    let input = r#"{"bin":"AQL/","dbl":1e10,"f":0.1,"dec":1e-7,"d":"2024-02-29","tm":"01:02:03.25","ltz":"2024-01-01 00:00:00.1002Z","ms":{"a":2},"n":null}"#;
    let expected = r#"{"bin":"AQL/","dbl":1.0E10,"f":0.1,"dec":1.000E-7,"d":"2024-02-29","tm":"01:02:03.25","ltz":"2024-01-01 00:00:00.1002Z","ms":{"a":2},"n":null}"#;
    assert_eq!(rewritten(&t, input, Options::default()).trim(), expected);
    let plain = Options { decimal_as_plain_number: true, ignore_null_fields: true, ..Options::default() };
    let expected = expected.replace("1.000E-7", "0.0000001000").replace(",\"n\":null", "");
    assert_eq!(rewritten(&t, input, plain).trim(), expected);
    assert_eq!(rewritten(&one(T::Double), "{\"x\":\"NaN\"}", Options::default()), "{\"x\":\"NaN\"}\n");
}

#[test]
fn a_row_can_be_written_with_its_kind() {
    let t = one(T::Int);
    let mut decoder = Format::of(&t).unwrap().decoder(&t, Default::default());
    decoder.decode(b"{\"x\":1}\n{\"x\":2}\n", true, 10).unwrap();
    let batch = decoder.finish().unwrap().unwrap();
    let mut out = Vec::new();
    Encoder::new(&t.schema, Options::default()).unwrap().with_op().encode(&batch, 1, &mut out).unwrap();
    assert_eq!(out, b"{\"op\":\"+I\",\"x\":2}\n");
}

#[test]
fn maps_need_texts_as_keys() {
    let keyed = T::Map(Box::new(T::Int.not_null()), Box::new(T::Int.nullable()));
    let e = Format::of(&one(array(keyed))).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::FixConfig);
    assert!(e.to_string().contains("column 'x': JSON cannot carry MAP<INT NOT NULL, INT>"), "{e}");
}

#[test]
fn a_batch_ends_at_its_size_and_the_next_goes_on() {
    let t = one(T::Int);
    let mut decoder = Format::of(&t).unwrap().decoder(&t, Default::default());
    let input = b"{\"x\":1}\n{\"x\":2}\n{\"x\":3}";
    let read = decoder.decode(input, true, 2).unwrap();
    assert_eq!((read, decoder.rows(), decoder.line()), (16, 2, 2));
    decoder.finish().unwrap();
    assert_eq!(decoder.decode(&input[read..], true, 2).unwrap(), 7);
    assert_eq!(decoder.rows(), 1);
}
