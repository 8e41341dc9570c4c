//! Randomness as a function of seed, column and event number, so that neither order nor parallelism nor projection matters.

const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finisher (Steele, Lea, Flood 2014): every bit of the output depends on every bit of the input.
#[inline(always)]
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The random numbers of one column: a place of its own on SplitMix64's orbit, from which an event's number counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnRandom(u64);

impl ColumnRandom {
    /// The numbers of `column`, which is a number unique among the columns of all kinds of events.
    pub(super) fn new(seed: u64, column: u64) -> Self {
        ColumnRandom(mix(mix(seed).wrapping_add((column + 1).wrapping_mul(GAMMA))))
    }

    /// The 64 random bits of the event `number`.
    #[inline(always)]
    pub(super) fn at(self, number: u64) -> u64 {
        mix(self.0.wrapping_add(number.wrapping_mul(GAMMA)))
    }

    /// As many numbers as wanted for the event `number`, for texts.
    pub(super) fn draws(self, number: u64) -> Draws {
        Draws(self.at(number))
    }
}

/// A sequence of random numbers.
#[derive(Debug)]
pub(super) struct Draws(u64);

impl Draws {
    /// A sequence that follows from `seed`.
    pub(super) fn new(seed: u64) -> Self {
        Draws(mix(seed))
    }

    /// The next 64 random bits.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// The next number in `0 .. bound`.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        wide_below(self.next(), bound)
    }
}

/// A number in `0 .. bound` from the upper half of `bits`; `bound` is below 2^32.
#[inline(always)]
pub(super) fn high_below(bits: u64, bound: u64) -> u64 {
    ((bits >> 32) * bound) >> 32
}

/// A number in `0 .. bound` from the lower half of `bits`; `bound` is below 2^32.
#[inline(always)]
pub(super) fn low_below(bits: u64, bound: u64) -> u64 {
    ((bits & 0xFFFF_FFFF) * bound) >> 32
}

/// A number in `0 .. bound` from all of `bits`.
#[inline(always)]
pub(super) fn wide_below(bits: u64, bound: u64) -> u64 {
    ((u128::from(bits) * u128::from(bound)) >> 64) as u64
}

/// `hot` in `ratio - 1` of `ratio` cases by the upper half of `bits`, else `other`; a coin that no branch predictor calls.
#[inline(always)]
pub(super) fn hot_or(bits: u64, ratio: u64, hot: i64, other: i64) -> i64 {
    std::hint::select_unpredictable(high_below(bits, ratio) > 0, hot, other)
}

/// A price in cents: `round(100 * 10^(6u))` for `u` uniform in `[0, 1)`.
///
/// Written with additions and multiplications alone, so that a compiler can do several at once and every machine gets the
/// same cents, which the `pow` of its C library would not promise.
#[inline(always)]
pub(super) fn price(bits: u64) -> i64 {
    /// Added to a small double, leaves its nearest integer in the low bits of the mantissa.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    const LN_2: f64 = std::f64::consts::LN_2;
    const LOG2_10: f64 = std::f64::consts::LOG2_10;
    let u = f64::from_bits(0x3FF0_0000_0000_0000 | (bits >> 12)) - 1.0;
    let exponent = u * (6.0 * LOG2_10) + 2.0 * LOG2_10;
    let rounded = exponent + ROUND;
    let t = (exponent - (rounded - ROUND)) * LN_2;
    // e^t for |t| <= ln(2)/2: the ninth power is the last that could move a price of 10^8 by a cent.
    let mut sum = 1.0 / 362_880.0;
    sum = sum * t + 1.0 / 40_320.0;
    sum = sum * t + 1.0 / 5_040.0;
    sum = sum * t + 1.0 / 720.0;
    sum = sum * t + 1.0 / 120.0;
    sum = sum * t + 1.0 / 24.0;
    sum = sum * t + 1.0 / 6.0;
    sum = sum * t + 0.5;
    sum = sum * t + 1.0;
    sum = sum * t + 1.0;
    let power = f64::from_bits((rounded.to_bits() << 52).wrapping_add(1023 << 52));
    (sum * power + ROUND).to_bits().wrapping_sub(ROUND.to_bits()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_the_rounded_power_of_ten() {
        assert_eq!(price(0), 100);
        assert_eq!(price(u64::MAX), 100_000_000);
        let mut draws = Draws::new(7);
        for _ in 0..100_000 {
            let bits = draws.next();
            let u = (bits >> 12) as f64 / (1u64 << 52) as f64;
            let exact = 10f64.powf(6.0 * u) * 100.0;
            assert!((price(bits) as f64 - exact).abs() <= 0.501, "{} for {exact}", price(bits));
        }
    }

    #[test]
    fn numbers_below_a_bound_reach_both_of_its_ends() {
        for below in [high_below, low_below, wide_below] {
            assert_eq!((below(0, 10), below(u64::MAX, 10)), (0, 9));
        }
    }
}
