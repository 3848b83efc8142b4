//! Files end to end as one range of bytes, read by position. Another process makes them and removes them meanwhile.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::disk::{Disk, DiskFile, ReadOnlyDisk};
use crate::error::{Result, StoreError};
use crate::mapped::{file_name, list_or_empty, parse_name};
use crate::offset::LogOffset;

/// Open files are kept, so that a reader who is at one is not disturbed when it is removed; but not all of a long log.
const OPEN_MAX: usize = 8;

/// Files of a folder that are named by their first offset.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    kind: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Sizes by first offset, as the folder was listed last.
    sizes: BTreeMap<u64, u64>,
    open: BTreeMap<u64, Arc<dyn DiskFile>>,
}

impl State {
    /// The file that holds a position: where it begins, and its size.
    fn file_with(&self, at: u64) -> Option<(u64, u64)> {
        let (start, size) = self.sizes.range(..=at).next_back()?;
        (at < start + size).then_some((*start, *size))
    }
}

impl Files {
    pub fn new(folder: PathBuf, kind: &'static str) -> Self {
        Self { folder, kind, state: Mutex::default() }
    }

    /// Looks which files there are: the first offset, and the one behind the last.
    pub fn look(&self) -> Result<(u64, u64)> {
        let mut sizes = BTreeMap::new();
        for entry in list_or_empty(&ReadOnlyDisk, &self.folder)? {
            let start = parse_name(&entry.name).filter(|_| !entry.is_folder).ok_or_else(|| {
                let reason = "its name is not 20 digits";
                StoreError::ForeignFile { path: self.folder.join(&entry.name), kind: self.kind, reason }
            })?;
            sizes.insert(start, entry.size_bytes);
        }
        let start = sizes.first_key_value().map_or(0, |(start, _)| *start);
        let end = sizes.last_key_value().map_or(0, |(start, size)| start + size);
        self.state.lock().sizes = sizes;
        Ok((start, end))
    }

    /// Bytes that follow a position in its file; none where there is no such file.
    pub fn left_in_file(&self, at: u64) -> Result<u64> {
        Ok(self.file_with(at)?.map_or(0, |(start, size)| start + size - at))
    }

    /// The file that a position is in, for who has to say so.
    pub fn path_of(&self, at: u64) -> PathBuf {
        let start = self.state.lock().file_with(at).map_or(at, |(start, _)| start);
        self.folder.join(file_name(start))
    }

    /// Fills `bytes`, all of which are in one file.
    ///
    /// # Errors
    /// [`StoreError::NoRecord`] where that file is gone, or not there yet.
    pub fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let Some((start, _)) = self.file_with(at)? else { return Err(self.nothing_at(at)?) };
        let Some(file) = self.open(start)? else { return Err(self.nothing_at(at)?) };
        file.read_at(at - start, bytes).map_err(StoreError::io("read", &self.folder.join(file_name(start))))
    }

    fn file_with(&self, at: u64) -> Result<Option<(u64, u64)>> {
        let found = self.state.lock().file_with(at);
        if found.is_some() {
            return Ok(found);
        }
        self.look()?;
        Ok(self.state.lock().file_with(at))
    }

    fn open(&self, start: u64) -> Result<Option<Arc<dyn DiskFile>>> {
        let mut state = self.state.lock();
        if let Some(file) = state.open.get(&start) {
            return Ok(Some(Arc::clone(file)));
        }
        let path = self.folder.join(file_name(start));
        let file: Arc<dyn DiskFile> = match ReadOnlyDisk.open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            result => result.map_err(StoreError::io("open", &path))?.into(),
        };
        if state.open.len() == OPEN_MAX {
            state.open.pop_first();
        }
        state.open.insert(start, Arc::clone(&file));
        Ok(Some(file))
    }

    fn nothing_at(&self, at: u64) -> Result<StoreError> {
        let (start, end) = self.look()?;
        Ok(StoreError::NoRecord { at: LogOffset(at), start: LogOffset(start), end: LogOffset(end) })
    }
}
