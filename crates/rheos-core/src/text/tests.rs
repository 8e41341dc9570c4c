//! Tests of the texts of values.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, ListArray, MapArray, StringArray, StructArray, TimestampMillisecondArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Int32Type, TimeUnit};

use super::*;
use crate::types::TypeKind;

fn text(write: impl FnOnce(&mut String)) -> String {
    let mut out = String::new();
    write(&mut out);
    out
}

#[test]
fn doubles_are_written_as_java_writes_them() {
    let cases: [(f64, &str); 18] = [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.0, "0.0"),
        (0.1, "0.1"),
        (1e10, "1.0E10"),
        (9_999_999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12_345_678.5, "1.23456785E7"),
        (0.001, "0.001"),
        (0.000999, "9.99E-4"),
        (4.9e-324, "4.9E-324"),
        (2e-323, "2.0E-323"),
        (1e23, "1.0E23"),
        (f64::MAX, "1.7976931348623157E308"),
        (f64::NAN, "NaN"),
        (f64::INFINITY, "Infinity"),
        (f64::NEG_INFINITY, "-Infinity"),
        (-2.5e-7, "-2.5E-7"),
    ];
    for (value, expected) in cases {
        assert_eq!(text(|o| write_double(o, value)), expected);
    }
    assert_eq!(text(|o| write_float(o, 3.4e38)), "3.4E38");
    assert_eq!(text(|o| write_float(o, 0.1)), "0.1");
    assert_eq!(text(|o| write_float(o, f32::from_bits(1))), "1.4E-45");
}

#[test]
fn decimals_keep_their_scale() {
    assert_eq!(text(|o| write_decimal(o, -5, 2)), "-0.05");
    assert_eq!(text(|o| write_decimal(o, 12345, 2)), "123.45");
    assert_eq!(text(|o| write_decimal(o, 7, 0)), "7");
    assert_eq!(text(|o| write_decimal(o, i128::MIN, 1)), "-17014118346046923173168730371588410572.8");
}

#[test]
fn decimals_are_read_with_half_up_rounding() {
    assert_eq!(parse_decimal("12.345", 10, 2), Some(1235));
    assert_eq!(parse_decimal("-12.345", 10, 2), Some(-1235));
    assert_eq!(parse_decimal("1e3", 6, 1), Some(10_000));
    assert_eq!(parse_decimal("123e-5", 6, 3), Some(1));
    assert_eq!(parse_decimal(".5", 1, 0), Some(1));
    assert_eq!(parse_decimal("9.95", 2, 1), None, "rounds to 10.0, three digits");
    assert_eq!(parse_decimal("99999999999", 6, 1), None);
    assert_eq!(parse_decimal("0e999999999999999999999", 6, 1), Some(0));
    assert_eq!(parse_decimal("1e-99999999999999999999", 6, 1), Some(0));
    assert_eq!(parse_decimal("00000000000000000000000000000000000000000000000001", 1, 0), Some(1));
    for wrong in ["", ".", "-", "1.2.3", "e3", "1e", "abc", "1 "] {
        assert_eq!(parse_decimal(wrong, 38, 0), None, "{wrong}");
    }
    assert_eq!(rescale(-250, 2, 3, 0), Some(-3));
    assert_eq!(rescale(249, 2, 3, 0), Some(2));
    assert_eq!(rescale(1, 0, 38, 38), None);
}

#[test]
fn integers_and_doubles_are_read_as_flink_casts_them() {
    assert_eq!(parse_integer("12.7"), Some(12));
    assert_eq!(parse_integer("-.5"), Some(0));
    assert_eq!(parse_integer("9223372036854775808"), None);
    for wrong in ["", "+", ".", "1e3", "1.x", "12 "] {
        assert_eq!(parse_integer(wrong), None, "{wrong}");
    }
    assert_eq!(parse_double("1e3"), Some(1000.0));
    assert_eq!(parse_double("-Infinity"), Some(f64::NEG_INFINITY));
    assert_eq!(parse_double("inf"), None);
    assert_eq!(parse_double("1.5d"), Some(1.5));
}

#[test]
fn dates_count_days_in_both_directions() {
    for days in [-719_528, -1, 0, 59, 60, 19_782, 2_932_896] {
        let (y, m, d) = calendar::civil_from_days(days);
        assert_eq!(calendar::days_from_civil(y, m, d), days);
    }
    assert_eq!(text(|o| write_date(o, parse_date("2024-2-29").unwrap())), "2024-02-29");
    assert_eq!(parse_date("2024-02-30"), None);
    assert_eq!(parse_date("2023-12-31 10:00:00"), parse_date("2023-12-31"));
    assert_eq!(parse_date("not-a-date"), None);
    assert_eq!(text(|o| write_date(o, parse_date("0001-01-01").unwrap())), "0001-01-01");
    let month_later = calendar::add_months(parse_date("2024-01-31").unwrap(), 1);
    assert_eq!(month_later, parse_date("2024-02-29"));
    assert_eq!(calendar::add_months(0, i64::MAX), None);
}

#[test]
fn times_are_lenient_in_digits_and_strict_in_range() {
    assert_eq!(parse_time("1:02:03"), Some(3_723_000));
    assert_eq!(parse_time("10:00"), Some(36_000_000));
    assert_eq!(parse_time("00:00:00.1239"), Some(123));
    assert_eq!(parse_time("25:00:00"), None);
    assert_eq!(parse_time("nope"), None);
    assert_eq!(text(|o| write_time(o, 3_723_045, 3)), "01:02:03.045");
}

#[test]
fn timestamps_are_read_in_their_unit() {
    let ms = |s| parse_timestamp(s, TimeUnit::Millisecond);
    assert_eq!(ms("1970-01-02 00:00:00.0015"), Some(86_400_001));
    assert_eq!(ms("2024-2-3 1:02:03"), ms("2024-02-03 01:02:03"));
    assert_eq!(ms("2024-02-30 00:00:00"), ms("2024-02-29"));
    assert_eq!(ms("2024-01-01T10:00:00"), None);
    assert_eq!(ms("2024-02-32 00:00:00"), None);
    assert_eq!(parse_timestamp("1969-12-31 23:59:59.123456", TimeUnit::Microsecond), Some(-876_544));
    assert_eq!(parse_timestamp("9999-12-31 00:00:00", TimeUnit::Nanosecond), None);
    assert_eq!(text(|o| write_timestamp(o, -876_544, TimeUnit::Microsecond, 6)), "1969-12-31 23:59:59.123456");
    assert_eq!(text(|o| write_timestamp(o, 1, TimeUnit::Millisecond, 0)), "1970-01-01 00:00:00");
}

#[test]
fn iso_timestamps_may_carry_a_zone() {
    let ms = |s| parse_timestamp_iso(s, TimeUnit::Millisecond);
    assert_eq!(ms("1970-01-01T00:00:01Z"), Some(1000));
    assert_eq!(ms("1970-01-01T01:00:01.5+01:00"), Some(1500));
    assert_eq!(ms("1970-01-01T00:01"), Some(60_000));
    assert_eq!(ms("1970-01-01 00:00:01"), None);
    assert_eq!(ms("1970-01-01T00:00:01+25:00"), None);
}

#[test]
fn texts_are_escaped_and_nulls_marked() {
    let words: ArrayRef = Arc::new(StringArray::from(vec![Some("a\tb\\\n"), None]));
    let ty = TypeKind::STRING.nullable();
    assert_eq!(text(|o| write_value(o, &words, 0, &ty).unwrap()), "a\\tb\\\\\\n");
    assert_eq!(text(|o| write_value(o, &words, 1, &ty).unwrap()), "\\N");
    assert!(write_value(&mut String::new(), &words, 0, &TypeKind::Int.nullable()).is_err());
}

#[test]
fn nested_values_are_written_whole() {
    let list: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1), None])]));
    let ints = TypeKind::Array(Box::new(TypeKind::Int.nullable())).nullable();
    assert_eq!(text(|o| write_value(o, &list, 0, &ints).unwrap()), "[1, NULL]");

    let ty = TypeKind::Map(Box::new(TypeKind::STRING.not_null()), Box::new(TypeKind::Int.nullable())).nullable();
    let DataType::Map(entries, _) = ty.to_arrow() else { panic!("a map type") };
    let DataType::Struct(fields) = entries.data_type() else { panic!("entries are structs") };
    let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(vec!["os", "dark"])), Arc::new(Int32Array::from(vec![Some(1), None]))];
    let pairs = StructArray::new(fields.clone(), columns, None);
    let map = MapArray::new(entries.clone(), OffsetBuffer::from_lengths([2]), pairs, None, false);
    assert_eq!(text(|o| write_value(o, &map, 0, &ty).unwrap()), "{dark=NULL, os=1}");
}

#[test]
fn timestamps_show_at_least_milliseconds() {
    let at = TimestampMillisecondArray::from(vec![1_700_000_000_123]);
    assert_eq!(text(|o| write_value(o, &at, 0, &TypeKind::Timestamp(0).nullable()).unwrap()), "2023-11-14 22:13:20.123");
    let utc = at.with_timezone("UTC");
    assert_eq!(text(|o| write_value(o, &utc, 0, &TypeKind::TimestampLtz(3).nullable()).unwrap()), "2023-11-14 22:13:20.123Z");
}
