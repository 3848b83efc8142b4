//! Numbers as text without a heap: every answer of a broker holds several.

/// The decimal digits of a number.
#[derive(Debug, Clone, Copy)]
pub struct Digits {
    bytes: [u8; 20],
    start: usize,
}

impl Digits {
    /// Of any number that travels.
    #[must_use]
    pub fn of(number: impl Into<i64>) -> Self {
        let number = number.into();
        let mut digits = Self { bytes: [0; 20], start: 20 };
        let mut rest = number.unsigned_abs();
        loop {
            digits.push_front(b"0123456789"[usize::try_from(rest % 10).unwrap_or_default()]);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if number < 0 {
            digits.push_front(b'-');
        }
        digits
    }

    /// Of an offset. Those that are ever reached fit the signed numbers of the wire.
    #[must_use]
    pub fn of_offset(offset: u64) -> Self {
        Self::of(i64::try_from(offset).unwrap_or(i64::MAX))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.start..]).unwrap_or_default()
    }

    fn push_front(&mut self, byte: u8) {
        self.start -= 1;
        self.bytes[self.start] = byte;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_standard_library_writes_them() {
        for number in [0, 7, 10, -1, 1_794_984_736_583, i64::MAX, i64::MIN] {
            assert_eq!(Digits::of(number).as_str(), number.to_string());
        }
    }
}
