//! What the functions of JSON give, after Flink's documentation and tests.

use super::number::write_number;
use super::path::Path;
use super::value::Json;
use crate::functions::testing::check;

const DOC: &str = r#"'{"type":"account","age":42,"money":123.450,"big":1e3,"on":true,"none":null,"address":{"street":"Main","z":1,"b":2},"tags":["a","b",[1]],"rows":[{"z":1},{"z":2},{}]}'"#;

#[test]
fn scalars_are_taken_out() {
    for (path, expected) in [
        ("$.type", "account"),
        ("lax $.age", "42"),
        ("$.money", "123.450"),
        ("$.big", "1E+3"),
        ("$.on", "true"),
        ("$.none", "\\N"),
        ("$.address", "\\N"),
        ("$.address.street", "Main"),
        ("$[''address''][\"street\"]", "Main"),
        ("$.tags[1]", "b"),
        ("$.tags[-2]", "b"),
        ("$.tags[7]", "\\N"),
        ("strict $.missing", "\\N"),
        ("lax $.missing.deeper", "\\N"),
        ("type", "account"),
        ("$.rows[*].z", "\\N"),
        ("$.[", "\\N"),
    ] {
        check(&[(&format!("JSON_VALUE({DOC}, '{path}')"), expected, "STRING")]);
    }
    check(&[
        (&format!("JSON_VALUE({DOC}, 'lax $.missing', 'DEFAULT', 'e', 'DEFAULT', 'x')"), "e", "STRING"),
        (&format!("JSON_VALUE({DOC}, 'strict $.missing', 'DEFAULT', 'e', 'DEFAULT', 7)"), "7", ""),
        (&format!("JSON_VALUE({DOC}, 'lax $.address', 'ERROR', NULL, 'NULL', NULL)"), "!no value", ""),
        ("JSON_VALUE('not json', '$.a', 'NULL', NULL, 'DEFAULT', 'bad')", "bad", ""),
        ("JSON_VALUE('not json', 'lax $.a', 'DEFAULT', 'empty', 'DEFAULT', 'bad')", "empty", ""),
        ("JSON_VALUE('null', '$', 'DEFAULT', 'empty', 'DEFAULT', 'bad')", "bad", ""),
        ("JSON_VALUE('[1,[2,3]]', 'lax $[0]')", "1", ""),
        ("JSON_VALUE('\"é\\u00e9\\ud83d\\ude00\\n\"', '$')", "éé😀\\n", ""),
        ("JSON_VALUE(CAST(NULL, 'STRING'), '$')", "\\N", ""),
        ("JSON_VALUE('{\"a\":1,\"a\":2}', '$.a')", "2", ""),
        ("JSON_VALUE('{}', '$[?(@.a)]')", "!filters are not supported", ""),
    ]);
}

#[test]
fn arrays_and_objects_are_taken_out() {
    for (path, wrapper, expected) in [
        ("$.address", "WITHOUT", r#"{"b":2,"street":"Main","z":1}"#),
        ("$.tags", "WITHOUT", r#"["a","b",[1]]"#),
        ("$.tags", "UNCONDITIONAL", r#"[["a","b",[1]]]"#),
        ("$.tags", "CONDITIONAL", r#"["a","b",[1]]"#),
        ("$.age", "WITHOUT", "\\N"),
        ("$.age", "CONDITIONAL", "[42]"),
        ("$.money", "UNCONDITIONAL", "[123.450]"),
        ("$.rows[*].z", "WITHOUT", "[1,2]"),
        ("$.rows[*].z", "UNCONDITIONAL", "[[1,2]]"),
        ("$.rows[0:2]", "WITHOUT", r#"[{"z":1},{"z":2}]"#),
        ("$.rows[0,1].z", "WITHOUT", "[1,2]"),
        ("$..z", "WITHOUT", "[1,1,2]"),
        ("$.missing[*].z", "WITHOUT", "\\N"),
        ("lax $.missing[*].z", "WITHOUT", "[]"),
        ("$.address.*", "WITHOUT", r#"["Main",1,2]"#),
    ] {
        check(&[(&format!("JSON_QUERY({DOC}, '{path}', '{wrapper}', 'NULL', 'NULL')"), expected, "STRING")]);
    }
    check(&[
        (&format!("JSON_QUERY({DOC}, 'lax $.age', 'WITHOUT', 'EMPTY ARRAY', 'EMPTY OBJECT')"), "[]", ""),
        (&format!("JSON_QUERY({DOC}, 'strict $.age', 'WITHOUT', 'EMPTY ARRAY', 'EMPTY OBJECT')"), "{}", ""),
        (&format!("JSON_QUERY({DOC}, '$.age', 'WITHOUT', 'NULL', 'ERROR')"), "!no array or object", ""),
        (&format!("JSON_QUERY({DOC}, '$.tags', 'WITHOUT', 'NULL', 'NULL', 'ARRAY')"), "[a, b, [1]]", "ARRAY<STRING>"),
        (&format!("JSON_QUERY({DOC}, '$.address', 'WITHOUT', 'NULL', 'EMPTY ARRAY', 'ARRAY')"), "[]", ""),
        (&format!("JSON_EXISTS({DOC}, '$.age')"), "true", "BOOLEAN"),
        (&format!("JSON_EXISTS({DOC}, '$.rows[1]')"), "true", ""),
        (&format!("JSON_EXISTS({DOC}, '$.none')"), "false", ""),
        (&format!("JSON_EXISTS({DOC}, '$.missing')"), "false", ""),
        (&format!("JSON_EXISTS({DOC}, 'strict $.missing', 'TRUE')"), "true", ""),
        (&format!("JSON_EXISTS({DOC}, 'strict $.missing', 'UNKNOWN')"), "\\N", ""),
        (&format!("JSON_EXISTS({DOC}, 'strict $.missing', 'ERROR')"), "!nothing at the path", ""),
    ]);
}

#[test]
fn texts_are_checked() {
    check(&[
        ("`IS JSON`('{}')", "true", "BOOLEAN NOT NULL"),
        ("`IS JSON`('a')", "false", ""),
        ("`IS JSON`('\"a\"', 'SCALAR')", "true", ""),
        ("`IS JSON`('{}', 'SCALAR')", "false", ""),
        ("`IS JSON`(' [1, 2] ', 'ARRAY')", "true", ""),
        ("`IS JSON`('{\"a\":[]}', 'OBJECT')", "true", ""),
        ("`IS JSON`(CAST(NULL, 'STRING'), 'VALUE')", "\\N", "BOOLEAN"),
    ]);
    for no_json in ["", "01", "1.", "1e", "+1", "nul", "nullx", "[1,]", "{\"a\"}", "{a:1}", "\"\n\"", "\"\\x\"", "\"", "[", "1 2", "'a'"] {
        assert_eq!(Json::parse(no_json), None, "{no_json}");
    }
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    assert_eq!(Json::parse(&deep), None, "depth is bounded");
}

#[test]
fn documents_are_put_together() {
    check(&[
        ("JSON_OBJECT('b', 'x', 'a', 1, 'NULL ON NULL')", r#"{"a":1,"b":"x"}"#, "STRING NOT NULL"),
        ("JSON_OBJECT('a', NULL, 'b', CAST(NULL, 'INT'), 'NULL ON NULL')", r#"{"a":null,"b":null}"#, ""),
        ("JSON_OBJECT('a', CAST(NULL, 'INT'), 'b', TRUE, 'ABSENT ON NULL')", r#"{"b":true}"#, ""),
        ("JSON_OBJECT('d', CAST(100.2, 'DECIMAL(18, 2)'), 'NULL ON NULL')", r#"{"d":100.20}"#, ""),
        (
            "JSON_OBJECT('k', JSON_OBJECT('n', JSON_ARRAY('x', 'ABSENT ON NULL'), 'NULL ON NULL'), 'NULL ON NULL')",
            r#"{"k":{"n":["x"]}}"#,
            "",
        ),
        ("JSON_OBJECT('k', JSON('{\"b\": 1, \"a\": [2]}'), 'NULL ON NULL')", r#"{"k":{"a":[2],"b":1}}"#, ""),
        ("JSON_OBJECT('k', JSON('  '), 'NULL ON NULL')", r#"{"k":null}"#, ""),
        ("JSON_OBJECT('k', JSON('{'), 'NULL ON NULL')", "!not JSON", ""),
        ("JSON_OBJECT('NULL ON NULL')", "{}", ""),
        ("JSON_OBJECT(CAST(NULL, 'STRING'), 1, 'NULL ON NULL')", "!a key is NULL", ""),
        ("JSON_ARRAY(10, 'x', CAST(NULL, 'INT'), TRUE, 'ABSENT ON NULL')", r#"[10,"x",true]"#, "STRING NOT NULL"),
        ("JSON_ARRAY(10, CAST(NULL, 'INT'), 'NULL ON NULL')", "[10,null]", ""),
        ("JSON_ARRAY('ABSENT ON NULL')", "[]", ""),
        ("JSON_STRING('V')", r#""V""#, "STRING NOT NULL"),
        ("JSON_STRING(1.5e0)", "1.5", ""),
        ("JSON_STRING(0.0e0)", "0.0", ""),
        ("JSON_STRING(CAST(1.1, 'FLOAT'))", "1.1", ""),
        ("JSON_STRING(TIMESTAMP '1990-06-02 13:37:42.001')", r#""1990-06-02T13:37:42.001""#, ""),
        ("JSON_STRING(TO_TIMESTAMP_LTZ(0, 3))", r#""1970-01-01T00:00:00Z""#, "STRING"),
        ("JSON_STRING(BYTES 'Test')", r#""VGVzdA==""#, ""),
        ("JSON_STRING(ARRAY['A1', 'A2'])", r#"["A1","A2"]"#, ""),
        ("JSON_STRING(MAP['M2', 2, 'M1', 1])", r#"{"M1":1,"M2":2}"#, ""),
        ("JSON_STRING(CAST(NULL, 'STRING'))", "\\N", "STRING"),
    ]);
}

#[test]
fn texts_are_quoted_and_unquoted() {
    check(&[
        ("JSON_QUOTE('with \"quotes\" / ≠ 😀')", r#""with \\"quotes\\" \\/ \\u2260 \\ud83d\\ude00""#, "STRING NOT NULL"),
        ("JSON_QUOTE('')", r#""""#, ""),
        ("JSON_UNQUOTE('\"abc\"')", "abc", "STRING NOT NULL"),
        ("JSON_UNQUOTE('\"[\"\\u0041\"]\"')", r#"["A"]"#, ""),
        ("JSON_UNQUOTE('\"\"\"')", "\"", ""),
        ("JSON_UNQUOTE('[1,2,3]')", "[1,2,3]", ""),
        ("JSON_UNQUOTE('\"[1, 2, 3}')", "\"[1, 2, 3}", ""),
        ("JSON_UNQUOTE('\"through \\u006z\"')", r#""through \\u006z""#, ""),
        ("JSON_UNQUOTE('\"valid \\uD801\\uDC00\"')", "valid 𐐀", ""),
        ("JSON_UNQUOTE('\"')", "\"", ""),
    ]);
}

#[test]
fn numbers_are_written_as_java_does() {
    for (text, expected) in [
        ("12", "12"),
        ("-0", "0"),
        ("1.10", "1.10"),
        ("-0.0", "0.0"),
        ("1e3", "1E+3"),
        ("1.5E-7", "1.5E-7"),
        ("0.000001", "0.000001"),
        ("0.0000001", "1E-7"),
        ("1.0E10", "1.0E+10"),
        ("1.23456789E8", "123456789"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("-1.25e1", "-12.5"),
    ] {
        let mut out = String::new();
        write_number(&mut out, text);
        assert_eq!(out, expected, "{text}");
    }
}

#[test]
fn paths_that_are_none_are_refused() {
    for path in ["", "$.", "$..", "$[", "$[a]", "$['a'", "$x", "lax", "$.a b"] {
        assert!(Path::parse(path).is_err_and(|e| e.is_invalid()) || path == "lax", "{path}");
    }
    for path in ["$.length()", "$[?(@.a == 1)]", "$['a','b']"] {
        assert!(Path::parse(path).is_err_and(|e| !e.is_invalid()), "{path}");
    }
    assert!(Path::parse(" LAX  $['it\\'s'].a ").unwrap().lax);
}
