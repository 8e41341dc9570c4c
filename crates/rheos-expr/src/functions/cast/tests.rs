//! Tests of conversions, each of a constant and of a column.

use rheos_core::schema::Field;
use rheos_core::text::write_value;
use rheos_core::types::TypeKind as K;

use crate::build::{
    call, cast, literal_bool, literal_bytes, literal_date, literal_double, literal_int, literal_interval_ms, literal_null, literal_number,
    literal_text, literal_time, literal_timestamp,
};
use crate::expr::{EvalConfig, Expr};
use crate::program::Program;

fn evaluate(expr: &Expr, columns: &[arrow::array::ArrayRef], zone: &str) -> Result<arrow::array::ArrayRef, String> {
    let config = EvalConfig { time_zone: zone.into() };
    let mut program = Program::compile(std::slice::from_ref(expr), &config).map_err(|e| e.to_string())?;
    Ok(program.evaluate(columns, 2).map_err(|e| e.to_string())?.remove(0))
}

fn text(expr: &Expr, columns: &[arrow::array::ArrayRef], zone: &str) -> Result<String, String> {
    let array = evaluate(expr, columns, zone)?;
    assert_eq!(*array.data_type(), expr.ty().to_arrow());
    let mut out = String::new();
    write_value(&mut out, array.as_ref(), 1, expr.ty()).map_err(|e| e.to_string())?;
    Ok(out)
}

fn convert_in(zone: &str, value: &Expr, to: &K, or_null: bool) -> Result<String, String> {
    let of_constant = text(&cast(value.clone(), to.clone().nullable(), or_null)?, &[], zone);
    let column = evaluate(value, &[], zone)?;
    let of_column = cast(Expr::column(0, value.ty().clone()), to.clone().nullable(), or_null)?;
    assert_eq!(text(&of_column, &[column], zone), of_constant, "a column and a constant");
    of_constant
}

fn convert(value: Expr, to: K) -> String {
    convert_in("UTC", &value, &to, false).unwrap_or_else(|e| format!("!{e}"))
}

fn try_convert(value: &str, to: K) -> String {
    convert_in("UTC", &literal_text(value), &to, true).unwrap_or_else(|e| format!("!{e}"))
}

fn number(text: &str) -> Expr {
    match text.strip_prefix('-') {
        Some(rest) => call("-", vec![literal_number(rest).unwrap()]).unwrap(),
        None => literal_number(text).unwrap(),
    }
}

#[test]
fn integers_wrap_when_narrowed() {
    assert_eq!(convert(number("99999999999"), K::Int), "1215752191");
    assert_eq!(convert(number("70000"), K::SmallInt), "4464");
    assert_eq!(convert(number("-129"), K::TinyInt), "127");
    assert_eq!(convert(number("200"), K::TinyInt), "-56");
    assert_eq!(convert(number("7"), K::Double), "7.0");
}

#[test]
fn fractions_are_cut_and_doubles_stop_at_the_ends() {
    assert_eq!(convert(number("-2.5"), K::Int), "-2");
    assert_eq!(convert(number("3.99"), K::BigInt), "3");
    assert_eq!(convert(number("-2.5E0"), K::Int), "-2");
    assert_eq!(convert(number("1E20"), K::BigInt), "9223372036854775807");
    assert_eq!(convert(number("1E20"), K::TinyInt), "-1");
    assert_eq!(convert(literal_double(f64::NAN), K::Int), "0");
}

#[test]
fn decimals_round_half_up_and_are_null_where_they_do_not_fit() {
    assert_eq!(convert(number("12.345"), K::Decimal(10, 2)), "12.35");
    assert_eq!(convert(number("-12.345"), K::Decimal(10, 2)), "-12.35");
    assert_eq!(convert(number("2.5E0"), K::Decimal(6, 2)), "2.50");
    assert_eq!(convert(number("0.1E0"), K::Decimal(38, 20)), "0.10000000000000000000");
    assert_eq!(convert(number("1000"), K::Decimal(3, 0)), "\\N");
    assert_eq!(convert(number("99.99"), K::Decimal(3, 1)), "\\N");
    assert_eq!(convert(number("3.4E38"), K::Decimal(6, 2)), "\\N");
    assert_eq!(convert(number("12.5"), K::Double), "12.5");
    assert_eq!(convert(number("0.30000000000000000000000001"), K::Double), "0.3");
    assert_eq!(convert(literal_double(f64::NAN), K::Decimal(6, 2)), "!NaN cannot be cast to DECIMAL(6, 2)");
}

#[test]
fn booleans_are_one_and_zero_and_read_in_capitals() {
    assert_eq!(convert(literal_bool(true), K::Int), "1");
    assert_eq!(convert(literal_bool(true), K::Decimal(3, 1)), "1.0");
    assert_eq!(convert(number("0"), K::Boolean), "false");
    assert_eq!(convert(number("-3"), K::Boolean), "true");
    assert_eq!(convert(literal_bool(false), K::STRING), "FALSE");
}

#[test]
fn texts_become_numbers_as_flink_reads_them() {
    let read = |text: &str| [K::Int, K::BigInt, K::Double, K::Decimal(6, 1)].map(|to| try_convert(text, to)).join(" ");
    assert_eq!(read("123"), "123 123 123.0 123.0");
    assert_eq!(read(" 7 "), "7 7 7.0 7.0");
    assert_eq!(read("12.7"), "12 12 12.7 12.7");
    assert_eq!(read("abc"), "\\N \\N \\N \\N");
    assert_eq!(read("99999999999"), "\\N 99999999999 9.9999999999E10 \\N");
    assert_eq!(read("1e3"), "\\N \\N 1000.0 1000.0");
    assert_eq!(convert(literal_text("abc"), K::Int), "!'abc' cannot be cast to INT; TRY_CAST gives NULL instead");
    assert_eq!(convert(literal_text("99999999999"), K::Decimal(6, 1)), "\\N", "too large is not an error");
    assert_eq!(convert(literal_text("abc"), K::Decimal(6, 1)), "!'abc' cannot be cast to DECIMAL(6, 1); TRY_CAST gives NULL instead");
}

#[test]
fn texts_become_booleans_in_several_spellings() {
    let read = |text: &str| try_convert(text, K::Boolean);
    assert_eq!(["true", "FALSE", "t", "yes", "maybe", "0", "1"].map(read), ["true", "false", "true", "true", "\\N", "false", "true"]);
}

#[test]
fn texts_become_dates_and_times() {
    assert_eq!(try_convert("2024-2-3", K::Date), "2024-02-03");
    assert_eq!(try_convert("2024-02-30", K::Date), "\\N");
    assert_eq!(try_convert("1:02:03", K::Time(0)), "01:02:03");
    assert_eq!(try_convert("25:00:00", K::Time(0)), "\\N");
    assert_eq!(try_convert("1999-12-31 23:59:59.999", K::Timestamp(3)), "1999-12-31 23:59:59.999");
    assert_eq!(try_convert("2024-02-30 00:00:00", K::Timestamp(3)), "2024-02-29 00:00:00.000");
    assert_eq!(try_convert("2024-01-01T10:00:00", K::Timestamp(3)), "\\N");
    assert_eq!(try_convert("1969-12-31 23:59:59.123456", K::Timestamp(0)), "1969-12-31 23:59:59.000");
    assert_eq!(try_convert("2024-01-01 00:00:00.999999999", K::Timestamp(9)), "2024-01-01 00:00:00.999999999");
    assert!(convert(literal_text("nope"), K::Date).starts_with("!'nope' cannot be cast to DATE"));
}

#[test]
fn lengths_of_texts_and_bytes_are_kept() {
    assert_eq!(convert(literal_text("fig-tree"), K::Varchar(3)), "fig");
    assert_eq!(convert(literal_text("fig"), K::Char(5)), "fig  ");
    assert_eq!(convert(literal_text("ñandú"), K::Char(3)), "ñan");
    assert_eq!(convert(literal_text("a"), K::STRING), "a");
    assert_eq!(convert(number("12345"), K::Varchar(3)), "123");
    assert_eq!(convert(literal_text("ab"), K::Binary(4)), "0x61620000");
    assert_eq!(convert(literal_bytes(vec![1, 2, 3]), K::Varbinary(2)), "0x0102");
    assert_eq!(convert(literal_bytes(b"ab".to_vec()), K::STRING), "ab");
}

#[test]
fn values_read_as_flink_writes_them() {
    assert_eq!(convert(number("1E10"), K::STRING), "1.0E10");
    assert_eq!(convert(number("1.50"), K::STRING), "1.50");
    assert_eq!(convert(literal_date("2024-02-29").unwrap(), K::STRING), "2024-02-29");
    assert_eq!(convert(literal_time("09:05:00").unwrap(), K::STRING), "09:05:00");
    assert_eq!(convert(literal_timestamp("2024-02-29 09:05:00").unwrap(), K::STRING), "2024-02-29 09:05:00");
    assert_eq!(convert(literal_timestamp("2024-02-29 09:05:00.120").unwrap(), K::STRING), "2024-02-29 09:05:00.120");
    assert_eq!(convert(literal_interval_ms(-90_000), K::STRING), "-0 00:01:30.000");
    let list = call("ARRAY", vec![literal_bool(true), literal_null()]).unwrap();
    assert_eq!(convert(list, K::STRING), "[TRUE, NULL]");
    let map = call("MAP", vec![literal_text("k"), call("ROW", vec![literal_int(1), literal_text("a")]).unwrap()]).unwrap();
    assert_eq!(convert(map, K::STRING), "{k=(1, a)}");
}

#[test]
fn dates_times_and_timestamps_convert() {
    let at = || literal_timestamp("2024-01-15 00:01:40.123456").unwrap();
    assert_eq!(convert(at(), K::Date), "2024-01-15");
    assert_eq!(convert(at(), K::Time(0)), "00:01:40");
    assert_eq!(convert(at(), K::Timestamp(3)), "2024-01-15 00:01:40.123");
    assert_eq!(convert(at(), K::Timestamp(9)), "2024-01-15 00:01:40.123456000");
    assert_eq!(convert(at(), K::TimestampLtz(3)), "2024-01-15 00:01:40.123Z");
    assert_eq!(convert(literal_date("2024-01-15").unwrap(), K::Timestamp(3)), "2024-01-15 00:00:00.000");
    assert_eq!(convert(literal_time("10:00:00").unwrap(), K::Timestamp(3)), "1970-01-01 10:00:00.000");
    let too_late = literal_timestamp("9999-12-31 00:00:00").unwrap();
    assert!(convert(too_late, K::Timestamp(9)).ends_with("is out of the range of TIMESTAMP(9)"));
}

#[test]
fn local_time_follows_the_zone_of_the_session() {
    let convert = |value: &Expr, to: K| convert_in("Europe/Berlin", value, &to, false).unwrap();
    let summer = literal_timestamp("2024-07-01 12:00:00.000").unwrap();
    assert_eq!(convert(&summer, K::TimestampLtz(3)), "2024-07-01 10:00:00.000Z");
    let instant = cast(summer, K::TimestampLtz(3).nullable(), false).unwrap();
    assert_eq!(convert(&instant, K::Timestamp(3)), "2024-07-01 12:00:00.000");
    assert_eq!(convert(&instant, K::STRING), "2024-07-01 12:00:00.000");
    let night = cast(literal_text("2024-01-01 00:30:00"), K::TimestampLtz(3).nullable(), false).unwrap();
    assert_eq!(convert(&night, K::Date), "2024-01-01");
    assert_eq!(convert(&night, K::TimestampLtz(0)), "2023-12-31 23:30:00.000Z");
    let skipped = literal_timestamp("2024-03-31 02:30:00.000").unwrap();
    assert_eq!(convert(&skipped, K::TimestampLtz(3)), "2024-03-31 01:30:00.000Z");
}

#[test]
fn nested_values_convert_part_by_part() {
    let list = call("ARRAY", vec![literal_text("1"), literal_text("2.9"), literal_null()]).unwrap();
    assert_eq!(convert(list, K::Array(Box::new(K::Int.nullable()))), "[1, 2, NULL]");
    let row = call("ROW", vec![literal_int(1), literal_text("7")]).unwrap();
    let target = K::Row(vec![Field::new("a", K::Double.nullable()), Field::new("b", K::BigInt.nullable())]);
    assert_eq!(convert(row, target), "(1.0, 7)");
    let map = call("MAP", vec![literal_int(1), literal_int(2)]).unwrap();
    let target = K::Map(Box::new(K::STRING.not_null()), Box::new(K::Decimal(3, 1).nullable()));
    assert_eq!(convert(map, target), "{1=2.0}");
}

#[test]
fn what_cannot_be_converted_in_part_is_null_as_a_whole() {
    let list = |ty: K| K::Array(Box::new(ty.nullable()));
    let convert = |value: &Expr, to: K, or_null| convert_in("UTC", value, &to, or_null).unwrap_or_else(|e| format!("!{e}"));
    let texts = call("ARRAY", vec![literal_text("1"), literal_text("x")]).unwrap();
    assert_eq!(convert(&texts, list(K::Int), true), "\\N");
    assert!(convert(&texts, list(K::Int), false).starts_with("!'x' cannot be cast to INT"));
    let row = call("ROW", vec![literal_int(300), call("ARRAY", vec![literal_text("12:34")]).unwrap()]).unwrap();
    let target = |ty: K| K::Row(vec![Field::new("a", K::TinyInt.nullable()), Field::new("b", list(ty).nullable())]);
    assert_eq!(convert(&row, target(K::Date), true), "\\N");
    assert_eq!(convert(&row, target(K::STRING), true), "(44, [12:34])");
    let map = call("MAP", vec![literal_text("a"), literal_int(2)]).unwrap();
    assert_eq!(convert(&map, K::Map(Box::new(K::Int.nullable()), Box::new(K::Int.nullable())), true), "\\N");
}

#[test]
fn some_rows_are_null_and_others_are_not() {
    let array = |text: &str| call("ARRAY", vec![literal_text(text)]).unwrap();
    let rows = |values: [&str; 2]| {
        let columns: Vec<_> = values.iter().map(|v| evaluate(&array(v), &[], "UTC").unwrap().slice(0, 1)).collect();
        arrow::compute::concat(&[columns[0].as_ref(), columns[1].as_ref()]).unwrap()
    };
    let tried = cast(Expr::column(0, array("1").ty().clone()), K::Array(Box::new(K::Int.nullable())).nullable(), true).unwrap();
    assert_eq!(text(&tried, &[rows(["x", "2"])], "UTC").unwrap(), "[2]");
    assert_eq!(text(&tried, &[rows(["2", "x"])], "UTC").unwrap(), "\\N");
}

#[test]
fn bytes_that_are_no_utf8_are_no_text() {
    let broken = literal_bytes(vec![0x41, 0x80]);
    assert_eq!(convert_in("UTC", &broken, &K::STRING, true).unwrap(), "\\N");
    assert!(convert(broken, K::STRING).contains("MAKE_VALID_UTF8"));
    assert_eq!(convert(literal_bytes("é€".into()), K::Char(3)), "é€ ");
}

#[test]
fn impossible_casts_are_refused_with_advice() {
    let row = call("ROW", vec![literal_int(1)]).unwrap();
    assert_eq!(convert(row, K::Int), "!a value of ROW<`EXPR$0` INT NOT NULL> cannot be cast to INT");
    let at = literal_timestamp("2024-01-15 00:00:00").unwrap();
    assert!(convert(at, K::BigInt).contains("UNIX_TIMESTAMP"));
    assert!(convert(literal_int(1), K::Timestamp(3)).contains("TO_TIMESTAMP_LTZ"));
    assert_eq!(convert(literal_null(), K::Timestamp(3)), "\\N");
}
