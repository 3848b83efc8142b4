//! What the fast lane knows of groups and of what they subscribe to.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::message_filter::MessageFilter;
use super::traffic::GroupTraffic;

/// What is known of a subscription group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEntry {
    /// Whether it may pull.
    pub is_consume_enabled: bool,
}

/// The groups that are known, by name.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    entries: HashMap<Box<str>, KnownGroup, RandomState>,
}

#[derive(Debug, Clone)]
struct KnownGroup {
    entry: GroupEntry,
    /// What went out to it.
    traffic: Arc<GroupTraffic>,
}

impl Groups {
    /// What is known of a group.
    pub(super) fn get(&self, group: &str) -> Option<GroupEntry> {
        self.entries.get(group).map(|known| known.entry)
    }

    /// Goes on counting what the table before has counted.
    pub(super) fn inherit(&mut self, before: &Self) {
        for (group, known) in &mut self.entries {
            if let Some(before) = before.entries.get(group) {
                known.traffic = Arc::clone(&before.traffic);
            }
        }
    }

    /// The counters of what goes out to a group.
    pub(super) fn traffic(&self, group: &str) -> Option<&GroupTraffic> {
        self.entries.get(group).map(|known| &*known.traffic)
    }

    /// The counters of each group.
    pub(super) fn all_traffic(&self) -> impl Iterator<Item = (&str, &GroupTraffic)> {
        self.entries.iter().map(|(group, known)| (&**group, &*known.traffic))
    }
}

impl FromIterator<(Box<str>, GroupEntry)> for Groups {
    fn from_iter<I: IntoIterator<Item = (Box<str>, GroupEntry)>>(groups: I) -> Self {
        let known = |(group, entry)| (group, KnownGroup { entry, traffic: Arc::default() });
        Self { entries: groups.into_iter().map(known).collect() }
    }
}

/// What a group wants of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionEntry {
    /// Its `subVersion`.
    pub version: i64,
    /// What it wants; `None` where that is not known, and pulls are not for the fast lane.
    pub filter: Option<Arc<MessageFilter>>,
}

/// The subscriptions that are known, by group, then by topic.
#[derive(Debug, Clone, Default)]
pub struct Subscriptions {
    entries: HashMap<Box<str>, HashMap<Box<str>, SubscriptionEntry, RandomState>, RandomState>,
}

impl Subscriptions {
    /// What a group wants of a topic.
    pub(super) fn get(&self, group: &str, topic: &str) -> Option<&SubscriptionEntry> {
        self.entries.get(group)?.get(topic)
    }
}

impl FromIterator<(Box<str>, Box<str>, SubscriptionEntry)> for Subscriptions {
    fn from_iter<I: IntoIterator<Item = (Box<str>, Box<str>, SubscriptionEntry)>>(entries: I) -> Self {
        let mut subscriptions = Self::default();
        for (group, topic, entry) in entries {
            subscriptions.entries.entry(group).or_default().insert(topic, entry);
        }
        subscriptions
    }
}

/// The type of filters that are expressions over properties.
pub(super) const SQL92: &str = "SQL92";

/// Whether filters of this type go by tags. Compat: so they do where none is named.
#[must_use]
pub fn is_tag_type(expression_type: Option<&str>) -> bool {
    matches!(expression_type, None | Some("" | "TAG"))
}
