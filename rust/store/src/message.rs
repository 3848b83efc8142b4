//! What goes into the store, and what comes back for it.

use std::net::SocketAddr;

use escrowmq_wire::{PROPERTIES_SIZE_MAX, Record, SysFlag, TransactionKind, check_topic_name};

use crate::error::{BadMessage, TopicProblem};
use crate::offset::{LogOffset, QueueOffset};

/// A message to append. The log assigns its offsets and its store timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewMessage<'a> {
    /// Topic of its queue.
    pub topic: &'a str,
    /// Number of its queue.
    pub queue_id: i32,
    /// The producer's own flag.
    pub flag: i32,
    /// Compression, transaction kind and so on. The bits for IPv6 follow from the hosts.
    pub sys_flag: SysFlag,
    /// When the producer made it.
    pub born_timestamp_ms: i64,
    /// Where the producer was.
    pub born_host: SocketAddr,
    /// The broker's address; the store's own unless a copy must keep its original's.
    pub store_host: Option<SocketAddr>,
    /// Whether it stands in the log already, and is appended once more: its body was allowed then, whatever is now.
    pub is_stored: bool,
    /// How often it was given back by consumers.
    pub reconsume_times: i32,
    /// Log offset of the half message that it commits.
    pub prepared_transaction_offset: i64,
    /// The body as sent, compressed or not.
    pub body: &'a [u8],
    /// The property string. A record CRC in it is dropped: it belongs to another record.
    pub properties: &'a [u8],
}

/// Where a message was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Its record's place in the log.
    pub log_offset: LogOffset,
    /// Its record's size.
    pub size_bytes: u32,
    /// Its place in its queue; 0 for one that is in no queue.
    pub queue_offset: QueueOffset,
    /// When it was appended.
    pub store_timestamp_ms: i64,
}

impl Receipt {
    /// The log offset after the record: it is durable when the log is up to here.
    #[must_use]
    pub fn end_offset(&self) -> LogOffset {
        LogOffset(self.log_offset.0 + u64::from(self.size_bytes))
    }
}

impl<'a> NewMessage<'a> {
    /// Checks the name of the topic.
    pub(crate) fn check_topic(&self) -> Result<(), BadMessage> {
        check_topic_name(self.topic).map_err(|problem| TopicProblem(problem.to_string()).into())
    }

    /// Checks everything else that does not depend on the log's state.
    pub(crate) fn check_values(
        &self,
        body_size_max: usize,
        properties_room: usize,
    ) -> Result<(), BadMessage> {
        if self.queue_id < 0 {
            return Err(BadMessage::Queue { found: i64::from(self.queue_id), limit: i64::from(i32::MAX) });
        }
        if self.body.len() > body_size_max && !self.is_stored {
            return Err(BadMessage::Body { found: self.body.len(), limit: body_size_max });
        }
        let limit = PROPERTIES_SIZE_MAX - properties_room;
        if self.properties.len() > limit {
            return Err(BadMessage::Properties { found: self.properties.len(), limit });
        }
        match memchr::memchr(0, self.properties) {
            Some(at) => Err(BadMessage::PropertiesNul { at }),
            None => Ok(()),
        }
    }

    /// The record that it becomes, but for what the log assigns.
    pub(crate) fn to_record(self, properties: &'a [u8], store_host: SocketAddr) -> Record<'a> {
        Record {
            queue_id: self.queue_id.cast_unsigned(),
            flag: self.flag,
            queue_offset: 0,
            log_offset: 0,
            sys_flag: self.sys_flag,
            born_timestamp_ms: self.born_timestamp_ms,
            born_host: self.born_host,
            store_timestamp_ms: 0,
            store_host: self.store_host.unwrap_or(store_host),
            reconsume_times: self.reconsume_times,
            prepared_transaction_offset: self.prepared_transaction_offset,
            body: self.body,
            topic: self.topic,
            properties,
        }
    }
}

/// Whether records of this kind stand in a consume queue. Compat: Apache keeps prepared and rolled-back ones out.
pub(crate) fn is_queued(sys_flag: SysFlag) -> bool {
    matches!(sys_flag.transaction(), TransactionKind::None | TransactionKind::Commit)
}
