//! The files of an index: their names and order, making the next one, removing old ones.

use chrono::TimeZone;

use super::file::IndexFile;
use super::index::KeyIndex;
use crate::error::{Result, StoreError};
use crate::mapped::{list_or_empty, remove_file};
use crate::offset::LogOffset;

const KIND: &str = "key index";

/// `yyyyMMddHHmmssSSS`.
const NAME_LENGTH: usize = 17;

impl KeyIndex {
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
        // Newest first, and each for good before the next: a crash in between leaves an index that is short, not one
        // with a hole.
        for (name, _) in names.iter().rev() {
            remove_file(self.disk.as_ref(), &self.folder, &self.folder.join(name))?;
        }
        self.wrong_geometry = None;
        Ok(())
    }

    pub(super) fn sync_folder(&self) -> Result<()> {
        self.disk.sync_folder(&self.folder).map_err(StoreError::io("sync", &self.folder))
    }

    /// Names and sizes of the files, oldest first.
    pub(super) fn list(&self) -> Result<Vec<(String, u64)>> {
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

    /// The last file, or the next one if that is full.
    pub(super) fn file_to_fill(&mut self) -> Result<&mut IndexFile> {
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
mod tests {
    use super::super::fixture::{BEGIN_MS, contents, disk, load};
    use super::*;
    use crate::disk::Disk;
    use crate::simulation::{SimulatedDisk, VirtualClock};
    use std::path::Path;
    use std::sync::Arc;

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
