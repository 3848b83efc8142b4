//! Decisions of producers, as `END_TRANSACTION` says them. What does not read plainly is left to Python, which knows what to
//! tell whoever has sent it.

use std::str::FromStr;

use escrowmq_wire::RemotingHeader;

use crate::event::Received;

/// The request that says one.
pub const END_TRANSACTION: i32 = 37;

/// What `END_TRANSACTION` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The group that decides.
    pub group: String,
    /// The half message, among half messages.
    pub half_offset: i64,
    /// The half message, in the log.
    pub log_offset: i64,
    /// What is decided, in `RocketMQ`'s numbers.
    pub commit_or_rollback: i32,
    /// Whether the broker had asked.
    pub is_from_check: bool,
}

impl Decision {
    /// The decision in a request, if that is one and reads plainly.
    #[must_use]
    pub fn read(received: &Received) -> Option<Self> {
        if received.code != END_TRANSACTION {
            return None;
        }
        Self::of_header(&received.frame.decode_header().ok()?)
    }

    fn of_header(header: &RemotingHeader<'_>) -> Option<Self> {
        let (mut group, mut half_offset, mut log_offset, mut commit_or_rollback) = (None, None, None, None);
        let (mut has_id, mut is_from_check) = (false, false);
        for (name, value) in header.ext_fields.iter() {
            match name {
                "producerGroup" => group = Some(value),
                "tranStateTableOffset" => half_offset = Some(plain_number(value)?),
                "commitLogOffset" => log_offset = Some(plain_number(value)?),
                "commitOrRollback" => commit_or_rollback = Some(plain_number(value)?),
                "fromTransactionCheck" => is_from_check = plain_truth(value)?,
                "msgId" => has_id = true,
                _ => {}
            }
        }
        has_id.then_some(())?;
        Some(Self {
            group: group?.to_owned(),
            half_offset: half_offset?,
            log_offset: log_offset?,
            commit_or_rollback: commit_or_rollback?,
            is_from_check,
        })
    }
}

/// A number as everybody writes it.
fn plain_number<T: FromStr>(text: &str) -> Option<T> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || digits.starts_with(|letter: char| ('1'..='9').contains(&letter));
    is_plain.then(|| text.parse().ok())?
}

fn plain_truth(text: &str) -> Option<bool> {
    match text {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(changed: (&'static str, &'static str)) -> Option<Decision> {
        let fields = [
            ("producerGroup", "shop"),
            ("tranStateTableOffset", "17"),
            ("commitLogOffset", "4711"),
            ("commitOrRollback", "8"),
            ("fromTransactionCheck", "false"),
            ("msgId", "7F"),
        ];
        let fields = fields.map(|(name, value)| (name, if name == changed.0 { changed.1 } else { value }));
        Decision::of_header(&RemotingHeader {
            ext_fields: fields.into_iter().collect(),
            ..RemotingHeader::default()
        })
    }

    #[test]
    fn a_plain_one_is_read() {
        let plain = Decision {
            group: "shop".to_owned(),
            half_offset: 17,
            log_offset: 4711,
            commit_or_rollback: 8,
            is_from_check: false,
        };
        assert_eq!(read(("", "")), Some(plain.clone()));
        assert_eq!(
            read(("fromTransactionCheck", "true")),
            Some(Decision { is_from_check: true, ..plain.clone() })
        );
        assert_eq!(read(("tranStateTableOffset", "-1")), Some(Decision { half_offset: -1, ..plain }));
    }

    #[test]
    fn what_does_not_read_plainly_is_left_alone() {
        for odd in [
            ("tranStateTableOffset", ""),
            ("tranStateTableOffset", "+17"),
            ("commitLogOffset", "007"),
            ("commitLogOffset", "9223372036854775808"),
            ("commitOrRollback", "eight"),
            ("fromTransactionCheck", "TRUE"),
        ] {
            assert_eq!(read(odd), None, "{odd:?}");
        }
    }

    #[test]
    fn what_lacks_a_field_is_left_alone() {
        assert_eq!(Decision::of_header(&RemotingHeader::default()), None);
    }
}
