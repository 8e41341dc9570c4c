//! Tests of arithmetic: values and types as Flink gives them.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Decimal128Array, Int32Array, Int64Array};
use arrow::datatypes::{Decimal128Type, Int32Type};

use rheos_core::types::TypeKind;

use super::precision::{Digits, of_product, of_quotient, of_remainder, of_sum};
use crate::build::{call, literal_decimal, literal_int};
use crate::expr::{EvalConfig, Expr};
use crate::functions::testing::check;
use crate::program::Program;

#[test]
fn integers_wrap_and_keep_the_wider_type() {
    check(&[
        ("`+`(1, 2)", "3", "INT NOT NULL"),
        ("`+`(2147483647, 1)", "-2147483648", "INT NOT NULL"),
        ("`-`(-2147483648, 1)", "2147483647", "INT NOT NULL"),
        ("`*`(CAST(100, 'TINYINT'), CAST(3, 'TINYINT'))", "44", "TINYINT NOT NULL"),
        ("`+`(CAST(1, 'TINYINT'), 3000000000)", "3000000001", "BIGINT NOT NULL"),
        ("`+`(1, NULL)", "\\N", "INT"),
        ("`-`(CAST(-128, 'TINYINT'))", "-128", "TINYINT NOT NULL"),
        ("`-`(NULL)", "\\N", "INT"),
    ]);
}

#[test]
fn division_of_integers_is_cut_and_refuses_zero() {
    check(&[
        ("`/`(7, 2)", "3", "INT NOT NULL"),
        ("`/`(-100, 3)", "-33", "INT NOT NULL"),
        ("`/`(CAST(100, 'BIGINT'), -7)", "-14", "BIGINT NOT NULL"),
        ("`/`(-2147483648, -1)", "-2147483648", "INT NOT NULL"),
        ("`/`(7, 0)", "!division by zero", ""),
        ("MOD(7, 0)", "!division by zero", ""),
        ("`/`(CAST(NULL, 'INT'), 0)", "\\N", "INT"),
        ("`/`(7, CAST(NULL, 'INT'))", "\\N", "INT"),
        ("MOD(-100, 3)", "-1", "INT NOT NULL"),
        ("`%`(7, 4)", "3", "INT NOT NULL"),
        ("MOD(CAST(5000000000, 'BIGINT'), 123)", "62", "INT NOT NULL"),
        ("MOD(CAST(-5000000000, 'BIGINT'), 123)", "-62", "INT NOT NULL"),
        ("MOD(7, CAST(-4, 'BIGINT'))", "3", "BIGINT NOT NULL"),
    ]);
}

#[test]
fn floating_point_division_goes_to_infinity() {
    check(&[
        ("`/`(1.5E0, 0.0E0)", "Infinity", "DOUBLE NOT NULL"),
        ("`/`(0E0, 0)", "NaN", "DOUBLE NOT NULL"),
        ("`/`(7E0, 2)", "3.5", "DOUBLE NOT NULL"),
        ("`*`(0.5, 3E0)", "1.5", "DOUBLE NOT NULL"),
        ("`+`(CAST(1, 'FLOAT'), 2)", "3.0", "FLOAT NOT NULL"),
        ("`+`(CAST(1, 'FLOAT'), 2.5)", "3.5", "DOUBLE NOT NULL"),
        ("`-`(1.5E0)", "-1.5", "DOUBLE NOT NULL"),
    ]);
}

#[test]
fn decimals_grow_as_flink_says() {
    check(&[
        ("`/`(7.0, 2)", "3.500000000000", "DECIMAL(13, 12) NOT NULL"),
        ("`/`(2, 3.0)", "0.666667", "DECIMAL(17, 6) NOT NULL"),
        ("`/`(-2, 3.0)", "-0.666667", ""),
        ("`+`(100.25, 0.005)", "100.255", "DECIMAL(7, 3) NOT NULL"),
        ("`-`(CAST(1, 'BIGINT'), 0.1)", "0.9", "DECIMAL(21, 1) NOT NULL"),
        ("`*`(100.25, 1.5)", "150.375", "DECIMAL(8, 3) NOT NULL"),
        ("`*`(0.908, CAST(1000, 'BIGINT'))", "908.000", "DECIMAL(23, 3) NOT NULL"),
        ("MOD(7.5, 2)", "1.5", "DECIMAL(2, 1) NOT NULL"),
        ("MOD(CAST(1514356320001, 'DECIMAL(19, 0)'), 6)", "1", "INT NOT NULL"),
        ("MOD(CAST(-7, 'DECIMAL(19, 0)'), CAST(4, 'DECIMAL(3, 0)'))", "-3", "DECIMAL(3, 0) NOT NULL"),
        ("MOD(100, CAST(7, 'DECIMAL(3, 0)'))", "2", "DECIMAL(3, 0) NOT NULL"),
        ("`/`(1.0, 0)", "!division by zero", ""),
        ("`/`(1.0, 0.0)", "!division by zero", ""),
        ("`-`(1.50)", "-1.50", "DECIMAL(3, 2) NOT NULL"),
        ("`-`(CAST(100.255, 'DECIMAL(18, 2)'), 0.01)", "100.25", "DECIMAL(19, 2) NOT NULL"),
    ]);
}

#[test]
fn decimals_beyond_38_digits_give_up_fraction_digits_and_then_are_null() {
    let digits = |precision, scale, adjusted| Digits { precision, scale, adjusted };
    assert_eq!(of_sum((10, 2), (11, 2)), digits(12, 2, false));
    assert_eq!(of_sum((38, 10), (38, 0)), digits(38, 6, true));
    assert_eq!(of_product((38, 18), (38, 18)), digits(38, 6, true));
    assert_eq!(of_quotient((10, 2), (4, 1)), digits(16, 7, false));
    assert_eq!(of_quotient((38, 18), (38, 18)), digits(38, 6, true));
    assert_eq!(of_remainder((10, 2), (4, 1)), digits(5, 2, false));

    let big = "99999999999999999999.999999999999999999";
    check(
        &[
            (&format!("`*`({big}, {big})"), "\\N", "DECIMAL(38, 6)"),
            (&format!("`*`({big}, 0.000000000000000001)"), "100.00000000000000000", ""),
            (&format!("`/`({big}, {big})"), "1.000000", "DECIMAL(38, 6)"),
        ]
        .map(|(a, b, _)| (a as &str, b, "")),
    );
}

#[test]
fn dates_and_times_move_by_intervals() {
    check(&[
        ("`+`(TIMESTAMP '2024-05-01 08:00:00.000', MILLIS 86400000)", "2024-05-02 08:00:00.000", "TIMESTAMP(3) NOT NULL"),
        ("`-`(TIMESTAMP '2024-05-01 08:00:00.123456', MILLIS 1)", "2024-05-01 08:00:00.122456", "TIMESTAMP(6) NOT NULL"),
        ("`+`(MONTHS 14, TIMESTAMP '2024-05-01 08:00:00.000')", "2025-07-01 08:00:00.000", ""),
        ("`+`(TIMESTAMP '2024-01-31 10:00:00', MONTHS 1)", "2024-02-29 10:00:00.000", "TIMESTAMP(0) NOT NULL"),
        ("`+`(DATE '2024-01-31', MONTHS 1)", "2024-02-29", "DATE NOT NULL"),
        ("`-`(DATE '2024-02-29', MONTHS 12)", "2023-02-28", "DATE NOT NULL"),
        ("`+`(DATE '2024-05-01', MILLIS 2592000000)", "2024-05-31", "DATE NOT NULL"),
        ("`+`(DATE '2024-05-01', MILLIS 3600000)", "2024-05-01", "DATE NOT NULL"),
        ("`-`(TIME '00:30:00', MILLIS 3600000)", "23:30:00", "TIME(0) NOT NULL"),
        ("`+`(CAST(NULL, 'DATE'), MONTHS 1)", "\\N", "DATE"),
        ("`-`(DATE '2024-05-01', DATE '2024-05-01')", "!cannot be applied to DATE and DATE", ""),
        ("`+`('a', 1)", "!cannot be applied to CHAR(1) and INT", ""),
    ]);
}

#[test]
fn intervals_are_added_and_multiplied() {
    check(&[
        ("`+`(MILLIS 1000, MILLIS 500)", "+0 00:00:01.500", "INTERVAL DAY TO SECOND NOT NULL"),
        ("`*`(3, MILLIS 3600000)", "+0 03:00:00.000", ""),
        ("`*`(MONTHS 5, -3)", "-1-03", "INTERVAL YEAR TO MONTH NOT NULL"),
        ("`/`(MILLIS 1000, 4)", "+0 00:00:00.250", ""),
        ("`/`(MONTHS 1, 0)", "!division by zero", ""),
        ("`-`(MILLIS 1500)", "-0 00:00:01.500", ""),
        ("`+`(MILLIS 1, MONTHS 1)", "!cannot be applied", ""),
    ]);
}

fn evaluate(expr: &Expr, columns: &[ArrayRef]) -> ArrayRef {
    let mut program = Program::compile(std::slice::from_ref(expr), &EvalConfig::default()).unwrap();
    program.evaluate(columns, columns[0].len()).unwrap().remove(0)
}

#[test]
fn nulls_stay_null_beside_constants_and_columns() {
    let price = Expr::column(0, TypeKind::BigInt.nullable());
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![Some(1000), None, Some(-3)]));
    let euro = evaluate(&call("*", vec![literal_decimal("0.908").unwrap(), price.clone()]).unwrap(), std::slice::from_ref(&longs));
    let expected = Decimal128Array::from(vec![Some(908_000), None, Some(-2724)]).with_precision_and_scale(23, 3).unwrap();
    assert_eq!(euro.as_primitive::<Decimal128Type>(), &expected);
    let sum = evaluate(&call("+", vec![price.clone(), literal_decimal("0.5").unwrap()]).unwrap(), std::slice::from_ref(&longs));
    assert_eq!(sum.as_primitive::<Decimal128Type>().value(2), -25);
    let rest = evaluate(&call("MOD", vec![price, literal_int(7)]).unwrap(), &[longs]);
    assert_eq!(rest.as_primitive::<Int32Type>(), &Int32Array::from(vec![Some(6), None, Some(-3)]));
}

#[test]
fn a_zero_beside_null_is_no_division_by_zero() {
    let (a, b) = (Expr::column(0, TypeKind::Int.nullable()), Expr::column(1, TypeKind::Int.nullable()));
    let quotient = call("/", vec![a, b]).unwrap();
    let divisors: ArrayRef = Arc::new(Int32Array::from(vec![Some(2), Some(0), None]));
    let fine: ArrayRef = Arc::new(Int32Array::from(vec![Some(9), None, Some(1)]));
    let expected = Int32Array::from(vec![Some(4), None, None]);
    assert_eq!(evaluate(&quotient, &[fine, divisors.clone()]).as_primitive::<Int32Type>(), &expected);

    let wrong: ArrayRef = Arc::new(Int32Array::from(vec![Some(9), Some(1), None]));
    let mut program = Program::compile(&[quotient], &EvalConfig::default()).unwrap();
    assert_eq!(program.evaluate(&[wrong, divisors], 3).unwrap_err().to_string(), "division by zero");
}
