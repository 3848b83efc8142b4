//! What the fast lane knows of groups and of what they subscribe to.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::tag_filter::TagFilter;

/// What is known of a subscription group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEntry {
    /// Whether it may pull.
    pub is_consume_enabled: bool,
}

/// The groups that are known, by name.
pub type Groups = HashMap<Box<str>, GroupEntry, RandomState>;

/// What a group wants of a topic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionEntry {
    /// Its `subVersion`.
    pub version: i64,
    /// What it wants; `None` where that is not said by tags, and pulls are not for the fast lane.
    pub filter: Option<Arc<TagFilter>>,
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

/// Whether filters of this type go by tags. Compat: so they do where none is named.
#[must_use]
pub fn is_tag_type(expression_type: Option<&str>) -> bool {
    matches!(expression_type, None | Some("" | "TAG"))
}
