//! How many digits the results of decimal arithmetic have: the rules of Flink, which are those of SQL Server.

use rheos_core::types::MAX_DECIMAL_PRECISION;

/// Fraction digits that are kept when a result would have more digits than there can be.
const MIN_ADJUSTED_SCALE: u8 = 6;

/// The digits of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digits {
    /// How many there are.
    pub(crate) precision: u8,
    /// How many of them come after the point.
    pub(crate) scale: u8,
    /// Whether digits were given up: then a result may be too large, and is rounded.
    pub(crate) adjusted: bool,
}

fn adjust(precision: u32, scale: u32) -> Digits {
    let max = u32::from(MAX_DECIMAL_PRECISION);
    if precision <= max {
        return Digits { precision: precision as u8, scale: scale as u8, adjusted: false };
    }
    let whole = precision - scale;
    let kept = max.saturating_sub(whole).max(scale.min(u32::from(MIN_ADJUSTED_SCALE)));
    Digits { precision: MAX_DECIMAL_PRECISION, scale: kept as u8, adjusted: true }
}

fn wide((precision, scale): (u8, u8)) -> (u32, u32) {
    (u32::from(precision), u32::from(scale))
}

/// a + b and a - b.
pub(crate) fn of_sum(a: (u8, u8), b: (u8, u8)) -> Digits {
    let ((p, s), (q, t)) = (wide(a), wide(b));
    let scale = s.max(t);
    adjust((p - s).max(q - t) + scale + 1, scale)
}

/// a * b.
pub(crate) fn of_product(a: (u8, u8), b: (u8, u8)) -> Digits {
    let ((p, s), (q, t)) = (wide(a), wide(b));
    adjust(p + q + 1, s + t)
}

/// a / b.
pub(crate) fn of_quotient(a: (u8, u8), b: (u8, u8)) -> Digits {
    let ((p, s), (q, t)) = (wide(a), wide(b));
    let scale = (s + q + 1).max(u32::from(MIN_ADJUSTED_SCALE));
    adjust(p - s + t + scale, scale)
}

/// The remainder of a / b.
pub(crate) fn of_remainder(a: (u8, u8), b: (u8, u8)) -> Digits {
    let ((p, s), (q, t)) = (wide(a), wide(b));
    let scale = s.max(t);
    adjust((p - s).min(q - t) + scale, scale)
}
