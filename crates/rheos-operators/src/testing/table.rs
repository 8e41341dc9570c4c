//! Rows of plain values, tables of them, and the way from and to batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray, TimestampMillisecondArray, UInt8Array};
use arrow::datatypes::{DataType, Int64Type, TimestampMillisecondType};
use rheos_core::batch::{Batch, ColumnBatch};
use rheos_core::changelog::RowKind;
use rheos_core::schema::Schema;

use crate::records;

/// A value: of BIGINT, STRING or TIMESTAMP(3).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Text(String),
}

pub(crate) type Row = Vec<Value>;
pub(crate) type Change = (RowKind, Row);
/// Rows with the number of their occurrences, none of them 0.
pub(crate) type Table = BTreeMap<Row, usize>;

/// Takes changes into a table; what is taken back must be there.
pub(crate) fn fold(table: &mut Table, changes: &[Change]) {
    for (kind, row) in changes {
        if kind.is_addition() {
            *table.entry(row.clone()).or_default() += 1;
        } else {
            let count = table.get_mut(row).unwrap_or_else(|| panic!("{} {row:?}, but there is no such row", kind.symbol()));
            *count -= 1;
            if *count == 0 {
                table.remove(row);
            }
        }
    }
}

/// A batch of changes; there must be one at least.
pub(crate) fn batch(schema: &Schema, changes: &[Change]) -> Batch {
    let arrow = schema.to_arrow();
    let column = |c: usize| -> ArrayRef {
        let values = changes.iter().map(|(_, row)| &row[c]);
        let number = |v: &Value| match v {
            Value::Int(i) => Some(*i),
            Value::Null => None,
            Value::Text(t) => panic!("text {t} in a column of numbers"),
        };
        match arrow.field(c).data_type() {
            DataType::Int64 => Arc::new(Int64Array::from_iter(values.map(number))),
            DataType::Timestamp(..) => Arc::new(TimestampMillisecondArray::from_iter(values.map(number))),
            _ => Arc::new(StringArray::from_iter(values.map(|v| match v {
                Value::Text(t) => Some(t.as_str()),
                _ => None,
            }))),
        }
    };
    let records = records(&arrow, (0..schema.len()).map(column).collect(), changes.len()).unwrap();
    ColumnBatch::changes(records, UInt8Array::from_iter_values(changes.iter().map(|(kind, _)| *kind as u8))).unwrap().into()
}

/// The changes in batches.
pub(crate) fn changes_of(batches: &[Batch]) -> Vec<Change> {
    let mut changes = Vec::new();
    for batch in batches {
        let Batch::Columns(columns) = batch else { panic!("typed rows") };
        for row in 0..columns.num_rows() {
            changes.push((columns.kind(row), columns.columns().iter().map(|c| value(c, row)).collect()));
        }
    }
    changes
}

fn value(column: &ArrayRef, row: usize) -> Value {
    if column.is_null(row) {
        return Value::Null;
    }
    match column.data_type() {
        DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
        DataType::Timestamp(..) => Value::Int(column.as_primitive::<TimestampMillisecondType>().value(row)),
        _ => Value::Text(column.as_string::<i32>().value(row).to_string()),
    }
}
