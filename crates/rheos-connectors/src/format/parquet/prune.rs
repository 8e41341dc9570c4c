//! Which rows of a file may satisfy the conditions, as far as its statistics tell.

use std::ops::Range;

use arrow::array::ArrayRef;
use arrow::datatypes::Schema as ArrowSchema;
use parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;
use rheos_core::connector::{Predicate, TableSpec};
use rheos_core::{Error, Result};

use super::fit::fit;
use super::leaves::is_flat;
use super::ranges::Ranges;
use crate::format::predicates::{is_applied, may_hold};

/// The rows of each row group.
pub(super) fn row_groups(metadata: &ParquetMetaData) -> Vec<Range<u64>> {
    let mut start = 0;
    let group = |group: &RowGroupMetaData| {
        let rows = start..start + group.num_rows().max(0) as u64;
        start = rows.end;
        rows
    };
    metadata.row_groups().iter().map(group).collect()
}

/// The rows from `from` on that may satisfy all conditions, and those of one of the table's uses.
pub(super) fn candidates(file: &ArrowSchema, metadata: &ParquetMetaData, table: &TableSpec, from: u64) -> Result<Ranges> {
    let groups = row_groups(metadata);
    let mut all = Ranges::default();
    groups.iter().for_each(|group| all.push(group.clone(), from));
    let kept = satisfying(file, metadata, table, &table.predicates, &all)?;
    if table.alternatives.is_empty() {
        return Ok(kept);
    }
    let mut of_uses = Ranges::default();
    for of_use in &table.alternatives {
        of_uses = of_uses.union(&satisfying(file, metadata, table, of_use, &kept)?);
    }
    Ok(of_uses)
}

/// Those of `rows` that may satisfy all of `predicates`.
fn satisfying(
    file: &ArrowSchema,
    metadata: &ParquetMetaData,
    table: &TableSpec,
    predicates: &[Predicate],
    rows: &Ranges,
) -> Result<Ranges> {
    let groups = row_groups(metadata);
    let mut kept = rows.clone();
    for predicate in predicates.iter().filter(|p| is_applied(&table.schema, p)) {
        if let Some(statistics) = Statistics::of(file, metadata, table, predicate)? {
            kept = kept.intersect(&statistics.of_row_groups(&groups)?);
            if let Some(of_pages) = statistics.of_pages(&groups)? {
                kept = kept.intersect(&of_pages);
            }
        }
    }
    Ok(kept)
}

/// What a file tells about the column of a condition.
struct Statistics<'a> {
    converter: StatisticsConverter<'a>,
    /// The position of the leaf.
    leaf: usize,
    metadata: &'a ParquetMetaData,
    predicate: &'a Predicate,
    table: &'a TableSpec,
}

impl<'a> Statistics<'a> {
    /// Of a column that the file has, and whose order is known.
    fn of(file: &'a ArrowSchema, metadata: &'a ParquetMetaData, table: &'a TableSpec, predicate: &'a Predicate) -> Result<Option<Self>> {
        let name = &table.schema.fields[predicate.path.column].name;
        if !file.column_with_name(name).is_some_and(|(_, field)| is_flat(field.data_type())) {
            return Ok(None);
        }
        let schema: &'a SchemaDescriptor = metadata.file_metadata().schema_descr();
        let converter = StatisticsConverter::try_new(name, file, schema).map_err(unreadable)?;
        let Some(leaf) = converter.parquet_column_index() else { return Ok(None) };
        // Old writers ordered texts by bytes with a sign.
        let is_old = |group: &RowGroupMetaData| group.column(leaf).statistics().is_some_and(|s| s.is_min_max_deprecated());
        let is_known = !metadata.row_groups().iter().any(is_old);
        Ok(is_known.then_some(Statistics { converter, leaf, metadata, predicate, table }))
    }

    fn of_row_groups(&self, groups: &[Range<u64>]) -> Result<Ranges> {
        let all = || self.metadata.row_groups().iter();
        let min = self.converter.row_group_mins(all()).map_err(unreadable)?;
        let max = self.converter.row_group_maxes(all()).map_err(unreadable)?;
        let mut kept = Ranges::default();
        for (group, may) in groups.iter().zip(self.may_hold(&min, &max)?) {
            kept.push(if may { group.clone() } else { 0..0 }, 0);
        }
        Ok(kept)
    }

    /// Where the file has an index of its pages.
    fn of_pages(&self, groups: &[Range<u64>]) -> Result<Option<Ranges>> {
        let (Some(columns), Some(offsets)) = (self.metadata.column_index(), self.metadata.offset_index()) else { return Ok(None) };
        if columns.len() != groups.len() || offsets.len() != groups.len() {
            return Ok(None);
        }
        let mut kept = Ranges::default();
        for (i, group) in groups.iter().enumerate() {
            let pages = match (columns[i].get(self.leaf), offsets[i].get(self.leaf)) {
                (Some(_), Some(offsets)) => offsets.page_locations(),
                _ => return Ok(None),
            };
            let min = self.converter.data_page_mins(columns, offsets, [&i]).map_err(unreadable)?;
            let max = self.converter.data_page_maxes(columns, offsets, [&i]).map_err(unreadable)?;
            let may = self.may_hold(&min, &max)?;
            if may.len() != pages.len() {
                kept.push(group.clone(), 0);
                continue;
            }
            for (page, may) in may.into_iter().enumerate() {
                let first = |page: usize| pages.get(page).map(|p| group.start + p.first_row_index.max(0) as u64);
                let rows = first(page).unwrap_or(group.start)..first(page + 1).unwrap_or(group.end).min(group.end);
                kept.push(if may { rows } else { 0..0 }, 0);
            }
        }
        Ok(Some(kept))
    }

    fn may_hold(&self, min: &ArrayRef, max: &ArrayRef) -> Result<Vec<bool>> {
        let ty = &self.table.schema.fields[self.predicate.path.column].ty;
        // Whether the types fit has been checked; a bound without a place in the declared type tells nothing.
        match (fit(min, ty), fit(max, ty)) {
            (Ok(min), Ok(max)) => may_hold(&min, &max, self.predicate),
            _ => Ok(vec![true; min.len()]),
        }
    }
}

fn unreadable(e: parquet::errors::ParquetError) -> Error {
    Error::input(format!("its statistics cannot be read: {e}")).caused_by(e)
}
