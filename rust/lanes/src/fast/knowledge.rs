//! What the fast lane goes by: tables that are replaced as a whole and never changed, so that a request sees one state
//! from its beginning to its end, and whoever replaces one waits for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;

use super::subscriptions::{Groups, Subscriptions};
use super::topics::Topics;
use super::traffic::{GroupTraffic, Traffic};

/// The newest state of each table.
#[derive(Debug)]
pub struct Knowledge {
    topics: RwLock<Arc<Topics>>,
    groups: RwLock<Arc<Groups>>,
    subscriptions: RwLock<Arc<Subscriptions>>,
    broker_permission: AtomicU32,
}

impl Knowledge {
    pub(super) fn new(broker_permission: u32) -> Self {
        Self {
            topics: RwLock::default(),
            groups: RwLock::default(),
            subscriptions: RwLock::default(),
            broker_permission: AtomicU32::new(broker_permission),
        }
    }

    /// Replaces what is known of topics. One thread does that.
    pub fn set_topics(&self, mut topics: Topics) {
        topics.inherit(&self.topics());
        let topics = Arc::new(topics);
        let before = std::mem::replace(&mut *self.topics.write(), Arc::clone(&topics));
        // Freed here and not under the lock.
        drop(before);
        for (_, traffic) in self.groups().all_traffic() {
            traffic.retain(|topic| topics.get(topic).is_some());
        }
    }

    /// Replaces what is known of groups. One thread does that.
    pub fn set_groups(&self, mut groups: Groups) {
        groups.inherit(&self.groups());
        let before = std::mem::replace(&mut *self.groups.write(), Arc::new(groups));
        drop(before);
    }

    /// Replaces what is known of subscriptions.
    pub fn set_subscriptions(&self, subscriptions: Subscriptions) {
        let before = std::mem::replace(&mut *self.subscriptions.write(), Arc::new(subscriptions));
        drop(before);
    }

    /// Changes what the broker allows: bit 2 pulls, bit 1 sends to ordered topics.
    pub fn set_broker_permission(&self, permission: u32) {
        self.broker_permission.store(permission, Ordering::Relaxed);
    }

    pub(super) fn topics(&self) -> Arc<Topics> {
        Arc::clone(&self.topics.read())
    }

    pub(super) fn groups(&self) -> Arc<Groups> {
        Arc::clone(&self.groups.read())
    }

    pub(super) fn subscriptions(&self) -> Arc<Subscriptions> {
        Arc::clone(&self.subscriptions.read())
    }

    /// Counts messages that came in for a topic by another way than the fast lane. One that is not known has no numbers.
    pub fn count_in(&self, topic: &str, traffic: Traffic) {
        if let Some(counter) = self.topics().traffic(topic) {
            counter.add(traffic);
        }
    }

    /// Counts messages that went out to a group.
    pub(super) fn count_out(&self, group: &str, topic: &str, traffic: Traffic) {
        if traffic.messages > 0
            && let Some(counters) = self.groups().traffic(group)
        {
            counters.add(topic, traffic);
        }
    }

    /// What came in for each topic that is known.
    #[must_use]
    pub fn traffic_in(&self) -> Vec<(Box<str>, Traffic)> {
        self.topics().all_traffic().collect()
    }

    /// What went out to each group that is known, with the topic.
    #[must_use]
    pub fn traffic_out(&self) -> Vec<(Box<str>, Box<str>, Traffic)> {
        let groups = self.groups();
        let of_group = |(group, traffic): (&str, &GroupTraffic)| {
            let group = Box::<str>::from(group);
            traffic.read().into_iter().map(move |(topic, traffic)| (group.clone(), topic, traffic))
        };
        groups.all_traffic().flat_map(of_group).collect()
    }

    pub(super) fn broker_allows(&self, bit: u32) -> bool {
        self.broker_permission.load(Ordering::Relaxed) & bit != 0
    }
}
