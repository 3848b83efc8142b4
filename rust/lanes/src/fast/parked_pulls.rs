//! Pulls that wait for messages: found by queue when one grows, by time when it is over, by connection when it closes.

use std::collections::{BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use escrowmq_net::ConnectionId;
use escrowmq_store::Arrival;
use foldhash::fast::RandomState;

use super::message_filter::MessageFilter;
use super::pull_request::PullRequest;
use super::reply::Asker;

/// A pull that waits.
#[derive(Debug)]
pub struct ParkedPull {
    pub asker: Asker,
    pub request: PullRequest,
    pub filter: Arc<MessageFilter>,
    /// Everything before this queue offset was looked at, and not wanted.
    pub scanned_to: i64,
    /// When it is answered, whatever there is.
    pub deadline: Instant,
}

/// Names a parked pull; no number is used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParkedId(u64);

#[derive(Debug, Default)]
pub struct ParkedPulls {
    pulls: HashMap<ParkedId, ParkedPull, RandomState>,
    by_queue: HashMap<Arrival, BTreeSet<ParkedId>, RandomState>,
    by_connection: HashMap<ConnectionId, BTreeSet<ParkedId>, RandomState>,
    by_deadline: BTreeSet<(Instant, ParkedId)>,
    next_id: u64,
}

impl ParkedPulls {
    pub fn len(&self) -> usize {
        self.pulls.len()
    }

    pub fn insert(&mut self, pull: ParkedPull) -> ParkedId {
        let id = ParkedId(self.next_id);
        self.next_id += 1;
        self.by_queue.entry(queue_of(&pull)).or_default().insert(id);
        self.by_connection.entry(pull.asker.peer.connection).or_default().insert(id);
        self.by_deadline.insert((pull.deadline, id));
        self.pulls.insert(id, pull);
        id
    }

    pub fn get(&self, id: ParkedId) -> Option<&ParkedPull> {
        self.pulls.get(&id)
    }

    /// Notes that everything before a queue offset was looked at, and not wanted.
    pub fn set_scanned(&mut self, id: ParkedId, scanned_to: i64) {
        if let Some(pull) = self.pulls.get_mut(&id) {
            pull.scanned_to = scanned_to;
        }
    }

    pub fn remove(&mut self, id: ParkedId) -> Option<ParkedPull> {
        let pull = self.pulls.remove(&id)?;
        let queue = queue_of(&pull);
        remove_from(&mut self.by_queue, &queue, id);
        remove_from(&mut self.by_connection, &pull.asker.peer.connection, id);
        self.by_deadline.remove(&(pull.deadline, id));
        Some(pull)
    }

    /// Whether a connection has as many as it may: as many as are left free, so that none leaves the others without.
    pub fn is_full_for(&self, connection: ConnectionId, count_max: usize) -> bool {
        let own_count = self.by_connection.get(&connection).map_or(0, BTreeSet::len);
        own_count >= count_max.saturating_sub(self.len())
    }

    /// Who has waited longest for a queue, of those that began to wait after another.
    pub fn next_waiting(&self, queue: &Arrival, after: Option<ParkedId>) -> Option<ParkedId> {
        let ids = self.by_queue.get(queue)?;
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        ids.range((after, Bound::Unbounded)).next().copied()
    }

    /// One whose time is over.
    pub fn pop_late(&mut self, now: Instant) -> Option<ParkedPull> {
        let &(deadline, id) = self.by_deadline.first()?;
        if deadline <= now { self.remove(id) } else { None }
    }

    /// When the next one's time is over.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.by_deadline.first().map(|&(deadline, _)| deadline)
    }

    /// Forgets those of a connection.
    pub fn forget(&mut self, connection: ConnectionId) {
        for id in self.by_connection.remove(&connection).unwrap_or_default() {
            self.remove(id);
        }
    }
}

fn queue_of(pull: &ParkedPull) -> Arrival {
    Arrival { topic: pull.request.topic.clone(), queue_id: pull.request.queue_id.unsigned_abs() }
}

fn remove_from<K: std::hash::Hash + Eq>(
    table: &mut HashMap<K, BTreeSet<ParkedId>, RandomState>,
    key: &K,
    id: ParkedId,
) {
    if let Some(ids) = table.get_mut(key) {
        ids.remove(&id);
        if ids.is_empty() {
            table.remove(key);
        }
    }
}
