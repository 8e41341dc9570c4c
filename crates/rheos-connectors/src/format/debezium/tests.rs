//! What change events are read as, and written as.

use rheos_core::changelog::ChangelogMode;
use rheos_core::connector::TableSpec;
use rheos_core::types::TypeKind as T;

use crate::fixture::{decode, decode_pieces, lines, project, table};
use crate::format::Format;

fn debezium(options: &[(&str, &str)]) -> TableSpec {
    table(&[("id", T::Int), ("v", T::STRING)], &[&[("format", "debezium-json")], options].concat())
}

const EVENTS: &str = r#"{"before":null,"after":{"id":1,"v":"one"},"op":"c","ts_ms":1}
{"op":"r","after":{"id":2},"source":{"db":"x"}}

{"before":{"id":1,"v":"one"},"after":{"id":1,"v":"uno","x":7},"op":"u"}
null
{"before":{"id":2,"v":null},"after":null,"op":"d"}
"#;

#[test]
fn events_are_changes_and_an_update_is_two() {
    let t = debezium(&[]);
    assert_eq!(Format::of(&t).unwrap().changelog(), ChangelogMode::Retract);
    let rows = ["+I 1|one", "+I 2|\\N", "-U 1|one", "+U 1|uno", "-D 2|\\N"];
    assert_eq!(decode(&t, EVENTS).unwrap(), rows);
    assert_eq!(decode(&project(t, &[&[1]]), EVENTS).unwrap(), ["+I one", "+I \\N", "-U one", "+U uno", "-D \\N"]);
}

#[test]
fn events_may_be_wrapped_with_their_schema() {
    let t = debezium(&[("debezium-json.schema-include", "true")]);
    let input = r#"{"schema":{"type":"struct"},"payload":{"before":null,"after":{"id":1,"v":"one"},"op":"c"}}
{"schema":null,"payload":null}
"#;
    assert_eq!(decode(&t, input).unwrap(), ["+I 1|one"]);
}

#[test]
fn a_bad_event_is_an_error_or_skipped_as_a_whole() {
    let bad = [
        (r#"{"before":null,"after":{"id":1},"op":"u"}"#, "the \"before\" of this change event is missing; PostgreSQL gives it"),
        (r#"{"before":{"id":1},"after":{"id":"x"},"op":"u"}"#, "column 'after.id': '\"x\"' is no INT"),
        (r#"{"after":{"id":1},"op":"t"}"#, "'t' is no \"op\""),
        (r#"{"after":{"id":1}}"#, "needs an \"op\""),
        ("{", "no JSON"),
    ];
    for (event, message) in bad {
        let e = decode(&debezium(&[]), &format!("\n{event}")).unwrap_err().to_string();
        assert!(e.starts_with("line 2: ") && e.contains(message), "{e}");
        let (rows, skipped) = decode_pieces(&debezium(&[("debezium-json.on-error", "skip")]), event.as_bytes(), 5).unwrap();
        assert_eq!((rows.len(), skipped), (0, 1), "{event}");
    }
    let lenient = debezium(&[("debezium-json.ignore-parse-errors", "true")]);
    assert_eq!(decode(&lenient, bad[1].0).unwrap(), ["-U 1|\\N", "+U \\N|\\N"]);
}

#[test]
fn what_stands_beside_a_row_is_looked_at_only_where_it_is_read() {
    let event = r#"{"before":null,"after":{"id":1},"op":"c","ts_ms":"soon","source":7}"#;
    assert_eq!(decode(&debezium(&[]), event).unwrap(), ["+I 1|\\N"]);
    let mut t = debezium(&[]);
    t.metadata = super::metadata().into_iter().map(|info| rheos_core::schema::Field::new(info.key, info.ty)).collect();
    let e = decode(&project(t.clone(), &[&[3]]), event).unwrap();
    assert_eq!(e, ["+I \\N"], "no number of milliseconds");
    let e = decode(&project(t, &[&[5]]), event).unwrap_err().to_string();
    assert!(e.contains("\"source\" of this change event is no object"), "{e}");
}

#[test]
fn changes_are_written_as_creates_and_deletes() {
    let t = debezium(&[]);
    let format = Format::of(&t).unwrap();
    let mut decoder = format.decoder(&t, Default::default());
    decoder.decode(EVENTS.as_bytes(), true, 100).unwrap();
    let mut out = String::new();
    format.encoder(&t.schema).unwrap().encode_batch(&decoder.finish().unwrap().unwrap(), &mut out, |_| Ok(())).unwrap();
    assert_eq!(out.lines().nth(2), Some(r#"{"before":{"id":1,"v":"one"},"after":null,"op":"d"}"#));
    let rows = ["+I 1|one", "+I 2|\\N", "-D 1|one", "+I 1|uno", "-D 2|\\N"];
    assert_eq!(decode(&t, &out).unwrap(), rows);
}

#[test]
fn kinds_stay_with_their_rows_over_batches() {
    let t = debezium(&[]);
    let mut decoder = Format::of(&t).unwrap().decoder(&t, Default::default());
    let mut at = 0;
    let mut batches = Vec::new();
    while at < EVENTS.len() {
        at += decoder.decode(&EVENTS.as_bytes()[at..], true, 1).unwrap();
        batches.extend(decoder.finish().unwrap().map(|b| lines(&t.schema, &b)));
    }
    assert_eq!(batches, [vec!["+I 1|one"], vec!["+I 2|\\N"], vec!["-U 1|one", "+U 1|uno"], vec!["-D 2|\\N"]]);
}
