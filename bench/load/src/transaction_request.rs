//! The requests of transactions, as a Java client sends them: half messages, decisions, and a producer's heartbeat.

use escrowmq_wire::{ExtFields, FrameView, HeaderKind, RemotingHeader, encode_frame};

use crate::Failure;
use crate::request::VERSION;

const SEND_MESSAGE_V2: i32 = 310;
const END_TRANSACTION: i32 = 37;
const HEART_BEAT: i32 = 34;
/// The system flag of a half message that is sent.
const PREPARED: &str = "4";
const ONE_WAY: i32 = 2;
/// An offset message id ends with the log offset, in so many hexadecimal digits.
const LOG_OFFSET_DIGITS: usize = 16;

/// What a producer says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Commit,
    Rollback,
    Unknown,
}

impl std::str::FromStr for Decision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "commit" => Ok(Self::Commit),
            "rollback" => Ok(Self::Rollback),
            "unknown" => Ok(Self::Unknown),
            _ => Err("it is commit, rollback or unknown".to_owned()),
        }
    }
}

impl Decision {
    fn code(self) -> &'static str {
        match self {
            Self::Commit => "8",
            Self::Rollback => "12",
            Self::Unknown => "0",
        }
    }
}

/// A half message that the broker has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Half {
    pub queue_offset: String,
    pub log_offset: u64,
    pub unique_id: String,
}

impl Half {
    /// As the answer to its prepare names it.
    pub fn of_answer(answer: FrameView<'_>) -> Result<Self, Failure> {
        let header = answer.decode_header()?;
        let field =
            |name: &str| header.ext_fields.get(name).ok_or_else(|| format!("an answer has no {name}"));
        let message_id = field("msgId")?;
        let digits = message_id.len().checked_sub(LOG_OFFSET_DIGITS).and_then(|at| message_id.get(at..));
        Ok(Self {
            queue_offset: field("queueOffset")?.to_owned(),
            log_offset: u64::from_str_radix(digits.ok_or("an answer's msgId is too short")?, 16)?,
            unique_id: field("transactionId")?.to_owned(),
        })
    }

    /// As a question of the broker's names it.
    pub fn of_question(header: &RemotingHeader<'_>) -> Result<Self, Failure> {
        let field =
            |name: &str| header.ext_fields.get(name).ok_or_else(|| format!("a question has no {name}"));
        Ok(Self {
            queue_offset: field("tranStateTableOffset")?.to_owned(),
            log_offset: field("commitLogOffset")?.parse()?,
            unique_id: field("transactionId")?.to_owned(),
        })
    }
}

/// Who prepares what.
#[derive(Debug, Clone, Copy)]
pub struct Prepare<'a> {
    pub kind: HeaderKind,
    pub group: &'a str,
    pub topic: &'a str,
    pub queue_id: u32,
    pub unique_id: &'a str,
    pub born_ms: u128,
    pub body: &'a [u8],
}

/// Appends a half message to be stored.
pub fn prepare(half: Prepare<'_>, opaque: i32, out: &mut Vec<u8>) -> Result<(), Failure> {
    let (queue_id, born_ms) = (half.queue_id.to_string(), half.born_ms.to_string());
    let properties = format!(
        "UNIQ_KEY\u{1}{}\u{2}WAIT\u{1}true\u{2}TRAN_MSG\u{1}true\u{2}PGROUP\u{1}{}\u{2}",
        half.unique_id, half.group
    );
    let fields = [
        ("a", half.group),
        ("b", half.topic),
        ("c", "TBW102"),
        ("d", "8"),
        ("e", &queue_id),
        ("f", PREPARED),
        ("g", &born_ms),
        ("h", "0"),
        ("i", &properties),
        ("j", "0"),
        ("k", "false"),
        ("m", "false"),
    ];
    encode_frame(half.kind, &header(SEND_MESSAGE_V2, opaque, 0, &fields), half.body, out)?;
    Ok(())
}

/// Who decides, and how the broker is told.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    pub kind: HeaderKind,
    pub group: &'a str,
    pub topic: &'a str,
    pub decision: Decision,
    /// Whether the broker has asked, and wants no answer then.
    pub is_from_check: bool,
}

/// Appends a decision.
pub fn end(end: End<'_>, half: &Half, opaque: i32, out: &mut Vec<u8>) -> Result<(), Failure> {
    let log_offset = half.log_offset.to_string();
    let fields = [
        ("topic", end.topic),
        ("producerGroup", end.group),
        ("tranStateTableOffset", &half.queue_offset),
        ("commitLogOffset", &log_offset),
        ("commitOrRollback", end.decision.code()),
        ("fromTransactionCheck", if end.is_from_check { "true" } else { "false" }),
        ("msgId", &half.unique_id),
        ("transactionId", &half.unique_id),
    ];
    let flag = if end.is_from_check { ONE_WAY } else { 0 };
    encode_frame(end.kind, &header(END_TRANSACTION, opaque, flag, &fields), b"", out)?;
    Ok(())
}

/// Appends the heartbeat of a client that is a producer of a group.
pub fn heartbeat(kind: HeaderKind, group: &str, out: &mut Vec<u8>) -> Result<(), Failure> {
    let body = serde_json::json!({
        "clientID": format!("load@{}", std::process::id()),
        "producerDataSet": [{"groupName": group}],
        "consumerDataSet": [],
    });
    encode_frame(kind, &header(HEART_BEAT, 0, 0, &[]), body.to_string().as_bytes(), out)?;
    Ok(())
}

fn header<'a>(code: i32, opaque: i32, flag: i32, fields: &[(&'a str, &'a str)]) -> RemotingHeader<'a> {
    let mut ext_fields = ExtFields::with_capacity(fields.len());
    for (name, value) in fields {
        ext_fields.push(*name, *value);
    }
    RemotingHeader { code, opaque, flag, version: VERSION, ext_fields, ..RemotingHeader::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrowmq_wire::cut_frames;

    #[test]
    fn a_half_message_is_found_by_what_its_answer_says() {
        let fields = [
            ("msgId", "7F00000100002A9F00000000000104D2"),
            ("queueOffset", "17"),
            ("transactionId", "7F00000100000000000000000000002A"),
        ];
        let mut bytes = Vec::new();
        encode_frame(HeaderKind::Binary, &header(0, 1, 1, &fields), b"", &mut bytes).expect("frame");
        let half = Half::of_answer(cut_frames(&bytes, 1 << 20).expect("frames")[0]).expect("half");
        assert_eq!((half.queue_offset.as_str(), half.log_offset), ("17", 0x104D2));
        assert_eq!(half.unique_id, "7F00000100000000000000000000002A");
    }

    #[test]
    fn an_answer_with_a_short_id_is_refused() {
        let fields = [("msgId", "2A"), ("queueOffset", "17"), ("transactionId", "x")];
        let mut bytes = Vec::new();
        encode_frame(HeaderKind::Json, &header(0, 1, 1, &fields), b"", &mut bytes).expect("frame");
        assert!(Half::of_answer(cut_frames(&bytes, 1 << 20).expect("frames")[0]).is_err());
    }
}
