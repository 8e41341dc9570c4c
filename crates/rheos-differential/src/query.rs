//! Queries as trees, and as text in two dialects.

use std::fmt::Write;

use crate::value::Type;

/// Whose SQL it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Flink's, as Rheos speaks it.
    Rheos,
    /// DataFusion's.
    DataFusion,
}

/// An expression.
#[derive(Debug, Clone)]
pub enum Expr {
    /// Text with `$0`, `$1` where its arguments go: a column, a literal, an operator, a function.
    Node {
        /// Its class.
        ty: Type,
        /// Its text.
        text: String,
        /// Its text for DataFusion, where that is another.
        other: Option<String>,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// A query of one column and at most one row.
    Scalar(Type, Box<Query>),
    /// `[NOT] EXISTS (query)`
    Exists(bool, Box<Query>),
    /// `value [NOT] IN (query)`
    In(bool, Box<Expr>, Box<Query>),
}

impl Expr {
    /// A column or a literal.
    pub fn leaf(ty: Type, text: impl Into<String>) -> Expr {
        Expr::Node { ty, text: text.into(), other: None, args: vec![] }
    }

    /// An operator or a function.
    pub fn node(ty: Type, text: impl Into<String>, args: Vec<Expr>) -> Expr {
        Expr::Node { ty, text: text.into(), other: None, args }
    }

    /// Its class.
    pub fn ty(&self) -> Type {
        match self {
            Expr::Node { ty, .. } | Expr::Scalar(ty, _) => *ty,
            Expr::Exists(..) | Expr::In(..) => Type::Bool,
        }
    }

    /// As SQL.
    pub fn sql(&self, dialect: Dialect) -> String {
        let not = |negated: bool| if negated { "NOT " } else { "" };
        match self {
            Expr::Node { text, other, args, .. } => {
                let text = other.as_ref().filter(|_| dialect == Dialect::DataFusion).unwrap_or(text);
                let mut sql = String::new();
                let mut parts = text.split('$');
                sql.push_str(parts.next().unwrap_or_default());
                for part in parts {
                    let (number, rest) = part.split_at(1);
                    let arg = number.parse::<usize>().ok().and_then(|n| args.get(n));
                    sql.push_str(&arg.map(|a| a.sql(dialect)).unwrap_or_default());
                    sql.push_str(rest);
                }
                sql
            }
            Expr::Scalar(_, query) => match &query.body {
                // A value of nothing is there, in both dialects.
                Body::Select(select) => format!("({})", select.sql(dialect, true)),
                _ => format!("({})", query.sql(dialect)),
            },
            Expr::Exists(negated, query) => format!("{}EXISTS ({})", not(*negated), query.sql(dialect)),
            Expr::In(negated, value, query) => format!("{} {}IN ({})", value.sql(dialect), not(*negated), query.sql(dialect)),
        }
    }
}

/// A query with what WITH names before it. Its columns are called x0, x1, ...
#[derive(Debug, Clone)]
pub struct Query {
    /// The WITH queries.
    pub with: Vec<(String, Query)>,
    /// The query.
    pub body: Body,
}

/// What a query does.
#[derive(Debug, Clone)]
pub enum Body {
    /// SELECT
    Select(Select),
    /// UNION, INTERSECT or EXCEPT.
    Set {
        /// Which.
        operator: &'static str,
        /// Whether rows that are there several times count.
        all: bool,
        /// The left side.
        left: Box<Body>,
        /// The right side.
        right: Box<Body>,
    },
    /// The first rows of each partition, ordered by all columns.
    Top {
        /// Of what.
        input: Box<Query>,
        /// How many columns form the partition: the first.
        partition: usize,
        /// For each column whether the greatest comes first.
        descending: Vec<bool>,
        /// Up to which row.
        rows: usize,
        /// Whether the row's number is put out.
        ranks: bool,
    },
}

/// A SELECT.
#[derive(Debug, Clone)]
pub struct Select {
    /// DISTINCT
    pub distinct: bool,
    /// The columns.
    pub items: Vec<Expr>,
    /// FROM: the first relation, then those joined to it.
    pub from: Vec<Joined>,
    /// WHERE, a conjunction.
    pub filter: Vec<Expr>,
    /// GROUP BY
    pub group: Option<Group>,
}

/// A relation in FROM.
#[derive(Debug, Clone)]
pub struct Joined {
    /// INNER, LEFT, RIGHT or FULL; nothing for the first.
    pub kind: &'static str,
    /// What.
    pub relation: Relation,
    /// Its alias.
    pub alias: String,
    /// ON, a conjunction.
    pub on: Vec<Expr>,
}

/// What a relation is.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A table or a WITH query.
    Named(String),
    /// A subquery.
    Query(Box<Query>),
}

/// GROUP BY and HAVING.
#[derive(Debug, Clone)]
pub struct Group {
    /// The keys; without any, everything is one group.
    pub keys: Vec<Expr>,
    /// ROLLUP, CUBE, GROUPING SETS or nothing.
    pub sets: Sets,
    /// HAVING, a conjunction.
    pub having: Vec<Expr>,
}

/// By which of its keys a query groups.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum Sets {
    Plain,
    Rollup,
    Cube,
    Lists(Vec<Vec<usize>>),
}

impl Query {
    /// A query without WITH.
    pub fn of(body: Body) -> Query {
        Query { with: vec![], body }
    }

    /// As SQL.
    pub fn sql(&self, dialect: Dialect) -> String {
        let mut sql = String::new();
        if !self.with.is_empty() {
            let named: Vec<String> = self.with.iter().map(|(name, query)| format!("{name} AS ({})", query.sql(dialect))).collect();
            let _ = write!(sql, "WITH {} ", named.join(", "));
        }
        sql + &self.body.sql(dialect)
    }
}

impl Body {
    /// How many columns it has.
    pub fn width(&self) -> usize {
        match self {
            Body::Select(select) => select.items.len(),
            Body::Set { left, .. } => left.width(),
            Body::Top { input, ranks, .. } => input.body.width() + usize::from(*ranks),
        }
    }

    fn sql(&self, dialect: Dialect) -> String {
        let columns = |count: usize| (0..count).map(|i| format!("x{i}")).collect::<Vec<_>>().join(", ");
        match self {
            Body::Select(select) => select.sql(dialect, false),
            // DataFusion's INTERSECT ALL and EXCEPT ALL do not count: the rows are numbered, and so made distinct.
            Body::Set { operator, all: true, left, right } if *operator != "UNION" && dialect == Dialect::DataFusion => {
                let columns = columns(left.width());
                let numbered = |side: &Body| {
                    let number = format!("ROW_NUMBER() OVER (PARTITION BY {columns}) AS number");
                    format!("SELECT {columns}, {number} FROM ({}) AS s", side.sql(dialect))
                };
                format!("SELECT {columns} FROM ({} {operator} {}) AS b", numbered(left), numbered(right))
            }
            Body::Set { operator, all, left, right } => {
                let side = |side: &Body| match side {
                    Body::Select(select) => select.sql(dialect, false),
                    other => format!("({})", other.sql(dialect)),
                };
                format!("{} {operator}{} {}", side(left), if *all { " ALL" } else { "" }, side(right))
            }
            Body::Top { input, partition, descending, rows, ranks } => {
                let order: Vec<String> = descending
                    .iter()
                    .enumerate()
                    .map(|(i, descending)| match (dialect, descending) {
                        (Dialect::Rheos, false) => format!("x{i}"),
                        (Dialect::Rheos, true) => format!("x{i} DESC"),
                        // Flink takes NULL for the least value.
                        (Dialect::DataFusion, false) => format!("x{i} NULLS FIRST"),
                        (Dialect::DataFusion, true) => format!("x{i} DESC NULLS LAST"),
                    })
                    .collect();
                let width = input.body.width();
                let by = if *partition > 0 { format!("PARTITION BY {} ", columns(*partition)) } else { String::new() };
                let number = format!("ROW_NUMBER() OVER ({by}ORDER BY {}) AS number", order.join(", "));
                let all = columns(width);
                let rank = if *ranks { format!(", number AS x{width}") } else { String::new() };
                let input = input.sql(dialect);
                format!("SELECT {all}{rank} FROM (SELECT {all}, {number} FROM ({input}) AS s) AS n WHERE number <= {rows}")
            }
        }
    }
}

impl Select {
    /// As SQL; `is_value` says whether it stands for its one value.
    fn sql(&self, dialect: Dialect, is_value: bool) -> String {
        let items: Vec<String> = self.items.iter().enumerate().map(|(i, item)| format!("{} AS x{i}", item.sql(dialect))).collect();
        let mut sql = format!("SELECT {}{} FROM ", if self.distinct { "DISTINCT " } else { "" }, items.join(", "));
        for (i, joined) in self.from.iter().enumerate() {
            let relation = match &joined.relation {
                Relation::Named(name) => name.clone(),
                Relation::Query(query) => format!("({})", query.sql(dialect)),
            };
            if i > 0 {
                let _ = write!(sql, " {} JOIN ", joined.kind);
            }
            let _ = write!(sql, "{relation} AS {}", joined.alias);
            if i > 0 {
                let _ = write!(sql, " ON {}", all_of(&joined.on, dialect));
            }
        }
        if !self.filter.is_empty() {
            let _ = write!(sql, " WHERE {}", all_of(&self.filter, dialect));
        }
        if let Some(Group { keys, sets, having }) = &self.group {
            let texts: Vec<String> = keys.iter().map(|key| key.sql(dialect)).collect();
            let list = texts.join(", ");
            let _ = match sets {
                _ if keys.is_empty() => Ok(()),
                Sets::Plain => write!(sql, " GROUP BY {list}"),
                Sets::Rollup => write!(sql, " GROUP BY ROLLUP ({list})"),
                Sets::Cube => write!(sql, " GROUP BY CUBE ({list})"),
                Sets::Lists(lists) => {
                    let list = |of: &Vec<usize>| format!("({})", of.iter().map(|k| texts[*k].clone()).collect::<Vec<_>>().join(", "));
                    write!(sql, " GROUP BY GROUPING SETS ({})", lists.iter().map(list).collect::<Vec<_>>().join(", "))
                }
            };
            // The group of all rows is there once a row has come, as in Flink on streams; elsewhere it always is.
            let is_plain = keys.is_empty() || dialect == Dialect::DataFusion;
            let has_rows = (is_plain && !is_value).then(|| "(COUNT(*) > 0)".to_string());
            let conditions = has_rows.into_iter().chain((!having.is_empty()).then(|| all_of(having, dialect)));
            let conditions: Vec<String> = conditions.collect();
            if !conditions.is_empty() {
                let _ = write!(sql, " HAVING {}", conditions.join(" AND "));
            }
        }
        sql
    }
}

fn all_of(conditions: &[Expr], dialect: Dialect) -> String {
    if conditions.is_empty() {
        return "TRUE".into();
    }
    conditions.iter().map(|c| format!("({})", c.sql(dialect))).collect::<Vec<_>>().join(" AND ")
}
