//! All index files of a store as one index. Owned by one thread at a time; the store keeps it behind a lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrowmq_wire::{RecordView, key_hash};

use super::file::{IndexFile, Wanted};
use super::geometry::Geometry;
use super::header::IndexHeader;
use super::record_keys::visit_keys;
use crate::clock::Clock;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

/// Entries that are gathered before they are written out, whether or not anyone asks: about 1.5 MB.
const PENDING_MAX: usize = 65_536;

/// Log offsets by key.
#[derive(Debug)]
pub struct KeyIndex {
    pub(super) disk: Arc<dyn Disk>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) folder: PathBuf,
    pub(super) temporary_folder: PathBuf,
    pub(super) geometry: Geometry,
    pub(super) files: Vec<IndexFile>,
    pub(super) wrong_geometry: Option<WrongGeometry>,
    /// A record some of whose keys could not be added, and how many could.
    pub(super) unfinished: Option<(LogOffset, usize)>,
}

/// A file that was made with other numbers of slots and entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongGeometry {
    /// The file.
    pub path: PathBuf,
    /// The size of a file with the configured numbers.
    pub expected: u64,
    /// Its own.
    pub found: u64,
}

/// Index files that were written to, and must be synced. The index need not be locked for that.
#[derive(Debug)]
#[must_use = "entries are durable only after a sync"]
pub struct WrittenFiles {
    files: Vec<(PathBuf, Arc<dyn DiskFile>)>,
}

impl WrittenFiles {
    /// Makes durable what was written.
    ///
    /// # Errors
    /// [`StoreError::Io`]. What reached the disk is then unknown, and the caller must not try again.
    pub fn sync(self) -> Result<()> {
        self.files.iter().try_for_each(|(path, file)| file.sync().map_err(StoreError::io("sync", path)))
    }
}

impl KeyIndex {
    /// Opens the files of `folder`, which need not exist. Changes nothing. If a file was made with other numbers of slots
    /// and entries the index is empty, and says so by [`Self::wrong_geometry`]; [`Self::cut`] then removes all files.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`], [`StoreError::Io`].
    pub fn load(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        temporary_folder: &Path,
        slots: u32,
        entries: u32,
    ) -> Result<Self> {
        // One slot and one entry beside the unused one is the least that works.
        let geometry = Geometry { slots: slots.max(1), entries: entries.max(2) };
        let (folder, temporary_folder) = (folder.to_path_buf(), temporary_folder.to_path_buf());
        let (files, wrong_geometry, unfinished) = (Vec::new(), None, None);
        let mut index =
            Self { disk, clock, folder, temporary_folder, geometry, files, wrong_geometry, unfinished };
        for (name, found) in index.list()? {
            let (path, expected) = (index.folder.join(name), geometry.file_size());
            if found != expected {
                index.files.clear();
                index.wrong_geometry = Some(WrongGeometry { path, expected, found });
                break;
            }
            index.files.push(IndexFile::open(index.disk.as_ref(), &path, geometry)?);
        }
        Ok(index)
    }

    /// A file that makes all of them unusable, if there is one.
    #[must_use]
    pub fn wrong_geometry(&self) -> Option<&WrongGeometry> {
        self.wrong_geometry.as_ref()
    }

    /// The log offset of the newest entry.
    #[must_use]
    pub fn last_log_offset(&self) -> Option<LogOffset> {
        self.last_entry_header().map(|header| header.end_offset)
    }

    /// The log offset and the store time of the record with the newest entry.
    #[must_use]
    pub fn end(&self) -> Option<(LogOffset, i64)> {
        self.last_entry_header().map(|header| (header.end_offset, header.end_ms))
    }

    /// The names of its files, oldest first.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Adds the keys of a record; a record at or before the newest one is there already, and left out.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room. The same record may be tried again.
    pub fn index_record(&mut self, record: &RecordView<'_>) -> Result<()> {
        let at = LogOffset(record.log_offset());
        let done = match self.unfinished {
            Some((unfinished, done)) if unfinished == at => done,
            _ if self.last_log_offset().is_some_and(|last| at <= last) => return Ok(()),
            _ => 0,
        };
        // Compat: the first record makes the first file, and the one after a full file the next, keys or not.
        self.file_to_fill()?;
        let mut count = 0;
        let result = visit_keys(record, |key| {
            if count >= done {
                self.put(record.topic(), key, at, record.store_timestamp_ms())?;
            }
            count += 1;
            Ok(())
        });
        self.unfinished = result.is_err().then_some((at, count));
        result
    }

    /// Adds one key of a record.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room. The entry is then not added.
    pub fn put(
        &mut self,
        topic: &str,
        key: &str,
        log_offset: LogOffset,
        store_timestamp_ms: i64,
    ) -> Result<()> {
        let file = self.file_to_fill()?;
        if file.pending.len() >= PENDING_MAX {
            file.write_out()?;
        }
        file.put(key_hash(topic, key), log_offset, store_timestamp_ms);
        Ok(())
    }

    /// Log offsets of records whose `topic#key` has the same hash, stored between two times, newest first. Apache's
    /// index counts seconds, so a record at the edge of the range may be missed or found by up to one.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn find(
        &self,
        topic: &str,
        key: &str,
        count_max: usize,
        begin_ms: i64,
        end_ms: i64,
    ) -> Result<Vec<LogOffset>> {
        let wanted = Wanted { key_hash: key_hash(topic, key), count_max, begin_ms, end_ms };
        let mut found = Vec::new();
        for file in self.files.iter().rev() {
            if file.header.overlaps(begin_ms, end_ms) {
                file.find(&wanted, &mut found)?;
            }
            if file.header.begin_ms < begin_ms || found.len() >= count_max {
                break;
            }
        }
        Ok(found)
    }

    /// Whether a record has a key, as the index counts keys: for those found whose hash is the same by chance.
    #[must_use]
    pub fn has_key(record: &RecordView<'_>, topic: &str, key: &str) -> bool {
        record.topic() == topic
            && visit_keys(record, |found| if found == key { Err(()) } else { Ok(()) }).is_err()
    }

    /// Whether it has entries that were not written out and handed over to be synced.
    pub fn is_dirty(&self) -> bool {
        self.files.iter().any(IndexFile::is_dirty)
    }

    /// Hands all entries to the operating system, and returns what must be synced to make them durable.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room. Nothing is lost, and another call tries
    /// again.
    pub fn write_out(&mut self) -> Result<WrittenFiles> {
        self.files.iter_mut().try_for_each(IndexFile::write_out)?;
        let unsynced = self.files.iter_mut().filter(|file| file.has_unsynced);
        let files = unsynced.map(|file| {
            file.has_unsynced = false;
            (file.path.clone(), Arc::clone(&file.file))
        });
        Ok(WrittenFiles { files: files.collect() })
    }

    /// Makes all entries durable.
    ///
    /// # Errors
    /// As [`Self::write_out`] and [`WrittenFiles::sync`].
    pub fn sync(&mut self) -> Result<()> {
        self.write_out()?.sync()
    }

    /// The last header with an entry. A file that was just made has none, and carries the end of the one before.
    fn last_entry_header(&self) -> Option<&IndexHeader> {
        self.files.iter().rev().map(|file| &file.header).find(|header| !header.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{BEGIN_MS, ENTRIES, SLOTS, as_apache, contents, disk, load, put_all, puts};
    use super::*;
    use crate::simulation::{Fault, FaultAt, SimulatedDisk};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn files_are_byte_for_byte_apaches_whenever_they_are_written_out(
            puts in puts(0..350),
            pieces in proptest::collection::vec(1_usize..120, 1..9),
        ) {
            let disk = disk();
            let mut index = load(&disk);
            let mut rest = &puts[..];
            for piece in pieces.iter().cycle().take(puts.len()) {
                let (now, later) = rest.split_at(rest.len().min(*piece));
                put_all(&mut index, now);
                index.sync().expect("sync");
                rest = later;
            }
            put_all(&mut index, rest);
            index.sync().expect("sync");
            prop_assert!(!index.is_dirty());
            prop_assert_eq!(contents(&disk), as_apache(&puts));
        }

        #[test]
        fn every_entry_is_found_newest_first_pending_or_not(puts in puts(1..350), written in 0_usize..350) {
            let disk = disk();
            let mut index = load(&disk);
            let (before, after) = puts.split_at(written.min(puts.len()));
            put_all(&mut index, before);
            index.sync().expect("sync");
            put_all(&mut index, after);
            let reloaded = {
                let mut copy = load(&disk.copy());
                put_all(&mut copy, after);
                copy
            };
            for key in puts.iter().map(|put| &put.key) {
                let hash = key_hash("orders", key);
                let same = puts.iter().rev().filter(|put| key_hash("orders", &put.key) == hash);
                let expected: Vec<_> = same.map(|put| put.log_offset).collect();
                for index in [&index, &reloaded] {
                    let found = index.find("orders", key, usize::MAX, i64::MIN, i64::MAX).expect("find");
                    prop_assert_eq!(&found, &expected);
                    let one = index.find("orders", key, 1, 0, i64::MAX).expect("find");
                    prop_assert_eq!(&one[..], &expected[..1]);
                }
            }
        }

        /// Goal: damaged files cost time in proportion to their size, and never a panic or an endless chain.
        #[test]
        fn damaged_files_are_searched_without_harm(
            damage in proptest::collection::vec((0_usize..2_660, 0_u32..120), 1..200),
            key in 0_u32..400,
        ) {
            let mut bytes = vec![0; 40 + 4 * SLOTS as usize + 20 * ENTRIES as usize];
            for (at, value) in damage {
                let at = (at % (bytes.len() - 4)) / 4 * 4;
                bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
            }
            let disk = SimulatedDisk::with_files([("/store/index/20260101000000000", bytes)]);
            disk.create_folder(Path::new("/store/temporary")).expect("folder");
            let mut index = load(&disk);
            index.find("orders", &format!("key-{key}"), 64, i64::MIN, i64::MAX).expect("find");
            index.put("orders", "key", LogOffset(1 << 40), BEGIN_MS).expect("put");
            index.sync().expect("sync");
            index.cut(LogOffset(1 << 39), &|_| None).expect("cut");
            prop_assert!(!index.cut(LogOffset(1 << 39), &|_| None).expect("again"));
        }

        #[test]
        fn a_write_out_that_fails_is_tried_again_without_harm(
            puts in puts(60..100),
            first in 1_usize..40,
            fails_after in 0_u32..6,
            more in 0_usize..20,
        ) {
            let disk = disk();
            let mut index = load(&disk);
            put_all(&mut index, &puts[..first]);
            index.sync().expect("sync");
            put_all(&mut index, &puts[first..first + more]);
            disk.inject(Fault::no_space(FaultAt::Write).after(fails_after));
            let has_failed = index.write_out().is_err();
            disk.clear_faults();
            let expected: Vec<_> = {
                let known = &puts[..first + more];
                let key = &known[known.len() - 1].key;
                let hash = key_hash("orders", key);
                known.iter().rev().filter(|put| key_hash("orders", &put.key) == hash).map(|put| put.log_offset).collect()
            };
            let key = &puts[first + more - 1].key;
            prop_assert_eq!(index.find("orders", key, usize::MAX, i64::MIN, i64::MAX).expect("find"), expected);
            put_all(&mut index, &puts[first + more..]);
            index.sync().expect("sync");
            prop_assert_eq!(contents(&disk), as_apache(&puts), "failed: {}", has_failed);
        }
    }

    #[test]
    fn times_narrow_a_search_down_to_seconds() {
        let disk = disk();
        let mut index = load(&disk);
        for second in 0..10 {
            index.put("t", "k", LogOffset(second), BEGIN_MS + second.cast_signed() * 1_000).expect("put");
        }
        let find = |begin, end| {
            let found = index.find("t", "k", usize::MAX, BEGIN_MS + begin, BEGIN_MS + end).expect("find");
            found.into_iter().map(|offset| offset.0).collect::<Vec<_>>()
        };
        assert_eq!(find(3_000, 5_000), [5, 4, 3]);
        assert_eq!(find(-1, 1_999), [1, 0]);
        assert_eq!(find(8_500, 100_000), [9]);
        assert!(find(10_000, 20_000).is_empty());
    }
}
