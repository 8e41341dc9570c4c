//! Bytes read as UTF-8 as Java reads them: each malformed part becomes one U+FFFD.

/// The text of bytes. Where Java takes more bytes for one malformed part than Unicode recommends, so does this: half a surrogate
/// pair in three bytes is one part.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(chunk) = rest.utf8_chunks().next() {
        text.push_str(chunk.valid());
        let malformed = &rest[chunk.valid().len()..];
        let length = match malformed {
            [] => 0,
            [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
            [0xED, 0xA0..=0xBF, ..] => 2,
            _ => chunk.invalid().len(),
        };
        text.extend((length > 0).then_some(char::REPLACEMENT_CHARACTER));
        rest = &malformed[length..];
    }
    text
}

#[test]
fn each_malformed_part_is_one_replacement_as_in_java() {
    let cases: [(&[u8], &str); 9] = [
        (b"", ""),
        ("é€😀".as_bytes(), "é€😀"),
        (&[0x80], "\u{FFFD}"),
        (&[0xE2, 0x82], "\u{FFFD}"),
        (&[0xC0, 0xAF], "\u{FFFD}\u{FFFD}"),
        (&[0xED, 0xA0, 0x80], "\u{FFFD}"),
        (&[0xED, 0xA0, 0x41], "\u{FFFD}A"),
        (&[0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80], "\u{FFFD}\u{FFFD}"),
        (&[0x41, 0x80, 0x42, 0xF4, 0x90], "A\u{FFFD}B\u{FFFD}\u{FFFD}"),
    ];
    for (bytes, text) in cases {
        assert_eq!(lossy(bytes), text, "{bytes:02x?}");
    }
}
