//! The property string of a message: `name 0x01 value 0x02`, repeated. A view that never copies, and the encoder.
//!
//! ```text
//! T A G S 01 p a i d 02 K E Y S 01 o r d e r - 1 02
//! ```
//! Compat, as Java parses: the last separator may be missing; a pair without a name, a value or a 0x01 is skipped;
//! a value may hold further 0x01; of two pairs with one name the later wins.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use crate::property_names::CRC32;

/// Between a name and its value.
pub const NAME_VALUE_SEPARATOR: u8 = 1;
/// After each pair.
pub const PROPERTY_SEPARATOR: u8 = 2;

/// A property string, parsed anew by each question: most are asked for two or three names of a dozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Properties<'a> {
    raw: &'a [u8],
}

impl<'a> Properties<'a> {
    /// A view of a raw property string. Any bytes will do; what is no pair is skipped.
    #[must_use]
    pub const fn new(raw: &'a [u8]) -> Self {
        Self { raw }
    }

    /// The raw property string.
    #[must_use]
    pub const fn as_bytes(self) -> &'a [u8] {
        self.raw
    }

    /// What lies between separators, in one piece, be it a pair or not. Who looks for certain names need not have each
    /// piece searched for where its name ends.
    pub fn iter_pieces(self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = self.raw;
        std::iter::from_fn(move || {
            let piece;
            (piece, rest) = if rest.is_empty() { return None } else { split_pair(rest) };
            Some(piece)
        })
    }

    /// The pairs as they stand, duplicates included.
    pub fn iter_bytes(self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> {
        self.iter_pieces().filter_map(name_and_value)
    }

    /// The pairs as text, duplicates included; bytes that are not UTF-8 read as U+FFFD, as in Java.
    pub fn iter(self) -> impl Iterator<Item = (Cow<'a, str>, Cow<'a, str>)> {
        self.iter_bytes().map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)))
    }

    /// The value of a name, as bytes.
    #[must_use]
    pub fn get_bytes(self, name: &str) -> Option<&'a [u8]> {
        let name = name.as_bytes();
        let mut rest = self.raw;
        let mut value = None;
        while !rest.is_empty() {
            // A pair with another name is only searched for its end.
            let is_named =
                rest.len() > name.len() && rest[name.len()] == NAME_VALUE_SEPARATOR && rest.starts_with(name);
            let pair;
            (pair, rest) = split_pair(rest);
            if is_named && let Some((_, found)) = name_and_value(pair) {
                value = Some(found);
            }
        }
        value
    }

    /// The values of several names, as bytes, in one pass.
    #[must_use]
    pub fn get_many<const COUNT: usize>(self, names: [&str; COUNT]) -> [Option<&'a [u8]>; COUNT] {
        let mut values = [None; COUNT];
        for (name, value) in self.iter_bytes() {
            if let Some(place) = names.iter().position(|wanted| wanted.as_bytes() == name) {
                values[place] = Some(value);
            }
        }
        values
    }

    /// The value of a name. `None` also where the value is not UTF-8; [`Self::get_bytes`] tells the two apart.
    #[must_use]
    pub fn get(self, name: &str) -> Option<&'a str> {
        self.get_bytes(name).and_then(|value| std::str::from_utf8(value).ok())
    }
}

/// The first pair without its separator, and what follows.
fn split_pair(raw: &[u8]) -> (&[u8], &[u8]) {
    match memchr(PROPERTY_SEPARATOR, raw) {
        Some(end) => (&raw[..end], &raw[end + 1..]),
        None => (raw, &[]),
    }
}

fn name_and_value(pair: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(NAME_VALUE_SEPARATOR, pair)?;
    let (name, value) = (&pair[..end], &pair[end + 1..]);
    (!name.is_empty() && !value.is_empty()).then_some((name, value))
}

/// Appends the pairs as a property string.
///
/// Neither separator can be escaped, so a name or value that holds one comes back as something else: callers that
/// take names from users refuse them first. Pairs that are empty on one side are written, and skipped by readers.
pub fn encode_properties<N, V>(pairs: impl IntoIterator<Item = (N, V)>, out: &mut Vec<u8>)
where
    N: AsRef<[u8]>,
    V: AsRef<[u8]>,
{
    for (name, value) in pairs {
        let (name, value) = (name.as_ref(), value.as_ref());
        out.reserve(name.len() + value.len() + 2);
        out.extend_from_slice(name);
        out.push(NAME_VALUE_SEPARATOR);
        out.extend_from_slice(value);
        out.push(PROPERTY_SEPARATOR);
    }
}

/// The property string without its `__CRC32#` pairs: the checksum is true only for the record it was written in.
#[must_use]
pub fn strip_record_crc(raw: &[u8]) -> Cow<'_, [u8]> {
    // Every append asks, and hardly any property string holds the `#` that ends the name.
    if memchr(b'#', raw).is_none() || memmem::find(raw, CRC32.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut kept = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while !rest.is_empty() {
        let after = split_pair(rest).1;
        let whole = &rest[..rest.len() - after.len()];
        let is_crc = whole
            .strip_prefix(CRC32.as_bytes())
            .is_some_and(|tail| tail.first() == Some(&NAME_VALUE_SEPARATOR));
        if !is_crc {
            kept.extend_from_slice(whole);
        }
        rest = after;
    }
    Cow::Owned(kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(raw: &[u8]) -> Vec<(String, String)> {
        Properties::new(raw).iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn what_java_skips_is_skipped() {
        let raw = b"\x02a\x01\x02\x01b\x02only\x02K\x01v\x01w\x02last\x01one";
        assert_eq!(pairs(raw), [("K".into(), "v\u{1}w".into()), ("last".into(), "one".into())]);
        let properties = Properties::new(raw);
        assert_eq!(properties.get("K"), Some("v\u{1}w"));
        assert_eq!(properties.get("last"), Some("one"));
        assert_eq!(properties.get("a"), None);
        assert_eq!(properties.get("only"), None);
        assert_eq!(properties.get(""), None);
    }

    #[test]
    fn of_two_pairs_with_one_name_the_later_wins() {
        assert_eq!(Properties::new(b"a\x011\x02a\x012\x02").get("a"), Some("2"));
        assert_eq!(Properties::new(b"a\x011\x02a\x01\x02").get("a"), Some("1"));
    }

    #[test]
    fn a_value_that_is_not_utf8_is_bytes_only() {
        let properties = Properties::new(b"a\x01\xff\x02");
        assert_eq!(properties.get("a"), None);
        assert_eq!(properties.get_bytes("a"), Some(&b"\xff"[..]));
        assert_eq!(pairs(b"a\x01\xff\x02"), [("a".into(), "\u{fffd}".into())]);
    }

    #[test]
    fn only_whole_checksum_pairs_are_stripped() {
        assert!(matches!(strip_record_crc(b"a\x01b\x02"), Cow::Borrowed(_)));
        assert_eq!(&*strip_record_crc(b"a\x01b\x02__CRC32#\x011234567890\x02"), b"a\x01b\x02");
        assert_eq!(
            &*strip_record_crc(b"__CRC32#\x011\x02a\x01__CRC32#\x02x__CRC32#\x01b"),
            b"a\x01__CRC32#\x02x__CRC32#\x01b"
        );
        assert_eq!(&*strip_record_crc(b"a\x01b\x02__CRC32#\x01"), b"a\x01b\x02");
    }

    proptest! {
        #[test]
        fn pairs_come_back(wanted in proptest::collection::vec(("[^\u{1}\u{2}]{1,9}", "[^\u{1}\u{2}]{1,20}"), 0..9)) {
            let mut raw = Vec::new();
            encode_properties(wanted.iter().map(|(name, value)| (name, value)), &mut raw);
            prop_assert_eq!(pairs(&raw), wanted.clone());
            for (name, _) in &wanted {
                let last = wanted.iter().rev().find(|pair| pair.0 == *name).map(|pair| pair.1.as_str());
                prop_assert_eq!(Properties::new(&raw).get(name), last);
            }
        }

        #[test]
        fn lookup_agrees_with_iteration(raw in proptest::collection::vec(prop_oneof![0_u8..4, Just(b'a'), Just(b'b')], 0..40)) {
            let properties = Properties::new(&raw);
            for name in ["a", "b", "ab", "\u{3}"] {
                let last = properties.iter_bytes().filter(|pair| pair.0 == name.as_bytes()).last().map(|pair| pair.1);
                prop_assert_eq!(properties.get_bytes(name), last);
                prop_assert_eq!(properties.get_many(["other", name]), [None, last]);
            }
        }
    }
}
