//! A short ASCII text on the stack: numbers and dates are put together there and appended at once.

use std::fmt;

/// Longer than any number or date that is written with it; what is beyond is cut, never overrun.
const CAPACITY: usize = 64;

pub(super) struct Ascii {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl Ascii {
    pub(super) fn new() -> Ascii {
        Ascii { bytes: [0; CAPACITY], len: 0 }
    }

    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        if self.len < CAPACITY {
            self.bytes[self.len] = byte & 0x7F;
            self.len += 1;
        }
    }

    /// The digits of a number, with leading zeros up to `width`.
    #[inline]
    pub(super) fn push_number(&mut self, value: u64, width: usize) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        let mut rest = value;
        while rest >= 100 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
            rest /= 100;
        }
        if rest >= 10 {
            at -= 2;
            digits[at..at + 2].copy_from_slice(&PAIRS[rest as usize]);
        } else if rest > 0 {
            at -= 1;
            digits[at] = b'0' + rest as u8;
        }
        at = at.min(digits.len().saturating_sub(width));
        let digits = &digits[at..];
        if let Some(free) = self.bytes.get_mut(self.len..self.len + digits.len()) {
            free.copy_from_slice(digits);
            self.len += digits.len();
        }
    }
}

/// The digits of 0 to 99.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + (i / 10) as u8, b'0' + (i % 10) as u8];
        i += 1;
    }
    pairs
};

impl fmt::Write for Ascii {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        if !s.is_ascii() {
            return Err(fmt::Error);
        }
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}
