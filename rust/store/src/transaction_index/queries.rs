//! What can be asked of the index. Nothing here changes anything.

use super::entry::Slot;
use super::event::Identity;
use super::index::Index;
use super::names::NameId;
use super::transaction::Transaction;

/// Which pending transactions to list.
#[derive(Debug, Clone, Copy)]
pub struct PendingRange<'a> {
    /// Of this group only.
    pub group: Option<&'a str>,
    /// Whose newest copy has this half offset or a higher one.
    pub from_half: u64,
    /// And one below this.
    pub to_half: u64,
    /// No more than these.
    pub count_max: usize,
}

impl Index {
    /// The transaction with a copy at a half offset, if that copy stands at this log offset.
    pub fn find(&self, half_offset: u64, log_offset: u64) -> Option<Transaction> {
        let copy = self.copies.get(half_offset).filter(|copy| copy.log_offset == log_offset);
        let known = copy.map(|copy| copy.slot);
        // Of a root that had expired before the start no half offset is known, but that it came before all that are.
        let expired = || self.expired_roots.get(&log_offset).copied();
        let is_before = |slot: &Slot| half_offset < self.entries.get(*slot).first_half();
        Some(self.transaction(known.or_else(|| expired().filter(is_before))?))
    }

    /// The newest undecided transaction of a group with a unique id.
    pub fn find_by_unique_id(&self, group: &str, unique_id: &str) -> Option<Transaction> {
        self.find_undecided(Identity { group, unique_id }).map(|slot| self.transaction(slot))
    }

    /// Pending transactions by the half offset of their newest copy.
    pub fn list_pending_in(&self, range: PendingRange<'_>) -> Vec<Transaction> {
        let order = match range.group {
            None => Some(&self.pending),
            Some(group) => self.names.find(group).and_then(|group| self.groups.get(&group)),
        };
        let halves = order.into_iter().flat_map(|order| order.iter_from(range.from_half));
        let wanted = halves.take_while(|half| **half < range.to_half).take(range.count_max);
        wanted.filter_map(|half| Some(self.transaction(self.copies.get(*half)?.slot))).collect()
    }

    /// How many transactions of each group are pending.
    pub fn pending_by_group(&self) -> Vec<(&str, usize)> {
        self.groups.iter().map(|(group, order)| (self.names.text(*group), order.len())).collect()
    }

    /// How many transactions for each topic are pending.
    pub fn pending_by_topic(&self) -> Vec<(&str, usize)> {
        self.topics.iter().map(|(topic, count)| (self.names.text(*topic), *count)).collect()
    }

    /// Decided transactions, the last decision first.
    pub fn list_newest_decided(&self, count_max: usize) -> Vec<Transaction> {
        self.decided.iter().rev().take(count_max).map(|slot| self.transaction(*slot)).collect()
    }

    /// Decided transactions with live copies, by their roots.
    pub fn list_unmarked(&self, count_max: usize) -> Vec<Transaction> {
        self.unmarked.iter().take(count_max).map(|(_, slot)| self.transaction(*slot)).collect()
    }

    /// Pending transactions with a live copy that begins before a log offset.
    pub fn list_live_before(&self, log_offset: u64, count_max: usize) -> Vec<Transaction> {
        let is_before = |half: &u64| self.log_offset_of(*half) < log_offset;
        let older = self.older_live.iter().copied().take_while(is_before);
        let newest = self.pending.iter_from(0).copied().take_while(is_before);
        let mut found: Vec<Slot> = Vec::new();
        for half in older.chain(newest.filter(|half| self.is_live(*half))) {
            if found.len() == count_max {
                break;
            }
            if let Some(copy) = self.copies.get(half).filter(|copy| !found.contains(&copy.slot)) {
                found.push(copy.slot);
            }
        }
        found.into_iter().map(|slot| self.transaction(slot)).collect()
    }

    /// Half offset and log offset of the first copy that is live and whose transaction is pending.
    pub fn first_live(&self) -> Option<(u64, u64)> {
        // A newest copy that is not live is what a put-back leaves that was cut short: they are few.
        let newest = self.pending.iter_from(0).copied().find(|half| self.is_live(*half));
        let half = self.older_live.first().copied().into_iter().chain(newest).min()?;
        Some((half, self.log_offset_of(half)))
    }

    /// When the oldest root of a pending transaction was stored.
    pub fn oldest_root_store_ms(&self) -> Option<i64> {
        let stored = |slot: Slot| self.entries.get(slot).root_store_ms();
        let first = self.roots.first().and_then(|half| self.copies.get(*half)).map(|copy| stored(copy.slot));
        // Roots are in the order of their times, but for those that were known by name only.
        let expired = self.expired_roots.values().copied();
        let expired = expired.filter(|slot| self.entries.get(*slot).decision.is_none()).map(stored);
        expired.chain(first).min()
    }

    /// How much memory it takes.
    pub fn memory_bytes(&self) -> usize {
        let set_entries = self.older_live.len() + 2 * self.unmarked.len();
        let groups: usize = self.groups.values().map(|order| order.memory_bytes() + size_of_val(order)).sum();
        self.names.memory_bytes()
            + self.entries.memory_bytes()
            + self.copies.memory_bytes()
            + self.pending.memory_bytes()
            + self.roots.memory_bytes()
            + groups
            + self.topics.capacity() * size_of::<(NameId, usize)>()
            + self.undecided_by_key.memory_bytes()
            + self.decided_by_key.memory_bytes()
            + self.decided.capacity() * size_of::<Slot>()
            + self.expired_roots.capacity() * size_of::<(u64, Slot)>()
            + 2 * set_entries * size_of::<u64>()
    }

    /// A transaction as a value.
    pub fn transaction(&self, slot: Slot) -> Transaction {
        let entry = self.entries.get(slot);
        let decision = entry.decision.as_ref();
        Transaction {
            root_log_offset: self.root_of(slot),
            root_store_ms: entry.root_store_ms(),
            group: self.names.text(entry.group).to_owned(),
            topic: self.names.text(entry.topic).to_owned(),
            queue_id: entry.queue_id,
            unique_id: entry.unique_id.text(),
            body_crc: entry.body_crc,
            checks: entry.checks(),
            is_asked: entry.history.as_ref().is_some_and(|history| history.is_asked),
            state: entry.state(),
            half_offset: entry.newest_half,
            log_offset: self.log_offset_of(entry.newest_half),
            live_half_offsets: entry.halves().filter(|half| self.is_live(*half)).collect(),
            store_ms: entry.newest_store_ms,
            decided_ms: decision.and_then(|decision| decision.ms),
            decided_by: decision.and_then(|decision| decision.who).map(|who| self.names.text(who).to_owned()),
            decision_end: decision.map_or(0, |decision| decision.end),
            final_log_offset: decision.and_then(|decision| decision.final_log_offset),
        }
    }
}
