//! The fields of a send, under either of their two sets of names.

use escrowmq_wire::RemotingHeader;

use super::codes::request;
use super::fields::{BadField, needed, number};

/// What a producer asks for, borrowed from its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendRequest<'a> {
    pub topic: &'a str,
    pub queue_id: i32,
    pub sys_flag: i32,
    pub born_timestamp_ms: i64,
    pub flag: i32,
    pub properties: &'a str,
    pub reconsume_times: i32,
    pub is_batch: bool,
}

impl<'a> SendRequest<'a> {
    /// Reads the fields.
    pub fn parse(header: &'a RemotingHeader<'_>) -> Result<Self, BadField> {
        let has_letters = header.code != request::SEND_MESSAGE;
        let (mut topic, mut queue_id, mut sys_flag, mut born, mut flag) = (None, None, None, None, None);
        let (mut properties, mut reconsume_times) = ("", 0);
        let mut is_batch = header.code == request::SEND_BATCH_MESSAGE;
        for (name, value) in header.ext_fields.iter() {
            match if has_letters { long_name(name) } else { name } {
                "topic" => topic = Some(value),
                "queueId" => queue_id = Some(number("queueId", value)?),
                "sysFlag" => sys_flag = Some(number("sysFlag", value)?),
                "bornTimestamp" => born = Some(number("bornTimestamp", value)?),
                "flag" => flag = Some(number("flag", value)?),
                "properties" => properties = value,
                "reconsumeTimes" => reconsume_times = number("reconsumeTimes", value)?,
                "batch" => is_batch |= value.eq_ignore_ascii_case("true"),
                _ => {}
            }
        }
        Ok(Self {
            topic: needed("topic", topic)?,
            queue_id: needed("queueId", queue_id)?,
            sys_flag: needed("sysFlag", sys_flag)?,
            born_timestamp_ms: needed("bornTimestamp", born)?,
            flag: needed("flag", flag)?,
            properties,
            reconsume_times,
            is_batch,
        })
    }
}

/// Compat: the second form of a send names its fields by letters.
fn long_name(letter: &str) -> &str {
    match letter {
        "b" => "topic",
        "e" => "queueId",
        "f" => "sysFlag",
        "g" => "bornTimestamp",
        "h" => "flag",
        "i" => "properties",
        "j" => "reconsumeTimes",
        "m" => "batch",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LETTERS: [(&str, &str); 8] = [
        ("a", "producers"),
        ("b", "orders"),
        ("e", "3"),
        ("f", "0"),
        ("g", "1794984736583"),
        ("h", "9"),
        ("i", "TAGS\u{1}paid\u{2}"),
        ("m", "false"),
    ];

    fn header(code: i32, fields: &[(&'static str, &'static str)]) -> RemotingHeader<'static> {
        RemotingHeader { code, ext_fields: fields.iter().copied().collect(), ..RemotingHeader::default() }
    }

    #[test]
    fn both_sets_of_names_are_read() {
        let short = header(request::SEND_MESSAGE_V2, &LETTERS);
        let names =
            ["producerGroup", "topic", "queueId", "sysFlag", "bornTimestamp", "flag", "properties", "batch"];
        let long: Vec<_> = names.into_iter().zip(LETTERS).map(|(name, (_, value))| (name, value)).collect();
        let long = header(request::SEND_MESSAGE, &long);
        let parsed = SendRequest::parse(&short).expect("all is there");
        assert_eq!(Ok(parsed), SendRequest::parse(&long));
        assert_eq!((parsed.topic, parsed.queue_id, parsed.flag), ("orders", 3, 9));
        assert!(!parsed.is_batch && parsed.reconsume_times == 0);
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        let without_topic = header(310, &LETTERS[2..]);
        let error = SendRequest::parse(&without_topic).expect_err("there is no topic");
        assert_eq!(error.to_string(), "the custom field <topic> is null");
        let bad = header(310, &[("b", "orders"), ("e", "many")]);
        let error = SendRequest::parse(&bad).expect_err("many is no number");
        assert_eq!(error.to_string(), "the custom field <queueId> is \"many\", which is no number");
    }

    #[test]
    fn a_batch_is_one_by_its_code_or_by_its_field() {
        assert!(SendRequest::parse(&header(320, &LETTERS)).is_ok_and(|request| request.is_batch));
        let mut fields = LETTERS;
        fields[7] = ("m", "TRUE");
        assert!(SendRequest::parse(&header(310, &fields)).is_ok_and(|request| request.is_batch));
    }
}
