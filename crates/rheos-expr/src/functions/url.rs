//! URLs taken apart, texts made fit for them, and addresses of IPv4.

use std::fmt::Write;

use arrow::array::{Int64Array, StringArray};
use arrow::datatypes::Int64Type;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode, percent_encode};

use rheos_core::error::Result;
use rheos_core::types::TypeKind;

use crate::function::{Call, Function, Signature, Value};

use super::kernel::{collect, numbers, texts, write_texts};
use super::signature::Param::{Kind, Text};
use super::signature::signature;

/// What this family has.
pub(crate) static FUNCTIONS: &[Function] = &[
    Function::new("URL_ENCODE", "URL_ENCODE(text)", |a| nullable(signature(a, &[Text], &[], TypeKind::STRING)), url_encode),
    Function::new("URL_DECODE", "URL_DECODE(text)", |a| nullable(signature(a, &[Text], &[], TypeKind::STRING)), url_decode),
    Function::new("INET_ATON", "INET_ATON(address)", |a| nullable(signature(a, &[Text], &[], TypeKind::BigInt)), inet_aton),
    Function::new(
        "INET_NTOA",
        "INET_NTOA(number)",
        |a| nullable(signature(a, &[Kind(TypeKind::BigInt)], &[], TypeKind::STRING)),
        inet_ntoa,
    ),
    Function::new(
        "PARSE_URL",
        "PARSE_URL(url, part [, key])",
        |a| nullable(signature(a, &[Text, Text], &[Text], TypeKind::STRING)),
        parse_url,
    ),
];

/// The result may be NULL although no argument is.
fn nullable(signature: Result<Signature, String>) -> Result<Signature, String> {
    signature.map(|s| Signature { result: s.result.with_nullable(true), ..s })
}

/// What `java.net.URLEncoder` leaves as it is, besides letters and digits.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'*').remove(b'_').remove(b' ');

fn url_encode(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    write_texts(call, |row, out| {
        for part in percent_encode(text.get(row)?.as_bytes(), ENCODED) {
            out.extend(part.chars().map(|c| if c == ' ' { '+' } else { c }));
        }
        Some(())
    })
}

/// NULL where a `%` is not followed by two hexadecimal digits.
fn url_decode(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    let mut spaced = Vec::new();
    write_texts(call, |row, out| {
        let bytes = text.get(row)?.as_bytes();
        let legal = |at: usize| bytes.get(at + 1..at + 3).is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit));
        if !memchr::memchr_iter(b'%', bytes).all(legal) {
            return None;
        }
        spaced.clear();
        spaced.extend(bytes.iter().map(|b| if *b == b'+' { b' ' } else { *b }));
        out.push_str(&percent_decode(&spaced).decode_utf8_lossy());
        Some(())
    })
}

/// A URL as `java.net.URL` sees it.
struct Url<'t> {
    protocol: &'t str,
    authority: Option<&'t str>,
    path: &'t str,
    query: Option<&'t str>,
    reference: Option<&'t str>,
    /// Path and query.
    file: &'t str,
}

/// Java knows no others: a URL of another protocol is none.
const PROTOCOLS: [&str; 6] = ["http", "https", "ftp", "file", "jar", "mailto"];

impl<'t> Url<'t> {
    fn parse(text: &'t str) -> Option<Url<'t>> {
        let text = text.trim_matches(|c: char| c <= ' ');
        let text = text.get(..4).filter(|start| start.eq_ignore_ascii_case("url:")).map_or(text, |_| &text[4..]);
        let (protocol, rest) = text.split_once(':')?;
        PROTOCOLS.iter().find(|known| known.eq_ignore_ascii_case(protocol))?;
        let (rest, reference) = match rest.split_once('#') {
            Some((rest, reference)) => (rest, Some(reference)),
            None => (rest, None),
        };
        let (authority, file) = match rest.strip_prefix("//") {
            Some(rest) => {
                let (authority, file) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
                (Some(authority), file)
            }
            None => (None, rest),
        };
        let (path, query) = match file.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (file, None),
        };
        // A port that is no number makes it no URL.
        let url = Url { protocol, authority, path, query, reference, file };
        let port = url.host_and_port().map_or("", |h| h.strip_prefix(url.host()).unwrap_or(""));
        port.strip_prefix(':').is_none_or(|p| p.bytes().all(|b| b.is_ascii_digit())).then_some(url)
    }

    fn host_and_port(&self) -> Option<&'t str> {
        self.authority.map(|a| a.rsplit_once('@').map_or(a, |(_, host)| host))
    }

    fn host(&self) -> &'t str {
        let host = self.host_and_port().unwrap_or("");
        match host.find(']') {
            // An address of IPv6 has colons of its own.
            Some(end) if host.starts_with('[') => &host[..=end],
            _ => host.split(':').next().unwrap_or(host),
        }
    }

    fn part(&self, part: &str) -> Option<&'t str> {
        match part {
            "HOST" => Some(self.host()),
            "PATH" => Some(self.path),
            "QUERY" => self.query,
            "REF" => self.reference,
            "PROTOCOL" => Some(self.protocol),
            "FILE" => Some(self.file),
            "AUTHORITY" => self.authority,
            "USERINFO" => self.authority.and_then(|a| a.rsplit_once('@')).map(|(user, _)| user),
            _ => None,
        }
    }
}

/// The value of a parameter in a query: up to the next `&`.
fn parameter<'t>(query: &'t str, key: &str) -> Option<&'t str> {
    query.split('&').find_map(|pair| pair.strip_prefix(key)?.strip_prefix('='))
}

fn parse_url(call: &Call<'_>) -> Result<Value> {
    let (url, part) = (texts(call, 0)?, texts(call, 1)?);
    if call.args.len() < 3 {
        return collect::<StringArray, _>(call, |row| {
            let (url, part) = (url.get(row)?, part.get(row)?);
            Url::parse(url)?.part(part)
        });
    }
    let key = texts(call, 2)?;
    collect::<StringArray, _>(call, |row| {
        let (url, part, key) = (url.get(row)?, part.get(row)?, key.get(row)?);
        if part != "QUERY" {
            return None;
        }
        parameter(Url::parse(url)?.query?, key)
    })
}

/// `127.1` is 127.0.0.1: the last number stands at the end, those before it at the beginning.
fn address(text: &str) -> Option<i64> {
    let mut parts = [0; 4];
    let mut count = 0;
    for part in text.split('.') {
        let legal = (1..=3).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        let value: i64 = part.parse().ok().filter(|v| legal && *v <= 255)?;
        *parts.get_mut(count)? = value;
        count += 1;
    }
    let last = std::mem::take(&mut parts[count - 1]);
    Some((parts[0] << 24) + (parts[1] << 16) + (parts[2] << 8) + last)
}

fn inet_aton(call: &Call<'_>) -> Result<Value> {
    let text = texts(call, 0)?;
    collect::<Int64Array, _>(call, |row| address(text.get(row)?))
}

fn inet_ntoa(call: &Call<'_>) -> Result<Value> {
    let number = numbers::<Int64Type>(call, 0)?;
    write_texts(call, |row, out| {
        let [a, b, c, d] = u32::try_from(number.get(row)?).ok()?.to_be_bytes();
        write!(out, "{a}.{b}.{c}.{d}").ok()
    })
}

#[cfg(test)]
mod tests {
    use crate::functions::testing::check;

    #[test]
    fn texts_are_encoded_and_decoded() {
        check(&[
            ("URL_ENCODE('naïve café *-._~')", "na%C3%AFve+caf%C3%A9+*-._%7E", "STRING"),
            ("URL_ENCODE('https://flink.apache.org/')", "https%3A%2F%2Fflink.apache.org%2F", ""),
            ("URL_DECODE('a%20b+c%C3%A9')", "a b cé", "STRING"),
            ("URL_DECODE('illegal escape pattern test%')", "\\N", ""),
            ("URL_DECODE('%zz')", "\\N", ""),
        ]);
    }

    #[test]
    fn urls_are_taken_apart() {
        const URL: &str = "'https://user@example.org:8080/p/a?q=1&r=two#frag'";
        for (part, expected) in [
            ("HOST", "example.org"),
            ("PATH", "/p/a"),
            ("QUERY", "q=1&r=two"),
            ("REF", "frag"),
            ("PROTOCOL", "https"),
            ("USERINFO", "user"),
            ("AUTHORITY", "user@example.org:8080"),
            ("FILE", "/p/a?q=1&r=two"),
            ("SHOE SIZE", "\\N"),
        ] {
            check(&[(&format!("PARSE_URL({URL}, '{part}')"), expected, "STRING")]);
        }
        check(&[
            (&format!("PARSE_URL({URL}, 'QUERY', 'r')"), "two", "STRING"),
            (&format!("PARSE_URL({URL}, 'QUERY', 'x')"), "\\N", ""),
            (&format!("PARSE_URL({URL}, 'PATH', 'r')"), "\\N", ""),
            ("PARSE_URL('x=1;y=2', 'HOST')", "\\N", ""),
            ("PARSE_URL('gopher://a/b', 'HOST')", "\\N", ""),
            ("PARSE_URL('http://a:b/', 'HOST')", "\\N", ""),
            ("PARSE_URL('http://[::1]:80/x', 'HOST')", "[::1]", ""),
            ("PARSE_URL('http://facebook.com/path/p1.php?query=1', 'REF')", "\\N", ""),
        ]);
    }

    #[test]
    fn addresses_are_numbers() {
        check(&[
            ("INET_ATON('192.168.1.1')", "3232235777", "BIGINT"),
            ("INET_ATON('127.1')", "2130706433", ""),
            ("INET_ATON('010.000.001')", "167772161", ""),
            ("INET_ATON('256')", "\\N", ""),
            ("INET_ATON('1.2.3.')", "\\N", ""),
            ("INET_ATON('1.2.3.4.5')", "\\N", ""),
            ("INET_NTOA(3232235777)", "192.168.1.1", "STRING"),
            ("INET_NTOA(-1)", "\\N", ""),
        ]);
    }
}
