//! What a record means to the index. The same whether it is read from the log or was just appended.

use escrowmq_wire::{Properties, RecordView, SysFlag, TransactionKind, body_checksum, property_names};

use super::op_marks::{OpMarks, number};
use super::{DISCARD_TOPIC, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE};
use crate::message::{NewMessage, Receipt};
use crate::queue_builder::SCHEDULE_TOPIC;
use crate::timer::TIMER_TOPIC;

/// Tag of an op record whose body lists half offsets.
const OP_TAG: &[u8] = b"d";

/// Something that happened to a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Event<'a> {
    Half(HalfRecord<'a>),
    Final(Final<'a>),
    Op(Op<'a>),
    Discard(Discard<'a>),
    /// A record of the half topic that can't be a transaction.
    NoTransaction,
}

/// Where and when a record was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub log_offset: u64,
    /// The log offset behind it.
    pub end: u64,
    pub store_ms: i64,
}

/// What belongs to a transaction: its group and its unique id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity<'a> {
    pub group: &'a str,
    pub unique_id: &'a str,
}

/// The half record that a copy says it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Root {
    pub log_offset: u64,
    pub store_ms: i64,
}

/// A half message, or a copy of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HalfRecord<'a> {
    pub place: Place,
    pub half_offset: u64,
    pub identity: Identity<'a>,
    pub topic: &'a str,
    pub queue_id: i32,
    pub body_crc: u32,
    pub checks: u32,
    /// Our copies say where they come from.
    pub root: Option<Root>,
    /// Apache's copies say only that they are copies.
    pub is_copy: bool,
}

/// The final message of a committed transaction, perhaps: copies of it look the same but for what they name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Final<'a> {
    pub place: Place,
    pub half_log_offset: u64,
    topic: &'a str,
    properties: Properties<'a>,
}

/// A record that marks copies of half messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Op<'a> {
    pub place: Place,
    pub marks: OpMarks<'a>,
}

/// A half message that nobody asks about any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Discard<'a> {
    pub place: Place,
    pub identity: Identity<'a>,
    pub root: Option<Root>,
}

/// What there is to know of a record, wherever it comes from.
struct Appended<'a> {
    place: Place,
    topic: &'a str,
    queue_id: u32,
    queue_offset: u64,
    sys_flag: SysFlag,
    prepared_transaction_offset: i64,
    body: &'a [u8],
    properties: Properties<'a>,
}

impl<'a> Event<'a> {
    /// What a record of the log means; `None` for one that has nothing to do with transactions.
    pub fn of_record(record: &RecordView<'a>) -> Option<Self> {
        let appended = Appended {
            place: Place {
                log_offset: record.log_offset(),
                end: record.log_offset() + u64::from(record.size()),
                store_ms: record.store_timestamp_ms(),
            },
            topic: record.topic(),
            queue_id: record.queue_id(),
            queue_offset: record.queue_offset(),
            sys_flag: record.sys_flag(),
            prepared_transaction_offset: record.prepared_transaction_offset(),
            body: record.body(),
            properties: record.properties(),
        };
        appended.event(|| record.body_crc())
    }

    /// The same for a message that was appended a moment ago.
    pub fn of_message(message: &NewMessage<'a>, receipt: &Receipt) -> Option<Self> {
        let appended = Appended {
            place: Place {
                log_offset: receipt.log_offset.0,
                end: receipt.end_offset().0,
                store_ms: receipt.store_timestamp_ms,
            },
            topic: message.topic,
            queue_id: message.queue_id.cast_unsigned(),
            queue_offset: receipt.queue_offset.0,
            sys_flag: message.sys_flag,
            prepared_transaction_offset: message.prepared_transaction_offset,
            body: message.body,
            properties: Properties::new(message.properties),
        };
        appended.event(|| body_checksum(message.body))
    }
}

impl<'a> Appended<'a> {
    fn event(&self, body_crc: impl FnOnce() -> u32) -> Option<Event<'a>> {
        let kind = self.sys_flag.transaction();
        match (kind, self.topic) {
            // One that stands in no queue has no half offset.
            (TransactionKind::None, HALF_TOPIC) if self.queue_id == TRANSACTION_QUEUE => {
                Some(self.half(body_crc).map_or(Event::NoTransaction, Event::Half))
            }
            (TransactionKind::None, OP_TOPIC) => self.op().map(Event::Op),
            (TransactionKind::None, DISCARD_TOPIC) => self.discard().map(Event::Discard),
            (_, HALF_TOPIC) => Some(Event::NoTransaction),
            (TransactionKind::Commit, _) => Some(Event::Final(Final {
                place: self.place,
                half_log_offset: u64::try_from(self.prepared_transaction_offset).ok()?,
                topic: self.topic,
                properties: self.properties,
            })),
            _ => None,
        }
    }

    fn half(&self, body_crc: impl FnOnce() -> u32) -> Option<HalfRecord<'a>> {
        let found = HalfProperties::read(self.properties);
        let checks = found.checks.and_then(number).and_then(|checks| u32::try_from(checks).ok()).unwrap_or(0);
        Some(HalfRecord {
            place: self.place,
            half_offset: self.queue_offset,
            identity: found.identity()?,
            topic: text(found.topic?)?,
            queue_id: found.queue_id.and_then(text).and_then(|text| text.parse().ok()).unwrap_or(0),
            body_crc: body_crc(),
            checks,
            root: found.root.and_then(Root::parse),
            is_copy: checks >= 1 || found.first_half_offset.is_some(),
        })
    }

    fn op(&self) -> Option<Op<'a>> {
        let has_tag = self.properties.get_bytes(property_names::TAGS) == Some(OP_TAG);
        let decided = self.properties.get(property_names::ESCROWMQ_DECIDED);
        has_tag.then(|| Op { place: self.place, marks: OpMarks::new(self.body, decided) })
    }

    fn discard(&self) -> Option<Discard<'a>> {
        let found = HalfProperties::read(self.properties);
        let root = found.root.and_then(Root::parse);
        Some(Discard { place: self.place, identity: found.identity()?, root })
    }
}

impl Final<'_> {
    /// Whether it commits a transaction with this topic and unique id. A delayed one waits in another topic.
    pub fn is_of(&self, topic: &str, has_unique_id: impl FnOnce(&str) -> bool) -> bool {
        let real_topic = match self.topic {
            SCHEDULE_TOPIC | TIMER_TOPIC => self.properties.get(property_names::REAL_TOPIC),
            topic => Some(topic),
        };
        real_topic == Some(topic) && self.properties.get(property_names::UNIQ_KEY).is_some_and(has_unique_id)
    }
}

impl Root {
    /// Reads `<log offset>,<store time in ms>`.
    fn parse(value: &[u8]) -> Option<Self> {
        let comma = memchr::memchr(b',', value)?;
        let log_offset = number(&value[..comma])?;
        let store_ms = i64::try_from(number(&value[comma + 1..])?).ok()?;
        Some(Self { log_offset, store_ms })
    }
}

/// The properties of a half message that matter, read in one pass.
#[derive(Default)]
struct HalfProperties<'a> {
    group: Option<&'a [u8]>,
    unique_id: Option<&'a [u8]>,
    topic: Option<&'a [u8]>,
    queue_id: Option<&'a [u8]>,
    checks: Option<&'a [u8]>,
    root: Option<&'a [u8]>,
    first_half_offset: Option<&'a [u8]>,
}

impl<'a> HalfProperties<'a> {
    fn read(properties: Properties<'a>) -> Self {
        let mut found = Self::default();
        for (name, value) in properties.iter_bytes() {
            let field = match std::str::from_utf8(name) {
                Ok(property_names::PGROUP) => &mut found.group,
                Ok(property_names::UNIQ_KEY) => &mut found.unique_id,
                Ok(property_names::REAL_TOPIC) => &mut found.topic,
                Ok(property_names::REAL_QID) => &mut found.queue_id,
                Ok(property_names::TRANSACTION_CHECK_TIMES) => &mut found.checks,
                Ok(property_names::ESCROWMQ_ROOT) => &mut found.root,
                Ok(property_names::TRAN_PREPARED_QUEUE_OFFSET) => &mut found.first_half_offset,
                _ => continue,
            };
            *field = Some(value);
        }
        found
    }

    fn identity(&self) -> Option<Identity<'a>> {
        Some(Identity { group: text(self.group?)?, unique_id: text(self.unique_id?)? })
    }
}

fn text(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok()
}
