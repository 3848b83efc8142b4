//! One mapped file. Bytes are written behind the published mark, then published; published bytes are read without a
//! lock and never change while anyone reads, which is why [`Segment::cut`] and [`Segment::rewrite`] want `&mut`.

#![allow(unsafe_code)]

use std::io;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::PAGE_SIZE;
use crate::disk::{Allocation, Disk, Mapping};
use crate::error::{Result, StoreError};

/// Zeros are checked and written in pieces of this size.
const ZERO_PIECE: usize = 64 * 1024;
static ZEROS: [u8; ZERO_PIECE] = [0; ZERO_PIECE];

/// A file of fixed size in memory, with a place in a chain.
#[derive(Debug)]
pub struct Segment {
    mapping: Box<dyn Mapping>,
    path: PathBuf,
    start: u64,
    size: usize,
    published: AtomicUsize,
    allocated: AtomicUsize,
}

impl Segment {
    /// Creates a file of zeros and maps it. It is made in `temporary_folder` and renamed when it has its full size, so
    /// that its own folder never shows a file that is not whole, after a power loss only where it `is_synced`. The caller
    /// syncs that folder.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room.
    pub fn create(
        disk: &dyn Disk,
        temporary_folder: &Path,
        path: &Path,
        start: u64,
        size: usize,
        allocation: Allocation,
        is_synced: bool,
    ) -> Result<Self> {
        let temporary = temporary_folder.join(temporary_name(path));
        disk.create(&temporary, size as u64, allocation)
            .and_then(|file| if is_synced { file.sync() } else { Ok(()) })
            .map_err(StoreError::io("create", path))?;
        disk.rename(&temporary, path).map_err(StoreError::io("create", path))?;
        let segment = Self::open(disk, path, start)?;
        segment.published.store(0, Ordering::Release);
        segment.allocated.store(if allocation == Allocation::Whole { size } else { 0 }, Ordering::Release);
        Ok(segment)
    }

    /// Maps a file that is there. All of it counts as published until it is cut.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn open(disk: &dyn Disk, path: &Path, start: u64) -> Result<Self> {
        let mapping = disk.map(path).map_err(StoreError::io("open", path))?;
        let size = mapping.memory().len();
        Ok(Self {
            mapping,
            path: path.to_path_buf(),
            start,
            size,
            published: AtomicUsize::new(size),
            allocated: AtomicUsize::new(0),
        })
    }

    /// Its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The chain offset of its first byte.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The chain offset after its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.size as u64
    }

    /// Its size in bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many of its bytes may be read.
    pub fn published(&self) -> usize {
        self.published.load(Ordering::Acquire)
    }

    /// Writes behind the published mark. One thread at a time may do so: the chain's owner sees to that.
    ///
    /// # Panics
    /// If the range is published already or past the end.
    pub(crate) fn write_at(&self, offset: usize, bytes: &[u8]) {
        assert!(offset >= self.published(), "{}: {offset} is published", self.path.display());
        self.copy_in(offset, bytes);
    }

    /// Lets `write` fill a range behind the published mark where it lies. One thread at a time, as `write_at`. It is a
    /// record that is written: its first 8 bytes come last.
    ///
    /// # Panics
    /// If the range is published already or past the end.
    pub(crate) fn write_with(&self, range: Range<usize>, write: impl FnOnce(&mut [u8])) {
        assert!(
            range.start >= self.published() && range.start <= range.end && range.end <= self.size,
            "{}: {range:?} can't be written",
            self.path.display()
        );
        // SAFETY: the range is within the mapping and not published, so nobody can have borrowed it, and the chain's
        // owner lets one thread write at a time. Its blocks are allocated, so it does not fault.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(self.mapping.memory().as_mut_ptr().add(range.start), range.len())
        };
        write(bytes);
        let (first, rest) = bytes.split_at(bytes.len().min(8));
        self.mapping.wrote(range.start + first.len(), rest);
        self.mapping.wrote(range.start, first);
    }

    /// Lets readers see everything before `upto`.
    pub(crate) fn publish(&self, upto: usize) {
        debug_assert!(upto <= self.size && upto >= self.published());
        self.published.store(upto, Ordering::Release);
    }

    /// Published bytes.
    ///
    /// # Panics
    /// If the range is not published.
    pub fn slice(&self, range: Range<usize>) -> &[u8] {
        assert!(
            range.start <= range.end && range.end <= self.published(),
            "{}: {range:?} is not published",
            self.path.display()
        );
        // SAFETY: the range is within the mapping, since `published` never exceeds its size. `write_at` writes bytes
        // before `publish` releases their length, and published bytes change only through `&mut self`. The file is
        // never cut or replaced while it is mapped.
        unsafe { std::slice::from_raw_parts(self.mapping.memory().as_ptr().add(range.start), range.len()) }
    }

    /// Makes blocks sure for everything before `upto`, in steps of `step`, so that a write can't fault.
    ///
    /// # Errors
    /// [`StoreError::Io`] of kind `StorageFull`.
    pub(crate) fn ensure_allocated(&self, upto: usize, step: usize) -> Result<()> {
        let allocated = self.allocated.load(Ordering::Acquire);
        if upto <= allocated {
            return Ok(());
        }
        let target = upto.div_ceil(step).saturating_mul(step).min(self.size);
        self.mapping.allocate(allocated..target).map_err(StoreError::io("allocate", &self.path))?;
        self.allocated.store(target, Ordering::Release);
        Ok(())
    }

    /// Makes a range durable.
    ///
    /// # Errors
    /// What the system says. What reached the disk is then unknown, and the caller must not try again.
    pub(crate) fn sync(&self, range: Range<usize>) -> io::Result<()> {
        if range.is_empty() { Ok(()) } else { self.mapping.sync(page_floor(range.start)..range.end) }
    }

    /// Brings in no more than the pages that are touched.
    pub(crate) fn use_singly(&self) {
        self.mapping.use_singly();
    }

    /// Has the system begin to read a range, without waiting for it. A hint.
    pub(crate) fn ask_for(&self, range: Range<usize>) {
        self.mapping.ask_for(range);
    }

    /// Makes a range resident ahead of its use.
    pub(crate) fn populate(&self, range: Range<usize>) {
        let start = page_floor(range.start);
        let end = range.end.min(self.size);
        if start < end {
            self.mapping.populate(start..end);
        }
    }

    /// Writes zeros where zeros are, behind the published mark: what that does is to make the range resident. Nobody may
    /// write there meanwhile: the chain's owner sees to that. A hint.
    ///
    /// # Panics
    /// If the range is published already or past the end.
    pub(crate) fn write_zeros(&self, range: Range<usize>) {
        assert!(
            range.start >= self.published() && range.end <= self.size,
            "{}: {range:?} can't be zeroed",
            self.path.display()
        );
        self.mapping.write_zeros(range);
    }

    /// Lets a range leave memory.
    pub(crate) fn release(&self, range: Range<usize>) {
        let (start, end) = (range.start.next_multiple_of(PAGE_SIZE), page_floor(range.end));
        if start < end {
            self.mapping.release(start..end);
        }
    }

    /// Ends the segment at `upto`: what lies behind is zeroed, durably, and no longer published. Whether anything had
    /// to be zeroed is returned.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(crate) fn cut(&mut self, upto: usize) -> Result<bool> {
        let mut zeroed: Option<Range<usize>> = None;
        let mut at = upto;
        while let Some(data) = self.mapping.data_from(at).map_err(StoreError::io("read", &self.path))? {
            for start in (data.start..data.end).step_by(ZERO_PIECE) {
                let piece = start..data.end.min(start + ZERO_PIECE);
                if self.slice_unpublished(piece.clone()).iter().any(|byte| *byte != 0) {
                    self.copy_in(piece.start, &ZEROS[..piece.len()]);
                    let first = zeroed.map_or(piece.start, |range| range.start);
                    zeroed = Some(first..piece.end);
                }
            }
            at = data.end;
        }
        let was_dirty = zeroed.is_some();
        if let Some(range) = zeroed {
            self.sync(range).map_err(StoreError::io("sync", &self.path))?;
        }
        *self.published.get_mut() = upto;
        Ok(was_dirty)
    }

    /// Writes a range's own bytes over it, so that they are dirty again and the next sync really writes them: after a
    /// failed sync the kernel may count pages as clean that never reached the disk.
    pub(crate) fn rewrite(&mut self, range: Range<usize>) {
        for start in range.clone().step_by(ZERO_PIECE) {
            let piece = start..range.end.min(start + ZERO_PIECE);
            let bytes = self.slice_unpublished(piece).to_vec();
            self.copy_in(start, &bytes);
        }
    }

    /// Writes everything from `start` on that may be on disk over itself, durably. For zeros that an earlier
    /// [`Self::cut`] wrote and could not sync: they are read here, and something else may be on disk.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub(crate) fn rewrite_from(&mut self, start: usize) -> Result<()> {
        let mut at = start;
        while let Some(data) = self.mapping.data_from(at).map_err(StoreError::io("read", &self.path))? {
            self.rewrite(data.clone());
            self.sync(data.clone()).map_err(StoreError::io("sync", &self.path))?;
            at = data.end;
        }
        Ok(())
    }

    /// Any bytes; `&mut` because nobody may be writing them.
    fn slice_unpublished(&mut self, range: Range<usize>) -> &[u8] {
        assert!(range.end <= self.size);
        // SAFETY: the range is within the mapping, and `&mut self` says that there is no writer.
        unsafe { std::slice::from_raw_parts(self.mapping.memory().as_ptr().add(range.start), range.len()) }
    }

    fn copy_in(&self, offset: usize, bytes: &[u8]) {
        assert!(
            offset <= self.size && bytes.len() <= self.size - offset,
            "{}: {} bytes at {offset} do not fit",
            self.path.display(),
            bytes.len()
        );
        // SAFETY: the range is within the mapping, which can't overlap `bytes`: either it is not published, so nobody
        // can have borrowed it, or the caller has `&mut self`. Its blocks are allocated, so it does not fault.
        unsafe {
            std::ptr::copy_nonoverlapping(
                bytes.as_ptr(),
                self.mapping.memory().as_mut_ptr().add(offset),
                bytes.len(),
            );
        }
        self.mapping.wrote(offset, bytes);
    }
}

/// Bytes of a segment that stay valid while this is held, whatever becomes of the file.
#[derive(Debug, Clone)]
pub struct LogSlice {
    segment: Arc<Segment>,
    start: usize,
    end: usize,
}

impl LogSlice {
    /// Holds a published range.
    ///
    /// # Panics
    /// If the range is not published.
    pub(crate) fn new(segment: Arc<Segment>, range: Range<usize>) -> Self {
        assert!(range.start <= range.end && range.end <= segment.published());
        Self { segment, start: range.start, end: range.end }
    }
}

impl Deref for LogSlice {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.segment.slice(self.start..self.end)
    }
}

fn page_floor(offset: usize) -> usize {
    offset - offset % PAGE_SIZE
}

/// A name of its own for each file that is made; without the topic's, which may be as long as a
/// file name can be.
fn temporary_name(path: &Path) -> String {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let last = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (folder, name) = (path.parent().map_or(String::new(), last), last(path));
    format!("{folder}-{name}-{}", MADE.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn segment(folder: &Path, size: usize) -> Segment {
        Segment::create(&RealDisk, folder, &folder.join(file()), 0, size, Allocation::Whole, true)
            .expect("segment")
    }

    fn file() -> String {
        super::super::file_name(0)
    }

    #[test]
    fn published_bytes_are_readable_and_unpublished_ones_are_not() {
        let folder = tempfile::tempdir().expect("folder");
        let segment = segment(folder.path(), 8192);
        segment.write_at(0, b"held in escrow");
        assert!(
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| segment.slice(0..4).to_vec())).is_err()
        );
        segment.publish(14);
        assert_eq!(segment.slice(0..14), b"held in escrow");
    }

    #[test]
    fn a_cut_zeroes_everything_behind_it() {
        let folder = tempfile::tempdir().expect("folder");
        let mut segment = segment(folder.path(), 3 * ZERO_PIECE);
        segment.write_at(10, &vec![7; 2 * ZERO_PIECE]);
        assert!(segment.cut(20).expect("cut"));
        assert!(!segment.cut(20).expect("cut again"), "a second cut finds nothing to do");
        let bytes = std::fs::read(folder.path().join(file())).expect("file");
        assert_eq!(&bytes[10..20], &[7; 10]);
        assert!(bytes[20..].iter().all(|byte| *byte == 0));
    }

    #[test]
    fn a_slice_outlives_its_file() {
        let folder = tempfile::tempdir().expect("folder");
        let segment = Arc::new(segment(folder.path(), 4096));
        segment.write_at(0, b"still here");
        segment.publish(10);
        let slice = LogSlice::new(Arc::clone(&segment), 0..10);
        std::fs::remove_file(segment.path()).expect("remove");
        drop(segment);
        assert_eq!(&*slice, b"still here");
    }
}
