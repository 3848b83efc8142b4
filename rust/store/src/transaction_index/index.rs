//! The state that events make. What is asked of it is in `queries`; whoever owns it feeds it every event of the log, in
//! order and once.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::BuildHasher;

use foldhash::fast::RandomState;

use super::TransactionState;
use super::append_order::AppendOrder;
use super::entry::{Entries, Entry, HalfCopy, History, Slot};
use super::event::{Event, HalfRecord, Identity, Place, Root};
use super::names::{NameId, Names};
use super::same_key::SameKey;
use super::saving::Saving;
use super::unique_id::UniqueId;

/// All transactions that are known.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub names: Names,
    pub entries: Entries,
    /// Every copy of every transaction.
    pub copies: AppendOrder<HalfCopy>,
    /// The newest copies of pending ones, of all and by group.
    pub pending: AppendOrder<u64>,
    pub groups: HashMap<NameId, AppendOrder<u64>, RandomState>,
    /// How many are pending, by topic; none where none are.
    pub topics: HashMap<NameId, usize, RandomState>,
    /// The first known copies of pending ones.
    pub roots: AppendOrder<u64>,
    /// Live copies of pending ones beside their newest: Apache leaves them.
    pub older_live: BTreeSet<u64>,
    /// Transactions whose root is known by name only: its record had expired.
    pub expired_roots: HashMap<u64, Slot, RandomState>,
    pub undecided_by_key: SameKey,
    pub decided_by_key: SameKey,
    /// In the order of the decisions.
    pub decided: VecDeque<Slot>,
    /// Decided ones with live copies, by root.
    pub unmarked: BTreeSet<(u64, Slot)>,
    /// Half offset and log offset of the last half record.
    pub last_half: Option<(u64, u64)>,
    /// Records of the half topic that are no transaction.
    pub ignored: u64,
    /// Decisions that came after another one.
    pub contradictions: u64,
    pub hasher: RandomState,
    /// The snapshot that is being written.
    pub saving: Option<Box<Saving>>,
}

impl Index {
    /// Takes in what happened next.
    pub fn apply(&mut self, event: &Event<'_>) {
        match event {
            Event::Half(half) => self.half(half),
            Event::Final(message) => self.commit(message),
            Event::Op(op) => self.op(op),
            Event::Discard(discard) => self.discard(discard),
            Event::NoTransaction => self.ignored += 1,
        }
    }

    /// A transaction is about to change, in what a snapshot has of it.
    pub fn before_change(&mut self, slot: Slot) {
        if let Some(mut saving) = self.saving.take() {
            saving.keep(self, slot);
            self.saving = Some(saving);
        }
    }

    /// Log offset of a transaction's root.
    pub fn root_of(&self, slot: Slot) -> u64 {
        let entry = self.entries.get(slot);
        match &entry.history {
            Some(history) => history.root_log_offset,
            None => self.log_offset_of(entry.newest_half),
        }
    }

    /// Log offset of a copy that is known.
    pub fn log_offset_of(&self, half_offset: u64) -> u64 {
        self.copies.get(half_offset).map_or(0, |copy| copy.log_offset)
    }

    pub fn is_live(&self, half_offset: u64) -> bool {
        self.copies.get(half_offset).is_some_and(|copy| copy.is_live)
    }

    /// The newest undecided transaction of a group with a unique id.
    pub fn find_undecided(&self, identity: Identity<'_>) -> Option<Slot> {
        self.find_by_key(&self.undecided_by_key, identity)
    }

    fn half(&mut self, half: &HalfRecord<'_>) {
        let is_next = self.last_half.is_none_or(|(half_offset, log_offset)| {
            half_offset < half.half_offset && log_offset < half.place.log_offset
        });
        if !is_next {
            self.ignored += 1;
            return;
        }
        self.last_half = Some((half.half_offset, half.place.log_offset));
        match self.original_of(half) {
            Original::Known(slot) => self.add_copy(slot, half),
            Original::Expired(root) => {
                let slot = self.add(half, Some(root));
                self.expired_roots.insert(root.log_offset, slot);
            }
            Original::Itself => {
                self.add(half, None);
            }
        }
    }

    fn original_of(&self, half: &HalfRecord<'_>) -> Original {
        if let Some(root) = half.root.filter(|root| root.log_offset < half.place.log_offset) {
            match self.find_root(root.log_offset) {
                None => return Original::Expired(root),
                // A root that is somebody else's says nothing.
                Some(slot) if !self.is_same(slot, half.identity) => return Original::Itself,
                Some(slot) if self.may_have_copies(slot) => return Original::Known(slot),
                Some(_) => {}
            }
        }
        let known = half.is_copy.then(|| {
            self.find_undecided(half.identity)
                .or_else(|| self.find_by_key(&self.decided_by_key, half.identity))
        });
        let known = known.flatten().filter(|slot| self.may_have_copies(*slot));
        known.map_or(Original::Itself, Original::Known)
    }

    /// Nobody puts back what was discarded: what looks like a copy of it was resumed, or is one of what was.
    fn may_have_copies(&self, slot: Slot) -> bool {
        self.entries.get(slot).state() != TransactionState::Discarded
    }

    fn add(&mut self, half: &HalfRecord<'_>, root: Option<Root>) -> Slot {
        let history = (root.is_some() || half.checks > 0).then(|| {
            let Place { log_offset, store_ms, .. } = half.place;
            let root = root.unwrap_or(Root { log_offset, store_ms });
            Box::new(History {
                root_log_offset: root.log_offset,
                root_store_ms: root.store_ms,
                checks: half.checks,
                is_asked: false,
                older: Vec::new(),
            })
        });
        let slot = self.entries.insert(Entry {
            newest_half: half.half_offset,
            newest_store_ms: half.place.store_ms,
            history,
            decision: None,
            unique_id: UniqueId::new(half.identity.unique_id),
            group: self.names.take(half.identity.group),
            topic: self.names.take(half.topic),
            queue_id: half.queue_id,
            body_crc: half.body_crc,
        });
        self.push_copy(slot, half);
        self.pending.push(half.half_offset);
        let entry = self.entries.get(slot);
        self.groups.entry(entry.group).or_default().push(half.half_offset);
        *self.topics.entry(entry.topic).or_default() += 1;
        self.roots.push(half.half_offset);
        self.insert_by_key(slot);
        slot
    }

    /// Fills an index that has entries, and what only few of them have. `None` where copies are not in order.
    pub fn restore(&mut self, mut copies: Vec<HalfCopy>, decided: &[Slot], pending: &[Slot]) -> Option<()> {
        copies.sort_unstable_by_key(|copy| copy.half_offset);
        let is_ascending = copies
            .is_sorted_by(|one, next| one.half_offset < next.half_offset && one.log_offset < next.log_offset);
        let last = copies.last().map(|copy| (copy.half_offset, copy.log_offset));
        (is_ascending && last <= self.last_half).then_some(())?;
        for copy in copies {
            self.copies.push(copy);
            let entry = self.entries.get(copy.slot);
            if entry.decision.is_some() {
                continue;
            }
            if entry.first_half() == copy.half_offset {
                self.roots.push(copy.half_offset);
            }
            if entry.newest_half == copy.half_offset {
                self.pending.push(copy.half_offset);
                self.groups.entry(entry.group).or_default().push(copy.half_offset);
                *self.topics.entry(entry.topic).or_default() += 1;
            } else if copy.is_live {
                self.older_live.insert(copy.half_offset);
            }
        }
        let (entries, hasher) = (&self.entries, &self.hasher);
        let hash_of = |slot| {
            let entry = entries.get(slot);
            hasher.hash_one((entry.group, &entry.unique_id))
        };
        self.decided_by_key.reserve(decided.len(), hash_of);
        self.undecided_by_key.reserve(pending.len(), hash_of);
        self.decided.extend(decided);
        for slot in decided.iter().chain(pending) {
            self.insert_by_key(*slot);
        }
        Some(())
    }

    /// Notes that the question about a copy has left, if it is still the newest.
    pub fn mark_asked(&mut self, half_offset: u64) {
        let Some(slot) = self.copies.get(half_offset).map(|copy| copy.slot) else { return };
        let entry = self.entries.get_mut(slot);
        if entry.newest_half == half_offset
            && let Some(history) = &mut entry.history
        {
            history.is_asked = true;
        }
    }

    fn add_copy(&mut self, slot: Slot, half: &HalfRecord<'_>) {
        self.before_change(slot);
        let root_log_offset = self.root_of(slot);
        let entry = self.entries.get_mut(slot);
        let (before, group, is_pending) = (entry.newest_half, entry.group, entry.decision.is_none());
        let (root_store_ms, checks) = (entry.newest_store_ms, 0);
        let history = entry.history.get_or_insert_with(|| {
            Box::new(History { root_log_offset, root_store_ms, checks, is_asked: false, older: Vec::new() })
        });
        history.older.push(before);
        if is_pending {
            // One that is put back for its segment to go is no new question.
            history.is_asked &= history.checks == half.checks;
            history.checks = half.checks;
        }
        entry.newest_half = half.half_offset;
        entry.newest_store_ms = half.place.store_ms;
        self.push_copy(slot, half);
        if is_pending {
            self.pending.remove(before);
            self.pending.push(half.half_offset);
            let order = self.groups.entry(group).or_default();
            order.remove(before);
            order.push(half.half_offset);
            if self.is_live(before) {
                self.older_live.insert(before);
            }
        } else {
            self.note_unmarked(slot);
        }
    }

    fn push_copy(&mut self, slot: Slot, half: &HalfRecord<'_>) {
        let (half_offset, log_offset) = (half.half_offset, half.place.log_offset);
        self.copies.push(HalfCopy { half_offset, log_offset, slot, is_live: true });
    }

    pub fn find_root(&self, log_offset: u64) -> Option<Slot> {
        let copy = self.copies.find(|copy| copy.log_offset, log_offset);
        let known = copy.map(|copy| copy.slot).filter(|slot| self.root_of(*slot) == log_offset);
        known.or_else(|| self.expired_roots.get(&log_offset).copied())
    }

    fn find_by_key(&self, transactions: &SameKey, identity: Identity<'_>) -> Option<Slot> {
        let group = self.names.find(identity.group)?;
        let unique_id = UniqueId::new(identity.unique_id);
        let is_same = |slot| {
            let entry = self.entries.get(slot);
            entry.group == group && entry.unique_id == unique_id
        };
        transactions.find(self.hasher.hash_one((group, &unique_id)), is_same)
    }

    pub fn insert_by_key(&mut self, slot: Slot) {
        let (entries, hasher) = (&self.entries, &self.hasher);
        let entry = entries.get(slot);
        let transactions =
            if entry.decision.is_none() { &mut self.undecided_by_key } else { &mut self.decided_by_key };
        let hash_of = |entry: &Entry| hasher.hash_one((entry.group, &entry.unique_id));
        transactions.insert(
            hash_of(entry),
            slot,
            |other| {
                let other = entries.get(other);
                other.group == entry.group && other.unique_id == entry.unique_id
            },
            |other| hash_of(entries.get(other)),
        );
    }

    pub fn hash_of(&self, slot: Slot) -> u64 {
        let entry = self.entries.get(slot);
        self.hasher.hash_one((entry.group, &entry.unique_id))
    }

    pub fn is_same(&self, slot: Slot, identity: Identity<'_>) -> bool {
        let entry = self.entries.get(slot);
        self.names.text(entry.group) == identity.group && entry.unique_id == UniqueId::new(identity.unique_id)
    }
}

/// What a half record is a copy of.
enum Original {
    Itself,
    Known(Slot),
    Expired(Root),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction_index::event::Op;
    use crate::transaction_index::op_marks::OpMarks;

    const COUNT: u64 = 200_000;

    /// Adds as many pending transactions, of clients with IPv6 addresses, whose ids are the longest.
    fn fill(index: &mut Index, from: u64) {
        for number in from..from + COUNT {
            let unique_id = format!("FD000000000000000000000000000002{number:024X}");
            index.apply(&Event::Half(HalfRecord {
                place: Place { log_offset: 500 * number, end: 500 * number + 500, store_ms: 7 },
                half_offset: number,
                identity: Identity { group: "billing", unique_id: &unique_id },
                topic: "payments",
                queue_id: 3,
                body_crc: 7,
                checks: 0,
                root: None,
                is_copy: false,
            }));
        }
    }

    #[test]
    fn a_pending_transaction_takes_as_much_memory_as_the_documentation_says() {
        let mut index = Index::default();
        fill(&mut index, 0);
        let bytes = index.memory_bytes() / usize::try_from(COUNT).expect("fits");
        assert!((125..=145).contains(&bytes), "{bytes} bytes each");
    }

    #[test]
    fn what_is_forgotten_leaves_room_for_others_and_nothing_else() {
        let mut index = Index::default();
        fill(&mut index, 0);
        let place = Place { log_offset: 500 * COUNT, end: 500 * COUNT + 500, store_ms: 8 };
        for number in 0..COUNT {
            let body = number.to_string();
            index.apply(&Event::Op(Op { place, marks: OpMarks::new(body.as_bytes(), None) }));
        }
        assert_eq!(index.forget_decided_beyond(150_000), 50_000);
        assert_eq!(index.decided.len(), 150_000);
        assert_eq!(index.forget_decided_before(9), 150_000);
        assert_eq!((index.copies.len(), index.pending.len(), index.roots.len()), (0, 0, 0));
        assert!(index.groups.is_empty() && index.unmarked.is_empty() && index.names.iter().next().is_none());
        let before = index.memory_bytes();
        fill(&mut index, 2 * COUNT);
        let added = (index.memory_bytes() - before) / usize::try_from(COUNT).expect("fits");
        assert!(added < 60, "entries are used again: {added} bytes each");
    }
}
