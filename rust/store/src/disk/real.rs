//! The file system as a [`Disk`]: plain files, `fallocate`, `msync` and `fsync`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use memmap2::{Advice, MmapOptions, MmapRaw, UncheckedAdvice};
use rustix::fs::{Advice as FileAdvice, FallocateFlags, SeekFrom, fadvise, fallocate, seek, statvfs};
use rustix::io::Errno;

use super::{Allocation, Disk, DiskFile, DiskUsage, FolderEntry, Mapping};

/// Zeros are written in pieces of this size, of which the kernel makes one piece of memory.
const ZEROS_SIZE: usize = 256 * 1024;
/// Blocks are got in pieces of this size where the file system can't `fallocate`.
const PIECE_SIZE: usize = 64 * 1024;

/// Files as the operating system keeps them.
#[derive(Debug, Default, Clone, Copy)]
pub struct RealDisk;

impl Disk for RealDisk {
    fn list(&self, folder: &Path) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            entries.push(FolderEntry {
                name: entry.file_name().to_string_lossy().into_owned(),
                is_folder: metadata.is_dir(),
                size_bytes: if metadata.is_dir() { 0 } else { metadata.len() },
            });
        }
        Ok(entries)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        if folder.is_dir() {
            return Ok(());
        }
        if let Some(parent) = folder.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            self.create_folder(parent)?;
            match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
                result => result?,
            }
            return self.sync_folder(parent);
        }
        fs::create_dir_all(folder)
    }

    fn create_folder_unsynced(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn create(&self, path: &Path, size_bytes: u64, allocation: Allocation) -> io::Result<Box<dyn DiskFile>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)?;
        let sized = match allocation {
            Allocation::Whole => allocate_range(&file, 0, size_bytes).and_then(|()| file.set_len(size_bytes)),
            Allocation::OnDemand => file.set_len(size_bytes),
        };
        if let Err(error) = sized {
            // The caller learns why there is no file; that the half-made one could not be removed adds nothing.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(Box::new(RealFile { file }))
    }

    fn open(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(RealFile { file: open_to_write(path)? }))
    }

    fn map(&self, path: &Path) -> io::Result<Box<dyn Mapping>> {
        let file = open_to_write(path)?;
        let memory = MmapOptions::new().map_raw(&file)?;
        Ok(Box::new(RealMapping { memory, file }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) }
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn usage(&self, path: &Path) -> io::Result<DiskUsage> {
        let space = statvfs(path)?;
        Ok(DiskUsage {
            used_bytes: (space.f_blocks - space.f_bfree) * space.f_frsize,
            available_bytes: space.f_bavail * space.f_frsize,
        })
    }
}

#[derive(Debug)]
pub(super) struct RealFile {
    pub(super) file: File,
}

impl DiskFile for RealFile {
    fn size_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn truncate(&self, size_bytes: u64) -> io::Result<()> {
        self.file.set_len(size_bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

#[derive(Debug)]
struct RealMapping {
    memory: MmapRaw,
    file: File,
}

impl Mapping for RealMapping {
    fn memory(&self) -> &MmapRaw {
        &self.memory
    }

    fn wrote(&self, _offset: usize, _bytes: &[u8]) {}

    fn sync(&self, range: Range<usize>) -> io::Result<()> {
        // msync and not fdatasync: it writes this range alone, and leaves the pages that were populated ahead in peace.
        self.memory.flush_range(range.start, range.len())
    }

    fn allocate(&self, range: Range<usize>) -> io::Result<()> {
        allocate_range(&self.file, range.start as u64, range.len() as u64)
    }

    fn use_singly(&self) {
        // Refused by no kernel that maps files.
        let _ = self.memory.advise(Advice::Random);
    }

    fn ask_for(&self, range: Range<usize>) {
        let size = NonZeroU64::new(range.len() as u64);
        let _ = fadvise(&self.file, range.start as u64, size, FileAdvice::WillNeed);
    }

    fn populate(&self, range: Range<usize>) {
        // Asked for before they are touched: a fault waits for the disk to read its own page.
        self.ask_for(range.clone());
        // Refused by kernels before 5.14. The pages then fault in one by one, which is slower and as right.
        let _ = self.memory.advise_range(Advice::PopulateWrite, range.start, range.len());
    }

    fn write_zeros(&self, range: Range<usize>) {
        static ZEROS: [u8; ZEROS_SIZE] = [0; ZEROS_SIZE];
        for start in range.clone().step_by(ZEROS_SIZE) {
            let size = ZEROS_SIZE.min(range.end - start);
            // Where the disk refuses, the range holds the zeros that it had.
            let _ = self.file.write_all_at(&ZEROS[..size], start as u64);
        }
    }

    #[allow(unsafe_code)]
    fn release(&self, range: Range<usize>) {
        // SAFETY: the mapping is shared and backed by a file, so pages that are dropped come back with their bytes.
        let _ = unsafe {
            self.memory.unchecked_advise_range(UncheckedAdvice::DontNeed, range.start, range.len())
        };
    }

    fn data_from(&self, offset: usize) -> io::Result<Option<Range<usize>>> {
        let end = self.memory.len();
        if offset >= end {
            return Ok(None);
        }
        let start = match seek(&self.file, SeekFrom::Data(offset as u64)) {
            Ok(start) => usize::try_from(start).unwrap_or(end).max(offset),
            Err(Errno::NXIO) => return Ok(None),
            // A file system that knows no holes: all of it may be data.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some(offset..end)),
            Err(error) => return Err(error.into()),
        };
        let hole = seek(&self.file, SeekFrom::Hole(start as u64))?;
        Ok(Some(start..usize::try_from(hole).unwrap_or(end).min(end)))
    }
}

fn open_to_write(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Gets blocks for a range. Bytes that are there stay.
fn allocate_range(file: &File, offset: u64, size_bytes: u64) -> io::Result<()> {
    loop {
        match fallocate(file, FallocateFlags::empty(), offset, size_bytes) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return write_over(file, offset, size_bytes),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Stands in for `fallocate`: a range gets its blocks by being written, with the bytes that it has.
fn write_over(file: &File, offset: u64, size_bytes: u64) -> io::Result<()> {
    let mut piece = vec![0; PIECE_SIZE];
    let (mut at, end) = (offset, offset + size_bytes);
    let length = file.metadata()?.len();
    while at < end {
        let size = usize::try_from(end - at).unwrap_or(usize::MAX).min(PIECE_SIZE);
        let bytes = &mut piece[..size];
        bytes.fill(0);
        let there = usize::try_from(length.saturating_sub(at)).unwrap_or(usize::MAX).min(size);
        file.read_exact_at(&mut bytes[..there], at)?;
        file.write_all_at(bytes, at)?;
        at += size as u64;
    }
    Ok(())
}
