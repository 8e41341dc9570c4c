//! The columns of new persons.

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use rheos_core::Result;

use super::generator::{Generator, longs};
use super::layout::{Kind, Plan, Run};
use super::random::{ColumnRandom, high_below, low_below};
use super::strings::{PaddingSize, SPACED, StringColumn, push_word};

/// Ids of persons start here.
pub(super) const FIRST_PERSON_ID: i64 = 1000;
/// So many of the latest persons sell and bid.
const ACTIVE_PERSONS: i64 = 1000;
/// So many persons that do not exist yet may sell and bid: it looks as if events had been swapped in time.
const PERSON_ID_LEAD: i64 = 10;

const STATES: [&str; 6] = ["AZ", "CA", "ID", "OR", "WA", "WY"];
const CITIES: [&str; 10] =
    ["Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"];
const FIRST_NAMES: [&str; 11] = ["Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"];
const LAST_NAMES: [&str; 9] = ["Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"];

/// The fields of a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum PersonField {
    Id,
    Name,
    EmailAddress,
    CreditCard,
    City,
    State,
    DateTime,
    Extra,
}

/// The random numbers of the columns of persons.
#[derive(Debug, Clone, Copy)]
pub(super) struct PersonRandom {
    name: ColumnRandom,
    email: ColumnRandom,
    credit_card: ColumnRandom,
    city: ColumnRandom,
    state: ColumnRandom,
    extra: ColumnRandom,
}

impl PersonRandom {
    /// Those of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let column = |i| ColumnRandom::new(seed, i);
        PersonRandom { name: column(0), email: column(1), credit_card: column(2), city: column(3), state: column(4), extra: column(5) }
    }

    fn push_name(&self, bytes: &mut Vec<u8>, number: u64) {
        let bits = self.name.at(number);
        bytes.extend_from_slice(FIRST_NAMES[high_below(bits, FIRST_NAMES.len() as u64) as usize].as_bytes());
        bytes.push(b' ');
        bytes.extend_from_slice(LAST_NAMES[low_below(bits, LAST_NAMES.len() as u64) as usize].as_bytes());
    }

    fn push_email(&self, bytes: &mut Vec<u8>, number: u64) {
        let mut draws = self.email.draws(number);
        push_word(bytes, &mut draws, 7, &SPACED);
        bytes.push(b'@');
        push_word(bytes, &mut draws, 5, &SPACED);
        bytes.extend_from_slice(b".com");
    }

    fn push_credit_card(&self, bytes: &mut Vec<u8>, number: u64) {
        let mut bits = self.credit_card.at(number);
        for group in 0..4 {
            if group > 0 {
                bytes.push(b' ');
            }
            let digits = ((bits & 0xFFFF) * 10_000) >> 16;
            bytes.extend([1000, 100, 10, 1].map(|unit| b'0' + (digits / unit % 10) as u8));
            bits >>= 16;
        }
    }

    fn push_city(&self, bytes: &mut Vec<u8>, number: u64) {
        bytes.extend_from_slice(CITIES[high_below(self.city.at(number), CITIES.len() as u64) as usize].as_bytes());
    }

    fn push_state(&self, bytes: &mut Vec<u8>, number: u64) {
        bytes.extend_from_slice(STATES[high_below(self.state.at(number), STATES.len() as u64) as usize].as_bytes());
    }
}

/// One column of the persons in `plan`.
pub(super) fn column(generator: &Generator, field: PersonField, plan: &Plan, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let random = &generator.person;
    let texts = |row_bytes, push: &dyn Fn(&mut StringColumn, u64)| texts(plan, row_bytes, nulls.clone(), push);
    match field {
        PersonField::Id => Ok(longs(plan, Kind::Person, nulls.clone(), ids)),
        PersonField::DateTime => Ok(generator.times(plan, Kind::Person, nulls.clone())),
        PersonField::Name => texts(14, &|c, n| random.push_name(&mut c.bytes, n)),
        PersonField::EmailAddress => texts(14, &|c, n| random.push_email(&mut c.bytes, n)),
        PersonField::CreditCard => texts(19, &|c, n| random.push_credit_card(&mut c.bytes, n)),
        PersonField::City => texts(10, &|c, n| random.push_city(&mut c.bytes, n)),
        PersonField::State => texts(2, &|c, n| random.push_state(&mut c.bytes, n)),
        PersonField::Extra => extras(generator, plan, nulls.clone()),
    }
}

fn ids(run: &Run, ids: &mut Vec<i64>) {
    ids.extend((0..run.rows as u64).map(|k| FIRST_PERSON_ID + (run.ordinal + k * run.step) as i64));
}

fn texts(plan: &Plan, row_bytes: usize, nulls: Option<NullBuffer>, push: &dyn Fn(&mut StringColumn, u64)) -> Result<ArrayRef> {
    let mut column = StringColumn::new(plan.rows, row_bytes);
    for run in plan.runs_of(Kind::Person) {
        match run {
            Ok(run) => run.numbers().for_each(|number| {
                push(&mut column, number);
                column.end_row();
            }),
            Err(rows) => column.skip(rows),
        }
    }
    column.finish(nulls)
}

/// Padding depends on the sizes of the other texts, which are made for that alone.
fn extras(generator: &Generator, plan: &Plan, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (random, average) = (&generator.person, generator.config.average_bytes[Kind::Person as usize]);
    let mut column = StringColumn::new(plan.rows, average);
    let mut others = Vec::new();
    for run in plan.runs_of(Kind::Person) {
        match run {
            Ok(run) => run.numbers().for_each(|number| {
                others.clear();
                random.push_name(&mut others, number);
                random.push_email(&mut others, number);
                random.push_credit_card(&mut others, number);
                random.push_city(&mut others, number);
                random.push_state(&mut others, number);
                PaddingSize::new(8 + others.len(), average).push_to(&mut column, random.extra.at(number));
            }),
            Err(rows) => column.skip(rows),
        }
    }
    column.finish(nulls)
}

/// A person that sells or bids when `last` is the latest, counted from 0, from the lower half of `bits`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActivePersons {
    first: i64,
    count: u64,
}

impl ActivePersons {
    /// Those of the moment when person `last` is the latest.
    pub(super) fn new(last: i64) -> Self {
        let active = (last + 1).min(ACTIVE_PERSONS);
        ActivePersons { first: last + 1 - active, count: (active + PERSON_ID_LEAD) as u64 }
    }

    /// One of them, counted from 0.
    #[inline(always)]
    pub(super) fn pick(self, bits: u64) -> i64 {
        self.first + low_below(bits, self.count) as i64
    }
}
