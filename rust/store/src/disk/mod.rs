//! Where the store's bytes live. Every effect on a data file passes through these three traits, so that a test can
//! record them and build the disk that a power loss would leave. [`RealDisk`] is the file system; the simulated disk
//! is in [`crate::simulation`].
//!
//! What a disk promises, and nothing more:
//! - bytes written to a file are durable after a `sync` that covers them, and may or may not be before;
//! - a created, renamed or removed name is durable after `sync_folder` of its folder, and may or may not be before;
//! - a new file reads as zeros.

mod read_only;
mod real;

use std::fmt::Debug;
use std::io;
use std::ops::Range;
use std::path::Path;

use memmap2::MmapRaw;

pub use read_only::ReadOnlyDisk;
pub use real::RealDisk;
use real::RealFile;

/// How a new file gets its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allocation {
    /// All at creation, so that a full disk is an error now and not a fault in a mapping later.
    Whole,
    /// None at creation: the file is sparse, and its writer allocates ahead of what it writes.
    OnDemand,
}

/// A name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FolderEntry {
    /// The last part of its path. Names that are not UTF-8 are no names of ours and are listed lossily.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its length in bytes; 0 for a folder.
    pub size_bytes: u64,
}

/// Space of the file system that holds a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DiskUsage {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Bytes that this process may still use.
    pub available_bytes: u64,
}

impl DiskUsage {
    /// Used share of what could be used, as `df` and Apache `RocketMQ` count it.
    #[must_use]
    pub fn used_ratio(&self) -> f64 {
        let all = self.used_bytes + self.available_bytes;
        #[allow(clippy::cast_precision_loss)] // a ratio for thresholds in whole percents
        if all == 0 { 1.0 } else { self.used_bytes as f64 / all as f64 }
    }
}

/// A file system, or a model of one.
pub trait Disk: Send + Sync + Debug {
    /// Names in a folder, in no order.
    ///
    /// # Errors
    /// `NotFound` where there is no such folder.
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>>;

    /// Creates a folder and its missing parents, durably. It may exist.
    ///
    /// # Errors
    /// What the file system says.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Creates a folder and its missing parents, whose names are as durable as those of files. It may exist.
    ///
    /// # Errors
    /// What the file system says.
    fn create_folder_unsynced(&self, folder: &Path) -> io::Result<()>;

    /// Creates a file of zeros, or replaces the one of that name.
    ///
    /// # Errors
    /// `StorageFull` where `allocation` is `Whole` and the blocks can't be had; the name is then gone again.
    fn create(&self, path: &Path, size_bytes: u64, allocation: Allocation) -> io::Result<Box<dyn DiskFile>>;

    /// Opens a file to read and write.
    ///
    /// # Errors
    /// `NotFound`, `PermissionDenied`.
    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Maps a whole file to read and write.
    ///
    /// # Errors
    /// As `open`; an empty file can't be mapped.
    fn map(&self, path: &Path) -> io::Result<Box<dyn Mapping>>;

    /// Gives a file another name, replacing a file that has it.
    ///
    /// # Errors
    /// What the file system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file, or an empty folder.
    ///
    /// # Errors
    /// What the file system says.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names of a folder durable.
    ///
    /// # Errors
    /// What the file system says.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Space of the file system that holds `path`.
    ///
    /// # Errors
    /// What the file system says.
    fn usage(&self, path: &Path) -> io::Result<DiskUsage>;
}

/// A file that is read and written by position.
pub trait DiskFile: Send + Sync + Debug {
    /// Its length.
    ///
    /// # Errors
    /// What the file system says.
    fn size_bytes(&self) -> io::Result<u64>;

    /// Fills `bytes` from `offset`.
    ///
    /// # Errors
    /// `UnexpectedEof` where the file ends before.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes` at `offset`, growing the file where it ends before.
    ///
    /// # Errors
    /// `StorageFull` and what else the file system says.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts or grows the file.
    ///
    /// # Errors
    /// What the file system says.
    fn truncate(&self, size_bytes: u64) -> io::Result<()>;

    /// Makes length and bytes durable.
    ///
    /// # Errors
    /// What the file system says. The caller must not try again: what reached the disk is unknown.
    fn sync(&self) -> io::Result<()>;
}

/// A mapped file. Its memory is written by [`crate::mapped::Segment`] only, which tells the mapping what it wrote.
pub trait Mapping: Send + Sync + Debug {
    /// The memory, for `Segment` alone.
    fn memory(&self) -> &MmapRaw;

    /// `bytes` now stand at `offset`. A real file needs no telling; a recording one writes it down.
    fn wrote(&self, offset: usize, bytes: &[u8]);

    /// Makes a range durable.
    ///
    /// # Errors
    /// What the file system says. The caller must not try again: what reached the disk is unknown.
    fn sync(&self, range: Range<usize>) -> io::Result<()>;

    /// Gets blocks for a range, so that writing it through the memory can't fault.
    ///
    /// # Errors
    /// `StorageFull`.
    fn allocate(&self, range: Range<usize>) -> io::Result<()>;

    /// Says that touching a page does not mean that its neighbours will be: they are not to be brought in with it. A hint.
    fn use_singly(&self);

    /// Has the system begin to read a range, without waiting for it. A hint.
    fn ask_for(&self, range: Range<usize>);

    /// Makes a range's pages resident and writable ahead of their use. A hint.
    fn populate(&self, range: Range<usize>);

    /// Writes zeros over a range that holds zeros, in as large pieces of memory as the system has. A hint.
    fn write_zeros(&self, range: Range<usize>);

    /// Lets a range's pages leave this process's memory; its bytes stay. A hint.
    fn release(&self, range: Range<usize>);

    /// The first range at or after `offset` that may hold bytes other than zero, `None` if there is none.
    ///
    /// # Errors
    /// What the file system says.
    fn data_from(&self, offset: usize) -> io::Result<Option<Range<usize>>>;
}
