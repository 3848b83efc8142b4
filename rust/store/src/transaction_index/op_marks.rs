//! What an op record says: which copies of half messages are done with, and in ours also why and by whom.
//!
//! ```text
//! body                17,19,20,        half offsets; Apache's older brokers wrote one number
//! ESCROWMQ_DECIDED    C17,19@127.0.0.1:4711;P21
//!                     │└┬──┘ └──── who decided
//!                     │ └ half offsets
//!                     └ Commit, Rollback, Discard, or Put back, which nobody decides
//! ```
//! A property that does not read as such counts as absent, and the body alone speaks.

use super::TransactionState;

/// Why a copy is done with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    /// Apache's op: it does not say.
    Unsaid,
    /// A newer copy stands for it.
    PutBack,
    /// The transaction is decided.
    Decided(TransactionState, &'a str),
}

/// What an op record says, to be read as often as one likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OpMarks<'a> {
    /// As the body has it.
    Body(&'a [u8]),
    /// As the property has it, which reads well.
    Property(&'a str),
}

impl<'a> OpMarks<'a> {
    /// What a body and the property beside it say.
    pub fn new(body: &'a [u8], property: Option<&'a str>) -> Self {
        match property.filter(|text| text.split(';').all(|entry| Entry::parse(entry).is_some())) {
            Some(text) => Self::Property(text),
            None => Self::Body(body),
        }
    }

    /// Visits every half offset with its mark.
    pub fn each(self, mut visit: impl FnMut(u64, Mark<'a>)) {
        match self {
            Self::Body(body) => {
                // Compat: what is no number is passed over.
                let offsets = body.split(|byte| *byte == b',').filter_map(number);
                offsets.for_each(|offset| visit(offset, Mark::Unsaid));
            }
            Self::Property(text) => {
                for entry in text.split(';').filter_map(Entry::parse) {
                    entry.offsets().for_each(|offset| visit(offset, entry.mark));
                }
            }
        }
    }
}

/// One entry of the property.
struct Entry<'a> {
    mark: Mark<'a>,
    offsets: &'a str,
}

impl<'a> Entry<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let (kind, rest) = text.split_at_checked(1)?;
        let state = match kind {
            "C" => Some(TransactionState::Committed),
            "R" => Some(TransactionState::RolledBack),
            "D" => Some(TransactionState::Discarded),
            "P" => None,
            _ => return None,
        };
        let entry = match state {
            None => Self { mark: Mark::PutBack, offsets: rest },
            Some(state) => {
                let (offsets, who) = rest.split_once('@').filter(|(_, who)| !who.is_empty())?;
                Self { mark: Mark::Decided(state, who), offsets }
            }
        };
        let is_whole = entry.offsets.split(',').all(|piece| number(piece.as_bytes()).is_some());
        is_whole.then_some(entry)
    }

    fn offsets(&self) -> impl Iterator<Item = u64> {
        self.offsets.split(',').filter_map(|piece| number(piece.as_bytes()))
    }
}

/// A number in decimal digits and nothing else.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        number.checked_mul(10)?.checked_add(value)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks<'a>(body: &'a [u8], property: Option<&'a str>) -> Vec<(u64, Mark<'a>)> {
        let mut found = Vec::new();
        OpMarks::new(body, property).each(|offset, mark| found.push((offset, mark)));
        found
    }

    #[test]
    fn both_forms_of_apaches_body_are_read() {
        let unsaid = |offset| (offset, Mark::Unsaid);
        assert_eq!(marks(b"17,19,20,", None), [17, 19, 20].map(unsaid));
        assert_eq!(marks(b"21", None), [unsaid(21)]);
        assert_eq!(marks(b"1,x,,-3,+4,18446744073709551616,2", None), [1, 2].map(unsaid));
        assert_eq!(marks(b"", None), []);
    }

    #[test]
    fn our_property_says_why_and_who() {
        use TransactionState::{Committed, Discarded, RolledBack};
        assert_eq!(
            marks(b"17,19,21,5,6,", Some("C17,19@127.0.0.1:4711;P21;R5@[::1]:80;D6@checks")),
            [
                (17, Mark::Decided(Committed, "127.0.0.1:4711")),
                (19, Mark::Decided(Committed, "127.0.0.1:4711")),
                (21, Mark::PutBack),
                (5, Mark::Decided(RolledBack, "[::1]:80")),
                (6, Mark::Decided(Discarded, "checks")),
            ]
        );
    }

    #[test]
    fn a_property_that_does_not_read_counts_as_absent() {
        for garbled in [
            "",
            ";",
            "C",
            "C1",
            "C1@",
            "C@x",
            "C1,@x",
            "C1,,2@x",
            "C 1@x",
            "Q1@x",
            "P",
            "P1@x",
            "P1;",
            "R1@x;C",
            "é1@x",
            "C18446744073709551616@x",
        ] {
            assert_eq!(marks(b"3", Some(garbled)), [(3, Mark::Unsaid)], "{garbled:?}");
        }
    }

    proptest! {
        #[test]
        fn anything_reads_as_something(body: Vec<u8>, property in "[CRDP0-9,;@é]{0,30}") {
            marks(&body, Some(&property));
        }
    }
}
