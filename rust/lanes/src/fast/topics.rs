//! What the fast lane knows of topics: an immutable table that whoever keeps topics replaces as a whole.

use std::collections::HashMap;
use std::sync::Arc;

use escrowmq_wire::RETRY_TOPIC_PREFIX;
use foldhash::fast::RandomState;

use super::traffic::{Traffic, TrafficCounter};

/// Topics that Apache lets nobody send to.
const CLOSED_TOPICS: [&str; 6] = [
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
];
const SYSTEM_TOPIC_PREFIX: &str = "rmq_sys_";

/// A bit of a permission: pulls are allowed.
pub(super) const READABLE: u32 = 4;
/// A bit of a permission: sends are allowed.
pub(super) const WRITABLE: u32 = 2;

/// What is known of a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicEntry {
    /// Queues that may be pulled from.
    pub read_queue_count: u32,
    /// Queues that sends are spread over.
    pub write_queue_count: u32,
    /// Bit 2: readable. Bit 1: writable.
    pub permission: u32,
    /// Whether it is in the list of ordered topics, which a broker without permission refuses.
    pub is_ordered: bool,
}

impl TopicEntry {
    /// Whether it has such a queue, to send to or to pull from.
    pub(super) fn has_queue(&self, queue_id: i32) -> bool {
        let count = self.read_queue_count.max(self.write_queue_count);
        u32::try_from(queue_id).is_ok_and(|queue_id| queue_id < count)
    }
}

/// The topics that are known, by name.
#[derive(Debug, Clone, Default)]
pub struct Topics {
    entries: HashMap<Box<str>, KnownTopic, RandomState>,
}

/// A topic in the table.
#[derive(Debug, Clone)]
pub(super) struct KnownTopic {
    pub entry: TopicEntry,
    /// What came in for it.
    pub traffic: Arc<TrafficCounter>,
    takes_sends: bool,
}

impl Topics {
    /// What is known of a topic.
    pub(super) fn get(&self, topic: &str) -> Option<TopicEntry> {
        self.entries.get(topic).map(|known| known.entry)
    }

    /// The same, if sends to the topic are plain appends: to retry and system topics they are not.
    pub(super) fn get_for_send(&self, topic: &str) -> Option<&KnownTopic> {
        self.entries.get(topic).filter(|known| known.takes_sends)
    }

    /// Whether there is such a topic.
    pub(super) fn is_known(&self, topic: &str) -> bool {
        self.entries.contains_key(topic)
    }

    /// Goes on counting what the table before has counted.
    pub(super) fn inherit(&mut self, before: &Self) {
        for (topic, known) in &mut self.entries {
            if let Some(before) = before.entries.get(topic) {
                known.traffic = Arc::clone(&before.traffic);
            }
        }
    }

    /// The counter of what comes in for a topic.
    pub(super) fn traffic(&self, topic: &str) -> Option<&TrafficCounter> {
        self.entries.get(topic).map(|known| &*known.traffic)
    }

    /// What came in for each topic.
    pub(super) fn all_traffic(&self) -> impl Iterator<Item = (Box<str>, Traffic)> {
        self.entries.iter().map(|(topic, known)| (topic.clone(), known.traffic.read()))
    }
}

impl FromIterator<(Box<str>, TopicEntry)> for Topics {
    fn from_iter<I: IntoIterator<Item = (Box<str>, TopicEntry)>>(topics: I) -> Self {
        let known = |(topic, entry): (Box<str>, TopicEntry)| {
            let takes_sends = takes_sends(&topic);
            (topic, KnownTopic { entry, traffic: Arc::default(), takes_sends })
        };
        Self { entries: topics.into_iter().map(known).collect() }
    }
}

fn takes_sends(topic: &str) -> bool {
    let prefixes = [RETRY_TOPIC_PREFIX, SYSTEM_TOPIC_PREFIX];
    !prefixes.iter().any(|prefix| topic.starts_with(prefix)) && !CLOSED_TOPICS.contains(&topic)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_to_topics_with_rules_of_their_own_are_not_plain() {
        let entry =
            TopicEntry { read_queue_count: 4, write_queue_count: 4, permission: 6, is_ordered: false };
        let names = [
            "orders",
            "%RETRY%g",
            "%DLQ%g",
            "SCHEDULE_TOPIC_XXXX",
            "rmq_sys_wheel_timer",
            "RMQ_SYS_TRACE_TOPIC",
        ];
        let topics: Topics = names.iter().map(|&name| (Box::from(name), entry)).collect();
        let plain: Vec<_> = names.into_iter().filter(|name| topics.get_for_send(name).is_some()).collect();
        assert_eq!(plain, ["orders", "%DLQ%g", "RMQ_SYS_TRACE_TOPIC"]);
        assert!(names.iter().all(|name| topics.get(name).is_some()));
        assert!(topics.get("payments").is_none());
    }
}
