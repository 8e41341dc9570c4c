//! The contract of an accumulator, and the rows that it is given.

use arrow::array::ArrayRef;
use arrow::buffer::NullBuffer;
use arrow::datatypes::DataType;

use rheos_core::error::Result;
use rheos_core::types::LogicalType;
use rheos_state::Slot;

use super::function::Function;

/// Some rows of a batch, each with the slot of its group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// The group of each.
    pub(crate) slots: &'a [Slot],
    /// Which rows of the batch they are; `None`: all, in order.
    pub(crate) rows: Option<&'a [u32]>,
    /// +1 for a row that is added, -1 for one that is taken back; `None`: all are added.
    pub(crate) signs: Option<&'a [i8]>,
}

impl Rows<'_> {
    /// Calls `f` with slot, row and sign of each row at which `nulls` is not NULL.
    #[inline]
    pub(crate) fn for_each(&self, nulls: Option<&NullBuffer>, mut f: impl FnMut(usize, usize, i64)) {
        let nulls = nulls.filter(|n| n.null_count() > 0);
        if self.rows.is_none() && self.signs.is_none() && nulls.is_none() {
            for (row, slot) in self.slots.iter().enumerate() {
                f(*slot as usize, row, 1);
            }
            return;
        }
        for (i, slot) in self.slots.iter().enumerate() {
            let row = self.rows.map_or(i, |rows| rows[i] as usize);
            if nulls.is_none_or(|n| n.is_valid(row)) {
                f(*slot as usize, row, self.signs.map_or(1, |signs| i64::from(signs[i])));
            }
        }
    }
}

/// What is asked of an accumulator: one state can answer several functions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Finish {
    pub(crate) function: Function,
    /// The type of the result.
    pub(crate) ty: LogicalType,
}

/// The state of one function for all groups, indexed by slot. A slot that was never written, or was cleared, is a group
/// without rows.
pub(crate) trait Accumulator: Send {
    /// Makes room for slots below `bound`.
    fn grow(&mut self, bound: usize);
    /// Takes in rows; `args` are the batch's argument columns.
    fn update(&mut self, rows: &Rows<'_>, args: &[&ArrayRef]) -> Result<()>;
    /// Adds the group `from[i]`, which stays, to the group `into[i]`, for each i in order. No slot is in both.
    fn merge(&mut self, from: &[Slot], into: &[Slot]) -> Result<()>;
    /// The results of these groups.
    fn evaluate(&self, finish: &Finish, slots: &[Slot]) -> Result<ArrayRef>;
    /// Makes these groups be without rows.
    fn clear(&mut self, slots: &[Slot]);
    /// The types of the columns that `save` gives.
    fn state_types(&self) -> Vec<DataType>;
    /// The state of these groups.
    fn save(&self, slots: &[Slot]) -> Result<Vec<ArrayRef>>;
    /// Puts back what `save` gave, at slots without rows.
    fn load(&mut self, slots: &[Slot], columns: &[ArrayRef]) -> Result<()>;
}
