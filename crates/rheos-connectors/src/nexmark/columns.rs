//! The columns of the table, and which of them are asked for.

use arrow::datatypes::{DataType, Fields};
use rheos_core::connector::TableSpec;
use rheos_core::schema::Field;
use rheos_core::types::TypeKind;
use rheos_core::{Error, Result};

use super::auction::AuctionField;
use super::bid::BidField;
use super::layout::Kind;
use super::person::PersonField;

/// The column that says what kind of event a row is.
pub(super) const EVENT_TYPE: &str = "event_type";

/// A field of one of the kinds of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leaf {
    /// Of a person.
    Person(PersonField),
    /// Of an auction.
    Auction(AuctionField),
    /// Of a bid.
    Bid(BidField),
}

impl Leaf {
    /// The kind of events that have it; it is NULL in the others.
    pub(super) fn kind(self) -> Kind {
        match self {
            Leaf::Person(_) => Kind::Person,
            Leaf::Auction(_) => Kind::Auction,
            Leaf::Bid(_) => Kind::Bid,
        }
    }
}

/// A column to generate.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Column {
    /// The kind of the event.
    EventType,
    /// One field.
    Leaf(Leaf),
    /// A whole ROW: its fields as they were declared.
    Row(Kind, Vec<Leaf>, Fields),
}

type Known = (&'static str, TypeKind, Leaf);

fn known_fields(kind: Kind) -> Vec<Known> {
    let (number, text, time) = (TypeKind::BigInt, TypeKind::STRING, TypeKind::Timestamp(3));
    match kind {
        Kind::Person => vec![
            ("id", number, Leaf::Person(PersonField::Id)),
            ("name", text.clone(), Leaf::Person(PersonField::Name)),
            ("emailAddress", text.clone(), Leaf::Person(PersonField::EmailAddress)),
            ("creditCard", text.clone(), Leaf::Person(PersonField::CreditCard)),
            ("city", text.clone(), Leaf::Person(PersonField::City)),
            ("state", text.clone(), Leaf::Person(PersonField::State)),
            ("dateTime", time, Leaf::Person(PersonField::DateTime)),
            ("extra", text, Leaf::Person(PersonField::Extra)),
        ],
        Kind::Auction => vec![
            ("id", number.clone(), Leaf::Auction(AuctionField::Id)),
            ("itemName", text.clone(), Leaf::Auction(AuctionField::ItemName)),
            ("description", text.clone(), Leaf::Auction(AuctionField::Description)),
            ("initialBid", number.clone(), Leaf::Auction(AuctionField::InitialBid)),
            ("reserve", number.clone(), Leaf::Auction(AuctionField::Reserve)),
            ("dateTime", time.clone(), Leaf::Auction(AuctionField::DateTime)),
            ("expires", time, Leaf::Auction(AuctionField::Expires)),
            ("seller", number.clone(), Leaf::Auction(AuctionField::Seller)),
            ("category", number, Leaf::Auction(AuctionField::Category)),
            ("extra", text, Leaf::Auction(AuctionField::Extra)),
        ],
        Kind::Bid => vec![
            ("auction", number.clone(), Leaf::Bid(BidField::Auction)),
            ("bidder", number.clone(), Leaf::Bid(BidField::Bidder)),
            ("price", number, Leaf::Bid(BidField::Price)),
            ("channel", text.clone(), Leaf::Bid(BidField::Channel)),
            ("url", text.clone(), Leaf::Bid(BidField::Url)),
            ("dateTime", time, Leaf::Bid(BidField::DateTime)),
            ("extra", text, Leaf::Bid(BidField::Extra)),
        ],
    }
}

/// Finds what the declared columns mean, by name; a wrong one is an error that says what there is.
pub(super) fn declared(table: &TableSpec) -> Result<Vec<Column>> {
    table.schema.fields.iter().map(|field| declared_column(field).map_err(|e| e.context(format!("table '{}'", table.name)))).collect()
}

fn declared_column(field: &Field) -> Result<Column> {
    let kind = match field.name.as_str() {
        EVENT_TYPE => {
            check_type(EVENT_TYPE, &field.ty.kind, &TypeKind::Int)?;
            return Ok(Column::EventType);
        }
        "person" => Kind::Person,
        "auction" => Kind::Auction,
        "bid" => Kind::Bid,
        other => {
            return Err(Error::config(format!(
                "connector 'nexmark' has no column '{other}'; its columns are event_type, person, auction and bid"
            )));
        }
    };
    let known = known_fields(kind);
    let TypeKind::Row(fields) = &field.ty.kind else {
        return Err(Error::config(format!("column '{}' is {}, but must be ROW<{}>", field.name, field.ty, listed(&known, true))));
    };
    if !field.ty.nullable {
        return Err(Error::config(format!("column '{0}' is NOT NULL, but only events that are a {0} have it", field.name)));
    }
    let leaf = |inner: &Field| {
        let (_, wanted, leaf) = known.iter().find(|(name, ..)| *name == inner.name).ok_or_else(|| {
            let (row, names) = (&field.name, listed(&known, false));
            Error::config(format!("column '{row}' of connector 'nexmark' has no field '{}'; its fields are {names}", inner.name))
        })?;
        check_type(&format!("{}.{}", field.name, inner.name), &inner.ty.kind, wanted)?;
        Ok(*leaf)
    };
    let leaves = fields.iter().map(leaf).collect::<Result<Vec<_>>>()?;
    let DataType::Struct(arrow_fields) = field.ty.to_arrow() else {
        return Err(Error::bug(format!("ROW column '{}' is no Arrow struct", field.name)));
    };
    Ok(Column::Row(kind, leaves, arrow_fields))
}

fn listed(known: &[Known], types: bool) -> String {
    let one = |(name, kind, _): &Known| if types { format!("`{name}` {kind}") } else { name.to_string() };
    known.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// A VARCHAR of any length takes the texts as they are.
fn check_type(name: &str, declared: &TypeKind, wanted: &TypeKind) -> Result<()> {
    match (declared, wanted) {
        (TypeKind::Varchar(_), TypeKind::Varchar(_)) => Ok(()),
        _ if declared == wanted => Ok(()),
        _ => Err(Error::config(format!("'{name}' is declared as {declared}, but connector 'nexmark' gives {wanted}"))),
    }
}

/// The columns that the table is asked for, in order.
pub(super) fn projected(table: &TableSpec) -> Result<Vec<Column>> {
    let declared = declared(table)?;
    let Some(paths) = &table.projection else { return Ok(declared) };
    let mut columns = Vec::with_capacity(paths.len());
    for path in paths {
        let column = match (declared.get(path.column), &path.fields[..]) {
            (Some(column), []) => Some(column.clone()),
            (Some(Column::Row(_, leaves, _)), [field]) => leaves.get(*field).map(|leaf| Column::Leaf(*leaf)),
            _ => None,
        };
        columns.push(column.ok_or_else(|| Error::bug(format!("table '{}' has nothing at {path:?}", table.name)))?);
    }
    Ok(columns)
}
