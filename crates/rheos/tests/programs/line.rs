//! Values as Flink's tests print them: Java's texts. And lines of those, read.

use arrow::array::Array;
use rheos::{Error, Result};
use rheos_core::text::{write_nested_value, write_value};
use rheos_core::types::{LogicalType, TypeKind};

use super::rows::kind;
use super::taken::Line;

/// A value's text.
pub(crate) fn value(array: &dyn Array, row: usize, ty: &LogicalType) -> Result<String> {
    if array.is_null(row) {
        return Ok("null".into());
    }
    let mut text = String::new();
    match &ty.kind {
        TypeKind::Timestamp(_) => {
            write_value(&mut text, array, row, ty)?;
            Ok(local_date_time(&text))
        }
        TypeKind::TimestampLtz(_) => {
            write_value(&mut text, array, row, ty)?;
            Ok(instant(&text))
        }
        _ => {
            write_nested_value(&mut text, array, row, ty)?;
            Ok(text)
        }
    }
}

/// `2020-10-10 00:00:00.120` as `2020-10-10T00:00:00.120`, without what is zero at its end.
fn local_date_time(sql: &str) -> String {
    let text = shortened(sql);
    text.strip_suffix(":00").filter(|t| t.len() == 16).map_or(text.clone(), str::to_string)
}

/// `2020-10-10 00:00:00.000Z` as `2020-10-10T00:00:00Z`.
fn instant(sql: &str) -> String {
    shortened(sql.trim_end_matches('Z')) + "Z"
}

/// With a T, and a fraction of 3, 6 or 9 digits or none.
fn shortened(sql: &str) -> String {
    let text = sql.replace(' ', "T");
    let Some((whole, fraction)) = text.split_once('.') else { return text };
    match fraction.trim_end_matches('0').len().div_ceil(3) * 3 {
        0 => whole.to_string(),
        digits => format!("{whole}.{fraction:0<digits$.digits$}"),
    }
}

/// A line such as `+U[1, null, 2.0]` of so many columns.
pub(crate) fn parse(line: &str, columns: usize) -> Result<Line> {
    let wrong = || Error::config(format!("'{line}' is no change of {columns} columns"));
    let (symbol, rest) = line.split_at_checked(2).ok_or_else(wrong)?;
    let row = rest.strip_prefix('[').and_then(|r| r.strip_suffix(']')).ok_or_else(wrong)?;
    let values: Vec<String> = row.split(", ").map(str::to_string).collect();
    // Texts with a comma can be compared as a whole only.
    Ok((kind(symbol)?, if values.len() == columns { values } else { vec![row.to_string()] }))
}

#[test]
fn times_are_as_java_prints_them() {
    let pairs = [("2020-10-10 00:00:00.000", "2020-10-10T00:00"), ("2020-10-10 00:01:02.120", "2020-10-10T00:01:02.120")];
    assert!(pairs.iter().all(|(sql, java)| local_date_time(sql) == *java));
    assert_eq!(local_date_time("2020-10-10 00:00:00.000000001"), "2020-10-10T00:00:00.000000001");
    assert_eq!(instant("2020-10-10 00:00:00.000Z"), "2020-10-10T00:00:00Z");
}
