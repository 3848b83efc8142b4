//! How transactions end: by a final record, an op record or a discard, and how they are forgotten then.

use super::TransactionState;
use super::entry::{Decision, Slot};
use super::event::{Discard, Final, Op, Place};
use super::index::Index;
use super::op_marks::Mark;
use super::unique_id::UniqueId;

impl Index {
    /// Closes pending transactions whose newest copy lies before a half offset, and returns how many.
    pub fn close_before(&mut self, half_offset: u64) -> usize {
        let before = self.pending.iter_from(0).take_while(|half| **half < half_offset);
        let slots: Vec<Slot> = before.filter_map(|half| Some(self.copies.get(*half)?.slot)).collect();
        for slot in &slots {
            let state = TransactionState::Closed;
            self.decide(*slot, Decision { state, ms: None, who: None, end: 0, final_log_offset: None });
        }
        slots.len()
    }

    /// Forgets decided transactions that ended before a time, and returns how many. One with a live copy stays: its op
    /// record is still to be written.
    pub fn forget_decided_before(&mut self, ms: i64) -> usize {
        self.forget_first(
            self.decided.iter().take_while(|slot| self.entries.get(**slot).ended_ms() < ms).count(),
        )
    }

    /// Forgets decided transactions, the first decision first, until so many are left, and returns how many.
    pub fn forget_decided_beyond(&mut self, count_max: usize) -> usize {
        self.forget_first(self.decided.len().saturating_sub(count_max))
    }

    fn forget_first(&mut self, count: usize) -> usize {
        let old: Vec<Slot> = self.decided.drain(..count).collect();
        let (kept, forgotten): (Vec<Slot>, Vec<Slot>) =
            old.into_iter().partition(|slot| self.unmarked.contains(&(self.root_of(*slot), *slot)));
        for slot in &forgotten {
            self.forget(*slot);
        }
        kept.into_iter().rev().for_each(|slot| self.decided.push_front(slot));
        forgotten.len()
    }

    pub fn commit(&mut self, message: &Final<'_>) {
        let copy = self.copies.find(|copy| copy.log_offset, message.half_log_offset);
        let Some(slot) = copy.map(|copy| copy.slot) else { return };
        let entry = self.entries.get(slot);
        let has_unique_id = |text: &str| UniqueId::new(text) == entry.unique_id;
        if !message.is_of(self.names.text(entry.topic), has_unique_id) {
            return;
        }
        self.before_change(slot);
        let Place { log_offset, end, store_ms } = message.place;
        match &mut self.entries.get_mut(slot).decision {
            None => self.decide(
                slot,
                Decision {
                    state: TransactionState::Committed,
                    ms: Some(store_ms),
                    who: None,
                    end,
                    final_log_offset: Some(log_offset),
                },
            ),
            // Apache may have delivered twice; the first is the one.
            Some(decision) if decision.state == TransactionState::Committed => {
                decision.final_log_offset.get_or_insert(log_offset);
            }
            Some(_) => self.contradictions += 1,
        }
    }

    pub fn op(&mut self, op: &Op<'_>) {
        op.marks.each(|half_offset, mark| {
            let Some(slot) = self.copies.get(half_offset).map(|copy| copy.slot) else { return };
            self.before_change(slot);
            let Some(copy) = self.copies.get_mut(half_offset) else { return };
            let was_live = std::mem::replace(&mut copy.is_live, false);
            self.note_marked(slot, half_offset);
            match mark {
                Mark::PutBack => {}
                Mark::Unsaid => self.op_unsaid(slot, half_offset, was_live, op.place),
                Mark::Decided(state, who) => self.op_decided(slot, state, who, was_live, op.place),
            }
        });
    }

    /// Apache's op: on the newest copy of an undecided transaction it is a rollback, since a commit has a final record
    /// before it; on an older one it says nothing about the transaction.
    fn op_unsaid(&mut self, slot: Slot, half_offset: u64, was_live: bool, place: Place) {
        let entry = self.entries.get_mut(slot);
        match &mut entry.decision {
            Some(decision) if was_live => decision.end = decision.end.max(place.end),
            None if entry.newest_half == half_offset => {
                let (state, ms) = (TransactionState::RolledBack, Some(place.store_ms));
                self.decide(slot, Decision { state, ms, who: None, end: place.end, final_log_offset: None });
            }
            _ => {}
        }
    }

    fn op_decided(&mut self, slot: Slot, state: TransactionState, who: &str, was_live: bool, place: Place) {
        match &mut self.entries.get_mut(slot).decision {
            None => {
                let (who, ms) = (Some(self.names.take(who)), Some(place.store_ms));
                self.decide(slot, Decision { state, ms, who, end: place.end, final_log_offset: None });
            }
            Some(decision) if decision.state == state => {
                if was_live {
                    decision.end = decision.end.max(place.end);
                    decision.who.get_or_insert_with(|| self.names.take(who));
                }
            }
            Some(_) => self.contradictions += 1,
        }
    }

    pub fn discard(&mut self, discard: &Discard<'_>) {
        let found = match discard.root {
            Some(root) => {
                self.find_root(root.log_offset).filter(|slot| self.is_same(*slot, discard.identity))
            }
            None => self.find_undecided(discard.identity),
        };
        let Some(slot) = found else { return };
        match &self.entries.get(slot).decision {
            None => {
                let (state, ms) = (TransactionState::Discarded, Some(discard.place.store_ms));
                let end = discard.place.end;
                self.decide(slot, Decision { state, ms, who: None, end, final_log_offset: None });
            }
            Some(decision) if decision.state == TransactionState::Discarded => {}
            Some(_) => self.contradictions += 1,
        }
    }

    fn decide(&mut self, slot: Slot, decision: Decision) {
        self.before_change(slot);
        let entry = self.entries.get(slot);
        self.pending.remove(entry.newest_half);
        self.roots.remove(entry.first_half());
        if let Some(order) = self.groups.get_mut(&entry.group) {
            order.remove(entry.newest_half);
            if order.len() == 0 {
                self.groups.remove(&entry.group);
            }
        }
        if let Some(count) = self.topics.get_mut(&entry.topic) {
            *count -= 1;
            if *count == 0 {
                self.topics.remove(&entry.topic);
            }
        }
        if !self.older_live.is_empty() {
            entry.halves().for_each(|half| {
                self.older_live.remove(&half);
            });
        }
        self.undecided_by_key.remove(self.hash_of(slot), slot);
        self.entries.get_mut(slot).decision = Some(Box::new(decision));
        self.list_decided(slot);
    }

    /// Puts a transaction that is decided, later than all others, into the orders of decided ones.
    fn list_decided(&mut self, slot: Slot) {
        self.insert_by_key(slot);
        self.decided.push_back(slot);
        self.note_unmarked(slot);
    }

    fn forget(&mut self, slot: Slot) {
        self.before_change(slot);
        self.expired_roots.remove(&self.root_of(slot));
        self.decided_by_key.remove(self.hash_of(slot), slot);
        let Some(entry) = self.entries.remove(slot) else { return };
        for half in entry.halves() {
            self.copies.remove(half);
        }
        let who = entry.decision.and_then(|decision| decision.who);
        [Some(entry.group), Some(entry.topic), who]
            .into_iter()
            .flatten()
            .for_each(|name| self.names.release(name));
    }

    fn note_marked(&mut self, slot: Slot, half_offset: u64) {
        let entry = self.entries.get(slot);
        if entry.decision.is_none() {
            self.older_live.remove(&half_offset);
        } else if !entry.halves().any(|half| self.is_live(half)) {
            self.unmarked.remove(&(self.root_of(slot), slot));
        }
    }

    /// A closed one lacks no op record: the broker that left it so looks at none of its copies again.
    pub fn note_unmarked(&mut self, slot: Slot) {
        let entry = self.entries.get(slot);
        if entry.state() != TransactionState::Closed && entry.halves().any(|half| self.is_live(half)) {
            self.unmarked.insert((self.root_of(slot), slot));
        }
    }
}
