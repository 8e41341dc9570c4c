//! A picture of rows: lines that fit the terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Width};
use rheos::Schema;

use super::rows::Cells;
use crate::figures::new_table;

/// How a timestamp without milliseconds ends, but for the Z of an instant.
const ZERO_MS: &str = ".000";

/// Head and widths of the columns. Widths grow as wider cells come, so that the picture does not jump.
#[derive(Debug)]
pub(crate) struct Columns {
    names: Vec<String>,
    to_the_right: Vec<bool>,
    are_timestamps: Vec<bool>,
    widths: Vec<u16>,
}

impl Columns {
    /// The columns of a result.
    pub(crate) fn new(schema: &Schema) -> Self {
        Columns {
            names: schema.fields.iter().map(|f| f.name.clone()).collect(),
            to_the_right: schema.fields.iter().map(|f| f.ty.kind.is_numeric()).collect(),
            are_timestamps: schema.fields.iter().map(|f| f.ty.kind.is_timestamp()).collect(),
            widths: vec![0; schema.len()],
        }
    }

    /// Two lines of head, and a line for each row; cells that do not fit are cut.
    pub(crate) fn draw(&mut self, rows: &[Cells], width: u16) -> Vec<String> {
        let mut table = new_table(&self.names);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width).set_truncation_indicator("…");
        // Milliseconds that are zero in all rows only take space.
        let is_whole = |cell: &String| cell.contains(ZERO_MS) || cell == "NULL";
        let short: Vec<bool> =
            self.are_timestamps.iter().enumerate().map(|(i, is)| *is && rows.iter().all(|cells| is_whole(&cells[i]))).collect();
        for cells in rows {
            let cell = |(cell, short): (&String, &bool)| if *short { Cell::new(cell.replace(ZERO_MS, "")) } else { Cell::new(cell) };
            let mut row = Row::from(cells.iter().zip(&short).map(cell).collect::<Vec<_>>());
            row.max_height(1);
            table.add_row(row);
        }
        for (seen, now) in self.widths.iter_mut().zip(table.column_max_content_widths()) {
            *seen = now.max(*seen);
        }
        let total: u16 = self.widths.iter().fold(0, |sum, w| sum.saturating_add(*w).saturating_add(3));
        for (i, (right, seen)) in self.to_the_right.iter().zip(&self.widths).enumerate() {
            let Some(column) = table.column_mut(i) else { continue };
            if *right {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if total <= width {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(seen + 2)));
            }
        }
        table.lines().map(|line| cut(line.trim_end(), width)).collect()
    }
}

/// A line that stands back.
pub(crate) fn dim(text: &str, width: u16) -> String {
    format!("\x1b[2m{}\x1b[0m", cut(text, width))
}

fn cut(line: &str, width: u16) -> String {
    let width = usize::from(width);
    match line.char_indices().nth(width) {
        Some(_) => line.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        None => line.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rheos_core::schema::Field;
    use rheos_core::types::TypeKind;

    use super::*;

    fn columns() -> Columns {
        Columns::new(&Schema::new(vec![Field::new("name", TypeKind::STRING.nullable()), Field::new("n", TypeKind::Int.nullable())]))
    }

    fn rows(rows: &[[&str; 2]]) -> Vec<Cells> {
        rows.iter().map(|r| r.map(String::from).to_vec()).collect()
    }

    #[test]
    fn numbers_are_right_aligned_and_a_column_never_shrinks() {
        let mut columns = columns();
        assert_eq!(columns.draw(&rows(&[["Ann", "5"], ["Bo", "12"]]), 80), [" name ┆  n", "══════╪════", " Ann  ┆  5", " Bo   ┆ 12"]);
        columns.draw(&rows(&[["a long name", "5"]]), 80);
        assert_eq!(columns.draw(&rows(&[["Bo", "1"]]), 80)[2], " Bo          ┆  1");
    }

    #[test]
    fn every_row_is_one_line_within_the_width() {
        let long = "many words in one cell, more than fit into a line of the terminal";
        let lines = columns().draw(&rows(&[[long, "5"], ["Bo", "1"]]), 40);
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines.iter().all(|l| l.chars().count() <= 40), "{lines:#?}");
        assert!(lines[2].contains('…'), "{lines:#?}");
    }

    #[test]
    fn milliseconds_are_shown_where_there_are_any() {
        let mut columns = Columns::new(&Schema::new(vec![Field::new("at", TypeKind::Timestamp(3).nullable())]));
        let shown = |columns: &mut Columns, cells: &[&str]| {
            let rows: Vec<Cells> = cells.iter().map(|c| vec![c.to_string()]).collect();
            columns.draw(&rows, 80)[2].trim().to_string()
        };
        assert_eq!(shown(&mut columns, &["2024-01-01 00:00:01.000", "NULL"]), "2024-01-01 00:00:01");
        assert_eq!(shown(&mut columns, &["2024-01-01 00:00:01.000", "2024-01-01 00:00:01.500"]), "2024-01-01 00:00:01.000");
    }

    #[test]
    fn a_cut_line_says_so() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
