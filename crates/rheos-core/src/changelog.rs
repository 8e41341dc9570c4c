//! Kinds of changes, and which of them a stream carries.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a row does to the table that its stream describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(u8)]
pub enum RowKind {
    /// `+I`: a row that was not there.
    Insert = 0,
    /// `-U`: the old row of an update.
    UpdateBefore = 1,
    /// `+U`: the new row of an update.
    UpdateAfter = 2,
    /// `-D`: the row goes.
    Delete = 3,
}

impl RowKind {
    /// All kinds, in order of their bytes.
    pub const ALL: [RowKind; 4] = [RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete];

    /// The kind of a byte of a kind column; only 0 to 3 occur.
    pub fn from_byte(byte: u8) -> RowKind {
        RowKind::ALL[(byte & 3) as usize]
    }

    /// +1 where the row is added to the table, -1 where it is removed.
    pub fn sign(self) -> i64 {
        match self {
            RowKind::Insert | RowKind::UpdateAfter => 1,
            RowKind::UpdateBefore | RowKind::Delete => -1,
        }
    }

    /// Whether the row is added to the table.
    pub fn is_addition(self) -> bool {
        self.sign() > 0
    }

    /// `+I`, `-U`, `+U`, `-D`.
    pub fn symbol(self) -> &'static str {
        match self {
            RowKind::Insert => "+I",
            RowKind::UpdateBefore => "-U",
            RowKind::UpdateAfter => "+U",
            RowKind::Delete => "-D",
        }
    }
}

/// The kinds that a stream may carry. INSERT is always among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChangelogMode {
    /// Only `+I`.
    InsertOnly,
    /// Every change carries the row that it removes: `+I -U +U -D`.
    Retract,
    /// Updates carry no old row, deletes may carry the key only: `+I +U -D`, by an upsert key.
    Upsert,
}

impl ChangelogMode {
    /// Whether a row of that kind may occur.
    pub fn contains(self, kind: RowKind) -> bool {
        match self {
            ChangelogMode::InsertOnly => kind == RowKind::Insert,
            ChangelogMode::Retract => true,
            ChangelogMode::Upsert => kind != RowKind::UpdateBefore,
        }
    }

    /// Whether no row is ever taken back.
    pub fn is_insert_only(self) -> bool {
        self == ChangelogMode::InsertOnly
    }
}

/// As EXPLAIN shows it: `[I]`, `[I,UB,UA,D]`, `[I,UA,D]`.
impl fmt::Display for ChangelogMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ChangelogMode::InsertOnly => "[I]",
            ChangelogMode::Retract => "[I,UB,UA,D]",
            ChangelogMode::Upsert => "[I,UA,D]",
        })
    }
}
