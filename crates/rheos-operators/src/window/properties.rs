//! The columns that a window operator adds: start, end, and the time of the window.

use arrow::array::{ArrayRef, Int64Array};
use arrow::compute;
use arrow::datatypes::{DataType, Field};

use rheos_core::error::Result;
use rheos_core::time::TimestampMs;

use super::slicing::Window;
use crate::row_time::units_per_ms;
use crate::spec::WindowProperty;

/// Which properties are added, and the type of each.
#[derive(Debug)]
pub(crate) struct Properties(Vec<(WindowProperty, DataType)>);

impl Properties {
    /// The properties that are the last columns of an output.
    pub(crate) fn new<'a>(properties: &[WindowProperty], output: impl DoubleEndedIterator<Item = &'a Field>) -> Self {
        let types = output.rev().map(|f| f.data_type().clone());
        let mut typed: Vec<(WindowProperty, DataType)> = properties.iter().rev().copied().zip(types).collect();
        typed.reverse();
        Properties(typed)
    }

    /// The columns of rows, each with its window.
    pub(crate) fn columns(&self, windows: impl Iterator<Item = Window> + Clone) -> Result<Vec<ArrayRef>> {
        self.0.iter().map(|(property, ty)| column(*property, ty, windows.clone())).collect()
    }
}

fn column(property: WindowProperty, ty: &DataType, windows: impl Iterator<Item = Window>) -> Result<ArrayRef> {
    let units = units_per_ms(ty)?;
    let of = |window: Window| -> TimestampMs {
        match property {
            WindowProperty::Start => window.start,
            WindowProperty::End => window.end,
            WindowProperty::Time => window.end.saturating_sub(1),
        }
    };
    let values = Int64Array::from_iter_values(windows.map(|w| of(w).saturating_mul(units)));
    Ok(compute::cast(&values, ty)?)
}
