//! The properties of a message that is sent: which of them make it more than an append, and what the broker adds.

use escrowmq_wire::{NAME_VALUE_SEPARATOR, PROPERTY_SEPARATOR, Properties};

/// What a look at the properties tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SentProperties<'a> {
    /// The id that the producer gave the message.
    pub unique_key: Option<&'a [u8]>,
    /// Whether it is a half message.
    pub is_prepare: bool,
    /// Whether it is to be delivered later.
    pub is_delayed: bool,
    /// Whether names are among them that only the broker writes.
    has_reserved: bool,
}

impl<'a> SentProperties<'a> {
    pub fn examine(raw: &'a [u8]) -> Self {
        let mut found = Self::default();
        for (name, value) in Properties::new(raw).iter_bytes() {
            match name {
                b"UNIQ_KEY" => found.unique_key = Some(value),
                b"TRAN_MSG" => found.is_prepare = value.eq_ignore_ascii_case(b"true"),
                b"DELAY" => found.is_delayed |= value != b"0",
                b"TIMER_DELIVER_MS" | b"TIMER_DELAY_SEC" | b"TIMER_DELAY_MS" => found.is_delayed = true,
                name => found.has_reserved |= is_reserved(name),
            }
        }
        found
    }

    /// Writes what is stored: the producer's properties, its id or one that is made for it, and the broker's.
    pub fn complete(&self, raw: &[u8], made_id: Option<&str>, broker: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if self.has_reserved {
            let kept = Properties::new(raw).iter_bytes().filter(|(name, _)| !is_reserved(name));
            escrowmq_wire::encode_properties(kept, out);
        } else {
            out.extend_from_slice(raw);
        }
        if out.last().is_some_and(|&last| last != PROPERTY_SEPARATOR) {
            out.push(PROPERTY_SEPARATOR);
        }
        if let Some(id) = made_id {
            out.extend_from_slice(b"UNIQ_KEY");
            out.push(NAME_VALUE_SEPARATOR);
            out.extend_from_slice(id.as_bytes());
            out.push(PROPERTY_SEPARATOR);
        }
        out.extend_from_slice(broker);
    }
}

/// Compat: the first is taken away, since only the broker may say where a message was popped; the others are its own.
fn is_reserved(name: &[u8]) -> bool {
    matches!(name, b"POP_CK" | b"MSG_REGION" | b"TRACE_ON" | b"CLUSTER")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(raw: &[u8], made_id: Option<&str>) -> Vec<u8> {
        let mut out = b"left over".to_vec();
        SentProperties::examine(raw).complete(raw, made_id, b"CLUSTER\x01c\x02", &mut out);
        out
    }

    #[test]
    fn what_the_broker_adds_stands_behind_what_was_sent() {
        assert_eq!(completed(b"TAGS\x01a\x02", None), b"TAGS\x01a\x02CLUSTER\x01c\x02");
        assert_eq!(completed(b"TAGS\x01a", Some("7F")), b"TAGS\x01a\x02UNIQ_KEY\x017F\x02CLUSTER\x01c\x02");
        assert_eq!(completed(b"", None), b"CLUSTER\x01c\x02");
    }

    #[test]
    fn what_only_the_broker_writes_is_not_taken_from_a_producer() {
        let sent = b"CLUSTER\x01mine\x02TAGS\x01a\x02POP_CK\x010 1\x02";
        assert_eq!(completed(sent, None), b"TAGS\x01a\x02CLUSTER\x01c\x02");
    }

    #[test]
    fn half_and_delayed_messages_are_told_apart_from_plain_ones() {
        let look = |raw: &'static [u8]| {
            let found = SentProperties::examine(raw);
            (found.is_prepare, found.is_delayed)
        };
        assert_eq!(look(b"WAIT\x01true\x02TAGS\x01DELAY\x02"), (false, false));
        assert_eq!(look(b"TRAN_MSG\x01True\x02"), (true, false));
        assert_eq!(look(b"TRAN_MSG\x01false\x02DELAY\x010\x02"), (false, false));
        assert_eq!(look(b"DELAY\x013\x02"), (false, true));
        assert_eq!(look(b"TIMER_DELAY_SEC\x0110\x02"), (false, true));
    }
}
