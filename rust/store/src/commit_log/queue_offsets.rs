//! The next offset of every queue, as appends assign them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Next offset by queue.
pub(crate) type TopicOffsets = HashMap<u32, u64, RandomState>;

/// Next offset by topic and queue. A queue that is not in it begins at 0.
#[derive(Debug, Default)]
pub(crate) struct QueueOffsets {
    topics: HashMap<Box<str>, TopicOffsets, RandomState>,
}

impl QueueOffsets {
    /// Says where a queue goes on.
    pub fn set(&mut self, topic: &str, queue_id: u32, next: u64) {
        *self.slot(topic, queue_id) = next;
    }

    /// Assigns the next offset.
    pub fn take(&mut self, topic: &str, queue_id: u32) -> u64 {
        let slot = self.slot(topic, queue_id);
        let offset = *slot;
        *slot += 1;
        offset
    }

    /// The offset that comes next.
    pub fn next(&self, topic: &str, queue_id: u32) -> u64 {
        self.topics.get(topic).and_then(|queues| queues.get(&queue_id)).copied().unwrap_or(0)
    }

    /// The next offsets of a topic's queues.
    pub fn of_topic(&self, topic: &str) -> Option<&TopicOffsets> {
        self.topics.get(topic)
    }

    /// Forgets a topic: each of its queues begins at 0 again.
    pub fn forget(&mut self, topic: &str) {
        self.topics.remove(topic);
    }

    fn slot(&mut self, topic: &str, queue_id: u32) -> &mut u64 {
        if !self.topics.contains_key(topic) {
            self.topics.insert(topic.into(), HashMap::default());
        }
        // The key was just made sure; `entry` would want an owned key for every append.
        let queues = self.topics.get_mut(topic).expect("inserted above");
        queues.entry(queue_id).or_insert(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_queue_counts_for_itself() {
        let mut offsets = QueueOffsets::default();
        offsets.set("orders", 1, 7);
        assert_eq!(
            [offsets.take("orders", 0), offsets.take("orders", 0), offsets.take("orders", 1)],
            [0, 1, 7]
        );
        assert_eq!(
            [offsets.next("orders", 1), offsets.next("orders", 2), offsets.next("bills", 0)],
            [8, 0, 0]
        );
    }
}
