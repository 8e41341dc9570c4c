//! The distributions are those of the Java generator.

use super::*;

fn longs(column: &ArrayRef) -> &[i64] {
    column.as_primitive::<Int64Type>().values()
}

fn share(of: impl Iterator<Item = bool>) -> f64 {
    let all: Vec<bool> = of.collect();
    all.iter().filter(|b| **b).count() as f64 / all.len() as f64
}

/// One column of 100,000 events' bids (or auctions, or persons).
fn sample(path: &str) -> ArrayRef {
    let kind = ["person", "auction", "bid"].iter().position(|k| path.starts_with(k)).unwrap();
    let table = only(project(table(&[("events.num", "100000")]), &[path]), Comparison::Equal, kind as i64);
    Arc::clone(read(&table, 1, 4096).column(0))
}

#[test]
fn kinds_come_in_their_proportions_and_their_other_columns_are_null() {
    let batch = read(&table(&[("events.num", "5000")]), 1, 4096);
    let mut counts = [0; 3];
    for (row, kind) in batch.column(0).as_primitive::<Int32Type>().values().iter().enumerate() {
        counts[*kind as usize] += 1;
        assert!((0..3).all(|column| batch.column(1 + column).is_valid(row) == (column == *kind as usize)));
    }
    assert_eq!(counts, [100, 300, 4600]);
    let batch = read(&project(table(&[("events.num", "70"), ("person.proportion", "0"), ("bid.proportion", "4")]), &["event_type"]), 1, 64);
    assert_eq!(batch.column(0).as_primitive::<Int32Type>().values().iter().map(|k| *k as usize).sum::<usize>(), 30 + 80);
}

#[test]
fn persons_are_as_the_java_generator_makes_them() {
    let ids = sample("person.id");
    assert_eq!(longs(&ids)[..3], [1000, 1001, 1002]);
    let cards = sample("person.creditCard");
    assert!(cards.as_string::<i32>().iter().flatten().all(|c| c.len() == 19 && c.split(' ').all(|g| g.parse::<u32>().is_ok())));
    let emails = sample("person.emailAddress");
    assert!(emails.as_string::<i32>().iter().flatten().all(|e| e.contains('@') && e.ends_with(".com") && e.len() <= 15));
    let states = sample("person.state");
    let oregon = share(states.as_string::<i32>().iter().map(|s| s == Some("OR")));
    assert!((oregon - 1.0 / 6.0).abs() < 0.04, "{oregon}");
}

#[test]
fn auctions_are_as_the_java_generator_makes_them() {
    let ids = sample("auction.id");
    assert!(longs(&ids).iter().enumerate().all(|(i, id)| *id == 1000 + i as i64));
    let sellers = sample("auction.seller");
    let hot = share(longs(&sellers).iter().enumerate().map(|(i, s)| *s == 1000 + i as i64 / 300 * 100));
    assert!((hot - 0.75).abs() < 0.03, "{hot}");
    let categories = sample("auction.category");
    assert!((10..15).all(|c| (share(longs(&categories).iter().map(|x| *x == c)) - 0.2).abs() < 0.03));
    let (from, to) = (sample("auction.dateTime"), sample("auction.expires"));
    let times = |a: &ArrayRef| a.as_primitive::<TimestampMillisecondType>().values().to_vec();
    let lengths: Vec<i64> = times(&from).iter().zip(times(&to)).map(|(from, to)| to - from).collect();
    let mean = lengths.iter().sum::<i64>() as f64 / lengths.len() as f64;
    assert!(lengths.iter().all(|l| (1..=334).contains(l)) && (mean - 167.0).abs() < 6.0, "{mean}");
    let (bids, reserves) = (sample("auction.initialBid"), sample("auction.reserve"));
    assert!(longs(&bids).iter().zip(longs(&reserves)).all(|(bid, reserve)| reserve - bid >= 100));
    let names = sample("auction.itemName");
    assert!(names.as_string::<i32>().iter().flatten().all(|n| n.len() < 20 && n.trim() == n));
}

#[test]
fn bids_are_as_the_java_generator_makes_them() {
    let auctions = sample("bid.auction");
    let hot = share(longs(&auctions).iter().map(|a| a % 100 == 0));
    assert!((hot - 0.505).abs() < 0.01, "{hot}");
    let bidders = sample("bid.bidder");
    let hot = share(longs(&bidders).iter().enumerate().map(|(i, b)| *b == 2001 + i as i64 / 4600 * 100));
    assert!((hot - 0.75).abs() < 0.01, "{hot}");
    let prices = sample("bid.price");
    assert!(longs(&prices).iter().all(|p| (100..=100_000_000).contains(p)));
    let below_1000 = share(longs(&prices).iter().map(|p| *p < 1000));
    assert!((below_1000 - 1.0 / 6.0).abs() < 0.01, "{below_1000}");
    let channels = sample("bid.channel");
    for channel in ["Google", "Facebook", "Baidu", "Apple"] {
        let hot = share(channels.as_string::<i32>().iter().map(|c| c == Some(channel)));
        assert!((hot - 0.125).abs() < 0.01, "{channel} {hot}");
    }
    let urls = sample("bid.url");
    let with_id = share(urls.as_string::<i32>().iter().map(|u| u.unwrap().contains("&channel_id=")));
    assert!((with_id - 0.45).abs() < 0.01, "{with_id}");
    let url = urls.as_string::<i32>().value(0);
    assert!(url.starts_with("https://www.nexmark.com/") && url.split('/').nth(6).unwrap().starts_with("item.htm?query=1"), "{url}");
}

#[test]
fn padding_brings_events_to_their_average_size() {
    let mean = |path: &str| {
        let column = sample(path);
        column.as_string::<i32>().value_data().len() as f64 / column.len() as f64
    };
    assert!((mean("bid.extra") - 67.5).abs() < 0.5);
    let others = ["auction.itemName", "auction.description"].map(mean).iter().sum::<f64>();
    assert!((mean("auction.extra") + others + 48.0 - 500.0).abs() < 5.0);
    let extras = sample("bid.extra");
    assert!(extras.as_string::<i32>().iter().flatten().all(|e| (54..82).contains(&e.len())));
    let letters_c = extras.as_string::<i32>().value_data().iter().filter(|b| **b == b'c').count() as f64;
    assert!((letters_c / extras.as_string::<i32>().value_data().len() as f64 - 1.0 / 52.0).abs() < 0.002);
}
