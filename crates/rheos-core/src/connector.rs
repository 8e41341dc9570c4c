//! How a connector presents itself: its options, and the table that it is asked to read or write.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::schema::{Field, Schema};
use crate::sink::SinkFactory;
use crate::source::SourceFactory;
use crate::types::{LogicalType, TypeKind};

/// A column, or a field within nested ROW columns: `fields` are positions, outermost first. Metadata are columns behind those of the
/// table's schema.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColumnPath {
    /// The position of the column in the table's schema.
    pub column: usize,
    /// The fields to go down, from the column inwards.
    pub fields: Vec<usize>,
}

/// A condition that a source may apply by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicate {
    /// What is compared.
    pub path: ColumnPath,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub value: PredicateValue,
}

/// Comparisons; one with NULL is never true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The constant of a [`Predicate`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum PredicateValue {
    /// An integer.
    Int(i64),
    /// A text.
    Text(String),
    /// A boolean.
    Bool(bool),
}

/// A table as a connector sees it; it is part of the job graph.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    /// The table's name.
    pub name: String,
    /// The connector's name.
    pub connector: String,
    /// The physical columns, as declared (computed columns are not among them).
    pub schema: Schema,
    /// The positions of the columns of the primary key.
    pub primary_key: Vec<usize>,
    /// The positions of the columns by which the table is partitioned, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partition_keys: Vec<usize>,
    /// What is read or written of each record beside its columns: the keys with the types that they have there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<Field>,
    /// The options of WITH, `connector` included.
    pub options: BTreeMap<String, String>,
    /// Sources: the columns and nested fields to give, in order; `None` gives all columns.
    pub projection: Option<Vec<ColumnPath>>,
    /// Sources: conditions that may be applied; the rows that one rejects need not be given.
    pub predicates: Vec<Predicate>,
    /// Sources: for each use of the table the conditions of its own, where one scan serves several. The rows that all uses reject,
    /// each by one of its conditions, need not be given: whoever uses the rows filters them anyway. Empty: nothing is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Vec<Predicate>>,
}

impl TableSpec {
    /// An option's text.
    pub fn option(&self, key: &str) -> Option<&str> {
        self.options.get(key).map(String::as_str)
    }

    /// An option that must be there.
    pub fn required(&self, key: &str) -> Result<&str> {
        self.option(key).ok_or_else(|| Error::config(format!("table '{}' needs the option '{key}'", self.name)))
    }

    /// An option parsed, or its default where it is absent.
    pub fn parsed<T: std::str::FromStr>(&self, key: &str, default: T) -> Result<T> {
        match self.option(key) {
            None => Ok(default),
            Some(text) => text.trim().parse().map_err(|_| {
                let wanted = std::any::type_name::<T>();
                Error::config(format!("option '{key}' of table '{}' is '{text}', which is no {wanted}", self.name))
            }),
        }
    }

    /// A duration in milliseconds: `10 s`, `500ms`, `2 min`; a bare number is milliseconds.
    pub fn duration_ms(&self, key: &str) -> Result<Option<u64>> {
        self.option(key)
            .map(|text| parse_duration_ms(text).map_err(|e| e.context(format!("option '{key}' of table '{}'", self.name))))
            .transpose()
    }

    /// How many columns the connector sees, metadata included.
    pub fn width(&self) -> usize {
        self.schema.len() + self.metadata.len()
    }

    /// A column, or behind them metadata.
    pub fn column(&self, index: usize) -> &Field {
        self.schema.fields.get(index).unwrap_or_else(|| &self.metadata[index - self.schema.len()])
    }

    /// The columns of a source's batches: all of them, then all metadata; or those of the projection. A projected field is named by its
    /// path, `bid.price`, and is nullable where anything on the path is.
    pub fn output_schema(&self) -> Schema {
        match &self.projection {
            None => Schema::new(self.schema.fields.iter().chain(&self.metadata).cloned().collect()),
            Some(paths) => Schema::new(paths.iter().map(|p| self.path_field(p)).collect()),
        }
    }

    /// Name and type of what lies at a path.
    pub fn path_field(&self, path: &ColumnPath) -> Field {
        let mut field = self.column(path.column).clone();
        for step in &path.fields {
            if let TypeKind::Row(inner) = &field.ty.kind {
                let inner = &inner[*step];
                let nullable = field.ty.nullable || inner.ty.nullable;
                field = Field::new(format!("{}.{}", field.name, inner.name), inner.ty.clone().with_nullable(nullable));
            }
        }
        field
    }
}

/// Parses Flink's duration texts: a number and one of ns, us, ms, s, min, h, d (and their long names).
pub fn parse_duration_ms(text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let wrong = || Error::config(format!("'{text}' is no duration; write for example '500 ms', '10 s', '5 min', '2 h', '1 d'"));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hour" | "hours" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "us" | "micro" | "micros" | "microsecond" | "microseconds" | "µs" => return Ok(number / 1_000),
        "ns" | "nano" | "nanos" | "nanosecond" | "nanoseconds" => return Ok(number / 1_000_000),
        _ => return Err(wrong()),
    };
    number.checked_mul(factor).ok_or_else(wrong)
}

/// Parses Flink's memory texts: a number and one of b, kb, mb, gb (powers of 1024); a bare number is bytes.
pub fn parse_memory_bytes(text: &str) -> Result<u64> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let wrong = || Error::config(format!("'{text}' is no size; write for example '512 kb', '64 mb', '2 gb'"));
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" | "bytes" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => return Err(wrong()),
    };
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// An option of a connector or a format.
#[derive(Debug, Clone)]
pub struct OptionInfo {
    /// Its key in WITH.
    pub key: &'static str,
    /// Whether it must be given.
    pub required: bool,
    /// What holds where it is not given, for people.
    pub default: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
}

impl OptionInfo {
    /// An option that must be given.
    pub const fn required(key: &'static str, doc: &'static str) -> Self {
        OptionInfo { key, required: true, default: "", doc }
    }

    /// An option with a default.
    pub const fn optional(key: &'static str, default: &'static str, doc: &'static str) -> Self {
        OptionInfo { key, required: false, default, doc }
    }
}

/// What a connector or a format knows of each record beside its columns.
#[derive(Debug, Clone)]
pub struct MetadataInfo {
    /// Its key in METADATA FROM.
    pub key: &'static str,
    /// Its type.
    pub ty: LogicalType,
    /// What it is, in a few words.
    pub doc: &'static str,
}

/// A connector: its name in `'connector' = '...'`, its options, what it can do.
#[derive(Clone)]
pub struct ConnectorInfo {
    /// Its name.
    pub name: &'static str,
    /// What it connects to, in a sentence.
    pub doc: &'static str,
    /// Its options, without those of the format.
    pub options: Vec<OptionInfo>,
    /// Whether it wants a `'format' = '...'`.
    pub takes_format: bool,
    /// How it reads, if it does.
    pub source: Option<Arc<dyn SourceFactory>>,
    /// How it writes, if it does.
    pub sink: Option<Arc<dyn SinkFactory>>,
}

/// A format: its name in `'format' = '...'` and its options, which begin with that name and a dot.
#[derive(Debug, Clone)]
pub struct FormatInfo {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// Its options, with the prefix.
    pub options: Vec<OptionInfo>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read_as_flink_writes_them() {
        assert_eq!(parse_duration_ms("10 s").unwrap(), 10_000);
        assert_eq!(parse_duration_ms("500ms").unwrap(), 500);
        assert_eq!(parse_duration_ms("2 min").unwrap(), 120_000);
        assert_eq!(parse_duration_ms("7").unwrap(), 7);
        assert!(parse_duration_ms("ten seconds").unwrap_err().to_string().contains("'10 s'"));
        assert_eq!(parse_memory_bytes("64 mb").unwrap(), 64 << 20);
        assert!(parse_memory_bytes("a lot").is_err());
    }
}
