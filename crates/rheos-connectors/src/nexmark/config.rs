//! The options of the table, under the names of the Flink connector, and what follows from them.

use chrono::NaiveDateTime;
use rheos_core::connector::{Comparison, OptionInfo, Predicate, PredicateValue, TableSpec, parse_memory_bytes};
use rheos_core::time::TimestampMs;
use rheos_core::{Error, Result};

use super::columns::EVENT_TYPE;
use super::layout::{Kind, Layout};
use super::strings::MAX_AVERAGE_BYTES;
use super::timeline::{RateShape, Timeline};

/// More events than a run can reach, and still every number of them is exact as a double.
const UNBOUNDED_EVENTS: u64 = 1 << 53;
/// The longest `rate.period`: a year.
const MAX_PERIOD_S: u64 = 366 * 86_400;
/// 2015-07-15 00:00:00, since the first Nexmark for Beam.
const DEFAULT_BASE_MS: TimestampMs = 1_436_918_400_000;

/// The options for people.
pub(super) fn option_infos() -> Vec<OptionInfo> {
    let option = OptionInfo::optional;
    vec![
        option("events.num", "0", "how many events there are; 0 for a stream that never ends"),
        option("stop-at", "-1", "stop after so many events; -1 for all of events.num"),
        option("keep-alive", "false", "whether the source stays open, silent, after its last event"),
        option("first-event.rate", "10000", "events a second"),
        option("next-event.rate", "as first-event.rate", "the other rate, with which the first one alternates over rate.period"),
        option("rate.shape", "SQUARE", "how the two rates alternate: SQUARE or SINE"),
        option("rate.period", "600 s", "how long it takes the rate to return to the first one"),
        option("rate.limited", "false", "true gives every event when it is due: real time, at the rate above; false as fast as it goes"),
        option("max-emit-speed", "true", "false is the same as rate.limited = true"),
        option("base-time", "now if rate.limited, else 2015-07-15 00:00:00", "the time of the first event: a timestamp (UTC) or now"),
        option("seed", "0", "another number gives other events"),
        option("person.proportion", "1", "share of new persons among the events"),
        option("auction.proportion", "3", "share of new auctions among the events"),
        option("bid.proportion", "46", "share of bids among the events"),
        option("person.avg-size", "200 b", "average size of a person"),
        option("auction.avg-size", "500 b", "average size of an auction"),
        option("bid.avg-size", "100 b", "average size of a bid"),
        option("bid.hot-ratio.auctions", "2", "one bid in so many is not for the hot auction"),
        option("bid.hot-ratio.bidders", "4", "one bid in so many is not by the hot bidder"),
        option("auction.hot-ratio.sellers", "4", "one auction in so many is not by the hot seller"),
    ]
}

/// When the first event happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BaseTime {
    /// When the reader first runs.
    Now,
    /// At that time.
    At(TimestampMs),
}

/// What the options say.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Config {
    /// From which all randomness follows.
    pub(super) seed: u64,
    /// The kinds of events by number.
    pub(super) layout: Layout,
    /// The times of events by number.
    pub(super) timeline: Timeline,
    /// What the times count from.
    pub(super) base_time: BaseTime,
    /// Whether events are given when they are due, and not before.
    pub(super) real_time: bool,
    /// How many events there are.
    pub(super) events: u64,
    /// Whether that number was given.
    pub(super) limited: bool,
    /// Whether the source stays open after the last event.
    pub(super) keep_alive: bool,
    /// Average sizes by kind.
    pub(super) average_bytes: [usize; 3],
    /// One bid in so many is not for the hot auction.
    pub(super) hot_auctions: u64,
    /// One bid in so many is not by the hot bidder.
    pub(super) hot_bidders: u64,
    /// One auction in so many is not by the hot seller.
    pub(super) hot_sellers: u64,
    /// The kinds that the predicates leave.
    pub(super) kinds: [bool; 3],
}

impl Config {
    /// Reads and checks all options.
    pub(super) fn new(table: &TableSpec) -> Result<Self> {
        let first_rate = at_least_1(table, "first-event.rate", 10_000)?;
        let next_rate = at_least_1(table, "next-event.rate", first_rate)?;
        let period_s = table.duration_ms("rate.period")?.unwrap_or(600_000) / 1000;
        if period_s > MAX_PERIOD_S {
            return Err(wrong(table, "rate.period", "at most 366 d"));
        }
        let shape = match table.option("rate.shape").map(|s| s.trim().to_ascii_uppercase()).as_deref() {
            None | Some("SQUARE") => RateShape::Square,
            Some("SINE") => RateShape::Sine,
            Some(_) => return Err(wrong(table, "rate.shape", "SQUARE or SINE")),
        };
        let proportion = |key, default: u32| number(table, key, default, "a whole number from 0").map(u64::from);
        let proportions = [proportion("person.proportion", 1)?, proportion("auction.proportion", 3)?, proportion("bid.proportion", 46)?];
        if proportions == [0; 3] {
            return Err(Error::config(format!("all three proportions of table '{}' are 0, so that it has no events", table.name)));
        }
        let real_time = real_time(table)?;
        let events = number(table, "events.num", 0, "a whole number from 0")?;
        let stop_at = number(table, "stop-at", -1i64, "a whole number, or -1 for no stop")?;
        let stop = u64::try_from(stop_at).unwrap_or(UNBOUNDED_EVENTS);
        let all = if events == 0 { UNBOUNDED_EVENTS } else { events };
        let limit = all.min(stop).min(UNBOUNDED_EVENTS);
        Ok(Config {
            seed: number(table, "seed", 0, "a whole number from 0")?,
            layout: Layout { proportions },
            timeline: Timeline::new(first_rate, next_rate, shape, period_s),
            base_time: base_time(table, real_time)?,
            real_time,
            events: limit,
            limited: limit < UNBOUNDED_EVENTS,
            keep_alive: boolean(table, "keep-alive")?.unwrap_or(false),
            average_bytes: [size(table, "person.avg-size", 200)?, size(table, "auction.avg-size", 500)?, size(table, "bid.avg-size", 100)?],
            hot_auctions: at_least_1(table, "bid.hot-ratio.auctions", 2)?.into(),
            hot_bidders: at_least_1(table, "bid.hot-ratio.bidders", 4)?.into(),
            hot_sellers: at_least_1(table, "auction.hot-ratio.sellers", 4)?.into(),
            kinds: Kind::ALL.map(|kind| {
                let pass = |predicates: &[Predicate]| predicates.iter().all(|p| !is_applied(table, p) || passes(kind, p));
                pass(&table.predicates) && (table.alternatives.is_empty() || table.alternatives.iter().any(|a| pass(a)))
            }),
        })
    }

    /// Whether the input ends.
    pub(super) fn bounded(&self) -> bool {
        self.limited && !self.keep_alive
    }
}

/// Whether a predicate is about the kind of event: such are applied exactly.
pub(super) fn is_applied(table: &TableSpec, predicate: &Predicate) -> bool {
    let of_event_type = table.schema.fields.get(predicate.path.column).is_some_and(|f| f.name == EVENT_TYPE);
    of_event_type && predicate.path.fields.is_empty() && matches!(predicate.value, PredicateValue::Int(_))
}

fn passes(kind: Kind, predicate: &Predicate) -> bool {
    let PredicateValue::Int(value) = predicate.value else { return true };
    let order = (kind as i64).cmp(&value);
    match predicate.comparison {
        Comparison::Equal => order.is_eq(),
        Comparison::NotEqual => order.is_ne(),
        Comparison::Less => order.is_lt(),
        Comparison::LessOrEqual => order.is_le(),
        Comparison::Greater => order.is_gt(),
        Comparison::GreaterOrEqual => order.is_ge(),
    }
}

fn wrong(table: &TableSpec, key: &str, wanted: &str) -> Error {
    let value = table.option(key).unwrap_or_default();
    Error::config(format!("option '{key}' of table '{}' is '{value}', but must be {wanted}", table.name))
}

fn number<T: std::str::FromStr>(table: &TableSpec, key: &str, default: T, wanted: &str) -> Result<T> {
    table.option(key).map_or(Ok(default), |text| text.trim().parse().map_err(|_| wrong(table, key, wanted)))
}

fn at_least_1(table: &TableSpec, key: &str, default: u32) -> Result<u32> {
    let wanted = "a whole number from 1";
    let value = number(table, key, default, wanted)?;
    if value == 0 { Err(wrong(table, key, wanted)) } else { Ok(value) }
}

fn boolean(table: &TableSpec, key: &str) -> Result<Option<bool>> {
    match table.option(key).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(wrong(table, key, "true or false")),
    }
}

fn size(table: &TableSpec, key: &str, default: usize) -> Result<usize> {
    let Some(text) = table.option(key) else { return Ok(default) };
    let bytes = parse_memory_bytes(text).map_err(|e| e.context(format!("option '{key}' of table '{}'", table.name)))?;
    match usize::try_from(bytes) {
        Ok(bytes) if bytes <= MAX_AVERAGE_BYTES => Ok(bytes),
        _ => Err(wrong(table, key, &format!("at most {} kb", MAX_AVERAGE_BYTES / 1024))),
    }
}

/// The Flink connector has two switches for the same thing.
fn real_time(table: &TableSpec) -> Result<bool> {
    match (boolean(table, "rate.limited")?, boolean(table, "max-emit-speed")?) {
        (Some(limited), Some(fast)) if limited == fast => {
            let name = &table.name;
            Err(Error::config(format!("options 'rate.limited' and 'max-emit-speed' of table '{name}' are both {fast}: they contradict")))
        }
        (Some(limited), _) => Ok(limited),
        (None, fast) => Ok(fast == Some(false)),
    }
}

fn base_time(table: &TableSpec, real_time: bool) -> Result<BaseTime> {
    let Some(text) = table.option("base-time") else {
        return Ok(if real_time { BaseTime::Now } else { BaseTime::At(DEFAULT_BASE_MS) });
    };
    let text = text.trim();
    if text.eq_ignore_ascii_case("now") {
        return Ok(BaseTime::Now);
    }
    let parsed = ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f"].iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok());
    let time = parsed.ok_or_else(|| wrong(table, "base-time", "'now' or a timestamp such as '2015-07-15 00:00:00'"))?;
    Ok(BaseTime::At(time.and_utc().timestamp_millis()))
}
