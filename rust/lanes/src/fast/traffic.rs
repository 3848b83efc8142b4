//! Traffic: how many messages and bytes came in for a topic, and went out to a group.
//!
//! The numbers lie in the entries of topics and groups that a request looks at anyway, and stay when the tables are
//! replaced; what is not known any more takes its numbers along.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use escrowmq_store::Receipt;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

/// Messages and bytes since the server was started, counted without locks.
#[derive(Debug, Default)]
pub(super) struct TrafficCounter {
    messages: AtomicU64,
    size_bytes: AtomicU64,
}

impl TrafficCounter {
    pub fn add(&self, traffic: Traffic) {
        self.messages.fetch_add(traffic.messages, Ordering::Relaxed);
        self.size_bytes.fetch_add(traffic.size_bytes, Ordering::Relaxed);
    }

    pub fn read(&self) -> Traffic {
        Traffic {
            messages: self.messages.load(Ordering::Relaxed),
            size_bytes: self.size_bytes.load(Ordering::Relaxed),
        }
    }
}

/// Messages, and bytes of their records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Traffic {
    /// How many.
    pub messages: u64,
    /// How large their records are together, heads and properties included.
    pub size_bytes: u64,
}

impl Traffic {
    pub(super) fn of_receipts(receipts: &[Receipt]) -> Self {
        Self::of_sizes(receipts.iter().map(|receipt| receipt.size_bytes as usize))
    }

    pub(super) fn of_sizes(sizes: impl ExactSizeIterator<Item = usize>) -> Self {
        Self { messages: sizes.len() as u64, size_bytes: sizes.map(|size| size as u64).sum() }
    }

    fn add(&mut self, more: Self) {
        self.messages += more.messages;
        self.size_bytes += more.size_bytes;
    }
}

/// What went out to a group, by topic.
#[derive(Debug, Default)]
pub(super) struct GroupTraffic {
    by_topic: Mutex<HashMap<Box<str>, Traffic, RandomState>>,
}

impl GroupTraffic {
    pub fn add(&self, topic: &str, traffic: Traffic) {
        let mut by_topic = self.by_topic.lock();
        match by_topic.get_mut(topic) {
            Some(total) => total.add(traffic),
            None => drop(by_topic.insert(topic.into(), traffic)),
        }
    }

    /// Forgets the topics that are not meant.
    pub fn retain(&self, is_meant: impl Fn(&str) -> bool) {
        self.by_topic.lock().retain(|topic, _| is_meant(topic));
    }

    pub fn read(&self) -> Vec<(Box<str>, Traffic)> {
        self.by_topic.lock().iter().map(|(topic, total)| (topic.clone(), *total)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::rig::{Rig, pull_fields};
    use crate::fast::{GroupEntry, TopicEntry};
    use escrowmq_store::FlushMode;

    fn topics(names: &[&str]) -> crate::fast::Topics {
        let entry =
            TopicEntry { read_queue_count: 4, write_queue_count: 4, permission: 6, is_ordered: false };
        names.iter().map(|&name| (Box::from(name), entry)).collect()
    }

    fn groups(names: &[&str]) -> crate::fast::Groups {
        names.iter().map(|&name| (Box::from(name), GroupEntry { is_consume_enabled: true })).collect()
    }

    fn incoming(rig: &Rig, topic: &str) -> Option<Traffic> {
        let traffic = rig.shared.knowledge.traffic_in();
        traffic.into_iter().find(|(name, _)| &**name == topic).map(|(_, traffic)| traffic)
    }

    fn outgoing(rig: &Rig) -> Vec<(String, String, Traffic)> {
        let traffic = rig.shared.knowledge.traffic_out();
        traffic.into_iter().map(|(group, topic, traffic)| (group.into(), topic.into(), traffic)).collect()
    }

    #[test]
    fn what_comes_in_and_goes_out_is_counted_once() {
        let mut rig = Rig::new(FlushMode::ASYNC_DEFAULT);
        rig.send("orders", "0", "TAGS\u{1}paid\u{2}", b"one");
        rig.send("orders", "0", "TAGS\u{1}created\u{2}", b"two");
        rig.build();
        let end = rig.core.log_end().0;
        assert_eq!(incoming(&rig, "orders"), Some(Traffic { messages: 2, size_bytes: end }));
        rig.answers();
        rig.answer_to(11, &pull_fields("all", "0", "0"), b"");
        let paid = rig.answer_to(11, &pull_fields("billing", "0", "0"), b"").body.len() as u64;
        rig.answer_to(11, &pull_fields("billing", "2", "0"), b"");
        let mut found = outgoing(&rig);
        found.sort_by(|one, other| one.0.cmp(&other.0));
        let expected = [("all", 2, end), ("billing", 1, paid)];
        assert_eq!(
            found,
            expected.map(|(group, messages, size_bytes)| {
                (group.to_owned(), "orders".to_owned(), Traffic { messages, size_bytes })
            })
        );
    }

    #[test]
    fn what_python_appends_is_counted_with_the_rest() {
        let mut rig = Rig::new(FlushMode::ASYNC_DEFAULT);
        rig.send("orders", "0", "", b"one");
        let size_bytes = rig.core.log_end().0 + 100;
        rig.shared.knowledge.count_in("orders", Traffic { messages: 3, size_bytes: 100 });
        rig.shared.knowledge.count_in("nowhere", Traffic { messages: 3, size_bytes: 100 });
        assert_eq!(incoming(&rig, "orders"), Some(Traffic { messages: 4, size_bytes }));
        assert_eq!(incoming(&rig, "nowhere"), None);
    }

    #[test]
    fn numbers_outlive_the_tables_and_go_with_the_names() {
        let mut rig = Rig::new(FlushMode::ASYNC_DEFAULT);
        rig.send("orders", "0", "", b"one");
        rig.build();
        rig.answers();
        rig.answer_to(11, &pull_fields("all", "0", "0"), b"");
        let counted = Traffic { messages: 1, size_bytes: rig.core.log_end().0 };
        let knowledge = &rig.shared.knowledge;
        knowledge.set_topics(topics(&["orders", "payments"]));
        knowledge.set_groups(groups(&["all", "new"]));
        assert_eq!(incoming(&rig, "orders"), Some(counted));
        assert_eq!(incoming(&rig, "payments"), Some(Traffic::default()));
        assert_eq!(outgoing(&rig), [("all".to_owned(), "orders".to_owned(), counted)]);

        knowledge.set_topics(topics(&["payments"]));
        assert_eq!((incoming(&rig, "orders"), outgoing(&rig)), (None, vec![]));
        knowledge.set_topics(topics(&["orders"]));
        assert_eq!(incoming(&rig, "orders"), Some(Traffic::default()), "a new topic of an old name");

        rig.answer_to(11, &pull_fields("all", "0", "0"), b"");
        rig.shared.knowledge.set_groups(groups(&["new"]));
        assert_eq!(outgoing(&rig), []);
    }
}
