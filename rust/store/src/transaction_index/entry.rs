//! A transaction as the index keeps it. Most have one copy and no decision yet, so what only others have is kept apart.

use super::TransactionState;
use super::append_order::Ordered;
use super::names::NameId;
use super::unique_id::UniqueId;

/// Number of a transaction in the index, used again when it is forgotten.
pub(super) type Slot = u32;

/// A copy of a half message. Half offsets and log offsets ascend together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HalfCopy {
    pub half_offset: u64,
    pub log_offset: u64,
    pub slot: Slot,
    /// Whether no op record names it.
    pub is_live: bool,
}

impl Ordered for HalfCopy {
    fn place(&self) -> u64 {
        self.half_offset
    }
}

/// A transaction.
#[derive(Debug)]
pub(super) struct Entry {
    /// Its newest copy.
    pub newest_half: u64,
    pub newest_store_ms: i64,
    /// `None`: it has one copy, which is its root, and was never checked.
    pub history: Option<Box<History>>,
    /// `None`: it is pending.
    pub decision: Option<Box<Decision>>,
    pub unique_id: UniqueId,
    pub group: NameId,
    pub topic: NameId,
    pub queue_id: i32,
    pub body_crc: u32,
}

/// What came before the newest copy.
#[derive(Debug, Clone)]
pub(super) struct History {
    pub root_log_offset: u64,
    pub root_store_ms: i64,
    pub checks: u32,
    /// Whether the question about the newest copy has left. No record says so: after a start, none has.
    pub is_asked: bool,
    /// Half offsets of the copies before the newest.
    pub older: Vec<u64>,
}

/// How it ended.
#[derive(Debug, Clone)]
pub(super) struct Decision {
    pub state: TransactionState,
    /// When; `None` for one that was closed, which no record says.
    pub ms: Option<i64>,
    pub who: Option<NameId>,
    /// The log offset behind the last record of the decision; 0 where there is none.
    pub end: u64,
    pub final_log_offset: Option<u64>,
}

impl Entry {
    pub fn state(&self) -> TransactionState {
        self.decision.as_ref().map_or(TransactionState::Pending, |decision| decision.state)
    }

    /// How often its producer was asked.
    pub fn checks(&self) -> u32 {
        self.history.as_ref().map_or(0, |history| history.checks)
    }

    /// When its root was stored.
    pub fn root_store_ms(&self) -> i64 {
        self.history.as_ref().map_or(self.newest_store_ms, |history| history.root_store_ms)
    }

    /// Half offsets of all copies, oldest first.
    pub fn halves(&self) -> impl Iterator<Item = u64> {
        let older = self.history.as_ref().map_or(&[][..], |history| &history.older);
        older.iter().copied().chain([self.newest_half])
    }

    /// Half offset of the first copy that is known.
    pub fn first_half(&self) -> u64 {
        self.halves().next().unwrap_or(self.newest_half)
    }

    /// When it ended, for those who forget by age.
    pub fn ended_ms(&self) -> i64 {
        self.decision.as_ref().and_then(|decision| decision.ms).unwrap_or(self.newest_store_ms)
    }

    /// Memory that it takes beyond itself.
    pub fn memory_bytes(&self) -> usize {
        let history = self.history.as_ref();
        self.unique_id.memory_bytes()
            + history.map_or(0, |history| size_of::<History>() + history.older.capacity() * size_of::<u64>())
            + self.decision.as_ref().map_or(0, |_| size_of::<Decision>())
    }
}

/// All entries by their numbers.
#[derive(Debug, Default)]
pub(super) struct Entries {
    slots: Vec<Option<Entry>>,
    free: Vec<Slot>,
}

impl Entries {
    pub fn insert(&mut self, entry: Entry) -> Slot {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = Some(entry);
            return slot;
        }
        if self.slots.len() == self.slots.capacity() {
            // By an eighth and not by half: with millions of entries the rest would stand empty.
            self.slots.reserve_exact(self.slots.len() / 8 + 64);
        }
        self.slots.push(Some(entry));
        Slot::try_from(self.slots.len() - 1).expect("fewer than 2^32 transactions fit into memory")
    }

    /// Makes room for so many more.
    pub fn reserve(&mut self, count: usize) {
        self.slots.reserve_exact(count);
    }

    /// How many numbers were ever in use.
    pub fn slot_count(&self) -> usize {
        self.slots.len()
    }

    /// Whoever holds a number holds that of an entry: it is given up before the entry is.
    pub fn get(&self, slot: Slot) -> &Entry {
        self.slots[slot as usize].as_ref().expect("the slot is in use")
    }

    pub fn get_mut(&mut self, slot: Slot) -> &mut Entry {
        self.slots[slot as usize].as_mut().expect("the slot is in use")
    }

    pub fn remove(&mut self, slot: Slot) -> Option<Entry> {
        let removed = self.slots[slot as usize].take();
        self.free.extend(removed.is_some().then_some(slot));
        removed
    }

    pub fn memory_bytes(&self) -> usize {
        let beyond: usize = self.slots.iter().flatten().map(Entry::memory_bytes).sum();
        beyond + self.slots.capacity() * size_of::<Option<Entry>>() + self.free.capacity() * size_of::<Slot>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_as_small_as_the_figures_in_the_documentation_say() {
        assert_eq!(size_of::<Option<Entry>>(), 80);
        assert_eq!(size_of::<HalfCopy>(), 24);
    }
}
