//! What the functions of texts give, after Flink's documentation and tests.

use crate::functions::testing::check;

#[test]
fn letters_are_counted_and_changed() {
    check(&[
        ("CHAR_LENGTH('naïve 😀')", "7", "INT NOT NULL"),
        ("CHAR_LENGTH('')", "0", "INT NOT NULL"),
        ("CHARACTER_LENGTH(NULL)", "\\N", "INT"),
        ("UPPER('straße')", "STRASSE", "CHAR(6) NOT NULL"),
        ("LOWER('Google ÀÉ')", "google àé", "CHAR(9) NOT NULL"),
        ("LOWER(CAST('Facebook', 'STRING'))", "facebook", "STRING NOT NULL"),
        ("INITCAP('it''s o-k hELLO 3abc x1Y')", "It'S O-K Hello 3abc X1y", "CHAR(23) NOT NULL"),
        ("REVERSE('aé😀')", "😀éa", "STRING"),
    ]);
}

#[test]
fn ends_are_trimmed_and_padded() {
    check(&[
        ("TRIM('BOTH', ' ', '  a b  ')", "a b", "VARCHAR(7) NOT NULL"),
        ("TRIM('LEADING', 'xy', 'xyxab')", "ab", "VARCHAR(5) NOT NULL"),
        ("TRIM('TRAILING', 'b', 'abb')", "a", "VARCHAR(3) NOT NULL"),
        ("LTRIM('  a ')", "a ", "VARCHAR(4) NOT NULL"),
        ("RTRIM('abxé', 'éx')", "ab", "VARCHAR(4) NOT NULL"),
        ("BTRIM('www.apache.org', 'w')", ".apache.org", "STRING NOT NULL"),
        ("BTRIM('a', '')", "a", "STRING NOT NULL"),
        ("BTRIM(CAST(NULL, 'STRING'), 'x')", "\\N", "STRING"),
        ("LPAD('apple', 8, '*')", "***apple", "STRING NOT NULL"),
        ("LPAD('apple', 7, 'xy')", "xyapple", ""),
        ("LPAD('fig-tree', 7, 'xy')", "fig-tre", ""),
        ("LPAD('', 7, 'xy')", "xyxyxyx", ""),
        ("LPAD('a', -1, 'x')", "\\N", ""),
        ("LPAD('a', 5, '')", "\\N", ""),
        ("LPAD('a', 0, 'x')", "", ""),
        ("RPAD('é', 3, '#😀')", "é#😀", "STRING NOT NULL"),
        ("RPAD('a', 2000000000, 'x')", "!longer", ""),
        ("REPEAT('ab', 3)", "ababab", "STRING NOT NULL"),
        ("REPEAT('ab', -1)", "", ""),
        ("REPEAT('ab', 3000000000)", "!longer", ""),
    ]);
}

#[test]
fn parts_are_taken_by_position() {
    check(&[
        ("SUBSTRING('This is a test String.', 2, 5)", "his i", "VARCHAR(22)"),
        ("SUBSTR('1世3', 1, 2)", "1世", "VARCHAR(3)"),
        ("SUBSTRING('hello', 0, 2)", "he", ""),
        ("SUBSTRING('hello', -3)", "llo", ""),
        ("SUBSTRING('hello', -9)", "", ""),
        ("SUBSTRING('hello', -2, 1)", "l", ""),
        ("SUBSTRING('hello', 9)", "", ""),
        ("SUBSTRING('hello', 2, 0)", "", ""),
        ("SUBSTRING('hello', 2, -1)", "\\N", ""),
        ("SUBSTRING('hello', 2, 9000000000)", "ello", ""),
        ("LEFT('apple', 2)", "ap", "VARCHAR(5)"),
        ("LEFT('apple', -1)", "", ""),
        ("LEFT('a', 100)", "a", ""),
        ("RIGHT('naïve', 3)", "ïve", "VARCHAR(5)"),
        ("RIGHT('apple', 0)", "", ""),
        ("OVERLAY('banana', '__', 2, 1)", "b__nana", "VARCHAR(8) NOT NULL"),
        ("OVERLAY('abcde', 'xyz', 2)", "axyze", ""),
        ("OVERLAY('abc', 'x', 9)", "abc", ""),
        ("OVERLAY('abc', 'x', 2, 9)", "ax", ""),
        ("ELT(2, 'a', 'b')", "b", "CHAR(1)"),
        ("ELT(1, 'scala', 'java')", "scala", "VARCHAR(5)"),
        ("ELT(0, 'a', 'b')", "\\N", ""),
        ("ELT(3, 'a', 'b')", "\\N", ""),
        ("ELT(9223372036854775807, 'ab', 'b')", "\\N", "VARCHAR(2)"),
        ("ELT(1, 'a', CAST(NULL, 'STRING'))", "a", "STRING"),
        ("ELT(2, BYTES 'a', BYTES 'bc')", "0x6263", "VARBINARY(2)"),
        ("ELT(1, 'a', BYTES 'b')", "!argument 2", ""),
    ]);
    assert!(crate::build::call("ELT", vec![crate::build::literal_int(-1), crate::build::literal_text("a")]).is_err());
}

#[test]
fn texts_are_split() {
    check(&[
        ("SPLIT_INDEX('https://www.nexmark.com/a/b', '/', 2)", "www.nexmark.com", "STRING"),
        ("SPLIT_INDEX('https://www.nexmark.com/a/b', '/', 4)", "b", ""),
        ("SPLIT_INDEX('https://www.nexmark.com/a/b', '/', 5)", "\\N", ""),
        ("SPLIT_INDEX('a//b', '/', 1)", "", ""),
        ("SPLIT_INDEX('a', '/', 0)", "a", ""),
        ("SPLIT_INDEX('', '/', 0)", "\\N", ""),
        ("SPLIT_INDEX('a/b', '/', -1)", "\\N", ""),
        ("SPLIT_INDEX('a::b::c', '::', 2)", "c", ""),
        ("SPLIT_INDEX('aéb', 'é', 1)", "b", ""),
        ("SPLIT_INDEX('a,b', 44, 1)", "b", ""),
        ("SPLIT_INDEX('a,b', 0, 1)", "\\N", ""),
        ("SPLIT(',123,,x,', ',')", "[, 123, , x, ]", "ARRAY<STRING> NOT NULL"),
        ("SPLIT('12é', '')", "[1, 2, é]", ""),
        ("SPLIT('a.b', '.')", "[a, b]", ""),
        ("SPLIT('a', CAST(NULL, 'STRING'))", "\\N", "ARRAY<STRING>"),
        ("STR_TO_MAP('k1=v1,k2=v2,k3')", "{k1=v1, k2=v2, k3=NULL}", "MAP<STRING, STRING> NOT NULL"),
        ("STR_TO_MAP('k1:v1;k2: v2;;', ';', ':')", "{k1=v1, k2= v2}", ""),
        ("STR_TO_MAP('k1$$v1|k2$$ v2', '\\|', '\\$\\$')", "{k1=v1, k2= v2}", ""),
        ("STR_TO_MAP('a=1,a=2')", "{a=2}", ""),
        ("STR_TO_MAP('')", "{}", ""),
    ]);
}

#[test]
fn texts_are_searched_and_replaced() {
    check(&[
        ("POSITION('an', 'banana')", "2", "INT NOT NULL"),
        ("POSITION('', 'banana')", "1", ""),
        ("POSITION('é', 'naïé')", "4", ""),
        ("LOCATE('a', 'banana', 3)", "4", "INT NOT NULL"),
        ("LOCATE('x', 'banana', 3)", "0", ""),
        ("INSTR('banana', 'e')", "0", "INT NOT NULL"),
        ("INSTR('banana', 'a', 1, 2)", "4", ""),
        ("INSTR('banana', 'a', -1, 2)", "4", ""),
        ("INSTR('banana', 'an', -1)", "4", ""),
        ("INSTR('banana', 'a', 1, 0)", "!must be positive", ""),
        ("STARTSWITH('in中文', 'in中')", "true", "BOOLEAN NOT NULL"),
        ("ENDSWITH('apache', '')", "true", "BOOLEAN NOT NULL"),
        ("ENDSWITH(BYTES 'abc', BYTES 'bc')", "true", ""),
        ("REPLACE('banana', 'a', 'AA')", "bAAnAAnAA", "STRING NOT NULL"),
        ("REPLACE('banana', 'an', '')", "ba", ""),
        ("REPLACE('banäna', 'n', '')", "baäa", ""),
        ("REPLACE('ab', '', '-')", "-a-b-", ""),
        ("REPLACE('ab', 'x', CAST(NULL, 'STRING'))", "\\N", "STRING"),
        ("TRANSLATE('www.apache.org', 'abcde.', '123')", "www1p13horg", "STRING NOT NULL"),
        ("TRANSLATE('www.apache.org', 'abcae', '12345')", "www.1p13h5.org", ""),
        ("TRANSLATE('www.apache.org', '...', '123')", "www1apache1org", ""),
        ("TRANSLATE('www.😀.org', '😀w', '笑α')", "ααα.笑.org", ""),
        ("TRANSLATE('abc', CAST(NULL, 'STRING'), 'x')", "abc", "STRING NOT NULL"),
        ("TRANSLATE('abc', 'b', CAST(NULL, 'STRING'))", "ac", ""),
    ]);
}

#[test]
fn patterns_match() {
    check(&[
        ("LIKE('test', 'te%')", "true", "BOOLEAN NOT NULL"),
        ("LIKE('test', '%st')", "true", ""),
        ("LIKE('test', '%es%')", "true", ""),
        ("LIKE('test', 'test')", "true", ""),
        ("LIKE('test', '')", "false", ""),
        ("LIKE('', '%%')", "true", ""),
        ("LIKE('Banana', '_anana')", "true", ""),
        ("LIKE('abcabd', 'a%b_')", "true", ""),
        ("LIKE('abcabde', 'a%b_')", "false", ""),
        ("LIKE('✅test✅', '✅%_✅')", "true", ""),
        ("LIKE('te_st', 'te!_%', '!')", "true", ""),
        ("LIKE('test', 'te!_%', '!')", "false", ""),
        ("LIKE('te_st', 'te__st', '_')", "true", ""),
        ("LIKE('te_st', 'te_st', '_')", "!escape", ""),
        ("LIKE('test', '%e_t%', 'ab')", "!one character", ""),
        ("LIKE('t', CAST(NULL, 'STRING'))", "\\N", "BOOLEAN"),
        ("`SIMILAR TO`('cherry', '(apple|cherry)')", "true", "BOOLEAN NOT NULL"),
        ("`SIMILAR TO`('cherry pie', '(apple|cherry)')", "false", ""),
        ("`SIMILAR TO`('cherry pie', 'ch_r{2}y%[a-f]')", "true", ""),
        ("`SIMILAR TO`('a.b^c', 'a.b^c')", "true", ""),
        ("`SIMILAR TO`('a12', 'a[[:DIGIT:]]+')", "true", ""),
        ("`SIMILAR TO`('a', '(a')", "!no pattern", ""),
    ]);
}

#[test]
fn texts_are_put_together() {
    check(&[
        ("CONCAT('a', 'b', 'c')", "abc", "STRING NOT NULL"),
        ("CONCAT('a', CAST(NULL, 'STRING'))", "\\N", "STRING"),
        ("CONCAT_WS('~', 'AA', CAST(NULL, 'STRING'), 'BB', '', 'CC')", "AA~BB~~CC", "STRING"),
        ("CONCAT_WS(CAST(NULL, 'STRING'), 'AA')", "\\N", ""),
        ("PRINTF('%05d|%s', 3, 'apple')", "00003|apple", "STRING"),
        ("PRINTF('%d %s', CAST(NULL, 'INT'), CAST(NULL, 'STRING'))", "null null", ""),
        ("PRINTF('%s')", "\\N", ""),
        ("PRINTF('%s %s', 1, 2, 3)", "1 2", ""),
        ("PRINTF('%.1f', CAST(10.24, 'FLOAT'))", "10.2", ""),
        ("PRINTF('%.2f %8.3f|%-6s|', 2.675e0, -1.5, 'ab')", "2.68   -1.500|ab    |", ""),
        ("PRINTF('%s', DATE '2024-07-30')", "19934", ""),
        ("PRINTF('%s', TIMESTAMP '2024-07-30 10:24:00.256')", "2024-07-30T10:24:00.256", ""),
        ("PRINTF('%s', TIMESTAMP '2024-07-30 10:24:00')", "2024-07-30T10:24", ""),
        ("PRINTF('%b %X %c %%', TRUE, 255, 'x')", "true FF x %", ""),
        ("PRINTF('%,d %+d %(d', 1234567, 5, -3)", "1,234,567 +5 (3)", ""),
        ("PRINTF('%2$s %1$s', 'a', 'b')", "b a", ""),
        ("PRINTF('%d', 'a')", "\\N", ""),
        ("PRINTF('%e', 12345.678e0)", "1.234568e+04", ""),
        ("TYPEOF(12)", "INT NOT NULL", "STRING"),
        ("TYPEOF(NULL)", "NULL", "STRING"),
        ("CHAR_LENGTH(UUID())", "36", "INT NOT NULL"),
    ]);
}

#[test]
fn texts_are_encoded() {
    check(&[
        ("ASCII('héllo')", "104", "INT NOT NULL"),
        ("ASCII('日')", "-26", ""),
        ("ASCII('')", "0", ""),
        ("CHR(66)", "B", "STRING"),
        ("CHR(353)", "a", ""),
        ("CHR(-1)", "", ""),
        ("BIN(7)", "111", "STRING NOT NULL"),
        ("BIN(-100)", "1111111111111111111111111111111111111111111111111111111110011100", ""),
        ("HEX(-7)", "FFFFFFFFFFFFFFF9", "STRING NOT NULL"),
        ("HEX('héllo')", "68C3A96C6C6F", ""),
        ("UNHEX('466C696E6B')", "0x466c696e6b", "BYTES"),
        ("UNHEX('146')", "0x0046", ""),
        ("UNHEX('1')", "0x00", ""),
        ("UNHEX('z1')", "\\N", ""),
        ("UNHEX('z')", "\\N", ""),
        ("UNHEX('')", "0x", ""),
        ("TO_BASE64('héllo')", "aMOpbGxv", "STRING NOT NULL"),
        ("FROM_BASE64('aMOpbGxv')", "héllo", "STRING NOT NULL"),
        ("FROM_BASE64('?')", "!not base64", ""),
        ("ENCODE('é', 'UTF-16BE')", "0x00e9", "BYTES NOT NULL"),
        ("ENCODE('é', 'iso-8859-1')", "0xe9", ""),
        ("ENCODE('é', 'klingon')", "!known charset", ""),
        ("DECODE(ENCODE('é😀', 'UTF-16LE'), 'UTF-16LE')", "é😀", "STRING NOT NULL"),
        ("IS_VALID_UTF8(UNHEX('E282'))", "false", "BOOLEAN"),
        ("MAKE_VALID_UTF8(UNHEX('41E28242'))", "A\u{FFFD}B", "STRING"),
        ("MAKE_VALID_UTF8(UNHEX('EDA080'))", "\u{FFFD}", ""),
        ("DECODE(UNHEX('EDA080'), 'UTF-8')", "\u{FFFD}", ""),
        ("IS_ALPHA('abcé')", "true", "BOOLEAN NOT NULL"),
        ("IS_ALPHA('')", "false", ""),
        ("IS_DIGIT('99999999999')", "true", "BOOLEAN NOT NULL"),
        ("IS_DIGIT('-45')", "false", ""),
        ("IS_DIGIT(CAST(NULL, 'STRING'))", "false", ""),
        ("IS_DECIMAL(' 7 ')", "true", "BOOLEAN NOT NULL"),
        ("IS_DECIMAL('1e3')", "true", ""),
        ("IS_DECIMAL('abc')", "false", ""),
    ]);
}
