//! Requests about offsets: where a queue begins and ends, and what a group reads next.

use bytes::Bytes;
use escrowmq_store::{LogOffset, QueueOffset};
use escrowmq_wire::{Digits, ExtFields, RemotingHeader};

use super::codes::{request, response};
use super::fields::{BadField, needed, number};
use super::lane::{FastLane, Verdict};
use super::reader::ColdJob;
use super::reply::{Asker, Replies};

/// What a request about an offset leads to.
enum Found {
    /// An offset, or nothing but that it is done.
    Done(Option<i64>),
    /// The code and remark of why there is none.
    Refused(i32, String),
    /// It has to be read where the epoll thread may not.
    Cold(ColdJob),
}

/// Whether the first message that a queue ever had is in memory.
enum FirstMessage {
    There,
    Gone,
    /// A page tells that may not be resident.
    Unknown,
}

const NOT_FOUND: &str = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first";

/// The answer to a group that never committed, by whether the queue's first message is in memory.
pub(super) fn first_message_answer(asker: &Asker, is_there: bool) -> Bytes {
    if !is_there {
        return asker.head(response::QUERY_NOT_FOUND, Some(NOT_FOUND), ExtFields::default(), 0);
    }
    let mut fields = ExtFields::default();
    fields.push("offset", "0");
    asker.head(response::SUCCESS, None, fields, 0)
}

impl FastLane {
    /// Answers a request about offsets, or leaves it to Python untouched.
    pub(super) fn offsets(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        header: &RemotingHeader<'_>,
    ) -> Verdict {
        let found = match self.find_offset(header) {
            Ok(None) => return Verdict::Passed,
            Ok(Some(found)) => found,
            Err(error) => Found::Refused(response::SYSTEM_ERROR, error.to_string()),
        };
        self.shared.counters.offsets.add(1);
        match found {
            Found::Done(offset) => {
                let offset = offset.map(Digits::of);
                let mut fields = ExtFields::default();
                if let Some(offset) = &offset {
                    fields.push("offset", offset.as_str());
                }
                asker.answer(replies, response::SUCCESS, None, fields);
            }
            Found::Refused(code, remark) => asker.refuse(replies, code, &remark),
            Found::Cold(job) => {
                self.submit_cold(replies, asker, job);
            }
        }
        Verdict::Done
    }

    fn find_offset(&self, header: &RemotingHeader<'_>) -> Result<Option<Found>, BadField> {
        let fields = &header.ext_fields;
        let topic = needed("topic", fields.get("topic"))?;
        let group = || needed("consumerGroup", fields.get("consumerGroup"));
        let queue_id = || number::<i32>("queueId", needed("queueId", fields.get("queueId"))?);
        let signed = |offset| i64::try_from(offset).unwrap_or(i64::MAX);
        Ok(match header.code {
            request::GET_MAX_OFFSET => Some(Found::Done(Some(signed(self.bounds(topic, queue_id()?).1)))),
            request::GET_MIN_OFFSET => Some(Found::Done(Some(signed(self.bounds(topic, queue_id()?).0)))),
            request::QUERY_CONSUMER_OFFSET => {
                let may_be_zero =
                    fields.get("setZeroIfNotFound").is_none_or(|value| !value.eq_ignore_ascii_case("false"));
                Some(self.query(group()?, topic, queue_id()?, may_be_zero))
            }
            _ => {
                let offset = number("commitOffset", needed("commitOffset", fields.get("commitOffset"))?)?;
                self.commit(group()?, topic, queue_id()?, offset)
            }
        })
    }

    /// Takes what a group reads next, of a queue that the topic has, or had when it had more of them: others would be
    /// kept for ever, and there are as many as numbers. `None` where the group or the topic is not known.
    fn commit(&self, group: &str, topic: &str, queue_id: i32, offset: i64) -> Option<Found> {
        let knowledge = &self.shared.knowledge;
        knowledge.groups().get(group)?;
        let entry = knowledge.topics().get(topic)?;
        let is_stored = || {
            u32::try_from(queue_id).is_ok_and(|queue_id| self.store.core().queue(topic, queue_id).is_some())
        };
        if !entry.has_queue(queue_id) && !is_stored() {
            let remark = format!("queueId[{queue_id}] is illegal, the topic[{topic}] has no such queue");
            return Some(Found::Refused(response::INVALID_PARAMETER, remark));
        }
        // Compat: a commit that comes before a reset was heard of is taken for done.
        self.shared.offsets.commit_by_consumer(group, topic, queue_id, offset);
        Some(Found::Done(None))
    }

    /// Compat: a group that never committed begins with a queue's first message, if that is the first it ever had and
    /// still in memory. Otherwise it is told nothing, and decides by itself where to begin: mostly at the end, for which
    /// it asks next. So a first message that waits for its flush counts already; it may be visible by then, and the
    /// group would begin behind it.
    fn query(&self, group: &str, topic: &str, queue_id: i32, may_be_zero: bool) -> Found {
        if let Some(offset) = self.shared.offsets.get(group, topic, queue_id).filter(|&offset| offset >= 0) {
            return Found::Done(Some(offset));
        }
        let not_found = |remark: &str| Found::Refused(response::QUERY_NOT_FOUND, remark.to_owned());
        if !may_be_zero {
            return not_found("Not found, do not set to zero, maybe this group boot first");
        }
        let Ok(queue_id) = u32::try_from(queue_id) else { return not_found(NOT_FOUND) };
        match self.first_message(topic, queue_id) {
            FirstMessage::There => Found::Done(Some(0)),
            FirstMessage::Gone => not_found(NOT_FOUND),
            FirstMessage::Unknown => {
                let floor = self.memory_floor();
                Found::Cold(ColdJob::FirstMessage { topic: topic.into(), queue_id, floor })
            }
        }
    }

    /// Whether the first message that a queue ever had is in memory, visible or about to be.
    fn first_message(&self, topic: &str, queue_id: u32) -> FirstMessage {
        let core = self.store.core();
        // Before the queue is looked at: what becomes visible in between is found in it.
        let is_written = core.written_queue_end(topic, queue_id) > QueueOffset(0);
        match core.queue(topic, queue_id).filter(|queue| queue.max_offset() > QueueOffset(0)) {
            Some(queue) if queue.min_offset() > QueueOffset(0) => FirstMessage::Gone,
            Some(_) if self.memory_floor() > LogOffset(0) => FirstMessage::Unknown,
            Some(_) => FirstMessage::There,
            None if is_written => FirstMessage::There,
            None => FirstMessage::Gone,
        }
    }

    /// Where a queue begins and ends; both 0 where there is none.
    pub(super) fn bounds(&self, topic: &str, queue_id: i32) -> (u64, u64) {
        u32::try_from(queue_id)
            .ok()
            .and_then(|queue_id| self.store.core().queue(topic, queue_id))
            .map_or((0, 0), |queue| (queue.min_offset().0, queue.max_offset().0))
    }
}
