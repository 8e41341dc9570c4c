//! Doubles rounded at a decimal digit, as they are written: 2.675 is rounded to 2.68 although it is stored as a little less.

use std::fmt::Write;

/// How digits that are left out change the last one kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Away from zero from one half on.
    HalfUp,
    /// Not at all.
    Truncate,
}

/// A text on the stack.
struct Short {
    bytes: [u8; 64],
    length: usize,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes.get_mut(self.length..end).ok_or(std::fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

/// The double nearest to `value` with `digits` digits after the point, before it if negative.
pub(super) fn round(value: f64, digits: i64, mode: Mode) -> f64 {
    // Beyond this many digits no double has any.
    if !value.is_finite() || value == 0.0 || digits > 330 {
        return value;
    }
    // The shortest digits that name the value: `1.2345e-7`.
    let mut text = Short { bytes: [0; 64], length: 0 };
    if write!(text, "{:e}", value.abs()).is_err() {
        return value;
    }
    let text = std::str::from_utf8(&text.bytes[..text.length]).unwrap_or_default();
    let Some((mantissa, exponent)) = text.split_once('e') else { return value };
    let Ok(exponent) = exponent.parse::<i64>() else { return value };
    let mut unscaled: u64 = 0;
    let mut count: i64 = 0;
    for digit in mantissa.bytes().filter(u8::is_ascii_digit) {
        unscaled = unscaled * 10 + u64::from(digit - b'0');
        count += 1;
    }
    // value = unscaled * 10^scale
    let scale = exponent - (count - 1);
    let dropped = -digits - scale;
    if dropped <= 0 {
        return value;
    }
    let (kept, half_up) = if dropped > count {
        (0, false)
    } else {
        let power = 10u64.checked_pow(dropped as u32);
        match power {
            Some(power) => (unscaled / power, unscaled % power >= power / 2),
            None => (0, false),
        }
    };
    let kept = kept + u64::from(half_up && mode == Mode::HalfUp);
    let mut text = Short { bytes: [0; 64], length: 0 };
    let rounded =
        write!(text, "{kept}e{}", -digits).ok().and_then(|()| std::str::from_utf8(&text.bytes[..text.length]).ok()?.parse::<f64>().ok());
    rounded.unwrap_or(value).copysign(value)
}
