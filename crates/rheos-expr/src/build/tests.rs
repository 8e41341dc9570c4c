//! Tests of building expressions.

use rheos_core::types::TypeKind as K;

use super::*;
use crate::expr::Literal;

fn common(kinds: &[K]) -> Option<K> {
    let types: Vec<LogicalType> = kinds.iter().map(|k| k.clone().not_null()).collect();
    common_type(&types).map(|ty| ty.kind)
}

#[test]
fn the_common_type_loses_nothing() {
    assert_eq!(common(&[K::Int, K::Decimal(2, 1), K::TinyInt]), Some(K::Decimal(11, 1)));
    assert_eq!(common(&[K::Int, K::Decimal(10, 2)]), Some(K::Decimal(12, 2)));
    assert_eq!(common(&[K::Decimal(38, 0), K::Decimal(38, 10)]), Some(K::Decimal(38, 0)));
    assert_eq!(common(&[K::SmallInt, K::BigInt]), Some(K::BigInt));
    assert_eq!(common(&[K::Float, K::BigInt]), Some(K::Float));
    assert_eq!(common(&[K::Float, K::Decimal(3, 1)]), Some(K::Double));
    assert_eq!(common(&[K::Char(2), K::Char(2)]), Some(K::Char(2)));
    assert_eq!(common(&[K::Char(2), K::Char(4)]), Some(K::Varchar(4)));
    assert_eq!(common(&[K::Char(2), K::STRING]), Some(K::STRING));
    assert_eq!(common(&[K::Timestamp(3), K::Timestamp(6)]), Some(K::Timestamp(6)));
    assert_eq!(common(&[K::Date, K::Timestamp(3)]), Some(K::Timestamp(3)));
    assert_eq!(common(&[K::Timestamp(3), K::TimestampLtz(0)]), Some(K::TimestampLtz(3)));
    assert_eq!(common(&[K::Null, K::Boolean]), Some(K::Boolean));
    assert_eq!(common(&[K::Int, K::Boolean]), None);
    assert_eq!(common(&[K::Int, K::STRING]), None);
    let nullable = common_type(&[K::Int.not_null(), K::Int.nullable()]).unwrap();
    assert!(nullable.nullable);
}

#[test]
fn implicit_casts_only_widen() {
    assert!(is_implicitly_castable(&K::Int, &K::BigInt));
    assert!(!is_implicitly_castable(&K::BigInt, &K::Int));
    assert!(is_implicitly_castable(&K::Decimal(5, 2), &K::Double));
    assert!(!is_implicitly_castable(&K::Double, &K::Decimal(5, 2)));
    assert!(is_implicitly_castable(&K::Char(3), &K::STRING));
    assert!(!is_implicitly_castable(&K::Int, &K::STRING));
    assert!(is_implicitly_castable(&K::Null, &K::Date));
}

#[test]
fn constants_have_the_types_that_flink_gives_them() {
    let kind = |e: Expr| e.ty().kind.clone();
    assert_eq!(kind(literal_number("7").unwrap()), K::Int);
    assert_eq!(kind(literal_number("99999999999").unwrap()), K::BigInt);
    assert_eq!(kind(literal_number("99999999999999999999").unwrap()), K::Decimal(20, 0));
    assert_eq!(kind(literal_number("7.0").unwrap()), K::Decimal(2, 1));
    assert_eq!(kind(literal_number("0.908").unwrap()), K::Decimal(3, 3));
    assert_eq!(kind(literal_number("0.005").unwrap()), K::Decimal(3, 3));
    assert_eq!(kind(literal_number("1e3").unwrap()), K::Double);
    assert_eq!(kind(literal_text("né")), K::Char(2));
    assert_eq!(kind(literal_timestamp("2024-01-15 00:02:00.0005").unwrap()), K::Timestamp(4));
    assert!(literal_date("2024-02-30").unwrap_err().contains("is not a date"));
    assert!(literal_decimal("1e999").is_err());
    assert!(literal_number(&"9".repeat(39)).unwrap_err().contains("more than 38 digits"));
}

#[test]
fn calls_of_constants_are_folded_unless_they_fail() {
    let three = call("+", vec![literal_int(1), literal_int(2)]).unwrap();
    assert_eq!(three.literal(), Some(&Literal::Int(3)));
    assert_eq!(three.ty(), &K::Int.not_null());
    let fails = call("/", vec![literal_int(1), literal_int(0)]).unwrap();
    assert!(matches!(fails, Expr::Call { .. }));
    let joined = call("||", vec![literal_text("x"), literal_text("y")]).unwrap();
    assert_eq!(joined.literal_text(), Some("xy"));
    let date = cast(literal_text("2024-01-15"), K::Date.nullable(), false).unwrap();
    assert_eq!(date.literal(), Some(&Literal::Int(19_737)));
    let in_zone = cast(literal_text("2024-01-15 00:00:00"), K::TimestampLtz(3).nullable(), false).unwrap();
    assert!(in_zone.literal().is_none(), "it depends on the session");
    let too_large = cast(literal_int(1000), K::Decimal(2, 0).nullable(), false).unwrap();
    assert_eq!((too_large.literal(), too_large.ty().nullable), (Some(&Literal::Null), true));
}

#[test]
fn arguments_are_cast_to_what_the_function_takes() {
    let column = Expr::column(0, K::Int.nullable());
    let Expr::Call { args, ty, .. } = call("<", vec![column, literal_number("2.5").unwrap()]).unwrap() else { panic!("a call") };
    assert_eq!(ty, K::Boolean.nullable());
    assert_eq!(args[0].ty(), &K::Decimal(11, 1).nullable());
    assert_eq!(args[1].literal(), Some(&Literal::Decimal("25".into())));
}

#[test]
fn errors_say_what_would_be_right() {
    assert_eq!(call("COALESC", vec![]).unwrap_err(), "there is no function COALESC; did you mean COALESCE?");
    assert_eq!(call("xyzzy", vec![]).unwrap_err(), "there is no function XYZZY");
    let error = call("nullif", vec![literal_int(1)]).unwrap_err();
    assert_eq!(error, "NULLIF: takes 2 arguments, got 1; it is written NULLIF(value, null_if_equal)");
    let error = case(vec![(literal_int(1), literal_int(2))], None).unwrap_err();
    assert_eq!(error, "CASE: a condition must be BOOLEAN, got INT");
}

#[test]
fn case_without_else_may_be_null() {
    let some = Expr::column(0, K::Boolean.nullable());
    let expr = case(vec![(some.clone(), literal_text("hi")), (some, literal_text("none"))], None).unwrap();
    assert_eq!(expr.ty(), &K::Varchar(4).nullable());
}

#[test]
fn expressions_survive_serialisation() {
    let expr = call("=", vec![Expr::column(0, K::STRING.nullable()), literal_text("a")]).unwrap();
    let json = serde_json::to_string(&expr).unwrap();
    assert_eq!(serde_json::from_str::<Expr>(&json).unwrap(), expr);
}
