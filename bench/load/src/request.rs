//! The requests that are sent, as a Java client sends them.

use escrowmq_wire::{BatchMessage, ExtFields, HeaderKind, RemotingHeader, encode_frame};

use crate::Failure;

const SEND_MESSAGE_V2: i32 = 310;
const SEND_BATCH_MESSAGE: i32 = 320;
const PULL_MESSAGE: i32 = 11;
const GET_MAX_OFFSET: i32 = 30;
/// A pull says what it wants itself.
const PULL_WITH_SUBSCRIPTION: &str = "4";
/// The version that the client says it is: 5.5.0.
pub const VERSION: i32 = 513;
const BORN_TIMESTAMP_MS: &str = "1794984722856";

/// Stands in every unique key; the 8 digits behind it are for the sender to fill in.
pub const KEY_MARK: &str = "7F00000100010000000000E5";
/// Digits of a key that are filled in.
pub const KEY_DIGITS: usize = 8;

/// What the requests of a burst are like.
#[derive(Debug, Clone, Copy)]
pub struct Shape<'a> {
    pub kind: HeaderKind,
    pub topic: &'a str,
    pub queue_count: u32,
    pub body: &'a [u8],
    pub batch: u32,
    /// Encoded, beside those that every message has.
    pub properties: &'a str,
}

/// Appends a send of one message, or of a batch.
pub fn send(shape: Shape<'_>, queue_id: u32, out: &mut Vec<u8>) -> Result<(), Failure> {
    let Shape { kind, topic, body, batch, .. } = shape;
    let key = format!("UNIQ_KEY\u{1}{KEY_MARK}{}\u{2}", "0".repeat(KEY_DIGITS));
    let properties = format!("{key}WAIT\u{1}true\u{2}{}", shape.properties);
    let queue_id = queue_id.to_string();
    let mut fields = ExtFields::default();
    let is_batch = if batch > 1 { "true" } else { "false" };
    for (name, value) in [
        ("a", "load_producer"),
        ("b", topic),
        ("c", "TBW102"),
        ("d", "8"),
        ("e", &queue_id),
        ("f", "0"),
        ("g", BORN_TIMESTAMP_MS),
        ("h", "0"),
        ("i", &properties),
        ("j", "0"),
        ("k", "false"),
        ("m", is_batch),
    ] {
        fields.push(name, value);
    }
    let mut messages = Vec::new();
    if batch > 1 {
        for _ in 0..batch {
            BatchMessage { flag: 0, body, properties: properties.as_bytes() }.encode_into(&mut messages)?;
        }
    }
    let code = if batch > 1 { SEND_BATCH_MESSAGE } else { SEND_MESSAGE_V2 };
    let body = if batch > 1 { &messages } else { body };
    encode_frame(kind, &header(code, 0, fields), body, out)?;
    Ok(())
}

/// Who pulls what.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    pub kind: HeaderKind,
    pub group: &'a str,
    pub topic: &'a str,
    /// An SQL92 expression; without one, all messages are wanted.
    pub filter: Option<&'a str>,
}

/// Appends a pull that asks for as much as an answer may hold, and does not wait.
pub fn pull(wanted: Wanted<'_>, queue_id: u32, offset: u64, out: &mut Vec<u8>) -> Result<(), Failure> {
    let Wanted { kind, group, topic, filter } = wanted;
    let (queue, from) = (queue_id.to_string(), offset.to_string());
    let mut fields = ExtFields::default();
    for (name, value) in [
        ("consumerGroup", group),
        ("topic", topic),
        ("queueId", &queue),
        ("queueOffset", &from),
        ("maxMsgNums", "32"),
        ("sysFlag", PULL_WITH_SUBSCRIPTION),
        ("commitOffset", "0"),
        ("suspendTimeoutMillis", "0"),
        ("subscription", filter.unwrap_or("*")),
        ("subVersion", "0"),
        ("expressionType", if filter.is_some() { "SQL92" } else { "TAG" }),
    ] {
        fields.push(name, value);
    }
    encode_frame(kind, &header(PULL_MESSAGE, queue_id.cast_signed(), fields), b"", out)?;
    Ok(())
}

/// Appends a question for the end of a queue, which a broker answers from memory.
pub fn max_offset(kind: HeaderKind, topic: &str, queue_id: u32, out: &mut Vec<u8>) -> Result<(), Failure> {
    let queue = queue_id.to_string();
    let mut fields = ExtFields::default();
    fields.push("topic", topic);
    fields.push("queueId", &queue);
    encode_frame(kind, &header(GET_MAX_OFFSET, queue_id.cast_signed(), fields), b"", out)?;
    Ok(())
}

fn header(code: i32, opaque: i32, fields: ExtFields<'_>) -> RemotingHeader<'_> {
    RemotingHeader { code, opaque, version: VERSION, ext_fields: fields, ..RemotingHeader::default() }
}
