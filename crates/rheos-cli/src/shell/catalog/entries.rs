//! A catalog file's text, statement by statement. What is not changed stays to the letter, comments included.

use std::ops::Range;

use rheos::{Session, SqlError, SqlResult, Statement, relation_of};

use super::Change;
use crate::shell::statements::{alone, ends_in_line_comment, pieces};
use crate::shell::tokens::{Kind, Token, tokens};

/// What a new file begins with. It is no comment of the first statement.
const HEADER: &str =
    "-- Kept by 'rheos sql --catalog'. It may be edited: CREATE TABLE, CREATE VIEW, CREATE FUNCTION and SET, each with its semicolon.\n";

/// The statements of a catalog file.
#[derive(Debug)]
pub(super) struct Entries {
    text: String,
    entries: Vec<Entry>,
}

/// A statement of the file.
#[derive(Debug)]
struct Entry {
    /// Where it is, comments before it included.
    range: Range<usize>,
    subject: Subject,
    statement: rheos::Parsed,
}

/// What a statement is about: there is one statement about each.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Subject {
    Relation(String),
    Function(String),
    Setting(String),
}

impl Entries {
    /// Reads a text; an error where something else stands in it than is kept there.
    pub(super) fn parse(text: &str) -> SqlResult<Entries> {
        let header = if text.starts_with(HEADER) { HEADER.len() } else { 0 };
        let session = Session::new();
        let mut entries = Vec::new();
        for piece in pieces(text) {
            let range = own_lines(text, piece.range.start.max(header)..piece.range.end);
            for parsed in session.parse(&alone(text, &range))? {
                let subject = match (&parsed.statement, relation_of(&parsed.statement)) {
                    (Statement::CreateTable(_) | Statement::CreateView(_), Some(name)) => Subject::Relation(name),
                    (Statement::CreateFunction(create), _) => Subject::Function(create.name.value.to_uppercase()),
                    (Statement::Set(Some((key, ..))), _) => Subject::Setting(key.clone()),
                    _ => {
                        let mut error = SqlError::new("a catalog file has CREATE TABLE, CREATE VIEW, CREATE FUNCTION and SET only");
                        error.place = parsed.place;
                        return Err(error);
                    }
                };
                entries.push(Entry { range: range.clone(), subject, statement: parsed });
            }
        }
        Ok(Entries { text: text.to_string(), entries })
    }

    /// The statements, in order.
    pub(super) fn statements(&self) -> impl Iterator<Item = &rheos::Parsed> {
        self.entries.iter().map(|entry| &entry.statement)
    }

    /// The text after a change. An error where that would take another statement's place: somebody else has written it.
    pub(super) fn with(&self, change: &Change) -> Result<String, String> {
        match change {
            Change::Create { name, text } => {
                let subject = Subject::Relation(name.clone());
                match self.entries.iter().find(|e| e.subject == subject) {
                    Some(entry) if entry.statement.text == *text => Ok(self.text.clone()),
                    Some(_) => Err(format!("it has another '{name}' already")),
                    None => Ok(self.without(|_| false, Some(text))),
                }
            }
            Change::Drop { name } => Ok(self.without(|s| *s == Subject::Relation(name.clone()), None)),
            Change::Define { name, text } => Ok(self.without(|s| *s == Subject::Function(name.clone()), Some(text))),
            Change::Undefine { name } => Ok(self.without(|s| *s == Subject::Function(name.clone()), None)),
            Change::Set { key, text } => Ok(self.without(|s| *s == Subject::Setting(key.clone()), Some(text))),
            Change::Reset { key: Some(key) } => Ok(self.without(|s| *s == Subject::Setting(key.clone()), None)),
            Change::Reset { key: None } => Ok(self.without(|s| matches!(s, Subject::Setting(_)), None)),
        }
    }

    /// The text without some statements, and with one more at its end.
    fn without(&self, is_gone: impl Fn(&Subject) -> bool, more: Option<&str>) -> String {
        let mut out = String::new();
        let mut from = 0;
        for gone in self.entries.iter().filter(|e| is_gone(&e.subject)) {
            out.push_str(&self.text[from..gone.range.start]);
            from = gone.range.end;
            from += usize::from(self.text[from..].starts_with('\n'));
        }
        out.push_str(&self.text[from..]);
        if let Some(statement) = more {
            self.append(&mut out, statement);
        }
        out
    }

    fn append(&self, out: &mut String, statement: &str) {
        if out.trim().is_empty() {
            *out = HEADER.to_string();
        }
        // The last statement of a file that was written by hand may lack its semicolon.
        let is_open = pieces(out).last().is_some_and(|piece| !piece.is_ended);
        let trimmed = out.trim_end().len();
        out.truncate(trimmed);
        if is_open {
            out.push_str(if ends_in_line_comment(out) { "\n;" } else { ";" });
        }
        out.push_str("\n\n");
        out.push_str(statement);
        out.push_str(if ends_in_line_comment(statement) { "\n;\n" } else { ";\n" });
    }
}

/// A statement without what stands behind the one before it, on the same line: a comment there is not about this one.
fn own_lines(text: &str, range: Range<usize>) -> Range<usize> {
    if text[..range.start].trim().is_empty() || text[..range.start].ends_with('\n') {
        return range;
    }
    let before = tokens(&text[range.clone()]);
    let line_end = |t: &Token| text[range.start + t.span.start..range.start + t.span.end].find('\n').map(|at| t.span.start + at + 1);
    let start = before.iter().take_while(|t| !t.is_meant()).filter(|t| t.kind == Kind::Space).find_map(line_end);
    range.start + start.unwrap_or(0)..range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(name: &str, text: &str) -> Change {
        Change::Create { name: name.into(), text: text.into() }
    }

    fn after(text: &str, changes: &[Change]) -> String {
        changes.iter().fold(text.to_string(), |text, change| Entries::parse(&text).unwrap().with(change).unwrap())
    }

    const V: &str = "CREATE VIEW v AS SELECT 1 AS a";
    const W: &str = "CREATE VIEW w AS SELECT 2 AS b -- two";

    #[test]
    fn what_is_created_is_appended_and_what_is_dropped_is_removed() {
        let both = after("", &[create("v", V), create("w", W)]);
        assert_eq!(both, format!("{HEADER}\n{V};\n\n{W}\n;\n"));
        assert_eq!(after(&both, &[Change::Drop { name: "v".into() }]), format!("{HEADER}\n{W}\n;\n"));
        let none = after(&both, &[Change::Drop { name: "v".into() }, Change::Drop { name: "w".into() }]);
        assert_eq!(Entries::parse(&none).unwrap().entries.len(), 0, "{none}");
        assert_eq!(after(&both, &[Change::Drop { name: "x".into() }]), both, "of what is not there nothing is removed");
    }

    #[test]
    fn a_setting_has_one_statement() {
        let set = |key: &str, value: &str| Change::Set { key: key.into(), text: format!("SET '{key}' = '{value}'") };
        let text = after("", &[set("a", "1"), set("b", "2"), set("a", "3")]);
        assert!(!text.contains("'1'") && text.ends_with("SET 'b' = '2';\n\nSET 'a' = '3';\n"), "{text}");
        assert!(!after(&text, &[Change::Reset { key: Some("b".into()) }]).contains("'b'"));
        let none = after(&text, &[create("v", V), Change::Reset { key: None }]);
        assert!(!none.contains("\nSET") && none.contains(V), "{none}");
    }

    #[test]
    fn what_somebody_has_written_stays_to_the_letter() {
        let hand = "-- mine\n/* ; */ CREATE VIEW v AS\n  SELECT 1 AS a; -- why\n\n-- the second\nCREATE VIEW w AS SELECT 2 AS b -- open";
        let text = after(hand, &[create("x", "CREATE VIEW x AS SELECT 3 AS c")]);
        assert_eq!(text, format!("{hand}\n;\n\nCREATE VIEW x AS SELECT 3 AS c;\n"));
        let text = after(&text, &[Change::Drop { name: "w".into() }]);
        assert!(text.starts_with("-- mine\n/* ; */ CREATE VIEW v AS\n  SELECT 1 AS a; -- why\n"), "{text}");
        assert!(!text.contains("the second"), "{text}");
        assert!(!text.contains("CREATE VIEW w") && text.contains("CREATE VIEW x"), "{text}");
    }

    #[test]
    fn another_statement_is_not_overwritten() {
        let text = after("", &[create("v", V)]);
        let entries = Entries::parse(&text).unwrap();
        assert_eq!(entries.with(&create("v", V)).unwrap(), text);
        assert_eq!(entries.with(&create("v", "CREATE VIEW v AS SELECT 9 AS a")).unwrap_err(), "it has another 'v' already");
    }

    #[test]
    fn other_statements_do_not_belong_there() {
        let error = Entries::parse("SET 'a' = 'b';\nDROP TABLE t;").unwrap_err();
        assert_eq!((error.place.line, error.place.column), (2, 1));
        assert!(error.message.contains("CREATE FUNCTION and SET only"), "{error}");
        assert_eq!(Entries::parse("\n\nCREATE VIEW v AS SELEC 1").unwrap_err().place.line, 3);
    }
}
