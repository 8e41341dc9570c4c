//! What the functions of arrays and maps give, after Flink's documentation and tests.

use crate::functions::testing::check;

#[test]
fn arrays_are_searched() {
    check(&[
        ("CARDINALITY(ARRAY[1, 2])", "2", "INT NOT NULL"),
        ("CARDINALITY(MAP['a', 1])", "1", "INT NOT NULL"),
        ("CARDINALITY(CAST(NULL, 'ARRAY<INT>'))", "\\N", "INT"),
        ("ELEMENT(ARRAY[4])", "4", "INT"),
        ("ELEMENT(ARRAY[1, 2])", "!2 elements", ""),
        ("ELEMENT(ARRAY_REMOVE(ARRAY[1], 1))", "\\N", "INT"),
        ("ARRAY_CONTAINS(ARRAY[1, 2, 3], 2)", "true", "BOOLEAN NOT NULL"),
        ("ARRAY_CONTAINS(ARRAY[1, 2, 3], 42)", "false", ""),
        ("ARRAY_CONTAINS(ARRAY[1, CAST(NULL, 'INT')], CAST(NULL, 'INT'))", "true", "BOOLEAN NOT NULL"),
        ("ARRAY_CONTAINS(ARRAY['Hello', 'World'], 'Hello!')", "false", ""),
        ("ARRAY_CONTAINS(ARRAY[1], TRUE)", "!must be INT", ""),
        ("ARRAY_CONTAINS(ARRAY[ROW(TRUE, 1), ROW(FALSE, 2)], ROW(FALSE, 2))", "true", ""),
        ("ARRAY_POSITION(ARRAY[1, 2, 2], 2)", "2", "INT NOT NULL"),
        ("ARRAY_POSITION(ARRAY[1, CAST(NULL, 'INT')], CAST(NULL, 'INT'))", "\\N", "INT"),
        ("ARRAY_POSITION(ARRAY[ARRAY[1], ARRAY[2]], ARRAY[0, 1])", "0", ""),
        ("ARRAY_POSITION(ARRAY[MAP[1, 'a'], MAP[3, 'c']], MAP[3, 'c'])", "2", ""),
        ("ARRAY_REMOVE(ARRAY[1, 2, 2], 2)", "[1]", "ARRAY<INT NOT NULL> NOT NULL"),
        ("ARRAY_REMOVE(ARRAY[1, CAST(NULL, 'INT')], CAST(NULL, 'INT'))", "[1]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_MAX(ARRAY[1, CAST(NULL, 'INT'), 2])", "2", "INT"),
        ("ARRAY_MIN(ARRAY['a', 'bc', 'd'])", "a", "VARCHAR(2)"),
        ("ARRAY_MIN(ARRAY[DATE '2022-01-02', DATE '2012-05-16'])", "2012-05-16", "DATE"),
        ("ARRAY_MAX(CAST(NULL, 'ARRAY<INT>'))", "\\N", "INT"),
        ("ARRAY_MAX(ARRAY[TRUE])", "!no order", ""),
    ]);
}

#[test]
fn arrays_are_rearranged() {
    let five = "ARRAY[1, 2, 3, 4, 5]";
    for (range, expected) in [
        ("-123", "[1, 2, 3, 4, 5]"),
        ("0", "[1, 2, 3, 4, 5]"),
        ("-3", "[3, 4, 5]"),
        ("9", "[]"),
        ("-123, -231", "[]"),
        ("-5, -5", "[1]"),
        ("-6, -5", "[1]"),
        ("5, 6", "[5]"),
        ("20, 30", "[]"),
        ("-123, 123", "[1, 2, 3, 4, 5]"),
        ("1, 0", "[1]"),
        ("0, -1", "[1, 2, 3, 4, 5]"),
        ("2, 3", "[2, 3]"),
        ("CAST(NULL, 'INT'), 3", "\\N"),
    ] {
        check(&[(&format!("ARRAY_SLICE({five}, {range})"), expected, "")]);
    }
    check(&[
        ("ARRAY_DISTINCT(ARRAY[3, 1, CAST(NULL, 'INT'), 1, CAST(NULL, 'INT')])", "[3, 1, NULL]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_REVERSE(ARRAY[1, 2, CAST(NULL, 'INT')])", "[NULL, 2, 1]", ""),
        ("ARRAY_SORT(ARRAY[2, 1, CAST(NULL, 'INT')])", "[NULL, 1, 2]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_SORT(ARRAY[2, 1, CAST(NULL, 'INT')], FALSE)", "[2, 1, NULL]", ""),
        ("ARRAY_SORT(ARRAY[2, 1, CAST(NULL, 'INT')], TRUE, FALSE)", "[1, 2, NULL]", ""),
        ("ARRAY_SORT(ARRAY[2, 1, CAST(NULL, 'INT')], FALSE, TRUE)", "[NULL, 2, 1]", ""),
        ("ARRAY_SORT(ARRAY[2, 1], CAST(NULL, 'BOOLEAN'))", "\\N", "ARRAY<INT NOT NULL>"),
        ("ARRAY_SORT(ARRAY['rerer', '12', 'a'])", "[12, a, rerer]", ""),
        ("ARRAY_SORT(ARRAY[ROW(1)])", "!no order", ""),
        ("ARRAY_JOIN(ARRAY['a', 'b', CAST(NULL, 'STRING')], '+')", "a+b", "STRING NOT NULL"),
        ("ARRAY_JOIN(ARRAY[CAST(NULL, 'STRING'), 'b', CAST(NULL, 'STRING')], '+', 'abc')", "abc+b+abc", ""),
        ("ARRAY_JOIN(ARRAY[CAST(NULL, 'STRING'), 'b'], '+', '')", "+b", ""),
        ("ARRAY_JOIN(ARRAY['a'], CAST(NULL, 'STRING'))", "\\N", "STRING"),
        ("ARRAY_JOIN(ARRAY[1], '+')", "!ARRAY of texts", ""),
    ]);
}

#[test]
fn arrays_are_put_together() {
    check(&[
        ("ARRAY_CONCAT(ARRAY[1, CAST(NULL, 'INT')], ARRAY[1, 4], ARRAY[5])", "[1, NULL, 1, 4, 5]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_CONCAT(ARRAY[1])", "[1]", ""),
        ("ARRAY_CONCAT(ARRAY[1], CAST(NULL, 'ARRAY<INT>'))", "\\N", "ARRAY<INT>"),
        ("ARRAY_CONCAT(ARRAY[1], ARRAY['a'])", "!no common type", ""),
        ("ARRAY_UNION(ARRAY[1, 2, CAST(NULL, 'INT')], ARRAY[1, CAST(NULL, 'INT'), 4])", "[1, 2, NULL, 4]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_EXCEPT(ARRAY[1, 2, 3, 2, 4, 2], ARRAY[2, 2])", "[1, 3, 4]", ""),
        ("ARRAY_EXCEPT(ARRAY[1, 2, 2], ARRAY[42])", "[1, 2]", ""),
        ("ARRAY_INTERSECT(ARRAY[1, 1, 2], ARRAY[1, CAST(NULL, 'INT'), 4])", "[1]", ""),
        ("ARRAY_INTERSECT(ARRAY[ARRAY[1, 2], ARRAY[3]], ARRAY[ARRAY[1, 2]])", "[[1, 2]]", ""),
        ("ARRAY_EXCEPT(ARRAY[1], TRUE)", "!must be an ARRAY", ""),
        ("ARRAY_APPEND(ARRAY[1, 2], CAST(NULL, 'INT'))", "[1, 2, NULL]", "ARRAY<INT> NOT NULL"),
        ("ARRAY_APPEND(CAST(NULL, 'ARRAY<INT>'), 1)", "\\N", "ARRAY<INT>"),
        ("ARRAY_APPEND(ARRAY['Hello'], 1)", "!must be", ""),
        ("ARRAY_PREPEND(ARRAY['Hello', 'World'], '!')", "[!, Hello, World]", ""),
    ]);
}

#[test]
fn maps_are_taken_apart_and_put_together() {
    check(&[
        ("MAP_KEYS(MAP['a', 1, 'b', 2])", "[a, b]", "ARRAY<CHAR(1) NOT NULL> NOT NULL"),
        ("MAP_VALUES(MAP['a', 1, 'b', CAST(NULL, 'INT')])", "[1, NULL]", "ARRAY<INT> NOT NULL"),
        ("MAP_ENTRIES(MAP['a', 1])", "[(a, 1)]", "ARRAY<ROW<`key` CHAR(1) NOT NULL, `value` INT NOT NULL> NOT NULL> NOT NULL"),
        ("MAP_KEYS(CAST(NULL, 'MAP<INT, INT>'))", "\\N", "ARRAY<INT>"),
        ("MAP_FROM_ARRAYS(ARRAY[1, 2], ARRAY['one', 'two'])", "{1=one, 2=two}", "MAP<INT NOT NULL, CHAR(3) NOT NULL> NOT NULL"),
        ("MAP_FROM_ARRAYS(ARRAY[1, 1], ARRAY['one', 'two'])", "{1=two}", ""),
        ("MAP_FROM_ARRAYS(ARRAY[1, 2], ARRAY['one'])", "!2 keys, but 1 values", ""),
        ("MAP_FROM_ARRAYS(CAST(NULL, 'ARRAY<INT>'), ARRAY['one'])", "\\N", ""),
        ("MAP_UNION(MAP['one', 1, 'two', 2], MAP['two', 9, 'three', 3])", "{one=1, three=3, two=9}", ""),
        ("MAP_UNION(MAP[1, 2])", "{1=2}", ""),
        ("MAP_UNION(MAP[1, 2], CAST(NULL, 'MAP<INT, INT>'))", "\\N", "MAP<INT, INT>"),
        ("MAP_UNION(MAP[1, 2], MAP['a', 2])", "!no common type", ""),
    ]);
}
