//! Segments of one size, end to end, as one range of offsets. The chain knows names and order; what is in a segment,
//! and how far it is written, is its owner's.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;

use super::Segment;
use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};

/// What a chain needs to make its files.
#[derive(Debug, Clone)]
pub struct ChainLayout {
    /// The folder of its files, and of nothing else.
    pub folder: PathBuf,
    /// Where files are made before they are renamed into `folder`.
    pub temporary_folder: PathBuf,
    /// What a file is called in errors: `commit log`, `consume queue`.
    pub kind: &'static str,
    /// Size of a file; of the files found on disk where there are any.
    pub segment_size_bytes: u64,
    /// How a new file gets its blocks.
    pub allocation: Allocation,
}

/// Segments end to end.
#[derive(Debug)]
pub struct SegmentChain {
    layout: ChainLayout,
    segments: RwLock<Vec<Arc<Segment>>>,
}

/// The 20-digit name of the file that begins at `offset`.
#[must_use]
pub fn file_name(offset: u64) -> String {
    format!("{offset:020}")
}

impl SegmentChain {
    /// Maps the files of a folder, which need not exist. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`], [`StoreError::WrongSize`], [`StoreError::MissingFile`] where the folder holds
    /// anything but full-size files with 20-digit names that follow each other; [`StoreError::Io`].
    pub fn load(disk: &dyn Disk, mut layout: ChainLayout) -> Result<Self> {
        let mut files: Vec<(u64, u64)> = Vec::new();
        for entry in list_or_empty(disk, &layout.folder)? {
            let path = layout.folder.join(&entry.name);
            let foreign = |reason| StoreError::ForeignFile { path: path.clone(), kind: layout.kind, reason };
            if entry.is_folder {
                return Err(foreign("it is a folder"));
            }
            files.push((
                parse_name(&entry.name).ok_or_else(|| foreign("its name is not 20 digits"))?,
                entry.size_bytes,
            ));
        }
        files.sort_unstable();
        if let Some((start, size)) = files.first() {
            if *size == 0 {
                let (path, expected) = (layout.folder.join(file_name(*start)), layout.segment_size_bytes);
                return Err(StoreError::WrongSize { path, expected, found: 0 });
            }
            layout.segment_size_bytes = *size;
        }
        let mut segments: Vec<Arc<Segment>> = Vec::with_capacity(files.len());
        for (start, size) in files {
            let path = layout.folder.join(file_name(start));
            if size != layout.segment_size_bytes {
                return Err(StoreError::WrongSize { path, expected: layout.segment_size_bytes, found: size });
            }
            if start % size != 0 {
                let reason = "its name is not a multiple of its size";
                return Err(StoreError::ForeignFile { path, kind: layout.kind, reason });
            }
            if let Some(expected) = segments.last().map(|segment| segment.end()).filter(|end| *end != start) {
                let missing = layout.folder.join(file_name(expected));
                return Err(StoreError::MissingFile { missing, next: path });
            }
            segments.push(Arc::new(Segment::open(disk, &path, start)?));
        }
        Ok(Self { layout, segments: RwLock::new(segments) })
    }

    /// How its files are made.
    pub fn layout(&self) -> &ChainLayout {
        &self.layout
    }

    /// Size of a segment.
    ///
    /// # Panics
    /// If a segment is larger than this machine's memory can address.
    pub fn segment_size(&self) -> usize {
        usize::try_from(self.layout.segment_size_bytes).expect("segments are mapped whole")
    }

    /// The segment that holds an offset.
    pub fn segment_for(&self, offset: u64) -> Option<Arc<Segment>> {
        let segments = self.segments.read();
        let first = segments.first()?.start();
        let index = offset.checked_sub(first)? / self.layout.segment_size_bytes;
        segments.get(usize::try_from(index).ok()?).cloned()
    }

    /// The oldest segment.
    pub fn first(&self) -> Option<Arc<Segment>> {
        self.segments.read().first().cloned()
    }

    /// The newest segment.
    pub fn last(&self) -> Option<Arc<Segment>> {
        self.segments.read().last().cloned()
    }

    /// All segments, oldest first.
    pub fn all(&self) -> Vec<Arc<Segment>> {
        self.segments.read().clone()
    }

    /// Adds a segment behind the last, durably named; the first one begins at `start`.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room. The chain is then as before.
    pub fn push_new(&self, disk: &dyn Disk, start: u64) -> Result<Arc<Segment>> {
        let start = self.last().map_or(start, |last| last.end());
        let path = self.layout.folder.join(file_name(start));
        disk.create_folder(&self.layout.folder).map_err(StoreError::io("create", &self.layout.folder))?;
        let segment = Arc::new(Segment::create(
            disk,
            &self.layout.temporary_folder,
            &path,
            start,
            self.segment_size(),
            self.layout.allocation,
        )?);
        disk.sync_folder(&self.layout.folder).map_err(StoreError::io("sync", &self.layout.folder))?;
        self.segments.write().push(Arc::clone(&segment));
        Ok(segment)
    }

    /// Takes the oldest segment out of the chain; its file stays, for the caller to remove.
    pub fn take_first(&self) -> Option<Arc<Segment>> {
        let mut segments = self.segments.write();
        if segments.is_empty() { None } else { Some(segments.remove(0)) }
    }

    /// Ends the chain at `offset`: the segment that holds it is cut there, later ones are removed, durably. Whether
    /// anything had to change is returned.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    ///
    /// # Panics
    /// If anyone still holds one of the segments concerned.
    pub fn truncate(&mut self, disk: &dyn Disk, offset: u64) -> Result<bool> {
        let segments = self.segments.get_mut();
        let mut has_changed = false;
        // Newest first: a crash in between leaves a chain without a hole.
        while segments.last().is_some_and(|segment| segment.start() > offset) {
            if let Some(segment) = segments.pop() {
                // One that was only prepared is no loss to speak of.
                has_changed |= segment.slice(0..segment.published().min(8)).iter().any(|byte| *byte != 0);
                remove_file(disk, &self.layout.folder, segment.path())?;
            }
        }
        for segment in segments.iter_mut() {
            if segment.end() > offset {
                let upto = usize::try_from(offset.saturating_sub(segment.start())).unwrap_or(0);
                let segment = Arc::get_mut(segment).expect("nobody reads while the chain is cut");
                has_changed |= segment.cut(upto)?;
            }
        }
        Ok(has_changed)
    }

    /// A segment to change in place, while nobody else can have it.
    pub(crate) fn segment_mut(&mut self, offset: u64) -> Option<&mut Segment> {
        let segments = self.segments.get_mut();
        let first = segments.first()?.start();
        let index = offset.checked_sub(first)? / self.layout.segment_size_bytes;
        Arc::get_mut(segments.get_mut(usize::try_from(index).ok()?)?)
    }
}

/// Removes a file, durably.
pub(crate) fn remove_file(disk: &dyn Disk, folder: &Path, path: &Path) -> Result<()> {
    disk.remove(path).map_err(StoreError::io("remove", path))?;
    disk.sync_folder(folder).map_err(StoreError::io("sync", folder))
}

/// Names in a folder; none where there is no folder.
pub(crate) fn list_or_empty(disk: &dyn Disk, folder: &Path) -> Result<Vec<crate::disk::FolderEntry>> {
    match disk.list(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        result => result.map_err(StoreError::io("read", folder)),
    }
}

/// The offset that a file name says. Offsets are signed in Java, and the end of a file must be one too.
fn parse_name(name: &str) -> Option<u64> {
    let offset = parse_digits(name)?;
    (offset <= i64::MAX.unsigned_abs() / 2).then_some(offset)
}

fn parse_digits(name: &str) -> Option<u64> {
    if name.len() == 20 && name.bytes().all(|byte| byte.is_ascii_digit()) { name.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    fn layout(root: &Path) -> ChainLayout {
        let temporary_folder = root.join("temporary");
        std::fs::create_dir_all(&temporary_folder).expect("folder");
        ChainLayout {
            folder: root.join("log"),
            temporary_folder,
            kind: "commit log",
            segment_size_bytes: 4096,
            allocation: Allocation::Whole,
        }
    }

    #[test]
    fn sizes_found_on_disk_beat_the_configuration() {
        let root = tempfile::tempdir().expect("folder");
        let chain = SegmentChain::load(&RealDisk, layout(root.path())).expect("empty");
        chain.push_new(&RealDisk, 0).expect("first");
        chain.push_new(&RealDisk, 0).expect("second");
        let again = ChainLayout { segment_size_bytes: 1 << 20, ..layout(root.path()) };
        let chain = SegmentChain::load(&RealDisk, again).expect("load");
        assert_eq!(chain.segment_size(), 4096);
        assert_eq!(chain.segment_for(4096).expect("second").start(), 4096);
        assert!(chain.segment_for(8192).is_none());
    }

    #[test]
    fn a_hole_a_foreign_name_and_a_wrong_size_are_refused_by_name() {
        let root = tempfile::tempdir().expect("folder");
        let folder = root.path().join("log");
        std::fs::create_dir_all(&folder).expect("folder");
        let load = || SegmentChain::load(&RealDisk, layout(root.path())).expect_err("refused");
        std::fs::write(folder.join(file_name(0)), [0; 4096]).expect("write");
        std::fs::write(folder.join(file_name(8192)), [0; 4096]).expect("write");
        assert!(matches!(load(), StoreError::MissingFile { .. }));
        std::fs::write(folder.join(file_name(4096)), [0; 100]).expect("write");
        assert!(matches!(load(), StoreError::WrongSize { expected: 4096, found: 100, .. }));
        std::fs::remove_file(folder.join(file_name(4096))).expect("remove");
        std::fs::write(folder.join(file_name(1)), [0; 4096]).expect("write");
        assert!(matches!(load(), StoreError::ForeignFile { .. }));
        std::fs::write(folder.join("notes.txt"), "x").expect("write");
        assert!(matches!(load(), StoreError::ForeignFile { .. }));
    }

    #[test]
    fn a_chain_is_truncated_to_an_offset() {
        let root = tempfile::tempdir().expect("folder");
        let mut chain = SegmentChain::load(&RealDisk, layout(root.path())).expect("empty");
        for _ in 0..3 {
            let segment = chain.push_new(&RealDisk, 0).expect("segment");
            segment.write_at(0, &[1; 4096]);
            segment.publish(4096);
        }
        assert!(chain.truncate(&RealDisk, 5000).expect("truncate"));
        assert!(!chain.truncate(&RealDisk, 5000).expect("again"));
        assert_eq!(chain.all().len(), 2);
        assert_eq!(chain.last().expect("last").published(), 5000 - 4096);
    }
}
