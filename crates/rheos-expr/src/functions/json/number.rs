//! Numbers of JSON as Java's `BigInteger` and `BigDecimal` write them: `1e3` is `1E+3`.

use std::fmt::Write;

/// Appends a number that is written as JSON or as Java writes a double.
pub(super) fn write_number(out: &mut String, text: &str) {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if !digits.contains(['.', 'e', 'E']) {
        out.push_str(if digits == "0" { "0" } else { text });
        return;
    }
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let Ok(exponent) = exponent.trim_start_matches('+').parse::<i64>() else { return out.push_str(text) };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scale = fraction.len() as i64 - exponent;
    let unscaled = format!("{whole}{fraction}");
    let unscaled = unscaled.trim_start_matches('0');
    let unscaled = if unscaled.is_empty() { "0" } else { unscaled };
    if negative && unscaled != "0" {
        out.push('-');
    }
    let adjusted = unscaled.len() as i64 - 1 - scale;
    if scale >= 0 && adjusted >= -6 {
        let scale = scale as usize;
        match unscaled.len().checked_sub(scale) {
            _ if scale == 0 => out.push_str(unscaled),
            Some(point) if point > 0 => {
                out.push_str(&unscaled[..point]);
                out.push('.');
                out.push_str(&unscaled[point..]);
            }
            _ => {
                out.push_str("0.");
                out.extend(std::iter::repeat_n('0', scale - unscaled.len()));
                out.push_str(unscaled);
            }
        }
        return;
    }
    out.push_str(&unscaled[..1]);
    if unscaled.len() > 1 {
        out.push('.');
        out.push_str(&unscaled[1..]);
    }
    if adjusted != 0 {
        // Writing to a text cannot fail.
        let _ = write!(out, "E{adjusted:+}");
    }
}
