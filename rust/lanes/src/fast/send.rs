//! SEND: one message, appended as it came with the broker's properties behind its own.
//!
//! Compat: Apache answers a message with `WAIT=false` before its flush even in sync mode. Here acknowledged means on disk,
//! whatever a message says.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use escrowmq_store::{LogOffset, NewMessage, Receipt, StoreError};
use escrowmq_wire::{Digits, ExtFields, Frame, OffsetMessageId, RemotingHeader, SysFlag, TransactionKind};

use super::codes::response;
use super::lane::{FastLane, Verdict};
use super::pending_answers::{Late, PendingAnswer};
use super::reply::{Asker, Replies};
use super::send_request::SendRequest;
use super::sent_properties::SentProperties;
use super::topics::{TopicEntry, WRITABLE};
use super::traffic::{Traffic, TrafficCounter};

/// Fields of an answer to a send: two of the broker, three of where the message is, one of the producer.
const SEND_FIELDS_MAX: usize = 6;

impl FastLane {
    /// Stores a message or a batch, or leaves it to Python untouched.
    pub(super) fn send(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        header: &RemotingHeader<'_>,
        frame: &Frame,
    ) -> Verdict {
        if self.shared.is_closing.load(Ordering::Relaxed) {
            let remark = "service not available now: the broker stops";
            return self.refuse_send(replies, asker, response::SERVICE_NOT_AVAILABLE, remark);
        }
        let request = match SendRequest::parse(header) {
            Ok(request) => request,
            Err(error) => {
                return self.refuse_send(replies, asker, response::SYSTEM_ERROR, &error.to_string());
            }
        };
        let topics = self.shared.knowledge.topics();
        let Some(topic) = topics.get_for_send(request.topic) else {
            return if topics.is_known(request.topic) { Verdict::Passed } else { Verdict::Awaited };
        };
        if let Err((code, remark)) = self.check_send(&request, topic.entry, frame, asker) {
            return self.refuse_send(replies, asker, code, &remark);
        }
        let queue_id = self.choose_queue(request.queue_id, topic.entry);
        if request.is_batch {
            self.send_batch(replies, asker, &request, queue_id, &frame.body, &topic.traffic)
        } else {
            self.send_one(replies, asker, &request, queue_id, &frame.body, &topic.traffic)
        }
    }

    fn send_one(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        request: &SendRequest<'_>,
        queue_id: i32,
        body: &[u8],
        traffic: &TrafficCounter,
    ) -> Verdict {
        let sent = SentProperties::examine(request.properties.as_bytes());
        let is_plain = SysFlag(request.sys_flag).transaction() == TransactionKind::None;
        if sent.is_prepare || sent.is_delayed || !is_plain {
            return Verdict::Passed;
        }
        let made_id = match sent.unique_key {
            Some(_) => None,
            None => Some(self.unique_ids.next(self.store.core().now_ms())),
        };
        let mut properties = std::mem::take(&mut self.properties_scratch);
        sent.complete(
            request.properties.as_bytes(),
            made_id.as_deref(),
            &self.broker_properties,
            &mut properties,
        );
        let message = new_message(request, asker, queue_id, request.flag, body, &properties);
        let appended = self.store.core().append_one(&message);
        self.properties_scratch = properties;
        let receipt = match appended {
            Ok(receipt) => receipt,
            Err(error) => return self.refuse_append(replies, asker, &error),
        };
        traffic.add(Traffic::of_receipts(&[receipt]));
        let unique_key =
            made_id.as_deref().map_or_else(|| sent.unique_key.unwrap_or_default(), str::as_bytes);
        let message_id = self.message_id(receipt).to_string();
        let unique_key = std::str::from_utf8(unique_key).ok();
        self.stored(replies, asker, queue_id, &message_id, unique_key, &[receipt])
    }

    /// Answers a send that is in the log, now or when it is durable.
    pub(super) fn stored(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        queue_id: i32,
        message_ids: &str,
        unique_key: Option<&str>,
        receipts: &[Receipt],
    ) -> Verdict {
        let (Some(first), Some(last)) = (receipts.first(), receipts.last()) else { return Verdict::Done };
        let counters = &self.shared.counters;
        counters.sends.add(1);
        counters.messages_stored.add(receipts.len());
        if asker.is_one_way {
            asker.send(replies, Bytes::new(), Vec::new());
            return Verdict::Done;
        }
        let (queue, offset) = (Digits::of(queue_id), Digits::of_offset(first.queue_offset.0));
        let mut fields = self.send_fields();
        fields.push("msgId", message_ids);
        fields.push("queueId", queue.as_str());
        fields.push("queueOffset", offset.as_str());
        if let Some(unique_key) = unique_key {
            fields.push("transactionId", unique_key);
        }
        let head = asker.head(response::SUCCESS, None, fields, 0);
        if self.is_sync {
            self.wait_for_flush(replies, last.end_offset(), asker, head);
        } else {
            asker.send(replies, head, Vec::new());
        }
        Verdict::Done
    }

    fn wait_for_flush(&mut self, replies: &mut impl Replies, end: LogOffset, asker: Asker, head: Bytes) {
        let answer = PendingAnswer { end, asker, head, body: Vec::new(), late: Late::default() };
        self.pending.push(answer, replies.now());
        self.publish_waiting();
        // After it is known that someone waits: an arrival that came before is not told again.
        if self.store.core().visible_end() >= end || self.shared.mailbox.is_stopped() {
            self.release_answers(replies);
        }
        self.set_alarm();
    }

    /// Sends the answers to what has become durable, and to what never will.
    pub(super) fn release_answers(&mut self, replies: &mut impl Replies) {
        let is_stopped = self.shared.mailbox.is_stopped();
        let visible_end = self.store.core().visible_end();
        while let Some(answer) = self.pending.pop_visible(visible_end) {
            answer.asker.send(replies, answer.head, answer.body);
        }
        while is_stopped && let Some(answer) = self.pending.pop() {
            // Whether it is on disk nobody knows; what is sure is that nobody may rely on it.
            let remark = "the store has stopped before the message was flushed";
            answer.asker.refuse(replies, response::SERVICE_NOT_AVAILABLE, remark);
        }
        while let Some(PendingAnswer { asker, head, body, late, .. }) = self.pending.pop_late(replies.now()) {
            let head = asker.recode(head, &body, late.code, late.remark.as_deref());
            asker.send(replies, head, Vec::new());
        }
        self.publish_waiting();
    }

    pub(super) fn refuse_send(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        code: i32,
        remark: &str,
    ) -> Verdict {
        self.shared.counters.sends_refused.add(1);
        asker.answer(replies, code, Some(remark), self.send_fields());
        Verdict::Done
    }

    pub(super) fn refuse_append(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        error: &StoreError,
    ) -> Verdict {
        let (code, remark) = match error {
            StoreError::BadMessage { .. } => {
                (response::MESSAGE_ILLEGAL, format!("the message is illegal: {error}"))
            }
            StoreError::DiskFull { .. } | StoreError::Poisoned { .. } | StoreError::Closed => {
                (response::SERVICE_NOT_AVAILABLE, format!("service not available now: {error}"))
            }
            error if error.is_storage_full() => {
                (response::SERVICE_NOT_AVAILABLE, format!("service not available now: {error}"))
            }
            error => (response::SYSTEM_ERROR, error.to_string()),
        };
        self.refuse_send(replies, asker, code, &remark)
    }

    fn check_send(
        &self,
        request: &SendRequest<'_>,
        topic: TopicEntry,
        frame: &Frame,
        asker: Asker,
    ) -> Result<(), (i32, String)> {
        // Compat: the permission of the topic is not asked for. Clients see it in the route and stay away.
        if topic.is_ordered && !self.shared.knowledge.broker_allows(WRITABLE) {
            let remark = format!("the broker[{}] sending message is forbidden", self.identity.broker_address);
            return Err((response::NO_PERMISSION, remark));
        }
        let queue_count = topic.read_queue_count.max(topic.write_queue_count);
        if i64::from(request.queue_id) >= i64::from(queue_count) {
            let (queue_id, name, address) = (request.queue_id, request.topic, asker.peer.address);
            let remark = format!(
                "request queueId[{queue_id}] is illegal, topic {name} has {queue_count} queues, Producer: {address}"
            );
            return Err((response::INVALID_PARAMETER, remark));
        }
        if frame.body.is_empty() {
            return Err((response::MESSAGE_ILLEGAL, "the message is illegal: it has no body".to_owned()));
        }
        Ok(())
    }

    /// The queue that was asked for, or, where none was, each in turn.
    fn choose_queue(&mut self, queue_id: i32, topic: TopicEntry) -> i32 {
        if queue_id >= 0 {
            return queue_id;
        }
        self.next_queue = self.next_queue.wrapping_add(1);
        i32::try_from(self.next_queue % topic.write_queue_count.max(1)).unwrap_or_default()
    }

    /// The fields that every answer to a send has, whatever it says.
    fn send_fields(&self) -> ExtFields<'_> {
        let mut fields = ExtFields::with_capacity(SEND_FIELDS_MAX);
        fields.push("MSG_REGION", self.identity.region_id.as_str());
        fields.push("TRACE_ON", self.identity.trace_on());
        fields
    }

    pub(super) fn message_id(&self, receipt: Receipt) -> OffsetMessageId {
        OffsetMessageId { store_host: self.identity.store_host, log_offset: receipt.log_offset.0 }
    }
}

pub(super) fn new_message<'a>(
    request: &SendRequest<'a>,
    asker: Asker,
    queue_id: i32,
    flag: i32,
    body: &'a [u8],
    properties: &'a [u8],
) -> NewMessage<'a> {
    NewMessage {
        topic: request.topic,
        queue_id,
        flag,
        sys_flag: SysFlag(request.sys_flag),
        born_timestamp_ms: request.born_timestamp_ms,
        born_host: asker.peer.address,
        store_host: None,
        is_stored: false,
        reconsume_times: request.reconsume_times,
        prepared_transaction_offset: 0,
        body,
        properties,
    }
}
