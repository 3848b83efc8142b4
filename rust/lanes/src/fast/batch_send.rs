//! `SEND_BATCH`: messages of one topic and queue in one body, appended all or none.
//!
//! Compat: a message of a batch keeps its own properties as they are; what the broker adds to a single one, it does not
//! add here. The batch has an id of its own, which its answer repeats and its messages do not have.

use std::fmt::Write;

use escrowmq_store::NewMessage;
use escrowmq_wire::{BatchMessage, SysFlag, TransactionKind, iter_batch};

use super::codes::response;
use super::lane::{FastLane, Verdict};
use super::reply::{Asker, Replies};
use super::send::new_message;
use super::send_request::SendRequest;
use super::sent_properties::SentProperties;
use super::traffic::{Traffic, TrafficCounter};

impl FastLane {
    pub(super) fn send_batch(
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
            let remark = "the message is illegal: a batch can be neither delayed nor part of a transaction";
            return self.refuse_send(replies, asker, response::MESSAGE_ILLEGAL, remark);
        }
        let size_max = self.store.core().options().body_size_max_bytes as usize;
        if body.len() > size_max {
            let remark =
                format!("the message is illegal: a batch of {} bytes, the limit is {size_max}", body.len());
            return self.refuse_send(replies, asker, response::MESSAGE_ILLEGAL, &remark);
        }
        let batch: Vec<BatchMessage<'_>> = match iter_batch(body).collect() {
            Ok(batch) => batch,
            Err(error) => {
                let remark = format!("the message is illegal: {error}");
                return self.refuse_send(replies, asker, response::MESSAGE_ILLEGAL, &remark);
            }
        };
        let messages: Vec<NewMessage<'_>> = batch
            .iter()
            .map(|one| new_message(request, asker, queue_id, one.flag, one.body, one.properties))
            .collect();
        let receipts = match self.store.core().append(&messages) {
            Ok(receipts) => receipts,
            Err(error) => return self.refuse_append(replies, asker, &error),
        };
        traffic.add(Traffic::of_receipts(&receipts));
        let mut message_ids = String::with_capacity(receipts.len() * 33);
        for receipt in &receipts {
            let separator = if message_ids.is_empty() { "" } else { "," };
            // Writing to memory cannot fail.
            let _ = write!(message_ids, "{separator}{}", self.message_id(*receipt));
        }
        let unique_key = sent.unique_key.and_then(|key| std::str::from_utf8(key).ok());
        self.stored(replies, asker, queue_id, &message_ids, unique_key, &receipts)
    }
}
