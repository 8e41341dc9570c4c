//! What the functions with regular expressions give, after Flink's documentation and tests.

use super::java::{Refusal, translate};
use super::literal::LiteralCapture;
use super::pattern::Pattern;
use crate::functions::testing::check;

#[test]
fn parts_that_match_are_extracted() {
    check(&[
        ("REGEXP_EXTRACT('a=1&channel_id=42&x', '(&|^)channel_id=([^&]*)', 2)", "42", "STRING"),
        ("REGEXP_EXTRACT('xchannel_id=42', '(&|^)channel_id=([^&]*)', 2)", "\\N", ""),
        ("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar", ""),
        ("REGEXP_EXTRACT('ABC', '[A-Z]+')", "ABC", ""),
        ("REGEXP_EXTRACT('22', '[A-Z]+')", "\\N", ""),
        ("REGEXP_EXTRACT('ab', '(a)(x)?', 2)", "\\N", ""),
        ("REGEXP_EXTRACT('ab', '(a)', 2)", "\\N", ""),
        ("REGEXP_EXTRACT('ab', '(a)', -1)", "\\N", ""),
        ("REGEXP_EXTRACT('ABC', '(')", "!no regular expression", ""),
        ("REGEXP_SUBSTR('100-200, 300-400', '(\\d+)-(\\d+)$')", "300-400", "STRING"),
        ("REGEXP_SUBSTR('a', '(')", "\\N", ""),
        ("REGEXP_EXTRACT_ALL('100-200, 300-400', '(\\d+)-(\\d+)', 2)", "[200, 400]", "ARRAY<STRING>"),
        ("REGEXP_EXTRACT_ALL('100-200, 300-400', '(\\d+).*')", "[100]", ""),
        ("REGEXP_EXTRACT_ALL('abcdeabde', '(abcdeabde)|([a-z]*)', 2)", "[NULL, ]", ""),
        ("REGEXP_EXTRACT_ALL('abcdeabde', 'ab((c)|(.?))de', 2)", "[c, NULL]", ""),
        ("REGEXP_EXTRACT_ALL('abc', '', 0)", "[, , , ]", ""),
        ("REGEXP_EXTRACT_ALL('abc', 'abc')", "\\N", ""),
        ("REGEXP_EXTRACT_ALL('abc', '[0-9]', 0)", "[]", ""),
    ]);
}

#[test]
fn matches_are_counted_found_and_replaced() {
    check(&[
        ("REGEXP('foobar', 'foo')", "true", "BOOLEAN NOT NULL"),
        ("REGEXP('foobar', 'xyz')", "false", ""),
        ("REGEXP('foobar', '')", "false", ""),
        ("REGEXP('foobar', '(')", "!no regular expression", ""),
        ("REGEXP('foobar', CAST(NULL, 'STRING'))", "\\N", "BOOLEAN"),
        ("REGEXP('a\n', 'a$')", "true", ""),
        ("REGEXP('foo', 'fo(?=o)')", "!look-ahead is not supported", ""),
        ("REGEXP_COUNT('hello world! Hello everyone!', 'Hello')", "1", "INT"),
        ("REGEXP_COUNT('abc123xyz456', '\\d')", "6", ""),
        ("REGEXP_COUNT('a.b.c.d', '\\.')", "3", ""),
        ("REGEXP_COUNT('aaa', 'a*')", "2", ""),
        ("REGEXP_COUNT('a', '(')", "\\N", ""),
        ("REGEXP_INSTR('Helloworld! Hello everyone!', '\\bHello\\b')", "13", "INT"),
        ("REGEXP_INSTR('éa', 'a')", "2", ""),
        ("REGEXP_INSTR('a', 'x')", "0", ""),
        ("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb", "STRING"),
        ("REGEXP_REPLACE('foobar', 'o+', '$1')", "f$1bar", ""),
        ("REGEXP_REPLACE('abc', 'b*', '-')", "-a--c-", ""),
    ]);
}

/// Expressions that are no constants may be wrong: then there is no match.
#[test]
fn a_wrong_expression_in_a_row_is_no_error() {
    use arrow::array::{ArrayRef, StringArray};
    use rheos_core::text::write_value;
    use rheos_core::types::TypeKind;
    let expected = [("REGEXP", "false"), ("REGEXP_EXTRACT", "\\N"), ("REGEXP_COUNT", "\\N")];
    for (function, expected) in expected {
        let column = |i| crate::Expr::column(i, TypeKind::STRING.nullable());
        let call = crate::build::call(function, vec![column(0), column(1)]).unwrap();
        let columns: Vec<ArrayRef> =
            vec![std::sync::Arc::new(StringArray::from(vec!["foobar"])), std::sync::Arc::new(StringArray::from(vec!["("]))];
        let mut program = crate::program::Program::compile(std::slice::from_ref(&call), &Default::default()).unwrap();
        let mut text = String::new();
        write_value(&mut text, program.evaluate(&columns, 1).unwrap()[0].as_ref(), 0, call.ty()).unwrap();
        assert_eq!(text, expected, "{function}");
    }
}

#[test]
fn javas_syntax_is_understood() {
    for (java, text, found) in [
        (r"\d+", "x٣42", Some("42")),
        (r"\w+", "é_a1", Some("_a1")),
        (r"[\w&&[^a]]+", "abc", Some("bc")),
        (r"\Qa.b\E.", "a.bc", Some("a.bc")),
        (r"\<b\>", "a<b>", Some("<b>")),
        (r"a{2,3}", "aaaa", Some("aaa")),
        (r"a.c", "a\nc", None),
        (r"(?s)a.c", "a\nc", Some("a\nc")),
        (r"(?i)ABC", "xabc", Some("abc")),
        (r"(?iu:É)x", "éx", Some("éx")),
        (r"\p{Alpha}+", "éab", Some("ab")),
        (r"\p{IsAlphabetic}+", "1éab", Some("éab")),
        (r"\P{Lu}", "Aa", Some("a")),
        (r"[^\d\s]", "1 x", Some("x")),
        (r"\u0041\x42\t", "AB\t", Some("AB\t")),
        (r"\uD83D\uDE00", "😀", Some("😀")),
        (r"(?<year>\d{4})", "in 2024", Some("2024")),
        (r"a#b c", "a#b c", Some("a#b c")),
        (r"[a#b ]+", "a#b c", Some("a#b ")),
        (r"a\Z", "a\n", Some("a")),
        (r"^b", "a\nb", None),
        (r"(?m)^b", "a\nb", Some("b")),
        (r"x?y{0,1}z", "z", Some("z")),
    ] {
        let pattern = Pattern::compile(java).unwrap_or_else(|e| panic!("{java}: {e}"));
        assert_eq!(pattern.find(text).map(|range| &text[range]), found, "{java} in {text:?}");
    }
}

#[test]
fn what_java_refuses_is_told_from_what_we_refuse() {
    for java in ["(", "a{x}", "[a", r"\", "*a", r"\p{Foo}", ")"] {
        assert!(Pattern::compile(java).is_err_and(|e| e.is_invalid()), "{java}");
    }
    for java in [r"(a)\1", "(?<!a)b", "a++", "(?>a)", r"\Ga"] {
        assert!(matches!(translate(java), Err(Refusal::Unsupported(_))), "{java}");
    }
}

#[test]
fn the_text_that_every_match_contains_is_found() {
    for (java, required) in [
        ("(&|^)channel_id=([^&]*)", Some("channel_id=")),
        ("abc?d", Some("ab")),
        ("abc+d", Some("abc")),
        (r"\.com/[a-z]+/", Some(".com/")),
        ("a|bcd", None),
        ("(?i)abc", None),
        ("(abc)", None),
        ("a*", None),
        ("x{0,3}yz", Some("yz")),
    ] {
        assert_eq!(translate(java).unwrap().required.as_deref(), required, "{java}");
    }
}

/// The short cut gives what the general matcher gives.
#[test]
fn a_parameter_is_taken_out_of_a_url_as_the_regular_expression_does() {
    let shapes = ["(&|^)id=([^&]*)", "(\\?|&)id=([^&#]+)", "id=([^&]*)", "(^)id=([^&]*)"];
    let texts = ["id=1", "a&id=2&b", "xid=3&id=4", "?id=5#x", "?id=&id=6", "id=", "", "é&id=é&", "idid=7", "ididd=&id=8", "x"];
    for java in shapes {
        let short = LiteralCapture::parse(java).unwrap_or_else(|| panic!("{java} is of the shape"));
        let regex = ::regex::Regex::new(java).unwrap();
        for text in texts {
            for group in 0..=regex.captures_len() {
                let general = regex.captures(text).and_then(|c| c.get(group)).map(|m| m.range());
                assert_eq!(short.group(text, group), general, "group {group} of {java} in {text}");
            }
        }
    }
    for other in ["id=(.*)", "(a|b)([^&]*)", "id=([^a-z]*)", "id=([^&]*)x", "(ab|c)id=([^&]*)", "id=[^&]*", "id=([^&&a]*)"] {
        assert!(LiteralCapture::parse(other).is_none(), "{other}");
    }
}
