//! The entries of an index one after the other, through all its files: in the order of the log, as they were added.

use escrowmq_wire::{RecordView, key_hash};

use super::entry::{ENTRY_SIZE, IndexEntry};
use super::geometry::{SLOT_SIZE, slot_at};
use super::index::KeyIndex;
use super::record_keys::visit_keys;
use crate::error::Result;
use crate::offset::LogOffset;

/// Entries are read in pieces of this many.
const PIECE_ENTRIES: u32 = 16 * 1024;

/// A place among the entries, and those that were read ahead of it.
#[derive(Debug, Default)]
pub(crate) struct IndexCursor {
    file: usize,
    /// Number of the entry at the place.
    number: u32,
    /// Entries from the place on, the last one first.
    read: Vec<IndexEntry>,
}

/// An entry, for whoever compares it with its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    /// Hash of topic and key.
    pub key_hash: u32,
    /// Its record.
    pub log_offset: LogOffset,
    /// Its file, by its place.
    pub file: usize,
    /// Its number in the file.
    pub number: u32,
}

/// What a file of the index says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexFileStatus {
    /// Its name.
    pub name: String,
    /// How many entries it has.
    pub entries: u32,
    /// Store time of its first record.
    pub begin_ms: i64,
    /// Store time of its last record.
    pub end_ms: i64,
    /// Its last record.
    pub end_offset: LogOffset,
}

impl IndexCursor {
    /// The entry at the place, which stays where it is; `None` behind the last one.
    pub fn peek(&mut self, index: &KeyIndex) -> Result<Option<FoundEntry>> {
        while self.read.is_empty() {
            let Some(file) = index.files.get(self.file) else { return Ok(None) };
            let first = self.number.max(1);
            let count = file.header.count.saturating_sub(first).min(PIECE_ENTRIES);
            if count == 0 {
                (self.file, self.number) = (self.file + 1, 1);
                continue;
            }
            let mut bytes = vec![0; count as usize * ENTRY_SIZE];
            file.read(index.geometry.entry_at(first), &mut bytes)?;
            self.read = bytes.as_chunks().0.iter().rev().map(IndexEntry::decode).collect();
            self.number = first;
        }
        let (file, number) = (self.file, self.number);
        let found = self.read.last().map(|entry| FoundEntry {
            key_hash: entry.key_hash,
            log_offset: entry.log_offset,
            file,
            number,
        });
        Ok(found)
    }

    /// Goes on by one.
    pub fn advance(&mut self) {
        if self.read.pop().is_some() {
            self.number += 1;
        }
    }
}

impl KeyIndex {
    /// The hashes under which a record stands in the index, in their order. Whether the last one is its tag's, which
    /// Apache before 5.5 leaves out.
    pub(crate) fn hashes(record: &RecordView<'_>, hashes: &mut Vec<u32>) -> bool {
        let mut has_tag = false;
        let added: std::result::Result<(), std::convert::Infallible> = visit_keys(record, |key| {
            has_tag = key.starts_with(super::record_keys::TAG_PREFIX);
            hashes.push(key_hash(record.topic(), key));
            Ok(())
        });
        added.is_ok() && has_tag
    }

    /// What its files say of themselves.
    pub(crate) fn status(&self) -> Vec<IndexFileStatus> {
        let name = |path: &std::path::Path| {
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let status = |file: &super::file::IndexFile| IndexFileStatus {
            name: name(&file.path),
            entries: file.header.count.saturating_sub(1),
            begin_ms: file.header.begin_ms,
            end_ms: file.header.end_ms,
            end_offset: file.header.end_offset,
        };
        self.files.iter().map(status).collect()
    }

    /// The first slot of a file that does not name the newest of its entries, if there is one.
    pub(crate) fn wrong_slot(&self, file: usize) -> Result<Option<u32>> {
        let Some(file) = self.files.get(file) else { return Ok(None) };
        let mut expected = vec![0_u32; self.geometry.slots as usize];
        let mut number = 0;
        let mut wrong = None;
        file.each_entry(|entry| {
            number += 1;
            let slot = self.geometry.slot_of(entry.key_hash);
            if entry.previous != expected[slot as usize] {
                wrong = Some(slot);
            }
            expected[slot as usize] = number;
            wrong.is_none()
        })?;
        if wrong.is_some() {
            return Ok(wrong);
        }
        let mut bytes = vec![0; expected.len() * SLOT_SIZE];
        file.read(slot_at(0), &mut bytes)?;
        let found = bytes.as_chunks::<SLOT_SIZE>().0.iter().map(|slot| u32::from_be_bytes(*slot));
        Ok(found
            .zip(&expected)
            .zip(0..)
            .find(|((found, expected), _)| found != *expected)
            .map(|(_, slot)| slot))
    }
}
