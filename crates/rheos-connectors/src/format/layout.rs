//! Which values a projection needs to be built, and how the projected columns come out of them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, make_array};
use arrow::buffer::NullBuffer;
use rheos_core::connector::{ColumnPath, TableSpec};
use rheos_core::{Error, Result};

/// The values to build, and the columns made of them.
#[derive(Debug)]
pub(crate) struct Layout {
    /// What to build; none lies within another.
    pub(crate) built: Vec<ColumnPath>,
    /// For each projected column which built value it lies in, and which fields lead there.
    outputs: Vec<(usize, Vec<usize>)>,
}

impl Layout {
    /// The layout of a table's projection. Without `nested`, only whole columns are built.
    pub(crate) fn new(table: &TableSpec, nested: bool) -> Self {
        let all = || (0..table.width()).map(|column| ColumnPath { column, fields: Vec::new() }).collect();
        let wanted: Vec<ColumnPath> = table.projection.clone().unwrap_or_else(all);
        let mut built: Vec<ColumnPath> =
            wanted.iter().map(|path| if nested { path.clone() } else { ColumnPath { column: path.column, fields: Vec::new() } }).collect();
        built.sort();
        // Sorted, a path comes right before those that lie within it.
        built.dedup_by(|path, before| contains(before, path));
        let place = |path: &ColumnPath| {
            let at = built.iter().position(|b| contains(b, path)).unwrap_or_default();
            (at, path.fields[built[at].fields.len()..].to_vec())
        };
        let outputs = wanted.iter().map(place).collect();
        Layout { built, outputs }
    }

    /// The projected columns of the built values.
    pub(crate) fn project(&self, built: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        self.outputs.iter().map(|(at, fields)| fields.iter().try_fold(Arc::clone(&built[*at]), |array, f| field(&array, *f))).collect()
    }
}

fn contains(outer: &ColumnPath, inner: &ColumnPath) -> bool {
    outer.column == inner.column && inner.fields.starts_with(&outer.fields)
}

/// A field of a row, NULL where the row is.
fn field(array: &ArrayRef, index: usize) -> Result<ArrayRef> {
    let row = array.as_struct_opt().ok_or_else(|| Error::bug(format!("a field of {}, which is no row", array.data_type())))?;
    let column = row.column(index);
    let nulls = NullBuffer::union(row.nulls(), column.nulls());
    let data = column.to_data().into_builder().nulls(nulls).build()?;
    Ok(make_array(data))
}

#[cfg(test)]
mod tests {
    use rheos_core::schema::{Field, Schema};
    use rheos_core::types::TypeKind;

    use super::*;

    #[test]
    fn what_lies_within_a_wanted_row_is_not_built_twice() {
        let row = TypeKind::Row(vec![Field::new("a", TypeKind::Int.nullable()), Field::new("b", TypeKind::Int.nullable())]).nullable();
        let path = |column, fields: &[usize]| ColumnPath { column, fields: fields.to_vec() };
        let mut table = TableSpec {
            name: "t".into(),
            connector: "filesystem".into(),
            schema: Schema::new(vec![Field::new("x", TypeKind::Int.nullable()), Field::new("r", row)]),
            primary_key: vec![],
            partition_keys: vec![],
            metadata: vec![],
            options: Default::default(),
            projection: Some(vec![path(1, &[1]), path(1, &[]), path(0, &[]), path(1, &[1])]),
            predicates: vec![],
            alternatives: vec![],
        };
        let layout = Layout::new(&table, true);
        assert_eq!(layout.built, vec![path(0, &[]), path(1, &[])]);
        assert_eq!(layout.outputs, vec![(1, vec![1]), (1, vec![]), (0, vec![]), (1, vec![1])]);
        table.projection = Some(vec![path(1, &[1]), path(1, &[0])]);
        assert_eq!(Layout::new(&table, true).built, vec![path(1, &[0]), path(1, &[1])]);
        assert_eq!(Layout::new(&table, false).built, vec![path(1, &[])]);
    }
}
