//! Telling who waits for messages that some are there: whoever answers sends and pulls learns from here how far the log
//! is visible and which queues have grown.

use std::collections::BTreeSet;
use std::fmt::Debug;

use crate::offset::LogOffset;

/// A queue that has grown.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arrival {
    /// Its topic.
    pub topic: Box<str>,
    /// Its number.
    pub queue_id: u32,
}

/// Hears, on the builder's thread, what has become visible. It must be quick, and must not call the store.
pub trait ArrivalListener: Send + Sync + Debug {
    /// Messages up to `end` are in their queues, and in sync mode on disk; these queues have grown.
    fn arrived(&self, end: LogOffset, queues: &[Arrival]);

    /// Nothing will become visible any more: the store is poisoned or closed.
    fn stopped(&self);
}

/// The queues that grew in one step of the builder, each once.
#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    queues: BTreeSet<Arrival>,
    last: Option<Arrival>,
}

impl Arrivals {
    /// Notes that a queue has grown. Runs of one queue cost a comparison each.
    pub fn add(&mut self, topic: &str, queue_id: u32) {
        let is_last = |last: &Arrival| last.queue_id == queue_id && &*last.topic == topic;
        if !self.last.as_ref().is_some_and(is_last) {
            let arrival = Arrival { topic: topic.into(), queue_id };
            self.queues.insert(arrival.clone());
            self.last = Some(arrival);
        }
    }

    /// The queues, in order.
    pub fn into_queues(self) -> Vec<Arrival> {
        self.queues.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_queue_is_named_once() {
        let mut arrivals = Arrivals::default();
        for (topic, queue_id) in [("b", 0), ("b", 0), ("a", 1), ("b", 0), ("a", 0)] {
            arrivals.add(topic, queue_id);
        }
        let queues: Vec<_> =
            arrivals.into_queues().iter().map(|queue| (queue.topic.to_string(), queue.queue_id)).collect();
        assert_eq!(queues, [("a".to_string(), 0), ("a".to_string(), 1), ("b".to_string(), 0)]);
    }
}
