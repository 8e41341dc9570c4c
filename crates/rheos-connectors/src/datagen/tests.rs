//! Made-up rows: repeatable, at any parallelism, from any position, at their rate.

use futures_util::FutureExt;
use rheos_core::connector::TableSpec;
use rheos_core::env::ManualClock;
use rheos_core::operator::OperatorContext;
use rheos_core::source::{SourceEvent, SourceFactory, assign_splits};
use rheos_core::types::TypeKind as T;
use rheos_core::{Batch, ErrorKind};

use super::Datagen;
use crate::fixture::{array, context, lines, map, next, project, read_all, row, table};

fn numbers(options: &[(&str, &str)]) -> TableSpec {
    table(&[("id", T::BigInt), ("x", T::Int), ("s", T::STRING)], options)
}

const SEQUENCE: [(&str, &str); 6] = [
    ("fields.id.kind", "sequence"),
    ("fields.id.start", "5"),
    ("fields.id.end", "24"),
    ("fields.x.min", "-3"),
    ("fields.x.max", "3"),
    ("fields.s.length", "4"),
];

fn rows_at(t: &TableSpec, parallelism: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for (i, splits) in assign_splits(Datagen::default().splits(t, parallelism).unwrap(), parallelism).into_iter().enumerate() {
        let mut reader = Datagen::default().reader(t, splits, &context(i, parallelism)).unwrap();
        rows.extend(read_all(&t.output_schema(), reader.as_mut(), 3).unwrap());
    }
    rows.sort();
    rows
}

#[test]
fn the_same_rows_come_at_any_parallelism() {
    let t = numbers(&SEQUENCE);
    assert!(Datagen::default().describe(&t).unwrap().bounded);
    let rows = rows_at(&t, 1);
    assert_eq!(rows.len(), 20);
    assert_eq!(rows_at(&t, 3), rows);
    for row in &rows {
        let values: Vec<&str> = row[3..].split('|').collect();
        assert!((5..=24).contains(&values[0].parse::<i32>().unwrap()));
        assert!((-3..=3).contains(&values[1].parse::<i32>().unwrap()));
        assert_eq!(values[2].len(), 4);
    }
    let other = numbers(&[&SEQUENCE[..], &[("rheos.seed", "1")]].concat());
    assert_ne!(rows_at(&other, 1), rows);
    // What is not asked for changes nothing about the rest.
    let only_x: Vec<String> = rows.iter().map(|r| format!("+I {}", r.split('|').nth(1).unwrap())).collect();
    let mut projected = rows_at(&project(t, &[&[1]]), 2);
    let mut only_x = only_x;
    only_x.sort();
    projected.sort();
    assert_eq!(projected, only_x);
}

#[test]
fn a_reader_goes_on_after_any_row() {
    let t = table(&[("id", T::BigInt), ("x", T::Int), ("ts", T::Timestamp(3))], &[("number-of-rows", "10"), ("rows-per-second", "2")]);
    let all = {
        let mut reader = Datagen::default().reader(&t, Datagen::default().splits(&t, 2).unwrap(), &context(0, 1)).unwrap();
        read_all(&t.schema, reader.as_mut(), 100).unwrap()
    };
    assert_eq!(all.len(), 10);
    let mut splits = Datagen::default().splits(&t, 2).unwrap();
    let mut read = Vec::new();
    while read.len() < all.len() {
        let mut reader = Datagen::default().reader(&t, splits, &context(0, 1)).unwrap();
        let SourceEvent::Rows { batch: Batch::Columns(batch), .. } = next(reader.as_mut(), 1).unwrap() else { panic!("rows are left") };
        read.extend(lines(&t.schema, &batch));
        splits = reader.positions().unwrap();
    }
    assert_eq!(read, all);
}

#[test]
fn rows_come_when_they_are_due() {
    let t = numbers(&[("rows-per-second", "1000")]);
    assert!(!Datagen::default().describe(&t).unwrap().bounded);
    let clock = std::sync::Arc::new(ManualClock::default());
    let base = context(0, 1);
    let env = rheos_core::env::Env { clock: clock.clone(), ..base.env.clone() };
    let mut reader = Datagen::default().reader(&t, Datagen::default().splits(&t, 1).unwrap(), &OperatorContext { env, ..base }).unwrap();
    let mut count = |max_rows| match reader.next(max_rows).now_or_never().unwrap().unwrap() {
        SourceEvent::Rows { batch, .. } => batch.num_rows(),
        other => panic!("{other:?}"),
    };
    assert_eq!(count(100), 1);
    clock.set_ms(50);
    assert_eq!(count(30), 30);
    assert_eq!(count(100), 20);
    // Nothing is due: the reader sleeps until the next row is.
    assert_eq!(count(100), 1);
}

#[test]
fn every_type_can_be_made_up() {
    let columns = [
        ("b", T::Boolean),
        ("i8", T::TinyInt),
        ("f", T::Float),
        ("d", T::Double),
        ("n", T::Decimal(38, 2)),
        ("c", T::Char(3)),
        ("bin", T::Varbinary(2)),
        ("dt", T::Date),
        ("tm", T::Time(0)),
        ("ts", T::Timestamp(9)),
        ("ltz", T::TimestampLtz(6)),
        ("xs", array(row(&[("p", T::Int), ("q", T::STRING)]))),
        ("m", map(T::Int)),
        ("ms", T::Multiset(Box::new(T::STRING.not_null()))),
        ("iv", T::IntervalDayTime),
    ];
    let endless =
        [("fields.deep.length", "4000000000"), ("fields.deep.element.length", "4000000000"), ("fields.deep.element.element.length", "9")];
    let deep = table(&[("deep", array(array(array(T::Int))))], &endless);
    assert_eq!(Datagen::default().describe(&deep).unwrap_err().kind(), ErrorKind::FixConfig);
    let options = [
        ("number-of-rows", "3"),
        ("fields.xs.length", "1"),
        ("fields.xs.element.q.length", "2"),
        ("fields.d.null-rate", "1"),
        ("fields.b.null-rate", "0"),
    ];
    let rows = rows_at(&table(&columns, &options), 1);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].split('|').nth(3), Some("\\N"));
    assert_eq!(rows[0].split('|').nth(7), Some("1970-01-01"));
}

#[test]
fn wrong_options_are_refused() {
    let refused = |options: &[(&str, &str)]| {
        let e = Datagen::default().describe(&numbers(options)).unwrap_err();
        assert_eq!(e.kind(), ErrorKind::FixConfig);
        e.to_string()
    };
    assert!(refused(&[("fields.y.min", "1")]).contains("'fields.y.min', which no column takes"));
    assert!(refused(&[("fields.s.min", "1")]).contains("'fields.s.min'"));
    assert!(refused(&[("fields.x.min", "7"), ("fields.x.max", "1")]).contains("from 7 to 1"));
    assert!(refused(&[("fields.id.kind", "sequence")]).contains("needs the option 'fields.id.start'"));
    assert!(refused(&[("fields.id.kind", "series")]).contains("'random' or 'sequence'"));
    assert!(refused(&[("fields.s.length", "4000000000")]).contains("'s' of table 't' would be too long"));
    assert!(refused(&[("rows-per-second", "0")]).contains("at least 1"));
    assert!(refused(&[("fields.x.null-rate", "2")]).contains("between 0 and 1"));
}

#[test]
fn the_end_is_what_is_due_by_the_clock() {
    let t = numbers(&[("rows-per-second", "10"), ("number-of-rows", "50")]);
    let base = context(0, 1);
    let clock = std::sync::Arc::new(ManualClock::default());
    let env = rheos_core::env::Env { clock: clock.clone(), random: base.env.random.clone() };
    let context = OperatorContext { env: env.clone(), ..base };
    let datagen = Datagen::default();
    let nexts = || -> Vec<u64> {
        let ends = datagen.end_splits(&t, 3, &env).unwrap();
        let ids: Vec<String> = datagen.splits(&t, 3).unwrap().into_iter().map(|split| split.id).collect();
        assert_eq!(ends.iter().map(|split| split.id.clone()).collect::<Vec<_>>(), ids);
        ends.iter().map(|split| split.position["next"].as_u64().unwrap()).collect()
    };
    clock.set_ms(5_000);
    assert_eq!(nexts(), [3, 1, 2], "nothing was read: only the first row is due");
    let mut reader = datagen.reader(&t, datagen.splits(&t, 1).unwrap(), &context).unwrap();
    next(reader.as_mut(), 1).unwrap();
    clock.set_ms(6_000);
    assert_eq!(nexts(), [12, 13, 11], "rows 0 to 10");
    let mut late = datagen.reader(&t, datagen.end_splits(&t, 1, &env).unwrap(), &context).unwrap();
    assert_eq!(read_all(&t.output_schema(), late.as_mut(), 10).unwrap().len(), 39);
    clock.set_ms(60_000);
    let mut ended = datagen.reader(&t, datagen.end_splits(&t, 1, &env).unwrap(), &context).unwrap();
    assert_eq!(read_all(&t.output_schema(), ended.as_mut(), 10).unwrap().len(), 0);
}
