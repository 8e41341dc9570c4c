//! `${NAME}` in scripts: from `--var`, or else from the environment, or else the default of `${NAME:-default}`.

/// A variable that has no value.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Its name.
    pub(crate) name: String,
    /// Where in the text it stands, in bytes.
    pub(crate) offset: usize,
}

/// The text with all variables replaced. What is not of the form of a variable, such as `$1` or `${a b}`, stays.
pub(crate) fn substitute(text: &str, value_of: impl Fn(&str) -> Option<String>) -> Result<String, Missing> {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(at) = text[from..].find("${").map(|i| from + i) {
        let Some((name, default, end)) = variable(&text[at..]) else {
            out.push_str(&text[from..at + 2]);
            from = at + 2;
            continue;
        };
        out.push_str(&text[from..at]);
        match value_of(name).or(default.map(str::to_string)) {
            Some(value) => out.push_str(&value),
            None if is_in_comment(&text[..at]) => out.push_str(&text[at..at + end]),
            None => return Err(Missing { name: name.to_string(), offset: at }),
        }
        from = at + end;
    }
    out.push_str(&text[from..]);
    Ok(out)
}

/// Whether what follows belongs to a comment: its line has `--` outside quotes.
fn is_in_comment(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    line.match_indices("--").any(|(at, _)| line[..at].matches('\'').count().is_multiple_of(2))
}

/// Name, default and length of the variable that begins the text with `${`.
fn variable(text: &str) -> Option<(&str, Option<&str>, usize)> {
    let close = text.find('}')?;
    let inner = &text[2..close];
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let mut bytes = name.bytes();
    let first = bytes.next()?;
    let is_name = (first.is_ascii_alphabetic() || first == b'_') && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    is_name.then_some((name, default, close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_data(text: &str) -> Result<String, Missing> {
        substitute(text, |name| (name == "DATA").then(|| "/tmp/it".to_string()))
    }

    #[test]
    fn variables_are_replaced_everywhere() {
        assert_eq!(with_data("'${DATA}/a', '${DATA}'").unwrap(), "'/tmp/it/a', '/tmp/it'");
        assert_eq!(with_data("no variable").unwrap(), "no variable");
    }

    #[test]
    fn a_default_stands_in_for_a_missing_variable_only() {
        assert_eq!(with_data("${N:-7} ${DATA:-x} ${E:-}").unwrap(), "7 /tmp/it ");
    }

    #[test]
    fn a_missing_variable_is_named_with_its_place() {
        assert_eq!(with_data("é ${NOPE}"), Err(Missing { name: "NOPE".into(), offset: 3 }));
    }

    #[test]
    fn a_comment_may_speak_of_variables() {
        assert_eq!(with_data("-- ${NOPE} and ${DATA}\n").unwrap(), "-- ${NOPE} and /tmp/it\n");
        assert!(with_data("-- a comment\n'${NOPE}'").is_err());
        assert!(with_data("'--${NOPE}'").is_err(), "this is no comment");
    }

    #[test]
    fn what_is_no_variable_stays() {
        for text in ["$1", "${", "${}", "${1}", "${a b}", "REGEXP_REPLACE(s, '(a)', '$1${'"] {
            assert_eq!(with_data(text).unwrap(), text);
        }
    }
}
