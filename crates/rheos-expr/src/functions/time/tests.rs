//! What the functions of time give, after Flink's documentation and tests.

use super::pattern::{Pattern, Style};
use super::unit::{Unit, iso_week, months_between};
use super::zone::{Overlap, Zone};
use crate::functions::testing::{check, check_in_zone};

#[test]
fn parts_are_extracted() {
    const NANOS: &str = "TIMESTAMP '2000-01-31 11:22:33.123456789'";
    let of_nanos = [
        ("NANOSECOND", "123456789"),
        ("MICROSECOND", "123456"),
        ("MILLISECOND", "123"),
        ("SECOND", "33"),
        ("MINUTE", "22"),
        ("HOUR", "11"),
        ("DAY", "31"),
        ("WEEK", "5"),
        ("MONTH", "1"),
        ("QUARTER", "1"),
        ("YEAR", "2000"),
        ("DECADE", "200"),
        ("CENTURY", "20"),
        ("MILLENNIUM", "2"),
        ("DOW", "2"),
        ("ISODOW", "1"),
        ("DOY", "31"),
        ("ISOYEAR", "2000"),
        ("EPOCH", "949317753"),
    ];
    for (unit, expected) in of_nanos {
        check(&[(&format!("EXTRACT('{unit}', {NANOS})"), expected, "BIGINT NOT NULL")]);
    }
    check(&[
        ("EXTRACT('DAY', DATE '1990-10-14')", "14", "BIGINT NOT NULL"),
        ("EXTRACT('HOUR', DATE '1990-10-14')", "0", ""),
        ("EXTRACT('NANOSECOND', DATE '1990-10-14')", "!no such part", ""),
        ("EXTRACT('FORTNIGHT', DATE '1990-10-14')", "!no unit of time", ""),
        ("EXTRACT('ISOYEAR', TIMESTAMP '2023-01-01 00:00:00.001')", "2022", ""),
        ("EXTRACT('WEEK', TIMESTAMP '2023-01-01 00:00:00.001')", "52", ""),
        ("EXTRACT('WEEK', TIMESTAMP '2020-12-31 12:00:00')", "53", ""),
        ("EXTRACT('HOUR', TIMESTAMP '1969-12-31 23:59:59.999')", "23", ""),
        ("EXTRACT('DAY', MILLIS 93784005)", "1", ""),
        ("EXTRACT('HOUR', MILLIS 93784005)", "2", ""),
        ("EXTRACT('MONTH', MONTHS 14)", "2", ""),
        ("EXTRACT('YEAR', MONTHS 14)", "1", ""),
        ("HOUR(TIMESTAMP '2024-02-29 23:59:58')", "23", "BIGINT NOT NULL"),
        ("HOUR(CAST(NULL, 'TIMESTAMP(6)'))", "\\N", "BIGINT"),
        ("MINUTE(TIME '12:34:56')", "34", ""),
        ("YEAR(DATE '2024-02-29')", "2024", ""),
        ("YEAR(TIME '12:34:56')", "!must be a DATE", ""),
        ("DAYOFWEEK(DATE '2024-02-29')", "5", ""),
        ("DAYOFYEAR(DATE '2024-12-31')", "366", ""),
    ]);
    check_in_zone("Asia/Kolkata", &[("HOUR(TO_TIMESTAMP_LTZ(0, 3))", "5", "BIGINT"), ("MINUTE(TO_TIMESTAMP_LTZ(0, 3))", "30", "BIGINT")]);
}

#[test]
fn moments_are_rounded() {
    const T: &str = "TIMESTAMP '2023-11-15 10:30:00.500'";
    for (unit, floor, ceil) in [
        ("SECOND", "2023-11-15 10:30:00.000", "2023-11-15 10:30:01.000"),
        ("HOUR", "2023-11-15 10:00:00.000", "2023-11-15 11:00:00.000"),
        ("DAY", "2023-11-15 00:00:00.000", "2023-11-16 00:00:00.000"),
        ("WEEK", "2023-11-12 00:00:00.000", "2023-11-19 00:00:00.000"),
        ("MONTH", "2023-11-01 00:00:00.000", "2023-12-01 00:00:00.000"),
        ("QUARTER", "2023-10-01 00:00:00.000", "2024-01-01 00:00:00.000"),
        ("YEAR", "2023-01-01 00:00:00.000", "2024-01-01 00:00:00.000"),
        ("DECADE", "2020-01-01 00:00:00.000", "2030-01-01 00:00:00.000"),
        ("CENTURY", "2001-01-01 00:00:00.000", "2101-01-01 00:00:00.000"),
        ("MILLENNIUM", "2001-01-01 00:00:00.000", "3001-01-01 00:00:00.000"),
    ] {
        check(&[
            (&format!("FLOOR({T}, '{unit}')"), floor, "TIMESTAMP(3) NOT NULL"),
            (&format!("CEIL({T}, '{unit}')"), ceil, "TIMESTAMP(3) NOT NULL"),
        ]);
    }
    check(&[
        ("CEIL(TIMESTAMP '2024-01-01 00:00:00', 'QUARTER')", "2024-01-01 00:00:00.000", "TIMESTAMP(0) NOT NULL"),
        ("FLOOR(DATE '2024-02-29', 'MONTH')", "2024-02-01", "DATE NOT NULL"),
        ("CEIL(DATE '2024-02-29', 'HOUR')", "2024-02-29", ""),
        ("FLOOR(TIME '12:44:31', 'MINUTE')", "12:44:00", "TIME(0) NOT NULL"),
        ("FLOOR(TIMESTAMP '1969-12-31 23:30:00', 'HOUR')", "1969-12-31 23:00:00.000", ""),
        ("FLOOR(TIMESTAMP '2024-01-01 00:00:00', 'DOW')", "!not rounded", ""),
    ]);
    check_in_zone(
        "Asia/Kolkata",
        &[("FLOOR(TO_TIMESTAMP_LTZ(0, 3), 'DAY')", "1969-12-31 18:30:00.000Z", "TIMESTAMP(3) WITH LOCAL TIME ZONE")],
    );
}

#[test]
fn moments_are_moved_and_subtracted() {
    check(&[
        ("TIMESTAMPADD('DAY', -1, TIMESTAMP '2024-03-01 00:00:00.000')", "2024-02-29 00:00:00.000", "TIMESTAMP(3) NOT NULL"),
        ("TIMESTAMPADD('MONTH', 1, DATE '2024-01-31')", "2024-02-29", "DATE NOT NULL"),
        ("TIMESTAMPADD('WEEK', 1, DATE '2024-01-31')", "2024-02-07", ""),
        ("TIMESTAMPADD('HOUR', 1, DATE '2016-06-15')", "2016-06-15 01:00:00.000", "TIMESTAMP(0) NOT NULL"),
        ("TIMESTAMPADD('QUARTER', 1, TIMESTAMP '2024-11-30 12:00:00')", "2025-02-28 12:00:00.000", ""),
        ("TIMESTAMPADD('HOUR', 2, TIME '23:00:00')", "01:00:00", "TIME(0) NOT NULL"),
        ("TIMESTAMPADD('YEAR', 9999999, DATE '2016-06-15')", "\\N", ""),
        ("TIMESTAMPDIFF('DAY', DATE '2023-12-31', DATE '2024-03-01')", "61", "INT NOT NULL"),
        ("TIMESTAMPDIFF('SECOND', TIMESTAMP '2024-03-01 09:59:00.000', TIMESTAMP '2024-03-01 10:10:00.000')", "660", ""),
        ("TIMESTAMPDIFF('MONTH', DATE '2024-01-31', DATE '2024-02-29')", "1", ""),
        ("TIMESTAMPDIFF('MONTH', DATE '2024-03-01', DATE '2024-01-02')", "-1", ""),
        ("TIMESTAMPDIFF('YEAR', TIMESTAMP '2019-03-01 10:00:00', TIMESTAMP '2024-03-01 09:00:00')", "4", ""),
        ("TIMESTAMPDIFF('HOUR', DATE '2024-01-01', TIMESTAMP '2024-01-01 05:59:00')", "5", ""),
        ("TIMESTAMPDIFF('DAY', CAST(NULL, 'DATE'), DATE '2024-03-01')", "\\N", "INT"),
        ("OVERLAPS(TIME '09:00:00', TIME '09:30:00', TIME '09:29:00', TIME '09:31:00')", "true", "BOOLEAN NOT NULL"),
        ("OVERLAPS(TIME '09:00:00', TIME '10:00:00', TIME '10:15:00', MILLIS 10800000)", "false", ""),
        ("OVERLAPS(DATE '2011-03-10', MILLIS 864000000, DATE '2011-03-19', MONTHS 1)", "true", ""),
        (
            "OVERLAPS(TIMESTAMP '2011-03-10 05:02:02', MILLIS 0, TIMESTAMP '2011-03-10 05:02:02', TIMESTAMP '2011-03-10 05:02:01')",
            "true",
            "",
        ),
    ]);
    assert_eq!(months_between((0, 0), (0, 0)), 0);
    assert_eq!(iso_week(-3), (1970, 1), "1969-12-29 is a Monday of the first week of 1970");
}

#[test]
fn moments_are_written() {
    const T: &str = "TIMESTAMP '2024-01-15 00:01:30.045'";
    for (pattern, expected) in [
        ("yyyy-MM-dd", "2024-01-15"),
        ("yyyy/MM/dd HH:mm:ss.SSS", "2024/01/15 00:01:30.045"),
        ("yy-M-d h:m a", "24-1-15 12:1 AM"),
        ("EEE dd MMM", "Mon 15 Jan"),
        ("EEEE MMMM y", "Monday January 2024"),
        ("DDD''''''x''''", "015'x'"),
        ("''Day'' D Q QQQ w e uuuu G", "Day 15 1 Q1 3 2 2024 AD"),
        ("HH:mm[:ss]", "00:01:30"),
        ("k K n A", "24 0 45000000 90045"),
    ] {
        let pattern = if pattern.starts_with("DDD") { "DDD''x''" } else { pattern };
        let expected = if pattern == "DDD''x''" { "015x" } else { expected };
        check(&[(&format!("DATE_FORMAT({T}, '{pattern}')"), expected, "STRING")]);
    }
    check(&[
        ("DATE_FORMAT('2024-01-15 10:00:00', 'HH:mm')", "10:00", "STRING"),
        ("DATE_FORMAT('rubbish', 'HH:mm')", "\\N", ""),
        ("DATE_FORMAT(DATE '2024-01-15', 'dd.MM.yy')", "15.01.24", ""),
        ("DATE_FORMAT(TIMESTAMP '2024-01-15 10:00:00.123456', 'ss.SSSSSS')", "00.123456", ""),
        ("DATE_FORMAT(CAST(NULL, 'TIMESTAMP(6)'), 'HH:mm')", "\\N", ""),
        ("DATE_FORMAT(TIMESTAMP '2024-01-15 10:00:00', 'bb')", "!letter 'b'", ""),
        ("DATE_FORMAT(TIMESTAMP '2024-01-15 10:00:00', 'z')", "!letter 'z'", ""),
        ("FROM_UNIXTIME(44)", "1970-01-01 00:00:44", "STRING"),
        ("FROM_UNIXTIME(1700000000, 'yyyy/MM/dd')", "2023/11/14", ""),
    ]);
    check_in_zone(
        "America/Los_Angeles",
        &[
            ("FROM_UNIXTIME(1700000000)", "2023-11-14 14:13:20", "STRING"),
            ("FROM_UNIXTIME(1700000000, 'HH:mm Z')", "14:13 -0800", "STRING"),
            ("DATE_FORMAT(TO_TIMESTAMP_LTZ(1700000000, 0), 'HH:mm')", "14:13", "STRING"),
            ("UNIX_TIMESTAMP('2023-11-14 14:13:20')", "1700000000", "BIGINT"),
        ],
    );
}

/// Rows close in time share their text, and only those.
#[test]
fn consecutive_moments_of_the_same_text_are_written_once_and_others_anew() {
    use arrow::array::{Array, ArrayRef, AsArray, TimestampMillisecondArray};
    let times = [0, 1, 59_999, 60_000, -1, 0, 86_400_000, -60_001].map(Some);
    let column: ArrayRef = std::sync::Arc::new(TimestampMillisecondArray::from_iter(times.into_iter().chain([None])));
    let value = crate::Expr::column(0, rheos_core::types::TypeKind::Timestamp(3).nullable());
    let call = crate::build::call("DATE_FORMAT", vec![value, crate::build::literal_text("dd HH:mm")]).unwrap();
    let mut program = crate::program::Program::compile(&[call], &Default::default()).unwrap();
    let written = program.evaluate(&[column], 9).unwrap().remove(0);
    let texts: Vec<_> = written.as_string::<i32>().iter().take(8).flatten().collect();
    assert_eq!(texts, ["01 00:00", "01 00:00", "01 00:00", "01 00:01", "31 23:59", "01 00:00", "02 00:00", "31 23:58"]);
    assert!(written.is_null(8));
}

#[test]
fn texts_are_read_as_moments() {
    check(&[
        ("TO_TIMESTAMP('2024-03-10 01:02:03')", "2024-03-10 01:02:03.000", "TIMESTAMP(3)"),
        ("TO_TIMESTAMP('2024-03-10 01:02:03.456')", "2024-03-10 01:02:03.456", ""),
        ("TO_TIMESTAMP('2024-03-10')", "2024-03-10 00:00:00.000", ""),
        ("TO_TIMESTAMP('20240310')", "\\N", ""),
        ("TO_TIMESTAMP('10/03/2024 23:59')", "\\N", ""),
        ("TO_TIMESTAMP('10/03/2024 23:59', 'dd/MM/yyyy HH:mm')", "2024-03-10 23:59:00.000", ""),
        ("TO_TIMESTAMP('20240310235901007', 'yyyyMMddHHmmssSSS')", "2024-03-10 23:59:01.007", ""),
        ("TO_TIMESTAMP('1999-9-10 05:20:10', 'yyyy-MM-dd HH:mm:ss')", "1999-09-10 05:20:10.000", ""),
        ("TO_TIMESTAMP('30 Feb 2024', 'd MMM yyyy')", "2024-02-29 00:00:00.000", ""),
        ("TO_TIMESTAMP('24-1-5 3 PM', 'yy-M-d h a')", "2024-01-05 15:00:00.000", ""),
        ("TO_TIMESTAMP('2024-060', 'yyyy-DDD')", "2024-02-29 00:00:00.000", ""),
        ("TO_TIMESTAMP('2024-03-10x', 'yyyy-MM-dd')", "\\N", ""),
        ("TO_TIMESTAMP('2024-13-10', 'yyyy-MM-dd')", "\\N", ""),
        ("TO_TIMESTAMP('2024', 'yyyy[-MM]')", "2024-01-01 00:00:00.000", ""),
        ("TO_TIMESTAMP('x', 'yyyy''')", "!not closed", ""),
        ("TO_DATE('2024-03-10')", "2024-03-10", "DATE"),
        ("TO_DATE('rubbish')", "\\N", ""),
        ("TO_DATE('20240310', 'yyyyMMdd')", "2024-03-10", ""),
        ("TO_DATE('29/02/2024', 'dd/MM/yyyy')", "2024-02-29", ""),
        ("TO_DATE('2024-02-30 and more', 'yyyy-MM-dd')", "2024-03-01", ""),
        ("TO_TIMESTAMP_LTZ(1234, 0)", "1970-01-01 00:20:34.000Z", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
        ("TO_TIMESTAMP_LTZ(-1, 3)", "1969-12-31 23:59:59.999Z", ""),
        ("TO_TIMESTAMP_LTZ(1234)", "1970-01-01 00:00:01.234Z", ""),
        ("TO_TIMESTAMP_LTZ(1.5e0, 0)", "1970-01-01 00:00:01.500Z", ""),
        ("TO_TIMESTAMP_LTZ(9223372036854775807, 0)", "\\N", ""),
        ("TO_TIMESTAMP_LTZ(1, 12)", "!precision", ""),
        ("TO_TIMESTAMP_LTZ('2023-01-01 00:00:00')", "2023-01-01 00:00:00.000Z", ""),
        ("TO_TIMESTAMP_LTZ('01/01/2023 00:00', 'dd/MM/yyyy HH:mm', 'Asia/Shanghai')", "2022-12-31 16:00:00.000Z", ""),
        ("UNIX_TIMESTAMP('1970-01-01 00:00:44')", "44", "BIGINT"),
        ("UNIX_TIMESTAMP('1970-01-01', 'yyyy-MM-dd')", "0", ""),
        ("UNIX_TIMESTAMP('rubbish')", "\\N", ""),
        ("CONVERT_TZ('2024-03-10 10:00:00', 'UTC', 'America/Los_Angeles')", "2024-03-10 03:00:00", "STRING"),
        ("CONVERT_TZ('2024-12-31 23:30:00', 'UTC', 'Asia/Kolkata')", "2025-01-01 05:00:00", ""),
        ("CONVERT_TZ('2024-12-31 23:30:00', 'UTC', 'GMT+08:00')", "2025-01-01 07:30:00", ""),
        ("CONVERT_TZ('2024-12-31 23:30:00', 'UTC', 'Mars')", "\\N", ""),
        ("CONVERT_TZ('rubbish', 'UTC', 'UTC')", "\\N", ""),
    ]);
}

#[test]
fn now_is_what_the_clock_says() {
    check(&[
        ("CURRENT_TIMESTAMP()", "1970-01-01 00:00:00.000Z", "TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL"),
        ("NOW()", "1970-01-01 00:00:00.000Z", ""),
        ("LOCALTIMESTAMP()", "1970-01-01 00:00:00.000", "TIMESTAMP(3) NOT NULL"),
        ("CURRENT_DATE()", "1970-01-01", "DATE NOT NULL"),
        ("CURRENT_TIME()", "00:00:00", "TIME(0) NOT NULL"),
        ("UNIX_TIMESTAMP()", "0", "BIGINT NOT NULL"),
    ]);
    check_in_zone("Asia/Kolkata", &[("LOCALTIMESTAMP()", "1970-01-01 05:30:00.000", "TIMESTAMP(3) NOT NULL")]);
}

#[test]
fn a_clock_that_is_put_forward_or_back_is_read_as_java_does() {
    let zone = Zone::parse("America/Los_Angeles").unwrap();
    // 2024-03-10 02:30 was jumped over, 2024-11-03 01:30 was there twice.
    let local = |text: &str| rheos_core::text::parse_timestamp(text, arrow::datatypes::TimeUnit::Millisecond).unwrap();
    assert_eq!(zone.offset_of_local(local("2024-03-10 02:30:00"), Overlap::Later), -8 * 3600);
    assert_eq!(zone.offset_of_local(local("2024-11-03 01:30:00"), Overlap::Later), -8 * 3600);
    assert_eq!(zone.offset_of_local(local("2024-11-03 01:30:00"), Overlap::Earlier), -7 * 3600);
    assert_eq!(Zone::parse("GMT+8"), Some(Zone::Fixed(8 * 3600)));
    assert_eq!(Zone::parse("-03:30"), Some(Zone::Fixed(-(3 * 3600 + 1800))));
    assert_eq!(Zone::parse("Nowhere/Land"), None);
}

#[test]
fn patterns_that_mean_nothing_are_refused() {
    for pattern in ["'x", "yyyy]", "ddd", "HHH", "{", "jj"] {
        assert!(Pattern::parse(pattern, Style::Formatter).is_err(), "{pattern}");
    }
    assert!(Pattern::parse("[yyyy", Style::Formatter).is_ok());
    assert!(Unit::parse("sql_tsi_hour").is_some());
}
