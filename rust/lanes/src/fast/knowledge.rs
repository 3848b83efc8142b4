//! What the fast lane goes by: tables that are replaced as a whole and never changed, so that a request sees one state
//! from its beginning to its end, and whoever replaces one waits for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use parking_lot::RwLock;

use super::subscriptions::{Groups, Subscriptions};
use super::topics::Topics;

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

    /// Replaces what is known of topics.
    pub fn set_topics(&self, topics: Topics) {
        let before = std::mem::replace(&mut *self.topics.write(), Arc::new(topics));
        // Freed here and not under the lock.
        drop(before);
    }

    /// Replaces what is known of groups.
    pub fn set_groups(&self, groups: Groups) {
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

    pub(super) fn broker_allows(&self, bit: u32) -> bool {
        self.broker_permission.load(Ordering::Relaxed) & bit != 0
    }
}
