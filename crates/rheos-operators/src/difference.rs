//! Results before and after a batch: where they differ, and rows picked from both.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute;
use arrow::compute::kernels::cmp;

use rheos_core::error::Result;

/// For each row whether any column differs between `old` and `new`. NULL equals NULL, NaN equals NaN.
pub(crate) fn rows_that_differ(old: &[ArrayRef], new: &[ArrayRef], rows: usize) -> Result<Vec<bool>> {
    let mut differs = vec![false; rows];
    let mut equal_rows = rows;
    for (old, new) in old.iter().zip(new) {
        if equal_rows == 0 {
            break;
        }
        if old.data_type().is_nested() {
            for (row, differs) in differs.iter_mut().enumerate().filter(|(_, d)| !**d) {
                *differs = old.slice(row, 1).as_ref() != new.slice(row, 1).as_ref();
            }
        } else {
            let distinct = cmp::distinct(old, new)?;
            differs.iter_mut().zip(distinct.values()).for_each(|(d, column)| *d |= column);
        }
        equal_rows = differs.iter().filter(|d| !**d).count();
    }
    Ok(differs)
}

/// The columns made of row `picks[i].1` of `old` (where `picks[i].0` is 0) or of `new` (1). Without `old` all are of `new`.
pub(crate) fn pick(old: Option<&[ArrayRef]>, new: &[ArrayRef], picks: &[(usize, usize)]) -> Result<Vec<ArrayRef>> {
    if picks.iter().all(|(source, _)| *source == 1) {
        if new.first().is_some_and(|n| n.len() == picks.len()) {
            // Every group once, in order.
            return Ok(new.to_vec());
        }
        let rows = UInt32Array::from_iter_values(picks.iter().map(|(_, row)| *row as u32));
        return new.iter().map(|column| Ok(compute::take(column, &rows, None)?)).collect();
    }
    let old = old.unwrap_or(new);
    old.iter().zip(new).map(|(old, new)| Ok(compute::interleave(&[old.as_ref(), new.as_ref()], picks)?)).collect()
}
