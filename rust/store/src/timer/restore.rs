//! A message of the timer topic becomes what it was before: its own topic and queue again, with the times that it was
//! taken in and given out. Or, where it has to wait longer, it goes back into the timer topic with its rolls counted.

use escrowmq_wire::{PROPERTIES_SIZE_MAX, RecordView, encode_properties, property_names};

use super::{TIMER_QUEUE, TIMER_TOPIC, identity};
use crate::commit_log::StoredRecord;
use crate::message::NewMessage;

/// Compat: the time at which a message was taken in that never was, since it was due at once.
pub(super) const NEVER_TAKEN_IN_MS: i64 = i64::MAX;

/// Properties that a delivery writes anew.
const RENEWED: [&str; 3] =
    [property_names::TIMER_ENQUEUE_MS, property_names::TIMER_DEQUEUE_MS, property_names::TIMER_ROLL_TIMES];

/// A message on its way out of the timer topic.
#[derive(Debug)]
pub(super) struct Restored {
    record: StoredRecord,
    topic: String,
    queue_id: i32,
    properties: Vec<u8>,
}

impl Restored {
    /// The message for its own topic; `None` where its properties do not say which.
    pub fn deliver(record: StoredRecord, taken_in_ms: i64, now_ms: i64) -> Option<Self> {
        let view = record.view();
        let topic = view.properties().get(property_names::REAL_TOPIC)?.to_string();
        let queue_id = view.properties().get(property_names::REAL_QID)?.parse().ok()?;
        let rolls = identity::rolls(&view);
        let properties = properties(&record, taken_in_ms, now_ms, rolls);
        Some(Self { record, topic, queue_id, properties })
    }

    /// The message for the timer topic once more.
    pub fn roll(record: StoredRecord, taken_in_ms: i64, now_ms: i64) -> Self {
        let rolls = identity::rolls(&record.view()).saturating_add(1);
        let properties = properties(&record, taken_in_ms, now_ms, rolls);
        Self { record, topic: TIMER_TOPIC.to_string(), queue_id: TIMER_QUEUE.cast_signed(), properties }
    }

    /// Whether it goes back to wait longer.
    pub fn is_roll(&self) -> bool {
        self.topic == TIMER_TOPIC
    }

    /// The record of the timer topic.
    pub fn waited(&self) -> RecordView<'_> {
        self.record.view()
    }

    /// Size of what is appended, about.
    pub fn size(&self) -> usize {
        self.record.bytes().len()
    }

    /// The topic that the message is for, be it on its way there or back to wait.
    pub fn real_topic(&self) -> String {
        let topic = self.record.view().properties().get(property_names::REAL_TOPIC);
        topic.unwrap_or(&self.topic).to_string()
    }

    /// What is appended. Compat: the store host stays that of the broker that took the message.
    pub fn message(&self) -> NewMessage<'_> {
        let view = self.record.view();
        NewMessage {
            topic: &self.topic,
            queue_id: self.queue_id,
            flag: view.flag(),
            sys_flag: view.sys_flag(),
            born_timestamp_ms: view.born_timestamp_ms(),
            born_host: view.born_host(),
            store_host: Some(view.store_host()),
            is_stored: true,
            reconsume_times: view.reconsume_times(),
            prepared_transaction_offset: 0,
            body: view.body(),
            properties: &self.properties,
        }
    }
}

/// Compat: everything stays, `REAL_TOPIC` and `REAL_QID` included. Where there is no room for the times, they are left
/// out: a message is worth more than they are.
fn properties(record: &StoredRecord, taken_in_ms: i64, now_ms: i64, rolls: u32) -> Vec<u8> {
    let view = record.view();
    let kept = view
        .properties()
        .iter_bytes()
        .filter(|(name, _)| !RENEWED.iter().any(|other| other.as_bytes() == *name));
    let mut text = Vec::with_capacity(view.properties_bytes().len() + 96);
    encode_properties(kept, &mut text);
    if rolls > 0 {
        encode_properties([(property_names::TIMER_ROLL_TIMES, rolls.to_string())], &mut text);
    }
    let before_times = text.len();
    let times = [
        (property_names::TIMER_ENQUEUE_MS, taken_in_ms.to_string()),
        (property_names::TIMER_DEQUEUE_MS, now_ms.to_string()),
    ];
    encode_properties(times, &mut text);
    if text.len() > PROPERTIES_SIZE_MAX - PROPERTIES_SLACK {
        text.truncate(before_times);
    }
    text
}

/// Room for a record checksum, where records have one.
const PROPERTIES_SLACK: usize = 32;
