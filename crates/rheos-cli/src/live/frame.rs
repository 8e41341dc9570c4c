//! A picture of rows: lines that fit the terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Row, Width};
use rheos::Schema;

use super::rows::Cells;
use crate::figures::new_table;

/// Head and widths of the columns. Widths grow as wider cells come, so that the picture does not jump.
#[derive(Debug)]
pub(crate) struct Columns {
    names: Vec<String>,
    to_the_right: Vec<bool>,
    widths: Vec<u16>,
}

impl Columns {
    /// The columns of a result.
    pub(crate) fn new(schema: &Schema) -> Self {
        Columns {
            names: schema.fields.iter().map(|f| f.name.clone()).collect(),
            to_the_right: schema.fields.iter().map(|f| f.ty.kind.is_numeric()).collect(),
            widths: vec![0; schema.len()],
        }
    }

    /// Two lines of head, and a line for each row; cells that do not fit are cut.
    pub(crate) fn draw(&mut self, rows: &[Cells], width: u16) -> Vec<String> {
        let mut table = new_table(&self.names);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width).set_truncation_indicator("…");
        for cells in rows {
            let mut row = Row::from(cells.iter().map(Cell::new).collect::<Vec<_>>());
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
    fn a_cut_line_says_so() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
    }
}
