//! The table that a changelog describes.

use std::collections::HashMap;

use rheos_core::text::write_value;
use rheos_core::{ColumnBatch, Error, Result};

use crate::Schema;

/// A multiset of rendered rows, kept up to date by changes. Additions and removals may come in any order: a row whose removal
/// comes first is owed.
#[derive(Debug)]
pub struct FoldedTable {
    schema: Schema,
    rows: HashMap<String, i64>,
}

impl FoldedTable {
    /// An empty table of these columns.
    pub fn new(schema: Schema) -> Self {
        FoldedTable { schema, rows: HashMap::new() }
    }

    /// Applies changes.
    pub fn apply(&mut self, batch: &ColumnBatch) -> Result<()> {
        let mut line = String::new();
        for row in 0..batch.num_rows() {
            line.clear();
            for (column, field) in self.schema.fields.iter().enumerate() {
                if column > 0 {
                    line.push('\t');
                }
                write_value(&mut line, batch.column(column).as_ref(), row, &field.ty)?;
            }
            let sign = batch.kind(row).sign();
            match self.rows.get_mut(&line) {
                Some(count) => {
                    *count += sign;
                    if *count == 0 {
                        self.rows.remove(&line);
                    }
                }
                None => {
                    self.rows.insert(line.clone(), sign);
                }
            }
        }
        Ok(())
    }

    /// The header and the rows, tab-separated, sorted bytewise. A row that was removed more often than added is a bug.
    pub fn lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::with_capacity(self.rows.len());
        for (line, count) in &self.rows {
            if *count < 0 {
                return Err(Error::bug(format!("the result removes a row that was never added: {line}")));
            }
            lines.extend((0..*count).map(|_| line.clone()));
        }
        lines.sort_unstable();
        let header: Vec<&str> = self.schema.fields.iter().map(|f| f.name.as_str()).collect();
        lines.insert(0, header.join("\t"));
        Ok(lines)
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.rows.values().map(|c| (*c).max(0) as usize).sum()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
