//! The effects on a simulated disk, as values.

use std::ops::Range;
use std::path::PathBuf;

/// A file whatever its names: what a file system calls an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u64);

/// One effect on a simulated disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A folder got its name.
    CreateFolder {
        /// The name.
        path: PathBuf,
    },
    /// A new, empty file got its name. Its size comes as a `Resize`.
    CreateFile {
        /// The name.
        path: PathBuf,
        /// The file.
        file: FileId,
    },
    /// A file changed its name; a file that had the name lost it.
    Rename {
        /// The old name.
        from: PathBuf,
        /// The new one.
        to: PathBuf,
    },
    /// A name went.
    Remove {
        /// The name.
        path: PathBuf,
    },
    /// The names of a folder became durable.
    SyncFolder {
        /// The folder.
        path: PathBuf,
    },
    /// Bytes changed, through a mapping or by a write, which may have grown the file.
    Write {
        /// The file.
        file: FileId,
        /// Where.
        offset: u64,
        /// What stands there now.
        bytes: Vec<u8>,
        /// Whether it was through a mapping. The kernel may write a page to the disk while a program is storing into
        /// its mapping, but not while it copies a write by position into the page.
        is_mapped: bool,
    },
    /// A file was cut, or grown with zeros.
    Resize {
        /// The file.
        file: FileId,
        /// Its new size.
        size_bytes: u64,
    },
    /// The pages that touch a range became durable, and the file's size with them.
    Sync {
        /// The file.
        file: FileId,
        /// The range; `None` for all of it.
        range: Option<Range<u64>>,
    },
    /// A sync failed. As in Linux, the pages count as clean afterwards: their bytes are read back, but never written
    /// to the disk unless somebody writes the pages again.
    SyncFailed {
        /// The file.
        file: FileId,
        /// The range; `None` for all of it.
        range: Option<Range<u64>>,
    },
}
