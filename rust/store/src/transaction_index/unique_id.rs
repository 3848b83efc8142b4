//! A unique id in as few bytes as it has: clients make them of 32 or 56 hexadecimal digits, and half as many bytes say
//! the same.

/// Bytes that are kept in place.
const INLINE_SIZE: usize = 30;

/// A unique id. Equal texts are equal values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum UniqueId {
    /// Two upper-case digits a byte; the rest is zeros.
    Digits { size: u8, bytes: [u8; INLINE_SIZE] },
    /// Other short text; the rest is zeros.
    Short { size: u8, bytes: [u8; INLINE_SIZE] },
    /// Other text.
    Long(Box<str>),
}

impl UniqueId {
    /// The id with this text.
    pub fn new(text: &str) -> Self {
        let size = text.len();
        if size <= 2 * INLINE_SIZE
            && let Some(bytes) = bytes_of_digits(text.as_bytes())
        {
            return Self::Digits { size: inline_size(size / 2), bytes };
        }
        if size > INLINE_SIZE {
            return Self::Long(text.into());
        }
        let mut bytes = [0; INLINE_SIZE];
        bytes[..size].copy_from_slice(text.as_bytes());
        Self::Short { size: inline_size(size), bytes }
    }

    /// Its text.
    pub fn text(&self) -> String {
        match self {
            Self::Digits { size, bytes } => {
                let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
                let digits = bytes[..usize::from(*size)].iter().flat_map(|byte| [byte >> 4, byte & 15]);
                digits.map(|value| digit(value).to_ascii_uppercase()).collect()
            }
            Self::Short { size, bytes } => String::from_utf8_lossy(&bytes[..usize::from(*size)]).into_owned(),
            Self::Long(text) => text.to_string(),
        }
    }

    /// Memory that it takes beyond itself.
    pub fn memory_bytes(&self) -> usize {
        match self {
            Self::Long(text) => text.len(),
            Self::Digits { .. } | Self::Short { .. } => 0,
        }
    }
}

fn inline_size(size: usize) -> u8 {
    u8::try_from(size).expect("inline bytes are few")
}

/// The bytes of an even number of upper-case digits.
fn bytes_of_digits(text: &[u8]) -> Option<[u8; INLINE_SIZE]> {
    let (pairs, rest) = text.as_chunks::<2>();
    let mut bytes = [0; INLINE_SIZE];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value_of(*high)? << 4 | value_of(*low)?;
    }
    rest.is_empty().then_some(bytes)
}

fn value_of(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_of_clients_are_kept_in_place() {
        assert_eq!(size_of::<UniqueId>(), 32);
        for text in
            ["7F00000100002A9F0000000000000010", "FD000000000000000000000000000002478630946E095905917F003C"]
        {
            assert!(matches!(UniqueId::new(text), UniqueId::Digits { .. }));
        }
        assert!(matches!(UniqueId::new("7f00"), UniqueId::Short { .. }));
        assert!(matches!(UniqueId::new(&"A".repeat(61)), UniqueId::Long(_)));
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in "[0-9A-F]{0,70}|[0-9a-fA-F]{0,62}|\\PC{0,40}") {
            let id = UniqueId::new(&text);
            prop_assert_eq!(id.text(), text.clone());
            prop_assert_eq!(UniqueId::new(&text), id);
        }
    }
}
