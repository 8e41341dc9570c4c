//! Where statements end: what the editor takes as complete, and what is carried out one after the other.

use std::ops::Range;

use super::command;
use super::tokens::{Kind, Token, tokens};

/// A statement in a text, with the comments before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where it is, its semicolon included.
    pub(crate) range: Range<usize>,
    /// Whether it has its semicolon.
    pub(crate) is_ended: bool,
}

/// The statements of a text: between semicolons outside of texts, names and comments, but the INSERTs of a
/// statement set together. What has no word, such as a comment at the end, is no statement.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut piece = Reading::default();
    let mut start = 0;
    for token in tokens(text).iter().filter(|t| t.is_meant()) {
        if piece.ends_at(text, token) {
            if !piece.is_empty {
                pieces.push(Piece { range: start..token.span.end, is_ended: true });
            }
            start = token.span.end;
            piece = Reading::default();
        }
    }
    if !piece.is_empty {
        pieces.push(Piece { range: start..text.len(), is_ended: false });
    }
    pieces
}

/// Whether Enter carries out what is in the editor: nothing, a command of the shell, or statements up to a semicolon.
pub(crate) fn is_complete(text: &str) -> bool {
    if command::is_command(text) {
        return true;
    }
    let has_open_token = tokens(text).last().is_some_and(|t| !t.is_closed);
    !has_open_token && pieces(text).last().is_none_or(|piece| piece.is_ended)
}

/// Whether a semicolon after the text would belong to a comment.
pub(crate) fn ends_in_line_comment(text: &str) -> bool {
    tokens(text).last().is_some_and(|t| t.kind == Kind::Comment && text[t.span.clone()].starts_with("--"))
}

/// The text up to the end of a statement, with everything before it blank: places in it are places in the text.
pub(crate) fn alone(text: &str, range: &Range<usize>) -> String {
    let blank = |c: char| if c == '\n' { '\n' } else { ' ' };
    let mut out: String = text[..range.start].chars().map(blank).collect();
    out.push_str(&text[range.clone()]);
    out
}

/// How far a statement has been read.
struct Reading {
    is_empty: bool,
    /// Whether only words have come that may stand before the BEGIN of a statement set.
    may_be_set: bool,
    /// Within a statement set: the words since the last semicolon are so far this.
    in_set: Option<Inner>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Inner {
    Nothing,
    End,
    Other,
}

impl Default for Reading {
    fn default() -> Self {
        Reading { is_empty: true, may_be_set: true, in_set: None }
    }
}

impl Reading {
    /// Takes a token in; whether the statement ends with it.
    fn ends_at(&mut self, text: &str, token: &Token) -> bool {
        let is_semicolon = token.is_symbol(text, ';');
        if let Some(inner) = &mut self.in_set {
            let ends = is_semicolon && *inner == Inner::End;
            *inner = match *inner {
                _ if is_semicolon => Inner::Nothing,
                Inner::Nothing if token.is_word(text, "END") => Inner::End,
                _ => Inner::Other,
            };
            return ends;
        }
        if is_semicolon {
            return true;
        }
        self.is_empty = false;
        if self.may_be_set {
            if token.is_word(text, "BEGIN") {
                self.in_set = Some(Inner::Nothing);
            }
            self.may_be_set = ["EXPLAIN", "PLAN", "FOR", "EXECUTE", "STATEMENT", "SET"].iter().any(|w| token.is_word(text, w));
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(&str, bool)> {
        pieces(text).into_iter().map(|p| (text[p.range].trim(), p.is_ended)).collect()
    }

    #[test]
    fn a_semicolon_ends_a_statement_but_not_in_quotes_and_comments() {
        assert_eq!(texts("SELECT 1; SELECT 2"), [("SELECT 1;", true), ("SELECT 2", false)]);
        for whole in ["SELECT ';';", "SELECT `;`;", "SELECT 'it''s;';", "SELECT 1 -- no; end\n;", "SELECT /* ; */ 1;", "SELECT \";\";"] {
            assert_eq!(texts(whole), [(whole, true)]);
        }
    }

    #[test]
    fn nothing_is_no_statement() {
        assert_eq!(texts(" ;; \n -- comment;\n; /* more */"), []);
        assert_eq!(texts("-- before\nSELECT 1; -- after"), [("-- before\nSELECT 1;", true)]);
    }

    #[test]
    fn a_statement_set_ends_with_its_end() {
        let set = "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT CASE WHEN x THEN 1 END; INSERT INTO b SELECT 2; END;";
        assert_eq!(texts(&format!("{set} SELECT 1;")), [(set, true), ("SELECT 1;", true)]);
        let old = "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; END;";
        assert_eq!(texts(old), [(old, true)]);
        assert!(!is_complete("BEGIN STATEMENT SET; INSERT INTO a SELECT 1;"));
        assert!(is_complete("SET 'begin' = 'x';"), "a setting is no statement set");
    }

    #[test]
    fn enter_waits_for_the_semicolon() {
        for text in ["", "  \n", "SELECT 1;", "SELECT 1; -- why", "help", "\\d", "quit;", "-- only a comment", "SOURCE 'a.sql'"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT ';", "SELECT 1; SELECT", "SELECT `a;", "/* a", "SELECT 1 -- ;", "helpless", "SELECT 1; '"] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn places_of_a_statement_are_those_in_the_text() {
        let text = "SELECT 'é';\nSELECT\n 2;";
        assert_eq!(alone(text, &pieces(text)[1].range), "           \nSELECT\n 2;");
    }

    /// The scripts with Flink's rows have all of the dialect's statements.
    #[test]
    fn statements_end_where_the_parser_says() {
        let session = rheos::Session::new();
        let mut checked = 0;
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                if path.extension().is_none_or(|e| e != "sql") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let Ok(parsed) = session.parse(&text) else { continue };
                let pieces = pieces(&text);
                assert_eq!(pieces.len(), parsed.len(), "{}", path.display());
                for (piece, parsed) in pieces.iter().zip(&parsed) {
                    let alone = session.parse(&alone(&text, &piece.range)).unwrap();
                    assert_eq!((alone.len(), alone[0].place, &alone[0].text), (1, parsed.place, &parsed.text), "{}", path.display());
                }
                checked += pieces.len();
            }
        }
        assert!(checked > 100, "only {checked} statements were found");
    }
}
