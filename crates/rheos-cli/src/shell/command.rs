//! What can be said to the shell besides SQL.

use std::path::PathBuf;

use super::tokens::{Kind, tokens};

/// A command of the shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Command {
    /// `help`, `\?`
    Help,
    /// `quit`, `exit`, `\q`
    Quit,
    /// `clear`
    Clear,
    /// `SOURCE 'FILE'`, `\i FILE`
    Source(PathBuf),
    /// `\d`: as SHOW TABLES
    Tables,
    /// `\d NAME`: as DESCRIBE NAME
    Describe(String),
}

/// The command that a text is, or what is wrong with it; `None` where it is no command.
pub(crate) fn parse(text: &str) -> Option<Result<Command, String>> {
    let text = text.trim();
    let text = text.strip_suffix(';').unwrap_or(text).trim_end();
    if let Some(text) = text.strip_prefix('\\') {
        return Some(backslash(text));
    }
    match text.to_ascii_lowercase().as_str() {
        "help" => return Some(Ok(Command::Help)),
        "quit" | "exit" => return Some(Ok(Command::Quit)),
        "clear" => return Some(Ok(Command::Clear)),
        _ => {}
    }
    let all = tokens(text);
    let mut words = all.iter().filter(|t| t.is_meant());
    if !words.next().is_some_and(|word| word.is_word(text, "SOURCE")) {
        return None;
    }
    Some(match (words.next(), words.next()) {
        (Some(file), None) if file.kind == Kind::Text && file.is_closed => Ok(Command::Source(file.value(text).into())),
        // More statements come after it.
        (_, Some(end)) if end.is_symbol(text, ';') => return None,
        _ => Err("SOURCE wants a file in quotes: SOURCE 'file.sql'".into()),
    })
}

/// Whether Enter is enough to carry it out, without a semicolon.
pub(crate) fn is_command(text: &str) -> bool {
    // A SOURCE that is still being written may span lines.
    match parse(text) {
        Some(Ok(_)) => true,
        Some(Err(_)) => text.trim_start().starts_with('\\'),
        None => false,
    }
}

fn backslash(text: &str) -> Result<Command, String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (word, rest) {
        ("?" | "h", "") => Ok(Command::Help),
        ("q", "") => Ok(Command::Quit),
        ("d", "") => Ok(Command::Tables),
        ("d", name) => Ok(Command::Describe(name.to_string())),
        ("i", "") => Err("\\i wants a file: \\i file.sql".into()),
        ("i", file) => Ok(Command::Source(unquoted(file).into())),
        ("?" | "h" | "q", _) => Err(format!("nothing comes after \\{word}, but here is '{rest}'")),
        _ => Err(format!("no command '\\{word}'; help lists what there is")),
    }
}

fn unquoted(file: &str) -> String {
    match tokens(file).as_slice() {
        [one] if one.kind == Kind::Text && one.is_closed => one.value(file),
        _ => file.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_with_and_without_semicolon() {
        let command = |text: &str| parse(text).map(|c| c.unwrap());
        for (text, expected) in [
            ("help", Command::Help),
            (" HELP ; ", Command::Help),
            ("\\?", Command::Help),
            ("exit", Command::Quit),
            ("Quit;", Command::Quit),
            ("\\q", Command::Quit),
            ("clear", Command::Clear),
            ("source 'a b.sql'", Command::Source("a b.sql".into())),
            ("-- before\nSOURCE 'it''s.sql';", Command::Source("it's.sql".into())),
            ("\\i a b.sql", Command::Source("a b.sql".into())),
            ("\\i 'a.sql';", Command::Source("a.sql".into())),
            ("\\d", Command::Tables),
            ("\\d `my table`;", Command::Describe("`my table`".into())),
        ] {
            assert_eq!(command(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_the_help_lists_is_known() {
        let listed = crate::help::SHELL.lines().skip_while(|l| !l.is_empty()).skip(1).take_while(|l| !l.is_empty());
        let names: Vec<&str> = listed.flat_map(|line| line[..26].trim().split(", ")).collect();
        assert_eq!(names.len(), 10, "{names:?}");
        for name in names {
            assert!(matches!(parse(name), Some(Ok(_))), "{name}");
        }
    }

    #[test]
    fn sql_is_no_command() {
        for text in
            ["SELECT 1;", "helper", "SELECT help", "SHOW TABLES;", "", "sources 'a'", "SOURCE 'a.sql'; SELECT 1;", "help; SELECT 1;"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_wrong_command_says_what_would_be_right() {
        let wrong = |text: &str| parse(text).unwrap().unwrap_err();
        assert_eq!(wrong("\\x"), "no command '\\x'; help lists what there is");
        assert!(wrong("\\i").contains("\\i file.sql"));
        assert!(wrong("SOURCE a.sql").contains("SOURCE 'file.sql'"));
        assert!(wrong("\\q now").contains("'now'"));
    }
}
