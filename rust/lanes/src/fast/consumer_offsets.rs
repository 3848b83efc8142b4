//! Consumer offsets: what each group reads next of each queue. Kept here, since every consumer commits every few seconds;
//! Python writes them to disk.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use parking_lot::Mutex;

/// Queue numbers and offsets of a topic and group.
pub type QueueOffsets = BTreeMap<i32, i64>;

/// The broker itself, which keeps under this name how far transactions are done: what lies before it is closed at a start.
const TRANSACTION_GROUP: &str = "CID_RMQ_SYS_TRANS";

/// Between topic and group in a key; neither may hold it.
const SEPARATOR: char = '@';

/// The offsets of all groups.
#[derive(Debug, Default)]
pub struct ConsumerOffsets {
    tables: Mutex<Tables>,
    version: AtomicU64,
}

#[derive(Debug, Default)]
struct Tables {
    committed: HashMap<Box<str>, QueueOffsets, RandomState>,
    /// Where consumers are sent by their next pull; until then their commits are ignored.
    reset: HashMap<Box<str>, QueueOffsets, RandomState>,
    /// How far consumers have pulled, which is further than they have consumed. Nobody relies on it: it is not kept.
    pulled: HashMap<Box<str>, QueueOffsets, RandomState>,
}

impl ConsumerOffsets {
    /// What a group reads next, where that is known.
    pub fn get(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        let key = key(group, topic);
        let tables = self.tables.lock();
        let offset_in = |table: &HashMap<Box<str>, QueueOffsets, RandomState>| {
            table.get(&*key).and_then(|offsets| offsets.get(&queue_id)).copied()
        };
        offset_in(&tables.reset).or_else(|| offset_in(&tables.committed))
    }

    /// Sets what a group reads next, forwards or back.
    pub fn commit(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.tables.lock().set(key(group, topic), queue_id, offset);
        self.count_change();
    }

    /// The same for a consumer, whose commits don't count while a reset waits for it, nor in the broker's own name. Whether
    /// it did.
    pub(super) fn commit_by_consumer(&self, group: &str, topic: &str, queue_id: i32, offset: i64) -> bool {
        if group == TRANSACTION_GROUP {
            return false;
        }
        let key = key(group, topic);
        let mut tables = self.tables.lock();
        if tables.reset.get(&*key).is_some_and(|offsets| offsets.contains_key(&queue_id)) {
            return false;
        }
        tables.set(key, queue_id, offset);
        drop(tables);
        self.count_change();
        true
    }

    /// Sets what a group reads next, and has its next pull told so.
    pub fn reset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        let key = key(group, topic);
        let mut tables = self.tables.lock();
        tables.reset.entry(key.clone()).or_default().insert(queue_id, offset);
        tables.set(key, queue_id, offset);
        drop(tables);
        self.count_change();
    }

    /// The reset that waits for a consumer, which then does not wait any more.
    pub(super) fn take_reset(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        let mut tables = self.tables.lock();
        if tables.reset.is_empty() {
            return None;
        }
        let key = key(group, topic);
        let offsets = tables.reset.get_mut(&*key)?;
        let offset = offsets.remove(&queue_id);
        if offsets.is_empty() {
            tables.reset.remove(&*key);
        }
        offset
    }

    /// Notes how far a group has pulled.
    pub(super) fn note_pulled(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.tables.lock().pulled.entry(key(group, topic)).or_default().insert(queue_id, offset);
    }

    /// How far groups have pulled since the start, by `topic@group`.
    pub fn pulled(&self) -> Vec<(Box<str>, QueueOffsets)> {
        let tables = self.tables.lock();
        tables.pulled.iter().map(|(key, offsets)| (key.clone(), offsets.clone())).collect()
    }

    /// All offsets by `topic@group`.
    pub fn all(&self) -> Vec<(Box<str>, QueueOffsets)> {
        let tables = self.tables.lock();
        tables.committed.iter().map(|(key, offsets)| (key.clone(), offsets.clone())).collect()
    }

    /// Replaces all offsets. Resets are forgotten.
    pub fn load(&self, offsets: impl IntoIterator<Item = (Box<str>, QueueOffsets)>) {
        let committed = offsets.into_iter().collect();
        let before = std::mem::replace(&mut *self.tables.lock(), Tables { committed, ..Tables::default() });
        drop(before);
        self.count_change();
    }

    /// Removes the offsets of a group, of a topic, or of a group in a topic. Of how many groups and topics.
    pub fn remove(&self, group: Option<&str>, topic: Option<&str>) -> usize {
        let is_kept = |key: &str| {
            let (found_topic, found_group) = key.split_once(SEPARATOR).unwrap_or((key, ""));
            group.is_some_and(|group| group != found_group) || topic.is_some_and(|topic| topic != found_topic)
        };
        let mut tables = self.tables.lock();
        let before = tables.committed.len();
        tables.committed.retain(|key, _| is_kept(key));
        tables.reset.retain(|key, _| is_kept(key));
        tables.pulled.retain(|key, _| is_kept(key));
        let removed = before - tables.committed.len();
        drop(tables);
        self.count_change();
        removed
    }

    /// Counts changes: while it is the same, the offsets are.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    fn count_change(&self) {
        self.version.fetch_add(1, Ordering::AcqRel);
    }
}

impl Tables {
    fn set(&mut self, key: Box<str>, queue_id: i32, offset: i64) {
        self.committed.entry(key).or_default().insert(queue_id, offset);
    }
}

fn key(group: &str, topic: &str) -> Box<str> {
    let mut key = String::with_capacity(topic.len() + 1 + group.len());
    key.push_str(topic);
    key.push(SEPARATOR);
    key.push_str(group);
    key.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_where_they_are_set_forwards_or_back() {
        let offsets = ConsumerOffsets::default();
        assert_eq!(offsets.get("g", "t", 0), None);
        offsets.commit("g", "t", 0, 7);
        offsets.commit("g", "t", 0, 5);
        offsets.commit("g", "t", 1, 9);
        assert_eq!((offsets.get("g", "t", 0), offsets.get("g", "t", 1)), (Some(5), Some(9)));
        assert_eq!(offsets.get("t", "g", 0), None);
        assert_eq!(offsets.version(), 3);
    }

    #[test]
    fn a_reset_holds_against_commits_until_the_next_pull() {
        let offsets = ConsumerOffsets::default();
        assert!(offsets.commit_by_consumer("g", "t", 0, 50));
        offsets.reset("g", "t", 0, 10);
        assert!(!offsets.commit_by_consumer("g", "t", 0, 51));
        assert_eq!(offsets.get("g", "t", 0), Some(10));
        assert_eq!(offsets.take_reset("g", "t", 0), Some(10));
        assert_eq!(offsets.take_reset("g", "t", 0), None);
        assert!(offsets.commit_by_consumer("g", "t", 0, 11));
        assert_eq!(offsets.get("g", "t", 0), Some(11));
    }

    #[test]
    fn no_consumer_says_how_far_transactions_are() {
        let offsets = ConsumerOffsets::default();
        offsets.commit(TRANSACTION_GROUP, "t", 0, 3);
        assert!(!offsets.commit_by_consumer(TRANSACTION_GROUP, "t", 0, 1_000));
        assert_eq!(offsets.get(TRANSACTION_GROUP, "t", 0), Some(3));
    }

    #[test]
    fn offsets_are_removed_by_group_and_by_topic() {
        let offsets = ConsumerOffsets::default();
        for (group, topic) in [("g", "t"), ("g", "u"), ("h", "t"), ("h", "u")] {
            offsets.commit(group, topic, 0, 1);
            offsets.note_pulled(group, topic, 0, 5);
        }
        assert_eq!(offsets.remove(Some("g"), Some("t")), 1);
        assert_eq!(offsets.remove(Some("h"), None), 2);
        let left: Vec<_> = offsets.all().into_iter().map(|(key, _)| key.to_string()).collect();
        assert_eq!(left, ["u@g"]);
        assert_eq!(offsets.pulled(), [("u@g".into(), QueueOffsets::from([(0, 5)]))]);
        assert_eq!(offsets.remove(None, Some("u")), 1);
    }

    #[test]
    fn what_is_loaded_replaces_what_was_there() {
        let offsets = ConsumerOffsets::default();
        offsets.commit("g", "t", 0, 1);
        offsets.load([("u@g".into(), QueueOffsets::from([(3, 4)]))]);
        assert_eq!((offsets.get("g", "t", 0), offsets.get("g", "u", 3)), (None, Some(4)));
    }
}
