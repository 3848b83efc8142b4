//! A snapshot while it is being written: what the index knew at one moment, in slices, so that nobody waits for all of it.
//! A transaction that is about to change before its turn has come is kept as it was.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::entry::Slot;
use super::index::Index;
use super::names::NameId;
use super::snapshot::{MARK, NO_NAME, NO_TIME, NONE, RecordBefore, VERSION, code_of};

/// What is written, and how far that has come.
#[derive(Debug)]
pub(super) struct Saving {
    numbers: HashMap<NameId, u32, RandomState>,
    decided: Vec<Slot>,
    /// The first known copies of pending ones.
    pending: Vec<u64>,
    /// How many of both are written.
    done: usize,
    /// Transactions that need not be kept any more: a bit for each number that was in use.
    is_kept: Vec<bool>,
    /// Those that have changed since, as they were.
    kept: HashMap<Slot, Vec<u8>, RandomState>,
    /// Which of these had a first copy, for it may be forgotten by now.
    kept_roots: HashMap<u64, Slot, RandomState>,
}

impl Saving {
    /// Begins, with what stands before the transactions: the index has seen the log up to `end`.
    pub fn begin(index: &Index, end: u64, before: RecordBefore, out: &mut Vec<u8>) -> Self {
        let names: Vec<(NameId, &str)> = index.names.iter().collect();
        let saving = Self {
            numbers: names.iter().map(|(id, _)| *id).zip(0..).collect(),
            decided: index.decided.iter().copied().collect(),
            pending: index.roots.iter_from(0).copied().collect(),
            done: 0,
            is_kept: vec![false; index.entries.slot_count()],
            kept: HashMap::default(),
            kept_roots: HashMap::default(),
        };
        let (half_offset, log_offset) = index.last_half.unwrap_or((NONE, NONE));
        let mut out = Writer { bytes: out };
        out.bytes.extend_from_slice(MARK);
        out.u32(VERSION);
        out.u64(end);
        out.u64(before.log_offset);
        out.i64(before.store_ms);
        out.u32(before.size);
        out.u32(before.body_crc);
        out.u64(half_offset);
        out.u64(log_offset);
        out.u64(index.ignored);
        out.u64(index.contradictions);
        out.count(names.len());
        for (_, text) in &names {
            out.text(text);
        }
        saving
    }

    /// Writes the next transactions, at most so many. False when there are no more.
    pub fn slice(&mut self, index: &Index, count_max: usize, out: &mut Vec<u8>) -> bool {
        let all = self.decided.len() + self.pending.len();
        for _ in 0..count_max {
            if self.done == 0 {
                Writer { bytes: out }.count(self.decided.len());
            }
            if self.done == self.decided.len() {
                Writer { bytes: out }.count(self.pending.len());
            }
            if self.done == all {
                return false;
            }
            let slot = match self.decided.get(self.done) {
                Some(slot) => *slot,
                None => self.slot_of(index, self.pending[self.done - self.decided.len()]),
            };
            self.done += 1;
            self.write(index, slot, out);
        }
        true
    }

    /// Keeps a transaction as it is, if its turn is still to come.
    pub fn keep(&mut self, index: &Index, slot: Slot) {
        if self.is_kept.get(slot as usize) != Some(&false) {
            return;
        }
        let entry = index.entries.get(slot);
        if entry.decision.is_none() {
            self.kept_roots.insert(entry.first_half(), slot);
        }
        let mut bytes = Vec::new();
        self.write(index, slot, &mut bytes);
        self.kept.insert(slot, bytes);
    }

    fn write(&mut self, index: &Index, slot: Slot, out: &mut Vec<u8>) {
        match self.kept.remove(&slot) {
            Some(bytes) => out.extend_from_slice(&bytes),
            None => Writer { bytes: out }.transaction(index, slot, &self.numbers),
        }
        self.is_kept[slot as usize] = true;
    }

    fn slot_of(&self, index: &Index, first_half: u64) -> Slot {
        let kept = self.kept_roots.get(&first_half).copied();
        kept.unwrap_or_else(|| {
            index.copies.get(first_half).expect("what has not changed has its copies").slot
        })
    }
}

struct Writer<'a> {
    bytes: &'a mut Vec<u8>,
}

impl Writer<'_> {
    fn u32(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    fn i64(&mut self, value: i64) {
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }

    fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).expect("slots and names have 32 bits"));
    }

    /// Names and ids are properties of a record, which are short.
    fn text(&mut self, text: &str) {
        let size = u16::try_from(text.len()).expect("a property has at most 32,767 bytes");
        self.bytes.extend_from_slice(&size.to_be_bytes());
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn transaction(&mut self, index: &Index, slot: Slot, numbers: &HashMap<NameId, u32, RandomState>) {
        let entry = index.entries.get(slot);
        let number = |name: NameId| numbers.get(&name).copied().unwrap_or(NO_NAME);
        self.bytes.push(code_of(entry.state()));
        self.u32(number(entry.group));
        self.u32(number(entry.topic));
        self.u32(entry.queue_id.cast_unsigned());
        self.u32(entry.body_crc);
        self.u32(entry.checks());
        self.u64(index.root_of(slot));
        self.i64(entry.root_store_ms());
        self.i64(entry.newest_store_ms);
        self.text(&entry.unique_id.text());
        self.count(entry.halves().count());
        for copy in entry.halves().filter_map(|half| index.copies.get(half)) {
            self.u64(copy.half_offset);
            self.u64(copy.log_offset);
            self.bytes.push(u8::from(copy.is_live));
        }
        if let Some(decision) = &entry.decision {
            self.i64(decision.ms.unwrap_or(NO_TIME));
            self.u32(decision.who.map_or(NO_NAME, number));
            self.u64(decision.end);
            self.u64(decision.final_log_offset.unwrap_or(NONE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction_index::event::{Event, HalfRecord, Identity, Op, Place, Root};
    use crate::transaction_index::op_marks::OpMarks;
    use crate::transaction_index::snapshot;
    use proptest::prelude::*;

    const BEFORE: RecordBefore = RecordBefore { log_offset: 7, store_ms: 7, size: 7, body_crc: 7 };

    #[derive(Debug, Clone)]
    enum Step {
        Prepare,
        PutBack(u64),
        Op(u64, Option<&'static str>),
        Forget(u64),
        Slice(usize),
    }

    fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
        let kind = prop_oneof![Just(None), Just(Some("C")), Just(Some("R"))];
        let step = prop_oneof![
            3 => Just(Step::Prepare),
            2 => (0_u64..40).prop_map(Step::PutBack),
            3 => (0_u64..40, kind).prop_map(|(half, kind)| Step::Op(half, kind)),
            1 => (0_u64..60).prop_map(Step::Forget),
            1 => (0_usize..5).prop_map(Step::Slice),
        ];
        proptest::collection::vec(step, 0..count)
    }

    /// An index in which the next half message has the next number, and stands at ten times that.
    fn apply(index: &mut Index, step: &Step) {
        let next = index.last_half.map_or(0, |(half, _)| half + 1);
        let place = Place {
            log_offset: 10 * next,
            end: 10 * next + 10,
            store_ms: i64::try_from(next).expect("small"),
        };
        let half = |name: u64, root| (format!("{name:032X}"), root);
        let (unique_id, root) = match step {
            Step::Prepare => half(next, None),
            Step::PutBack(of) if *of < next => half(*of, Some(Root { log_offset: 10 * of, store_ms: 1 })),
            Step::Op(of, kind) => {
                let (body, property) = (of.to_string(), kind.map(|kind| format!("{kind}{of}@{of}")));
                index.apply(&Event::Op(Op {
                    place,
                    marks: OpMarks::new(body.as_bytes(), property.as_deref()),
                }));
                return;
            }
            Step::Forget(before) => {
                index.forget_decided_before(i64::try_from(*before).expect("small"));
                return;
            }
            Step::PutBack(_) | Step::Slice(_) => return,
        };
        let group = if next.is_multiple_of(3) { "shop" } else { "bank" };
        index.apply(&Event::Half(HalfRecord {
            place,
            half_offset: next,
            identity: Identity { group, unique_id: &unique_id },
            topic: if next.is_multiple_of(5) { "orders" } else { "payments" },
            queue_id: 3,
            body_crc: 7,
            checks: u32::from(root.is_some()),
            root,
            is_copy: root.is_some(),
        }));
    }

    fn begin(index: &Index) -> (Box<Saving>, Vec<u8>) {
        let mut out = Vec::new();
        let saving = Saving::begin(index, 5, BEFORE, &mut out);
        (Box::new(saving), out)
    }

    proptest! {
        #[test]
        fn what_changes_meanwhile_is_written_as_it_was(before in steps(80), during in steps(80)) {
            let mut index = Index::default();
            for step in &before {
                apply(&mut index, step);
            }
            let (mut at_once, mut wanted) = begin(&index);
            prop_assert!(!at_once.slice(&index, usize::MAX, &mut wanted));

            let (saving, mut written) = begin(&index);
            index.saving = Some(saving);
            let mut has_more = true;
            for step in during.iter().chain([&Step::Slice(usize::MAX)]) {
                apply(&mut index, step);
                if let (Step::Slice(count), true) = (step, has_more) {
                    let mut saving = index.saving.take().expect("it is being written");
                    has_more = saving.slice(&index, *count, &mut written);
                    index.saving = Some(saving);
                }
            }
            prop_assert!(!has_more);
            prop_assert_eq!(&written, &wanted);
            written.extend_from_slice(&crc32fast::hash(&written).to_be_bytes());
            prop_assert!(snapshot::decode(&written).is_some());
        }
    }
}
