//! Names and types of the columns of a stream.

use std::sync::Arc;

use arrow::datatypes::{Field as ArrowField, Schema as ArrowSchema, SchemaRef};
use serde::{Deserialize, Serialize};

use crate::types::LogicalType;

/// A named column, or a named field of a ROW.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Field {
    /// Its name, case kept.
    pub name: String,
    /// Its type.
    pub ty: LogicalType,
}

impl Field {
    /// A field of a name and a type.
    pub fn new(name: impl Into<String>, ty: LogicalType) -> Self {
        Field { name: name.into(), ty }
    }
}

/// The columns of a stream, in order. Names may repeat (as in the result of a join).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Schema {
    /// The columns.
    pub fields: Vec<Field>,
}

impl Schema {
    /// A schema of these columns.
    pub fn new(fields: Vec<Field>) -> Self {
        Schema { fields }
    }

    /// How many columns it has.
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// Whether it has no columns.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// The position of the first column of that name.
    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.fields.iter().position(|f| f.name == name)
    }

    /// The Arrow schema that carries it; every Arrow field is nullable.
    pub fn to_arrow(&self) -> SchemaRef {
        let fields: Vec<ArrowField> = self.fields.iter().map(|f| ArrowField::new(&f.name, f.ty.to_arrow(), true)).collect();
        Arc::new(ArrowSchema::new(fields))
    }
}
