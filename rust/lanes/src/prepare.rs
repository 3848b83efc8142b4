//! Ordinary prepares: sends that become half messages without a question being asked. What a half message carries, and how
//! its producer is answered, is done here in one go; whether it may become one, Python says.
//!
//! Any send that is out of the ordinary is left to Python whole, which knows what to tell its producer.

use std::net::SocketAddr;

use bytes::Bytes;
use escrowmq_store::Receipt;
use escrowmq_wire::{
    ExtFields, Language, OffsetMessageId, Properties, SysFlag, TransactionKind, encode_properties,
    property_names,
};

use crate::answer::{After, Answer};
use crate::event::Received;
use crate::fast::codes::request::{SEND_BATCH_MESSAGE, SEND_MESSAGE, SEND_MESSAGE_V2};
use crate::fast::{Late, SendRequest, SentProperties};

/// One with more may be too much for what is added later: Python counts.
const PROPERTIES_SIZE_MAX: usize = 8_000;
/// Python counts the characters of a longer group or id.
const NAME_SIZE_MAX: usize = 255;
const RETRY_PREFIX: &str = "%RETRY%";
/// Compat: where a message was popped, a producer can't say.
const POPPED: &[u8] = b"POP_CK";

/// A half message that was sent, as it is to be stored.
#[derive(Debug, Clone)]
pub struct Prepare {
    /// The topic that it is for.
    pub topic: String,
    /// The queue that it is for.
    pub queue_id: i32,
    /// The producer group that decides it.
    pub group: String,
    /// Its id.
    pub unique_id: String,
    /// The producer's own flag.
    pub flag: i32,
    /// System flag, without saying which part of a transaction it is.
    pub sys_flag: i32,
    /// When it was made.
    pub born_timestamp_ms: i64,
    /// Who has sent it.
    pub born_host: SocketAddr,
    /// What is stored: the producer's properties and the broker's.
    pub properties: Vec<u8>,
    /// Its body.
    pub body: Bytes,
}

/// Reads prepares and answers them, for one broker.
#[derive(Debug)]
pub struct PrepareReader {
    /// What every message of the broker has.
    on_messages: Vec<u8>,
    /// What every answer to a send has.
    on_answers: [(&'static str, String); 2],
    store_host: SocketAddr,
}

impl PrepareReader {
    /// For a broker of this region and cluster, with this address in its ids.
    #[must_use]
    pub fn new(region: String, cluster: &str, asks_for_traces: bool, store_host: SocketAddr) -> Self {
        let trace_on = if asks_for_traces { "true" } else { "false" };
        let on_answers =
            [(property_names::MSG_REGION, region), (property_names::TRACE_ON, trace_on.to_owned())];
        let mut on_messages = Vec::new();
        encode_properties(on_answers.iter().map(|(name, value)| (*name, value.as_str())), &mut on_messages);
        encode_properties([(property_names::CLUSTER, cluster)], &mut on_messages);
        Self { on_messages, on_answers, store_host }
    }

    /// The half message in a request, if that is an ordinary prepare.
    #[must_use]
    pub fn read(&self, received: &Received) -> Option<Prepare> {
        if !matches!(received.code, SEND_MESSAGE | SEND_MESSAGE_V2) {
            return None;
        }
        let header = received.frame.decode_header().ok()?;
        let request = SendRequest::parse(&header).ok()?;
        let sent = SentProperties::examine(request.properties.as_bytes());
        let is_ordinary = sent.is_prepare
            && !sent.is_delayed
            && !request.is_batch
            && request.queue_id >= 0
            && request.reconsume_times == 0
            && request.properties.len() < PROPERTIES_SIZE_MAX
            && !request.topic.starts_with(RETRY_PREFIX)
            && !received.frame.body.is_empty();
        if !is_ordinary {
            return None;
        }
        let unique_id = text(sent.unique_key?)?;
        let group = Properties::new(request.properties.as_bytes()).get(property_names::PGROUP)?;
        if group.trim().is_empty() || group.len().max(unique_id.len()) > NAME_SIZE_MAX {
            return None;
        }
        Some(Prepare {
            topic: request.topic.to_owned(),
            queue_id: request.queue_id,
            group: group.to_owned(),
            unique_id: unique_id.to_owned(),
            flag: request.flag,
            sys_flag: SysFlag(request.sys_flag).with_transaction(TransactionKind::None).0,
            born_timestamp_ms: request.born_timestamp_ms,
            born_host: received.peer.address,
            properties: self.half_properties(&request, unique_id),
            body: received.frame.body.clone(),
        })
    }

    /// The answer to one that was appended: it goes out when that is durable.
    ///
    /// Compat: it names the queue that was asked for, and the place among the half messages.
    #[must_use]
    pub fn answer(&self, prepare: &Prepare, receipt: &Receipt) -> Answer {
        let message_id =
            OffsetMessageId { store_host: self.store_host, log_offset: receipt.log_offset.0 }.to_string();
        let mut ext_fields = ExtFields::with_capacity(self.on_answers.len() + 4);
        for (name, value) in &self.on_answers {
            ext_fields.push(*name, value.clone());
        }
        ext_fields.push("msgId", message_id);
        ext_fields.push("queueId", prepare.queue_id.to_string());
        ext_fields.push("queueOffset", receipt.queue_offset.0.to_string());
        ext_fields.push("transactionId", prepare.unique_id.clone());
        Answer {
            code: 0,
            remark: None,
            ext_fields,
            body: Bytes::new(),
            language: Language::Java,
            version: Answer::VERSION,
            after: Some(After { end: receipt.end_offset(), late: Late::default() }),
        }
    }

    fn half_properties(&self, request: &SendRequest<'_>, unique_id: &str) -> Vec<u8> {
        let mut out = Vec::with_capacity(request.properties.len() + self.on_messages.len() + 128);
        let sent = Properties::new(request.properties.as_bytes());
        encode_properties(sent.iter_bytes().filter(|(name, _)| !is_the_brokers(name)), &mut out);
        out.extend_from_slice(&self.on_messages);
        let queue_id = request.queue_id.to_string();
        let real = [
            (property_names::TRANSACTION_ID, unique_id),
            (property_names::REAL_TOPIC, request.topic),
            (property_names::REAL_QID, &queue_id),
        ];
        encode_properties(real, &mut out);
        out
    }
}

/// The topic of a request, if that is a send.
#[must_use]
pub fn topic_of_send(received: &Received) -> Option<String> {
    let name = match received.code {
        SEND_MESSAGE => "topic",
        SEND_MESSAGE_V2 | SEND_BATCH_MESSAGE => "b",
        _ => return None,
    };
    Some(received.frame.decode_header().ok()?.ext_fields.get(name)?.to_owned())
}

/// What only the broker says, of any message and of a half message.
fn is_the_brokers(name: &[u8]) -> bool {
    const NAMES: [&str; 10] = [
        property_names::MSG_REGION,
        property_names::TRACE_ON,
        property_names::CLUSTER,
        property_names::TRANSACTION_ID,
        property_names::REAL_TOPIC,
        property_names::REAL_QID,
        property_names::TRANSACTION_CHECK_TIMES,
        property_names::TRAN_PREPARED_QUEUE_OFFSET,
        property_names::ESCROWMQ_ROOT,
        property_names::ESCROWMQ_DECIDED,
    ];
    name == POPPED || NAMES.iter().any(|known| known.as_bytes() == name)
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
