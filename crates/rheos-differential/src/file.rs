//! Cases that once differed, as files: what a person reads, and what is run again.

use std::fmt::Write;

use anyhow::{Context, Result, bail};

use crate::answer::{Answer, of_rheos};
use crate::case::Case;
use crate::query::Dialect;
use crate::table::Table;
use crate::value::Value;

/// Where the query, the rows, DataFusion's query and the tables in a form to be read again stand.
const QUERY: &str = "== query";
const ROWS: &str = "== rows";
const RHEOS: &str = "== rows of Rheos, when it differed";
const ORACLE: &str = "== query for DataFusion";
const TABLES: &str = "== tables";

/// The text of a case: `rows` are those that are right, `rheos` those that Rheos gave.
pub fn write(case: &Case, rows: &str, rheos: &str) -> Result<String> {
    let mut text = format!("seed {}, parallelism {}\n\n", case.seed, case.parallelism);
    for table in &case.tables {
        writeln!(text, "{}", table.ddl())?;
        for (kind, row) in table.changes() {
            let values: Vec<String> = row.iter().map(Value::to_string).collect();
            writeln!(text, "  {} {}", kind.symbol(), values.join(", "))?;
        }
    }
    let (ours, theirs) = (case.query.sql(Dialect::Rheos), case.query.sql(Dialect::DataFusion));
    writeln!(text, "\n{QUERY}\n{ours}")?;
    if ours != theirs {
        writeln!(text, "{ORACLE}\n{theirs}")?;
    }
    writeln!(text, "{ROWS}\n{rows}\n{RHEOS}\n{rheos}")?;
    writeln!(text, "{TABLES}\n{}", serde_json::to_string(&case.tables)?)?;
    Ok(text)
}

/// Runs the query of a file again; an error says how it differs.
pub fn run_again(text: &str) -> Result<()> {
    let section = |title: &str| -> Option<String> {
        let mut lines = text.lines().skip_while(|line| *line != title);
        lines.next()?;
        Some(lines.take_while(|line| !line.starts_with("== ")).collect::<Vec<_>>().join("\n"))
    };
    let query = section(QUERY).context("no query")?;
    let wanted = section(ROWS).context("no rows")?;
    let tables: Vec<Table> = serde_json::from_str(&section(TABLES).context("no tables")?).context("the tables")?;
    let parallelism = text.lines().next().and_then(|line| line.rsplit(' ').next()?.parse().ok()).context("no parallelism")?;
    match of_rheos(&tables, &query, parallelism) {
        Answer::Rows(rows, _) if rows.join("\n") == wanted => Ok(()),
        Answer::Rows(rows, _) => bail!("{query}\ngives\n{}\nbut should give\n{wanted}", rows.join("\n")),
        Answer::Refused(reason) | Answer::Broken(reason) => bail!("{query}\n{reason}"),
    }
}
