//! The columns of bids: 46 of every 50 events, so these are the fast ones.

use std::sync::LazyLock;

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use rheos_core::Result;

use super::auction::{FIRST_AUCTION_ID, OpenAuctions};
use super::generator::{Generator, longs};
use super::layout::{Kind, Plan};
use super::person::{ActivePersons, FIRST_PERSON_ID};
use super::random::{ColumnRandom, Draws, hot_or, low_below, price};
use super::strings::{BlockTable, PaddingSize, StringColumn, UNDERSCORED, push_word};

/// One auction in so many is the hot one of its time.
const HOT_AUCTION_EVERY: i64 = 100;
/// One person in so many is the hot bidder of its time: the one after the hot seller.
const HOT_BIDDER_EVERY: i64 = 100;
/// Ids of bidders start here: the Java generator adds the first id of persons twice, and the published results follow from it.
const FIRST_BIDDER_ID: i64 = 2 * FIRST_PERSON_ID;
const HOT_CHANNELS: [&str; 4] = ["Google", "Facebook", "Baidu", "Apple"];
const OTHER_CHANNELS: u64 = 10_000;
/// What a bid has without its padding, as the generator counts it.
const BID_BYTES: usize = 32;

/// The fields of a bid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum BidField {
    Auction,
    Bidder,
    Price,
    Channel,
    Url,
    DateTime,
    Extra,
}

/// The random numbers of the columns of bids. Channel and url belong together and share theirs.
#[derive(Debug, Clone, Copy)]
pub(super) struct BidRandom {
    auction: ColumnRandom,
    bidder: ColumnRandom,
    price: ColumnRandom,
    channel: ColumnRandom,
    extra: ColumnRandom,
}

impl BidRandom {
    /// Those of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let column = |i| ColumnRandom::new(seed, i);
        BidRandom { auction: column(20), bidder: column(21), price: column(22), channel: column(23), extra: column(24) }
    }
}

/// The names and urls of all channels, the hot ones first. They are the same for every seed.
struct Channels {
    names: BlockTable<16>,
    urls: BlockTable<80>,
}

static CHANNELS: LazyLock<Channels> = LazyLock::new(|| {
    let mut draws = Draws::new(0x75726C);
    let mut channels = Channels { names: BlockTable::new(), urls: BlockTable::new() };
    for name in HOT_CHANNELS {
        channels.names.add(name.as_bytes());
        channels.urls.add(&base_url(&mut draws));
    }
    for i in 0..OTHER_CHANNELS as u32 {
        channels.names.add(format!("channel-{i}").as_bytes());
        let mut url = base_url(&mut draws);
        if draws.below(10) > 0 {
            // Java's Math.abs leaves the smallest integer negative.
            url.extend_from_slice(format!("&channel_id={}", (i.reverse_bits() as i32).wrapping_abs()).as_bytes());
        }
        channels.urls.add(&url);
    }
    channels
});

fn base_url(draws: &mut Draws) -> Vec<u8> {
    let mut url = b"https://www.nexmark.com/".to_vec();
    for _ in 0..3 {
        push_word(&mut url, draws, 5, &UNDERSCORED);
        url.push(b'/');
    }
    url.extend_from_slice(b"item.htm?query=1");
    url
}

/// Which of the [`CHANNELS`]: half of the bids come over the hot ones.
#[inline(always)]
fn channel(bits: u64) -> usize {
    let (hot, other) = (low_below(bits, HOT_CHANNELS.len() as u64), HOT_CHANNELS.len() as u64 + low_below(bits, OTHER_CHANNELS));
    std::hint::select_unpredictable(bits >> 63 == 1, hot, other) as usize
}

/// One column of the bids in `plan`.
pub(super) fn column(generator: &Generator, field: BidField, plan: &Plan, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let random = &generator.bid;
    let kind = Kind::Bid;
    Ok(match field {
        BidField::Auction => longs(plan, kind, nulls, |run, auctions| {
            let last = generator.config.layout.last_auction(run.epoch);
            let (hot, open) = (last / HOT_AUCTION_EVERY * HOT_AUCTION_EVERY, OpenAuctions::new(last));
            let ratio = generator.config.hot_auctions;
            auctions.extend(run.numbers().map(|number| {
                let bits = random.auction.at(number);
                FIRST_AUCTION_ID + hot_or(bits, ratio, hot, open.pick(bits))
            }));
        }),
        BidField::Bidder => longs(plan, kind, nulls, |run, bidders| {
            let last = generator.config.layout.last_person(run.epoch);
            let (hot, active) = (last / HOT_BIDDER_EVERY * HOT_BIDDER_EVERY + 1, ActivePersons::new(last));
            let ratio = generator.config.hot_bidders;
            bidders.extend(run.numbers().map(|number| {
                let bits = random.bidder.at(number);
                FIRST_BIDDER_ID + hot_or(bits, ratio, hot, active.pick(bits))
            }));
        }),
        BidField::Price => longs(plan, kind, nulls, |run, prices| {
            prices.extend(run.numbers().map(|number| price(random.price.at(number))));
        }),
        BidField::Channel => {
            let names = &CHANNELS.names;
            texts(plan, 10, nulls, |column, number| names.push_to(column, channel(random.channel.at(number))))?
        }
        BidField::Url => {
            let urls = &CHANNELS.urls;
            texts(plan, 66, nulls, |column, number| urls.push_to(column, channel(random.channel.at(number))))?
        }
        BidField::DateTime => generator.times(plan, kind, nulls),
        BidField::Extra => {
            let average = generator.config.average_bytes[kind as usize];
            let size = PaddingSize::new(BID_BYTES, average);
            let mut column = StringColumn::new(plan.rows, average.saturating_sub(BID_BYTES) + 1);
            for run in plan.runs_of(kind) {
                match run {
                    Ok(run) => size.push_all(&mut column, run.numbers().map(|number| random.extra.at(number))),
                    Err(rows) => column.skip(rows),
                }
            }
            column.finish(nulls)?
        }
    })
}

fn texts(plan: &Plan, row_bytes: usize, nulls: Option<NullBuffer>, push: impl Fn(&mut StringColumn, u64)) -> Result<ArrayRef> {
    let mut column = StringColumn::new(plan.rows, row_bytes);
    for run in plan.runs_of(Kind::Bid) {
        match run {
            Ok(run) => run.numbers().for_each(|number| push(&mut column, number)),
            Err(rows) => column.skip(rows),
        }
    }
    column.finish(nulls)
}
