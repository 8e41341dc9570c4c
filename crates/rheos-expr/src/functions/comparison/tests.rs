//! Tests of comparisons and IN.

use crate::build::{call, literal_int};
use crate::expr::Expr;
use crate::functions::testing::check;
use rheos_core::schema::Field;
use rheos_core::types::TypeKind;

#[test]
fn values_meet_in_a_common_type() {
    check(&[
        ("`<`(1, 2.5)", "true", "BOOLEAN NOT NULL"),
        ("`=`(CAST(2, 'TINYINT'), 2)", "true", ""),
        ("`>=`(15.00, 15)", "true", ""),
        ("`=`(CAST(3000000000, 'BIGINT'), 3000000000.0)", "true", ""),
        ("`<`(CAST(1, 'FLOAT'), 1.5E0)", "true", ""),
        ("`=`(NULL, 1)", "\\N", "BOOLEAN"),
        ("`=`(CAST(NULL, 'INT'), 1)", "\\N", "BOOLEAN"),
        ("`=`(DATE '2024-01-15', TIMESTAMP '2024-01-15 00:00:00')", "true", ""),
        ("`<`(TIMESTAMP '2024-01-15 00:02:00.000', TIMESTAMP '2024-01-15 00:02:00.0005')", "true", ""),
        ("`>`(DATE '2024-01-15', '2024-01-14')", "true", ""),
        ("`=`(TRUE, FALSE)", "false", ""),
        ("`<`(MILLIS 5, MILLIS 6)", "true", ""),
        ("`=`(1, 'a')", "!INT and CHAR(1) cannot be compared; cast one of them", ""),
        ("`<`(TRUE, 1)", "!cannot be compared", ""),
    ]);
}

#[test]
fn texts_compare_by_bytes() {
    check(&[
        ("`<`('Banana', 'b')", "true", ""),
        ("`<>`('a', 'a ')", "true", "BOOLEAN NOT NULL"),
        ("`!=`('a', 'a')", "false", ""),
        ("`>`('é', 'z')", "true", ""),
        ("`=`(BYTES 'ab', BYTES 'ab')", "true", ""),
    ]);
}

#[test]
fn nan_is_in_no_order_and_zeros_are_equal() {
    check(&[
        ("`>`(`/`(0E0, 0E0), 1)", "false", ""),
        ("`=`(`/`(0E0, 0E0), `/`(0E0, 0E0))", "false", ""),
        ("`<>`(`/`(0E0, 0E0), 1E0)", "true", ""),
        ("`=`(0E0, `-`(0E0))", "true", ""),
        ("`>`(`/`(1E0, 0E0), 1)", "true", ""),
    ]);
}

#[test]
fn distinctness_knows_null() {
    check(&[
        ("`IS DISTINCT FROM`(CAST(NULL, 'INT'), 10)", "true", "BOOLEAN NOT NULL"),
        ("`IS DISTINCT FROM`(CAST(NULL, 'INT'), NULL)", "false", "BOOLEAN NOT NULL"),
        ("`IS NOT DISTINCT FROM`('a', 'a')", "true", ""),
        ("`IS NOT DISTINCT FROM`(1, 2)", "false", ""),
        ("`IS NOT DISTINCT FROM`(CAST(NULL, 'STRING'), 'a')", "false", ""),
    ]);
}

#[test]
fn membership_is_unknown_where_null_could_be_equal() {
    check(&[
        ("IN(10, 10, 30)", "true", "BOOLEAN NOT NULL"),
        ("IN(5, 10, 30)", "false", ""),
        ("IN(5, 10, NULL)", "\\N", "BOOLEAN"),
        ("IN(10, 10, NULL)", "true", ""),
        ("IN(CAST(NULL, 'INT'), 10)", "\\N", ""),
        ("IN('x', 'x', CAST(NULL, 'STRING'))", "true", ""),
        ("IN('y', 'x', CAST(NULL, 'STRING'))", "\\N", ""),
        ("IN(2, 1.5, 2.0)", "true", ""),
        ("IN(3, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "true", ""),
        ("IN(30, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", "false", ""),
        ("IN(1.5E0, 1, 1.5)", "true", ""),
        ("IN(DATE '2024-01-01', DATE '2024-01-02', DATE '2024-01-01')", "true", ""),
        ("IN(1, 'a')", "!cannot be compared", ""),
    ]);
}

#[test]
fn nested_values_are_equal_or_not_but_have_no_order() {
    check(&[
        ("`=`(ARRAY[1, NULL], ARRAY[1, NULL])", "true", ""),
        ("`<>`(ARRAY[1, 2], ARRAY[2, 1])", "true", ""),
        ("`=`(ROW(1, 'a'), ROW(1, 'a'))", "true", ""),
        ("`<`(ARRAY[1], ARRAY[2])", "!no order", ""),
    ]);
    let row = Expr::column(0, TypeKind::Row(vec![Field::new("name", TypeKind::STRING.nullable())]).nullable());
    let error = call(">", vec![row, literal_int(3)]).unwrap_err();
    assert_eq!(error, "'>': ROW<`name` STRING> and INT cannot be compared");
}
