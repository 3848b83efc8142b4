//! The file system as a [`Disk`] that nothing is written to: for looking at a store that may be someone else's, on a
//! file system that may not even allow it.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::{MmapOptions, MmapRaw};

use super::{Allocation, Disk, DiskFile, DiskUsage, FolderEntry, Mapping, RealDisk, RealFile};

/// Files as the operating system keeps them, to be read. Whatever would change one fails. Its mappings must not be written
/// through: who loads a store from it looks at what is there, and appends nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct ReadOnlyDisk;

fn refused<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::ReadOnlyFilesystem, "the store is only looked at"))
}

impl Disk for ReadOnlyDisk {
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        RealDisk.list(folder)
    }

    fn create_folder(&self, _folder: &Path) -> io::Result<()> {
        refused()
    }

    fn create_folder_unsynced(&self, _folder: &Path) -> io::Result<()> {
        refused()
    }

    fn create(
        &self,
        _path: &Path,
        _size_bytes: u64,
        _allocation: Allocation,
    ) -> io::Result<Box<dyn DiskFile>> {
        refused()
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        // The system refuses what is written to a descriptor that was opened to read.
        Ok(Box::new(RealFile { file: File::open(path)? }))
    }

    fn map(&self, path: &Path) -> io::Result<Box<dyn Mapping>> {
        let memory = MmapOptions::new().map_raw_read_only(&File::open(path)?)?;
        Ok(Box::new(ReadOnlyMapping { memory }))
    }

    fn rename(&self, _from: &Path, _to: &Path) -> io::Result<()> {
        refused()
    }

    fn remove(&self, _path: &Path) -> io::Result<()> {
        refused()
    }

    fn sync_folder(&self, _folder: &Path) -> io::Result<()> {
        refused()
    }

    fn usage(&self, path: &Path) -> io::Result<DiskUsage> {
        RealDisk.usage(path)
    }
}

#[derive(Debug)]
struct ReadOnlyMapping {
    memory: MmapRaw,
}

impl Mapping for ReadOnlyMapping {
    fn memory(&self) -> &MmapRaw {
        &self.memory
    }

    fn wrote(&self, _offset: usize, _bytes: &[u8]) {}

    fn sync(&self, _range: Range<usize>) -> io::Result<()> {
        refused()
    }

    fn allocate(&self, _range: Range<usize>) -> io::Result<()> {
        refused()
    }

    fn ask_for(&self, _range: Range<usize>) {}

    fn populate(&self, _range: Range<usize>) {}

    fn write_zeros(&self, _range: Range<usize>) {}

    fn release(&self, _range: Range<usize>) {}

    fn use_singly(&self) {}

    fn data_from(&self, offset: usize) -> io::Result<Option<Range<usize>>> {
        // Where holes are, only who frees blocks needs to know.
        let size = self.memory.len();
        Ok((offset < size).then_some(offset..size))
    }
}
