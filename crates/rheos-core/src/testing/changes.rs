//! Batches of columns as text, a line for each change.

use arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::batch::Batch;

/// The rows of `batches` in order, each as `+I a|1|NULL`: the symbol of its kind, a space, the values. Typed rows are
/// shown as their batch is in `Debug`.
pub fn changes<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in batches {
        let Batch::Columns(columns) = batch else {
            lines.push(format!("{batch:?}"));
            continue;
        };
        let options = FormatOptions::default().with_null("NULL");
        let formatters: Vec<ArrayFormatter<'_>> = columns
            .columns()
            .iter()
            .map(|c| ArrayFormatter::try_new(c.as_ref(), &options).expect("every type of a batch can be shown"))
            .collect();
        for row in 0..columns.num_rows() {
            let values: Vec<String> = formatters.iter().map(|f| f.value(row).to_string()).collect();
            lines.push(format!("{} {}", columns.kind(row).symbol(), values.join("|")));
        }
    }
    lines
}

/// As [`changes`], sorted: where the order of the rows does not matter.
pub fn sorted_changes<'a>(batches: impl IntoIterator<Item = &'a Batch>) -> Vec<String> {
    let mut lines = changes(batches);
    lines.sort();
    lines
}
