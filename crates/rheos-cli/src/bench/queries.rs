//! The queries of the Nexmark benchmark, as they lie in `benches/nexmark`.

use crate::failure::Failure;

/// Tables and views; `${EVENTS}` is the number of events.
pub(crate) const TABLES: &str = include_str!("../../../../benches/nexmark/tables.sql");

/// A query of the benchmark.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query {
    /// Its name: `q5`.
    pub(crate) name: &'static str,
    /// Its text, without a semicolon.
    pub(crate) sql: &'static str,
}

macro_rules! queries {
    ($($name:literal),*) => {
        /// All of them that need no processing time.
        pub(crate) const ALL: &[Query] =
            &[$(Query { name: $name, sql: include_str!(concat!("../../../../benches/nexmark/", $name, ".sql")) }),*];
    };
}

queries!("q0", "q1", "q2", "q3", "q4", "q5", "q7", "q8", "q9", "q11", "q14", "q15", "q16", "q17", "q18", "q19", "q20", "q21", "q22", "q23");

/// The queries that are meant by `all`, or by `q0 q5` or `q0,q5`.
pub(crate) fn choose(wanted: &[String]) -> Result<Vec<Query>, Failure> {
    let mut chosen = Vec::new();
    for name in wanted.iter().flat_map(|w| w.split(',')).map(|n| n.trim().to_ascii_lowercase()) {
        if name == "all" {
            chosen.extend_from_slice(ALL);
            continue;
        }
        let found = ALL.iter().find(|q| q.name == name).ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|q| q.name).collect();
            Failure::wrong(format!("no query '{name}' in this benchmark; there are {} and 'all'", known.join(", ")))
        })?;
        chosen.push(*found);
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_chosen_by_name_in_the_order_asked_for() {
        let names = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|w| w.to_string()).collect();
            choose(&wanted).map(|all| all.iter().map(|q| q.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["q5", "Q0,q22"]).unwrap(), ["q5", "q0", "q22"]);
        assert_eq!(names(&["all"]).unwrap().len(), ALL.len());
        let Err(Failure::Wrong(text)) = names(&["q6"]) else { panic!("q6 is not there") };
        assert!(text.contains("no query 'q6'"), "{text}");
    }
}
