//! Numbers, moments and small tables as people read them.

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, presets};
use rheos_core::text::write_timestamp;
use rheos_core::time::TimestampMs;

/// `1,234 rows`, `1 row`; without a noun only the number.
pub(crate) fn count(n: u64, noun: &str) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if !noun.is_empty() {
        text.push_str(&format!(" {noun}{}", if n == 1 { "" } else { "s" }));
    }
    text
}

/// Three digits and a magnitude: `7`, `1.23k`, `45.6M`.
pub(crate) fn magnitude(n: f64) -> String {
    let (value, suffix) = match n {
        n if n >= 999.5e6 => (n / 1e9, "G"),
        n if n >= 999.5e3 => (n / 1e6, "M"),
        n if n >= 999.5 => (n / 1e3, "k"),
        n => (n, ""),
    };
    match value {
        v if suffix.is_empty() => format!("{v:.0}"),
        v if v >= 99.95 => format!("{v:.0}{suffix}"),
        v if v >= 9.995 => format!("{v:.1}{suffix}"),
        v => format!("{v:.2}{suffix}"),
    }
}

/// `0.31 s`, `12.5 s`, `3 min 20 s`.
pub(crate) fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        s if s < 10.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.1} s"),
        s => format!("{} min {} s", s as u64 / 60, s as u64 % 60),
    }
}

/// `2015-07-15 00:00:10`, with milliseconds where there are any.
pub(crate) fn moment(ms: TimestampMs) -> String {
    let mut text = String::new();
    let digits = if ms.rem_euclid(1000) == 0 { 0 } else { 3 };
    write_timestamp(&mut text, ms, rheos_core::types::timestamp_unit(3), digits);
    text
}

/// A table that is as wide as its cells, numbers to the right.
pub(crate) fn table(header: &[String], rows: &[Vec<String>]) -> String {
    let mut table = new_table(header);
    for row in rows {
        table.add_row(row);
    }
    align_numbers(&mut table, header.len(), rows);
    table.trim_fmt()
}

/// An empty table in the style of all tables.
pub(crate) fn new_table(header: &[String]) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_NO_BORDERS.row_separator(LineStyle::none()))
        .force_no_tty()
        .set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header);
    table
}

/// What stands where there is no value.
const NO_VALUE: [&str; 3] = ["NULL", "-", "?"];

/// Columns in which all cells are numbers go to the right.
pub(crate) fn align_numbers(table: &mut Table, columns: usize, rows: &[Vec<String>]) {
    for column in 0..columns {
        let mut cells = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !NO_VALUE.contains(&cell.as_str())).peekable();
        if cells.peek().is_some() && cells.all(|cell| is_number(cell)) {
            table.column_mut(column).into_iter().for_each(|c| c.set_cell_alignment(CellAlignment::Right));
        }
    }
}

fn is_number(cell: &str) -> bool {
    let digits = cell.trim_start_matches('-').trim_end_matches(['%', 'k', 'M', 'G']);
    digits.bytes().next().is_some_and(|b| b.is_ascii_digit())
        && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'E' | b'-'))
        && !looks_like_date(digits)
}

/// Digits and dashes may also be a date.
fn looks_like_date(digits: &str) -> bool {
    digits.contains('-') && !digits.contains('E')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_and_agree_with_their_noun() {
        assert_eq!(count(0, "row"), "0 rows");
        assert_eq!(count(1, "row"), "1 row");
        assert_eq!(count(999, ""), "999");
        assert_eq!(count(1_234_567, "row"), "1,234,567 rows");
    }

    #[test]
    fn magnitudes_have_three_digits() {
        let shown: Vec<String> = [0.0, 7.4, 999.4, 999.6, 12_345.0, 123_456.0, 999_600.0, 45_600_000.0, 2e9].map(magnitude).into();
        assert_eq!(shown, ["0", "7", "999", "1.00k", "12.3k", "123k", "1.00M", "45.6M", "2.00G"]);
    }

    #[test]
    fn long_times_are_in_minutes() {
        assert_eq!([310_000_000, 12_500_000_000, 200_000_000_000].map(seconds), ["0.31 s", "12.5 s", "3 min 20 s"]);
    }

    #[test]
    fn moments_show_milliseconds_where_there_are_any() {
        assert_eq!(moment(1_436_918_410_000), "2015-07-15 00:00:10");
        assert_eq!(moment(-1), "1969-12-31 23:59:59.999");
    }

    #[test]
    fn numbers_go_to_the_right() {
        let rows = [["a", "1"], ["b", "-12.5"], ["c", "NULL"]].map(|r| r.map(String::from).to_vec());
        let shown = table(&["x".to_string(), "n".to_string()], &rows);
        assert_eq!(shown.lines().collect::<Vec<_>>(), [" x ┆     n", "═══╪═══════", " a ┆     1", " b ┆ -12.5", " c ┆  NULL"]);
        assert!(!is_number("2024-01-01") && is_number("1.0E-7") && !is_number("-"));
    }
}
