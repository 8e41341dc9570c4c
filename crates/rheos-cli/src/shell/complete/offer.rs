//! Candidates for a place: those that go on with what has been typed.

use std::path::Path;

use super::names::{Names, Part};
use super::place::{Place, Writing};
use super::words::{CLAUSES, COMMANDS, KEYWORDS, STATEMENTS, TABLE_FUNCTIONS, TYPES, is_keyword};
use super::{Candidate, Completion};
use crate::shell::tokens::{Kind, Token, is_word};

/// All that may stand at the cursor.
pub(super) fn offer(writing: &Writing<'_>, at_cursor: Option<&Token>, cursor: usize, names: &Names) -> Completion {
    let start = at_cursor.map_or(cursor, |t| t.span.start);
    let quote = at_cursor.filter(|t| matches!(t.kind, Kind::Text | Kind::Name)).map(|t| &writing.text[t.span.start..=t.span.start]);
    let typed = writing.text[start + quote.map_or(0, str::len)..cursor].to_string();
    let offer = Offer { writing, names, typed, is_lower: is_lower(writing, start, cursor), quote: quote.map(str::to_string) };
    let mut candidates = offer.candidates();
    let mut seen = std::collections::HashSet::new();
    candidates.retain(|c| seen.insert(c.text.clone()));
    // What cannot be but what is there already needs no completion.
    if let [only] = candidates.as_slice()
        && only.text == writing.text[start..cursor]
    {
        candidates.clear();
    }
    Completion { start, candidates }
}

/// Whether keywords go in small letters: as the word at the cursor, or else as the keyword before it.
fn is_lower(writing: &Writing<'_>, start: usize, cursor: usize) -> bool {
    let is_small = |word: &str| word.chars().any(char::is_lowercase) && !word.chars().any(char::is_uppercase);
    let typed = &writing.text[start..cursor];
    if typed.chars().any(char::is_alphabetic) {
        return is_small(typed);
    }
    let words = writing.all[..writing.before].iter().rev().filter(|t| t.kind == Kind::Word);
    words.map(|t| &writing.text[t.span.clone()]).find(|word| is_keyword(word)).is_some_and(is_small)
}

struct Offer<'a> {
    writing: &'a Writing<'a>,
    names: &'a Names,
    /// What has been typed of the word, without a quote before it.
    typed: String,
    is_lower: bool,
    /// The quote that the word at the cursor begins with.
    quote: Option<String>,
}

impl Offer<'_> {
    fn candidates(&self) -> Vec<Candidate> {
        match self.writing.place() {
            Place::Start if self.writing.before == 0 => {
                let commands =
                    COMMANDS.iter().filter(|c| self.fits(c)).map(|c| candidate(&self.cased(c), "command of the shell", *c == "SOURCE"));
                self.words(&[STATEMENTS]).chain(commands).collect()
            }
            Place::Start => self.words(&[STATEMENTS]).collect(),
            Place::OptionKey => self.option_keys(),
            Place::OptionValue(key) => self.option_values(&key),
            Place::SettingKey => {
                let settings = self.names.settings.iter().filter(|(key, _)| self.fits(key));
                let is_set = self.writing.all[0].is_word(self.writing.text, "SET");
                settings.map(|(key, doc)| candidate(&self.quoted(key, if is_set { "' = '" } else { "'" }), doc, false)).collect()
            }
            Place::Relation => self.relations(true).chain(self.table_functions()).collect(),
            Place::Member(qualifier) => self.columns(&self.columns_of(&qualifier)).collect(),
            Place::Type => self.words(&[TYPES]).chain(self.words(&[&["AS"]])).collect(),
            Place::File => self.files(),
            Place::Free => vec![],
            Place::Expression => self.expression(),
        }
    }

    fn expression(&self) -> Vec<Candidate> {
        let mut columns: Vec<String> = self.new_columns();
        let named = self.tables();
        columns.extend(named.iter().filter_map(|(name, _)| self.names.relation(name)).flat_map(|r| r.columns.clone()));
        if named.is_empty() && !self.typed.is_empty() {
            columns.extend(self.names.relations.iter().flat_map(|r| r.columns.clone()));
        }
        let mut found: Vec<Candidate> = self.columns(&columns).collect();
        if self.quote.is_some() {
            return found.into_iter().chain(self.relations(false)).collect();
        }
        if self.typed.is_empty() {
            found.extend(self.words(&[CLAUSES]));
            return found;
        }
        let aliases: Vec<String> = named.into_iter().filter_map(|(_, alias)| alias).collect();
        found.extend(aliases.iter().filter(|a| self.fits(a)).map(|a| candidate(&self.named(a), "alias", false)));
        found.extend(self.words(&[CLAUSES, KEYWORDS]));
        let is_definition = self.writing.all[0].is_word(self.writing.text, "CREATE");
        if is_definition {
            found.extend(self.words(&[TYPES]));
        }
        found.extend(self.relations(false));
        let functions = self.names.functions.iter().filter(|f| self.fits(f));
        found.extend(functions.map(|f| candidate(&format!("{}(", self.cased(f)), "function", false)));
        found.extend(self.table_functions());
        found
    }

    fn fits(&self, name: &str) -> bool {
        name.get(..self.typed.len()).is_some_and(|start| start.eq_ignore_ascii_case(&self.typed))
            || name.to_lowercase().starts_with(&self.typed.to_lowercase())
    }

    fn cased(&self, word: &str) -> String {
        if self.is_lower { word.to_lowercase() } else { word.to_string() }
    }

    fn words<'b>(&'b self, lists: &'b [&'b [&'static str]]) -> impl Iterator<Item = Candidate> + 'b {
        lists.iter().flat_map(|list| list.iter()).filter(|w| self.fits(w)).map(|w| candidate(&self.cased(w), "", true))
    }

    /// A name as SQL wants it: in backticks where it is no plain word.
    fn named(&self, name: &str) -> String {
        let is_plain = name.chars().all(is_word) && !name.starts_with(|c: char| c.is_ascii_digit()) && !is_keyword(name);
        if is_plain && self.quote.is_none() { name.to_string() } else { format!("`{}`", name.replace('`', "``")) }
    }

    /// A text in quotes, and what comes after it.
    fn quoted(&self, text: &str, end: &str) -> String {
        format!("'{}{end}", text.replace('\'', "''"))
    }

    fn relations(&self, with_space: bool) -> impl Iterator<Item = Candidate> {
        let relations = self.names.relations.iter().filter(|r| self.fits(&r.name));
        relations.map(move |r| candidate(&self.named(&r.name), if r.is_view { "view" } else { "table" }, with_space))
    }

    /// Where a table may stand, `TABLE(TUMBLE(...))` may.
    fn table_functions(&self) -> impl Iterator<Item = Candidate> {
        let after_table = self.writing.all[..self.writing.before].iter().rev().take(2).any(|t| t.is_word(self.writing.text, "TABLE"));
        let functions = TABLE_FUNCTIONS.iter().filter(move |f| after_table && self.quote.is_none() && self.fits(f));
        functions.map(|f| candidate(&format!("{}(", self.cased(f)), "window", false))
    }

    fn columns(&self, columns: &[String]) -> impl Iterator<Item = Candidate> {
        columns.iter().filter(|c| self.fits(c)).map(|c| candidate(&self.named(c), "column", false))
    }

    /// The tables and views that the statement names, each with its alias.
    fn tables(&self) -> Vec<(String, Option<String>)> {
        let (text, all) = (self.writing.text, self.writing.all);
        let is_name = |t: &Token| matches!(t.kind, Kind::Word | Kind::Name);
        let is_being_written = |i: usize| self.writing.is_within && i == self.writing.before;
        let mut tables = Vec::new();
        for (i, token) in all.iter().enumerate().filter(|(i, t)| !is_being_written(*i) && is_name(t)) {
            let name = token.value(text);
            if self.names.relation(&name).is_none() {
                continue;
            }
            let mut rest = all[i + 1..].iter().skip_while(|t| t.is_word(text, "AS"));
            let alias = rest.next().filter(|t| is_name(t)).map(|t| t.value(text)).filter(|alias| !is_keyword(alias));
            tables.push((name, alias));
        }
        tables
    }

    fn columns_of(&self, qualifier: &str) -> Vec<String> {
        let named = self.tables().into_iter().find(|(_, alias)| alias.as_deref() == Some(qualifier)).map(|(name, _)| name);
        self.names.relation(named.as_deref().unwrap_or(qualifier)).map(|r| r.columns.clone()).unwrap_or_default()
    }

    /// The columns of a table that is being defined.
    fn new_columns(&self) -> Vec<String> {
        let (text, all) = (self.writing.text, self.writing.all);
        if !all[0].is_word(text, "CREATE") || !all.iter().take(3).any(|t| t.is_word(text, "TABLE")) {
            return vec![];
        }
        let (mut columns, mut depth) = (Vec::new(), 0);
        for pair in all[..self.writing.before].windows(2) {
            let [token, next] = pair else { continue };
            depth += i32::from(token.is_symbol(text, '(')) + i32::from(token.is_symbol(text, '<'));
            depth -= i32::from(token.is_symbol(text, ')')) + i32::from(token.is_symbol(text, '>'));
            let begins = token.is_symbol(text, '(') || token.is_symbol(text, ',');
            let is_name = next.kind == Kind::Name || (next.kind == Kind::Word && !is_keyword(&text[next.span.clone()]));
            if depth == 1 && begins && is_name {
                columns.push(next.value(text));
            }
        }
        columns
    }

    /// The value that the statement gives to an option.
    fn option_value(&self, key: &str) -> Option<String> {
        let text = self.writing.text;
        let options =
            self.writing.all.windows(3).filter(|w| w[0].kind == Kind::Text && w[1].is_symbol(text, '=') && w[2].kind == Kind::Text);
        options.filter(|w| w[0].value(text) == key).map(|w| w[2].value(text)).next()
    }

    fn option_keys(&self) -> Vec<Candidate> {
        let connector = self.option_value("connector");
        let part = |parts: &[Part], name: Option<String>| parts.iter().find(|p| Some(p.name) == name.as_deref()).cloned();
        let mut keys: Vec<(&str, &str)> = vec![("connector", "what reads or writes the table")];
        if let Some(connector) = part(&self.names.connectors, connector) {
            keys.extend(connector.options);
            if connector.takes_format {
                keys.push(("format", "how rows are written as bytes"));
                keys.extend(part(&self.names.formats, self.option_value("format")).into_iter().flat_map(|f| f.options));
            }
        }
        let mut candidates = Vec::new();
        for (key, doc) in keys {
            // `fields.#.kind` is there for each column.
            let columns = if key.contains('#') { self.new_columns() } else { vec![String::new()] };
            for column in columns {
                let key = key.replace('#', &column);
                if self.fits(&key) && self.option_value(&key).is_none() {
                    candidates.push(candidate(&self.quoted(&key, "' = '"), doc, false));
                }
            }
        }
        candidates
    }

    fn option_values(&self, key: &str) -> Vec<Candidate> {
        let parts = match key {
            "connector" => &self.names.connectors,
            "format" => &self.names.formats,
            _ => return vec![],
        };
        parts.iter().filter(|p| self.fits(p.name)).map(|p| candidate(&self.quoted(p.name, "'"), p.doc, false)).collect()
    }

    /// The files and folders that begin so.
    fn files(&self) -> Vec<Candidate> {
        // After \i there may be no quotes, and a path is more than a word.
        if self.quote.is_none() {
            return vec![];
        }
        let (folder, _) =
            self.typed.rsplit_once('/').map_or(("", self.typed.as_str()), |(folder, name)| (&self.typed[..=folder.len()], name));
        let Ok(entries) = std::fs::read_dir(if folder.is_empty() { Path::new(".") } else { Path::new(folder) }) else { return vec![] };
        let mut files: Vec<(String, bool)> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let name = entry.file_name().into_string().ok()?;
                Some((format!("{folder}{name}"), entry.path().is_dir()))
            })
            .filter(|(path, is_folder)| {
                path.starts_with(&self.typed) && (*is_folder || Path::new(path).extension().is_some_and(|e| e == "sql"))
            })
            .collect();
        files.sort();
        files.into_iter().map(|(path, is_folder)| candidate(&self.quoted(&path, if is_folder { "/" } else { "'" }), "", false)).collect()
    }
}

fn candidate(text: &str, what: &str, with_space: bool) -> Candidate {
    Candidate { text: text.to_string(), what: what.to_string(), with_space }
}
