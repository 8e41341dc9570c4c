//! Java's classes of characters as they stand between brackets in the `regex` crate.

use super::java::Refusal;

/// `\s`
pub(super) const SPACE: &str = r" \t\n\x0B\f\r";
/// `\h`
pub(super) const HORIZONTAL: &str = r" \t\xA0\u{1680}\u{180e}\u{2000}-\u{200a}\u{202f}\u{205f}\u{3000}";
/// `\v`
pub(super) const VERTICAL: &str = r"\n\x0B\f\r\u{85}\u{2028}\u{2029}";

/// The class of a property name, as it stands between brackets.
pub(super) fn property(name: &str) -> Result<String, Refusal> {
    let class = match name {
        "Lower" | "Upper" | "ASCII" | "Alpha" | "Digit" | "Alnum" | "Punct" | "Graph" | "Print" | "Blank" | "Cntrl" | "XDigit"
        | "Space" => {
            return Ok(format!("[:{}:]", name.to_ascii_lowercase()));
        }
        "javaLowerCase" | "IsLowercase" => "Lowercase",
        "javaUpperCase" | "IsUppercase" => "Uppercase",
        "javaWhitespace" | "IsWhite_Space" | "IsWhiteSpace" => "White_Space",
        "javaAlphabetic" | "javaLetter" | "IsAlphabetic" => "Alphabetic",
        "javaDigit" | "IsDigit" => "Nd",
        "javaLetterOrDigit" => return Ok(r"\p{Alphabetic}\p{Nd}".into()),
        name => name.strip_prefix("Is").unwrap_or(name),
    };
    if class.is_empty() || !class.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'=') {
        return Err(Refusal::Invalid(format!("'{name}' is no class of characters")));
    }
    Ok(format!(r"\p{{{class}}}"))
}
