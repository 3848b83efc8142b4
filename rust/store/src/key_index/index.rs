//! All index files of a store as one index. Owned by one thread at a time; the store keeps it behind a lock.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::TimeZone;
use escrowmq_wire::{RecordView, key_hash};

use super::file::{IndexFile, Wanted};
use super::geometry::Geometry;
use super::header::IndexHeader;
use super::record_keys::visit_keys;
use crate::clock::Clock;
use crate::disk::{Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::mapped::list_or_empty;
use crate::offset::LogOffset;

const KIND: &str = "key index";

/// `yyyyMMddHHmmssSSS`.
const NAME_LENGTH: usize = 17;

/// Entries that are gathered before they are written out, whether or not anyone asks: about 1.5 MB.
const PENDING_MAX: usize = 65_536;

/// Log offsets by key.
#[derive(Debug)]
pub struct KeyIndex {
    pub(super) disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    pub(super) folder: PathBuf,
    temporary_folder: PathBuf,
    pub(super) geometry: Geometry,
    pub(super) files: Vec<IndexFile>,
    pub(super) wrong_geometry: Option<WrongGeometry>,
    /// A record some of whose keys could not be added, and how many could.
    unfinished: Option<(LogOffset, usize)>,
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

    /// The store time of the newest entry.
    #[must_use]
    pub fn last_store_timestamp_ms(&self) -> Option<i64> {
        self.last_entry_header().map(|header| header.end_ms)
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

    /// Removes the files whose records are all before `log_start`. The last file stays.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire(&mut self, log_start: LogOffset) -> Result<()> {
        let mut has_removed = false;
        // Oldest first: a crash in between leaves the newer ones.
        while self.files.len() > 1 && self.files[0].header.end_offset < log_start {
            let path = &self.files[0].path;
            self.disk.remove(path).map_err(StoreError::io("remove", path))?;
            self.files.remove(0);
            has_removed = true;
        }
        if has_removed { self.sync_folder() } else { Ok(()) }
    }

    /// Removes all files, durably, so that the index can be rebuilt.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_all(&mut self) -> Result<()> {
        self.files.clear();
        self.unfinished = None;
        let names = self.list()?;
        // Newest first: a crash in between leaves an index that is short, not one with a hole.
        for (name, _) in names.iter().rev() {
            let path = self.folder.join(name);
            self.disk.remove(&path).map_err(StoreError::io("remove", &path))?;
        }
        self.wrong_geometry = None;
        if names.is_empty() { Ok(()) } else { self.sync_folder() }
    }

    pub(super) fn sync_folder(&self) -> Result<()> {
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("sync", &self.folder))
    }

    /// Names and sizes of the files, oldest first.
    fn list(&self) -> Result<Vec<(String, u64)>> {
        let mut names = Vec::new();
        for entry in list_or_empty(self.disk.as_ref(), &self.folder)? {
            let is_name =
                entry.name.len() == NAME_LENGTH && entry.name.bytes().all(|byte| byte.is_ascii_digit());
            if entry.is_folder || !is_name {
                let reason = if entry.is_folder { "it is a folder" } else { "its name is not 17 digits" };
                return Err(StoreError::ForeignFile {
                    path: self.folder.join(entry.name),
                    kind: KIND,
                    reason,
                });
            }
            names.push((entry.name, entry.size_bytes));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The last header with an entry. A file that was just made has none, and carries the end of the one before.
    fn last_entry_header(&self) -> Option<&IndexHeader> {
        self.files.iter().rev().map(|file| &file.header).find(|header| !header.is_empty())
    }

    /// The last file, or the next one if that is full.
    fn file_to_fill(&mut self) -> Result<&mut IndexFile> {
        if self.files.last().is_none_or(IndexFile::is_full) {
            if self.wrong_geometry.is_some() {
                self.remove_all()?;
            }
            let path = self.folder.join(self.next_name());
            let previous = self.files.last().map(|file| &file.header);
            let (disk, temporary) = (self.disk.as_ref(), &self.temporary_folder);
            self.files.push(IndexFile::create(disk, &path, temporary, self.geometry, previous)?);
        }
        let last = self.files.len() - 1;
        Ok(&mut self.files[last])
    }

    /// The present local time, or the next name after the last one where that is not later: files are ordered by name.
    fn next_name(&self) -> String {
        let now = chrono::Local.timestamp_millis_opt(self.clock.now_ms()).earliest().unwrap_or_default();
        let name = now.format("%Y%m%d%H%M%S%3f").to_string();
        let last = self.files.last().and_then(|file| file.path.file_name()?.to_str());
        match last {
            Some(last) if *last >= *name => {
                let next = last.parse::<u64>().map_or(0, |last| last + 1);
                format!("{next:0NAME_LENGTH$}")
            }
            _ => name,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::simulation::{Fault, FaultAt, SimulatedDisk, VirtualClock};
    use proptest::prelude::*;

    pub(in super::super) const SLOTS: u32 = 150;
    pub(in super::super) const ENTRIES: u32 = 101;
    pub(in super::super) const BEGIN_MS: i64 = 1_700_000_000_000;

    pub(in super::super) fn disk() -> SimulatedDisk {
        let disk = SimulatedDisk::default();
        disk.create_folder(Path::new("/store/temporary")).expect("folder");
        disk
    }

    pub(in super::super) fn load(disk: &SimulatedDisk) -> KeyIndex {
        let clock = Arc::new(VirtualClock::new(BEGIN_MS));
        let (folder, temporary) = (Path::new("/store/index"), Path::new("/store/temporary"));
        KeyIndex::load(Arc::new(disk.clone()), clock, folder, temporary, SLOTS, ENTRIES).expect("load")
    }

    /// One key of a record.
    #[derive(Debug, Clone)]
    pub(in super::super) struct Put {
        pub key: String,
        pub log_offset: LogOffset,
        pub ms: i64,
    }

    /// Keys of records one behind the other; some records have several, a few keys are the same.
    pub(in super::super) fn puts(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Put>> {
        proptest::collection::vec((0_u32..400, 0_u64..3, 0_i64..4_000), count).prop_map(|steps| {
            let mut last = (0, BEGIN_MS);
            let put = |(key, step, ms): (u32, u64, i64)| {
                if step > 0 {
                    last = (last.0 + step * 150, last.1 + ms);
                }
                Put { key: format!("key-{key}"), log_offset: LogOffset(last.0), ms: last.1 }
            };
            steps.into_iter().map(put).collect()
        })
    }

    pub(in super::super) fn put_all(index: &mut KeyIndex, puts: &[Put]) {
        for put in puts {
            index.put("orders", &put.key, put.log_offset, put.ms).expect("put");
        }
    }

    pub(in super::super) fn contents(disk: &SimulatedDisk) -> Vec<Vec<u8>> {
        disk.files_under("/store/index").into_values().collect()
    }

    /// The files as Apache makes them, one entry at a time in memory.
    fn as_apache(puts: &[Put]) -> Vec<Vec<u8>> {
        let (slots, entries) = (SLOTS as usize, ENTRIES as usize);
        let mut files: Vec<Vec<u8>> = Vec::new();
        let mut header = (0_i64, 0_i64, 0_u64, 0_u64, 0_u32, entries);
        for put in puts {
            if header.5 == entries {
                header = (header.1, header.1, header.3, header.3, 0, 1);
                files.push(vec![0; 40 + slots * 4 + entries * 20]);
            }
            let file = files.last_mut().expect("file");
            let hash = key_hash("orders", &put.key);
            let slot_at = 40 + (hash as usize % slots) * 4;
            let entry_at = 40 + slots * 4 + header.5 * 20;
            let previous: [u8; 4] = file[slot_at..slot_at + 4].try_into().expect("4 bytes");
            let seconds =
                if header.0 <= 0 { 0 } else { i32::try_from((put.ms - header.0) / 1_000).expect("small") };
            file[entry_at..entry_at + 4].copy_from_slice(&hash.to_be_bytes());
            file[entry_at + 4..entry_at + 12].copy_from_slice(&put.log_offset.0.to_be_bytes());
            file[entry_at + 12..entry_at + 16].copy_from_slice(&seconds.to_be_bytes());
            file[entry_at + 16..entry_at + 20].copy_from_slice(&previous);
            let number = u32::try_from(header.5).expect("small");
            file[slot_at..slot_at + 4].copy_from_slice(&number.to_be_bytes());
            if header.5 <= 1 {
                (header.0, header.2) = (put.ms, put.log_offset.0);
            }
            header.4 += u32::from(previous == [0; 4]);
            (header.1, header.3, header.5) = (put.ms, put.log_offset.0, header.5 + 1);
            file[..8].copy_from_slice(&header.0.to_be_bytes());
            file[8..16].copy_from_slice(&header.1.to_be_bytes());
            file[16..24].copy_from_slice(&header.2.to_be_bytes());
            file[24..32].copy_from_slice(&header.3.to_be_bytes());
            file[32..36].copy_from_slice(&header.4.to_be_bytes());
            file[36..40].copy_from_slice(&(number + 1).to_be_bytes());
        }
        files
    }

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
            let mut bytes = vec![0; Geometry { slots: SLOTS, entries: ENTRIES }.file_size() as usize];
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

    #[test]
    fn names_ascend_even_if_the_clock_stands_still_or_goes_back() {
        let disk = disk();
        let mut index = load(&disk);
        for number in 0..350 {
            index.put("t", "k", LogOffset(number), BEGIN_MS).expect("put");
        }
        index.sync().expect("sync");
        let paths = index.paths();
        assert_eq!(paths.len(), 4);
        assert!(paths.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(load(&disk).paths(), paths);
        index.expire(LogOffset(199)).expect("expire");
        assert_eq!(index.paths(), paths[1..]);
        index.expire(LogOffset(10_000)).expect("expire");
        assert_eq!(index.paths(), paths[3..], "the last file stays");
        index.remove_all().expect("remove");
        assert!(contents(&disk).is_empty() && index.last_log_offset().is_none());
    }

    #[test]
    fn files_of_another_geometry_are_told_and_go() {
        let disk = SimulatedDisk::with_files([("/store/index/20260101000000000", vec![1; 100])]);
        disk.create_folder(Path::new("/store/temporary")).expect("folder");
        let mut index = load(&disk);
        let wrong = index.wrong_geometry().expect("told");
        assert_eq!((wrong.expected, wrong.found), (40 + 600 + 2_020, 100));
        assert_eq!(index.last_log_offset(), None);
        assert!(index.cut(LogOffset(0), &|_| None).expect("cut"));
        assert!(contents(&disk).is_empty() && index.wrong_geometry().is_none());
    }

    #[test]
    fn what_is_no_index_file_is_refused_by_name() {
        let disk = SimulatedDisk::with_files([("/store/index/notes.txt", vec![1])]);
        let (folder, clock) = (Path::new("/store/index"), Arc::new(VirtualClock::new(0)));
        let error = KeyIndex::load(Arc::new(disk), clock, folder, folder, 1, 2).expect_err("refused");
        assert!(matches!(error, StoreError::ForeignFile { kind: "key index", .. }));
    }
}
