//! The columns of new auctions.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::TimestampMillisecondArray;
use arrow::buffer::NullBuffer;
use rheos_core::Result;

use super::generator::{Generator, long_values, longs};
use super::layout::{Kind, Plan, Run};
use super::person::{ActivePersons, FIRST_PERSON_ID};
use super::random::{ColumnRandom, high_below, hot_or, low_below, price, wide_below};
use super::strings::{PaddingSize, SPACED, StringColumn, push_word};

/// Ids of auctions start here.
pub(super) const FIRST_AUCTION_ID: i64 = 1000;
/// So many auctions are open on average: it says how long they last, and which of them get bids.
const OPEN_AUCTIONS: i64 = 100;
/// So many auctions that do not exist yet may get bids: it looks as if events had been swapped in time.
const AUCTION_ID_LEAD: i64 = 10;
const FIRST_CATEGORY: i64 = 10;
const CATEGORIES: u64 = 5;
/// One person in so many is the hot seller of its time.
const HOT_SELLER_EVERY: i64 = 100;

/// The fields of an auction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum AuctionField {
    Id,
    ItemName,
    Description,
    InitialBid,
    Reserve,
    DateTime,
    Expires,
    Seller,
    Category,
    Extra,
}

/// The random numbers of the columns of auctions.
#[derive(Debug, Clone, Copy)]
pub(super) struct AuctionRandom {
    item_name: ColumnRandom,
    description: ColumnRandom,
    initial_bid: ColumnRandom,
    reserve: ColumnRandom,
    length: ColumnRandom,
    seller: ColumnRandom,
    category: ColumnRandom,
    extra: ColumnRandom,
}

impl AuctionRandom {
    /// Those of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let column = |i| ColumnRandom::new(seed, i);
        AuctionRandom {
            item_name: column(10),
            description: column(11),
            initial_bid: column(12),
            reserve: column(13),
            length: column(14),
            seller: column(15),
            category: column(16),
            extra: column(17),
        }
    }

    fn push_item_name(&self, bytes: &mut Vec<u8>, number: u64) {
        push_word(bytes, &mut self.item_name.draws(number), 20, &SPACED);
    }

    fn push_description(&self, bytes: &mut Vec<u8>, number: u64) {
        push_word(bytes, &mut self.description.draws(number), 100, &SPACED);
    }
}

/// One column of the auctions in `plan`.
pub(super) fn column(generator: &Generator, field: AuctionField, plan: &Plan, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let random = &generator.auction;
    let kind = Kind::Auction;
    Ok(match field {
        AuctionField::Id => longs(plan, kind, nulls, |run, ids| {
            ids.extend((0..run.rows as u64).map(|k| FIRST_AUCTION_ID + (run.ordinal + k * run.step) as i64));
        }),
        AuctionField::ItemName => texts(plan, 12, nulls, |bytes, number| random.push_item_name(bytes, number))?,
        AuctionField::Description => texts(plan, 53, nulls, |bytes, number| random.push_description(bytes, number))?,
        AuctionField::InitialBid => longs(plan, kind, nulls, |run, bids| {
            bids.extend(run.numbers().map(|number| price(random.initial_bid.at(number))));
        }),
        AuctionField::Reserve => longs(plan, kind, nulls, |run, reserves| {
            reserves.extend(run.numbers().map(|number| price(random.initial_bid.at(number)) + price(random.reserve.at(number))));
        }),
        AuctionField::DateTime => generator.times(plan, kind, nulls),
        AuctionField::Expires => {
            let values = long_values(plan, kind, |run, times| expiries(generator, run, times));
            Arc::new(TimestampMillisecondArray::new(values.into(), nulls))
        }
        AuctionField::Seller => longs(plan, kind, nulls, |run, sellers| {
            let last = generator.config.layout.last_person(run.epoch);
            let (hot, active) = (last / HOT_SELLER_EVERY * HOT_SELLER_EVERY, ActivePersons::new(last));
            let ratio = generator.config.hot_sellers;
            sellers.extend(run.numbers().map(|number| {
                let bits = random.seller.at(number);
                FIRST_PERSON_ID + hot_or(bits, ratio, hot, active.pick(bits))
            }));
        }),
        AuctionField::Category => longs(plan, kind, nulls, |run, categories| {
            categories.extend(run.numbers().map(|number| FIRST_CATEGORY + high_below(random.category.at(number), CATEGORIES) as i64));
        }),
        AuctionField::Extra => extras(generator, plan, nulls)?,
    })
}

/// An auction lasts on average until [`OPEN_AUCTIONS`] later ones have been opened.
fn expiries(generator: &Generator, run: &Run, times: &mut Vec<i64>) {
    let (layout, timeline) = (&generator.config.layout, &generator.config.timeline);
    let ahead = OPEN_AUCTIONS as u64 * layout.epoch_events() / layout.proportions[Kind::Auction as usize];
    times.extend(run.numbers().map(|number| {
        let opened_ms = timeline.offset_ms(number);
        let horizon_ms = timeline.offset_ms(number + ahead) - opened_ms;
        let length_ms = 1 + wide_below(generator.auction.length.at(number), (horizon_ms * 2).max(1) as u64) as i64;
        generator.base_ms + opened_ms + length_ms
    }));
}

fn texts(plan: &Plan, row_bytes: usize, nulls: Option<NullBuffer>, push: impl Fn(&mut Vec<u8>, u64)) -> Result<ArrayRef> {
    let mut column = StringColumn::new(plan.rows, row_bytes);
    for run in plan.runs_of(Kind::Auction) {
        match run {
            Ok(run) => run.numbers().for_each(|number| {
                push(&mut column.bytes, number);
                column.end_row();
            }),
            Err(rows) => column.skip(rows),
        }
    }
    column.finish(nulls)
}

/// Padding depends on the sizes of the other texts, which are made for that alone.
fn extras(generator: &Generator, plan: &Plan, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (random, average) = (&generator.auction, generator.config.average_bytes[Kind::Auction as usize]);
    let mut column = StringColumn::new(plan.rows, average);
    let mut others = Vec::new();
    for run in plan.runs_of(Kind::Auction) {
        match run {
            Ok(run) => run.numbers().for_each(|number| {
                others.clear();
                random.push_item_name(&mut others, number);
                random.push_description(&mut others, number);
                PaddingSize::new(48 + others.len(), average).push_to(&mut column, random.extra.at(number));
            }),
            Err(rows) => column.skip(rows),
        }
    }
    column.finish(nulls)
}

/// The auctions that may get bids at a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct OpenAuctions {
    first: i64,
    count: u64,
}

impl OpenAuctions {
    /// Those of the moment when auction `last`, counted from 0, is the latest.
    pub(super) fn new(last: i64) -> Self {
        let first = (last - OPEN_AUCTIONS).max(0);
        OpenAuctions { first, count: (last - first + 1 + AUCTION_ID_LEAD) as u64 }
    }

    /// One of them, counted from 0, from the lower half of `bits`.
    #[inline(always)]
    pub(super) fn pick(self, bits: u64) -> i64 {
        self.first + low_below(bits, self.count) as i64
    }
}
