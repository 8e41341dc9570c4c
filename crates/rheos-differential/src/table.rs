//! Random tables: what is in them in the end, and the changes that led there.

use rheos::RowKind;
use serde::{Deserialize, Serialize};

use crate::dice::Dice;
use crate::value::{TYPES, Type, Value};

/// A column.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Whether it may be NULL.
    pub nullable: bool,
}

/// How a table is fed to Rheos.
#[derive(Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Rows are only added.
    Inserts,
    /// Rows are replaced and go; what goes is said.
    Retractions,
    /// Rows are replaced by their key, the first column; what they replace is not said.
    Upserts,
}

/// A row from its coming to its going: the rows that it was, one after the other.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Life {
    /// What it was; never empty.
    pub rows: Vec<Vec<Value>>,
    /// Whether it is gone in the end.
    pub ends: bool,
}

/// A table with its history.
#[derive(Serialize, Deserialize, Debug, Clone)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// How it is fed.
    pub mode: Mode,
    /// Its rows. Their changes come in turns: the first of all, then the second.
    pub lives: Vec<Life>,
    /// How many changes come at a time.
    pub batch_rows: usize,
}

impl Table {
    /// A random table.
    pub fn random(name: &str, dice: &Dice) -> Table {
        let mode = *dice.pick(&[Mode::Inserts, Mode::Inserts, Mode::Retractions, Mode::Upserts]);
        let mut columns: Vec<Column> = Vec::new();
        if mode == Mode::Upserts || dice.chance(30) {
            columns.push(Column { name: "id".into(), ty: Type::BigInt, nullable: false });
        }
        // Every table has an integer and a text to join by.
        let types = [Type::BigInt, Type::Text].into_iter().chain((0..1 + dice.below(3)).map(|_| *dice.pick(&TYPES)));
        for ty in types.collect::<Vec<_>>() {
            let name = format!("{}{}", ["a", "b", "c", "d", "e", "f"][columns.len()], columns.len());
            columns.push(Column { name, ty, nullable: dice.chance(70) });
        }
        let rows = *dice.pick(&[0, 2, 5, 8, 8, 12, 12, 16, 16, 20, 20, 30]);
        let row = |number: usize| -> Vec<Value> {
            let value = |c: &Column| match c.name.as_str() {
                "id" => Value::Int(number as i64),
                _ if c.nullable && dice.chance(15) => Value::Null,
                _ => c.ty.value(dice),
            };
            columns.iter().map(value).collect()
        };
        let life = |number: usize| {
            let versions = if mode == Mode::Inserts { 1 } else { *dice.pick(&[1, 1, 2, 3]) };
            Life { rows: (0..versions).map(|_| row(number)).collect(), ends: mode != Mode::Inserts && dice.chance(25) }
        };
        let lives = (0..rows).map(life).collect();
        Table { name: name.into(), columns: columns.clone(), mode, lives, batch_rows: *dice.pick(&[1, 3, 100]) }
    }

    /// What is in it in the end.
    pub fn content(&self) -> Vec<&Vec<Value>> {
        self.lives.iter().filter(|life| !life.ends).filter_map(|life| life.rows.last()).collect()
    }

    /// Its changes, in order.
    pub fn changes(&self) -> Vec<(RowKind, &Vec<Value>)> {
        let says_old = self.mode == Mode::Retractions;
        let mut changes = Vec::new();
        let turns = self.lives.iter().map(|life| life.rows.len() + 1).max().unwrap_or(0);
        for turn in 0..turns {
            for life in &self.lives {
                let (old, new) = (turn.checked_sub(1).and_then(|t| life.rows.get(t)), life.rows.get(turn));
                match (old, new) {
                    (None, Some(new)) => changes.push((RowKind::Insert, new)),
                    (Some(old), Some(new)) => {
                        changes.extend(says_old.then_some((RowKind::UpdateBefore, old)));
                        changes.push((RowKind::UpdateAfter, new));
                    }
                    (Some(old), None) if life.ends => changes.push((RowKind::Delete, old)),
                    _ => {}
                }
            }
        }
        changes
    }

    /// Its declaration for Rheos.
    pub fn ddl(&self) -> String {
        let mut columns: Vec<String> = self
            .columns
            .iter()
            .map(|c| {
                format!(
                    "{} {}{}",
                    c.name,
                    if c.ty == Type::Text { "STRING" } else { c.ty.sql() },
                    if c.nullable { "" } else { " NOT NULL" }
                )
            })
            .collect();
        if self.mode == Mode::Upserts {
            columns.push("PRIMARY KEY (id) NOT ENFORCED".into());
        }
        let mode = match self.mode {
            Mode::Inserts => "inserts",
            Mode::Retractions => "retractions",
            Mode::Upserts => "upserts",
        };
        format!("CREATE TABLE {} ({}) WITH ('connector' = 'feed', 'mode' = '{mode}');", self.name, columns.join(", "))
    }
}
