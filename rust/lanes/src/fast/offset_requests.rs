//! Requests about offsets: where a queue begins and ends, and what a group reads next.

use escrowmq_store::QueueOffset;
use escrowmq_wire::{ExtFields, RemotingHeader};

use super::codes::{request, response};
use super::digits::Digits;
use super::fields::{BadField, needed, number};
use super::lane::{FastLane, Verdict};
use super::reply::{Asker, Replies};

/// An offset, or the code and remark of why there is none.
type Found = Result<Option<i64>, (i32, String)>;

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
            Err(error) => Err((response::SYSTEM_ERROR, error.to_string())),
        };
        self.shared.counters.offsets.add(1);
        match found {
            Ok(offset) => {
                let offset = offset.map(Digits::of);
                let mut fields = ExtFields::default();
                if let Some(offset) = &offset {
                    fields.push("offset", offset.as_str());
                }
                asker.answer(replies, response::SUCCESS, None, fields);
            }
            Err((code, remark)) => asker.refuse(replies, code, &remark),
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
            request::GET_MAX_OFFSET => Some(Ok(Some(signed(self.bounds(topic, queue_id()?).1)))),
            request::GET_MIN_OFFSET => Some(Ok(Some(signed(self.bounds(topic, queue_id()?).0)))),
            request::QUERY_CONSUMER_OFFSET => {
                let may_be_zero =
                    fields.get("setZeroIfNotFound").is_none_or(|value| !value.eq_ignore_ascii_case("false"));
                Some(self.query(group()?, topic, queue_id()?, may_be_zero))
            }
            _ => {
                let group = group()?;
                let knowledge = &self.shared.knowledge;
                if knowledge.groups().get(group).is_none() || knowledge.topics().get(topic).is_none() {
                    return Ok(None);
                }
                let offset = number("commitOffset", needed("commitOffset", fields.get("commitOffset"))?)?;
                // Compat: a commit that comes before a reset was heard of is taken for done.
                self.shared.offsets.commit_by_consumer(group, topic, queue_id()?, offset);
                Some(Ok(None))
            }
        })
    }

    /// Compat: a group that never committed begins with a queue's first message, if that is the first it ever had and
    /// still in memory. Otherwise it is told nothing, and decides by itself where to begin: mostly at the end, for which
    /// it asks next. So a first message that waits for its flush counts already; it may be visible by then, and the
    /// group would begin behind it.
    fn query(&self, group: &str, topic: &str, queue_id: i32, may_be_zero: bool) -> Found {
        if let Some(offset) = self.shared.offsets.get(group, topic, queue_id).filter(|&offset| offset >= 0) {
            return Ok(Some(offset));
        }
        let not_found = |remark: &str| Err((response::QUERY_NOT_FOUND, remark.to_owned()));
        if !may_be_zero {
            return not_found("Not found, do not set to zero, maybe this group boot first");
        }
        if u32::try_from(queue_id).is_ok_and(|queue_id| self.has_first_message(topic, queue_id)) {
            return Ok(Some(0));
        }
        not_found("Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first")
    }

    /// Whether the first message that a queue ever had is in memory, visible or about to be.
    fn has_first_message(&self, topic: &str, queue_id: u32) -> bool {
        let core = self.store.core();
        // Before the queue is looked at: what becomes visible in between is found in it.
        let is_written = core.written_queue_end(topic, queue_id) > QueueOffset(0);
        match core.queue(topic, queue_id).filter(|queue| queue.max_offset() > QueueOffset(0)) {
            Some(queue) => {
                queue.entry(QueueOffset(0)).is_some_and(|entry| entry.log_offset >= self.memory_floor())
            }
            None => is_written,
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
