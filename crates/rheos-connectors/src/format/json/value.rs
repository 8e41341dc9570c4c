//! Reads one JSON value into a column, whatever its type, as a visitor of serde's.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::scalar::push_scalar;
use crate::format::TemporalStyle;
use crate::format::column::{Column, Values};
use crate::format::names::Names;
use crate::format::record::BadRecord;
use crate::format::text::wanted;

/// What holds for all values of a table.
#[derive(Debug)]
pub(super) struct Context {
    /// Fields that cannot be read are NULL.
    pub(super) ignore_errors: bool,
    /// Absent fields are errors.
    pub(super) fail_on_missing: bool,
    pub(super) style: TemporalStyle,
    /// Room for texts while they are unescaped.
    pub(super) scratch: Vec<u8>,
    /// Why reading was broken off, where it is not that the line is no JSON.
    pub(super) bad: Option<BadRecord>,
}

impl Context {
    /// A value is not of its column's type.
    fn refuse<E: Error>(&mut self, column: &mut Column, value: &str) -> Result<(), E> {
        if self.ignore_errors {
            column.push_null();
            return Ok(());
        }
        Err(self.break_off(BadRecord::field("", value, &wanted(column.kind(), self.style))))
    }

    /// Breaks off reading the line. Serde's own error says nothing.
    pub(super) fn break_off<E: Error>(&mut self, bad: BadRecord) -> E {
        self.bad = Some(bad);
        E::custom("")
    }

    /// Reading was broken off within the field `name`.
    pub(super) fn within(&mut self, name: &str) {
        self.bad = self.bad.take().map(|bad| bad.within(name));
    }
}

/// Reads the next value into a column.
pub(super) struct ValueSeed<'a> {
    pub(super) column: &'a mut Column,
    pub(super) context: &'a mut Context,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.column.kind().is_nested() {
            return deserializer.deserialize_any(self);
        }
        let json = <&'de RawValue>::deserialize(deserializer)?.get();
        match push_scalar(self.column, json, self.context.style, &mut self.context.scratch) {
            Ok(()) => Ok(()),
            Err(_) => self.context.refuse(self.column, json),
        }
    }
}

/// Arrays, maps and rows.
impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.column.kind())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let ValueSeed { column, context } = self;
        let Values::Array { item, .. } = &mut column.values else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return context.refuse(column, "[...]");
        };
        while seq.next_element_seed(ValueSeed { column: &mut *item, context: &mut *context })?.is_some() {}
        column.close_nested();
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let ValueSeed { column, context } = self;
        let len = column.len();
        match &mut column.values {
            Values::Row { names, fields } => {
                while let Some(found) = map.next_key_seed(FieldSeed(&mut *names))? {
                    let Some(i) = found else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    if fields[i].len() > len {
                        fields[i].truncate(len);
                    }
                    map.next_value_seed(ValueSeed { column: &mut fields[i], context: &mut *context })
                        .inspect_err(|_| context.within(names.get(i)))?;
                }
                if context.fail_on_missing
                    && let Some(i) = fields.iter().position(|f| f.len() == len)
                {
                    return Err(context.break_off(BadRecord::new("the field is missing").within(names.get(i))));
                }
            }
            Values::Map { key, value, .. } => {
                while map.next_key_seed(KeySeed { column: &mut *key })?.is_some() {
                    map.next_value_seed(ValueSeed { column: &mut *value, context: &mut *context })?;
                }
            }
            _ => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                return context.refuse(column, "{...}");
            }
        }
        column.close_nested();
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.column.push_null();
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.context.refuse(self.column, &value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.context.refuse(self.column, &value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.context.refuse(self.column, &value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.context.refuse(self.column, &value.to_string())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.context.refuse(self.column, value)
    }
}

/// Finds the field that a member's name means.
pub(super) struct FieldSeed<'a>(pub(super) &'a mut Names);

impl<'de> DeserializeSeed<'de> for FieldSeed<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<usize>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldSeed<'_> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Option<usize>, E> {
        Ok(self.0.find(name))
    }
}

/// Takes a member's name as the next key of a map.
struct KeySeed<'a> {
    column: &'a mut Column,
}

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<(), E> {
        self.column.push_bytes(key.as_bytes());
        Ok(())
    }
}
