//! Tests of concatenation, constructors and access, and of logic and choices.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Int32Array, StringArray, StructArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Int32Type};

use rheos_core::schema::Field;
use rheos_core::types::TypeKind;

use crate::build::{field, index, literal_int, literal_text};
use crate::expr::{EvalConfig, Expr};
use crate::functions::testing::check;
use crate::program::Program;

#[test]
fn texts_and_bytes_are_joined() {
    check(&[
        ("`||`('x', 'y')", "xy", "CHAR(2) NOT NULL"),
        ("`||`('<', CAST('a', 'STRING'))", "<a", "STRING NOT NULL"),
        ("`||`('x', NULL)", "\\N", "CHAR(1)"),
        ("`||`(BYTES 'a', BYTES 'b')", "0x6162", "BINARY(2) NOT NULL"),
        ("`||`('x', 1)", "!cast what is neither to STRING", ""),
    ]);
}

#[test]
fn constructors_unify_their_parts() {
    check(&[
        ("ARRAY[1, 2.5, NULL]", "[1.0, 2.5, NULL]", "ARRAY<DECIMAL(11, 1)> NOT NULL"),
        ("MAP['k', 1, 'l', NULL]", "{k=1, l=NULL}", "MAP<CHAR(1) NOT NULL, INT> NOT NULL"),
        ("MAP['k', 1, 'k', 2]", "{k=2}", ""),
        ("ROW(1, 'a', NULL)", "(1, a, NULL)", "ROW<`EXPR$0` INT NOT NULL, `EXPR$1` CHAR(1) NOT NULL, `EXPR$2` NULL> NOT NULL"),
        ("MAP['k', 1, 'l']", "!keys and values in turn", ""),
        ("ARRAY[1, 'a']", "!no common type: INT, CHAR(1)", ""),
        ("MAP[CAST(NULL, 'INT'), 1]", "!key is NULL", ""),
    ]);
}

#[test]
fn elements_are_found_or_null() {
    check(&[
        ("ITEM(ARRAY[7, 8], 2)", "8", "INT"),
        ("ITEM(ARRAY[7, 8], 3)", "\\N", ""),
        ("ITEM(ARRAY[7, 8], CAST(NULL, 'INT'))", "\\N", ""),
        ("ITEM(ARRAY[7], 0)", "!start at 1", ""),
        ("ITEM(MAP['os', 'ios', 'v', '17'], 'v')", "17", "VARCHAR(3)"),
        ("ITEM(MAP['os', 'ios'], 'x')", "\\N", ""),
        ("ITEM(MAP[1, 'a'], 'x')", "!the keys of the MAP are INT", ""),
        ("ITEM(ROW(7, 'x'), 2)", "x", "CHAR(1) NOT NULL"),
        ("ITEM(ROW(7, 'x'), 'EXPR$0')", "7", "INT NOT NULL"),
        ("ITEM(ROW(7, 'x'), 'y')", "!no such field in the ROW; it has EXPR$0, EXPR$1", ""),
        ("ITEM(ROW(7, 'x'), 0)", "!no such field", ""),
        ("ITEM(1, 1)", "!INT has no elements", ""),
    ]);
}

#[test]
fn a_field_of_a_null_row_is_null() {
    let ty = TypeKind::Row(vec![Field::new("a", TypeKind::Int.nullable()), Field::new("b", TypeKind::STRING.not_null())]).nullable();
    let DataType::Struct(fields) = ty.to_arrow() else { panic!("a struct") };
    let parts: Vec<ArrayRef> = vec![Arc::new(Int32Array::from(vec![1, 2, 3])), Arc::new(StringArray::from(vec!["x", "y", "z"]))];
    let rows: ArrayRef = Arc::new(StructArray::new(fields, parts, Some(NullBuffer::from(vec![true, false, true]))));
    let row = Expr::column(0, ty);
    let a = field(row.clone(), "a").unwrap();
    let b = field(row.clone(), "b").unwrap();
    assert!(b.ty().nullable, "the row may be NULL");
    let (first, named) = (index(row.clone(), literal_int(1)).unwrap(), index(row.clone(), literal_text("b")).unwrap());
    assert!(named.ty().nullable, "the row may be NULL");
    let columns = Program::compile(&[a, b, first, named], &EvalConfig::default()).unwrap().evaluate(&[rows.slice(1, 2)], 2).unwrap();
    assert_eq!([&columns[2], &columns[3]], [&columns[0], &columns[1]], "ITEM is FIELD by position from 1 or by name");
    assert_eq!(columns[0].as_primitive::<Int32Type>(), &Int32Array::from(vec![None, Some(3)]));
    assert_eq!(columns[1].as_string::<i32>(), &StringArray::from(vec![None, Some("z")]));
    assert_eq!(field(row.clone(), "c").unwrap_err(), "the row has no field 'c'; it has a, b");
    assert!(index(row, literal_int(3)).is_err());
    assert_eq!(field(literal_int(1), "c").unwrap_err(), "INT has no fields, so also no 'c'");
}

#[test]
fn logic_has_three_values() {
    check(&[
        ("AND(TRUE, CAST(NULL, 'BOOLEAN'))", "\\N", "BOOLEAN"),
        ("AND(FALSE, CAST(NULL, 'BOOLEAN'))", "false", ""),
        ("AND(CAST(NULL, 'BOOLEAN'), FALSE)", "false", ""),
        ("OR(TRUE, CAST(NULL, 'BOOLEAN'))", "true", ""),
        ("OR(FALSE, FALSE, TRUE)", "true", "BOOLEAN NOT NULL"),
        ("NOT(CAST(NULL, 'BOOLEAN'))", "\\N", ""),
        ("NOT(TRUE)", "false", ""),
        ("`IS TRUE`(CAST(NULL, 'BOOLEAN'))", "false", "BOOLEAN NOT NULL"),
        ("`IS NOT TRUE`(CAST(NULL, 'BOOLEAN'))", "true", ""),
        ("`IS FALSE`(FALSE)", "true", ""),
        ("`IS NOT FALSE`(FALSE)", "false", ""),
        ("`IS UNKNOWN`(CAST(NULL, 'BOOLEAN'))", "true", ""),
        ("`IS NULL`(1)", "false", "BOOLEAN NOT NULL"),
        ("`IS NOT NULL`(CAST(NULL, 'INT'))", "false", ""),
        ("AND(TRUE, 1)", "!argument 2 must be BOOLEAN, got INT", ""),
    ]);
}

#[test]
fn choices_take_the_common_type() {
    check(&[
        ("COALESCE(CAST(NULL, 'INT'), 1.5)", "1.5", "DECIMAL(11, 1) NOT NULL"),
        ("COALESCE(CAST(NULL, 'INT'), CAST(NULL, 'INT'))", "\\N", "INT"),
        ("IFNULL(CAST(NULL, 'STRING'), 'missing')", "missing", "STRING NOT NULL"),
        ("IF(CAST(NULL, 'BOOLEAN'), 'yes', 'no')", "no", "VARCHAR(3)"),
        ("IF(TRUE, 'yes', 'no')", "yes", "VARCHAR(3) NOT NULL"),
        ("NULLIF(1, 1)", "\\N", "INT"),
        ("NULLIF(7, 1.5)", "7", "INT"),
        ("NULLIF('a', CAST(NULL, 'STRING'))", "a", "CHAR(1)"),
        ("GREATEST(1, 2.5, 2)", "2.5", "DECIMAL(11, 1) NOT NULL"),
        ("LEAST('banana', 'Apple')", "Apple", "VARCHAR(6) NOT NULL"),
        ("LEAST(1, CAST(NULL, 'INT'))", "\\N", "INT"),
        ("GREATEST(DATE '2024-01-01', DATE '2023-01-01')", "2024-01-01", "DATE NOT NULL"),
        ("COALESCE(1, 'a')", "!no common type: INT, CHAR(1)", ""),
    ]);
}
