//! The options of a table of made-up rows, checked against its columns.

use std::collections::BTreeSet;
use std::str::FromStr;

use rheos_core::connector::TableSpec;
use rheos_core::text::{parse_decimal, pow10};
use rheos_core::types::{LogicalType, TypeKind};
use rheos_core::{Error, Result};

use super::generate::{Generator, What};
use crate::format::flag;

/// The length of texts and bytes where none is given.
const DEFAULT_LENGTH: u32 = 100;
/// The number of elements of collections where none is given.
const DEFAULT_ELEMENTS: u32 = 3;

/// The longest value that is made.
const MAX_VALUE_BYTES: u64 = 16 << 20;

/// What rows are made, how many and how fast.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) rows_per_second: u64,
    /// Absent where the input never ends.
    pub(super) rows: Option<u64>,
    pub(super) seed: u64,
    /// One for each column of the table.
    pub(super) columns: Vec<Generator>,
}

impl Settings {
    pub(super) fn of(table: &TableSpec) -> Result<Self> {
        let rows_per_second: u64 = table.parsed("rows-per-second", 10_000)?;
        if rows_per_second == 0 {
            return Err(Error::config(format!("option 'rows-per-second' of table '{}' is 0; it must be at least 1", table.name)));
        }
        let mut reader = OptionReader { table, used: BTreeSet::new(), rows: None };
        if table.option("number-of-rows").is_some() {
            reader.limit(table.parsed("number-of-rows", 0)?);
        }
        let columns = table.schema.fields.iter().map(|f| reader.generator(&f.name, &f.ty)).collect::<Result<Vec<_>>>()?;
        if let Some(i) = columns.iter().position(|c| c.value_bytes() > MAX_VALUE_BYTES) {
            let name = &table.schema.fields[i].name;
            return Err(Error::config(format!(
                "values of column '{name}' of table '{}' would be too long; give a smaller 'length'",
                table.name
            )));
        }
        reader.check_all_used()?;
        Ok(Settings { rows_per_second, rows: reader.rows, seed: table.parsed("rheos.seed", 0)?, columns })
    }
}

/// Reads the options of fields and notes which have been read.
struct OptionReader<'a> {
    table: &'a TableSpec,
    used: BTreeSet<String>,
    rows: Option<u64>,
}

impl OptionReader<'_> {
    /// The input ends after so many rows, if not before.
    fn limit(&mut self, rows: u64) {
        self.rows = Some(self.rows.map_or(rows, |r| r.min(rows)));
    }

    fn key(&mut self, path: &str, name: &str) -> String {
        let key = format!("fields.{path}.{name}");
        self.used.insert(key.clone());
        key
    }

    fn parsed<T: FromStr>(&mut self, path: &str, name: &str, default: T) -> Result<T> {
        let key = self.key(path, name);
        self.table.parsed(&key, default)
    }

    fn generator(&mut self, path: &str, ty: &LogicalType) -> Result<Generator> {
        let kind = self.key(path, "kind");
        let what = match self.table.option(&kind) {
            None | Some("random") => self.random(path, &ty.kind)?,
            Some("sequence") => self.sequence(path, ty)?,
            Some(other) => {
                let name = &self.table.name;
                return Err(Error::config(format!("option '{kind}' of table '{name}' is '{other}'; it can be 'random' or 'sequence'")));
            }
        };
        let null_rate: f64 = self.parsed(path, "null-rate", 0.0)?;
        if !(0.0..=1.0).contains(&null_rate) {
            let name = &self.table.name;
            return Err(Error::config(format!(
                "option 'fields.{path}.null-rate' of table '{name}' is {null_rate}; it must lie between 0 and 1"
            )));
        }
        Ok(Generator { ty: ty.clone(), null_rate, what })
    }

    fn random(&mut self, path: &str, kind: &TypeKind) -> Result<What> {
        Ok(match kind {
            TypeKind::Null => What::Null,
            TypeKind::Boolean => What::Boolean,
            TypeKind::TinyInt => self.integers(path, i64::from(i8::MIN), i64::from(i8::MAX))?,
            TypeKind::SmallInt => self.integers(path, i64::from(i16::MIN), i64::from(i16::MAX))?,
            TypeKind::Int | TypeKind::IntervalYearMonth => self.integers(path, i64::from(i32::MIN), i64::from(i32::MAX))?,
            TypeKind::BigInt | TypeKind::IntervalDayTime => self.integers(path, i64::MIN, i64::MAX)?,
            TypeKind::Float => self.doubles(path, f64::from(f32::MAX))?,
            TypeKind::Double => self.doubles(path, f64::MAX)?,
            TypeKind::Decimal(precision, scale) => {
                let greatest = pow10(*precision) - 1;
                let (min, max) = (
                    self.decimal(path, "min", (*precision, *scale), -greatest)?,
                    self.decimal(path, "max", (*precision, *scale), greatest)?,
                );
                self.check_range(path, min, max)?;
                What::Decimal { min, max }
            }
            TypeKind::Char(n) => What::Text { length: self.parsed(path, "length", *n)?, varying: self.varying(path)? },
            TypeKind::Varchar(n) => {
                What::Text { length: self.parsed(path, "length", DEFAULT_LENGTH.min(*n))?, varying: self.varying(path)? }
            }
            TypeKind::Binary(n) => What::Bytes { length: self.parsed(path, "length", *n)?, varying: self.varying(path)? },
            TypeKind::Varbinary(n) => {
                What::Bytes { length: self.parsed(path, "length", DEFAULT_LENGTH.min(*n))?, varying: self.varying(path)? }
            }
            TypeKind::Date => What::Date,
            TypeKind::Time(_) => What::Time,
            TypeKind::Timestamp(_) | TypeKind::TimestampLtz(_) => {
                let key = self.key(path, "max-past");
                What::Timestamp { max_past_ms: self.table.duration_ms(&key)?.unwrap_or(0) }
            }
            TypeKind::Array(item) => {
                What::Array { length: self.elements(path)?, item: Box::new(self.generator(&format!("{path}.element"), item)?) }
            }
            TypeKind::Map(key, value) => What::Map {
                length: self.elements(path)?,
                key: Box::new(self.generator(&format!("{path}.key"), key)?.without_nulls()),
                value: Box::new(self.generator(&format!("{path}.value"), value)?),
            },
            TypeKind::Multiset(element) => {
                let count = Generator { ty: TypeKind::Int.not_null(), null_rate: 0.0, what: What::Integer { min: 1, max: 9 } };
                What::Map {
                    length: self.elements(path)?,
                    key: Box::new(self.generator(&format!("{path}.element"), element)?.without_nulls()),
                    value: Box::new(count),
                }
            }
            TypeKind::Row(fields) => {
                What::Row(fields.iter().map(|f| self.generator(&format!("{path}.{}", f.name), &f.ty)).collect::<Result<_>>()?)
            }
        })
    }

    fn integers(&mut self, path: &str, least: i64, greatest: i64) -> Result<What> {
        let (min, max) = (self.parsed(path, "min", least)?, self.parsed(path, "max", greatest)?);
        self.check_range(path, min, max)?;
        if min < least || max > greatest {
            let name = &self.table.name;
            return Err(Error::config(format!(
                "column '{path}' of table '{name}' is to have numbers from {min} to {max}, which its type has not"
            )));
        }
        Ok(What::Integer { min, max })
    }

    fn doubles(&mut self, path: &str, greatest: f64) -> Result<What> {
        let (min, max) = (self.parsed(path, "min", 0.0)?, self.parsed(path, "max", greatest)?);
        self.check_range(path, min, max)?;
        Ok(What::Double { min, max })
    }

    fn decimal(&mut self, path: &str, name: &str, (precision, scale): (u8, u8), default: i128) -> Result<i128> {
        let key = self.key(path, name);
        let Some(text) = self.table.option(&key) else { return Ok(default) };
        let name = &self.table.name;
        let wrong = || Error::config(format!("option '{key}' of table '{name}' is '{text}', which is no DECIMAL({precision}, {scale})"));
        parse_decimal(text, precision, scale).ok_or_else(wrong)
    }

    fn varying(&mut self, path: &str) -> Result<bool> {
        let key = self.key(path, "var-len");
        flag(self.table, &key, false)
    }

    fn elements(&mut self, path: &str) -> Result<u32> {
        self.parsed(path, "length", DEFAULT_ELEMENTS)
    }

    fn sequence(&mut self, path: &str, ty: &LogicalType) -> Result<What> {
        let name = &self.table.name;
        let counts = ty.kind.is_numeric() || ty.kind.is_character();
        if !counts || path.contains('.') {
            return Err(Error::config(format!(
                "column '{path}' of table '{name}' is of type {ty}, which has no sequences; its kind can be 'random'"
            )));
        }
        let (start_key, end_key) = (self.key(path, "start"), self.key(path, "end"));
        for key in [&start_key, &end_key] {
            self.table.required(key)?;
        }
        let (start, end): (i64, i64) = (self.table.parsed(&start_key, 0)?, self.table.parsed(&end_key, 0)?);
        self.check_range(path, start, end)?;
        self.limit(end.abs_diff(start).saturating_add(1));
        Ok(What::Sequence { start })
    }

    fn check_range<T: PartialOrd + std::fmt::Display>(&self, path: &str, from: T, to: T) -> Result<()> {
        if from <= to {
            return Ok(());
        }
        Err(Error::config(format!(
            "column '{path}' of table '{}' is to have values from {from} to {to}, of which there are none",
            self.table.name
        )))
    }

    /// An option of a field that no column has, or that means nothing for its type, is a mistake.
    fn check_all_used(&self) -> Result<()> {
        match self.table.options.keys().find(|k| k.starts_with("fields.") && !self.used.contains(*k)) {
            None => Ok(()),
            Some(key) => Err(Error::config(format!(
                "table '{}' has the option '{key}', which no column takes: its name may be wrong, or its type has no such option",
                self.table.name
            ))),
        }
    }
}
