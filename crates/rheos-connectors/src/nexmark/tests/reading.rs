//! The same events by every way: parallelism, batch size, projection, predicate, resumption, real time.

use super::*;

#[test]
fn any_parallelism_and_any_batch_size_gives_the_same_events() {
    let table = table(&[("events.num", "2345"), ("seed", "9")]);
    let expected = rows(&read(&table, 1, 1000));
    assert_eq!(expected.len(), 2345);
    for (parallelism, max_rows) in [(1, 7), (2, 100), (4, 33), (60, 1000)] {
        assert!(rows(&read(&table, parallelism, max_rows)) == expected, "{parallelism} splits, batches of {max_rows}");
    }
}

#[test]
fn another_seed_gives_other_events() {
    let prices = |seed| read(&project(table(&[("events.num", "100"), ("seed", seed)]), &["bid.price"]), 1, 100);
    assert_ne!(prices("1"), prices("2"));
}

#[test]
fn an_event_is_the_same_for_ever() {
    let first = |kind: i64, names: &str| {
        let prefix = ["person", "auction", "bid"][kind as usize];
        let paths: Vec<String> = names.split(' ').map(|name| format!("{prefix}.{name}")).collect();
        let table = table(&[("events.num", "5"), ("bid.avg-size", "40"), ("auction.avg-size", "160")]);
        let table = project(only(table, Comparison::Equal, kind), &paths.iter().map(String::as_str).collect::<Vec<_>>());
        rows(&read(&table, 1, 1)).remove(0)
    };
    let person = "1000|John Noris|hramu@sp.com|8161 3249 4232 4815|San Francisco|CA|2015-07-15T00:00:00";
    assert_eq!(first(0, "id name emailAddress creditCard city state dateTime"), person);
    let auction = "1000|nlgtfz|4027475|5181998|2015-07-15T00:00:00.155|1008|11|WZLPUofturvr";
    assert_eq!(first(1, "id itemName initialBid reserve expires seller category extra"), auction);
    let bid = "1011|2001|96890678|Apple|https://www.nexmark.com/zxz/jux/xeb/item.htm?query=1|QHVNUXo";
    assert_eq!(first(2, "auction bidder price channel url extra"), bid);
}

#[test]
fn a_projection_changes_no_value() {
    let options = [("events.num", "1000")];
    let all = read(&table(&options), 1, 300);
    let paths = ["bid.extra", "event_type", "person", "auction.expires", "bid.url", "auction.extra", "person.extra", "bid.dateTime"];
    let some = read(&project(table(&options), &paths), 1, 70);
    for (i, path) in paths.iter().enumerate() {
        let mut names = path.split('.');
        let column = all.column_by_name(names.next().unwrap()).unwrap();
        let expected = names.next().map_or(column, |name| column.as_struct().column_by_name(name).unwrap());
        assert!(some.column(i) == expected, "{path}");
    }
    assert_eq!(some.schema().field(0).name(), "bid.extra");
    let none = read(&project(table(&options), &[]), 1, 300);
    assert_eq!((none.num_columns(), none.num_rows()), (0, 1000));
}

#[test]
fn a_predicate_gives_what_a_filter_afterwards_would() {
    use Comparison::*;
    let all = table(&[("events.num", "1234")]);
    let unfiltered = rows(&read(&all, 1, 500));
    let cases: [(Comparison, i64, &[&str]); 7] = [
        (Equal, 0, &["0"]),
        (Equal, 2, &["2"]),
        (NotEqual, 2, &["0", "1"]),
        (Less, 1, &["0"]),
        (LessOrEqual, 1, &["0", "1"]),
        (GreaterOrEqual, 1, &["1", "2"]),
        (Greater, 2, &[]),
    ];
    for (comparison, value, kinds) in cases {
        let filtered = only(all.clone(), comparison, value);
        assert_eq!(connector().source.unwrap().describe(&filtered).unwrap().predicates_applied, [true]);
        let expected: Vec<_> = unfiltered.iter().filter(|row| kinds.iter().any(|k| row.starts_with(k))).cloned().collect();
        for parallelism in [1, 3] {
            assert!(rows(&read(&filtered, parallelism, 50)) == expected, "{comparison:?} {value} at parallelism {parallelism}");
        }
    }
}

#[test]
fn only_predicates_on_the_kind_of_event_are_applied() {
    let mut spec = only(table(&[]), Comparison::Equal, 2);
    let price = ColumnPath { column: 3, fields: vec![2] };
    spec.predicates.push(Predicate { path: price, comparison: Comparison::Greater, value: PredicateValue::Int(5) });
    let text = PredicateValue::Text("2".into());
    spec.predicates.push(Predicate { path: ColumnPath { column: 0, fields: vec![] }, comparison: Comparison::Equal, value: text });
    let description = connector().source.unwrap().describe(&spec).unwrap();
    assert_eq!(description.predicates_applied, [true, false, false]);
    assert!(!description.bounded);
}

#[test]
fn reading_goes_on_exactly_where_the_positions_say() {
    let table = table(&[("events.num", "1111")]);
    let expected = rows(&read(&table, 1, 1000));
    for calls in [0, 1, 5, 30] {
        let mut first = reader(&table, splits(&table, 3));
        let mut batches: Vec<_> = (0..calls).filter_map(|_| records(next(&mut *first, 43))).collect();
        let mut second = reader(&table, first.positions().unwrap());
        batches.extend(drain(&mut *second, 100));
        let all = arrow::compute::concat_batches(&table.output_schema().to_arrow(), &batches).unwrap();
        assert!(rows(&all) == expected, "after {calls} calls");
    }
}

#[test]
fn splits_of_one_reader_advance_together_and_end_once() {
    let table = project(table(&[("events.num", "1000")]), &["bid.dateTime"]);
    let mut reader = reader(&table, splits(&table, 2));
    let order: Vec<_> = std::iter::from_fn(|| match next(&mut *reader, 100) {
        SourceEvent::Rows { split, .. } => Some(format!("rows {split}")),
        SourceEvent::SplitEnd { split } => Some(format!("end {split}")),
        SourceEvent::Drained | SourceEvent::End => None,
    })
    .collect();
    let expected = ["rows 0", "rows 1"].repeat(5).into_iter().chain(["end 0", "end 1"]);
    let (mut sorted, mut wanted) = (order.clone(), expected.map(String::from).collect::<Vec<_>>());
    assert_eq!(order[..4], ["rows 0", "rows 1", "rows 0", "rows 1"]);
    sorted.sort_unstable();
    wanted.sort_unstable();
    assert_eq!(sorted, wanted);
}

#[test]
fn in_real_time_events_come_when_they_are_due() {
    let clock = Arc::new(ManualClock::default());
    clock.set_ms(1_000_000);
    let table = project(table(&[("first-event.rate", "1000"), ("rate.limited", "true")]), &["event_type", "bid.dateTime"]);
    let source = connector().source.unwrap();
    let mut reader = source.reader(&table, splits(&table, 1), &context(Arc::clone(&clock))).unwrap();
    assert_eq!(records(next(&mut *reader, 1000)).unwrap().num_rows(), 1, "the first event is due at once");
    assert_eq!(records(next(&mut *reader, 1000)).unwrap().num_rows(), 1, "the second after a sleep of a millisecond");
    clock.set_ms(1_000_249);
    let batch = records(next(&mut *reader, 1000)).unwrap();
    assert_eq!(batch.num_rows(), 248, "all that is due by then");
    assert_eq!(batch.column(1).as_primitive::<TimestampMillisecondType>().value(247), 1_000_249, "event time is now");
    let mut resumed = source.reader(&table, reader.positions().unwrap(), &context(Arc::clone(&clock))).unwrap();
    clock.set_ms(1_000_299);
    let batch = records(next(&mut *resumed, 1000)).unwrap();
    assert_eq!((batch.num_rows(), batch.column(1).as_primitive::<TimestampMillisecondType>().value(49)), (50, 1_000_299));
}

#[test]
fn the_end_is_what_is_due_by_the_clock_or_else_the_last_event() {
    let clock = Arc::new(ManualClock::default());
    let context = context(Arc::clone(&clock));
    let source = connector().source.unwrap();
    let nexts = |table: &TableSpec| -> Vec<u64> {
        let ends = source.end_splits(table, 2, &context.env).unwrap();
        let ids: Vec<String> = source.splits(table, 2).unwrap().into_iter().map(|split| split.id).collect();
        assert_eq!(ends.iter().map(|split| split.id.clone()).collect::<Vec<_>>(), ids);
        ends.iter().map(|split| split.position["next"].as_u64().unwrap()).collect()
    };
    let paced = table(&[("first-event.rate", "1000"), ("rate.limited", "true"), ("events.num", "500")]);
    clock.set_ms(7_000);
    assert_eq!(nexts(&paced), [1, 1], "nothing was read: only the first event is due");
    let mut first = source.reader(&paced, source.splits(&paced, 1).unwrap(), &context).unwrap();
    next(&mut *first, 10);
    clock.set_ms(7_099);
    assert_eq!(nexts(&paced), [100, 100]);
    let mut late = source.reader(&paced, source.end_splits(&paced, 1, &context.env).unwrap(), &context).unwrap();
    assert_eq!(drain(&mut *late, 1000).iter().map(RecordBatch::num_rows).sum::<usize>(), 400);
    clock.set_ms(70_000);
    assert_eq!(nexts(&paced), [500, 500]);

    let unpaced = table(&[("events.num", "500")]);
    let mut ended = source.reader(&unpaced, source.end_splits(&unpaced, 1, &context.env).unwrap(), &context).unwrap();
    assert!(drain(&mut *ended, 1000).is_empty());
    assert!(source.end_splits(&table(&[]), 1, &context.env).unwrap_err().to_string().contains("no end to go on from"));
}
