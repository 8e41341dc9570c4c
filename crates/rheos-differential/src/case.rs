//! A random case: tables, a query, and how it is run.

use crate::dice::Dice;
use crate::generate::Generator;
use crate::query::Query;
use crate::table::Table;

/// Tables and a query over them.
#[derive(Debug, Clone)]
pub struct Case {
    /// What it follows from.
    pub seed: u64,
    /// The tables.
    pub tables: Vec<Table>,
    /// The query.
    pub query: Query,
    /// How many subtasks an operator has.
    pub parallelism: usize,
}

impl Case {
    /// The case of a seed, and what its query has of what can be had.
    pub fn random(seed: u64) -> (Case, Vec<&'static str>) {
        let dice = Dice::new(seed);
        let tables: Vec<Table> = ["r", "s", "u"].iter().take(1 + dice.below(3)).map(|name| Table::random(name, &dice)).collect();
        let generator = Generator::new(&dice, &tables);
        let query = generator.query();
        let shapes = generator.shapes.take();
        let parallelism = if dice.chance(20) { 2 } else { 1 };
        (Case { seed, tables, query, parallelism }, shapes)
    }
}
