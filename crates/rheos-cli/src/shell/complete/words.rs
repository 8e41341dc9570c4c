//! The words of SQL that completion offers.

/// What a statement begins with.
pub(super) const STATEMENTS: &[&str] = &[
    "CREATE TABLE",
    "CREATE VIEW",
    "CREATE TEMPORARY TABLE",
    "CREATE TEMPORARY VIEW",
    "DESCRIBE",
    "DROP TABLE",
    "DROP VIEW",
    "EXECUTE STATEMENT SET BEGIN",
    "EXPLAIN",
    "INSERT INTO",
    "RESET",
    "SELECT",
    "SET",
    "SHOW FUNCTIONS",
    "SHOW TABLES",
    "SHOW VIEWS",
    "VALUES",
    "WITH",
];

/// What the shell knows besides statements.
pub(super) const COMMANDS: &[&str] = &["clear", "exit", "help", "quit", "SOURCE"];

/// What goes on with a query.
pub(super) const CLAUSES: &[&str] = &[
    "FROM",
    "WHERE",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "UNION ALL",
    "JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "INNER JOIN",
    "CROSS JOIN",
    "ON",
    "AS",
];

/// What expressions and definitions are made of.
pub(super) const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ASC",
    "BEGIN",
    "BETWEEN",
    "CASE",
    "CAST",
    "COMMENT",
    "CONSTRAINT",
    "CURRENT ROW",
    "DAY",
    "DESC",
    "DESCRIPTOR",
    "DISTINCT",
    "ELSE",
    "END",
    "ENFORCED",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTRACT",
    "FALSE",
    "FILTER",
    "FOR",
    "HOUR",
    "IF EXISTS",
    "IF NOT EXISTS",
    "IN",
    "INSERT INTO",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "IS NOT NULL",
    "IS NULL",
    "LATERAL",
    "LIKE",
    "MINUTE",
    "MONTH",
    "NOT",
    "NOT ENFORCED",
    "NOT NULL",
    "NULL",
    "OFFSET",
    "OR",
    "OUTER",
    "OVER",
    "PARTITION BY",
    "PRECEDING",
    "PRIMARY KEY",
    "RANGE",
    "ROWS",
    "SECOND",
    "SELECT",
    "SET",
    "SIMILAR TO",
    "STATEMENT",
    "TABLE",
    "THEN",
    "TRUE",
    "UNBOUNDED",
    "UNION",
    "UNNEST",
    "USING",
    "VALUES",
    "VIEW",
    "WATERMARK FOR",
    "WHEN",
    "WITH",
    "YEAR",
];

/// Functions that give tables; they are not among those that give values.
pub(super) const TABLE_FUNCTIONS: &[&str] = &["CUMULATE", "HOP", "SESSION", "TUMBLE"];

/// Types of columns.
pub(super) const TYPES: &[&str] = &[
    "ARRAY",
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "BYTES",
    "CHAR",
    "DATE",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "INTERVAL",
    "MAP",
    "MULTISET",
    "ROW",
    "SMALLINT",
    "STRING",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "TINYINT",
    "VARBINARY",
    "VARCHAR",
];

/// What is no name without backticks, besides the words above.
const RESERVED: &[&str] = &[
    "CUBE",
    "CURRENT_CATALOG",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "ROLLUP",
    "SESSION_USER",
    "TOP",
    "TRIM",
];

/// Whether a word means something in SQL by itself, so that a name that is spelled so needs backticks.
pub(crate) fn is_keyword(word: &str) -> bool {
    let parts = [STATEMENTS, CLAUSES, KEYWORDS, TYPES, RESERVED].into_iter().flatten().flat_map(|phrase| phrase.split(' '));
    parts.into_iter().any(|part| part.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_phrases_are_keywords() {
        assert!(["select", "BY", "timestamp", "Statement", "Primary"].into_iter().all(is_keyword));
        assert!(!["bids", "auction", ""].into_iter().any(is_keyword));
    }

    /// What begins a statement is known to the parser: it complains of what comes after, not of the word.
    #[test]
    fn every_statement_is_one_of_the_dialect() {
        let session = rheos::Session::new();
        for statement in STATEMENTS {
            // EXPLAIN wants another statement, which is not there.
            if let Err(e) = session.parse(statement) {
                assert!(!e.message.contains("expected: a statement") || e.message.ends_with("found: EOF"), "{statement}: {e}");
            }
        }
        let typed = |ty: &str| match ty {
            "ARRAY" | "MULTISET" => format!("{ty}<INT>"),
            "MAP" => "MAP<INT, INT>".into(),
            "ROW" => "ROW<a INT>".into(),
            "INTERVAL" => "INTERVAL DAY".into(),
            ty => ty.to_string(),
        };
        for ty in TYPES {
            let sql = format!("CREATE TABLE t (a {}) WITH ('connector' = 'datagen')", typed(ty));
            assert!(session.parse(&sql).is_ok(), "{sql}");
        }
    }
}
