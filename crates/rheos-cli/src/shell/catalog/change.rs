//! What a statement changes in a catalog file.

use rheos::{Parsed, Session, Statement, relation_of};

use crate::settings::Settings;
use crate::shell::tokens::{Token, tokens};

/// A change of a catalog file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// A table or a view is there from now on.
    Create {
        /// Its name.
        name: String,
        /// Its statement, without semicolon.
        text: String,
    },
    /// A table or a view is gone.
    Drop {
        /// Its name.
        name: String,
    },
    /// A function has this statement.
    Define {
        /// Its name, in upper case.
        name: String,
        /// Its statement, without semicolon.
        text: String,
    },
    /// A function is gone.
    Undefine {
        /// Its name, in upper case.
        name: String,
    },
    /// A setting has this statement.
    Set {
        /// Its key.
        key: String,
        /// Its statement, without semicolon.
        text: String,
    },
    /// A setting is gone, or all are.
    Reset {
        /// Which; `None` is all.
        key: Option<String>,
    },
}

impl Change {
    /// What a statement will change when it succeeds; asked before it is carried out. Statements that say TEMPORARY
    /// are of their session only, and so are settings that the command line decides.
    pub(crate) fn of(parsed: &Parsed, has_relation: impl Fn(&str) -> bool, settings: &Settings) -> Option<Change> {
        let name = relation_of(&parsed.statement);
        match &parsed.statement {
            // It would be filled anew each time that the file is loaded.
            Statement::CreateTable(create) if create.query.is_some() => None,
            Statement::CreateFunction(create) if !is_temporary(&parsed.text) => {
                Some(Change::Define { name: create.name.value.to_uppercase(), text: parsed.text.clone() })
            }
            Statement::DropFunction { name, .. } => Some(Change::Undefine { name: name.value.to_uppercase() }),
            Statement::CreateTable(_) | Statement::CreateView(_) => {
                // IF NOT EXISTS changes nothing where it exists.
                let name = name.filter(|name| !has_relation(name) && !is_temporary(&parsed.text))?;
                Some(Change::Create { name, text: parsed.text.clone() })
            }
            Statement::Drop { .. } => Some(Change::Drop { name: name.filter(|name| has_relation(name))? }),
            Statement::Set(Some((key, ..))) if !settings.is_fixed(key) => Some(Change::Set { key: key.clone(), text: parsed.text.clone() }),
            Statement::Reset(key) => Some(Change::Reset { key: key.clone() }),
            _ => None,
        }
    }

    /// The same for statements that have all been carried out since `session` was as it is here.
    pub(crate) fn of_all<'a>(statements: impl Iterator<Item = &'a Parsed>, session: &Session, settings: &Settings) -> Vec<Change> {
        let mut names: std::collections::BTreeSet<String> = session.relations().into_iter().map(|r| r.name).collect();
        let mut changes = Vec::new();
        for parsed in statements {
            changes.extend(Change::of(parsed, |name| names.contains(name), settings));
            match (&parsed.statement, relation_of(&parsed.statement)) {
                (Statement::Drop { .. }, Some(name)) => drop(names.remove(&name)),
                (_, Some(name)) => drop(names.insert(name)),
                (_, None) => {}
            }
        }
        changes
    }
}

/// `CREATE TEMPORARY ...`
fn is_temporary(text: &str) -> bool {
    let tokens = tokens(text);
    let second: Option<&Token> = tokens.iter().filter(|t| t.is_meant()).nth(1);
    second.is_some_and(|t| t.is_word(text, "TEMPORARY"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(sql: &str, settings: &Settings) -> Vec<Change> {
        let session = Session::new();
        Change::of_all(session.parse(sql).unwrap().iter(), &session, settings)
    }

    fn create(name: &str, text: &str) -> Change {
        Change::Create { name: name.into(), text: text.into() }
    }

    #[test]
    fn definitions_and_settings_are_kept_and_nothing_else() {
        let sql = "SET 'pipeline.name' = 'x'; SHOW TABLES; CREATE VIEW v AS SELECT 1 AS a; SELECT * FROM v; EXPLAIN SELECT 1; \
            DROP VIEW v; RESET; RESET 'pipeline.name'; DESCRIBE v; SET";
        let expected = [
            Change::Set { key: "pipeline.name".into(), text: "SET 'pipeline.name' = 'x'".into() },
            create("v", "CREATE VIEW v AS SELECT 1 AS a"),
            Change::Drop { name: "v".into() },
            Change::Reset { key: None },
            Change::Reset { key: Some("pipeline.name".into()) },
        ];
        assert_eq!(changes(sql, &Settings::default()), expected);
    }

    #[test]
    fn functions_are_kept_and_tables_that_a_query_fills_are_not() {
        let sql = "CREATE FUNCTION f(x INT) RETURN x + 1; CREATE TEMPORARY FUNCTION g(x INT) RETURN x; DROP FUNCTION f; \
            CREATE TABLE t WITH ('connector' = 'blackhole') AS SELECT 1 AS a";
        let expected = [
            Change::Define { name: "F".into(), text: "CREATE FUNCTION f(x INT) RETURN x + 1".into() },
            Change::Undefine { name: "F".into() },
        ];
        assert_eq!(changes(sql, &Settings::default()), expected);
    }

    #[test]
    fn what_changes_nothing_or_is_temporary_is_not_kept() {
        let sql = "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS a; CREATE VIEW IF NOT EXISTS v AS SELECT 2 AS a; \
            CREATE /* for now */ temporary VIEW w AS SELECT 1 AS a; DROP VIEW IF EXISTS nothing";
        assert_eq!(changes(sql, &Settings::default()), [create("v", "CREATE VIEW IF NOT EXISTS v AS SELECT 1 AS a")]);
    }

    #[test]
    fn a_setting_that_the_command_line_decides_is_not_kept() {
        let settings = Settings::of_flags(&[("pipeline.name".into(), "flag".into())], None);
        assert_eq!(changes("SET 'pipeline.name' = 'x'", &settings), []);
    }
}
