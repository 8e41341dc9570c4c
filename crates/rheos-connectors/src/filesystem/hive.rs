//! Names of partition folders as Hive, Spark and Flink write them: `day=2024-01-01`, what could be misread as `%` and its code.

/// What stands in for a value that is absent, or an empty text, which no folder can be named by.
pub(super) const DEFAULT_NAME: &str = "__DEFAULT_PARTITION__";

/// Whether a character of a name or value is written as its code.
fn is_escaped(c: char) -> bool {
    c.is_ascii_control() || matches!(c, '"' | '#' | '%' | '\'' | '*' | '/' | ':' | '=' | '?' | '\\' | '{' | '[' | ']' | '^')
}

/// Appends a name or a value.
pub(super) fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        if is_escaped(c) {
            out.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
}

/// The name or value that a part of a path stands for. A `%` without a code behind it is itself.
pub(super) fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let code = rest.get(at + 1..at + 3).filter(|code| code.bytes().all(|b| b.is_ascii_hexdigit()));
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(char::from(code));
                rest = &rest[at + 3..];
            }
            None => {
                out.push('%');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_misread_in_a_path_is_written_as_its_code() {
        for (text, written) in [
            ("2024-01-01", "2024-01-01"),
            ("a/b=c:d", "a%2Fb%3Dc%3Ad"),
            ("50%", "50%25"),
            ("\u{1}\n\u{7f}", "%01%0A%7F"),
            ("Zürich {x} ^ a.b_c", "Zürich %7Bx} %5E a.b_c"),
        ] {
            let mut out = String::new();
            escape(&mut out, text);
            assert_eq!(out, written);
            assert_eq!(unescape(&out), text);
        }
        assert_eq!(unescape("100% %zz %4"), "100% %zz %4");
    }
}
