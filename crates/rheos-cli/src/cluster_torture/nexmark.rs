//! Queries of the Nexmark benchmark as scripts whose input comes in real time, for as long as the torture lasts.

use crate::bench::queries;
use crate::failure::Failure;

/// What comes before a query's name where one is meant: `nexmark:q5`.
pub(super) const PREFIX: &str = "nexmark:";
/// How many events come each second, if the command line does not say.
pub(super) const RATE: u64 = 2_000;

/// How the table of events ends in `tables.sql`.
const UNPACED: &str = "'events.num' = '${EVENTS}'";
/// How it ends here: as it were a second of event time in a second, but as fast as it goes where PACED is false.
const PACED: &str = "'events.num' = '${EVENTS}',\n  'first-event.rate' = '${RATE}',\n  'rate.limited' = '${PACED}',\n  \
    'base-time' = '2020-01-01 00:00:00'";

/// The script of a query. Its variables are EVENTS, RATE and PACED.
pub(super) fn script(query: &str) -> Result<String, Failure> {
    let chosen = queries::choose(&[query.to_string()])?;
    match chosen.as_slice() {
        [query] => Ok(format!("{}\n{};\n", queries::TABLES.replace(UNPACED, PACED), query.sql.trim_end())),
        _ => Err(Failure::wrong(format!("'{PREFIX}{query}' names {} queries; each is a script of its own", chosen.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_a_script_that_is_paced() {
        let text = script("q5").unwrap();
        assert!(text.contains("'rate.limited' = '${PACED}'") && text.contains("Hot items"), "{text}");
        assert!(matches!(script("q6"), Err(Failure::Wrong(text)) if text.contains("no query 'q6'")));
        assert!(script("all").is_err());
    }
}
