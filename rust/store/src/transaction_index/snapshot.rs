//! What the index knew at a place of the log, as bytes: a start goes on from there instead of reading all of the log.
//! Whatever does not agree with the log, or with itself, makes it worthless, never wrong.
//!
//! ```text
//! "ESCROWTX" 8 | version 4 | end 8 | record before the end: log offset 8, store time 8, size 4, body checksum 4
//! last half record: half offset 8, log offset 8 (−1, −1: none) | ignored 8 | contradictions 8
//! names: count 4, each size 2, text        decided: count 4, in the order of decisions        pending: count 4
//! CRC-32 of all before it 4
//!
//! transaction: state 1 | group 4 | topic 4 | queue 4 | body checksum 4 | checks 4 | root: log offset 8, store time 8
//!              newest store time 8 | unique id: size 2, text | copies: count 4, each half offset 8, log offset 8, live 1
//!              decided ones: time 8 | who 4 (−1: unknown) | end 8 | final log offset 8 (−1: none)
//! ```
//! A name is its number in the list. Pending ones stand in the order in which they were first seen.

use std::collections::HashMap;

use escrowmq_wire::{Cursor, RecordView};

use super::TransactionState;
use super::entry::{Decision, Entry, HalfCopy, History, Slot};
use super::index::Index;
use super::names::NameId;
use super::unique_id::UniqueId;

const MARK: &[u8; 8] = b"ESCROWTX";
const VERSION: u32 = 1;
const CHECKSUM_SIZE: usize = size_of::<u32>();
/// Stands for a number that is not there.
const NONE: u64 = u64::MAX;
const NO_NAME: u32 = u32::MAX;
/// Stands for the time of a decision that no record tells.
const NO_TIME: i64 = i64::MIN;

/// The record that a snapshot was taken behind. A log that has another one there is another log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordBefore {
    pub log_offset: u64,
    pub store_ms: i64,
    pub size: u32,
    pub body_crc: u32,
}

impl From<RecordView<'_>> for RecordBefore {
    fn from(record: RecordView<'_>) -> Self {
        Self {
            log_offset: record.log_offset(),
            store_ms: record.store_timestamp_ms(),
            size: record.size(),
            body_crc: record.body_crc(),
        }
    }
}

/// The bytes of an index that has seen the log up to `end`.
pub(super) fn encode(index: &Index, end: u64, before: RecordBefore) -> Vec<u8> {
    let mut out = Writer { bytes: Vec::new() };
    out.bytes.extend_from_slice(MARK);
    out.u32(VERSION);
    out.u64(end);
    out.u64(before.log_offset);
    out.i64(before.store_ms);
    out.u32(before.size);
    out.u32(before.body_crc);
    let (half_offset, log_offset) = index.last_half.unwrap_or((NONE, NONE));
    out.u64(half_offset);
    out.u64(log_offset);
    out.u64(index.ignored);
    out.u64(index.contradictions);

    let names: Vec<(NameId, &str)> = index.names.iter().collect();
    let numbers: HashMap<NameId, u32> = names.iter().map(|(id, _)| *id).zip(0..).collect();
    out.count(names.len());
    for (_, text) in &names {
        out.text(text);
    }

    out.count(index.decided.len());
    for slot in &index.decided {
        out.transaction(index, *slot, &numbers);
    }
    let pending: Vec<Slot> =
        index.roots.iter_from(0).filter_map(|half| Some(index.copies.get(*half)?.slot)).collect();
    out.count(pending.len());
    for slot in pending {
        out.transaction(index, slot, &numbers);
    }

    out.u32(crc32fast::hash(&out.bytes));
    out.bytes
}

/// The index in the bytes, how far it had seen the log, and the record before that. `None`: they are no snapshot, or not
/// whole.
pub(super) fn decode(bytes: &[u8]) -> Option<(Index, u64, RecordBefore)> {
    let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(CHECKSUM_SIZE)?)?;
    let mut input = Cursor::new(checksum);
    if input.u32()? != crc32fast::hash(content) {
        return None;
    }
    let mut input = Cursor::new(content);
    if input.array()? != *MARK || input.u32()? != VERSION {
        return None;
    }
    let end = input.u64()?;
    let before = RecordBefore {
        log_offset: input.u64()?,
        store_ms: input.i64()?,
        size: input.u32()?,
        body_crc: input.u32()?,
    };
    let last_half = (input.u64()?, input.u64()?);
    let mut index = Index {
        last_half: (last_half != (NONE, NONE)).then_some(last_half),
        ignored: input.u64()?,
        contradictions: input.u64()?,
        ..Index::default()
    };
    // Nothing is reserved by a count: it may be any number.
    let names = (0..input.u32()?).map(|_| text(&mut input)).collect::<Option<Vec<&str>>>()?;
    let mut reader = Reader { input, names, copies: Vec::new() };
    let decided = reader.transactions(&mut index, true)?;
    let pending = reader.transactions(&mut index, false)?;
    (reader.input.remaining() == 0).then_some(())?;
    index.restore(reader.copies, &decided, &pending)?;
    Some((index, end, before))
}

struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
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

    fn transaction(&mut self, index: &Index, slot: Slot, numbers: &HashMap<NameId, u32>) {
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

struct Reader<'a> {
    input: Cursor<'a>,
    names: Vec<&'a str>,
    copies: Vec<HalfCopy>,
}

impl Reader<'_> {
    fn transactions(&mut self, index: &mut Index, are_decided: bool) -> Option<Vec<Slot>> {
        (0..self.input.u32()?).map(|_| self.transaction(index, are_decided)).collect()
    }

    fn transaction(&mut self, index: &mut Index, is_decided: bool) -> Option<Slot> {
        let state = state_of(self.input.array::<1>()?[0])?;
        (is_decided == (state != TransactionState::Pending)).then_some(())?;
        let [group, topic] = [self.name()?, self.name()?];
        let (queue_id, body_crc, checks) = (self.input.i32()?, self.input.u32()?, self.input.u32()?);
        let (root_log_offset, root_store_ms) = (self.input.u64()?, self.input.i64()?);
        let newest_store_ms = self.input.i64()?;
        let unique_id = UniqueId::new(text(&mut self.input)?);
        let copies = (0..self.input.u32()?).map(|_| self.copy()).collect::<Option<Vec<_>>>()?;
        let (newest, older) = copies.split_last()?;
        let has_history = !older.is_empty() || root_log_offset != newest.log_offset || checks > 0;
        let history = has_history.then(|| {
            let older = older.iter().map(|copy| copy.half_offset).collect();
            Box::new(History { root_log_offset, root_store_ms, checks, is_asked: false, older })
        });
        let decision = if is_decided { Some(Box::new(self.decision(index, state)?)) } else { None };
        let slot = index.entries.insert(Entry {
            newest_half: newest.half_offset,
            newest_store_ms,
            history,
            decision,
            unique_id,
            group: index.names.take(group),
            topic: index.names.take(topic),
            queue_id,
            body_crc,
        });
        self.copies.extend(copies.into_iter().map(|copy| HalfCopy { slot, ..copy }));
        Some(slot)
    }

    fn decision(&mut self, index: &mut Index, state: TransactionState) -> Option<Decision> {
        let ms = Some(self.input.i64()?).filter(|ms| *ms != NO_TIME);
        let who = match self.input.u32()? {
            NO_NAME => None,
            number => Some(index.names.take(self.names.get(number as usize)?)),
        };
        let end = self.input.u64()?;
        let final_log_offset = Some(self.input.u64()?).filter(|offset| *offset != NONE);
        Some(Decision { state, ms, who, end, final_log_offset })
    }

    fn copy(&mut self) -> Option<HalfCopy> {
        let (half_offset, log_offset) = (self.input.u64()?, self.input.u64()?);
        let is_live = match self.input.array()? {
            [0] => false,
            [1] => true,
            _ => return None,
        };
        Some(HalfCopy { half_offset, log_offset, slot: 0, is_live })
    }
}

impl<'a> Reader<'a> {
    fn name(&mut self) -> Option<&'a str> {
        let number = self.input.u32()?;
        self.names.get(number as usize).copied()
    }
}

fn text<'a>(input: &mut Cursor<'a>) -> Option<&'a str> {
    let size = input.array().map(u16::from_be_bytes)?;
    std::str::from_utf8(input.slice(usize::from(size))?).ok()
}

const fn code_of(state: TransactionState) -> u8 {
    match state {
        TransactionState::Pending => 0,
        TransactionState::Committed => 1,
        TransactionState::RolledBack => 2,
        TransactionState::Discarded => 3,
        TransactionState::Closed => 4,
    }
}

const fn state_of(code: u8) -> Option<TransactionState> {
    Some(match code {
        0 => TransactionState::Pending,
        1 => TransactionState::Committed,
        2 => TransactionState::RolledBack,
        3 => TransactionState::Discarded,
        4 => TransactionState::Closed,
        _ => return None,
    })
}
