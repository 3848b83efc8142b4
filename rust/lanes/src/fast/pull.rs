//! PULL: what a group wants of a queue from an offset on; where there is nothing, it waits for a while.
//!
//! ```text
//!   admit ─▶ read ─┬─ found, or moved ───────────────▶ answer
//!                  ├─ behind the hot window ─▶ reader ─▶ answer
//!                  └─ nothing new ─▶ parked ─ arrival, deadline ─▶ read again
//! ```

use std::sync::Arc;
use std::time::Duration;

use escrowmq_wire::{Digits, ExtFields, RemotingHeader};

use super::codes::response;
use super::lane::{FastLane, Verdict};
use super::message_filter::MessageFilter;
use super::parked_pulls::{ParkedId, ParkedPull};
use super::pull_answer::pull_answer;
use super::pull_read::{PullRange, PullRead, PullStatus, read};
use super::pull_request::PullRequest;
use super::reader::{ColdJob, ColdPull};
use super::reply::{Asker, Replies};
use super::subscriptions::{SQL92, is_tag_type};
use super::tag_filter::TagFilter;
use super::topics::READABLE;

/// No pull waits longer, whatever it asks for: its client has given up by then.
const SUSPEND_MAX: Duration = Duration::from_secs(600);

/// Entries and operands that are looked at for parked pulls before others have their turn on the epoll thread.
const SLICE_EFFORT: usize = 32_000;
/// What a pull costs beside them.
const PULL_EFFORT: usize = 64;

/// What is to be done with a pull.
enum Admission {
    /// It may read what this filter wants.
    Take(Arc<MessageFilter>),
    /// It may not.
    Refuse { code: i32, remark: String, forbidden: Option<i32> },
    /// Not enough is known to say.
    Pass,
}

impl Admission {
    fn forbid(forbidden: i32, remark: String) -> Self {
        Self::Refuse { code: response::NO_PERMISSION, remark, forbidden: Some(forbidden) }
    }

    fn refuse(code: i32, remark: impl Into<String>) -> Self {
        Self::Refuse { code, remark: remark.into(), forbidden: None }
    }
}

// Compat: why a pull is forbidden, as its answer says.
const BROKER_FORBIDDEN: i32 = 1;
const GROUP_FORBIDDEN: i32 = 2;
const TOPIC_FORBIDDEN: i32 = 3;

impl FastLane {
    /// Answers a pull or parks it, or leaves it to Python untouched.
    pub(super) fn pull(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        header: &RemotingHeader<'_>,
    ) -> Verdict {
        let request = match PullRequest::parse(header) {
            Ok(request) => request,
            Err(error) => {
                asker.refuse(replies, response::SYSTEM_ERROR, &error.to_string());
                return Verdict::Done;
            }
        };
        match self.admit(&request, asker) {
            Admission::Pass => return Verdict::Passed,
            Admission::Take(filter) => self.take_pull(replies, asker, request, filter),
            Admission::Refuse { code, remark, forbidden } => {
                let forbidden = forbidden.map(Digits::of);
                let mut fields = ExtFields::default();
                if let Some(forbidden) = &forbidden {
                    fields.push("forbiddenType", forbidden.as_str());
                }
                asker.answer(replies, code, Some(&remark), fields);
            }
        }
        Verdict::Done
    }

    fn admit(&mut self, request: &PullRequest, asker: Asker) -> Admission {
        let PullRequest { group, topic, queue_id, .. } = request;
        let knowledge = &self.shared.knowledge;
        if !knowledge.broker_allows(READABLE) {
            let address = &self.identity.broker_address;
            let remark = format!("the broker[{address}] pulling message is forbidden");
            return Admission::forbid(BROKER_FORBIDDEN, remark);
        }
        let Some(group_entry) = knowledge.groups().get(group) else { return Admission::Pass };
        if !group_entry.is_consume_enabled {
            let remark = format!("subscription group no permission, {group}");
            return Admission::forbid(GROUP_FORBIDDEN, remark);
        }
        let Some(topic_entry) = knowledge.topics().get(topic) else { return Admission::Pass };
        if topic_entry.permission & READABLE == 0 {
            let remark = format!("the topic[{topic}] pulling message is forbidden");
            return Admission::forbid(TOPIC_FORBIDDEN, remark);
        }
        let queue_count = topic_entry.read_queue_count;
        if *queue_id < 0 || i64::from(*queue_id) >= i64::from(queue_count) {
            let address = asker.peer.address;
            let remark = format!(
                "queueId[{queue_id}] is illegal, topic:[{topic}] topicConfig.readQueueNums:[{queue_count}] \
                 consumer:[{address}]"
            );
            return Admission::refuse(response::INVALID_PARAMETER, remark);
        }
        self.filter_of(request)
    }

    fn filter_of(&mut self, request: &PullRequest) -> Admission {
        if request.has_subscription() {
            return self.filter_in(request);
        }
        let subscriptions = self.shared.knowledge.subscriptions();
        let Some(entry) = subscriptions.get(&request.group, &request.topic) else { return Admission::Pass };
        if entry.version < request.subscription_version {
            let remark = "the consumer's subscription not latest";
            return Admission::refuse(response::SUBSCRIPTION_NOT_LATEST, remark);
        }
        entry.filter.clone().map_or(Admission::Pass, Admission::Take)
    }

    /// The filter that a request brings along. What is wrong with an expression is Python's to say.
    fn filter_in(&mut self, request: &PullRequest) -> Admission {
        let expression = request.subscription.as_deref().unwrap_or_default();
        let kind = request.expression_type.as_deref();
        if is_tag_type(kind) {
            let remark = "parse the consumer's subscription failed";
            let refusal = || Admission::refuse(response::SUBSCRIPTION_PARSE_FAILED, remark);
            return TagFilter::parse(expression)
                .map_or_else(refusal, |filter| Admission::Take(Arc::new(filter.into())));
        }
        if kind != Some(SQL92) || !self.options.has_property_filters {
            return Admission::Pass;
        }
        self.brought_filters.get(expression).map_or(Admission::Pass, Admission::Take)
    }

    fn take_pull(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        request: PullRequest,
        filter: Arc<MessageFilter>,
    ) {
        let (group, topic, queue_id) = (&request.group, &request.topic, request.queue_id);
        // Before the reset is taken: what the consumer commits without knowing of it does not count.
        if request.has_commit_offset() {
            self.shared.offsets.commit_by_consumer(group, topic, queue_id, request.commit_offset);
        }
        if let Some(found) = self.take_reset(&request) {
            return self.answer_pull(replies, asker, &request, found);
        }
        let scanned_to = request.queue_offset;
        let pull = ParkedPull { asker, request, filter, scanned_to, deadline: replies.now() };
        match self.read_for(&pull, pull.request.queue_offset) {
            None => self.read_cold(replies, pull),
            Some(found)
                if found.status.code(pull.request.queue_offset) == response::PULL_NOT_FOUND
                    && pull.request.may_wait() =>
            {
                self.park(replies, pull);
            }
            Some(found) => self.answer_pull(replies, asker, &pull.request, found),
        }
    }

    /// What a pull is told whose group was moved.
    fn take_reset(&self, request: &PullRequest) -> Option<PullRead> {
        let PullRequest { group, topic, queue_id, .. } = request;
        let next_offset = self.shared.offsets.take_reset(group, topic, *queue_id)?;
        Some(PullRead::bare(PullStatus::OffsetReset, next_offset, self.bounds(topic, *queue_id)))
    }

    fn park(&mut self, replies: &mut impl Replies, mut pull: ParkedPull) {
        if self.parked.is_full_for(pull.asker.peer.connection, self.options.parked_pulls_max) {
            let remark = "polling full, too many pulls wait";
            return pull.asker.refuse(replies, response::POLLING_FULL, remark);
        }
        let wait = if self.options.is_long_polling {
            Duration::from_millis(pull.request.suspend_timeout_ms).min(SUSPEND_MAX)
        } else {
            self.options.short_polling
        };
        pull.deadline = replies.now() + wait;
        let PullRequest { group, topic, queue_id, queue_offset: from, .. } = &pull.request;
        self.shared.offsets.note_pulled(group, topic, *queue_id, *from);
        let (topic, queue_id, from) = (topic.clone(), *queue_id, *from);
        let id = self.parked.insert(pull);
        self.publish_waiting();
        // After it is known that someone waits: an arrival that came before is not told again.
        if i64::try_from(self.bounds(&topic, queue_id).1).is_ok_and(|max| max > from) {
            self.look_at(replies, id);
            self.publish_waiting();
        }
        self.set_alarm();
    }

    /// Looks at some of the pulls whose queue has grown, or of whose queue a group was moved, and has itself woken for
    /// the rest.
    pub(super) fn wake_grown(&mut self, replies: &mut impl Replies) {
        let mut effort = 0;
        while effort < SLICE_EFFORT
            && let Some(id) = self.rounds.next(&self.parked)
        {
            effort += PULL_EFFORT + self.look_at(replies, id);
        }
        self.publish_waiting();
        if !self.rounds.is_empty() {
            self.shared.mailbox.wake();
        }
    }

    /// Looks at a pull that waits, and answers it if there is something to tell. Returns the effort.
    fn look_at(&mut self, replies: &mut impl Replies, id: ParkedId) -> usize {
        let Some(pull) = self.parked.get(id) else { return 0 };
        let from = pull.scanned_to;
        let found = self.take_reset(&pull.request).or_else(|| self.read_for(pull, from));
        let effort = found.as_ref().map_or(0, |found| found.effort);
        match &found {
            Some(found) if found.has_seen_all_in_vain() => {
                // Nothing for it yet; what was looked at is not looked at again.
                self.parked.set_scanned(id, found.next_offset);
                return effort;
            }
            Some(found) if found.status.code(from) == response::PULL_NOT_FOUND => return effort,
            _ => {}
        }
        if let Some(pull) = self.parked.remove(id) {
            self.answer_or_read_cold(replies, pull, found);
        }
        effort
    }

    /// Answers some of the pulls whose time is over with what there is. For the rest the alarm rings at once.
    pub(super) fn wake_late(&mut self, replies: &mut impl Replies) {
        let mut effort = 0;
        while effort < SLICE_EFFORT
            && let Some(pull) = self.parked.pop_late(replies.now())
        {
            let found = self.read_for(&pull, pull.request.queue_offset);
            effort += PULL_EFFORT + found.as_ref().map_or(0, |found| found.effort);
            self.answer_or_read_cold(replies, pull, found);
        }
        self.publish_waiting();
    }

    fn answer_or_read_cold(&mut self, replies: &mut impl Replies, pull: ParkedPull, found: Option<PullRead>) {
        match found {
            Some(found) => self.answer_pull(replies, pull.asker, &pull.request, found),
            None => self.read_cold(replies, pull),
        }
    }

    fn read_cold(&mut self, replies: &mut impl Replies, pull: ParkedPull) {
        let range = self.range_of(&pull, pull.scanned_to);
        let (from, count_max, size_max_bytes) = (range.from, range.count_max, range.size_max_bytes);
        let ParkedPull { asker, request, filter, .. } = pull;
        let cold = ColdPull { request, filter, from, count_max, size_max_bytes };
        if self.submit_cold(replies, asker, ColdJob::Pull(cold)) {
            self.shared.counters.cold_reads.add(1);
        }
    }

    /// Leaves the answer to the reader, or refuses it; returns whether it is left to the reader.
    pub(super) fn submit_cold(&self, replies: &mut impl Replies, asker: Asker, job: ColdJob) -> bool {
        let is_taken = self.reader.as_ref().is_some_and(|reader| reader.submit(asker, job));
        if !is_taken {
            asker.refuse(replies, response::SYSTEM_BUSY, "too many requests wait for the disk");
        }
        is_taken
    }

    fn answer_pull(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        request: &PullRequest,
        found: PullRead,
    ) {
        self.shared.count_pull(request, &found);
        let (head, body) = pull_answer(&asker, request.queue_offset, found);
        asker.send(replies, head, body);
    }

    fn read_for(&self, pull: &ParkedPull, from: i64) -> Option<PullRead> {
        read(self.store.core(), self.range_of(pull, from), &pull.filter)
    }

    fn range_of<'a>(&self, pull: &'a ParkedPull, from: i64) -> PullRange<'a> {
        let count_max = usize::try_from(pull.request.count_max).unwrap_or_default();
        PullRange {
            topic: &pull.request.topic,
            queue_id: pull.request.queue_id,
            from,
            count_max: count_max.min(self.options.pull_count_max),
            size_max_bytes: self.options.pull_size_max_bytes,
            floor: self.hot_floor(),
        }
    }
}
