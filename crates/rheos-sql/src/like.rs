//! CREATE TABLE ... LIKE: what a new table takes over from another.

use crate::error::{SqlError, SqlResult};
use crate::parser::{ColumnKind, CreateTable, TableLike};

/// How a part of the other table is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    Including,
    Excluding,
    Overwriting,
}

/// The declaration of a table with what it takes over put in. By default everything is included, and options and metadata that
/// both have are the new table's (Flink's rules).
pub fn merged(create: &CreateTable, like: &TableLike, base: &CreateTable) -> SqlResult<CreateTable> {
    let strategy = |part: &str| {
        let overwrites = matches!(part, "OPTIONS" | "METADATA");
        let default = if overwrites { Strategy::Overwriting } else { Strategy::Including };
        let said = |what: &str| like.rules.iter().rev().find(|(_, w)| w == what).map(|(how, _)| how.as_str());
        match said(part).or_else(|| said("ALL")) {
            Some("EXCLUDING") => Strategy::Excluding,
            Some("OVERWRITING") => Strategy::Overwriting,
            Some(_) => Strategy::Including,
            None => default,
        }
    };
    let wrong = |what: String| SqlError::at(&create.name, what).hint(Some("EXCLUDING or OVERWRITING says which counts".into()));
    let mut merged = create.clone();
    merged.like = None;

    let (generated, metadata) = (strategy("GENERATED"), strategy("METADATA"));
    let mut columns = Vec::new();
    for column in &base.columns {
        let how = match column.kind {
            ColumnKind::Computed(_) => Some(generated),
            ColumnKind::Metadata { .. } => Some(metadata),
            ColumnKind::Physical(_) => None,
        };
        let own = create.columns.iter().find(|c| c.name.value == column.name.value);
        match own {
            _ if how == Some(Strategy::Excluding) => {}
            Some(_) if how == Some(Strategy::Overwriting) => {}
            Some(_) => return Err(wrong(format!("column '{}' is in '{}' already", column.name.value, like.name))),
            None => columns.push(column.clone()),
        }
    }
    columns.extend(create.columns.iter().cloned());
    merged.columns = columns;

    match (strategy("WATERMARKS"), &base.watermark, &create.watermark) {
        (Strategy::Excluding, ..) | (Strategy::Overwriting, _, Some(_)) | (_, None, _) => {}
        (Strategy::Including, Some(_), Some(_)) => return Err(wrong(format!("'{}' has a watermark already", like.name))),
        (_, Some(watermark), None) => merged.watermark = Some(watermark.clone()),
    }
    let takes = |part: &str, has: bool, own: bool| match (strategy(part), has, own) {
        (Strategy::Excluding, ..) | (_, false, _) => Ok(false),
        (_, true, false) => Ok(true),
        (_, true, true) => Err(wrong(format!("'{}' has {} already", like.name, part.to_lowercase()))),
    };
    if takes("CONSTRAINTS", !base.primary_key.is_empty(), !create.primary_key.is_empty())? {
        merged.primary_key.clone_from(&base.primary_key);
    }
    if takes("PARTITIONS", !base.partitioned_by.is_empty(), !create.partitioned_by.is_empty())? {
        merged.partitioned_by.clone_from(&base.partitioned_by);
    }
    let options = strategy("OPTIONS");
    if options != Strategy::Excluding {
        for option in &base.options {
            let own = create.options.iter().any(|o| o.0 == option.0);
            match (own, options) {
                (false, _) => merged.options.push(option.clone()),
                (true, Strategy::Overwriting) => {}
                (true, _) => return Err(wrong(format!("'{}' has the option '{}' already", like.name, option.0))),
            }
        }
    }
    Ok(merged)
}
