//! Which leaves of a file are read, and the values that come out of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch, make_array, new_empty_array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, FieldRef, Schema as ArrowSchema};
use parquet::arrow::ProjectionMask;
use parquet::schema::types::SchemaDescriptor;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::types::LogicalType;
use rheos_core::{Error, Result};

use super::fit::fit;

/// A value to read: a column, or what lies within rows of one.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) path: ColumnPath,
    /// Its names in the file, outermost first.
    names: Vec<String>,
    ty: LogicalType,
}

impl Leaf {
    pub(super) fn new(table: &TableSpec, path: &ColumnPath) -> Leaf {
        let name = |fields: &[usize]| {
            let field = table.path_field(&ColumnPath { column: path.column, fields: fields.to_vec() });
            // A projected field is named by its path, its own name being the last part.
            match fields.len() {
                0 => field.name,
                n => {
                    let outer = table.path_field(&ColumnPath { column: path.column, fields: fields[..n - 1].to_vec() }).name;
                    field.name[outer.len() + 1..].to_string()
                }
            }
        };
        let names = (0..=path.fields.len()).map(|n| name(&path.fields[..n])).collect();
        Leaf { path: path.clone(), names, ty: table.path_field(path).ty }
    }

    /// How messages call it.
    fn name(&self) -> String {
        self.names.join(".")
    }

    /// Its values in a batch of the file, NULL where the file has none.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        let missing = || Ok(new_null_array(&self.ty.kind.to_arrow(), batch.num_rows()));
        let Some(column) = batch.column_by_name(&self.names[0]) else { return missing() };
        let mut values = Arc::clone(column);
        for (depth, name) in self.names.iter().enumerate().skip(1) {
            let Some(row) = values.as_struct_opt() else {
                let outer = self.names[..depth].join(".");
                return Err(Error::input(format!("column '{outer}' is {} there, which cannot be read as ROW", values.data_type())));
            };
            let Some(field) = row.column_by_name(name) else { return missing() };
            let nulls = NullBuffer::union(row.nulls(), field.nulls());
            let data = field.to_data().into_builder().nulls(nulls).build()?;
            values = make_array(data);
        }
        fit(&values, &self.ty).map_err(|misfit| Error::input(misfit.message(&self.name())))
    }
}

/// The leaves of a file that lie within the wanted values.
pub(super) fn mask(file: &SchemaDescriptor, wanted: &[Leaf]) -> ProjectionMask {
    let is_wanted = |parts: &[String]| {
        // Where the file has no row but something else, that is read too: so that its type is refused.
        wanted.iter().any(|leaf| parts.starts_with(&leaf.names) || leaf.names.starts_with(parts))
    };
    let indices: Vec<usize> = (0..file.num_columns()).filter(|i| is_wanted(file.column(*i).path().parts())).collect();
    ProjectionMask::leaves(file, indices)
}

/// Refuses a file whose types do not fit, whatever rows it has.
pub(super) fn check(file: &ArrowSchema, wanted: &[Leaf]) -> Result<()> {
    let fields: Vec<FieldRef> = file.fields().iter().cloned().collect();
    let columns = fields.iter().map(|f| new_empty_array(f.data_type())).collect();
    let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(0));
    let empty = RecordBatch::try_new_with_options(Arc::new(ArrowSchema::new(fields)), columns, &options)?;
    wanted.iter().try_for_each(|leaf| leaf.values(&empty).map(|_| ()))
}

/// Whether a column of the file has no columns within it.
pub(super) fn is_flat(ty: &DataType) -> bool {
    !ty.is_nested()
}
