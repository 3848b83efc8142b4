//! What a power loss leaves of the index, made whole. Entries of records below `log_end` were synced and are all there;
//! of everything later, any page may have reached the disk: entries, slots that name entries, the header.
//!
//! ```text
//!  | header: any version | slots: any versions | entries of records < log_end | later ones, with holes … |
//!    recomputed            made anew             kept                           zeroed
//! ```
//! The result is byte for byte the file that an index of the records below `log_end` would be.

use super::entry::{ENTRY_SIZE, IndexEntry};
use super::file::IndexFile;
use super::geometry::{SLOT_SIZE, slot_at};
use super::header::IndexHeader;
use super::index::KeyIndex;
use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

/// Entries are read in pieces of this size.
const PIECE_ENTRIES: usize = 16 * 1024;
/// Slots and zeros are compared and written in pieces of this size.
const PIECE_SIZE: usize = 256 * 1024;

impl KeyIndex {
    /// Ends the index before the first entry whose record is at or after `log_end`: later entries are zeroed, later
    /// files removed, slots and header of the last file made anew, durably. `store_time` reads a record's timestamp from
    /// the log. Whether anything had to change is returned.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn cut(&mut self, log_end: LogOffset, store_time: &dyn Fn(LogOffset) -> Option<i64>) -> Result<bool> {
        if self.wrong_geometry.is_some() {
            self.remove_all()?;
            return Ok(true);
        }
        self.sync()?;
        let mut kept = self.files.len();
        while kept > 0 && !self.begins_before(kept - 1, log_end)? {
            kept -= 1;
        }
        let mut has_changed = false;
        // Newest first: a crash in between leaves no hole.
        while self.files.len() > kept {
            let Some(file) = self.files.pop() else { break };
            self.disk.remove(&file.path).map_err(StoreError::io("remove", &file.path))?;
            self.sync_folder()?;
            has_changed = true;
        }
        if let Some(last) = self.files.last_mut() {
            has_changed |= last.cut(self.disk.as_ref(), log_end, store_time)?;
        }
        Ok(has_changed)
    }

    /// Whether a file's first entry is there and below `log_end`; then all files before it are whole.
    fn begins_before(&self, index: usize, log_end: LogOffset) -> Result<bool> {
        let first = self.files[index].read_entry(1)?;
        let before = match index.checked_sub(1) {
            Some(before) => self.files[before].read_entry(self.geometry.entries - 1)?.log_offset,
            None => LogOffset(0),
        };
        Ok(first != IndexEntry::default() && (before..log_end).contains(&first.log_offset))
    }
}

impl IndexFile {
    /// Ends the file, which has at least one entry to keep, before the first one at or after `log_end`.
    fn cut(
        &mut self,
        disk: &dyn Disk,
        log_end: LogOffset,
        store_time: &dyn Fn(LogOffset) -> Option<i64>,
    ) -> Result<bool> {
        let mut slots = vec![0_u8; self.geometry.slots as usize * SLOT_SIZE];
        let mut header = IndexHeader { slots_used: 0, count: 1, ..self.header };
        let (mut first, mut last) = (IndexEntry::default(), IndexEntry::default());
        self.each_entry(|entry| {
            if *entry == IndexEntry::default() || !(last.log_offset..log_end).contains(&entry.log_offset) {
                return false;
            }
            if header.count == 1 {
                first = *entry;
            }
            let at = self.geometry.slot_of(entry.key_hash) as usize * SLOT_SIZE;
            let slot = &mut slots[at..at + SLOT_SIZE];
            header.slots_used += u32::from(slot == [0; SLOT_SIZE]);
            slot.copy_from_slice(&header.count.to_be_bytes());
            header.count += 1;
            last = *entry;
            true
        })?;
        // The header may be of a moment when the file had fewer entries or more. Where the log has forgotten a record,
        // what the header says of another one is close enough: its entries will expire next.
        if header.begin_offset != first.log_offset {
            header.begin_offset = first.log_offset;
            header.begin_ms = store_time(first.log_offset).unwrap_or(header.begin_ms);
        }
        if header.end_offset != last.log_offset {
            header.end_offset = last.log_offset;
            header.end_ms = store_time(last.log_offset)
                .unwrap_or_else(|| header.begin_ms.saturating_add(i64::from(last.seconds) * 1_000));
        }
        let mut has_changed = self.zero_from(disk, self.geometry.entry_at(header.count))?;
        has_changed |= self.replace(slot_at(0), &slots)?;
        has_changed |= self.replace(0, &header.encode())?;
        if has_changed {
            self.file.sync().map_err(StoreError::io("sync", &self.path))?;
        }
        // Read again, so that what is in memory is what is on disk.
        *self = Self::open(disk, &self.path, self.geometry)?;
        Ok(has_changed)
    }

    /// Calls `visit` with each entry that the header counts, until it says no.
    pub(super) fn each_entry(&self, mut visit: impl FnMut(&IndexEntry) -> bool) -> Result<()> {
        let mut bytes = vec![0; PIECE_ENTRIES * ENTRY_SIZE];
        for start in (1..self.header.count).step_by(PIECE_ENTRIES) {
            let count = PIECE_ENTRIES.min((self.header.count - start) as usize);
            let piece = &mut bytes[..count * ENTRY_SIZE];
            self.read(self.geometry.entry_at(start), piece)?;
            if !piece.as_chunks().0.iter().map(IndexEntry::decode).all(|entry| visit(&entry)) {
                break;
            }
        }
        Ok(())
    }

    /// Writes what is not on disk like this already, so that holes of the file stay holes.
    fn replace(&self, start: u64, wanted: &[u8]) -> Result<bool> {
        let mut has_changed = false;
        let mut found = vec![0; PIECE_SIZE.min(wanted.len())];
        for (place, piece) in wanted.chunks(PIECE_SIZE).enumerate() {
            let (at, found) = (start + (place * PIECE_SIZE) as u64, &mut found[..piece.len()]);
            self.read(at, found)?;
            if found != piece {
                self.write(at, piece)?;
                has_changed = true;
            }
        }
        Ok(has_changed)
    }

    /// Zeroes everything from `start` on. The file is mapped only to ask where it has data: most of it are holes, and
    /// reading 400 MB of them would be the longest part of a recovery.
    fn zero_from(&self, disk: &dyn Disk, start: u64) -> Result<bool> {
        let zeros = vec![0; PIECE_SIZE];
        let holes = disk.map(&self.path).map_err(StoreError::io("open", &self.path))?;
        let mut at = usize::try_from(start).unwrap_or(usize::MAX);
        let mut has_changed = false;
        while let Some(data) = holes.data_from(at).map_err(StoreError::io("read", &self.path))? {
            for piece in (data.start.max(at)..data.end).step_by(PIECE_SIZE) {
                has_changed |= self.replace(piece as u64, &zeros[..PIECE_SIZE.min(data.end - piece)])?;
            }
            at = data.end;
        }
        Ok(has_changed)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Put, contents, disk, load, put_all, puts};
    use super::*;
    use crate::simulation::{Random, Survival};
    use proptest::prelude::*;

    fn store_time(puts: &[Put]) -> impl Fn(LogOffset) -> Option<i64> + '_ {
        |at| puts.iter().find(|put| put.log_offset == at).map(|put| put.ms)
    }

    proptest! {
        /// Goal: whatever a power loss leaves, the index becomes the one of the durable records; a second power loss
        /// during the repair changes nothing about that; and it grows again into what it would have been.
        /// Method: sync at a record's border, write more, crash the simulated disk, cut, crash again, cut, fill.
        #[test]
        fn a_power_loss_leaves_the_index_of_the_durable_records(
            puts in puts(1..350),
            durable in 0_usize..350,
            pieces in proptest::collection::vec(1_usize..90, 1..6),
            seed: u64,
        ) {
            let mut random = Random::new(seed);
            let durable = durable.min(puts.len());
            let log_end = puts.get(durable).map_or(LogOffset(u64::MAX), |put| put.log_offset);
            let durable = puts.partition_point(|put| put.log_offset < log_end);
            let before = disk();
            let mut index = load(&before);
            put_all(&mut index, &puts[..durable]);
            index.sync().expect("sync");
            let expected = contents(&before);
            let mut rest = &puts[durable..];
            for piece in pieces.iter().cycle().take(puts.len()) {
                let (now, later) = rest.split_at(rest.len().min(*piece));
                put_all(&mut index, now);
                let _unsynced = index.write_out().expect("write out");
                rest = later;
            }
            let all = contents(&before);

            let after = before.crash(before.position(), Survival::Any(&mut random));
            after.create_folder(std::path::Path::new("/store/temporary")).expect("folder");
            let from = after.position();
            load(&after).cut(log_end, &store_time(&puts)).expect("cut");
            prop_assert_eq!(contents(&after), expected.clone());

            let during = from + random.below(after.position() - from + 1);
            let again = after.crash(during, Survival::Any(&mut random));
            let mut index = load(&again);
            index.cut(log_end, &store_time(&puts)).expect("cut");
            prop_assert_eq!(contents(&again), expected);
            prop_assert!(!index.cut(log_end, &store_time(&puts)).expect("third"));
            put_all(&mut index, &puts[durable..]);
            index.sync().expect("sync");
            prop_assert_eq!(contents(&again), all);
        }
    }
}
