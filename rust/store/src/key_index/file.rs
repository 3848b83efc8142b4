//! One index file: what is on disk, and the entries that are not there yet. Pending entries come after all others, and
//! know their slot's previous entry only once they are written out; until then a search goes through them one by one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::entry::{ENTRY_SIZE, IndexEntry};
use super::geometry::{Geometry, SLOT_SIZE, slot_at};
use super::header::{HEADER_SIZE, IndexHeader};
use crate::disk::{Allocation, Disk, DiskFile};
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

/// One index file.
#[derive(Debug)]
pub(super) struct IndexFile {
    pub path: PathBuf,
    pub file: Arc<dyn DiskFile>,
    pub geometry: Geometry,
    pub header: IndexHeader,
    /// The last entries, not on disk.
    pub pending: Vec<IndexEntry>,
    /// How many of the pending entries know their previous one already: a write-out that failed got that far.
    pub resolved: usize,
    pub is_header_written: bool,
    /// Whether the file holds bytes that are not durable.
    pub has_unsynced: bool,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub key_hash: u32,
    pub count_max: usize,
    pub begin_ms: i64,
    pub end_ms: i64,
}

impl IndexFile {
    /// Makes a file behind `previous`, durably named. It has its header from the first moment: after a kill Apache learns
    /// from it what the file before already holds.
    pub fn create(
        disk: &dyn Disk,
        path: &Path,
        temporary_folder: &Path,
        geometry: Geometry,
        previous: Option<&IndexHeader>,
    ) -> Result<Self> {
        let folder = path.parent().unwrap_or(Path::new("."));
        let header = IndexHeader::after(previous);
        let file = (|| {
            disk.create_folder(folder)?;
            let temporary = temporary_folder.join("key-index");
            let made = disk.create(&temporary, geometry.file_size(), Allocation::OnDemand)?;
            made.write_at(0, &header.encode())?;
            made.sync()?;
            disk.rename(&temporary, path)?;
            disk.sync_folder(folder)?;
            disk.open(path)
        })()
        .map_err(StoreError::io("create", path))?;
        Ok(Self::new(path, file, geometry, header))
    }

    /// Opens a file whose size is right.
    pub fn open(disk: &dyn Disk, path: &Path, geometry: Geometry) -> Result<Self> {
        let file = disk.open(path).map_err(StoreError::io("open", path))?;
        let mut bytes = [0; HEADER_SIZE];
        file.read_at(0, &mut bytes).map_err(StoreError::io("read", path))?;
        let mut header = IndexHeader::decode(&bytes);
        header.count = header.count.min(geometry.entries);
        Ok(Self::new(path, file, geometry, header))
    }

    fn new(path: &Path, file: Box<dyn DiskFile>, geometry: Geometry, header: IndexHeader) -> Self {
        Self {
            path: path.to_path_buf(),
            file: Arc::from(file),
            geometry,
            header,
            pending: Vec::new(),
            resolved: 0,
            is_header_written: true,
            has_unsynced: false,
        }
    }

    pub fn is_full(&self) -> bool {
        self.header.count >= self.geometry.entries
    }

    /// Whether anything of it is not durable.
    pub fn is_dirty(&self) -> bool {
        self.has_unsynced || !self.is_header_written
    }

    /// Adds an entry to a file that is not full.
    pub fn put(&mut self, key_hash: u32, log_offset: LogOffset, store_timestamp_ms: i64) {
        debug_assert!(!self.is_full());
        let seconds = self.header.seconds(store_timestamp_ms);
        self.pending.push(IndexEntry { key_hash, log_offset, seconds, previous: 0 });
        self.header.add(log_offset, store_timestamp_ms);
        self.is_header_written = false;
    }

    /// Number of the first entry that is not on disk.
    #[allow(clippy::cast_possible_truncation)] // pending entries are counted in the header, which holds 32 bits
    pub fn first_pending(&self) -> u32 {
        self.header.count - self.pending.len() as u32
    }

    /// Adds the log offsets of entries with a hash, newest first, until there are enough.
    pub fn find(&self, wanted: &Wanted, found: &mut Vec<LogOffset>) -> Result<()> {
        let slot = self.geometry.slot_of(wanted.key_hash);
        for entry in self.pending.iter().rev() {
            if self.geometry.slot_of(entry.key_hash) == slot && !self.take(entry, wanted, found) {
                return Ok(());
            }
        }
        let mut number = self.read_slot(slot)?;
        // A chain that does not descend is damaged: following it could go round for ever. A slot may name a pending
        // entry if a write-out failed half way; all of the slot's entries but the pending ones are then behind it.
        let mut limit = self.header.count;
        while (1..limit).contains(&number) {
            let entry = self.read_entry(number)?;
            if number < self.first_pending() && !self.take(&entry, wanted, found) {
                return Ok(());
            }
            (limit, number) = (number, entry.previous);
        }
        Ok(())
    }

    /// Takes an entry if it is wanted; whether the search goes on to older ones.
    fn take(&self, entry: &IndexEntry, wanted: &Wanted, found: &mut Vec<LogOffset>) -> bool {
        if found.len() >= wanted.count_max || entry.seconds < 0 {
            return false;
        }
        let time_ms = self.header.begin_ms.saturating_add(i64::from(entry.seconds) * 1_000);
        if entry.key_hash == wanted.key_hash && (wanted.begin_ms..=wanted.end_ms).contains(&time_ms) {
            found.push(entry.log_offset);
        }
        time_ms >= wanted.begin_ms
    }

    pub fn read_slot(&self, slot: u32) -> Result<u32> {
        let mut bytes = [0; SLOT_SIZE];
        self.read(slot_at(slot), &mut bytes)?;
        Ok(u32::from_be_bytes(bytes))
    }

    pub fn read_entry(&self, number: u32) -> Result<IndexEntry> {
        let mut bytes = [0; ENTRY_SIZE];
        self.read(self.geometry.entry_at(number), &mut bytes)?;
        Ok(IndexEntry::decode(&bytes))
    }

    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        self.file.read_at(offset, bytes).map_err(StoreError::io("read", &self.path))
    }

    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(offset, bytes).map_err(StoreError::io("write", &self.path))
    }
}
