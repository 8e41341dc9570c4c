//! What is being written where the cursor stands.

use crate::shell::tokens::{Kind, Token};

/// What may come at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// The first word of a statement.
    Start,
    /// A key in WITH (...).
    OptionKey,
    /// The value of this key in WITH (...).
    OptionValue(String),
    /// The key of SET or RESET.
    SettingKey,
    /// A table or a view.
    Relation,
    /// A column of what is named so: an alias, a table or a view.
    Member(String),
    /// A type.
    Type,
    /// A file.
    File,
    /// The name of something new, or a text of which nothing is known.
    Free,
    /// Anything that an expression or a clause is made of.
    Expression,
}

/// A statement as it is being written: the tokens that mean something, those before the cursor first.
pub(super) struct Writing<'a> {
    /// The text that the tokens are of.
    pub(super) text: &'a str,
    /// All tokens of the statement, the one at the cursor included.
    pub(super) all: &'a [Token],
    /// How many of them stand before the cursor, or before the one that it is in.
    pub(super) before: usize,
    /// Whether the cursor is in one of them.
    pub(super) is_within: bool,
    /// Whether the cursor stands within a text in quotes.
    pub(super) in_text: bool,
}

impl Writing<'_> {
    /// What may come at the cursor.
    pub(super) fn place(&self) -> Place {
        let before = &self.all[..self.before];
        let Some(last) = before.last() else {
            return if self.in_text { Place::Free } else { Place::Start };
        };
        let first = &before[0];
        let is = |token: &Token, words: &[&str]| words.iter().any(|w| token.is_word(self.text, w));
        if is(first, &["SET", "RESET"]) {
            return if before.len() == 1 { Place::SettingKey } else { Place::Free };
        }
        if first.is_symbol(self.text, '\\') {
            return match before.get(1) {
                Some(command) if is(command, &["d"]) => Place::Relation,
                Some(command) if is(command, &["i"]) => Place::File,
                _ => Place::Free,
            };
        }
        if is(first, &["SOURCE"]) {
            return Place::File;
        }
        let open = self.open_parentheses();
        let opener = open.last().and_then(|at| at.checked_sub(1)).map(|at| &before[at]);
        if is(first, &["CREATE"]) && opener.is_some_and(|o| is(o, &["WITH"])) {
            return self.option(before);
        }
        if self.in_text {
            return Place::Free;
        }
        if last.is_symbol(self.text, '.') && before.len() >= 2 {
            return Place::Member(before[before.len() - 2].value(self.text));
        }
        if is(first, &["CREATE"])
            && let Some(place) = self.definition(&open)
        {
            return place;
        }
        let casts = opener.is_some_and(|o| is(o, &["CAST", "TRY_CAST"])) && is(last, &["AS"]);
        if casts || self.is_in_type_brackets() {
            return Place::Type;
        }
        let drops = is(first, &["DROP"]) && is(last, &["TABLE", "VIEW", "EXISTS"]);
        if drops || is(last, &["FROM", "JOIN", "INTO", "DESCRIBE"]) || (is(last, &["TABLE"]) && !open.is_empty()) {
            return Place::Relation;
        }
        if is(last, &["DESC"]) && before.len() == 1 {
            return Place::Relation;
        }
        if last.is_symbol(self.text, ',') && self.is_in_list_of_tables(&open) {
            return Place::Relation;
        }
        // After EXPLAIN, or as an inner statement of a set, a statement begins.
        let begins = is(last, &["EXPLAIN", "BEGIN"]) || last.is_symbol(self.text, ';');
        if begins { Place::Start } else { Place::Expression }
    }

    /// Where the parentheses open that are not closed before the cursor.
    fn open_parentheses(&self) -> Vec<usize> {
        let mut open = Vec::new();
        for (i, token) in self.all[..self.before].iter().enumerate() {
            if token.is_symbol(self.text, '(') {
                open.push(i);
            } else if token.is_symbol(self.text, ')') {
                open.pop();
            }
        }
        open
    }

    fn option(&self, before: &[Token]) -> Place {
        match before {
            [.., last] if last.is_symbol(self.text, '(') || last.is_symbol(self.text, ',') => Place::OptionKey,
            [.., key, last] if last.is_symbol(self.text, '=') && key.kind == Kind::Text => Place::OptionValue(key.value(self.text)),
            _ => Place::Free,
        }
    }

    /// Within CREATE: what is new has no name yet.
    fn definition(&self, open: &[usize]) -> Option<Place> {
        let before = &self.all[..self.before];
        let is = |at: usize, words: &[&str]| words.iter().any(|w| before[at].is_word(self.text, w));
        let last = before.len() - 1;
        if is(last, &["TABLE", "VIEW"]) && open.is_empty() && before.len() <= 3 {
            return Some(Place::Free);
        }
        let is_table = before.iter().take(3).any(|t| t.is_word(self.text, "TABLE"));
        // The columns of a table: the first parenthesis, not one within it.
        if !is_table || open.len() != 1 || before[..open[0]].iter().any(|t| t.is_symbol(self.text, ')')) || last == open[0] {
            return None;
        }
        let begins = |at: usize| before[at].is_symbol(self.text, '(') || before[at].is_symbol(self.text, ',');
        let is_name = matches!(before[last].kind, Kind::Word | Kind::Name);
        let names = is_name && begins(last - 1) && !is(last, &["PRIMARY", "WATERMARK", "CONSTRAINT"]);
        names.then_some(Place::Type)
    }

    /// After `ARRAY<` and the like.
    fn is_in_type_brackets(&self) -> bool {
        match &self.all[..self.before] {
            [.., kind, bracket] => {
                bracket.is_symbol(self.text, '<') && ["ARRAY", "MAP", "MULTISET"].iter().any(|w| kind.is_word(self.text, w))
            }
            _ => false,
        }
    }

    /// Whether a comma goes on with the tables of a FROM: nothing else has begun since.
    fn is_in_list_of_tables(&self, open: &[usize]) -> bool {
        let from = open.last().map_or(0, |at| at + 1);
        let mut depth = 0;
        for token in self.all[from..self.before].iter().rev() {
            match () {
                () if token.is_symbol(self.text, ')') => depth += 1,
                () if token.is_symbol(self.text, '(') => depth -= 1,
                () if depth > 0 => {}
                () if token.is_word(self.text, "FROM") => return true,
                () if ["SELECT", "WHERE", "BY", "ON", "HAVING", "INTO", "VALUES", "WITH"].iter().any(|w| token.is_word(self.text, w)) => {
                    return false;
                }
                () => {}
            }
        }
        false
    }
}
