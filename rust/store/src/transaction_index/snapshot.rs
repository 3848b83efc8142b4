//! What the index knew at a place of the log, as bytes: a start goes on from there instead of reading all of the log. They
//! are read here; `saving` writes them.
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

use escrowmq_wire::{Cursor, RecordView};

use super::TransactionState;
use super::entry::{Decision, Entry, HalfCopy, History, Slot};
use super::index::Index;
use super::names::NameId;
use super::unique_id::UniqueId;

pub(super) const MARK: &[u8; 8] = b"ESCROWTX";
pub(super) const VERSION: u32 = 1;
const CHECKSUM_SIZE: usize = size_of::<u32>();
/// A pending transaction with an empty id and one copy.
const TRANSACTION_SIZE_MIN: usize = 68;
/// Stands for a number that is not there.
pub(super) const NONE: u64 = u64::MAX;
pub(super) const NO_NAME: u32 = u32::MAX;
/// Stands for the time of a decision that no record tells.
pub(super) const NO_TIME: i64 = i64::MIN;

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
    let texts = (0..input.u32()?).map(|_| text(&mut input)).collect::<Option<Vec<&str>>>()?;
    let names: Vec<NameId> = texts.into_iter().map(|text| index.names.take(text)).collect();
    let mut reader = Reader { input, names, copies: Vec::new() };
    let decided = reader.transactions(&mut index, true)?;
    let pending = reader.transactions(&mut index, false)?;
    (reader.input.remaining() == 0).then_some(())?;
    // Each was taken once to have a number; those that use it have taken it again.
    reader.names.iter().for_each(|name| index.names.release(*name));
    index.restore(reader.copies, &decided, &pending)?;
    Some((index, end, before))
}

struct Reader<'a> {
    input: Cursor<'a>,
    names: Vec<NameId>,
    copies: Vec<HalfCopy>,
}

impl Reader<'_> {
    fn transactions(&mut self, index: &mut Index, are_decided: bool) -> Option<Vec<Slot>> {
        let count = self.input.u32()?;
        // No more is reserved than the bytes can hold, whatever the count says.
        let reserved = (count as usize).min(self.input.remaining() / TRANSACTION_SIZE_MIN);
        index.entries.reserve(reserved);
        self.copies.reserve(reserved);
        let mut slots = Vec::with_capacity(reserved);
        for _ in 0..count {
            slots.push(self.transaction(index, are_decided)?);
        }
        Some(slots)
    }

    fn transaction(&mut self, index: &mut Index, is_decided: bool) -> Option<Slot> {
        let state = state_of(self.input.array::<1>()?[0])?;
        (is_decided == (state != TransactionState::Pending)).then_some(())?;
        let [group, topic] = [self.name(index)?, self.name(index)?];
        let (queue_id, body_crc, checks) = (self.input.i32()?, self.input.u32()?, self.input.u32()?);
        let (root_log_offset, root_store_ms) = (self.input.u64()?, self.input.i64()?);
        let newest_store_ms = self.input.i64()?;
        let unique_id = UniqueId::new(text(&mut self.input)?);
        let from = self.copies.len();
        for _ in 0..self.input.u32()? {
            let copy = self.copy()?;
            self.copies.push(copy);
        }
        let (newest, older) = self.copies[from..].split_last()?;
        let (newest_half, first) = (newest.half_offset, older.first().unwrap_or(newest));
        let has_history = !older.is_empty() || root_log_offset != newest.log_offset || checks > 0;
        let history = has_history.then(|| {
            let older = older.iter().map(|copy| copy.half_offset).collect();
            Box::new(History { root_log_offset, root_store_ms, checks, is_asked: false, older })
        });
        let is_expired = root_log_offset != first.log_offset;
        let decision = if is_decided { Some(Box::new(self.decision(index, state)?)) } else { None };
        let slot = index.entries.insert(Entry {
            newest_half,
            newest_store_ms,
            history,
            decision,
            unique_id,
            group,
            topic,
            queue_id,
            body_crc,
        });
        if is_expired {
            index.expired_roots.insert(root_log_offset, slot);
        }
        let copies = &mut self.copies[from..];
        for copy in copies.iter_mut() {
            copy.slot = slot;
        }
        let is_missing_op = is_decided && state != TransactionState::Closed;
        if is_missing_op && copies.iter().any(|copy| copy.is_live) {
            index.unmarked.insert((root_log_offset, slot));
        }
        Some(slot)
    }

    fn decision(&mut self, index: &mut Index, state: TransactionState) -> Option<Decision> {
        let ms = Some(self.input.i64()?).filter(|ms| *ms != NO_TIME);
        let who = match self.input.u32()? {
            NO_NAME => None,
            number => Some(self.take(index, number)?),
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

    fn name(&mut self, index: &mut Index) -> Option<NameId> {
        let number = self.input.u32()?;
        self.take(index, number)
    }

    fn take(&self, index: &mut Index, number: u32) -> Option<NameId> {
        let name = *self.names.get(number as usize)?;
        index.names.take_again(name);
        Some(name)
    }
}

fn text<'a>(input: &mut Cursor<'a>) -> Option<&'a str> {
    let size = input.array().map(u16::from_be_bytes)?;
    std::str::from_utf8(input.slice(usize::from(size))?).ok()
}

pub(super) const fn code_of(state: TransactionState) -> u8 {
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
