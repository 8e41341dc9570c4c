//! What a session knows by name, for lists and completion.

use rheos_sql::catalog::{Relation, simple_name};
use rheos_sql::parser::Statement;

use crate::session::Session;

/// A table or a view as users see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationInfo {
    /// Its name.
    pub name: String,
    /// Whether it is a view.
    pub is_view: bool,
    /// The names of its columns; none of a view whose query no longer holds.
    pub columns: Vec<String>,
}

impl Session {
    /// All tables and views, by name.
    pub fn relations(&self) -> Vec<RelationInfo> {
        let info = |(name, relation): (&str, &Relation)| {
            let (is_view, columns) = match relation {
                Relation::Table(table) => (false, table.columns.fields.iter().map(|f| f.name.clone()).collect()),
                Relation::View(view) if !view.columns.is_empty() => (true, view.columns.iter().map(|c| c.value.clone()).collect()),
                Relation::View(view) => {
                    let plan = self.binder().bind(&view.query);
                    (true, plan.map(|plan| plan.columns.iter().map(|c| c.name.clone()).collect()).unwrap_or_default())
                }
            };
            RelationInfo { name: name.to_string(), is_view, columns }
        };
        self.catalog().relations().map(info).collect()
    }

    /// Whether a table or a view has this name.
    pub fn has_relation(&self, name: &str) -> bool {
        self.catalog().contains(name)
    }
}

/// The name that a statement gives to a table or a view, or takes from it: that of CREATE and of DROP.
pub fn relation_of(statement: &Statement) -> Option<String> {
    match statement {
        Statement::CreateTable(create) => simple_name(&create.name).ok(),
        Statement::CreateView(create) => simple_name(&create.name).ok(),
        Statement::Drop { name, .. } => simple_name(name).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session_after(sql: &str) -> Session {
        let mut session = Session::new();
        for parsed in session.parse(sql).unwrap() {
            session.prepare(&parsed.statement).unwrap();
        }
        session
    }

    #[test]
    fn relations_have_the_columns_that_queries_see() {
        let session = session_after(
            "CREATE TABLE t (`b c` INT, a AS `b c` + 1) WITH ('connector' = 'blackhole'); \
             CREATE VIEW v AS SELECT 1 AS x; CREATE VIEW w (y, z) AS SELECT 1, 2",
        );
        let info = |name: &str, is_view, columns: &[&str]| RelationInfo {
            name: name.into(),
            is_view,
            columns: columns.iter().map(|c| (*c).to_string()).collect(),
        };
        assert_eq!(session.relations(), [info("t", false, &["b c", "a"]), info("v", true, &["x"]), info("w", true, &["y", "z"])]);
        assert!(session.has_relation("v") && !session.has_relation("V"));
    }

    #[test]
    fn a_view_without_its_table_has_no_columns() {
        let session =
            session_after("CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); CREATE VIEW v AS SELECT a FROM t; DROP TABLE t");
        assert_eq!(session.relations(), [RelationInfo { name: "v".into(), is_view: true, columns: vec![] }]);
    }

    #[test]
    fn create_and_drop_say_whom_they_mean() {
        let of = |sql: &str| relation_of(&Session::new().parse(sql).unwrap()[0].statement);
        assert_eq!(of("CREATE TABLE default_catalog.default_database.t (a INT)").as_deref(), Some("t"));
        assert_eq!(of("CREATE VIEW `a b` AS SELECT 1").as_deref(), Some("a b"));
        assert_eq!(of("DROP VIEW IF EXISTS v").as_deref(), Some("v"));
        assert_eq!(of("DESCRIBE t"), None);
    }
}
