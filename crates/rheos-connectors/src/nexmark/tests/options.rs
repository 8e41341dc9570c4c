//! What the options and the declared columns mean, and what is said of wrong ones.

use super::*;

#[test]
fn a_stream_ends_as_its_options_say() {
    let source = connector().source.unwrap();
    let count = |options: &[(&str, &str)]| read(&project(table(options), &[]), 1, 100).num_rows();
    assert_eq!(count(&[("events.num", "0"), ("stop-at", "300")]), 300);
    assert_eq!(count(&[("events.num", "200"), ("stop-at", "300")]), 200);
    let open = table(&[("events.num", "200"), ("keep-alive", "true")]);
    assert!(!source.describe(&open).unwrap().bounded);
    assert!(source.describe(&table(&[("events.num", "1")])).unwrap().bounded);
    let mut reader = reader(&open, splits(&open, 1));
    assert_eq!(records(next(&mut *reader, 1000)).unwrap().num_rows(), 200);
    assert!(reader.next(1000).now_or_never().is_none(), "it stays open");
}

#[test]
fn a_wrong_option_is_told_with_what_would_be_right() {
    let cases = [
        ("events.num", "many", "option 'events.num' of table 'events' is 'many', but must be a whole number from 0"),
        ("first-event.rate", "0", "option 'first-event.rate' of table 'events' is '0', but must be a whole number from 1"),
        ("rate.shape", "ROUND", "option 'rate.shape' of table 'events' is 'ROUND', but must be SQUARE or SINE"),
        ("keep-alive", "yes", "option 'keep-alive' of table 'events' is 'yes', but must be true or false"),
        ("bid.avg-size", "1 gb", "option 'bid.avg-size' of table 'events' is '1 gb', but must be at most 256 kb"),
        ("base-time", "noon", "but must be 'now' or a timestamp such as '2015-07-15 00:00:00'"),
    ];
    for (key, value, wanted) in cases {
        let error = connector().source.unwrap().describe(&table(&[(key, value)])).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let both = table(&[("rate.limited", "true"), ("max-emit-speed", "true")]);
    assert!(connector().source.unwrap().describe(&both).unwrap_err().to_string().contains("contradict"));
}

#[test]
fn a_wrong_column_is_told_with_what_there_is() {
    let error = |name: &str, kind: TypeKind| {
        let mut spec = table(&[]);
        spec.schema.fields.push(Field::new(name, kind.nullable()));
        connector().source.unwrap().describe(&spec).unwrap_err().to_string()
    };
    assert_eq!(
        error("seller", TypeKind::BigInt),
        "table 'events': connector 'nexmark' has no column 'seller'; its columns are event_type, person, auction and bid"
    );
    assert!(
        error("bid", row("price prize"))
            .ends_with("has no field 'prize'; its fields are auction, bidder, price, channel, url, dateTime, extra")
    );
    assert!(error("event_type", TypeKind::BigInt).contains("'event_type' is declared as BIGINT, but connector 'nexmark' gives INT"));
    assert!(error("bid", TypeKind::Int).contains("column 'bid' is INT, but must be ROW<`auction` BIGINT,"));
}

#[test]
fn fields_are_found_by_name_in_any_order_and_number() {
    let options = [("events.num", "200")];
    let mut some = table(&options);
    some.schema = Schema::new(vec![Field::new("bid", row("url price").nullable())]);
    let all = read(&table(&options), 1, 100);
    let bid = all.column(3).as_struct();
    let found = read(&some, 1, 100);
    let found = found.column(0).as_struct();
    assert_eq!(found.column(0), bid.column_by_name("url").unwrap());
    assert_eq!(found.column(1), bid.column_by_name("price").unwrap());
}
