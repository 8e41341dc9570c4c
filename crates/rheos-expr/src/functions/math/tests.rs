//! What the mathematical functions give, after Flink's documentation and tests.

use crate::functions::testing::{check, check_first};

#[test]
fn numbers_keep_their_type_without_sign() {
    check(&[
        ("ABS(-7)", "7", "INT NOT NULL"),
        ("ABS(-2147483648)", "-2147483648", "INT NOT NULL"),
        ("ABS(-2.50)", "2.50", "DECIMAL(3, 2) NOT NULL"),
        ("ABS(-2.5e0)", "2.5", "DOUBLE NOT NULL"),
        ("SIGN(-100)", "-1", "INT NOT NULL"),
        ("SIGN(CAST(-2.5, 'DECIMAL(18, 2)'))", "-1.00", "DECIMAL(18, 2) NOT NULL"),
        ("SIGN(0.0e0)", "0.0", "DOUBLE NOT NULL"),
        ("SIGN(4.9e-324)", "1.0", ""),
        ("ABS('x')", "!must be a number", ""),
    ]);
}

#[test]
fn numbers_are_rounded() {
    check(&[
        ("FLOOR(-2.5e0)", "-3.0", "DOUBLE NOT NULL"),
        ("CEIL(-2.5e0)", "-2.0", "DOUBLE NOT NULL"),
        ("FLOOR(CAST(-2.5, 'DECIMAL(18, 2)'))", "-3", "DECIMAL(18, 0) NOT NULL"),
        ("CEILING(CAST(0.01, 'DECIMAL(18, 2)'))", "1", "DECIMAL(18, 0) NOT NULL"),
        ("CEIL(-100)", "-100", "INT NOT NULL"),
        ("ROUND(CAST(-2.5, 'DECIMAL(18, 2)'))", "-3", "DECIMAL(17, 0) NOT NULL"),
        ("TRUNCATE(123.456, 5)", "123.456", "DECIMAL(6, 3) NOT NULL"),
        ("ROUND(7, -1)", "10", "INT NOT NULL"),
        ("ROUND(-15, -1)", "-20", ""),
        ("ROUND(14, -1)", "10", ""),
        ("TRUNCATE(-19, -1)", "-10", ""),
        ("ROUND(2.675e0, 2)", "2.68", "DOUBLE NOT NULL"),
        ("ROUND(-2.5e0, 0)", "-3.0", ""),
        ("ROUND(0.5e0)", "1.0", ""),
        ("ROUND(4.9e-324, 2)", "0.0", ""),
        ("ROUND(1.5e300, 2)", "1.5E300", ""),
        ("ROUND(155.0e0, -1)", "160.0", ""),
        ("ROUND(5.0e0, -1)", "10.0", ""),
        ("ROUND(4.0e0, -2)", "0.0", ""),
        ("TRUNCATE(-2.99e0)", "-2.0", ""),
        ("TRUNCATE(42.324e0, -1)", "40.0", ""),
        ("TRUNCATE(CAST(42.324, 'FLOAT'), 2)", "42.32", "FLOAT NOT NULL"),
    ]);
    check_first(&[
        ("ROUND(CAST(-2.55, 'DECIMAL(18, 2)'), 1)", "-2.6", "DECIMAL(18, 1) NOT NULL"),
        ("ROUND(CAST(155, 'DECIMAL(18, 2)'), -1)", "160", "DECIMAL(17, 0) NOT NULL"),
        ("ROUND(12345.12345, 2)", "12345.12", "DECIMAL(8, 2) NOT NULL"),
        ("TRUNCATE(123.456, 2)", "123.45", "DECIMAL(6, 2) NOT NULL"),
    ]);
}

#[test]
fn powers_and_logarithms_are_doubles() {
    check(&[
        ("POWER(7, 2)", "49.0", "DOUBLE NOT NULL"),
        ("POWER(2, 0.5)", "1.4142135623730951", ""),
        ("SQRT(CAST(NULL, 'INT'))", "\\N", "DOUBLE"),
        ("EXP(0)", "1.0", "DOUBLE NOT NULL"),
        ("LN(0)", "-Infinity", ""),
        ("LOG(3, 81)", "4.0", ""),
        ("LOG(1)", "0.0", ""),
        ("LOG2(8)", "3.0", ""),
        ("LOG10(1000)", "3.0", ""),
    ]);
}

#[test]
fn angles_are_doubles() {
    check(&[
        ("ROUND(SIN(7), 6)", "0.656987", "DOUBLE NOT NULL"),
        ("ROUND(COS(7), 6)", "0.753902", ""),
        ("ROUND(TAN(7), 6)", "0.871448", ""),
        ("ROUND(COT(1), 6)", "0.642093", ""),
        ("ROUND(ASIN(1), 6)", "1.570796", ""),
        ("ROUND(ACOS(0), 6)", "1.570796", ""),
        ("ROUND(ATAN(1), 6)", "0.785398", ""),
        ("ROUND(SINH(1), 6)", "1.175201", ""),
        ("ROUND(COSH(0.5), 6)", "1.127626", ""),
        ("ROUND(TANH(1), 6)", "0.761594", ""),
        ("ROUND(ATAN2(7, -7), 6)", "2.356194", ""),
        ("ROUND(DEGREES(7), 4)", "401.0705", ""),
        ("ROUND(RADIANS(10), 6)", "0.174533", ""),
        ("PI()", "3.141592653589793", "DOUBLE NOT NULL"),
        ("E()", "2.718281828459045", "DOUBLE NOT NULL"),
    ]);
}

/// The expected numbers are Flink's.
#[test]
fn seeded_numbers_are_javas() {
    use crate::build::{call, literal_int};
    use crate::program::Program;
    use arrow::array::AsArray;
    use arrow::datatypes::{Float64Type, Int32Type};
    let rand = call("RAND", vec![literal_int(10)]).unwrap();
    let integer = call("RAND_INTEGER", vec![literal_int(5), literal_int(10)]).unwrap();
    let mut program = Program::compile(&[rand, integer], &Default::default()).unwrap();
    let first = program.evaluate(&[], 2).unwrap();
    assert_eq!(first[0].as_primitive::<Float64Type>().value(0), 0.7304302967434272);
    assert_eq!(first[1].as_primitive::<Int32Type>().value(0), 7);
    let second = program.evaluate(&[], 2).unwrap();
    assert_ne!(first[0].as_primitive::<Float64Type>().values(), second[0].as_primitive::<Float64Type>().values());
}

#[test]
fn chance_is_within_its_bounds() {
    use crate::build::{call, literal_int};
    use crate::program::Program;
    use arrow::array::AsArray;
    use arrow::datatypes::{Float64Type, Int32Type};
    let exprs = [call("RAND", vec![]).unwrap(), call("RAND_INTEGER", vec![literal_int(3)]).unwrap()];
    let mut program = Program::compile(&exprs, &Default::default()).unwrap().with_env(rheos_core::env::Env::manual(1));
    let columns = program.evaluate(&[], 200).unwrap();
    let reals = columns[0].as_primitive::<Float64Type>().values();
    assert!(reals.iter().all(|x| (0.0..1.0).contains(x)) && reals[0] != reals[1]);
    let mut integers = columns[1].as_primitive::<Int32Type>().values().to_vec();
    integers.sort_unstable();
    integers.dedup();
    assert_eq!(integers, [0, 1, 2]);
    check(&[("RAND_INTEGER(0)", "!must be positive", "")]);
}
