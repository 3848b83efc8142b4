//! A message as a producer sends it, to whichever queue: its header and properties are encoded in one go.

use std::sync::Arc;

use bytes::Bytes;
use escrowmq_wire::{ExtFields, HeaderKind, Language, RemotingHeader};

use crate::answer::{Answer, encode};
use crate::calls::Callable;
use crate::error::LaneError;

const SEND_MESSAGE_V2: i32 = 310;
const SEND_BATCH_MESSAGE: i32 = 320;
const FLAG_ONE_WAY: i32 = 1 << 1;

/// What does not depend on the queue.
#[derive(Debug, Clone)]
pub struct SentMessage {
    /// The producer group.
    pub group: String,
    /// The topic.
    pub topic: String,
    /// The topic whose brokers would make this one.
    pub template_topic: String,
    /// How many queues it would get.
    pub new_topic_queues: i32,
    /// Compression and transaction kind.
    pub sys_flag: i32,
    /// When the producer made it.
    pub born_timestamp_ms: i64,
    /// The producer's own flag.
    pub flag: i32,
    /// Its property string.
    pub properties: String,
    /// Whether its body holds many messages.
    pub is_batch: bool,
    /// The body, compressed or not.
    pub body: Bytes,
}

/// The same for one queue of a broker.
#[derive(Debug, Clone)]
pub struct QueuedSend {
    /// The message.
    pub message: Arc<SentMessage>,
    /// The queue.
    pub queue_id: i32,
    /// The broker's name.
    pub broker_name: String,
}

impl QueuedSend {
    /// The frame of the request, in pieces.
    ///
    /// # Errors
    /// [`LaneError::Wire`] where it holds more than its header can express.
    pub fn encode(&self, opaque: i32, is_one_way: bool) -> Result<Vec<Bytes>, LaneError> {
        let message = &*self.message;
        let mut fields = ExtFields::with_capacity(13);
        fields.push("a", message.group.as_str());
        fields.push("b", message.topic.as_str());
        fields.push("c", message.template_topic.as_str());
        fields.push("d", message.new_topic_queues.to_string());
        fields.push("e", self.queue_id.to_string());
        fields.push("f", message.sys_flag.to_string());
        fields.push("g", message.born_timestamp_ms.to_string());
        fields.push("h", message.flag.to_string());
        fields.push("i", message.properties.as_str());
        fields.push("j", "0");
        fields.push("k", "false");
        fields.push("m", if message.is_batch { "true" } else { "false" });
        fields.push("n", self.broker_name.as_str());
        let header = RemotingHeader {
            code: if message.is_batch { SEND_BATCH_MESSAGE } else { SEND_MESSAGE_V2 },
            language: Language::Python,
            version: Answer::VERSION,
            opaque,
            flag: if is_one_way { FLAG_ONE_WAY } else { 0 },
            remark: None,
            ext_fields: fields,
        };
        // The shorter form: brokers of all versions read it, and answer in it.
        Ok(encode(HeaderKind::Binary, &header, &message.body)?)
    }
}

impl Callable for QueuedSend {
    fn encode_call(&self, opaque: i32) -> Result<Vec<Bytes>, LaneError> {
        self.encode(opaque, false)
    }
}
