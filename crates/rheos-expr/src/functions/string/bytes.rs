//! Positions of one byte in short texts, eight bytes at a time: a call of `memchr` for each would cost more than the search.

/// The positions of a byte, in order.
pub(super) struct BytePositions<'a> {
    bytes: &'a [u8],
    byte: u8,
    /// Where the word that is being looked at begins.
    base: usize,
    /// Its bytes that are the one searched: their highest bit is set.
    found: u64,
    /// Where the next word begins.
    next: usize,
}

const LOW: u64 = 0x7F7F_7F7F_7F7F_7F7F;

impl<'a> BytePositions<'a> {
    #[inline]
    pub(super) fn new(bytes: &'a [u8], byte: u8) -> Self {
        BytePositions { bytes, byte, base: 0, found: 0, next: 0 }
    }

    /// The bytes of a word that are zero ("Hacker's Delight", 6-1, in its exact form).
    #[inline]
    fn zeros(word: u64) -> u64 {
        !(((word & LOW) + LOW) | word | LOW)
    }
}

impl Iterator for BytePositions<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        loop {
            if self.found != 0 {
                let at = self.base + self.found.trailing_zeros() as usize / 8;
                self.found &= self.found - 1;
                return Some(at);
            }
            let Some(word) = self.bytes.get(self.next..self.next + 8).and_then(|w| w.try_into().ok()).map(u64::from_le_bytes) else {
                // What is left is shorter than a word.
                while let Some(byte) = self.bytes.get(self.next) {
                    self.next += 1;
                    if *byte == self.byte {
                        return Some(self.next - 1);
                    }
                }
                return None;
            };
            self.base = self.next;
            self.next += 8;
            self.found = Self::zeros(word ^ (u64::from(self.byte) * 0x0101_0101_0101_0101));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_is_found_and_no_other() {
        let texts: [&[u8]; 6] = [b"", b"/", b"a/.b//c", b"https://www.nexmark.com/a/b", b"////////////////", b"\x00\x01\x80\xFF/\xAF/."];
        for text in texts {
            for byte in [b'/', b'.', 0, 0x80, 0xFF] {
                let expected: Vec<usize> = text.iter().enumerate().filter(|(_, b)| **b == byte).map(|(i, _)| i).collect();
                assert_eq!(BytePositions::new(text, byte).collect::<Vec<_>>(), expected, "{byte} in {text:?}");
            }
        }
    }
}
