//! The lines that are printed.

use rheos_core::types::TypeKind as T;

use super::{prefix, render};
use crate::fixture::{array, map, row, table};
use crate::format::Format;

#[test]
fn values_are_shown_as_java_shows_them() {
    let columns = [
        ("s", T::STRING),
        ("d", T::Double),
        ("n", T::Decimal(6, 2)),
        ("ts", T::Timestamp(6)),
        ("ltz", T::TimestampLtz(3)),
        ("dt", T::Date),
        ("tm", T::Time(0)),
        ("bin", T::BYTES),
        ("xs", array(T::Int)),
        ("m", map(T::Int)),
        ("r", row(&[("p", T::STRING), ("q", T::Boolean)])),
    ];
    let t = table(&columns, &[("format", "debezium-json")]);
    let mut decoder = Format::of(&t).unwrap().decoder(&t, Default::default());
    let input = r#"{"op":"c","after":{"s":"a, b","d":1,"n":"1.5","ts":"2024-01-02 03:04:05.1234","ltz":"2024-01-02 00:00:00Z","dt":"2024-02-29","tm":"10:00:00","bin":"AP8=","xs":[1,null],"m":{"k":7},"r":{"p":"x","q":true}}}
{"op":"d","before":{"ts":"2024-01-02 00:00:00","ltz":"1969-12-31 23:59:59.5Z","tm":"10:00:01"}}
"#;
    decoder.decode(input.as_bytes(), true, 10).unwrap();
    let mut out = String::new();
    render::write_changes(&mut out, &t.schema, &decoder.finish().unwrap().unwrap(), "p> ").unwrap();
    let expected = "p> +I[a, b, 1.0, 1.50, 2024-01-02T03:04:05.123400, 2024-01-02T00:00:00Z, 2024-02-29, 10:00, [0, -1], [1, null], {k=7}, +I[x, true]]\n\
                    p> -D[null, null, null, 2024-01-02T00:00, 1969-12-31T23:59:59.500Z, null, 10:00:01, null, null, null, null]\n";
    assert_eq!(out, expected);
}

#[test]
fn lines_begin_with_the_identifier_and_the_subtask() {
    assert_eq!(prefix("", 0, 1), "");
    assert_eq!(prefix("id", 0, 1), "id> ");
    assert_eq!(prefix("", 1, 2), "2> ");
    assert_eq!(prefix("id", 1, 2), "id:2> ");
}
