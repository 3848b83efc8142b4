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
    /// Whether a new file and its name are durable at once. Else they are when the owner syncs the file, its folder and
    /// the folders above: that is for what can be made again.
    pub is_durable_at_once: bool,
}

impl ChainLayout {
    /// A sparse file is written page by page. Where the kernel reads far ahead, it would fill a new file's first page and
    /// all that follow with zeros: megabytes for each of many queues.
    fn advise(&self, segment: &Segment) {
        if self.allocation == Allocation::OnDemand {
            segment.use_singly();
        }
    }
}

/// Which files of a folder make a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// All: they have one size, whatever the layout says, and follow each other.
    All,
    /// Those before the first that is shorter than the layout says or does not follow. The last process was killed, and a
    /// power loss may have taken what it had not synced.
    Prefix,
}

/// Segments end to end.
#[derive(Debug)]
pub struct SegmentChain {
    layout: ChainLayout,
    /// Files behind the prefix that was expected.
    left_out: Vec<PathBuf>,
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
    pub fn load(disk: &dyn Disk, mut layout: ChainLayout, expected: Expected) -> Result<Self> {
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
        let left_out = match expected {
            Expected::All => Vec::new(),
            Expected::Prefix => files.split_off(whole_count(&files, layout.segment_size_bytes)),
        };
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
            let segment = Segment::open(disk, &path, start)?;
            layout.advise(&segment);
            segments.push(Arc::new(segment));
        }
        let left_out = left_out.iter().map(|(start, _)| layout.folder.join(file_name(*start))).collect();
        Ok(Self { layout, left_out, segments: RwLock::new(segments) })
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

    /// Removes the files that were left out, durably. Whether there were any is returned.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn remove_left_out(&mut self, disk: &dyn Disk) -> Result<bool> {
        let had_any = !self.left_out.is_empty();
        // Newest first: a crash in between leaves the rest as it was.
        while let Some(path) = self.left_out.pop() {
            remove_file(disk, &self.layout.folder, &path)?;
        }
        Ok(had_any)
    }

    /// Adds a segment behind the last, durably where the layout says so; the first one begins at `start`.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room. The chain is then as before.
    pub fn push_new(&self, disk: &dyn Disk, start: u64) -> Result<Arc<Segment>> {
        let start = self.last().map_or(start, |last| last.end());
        let path = self.layout.folder.join(file_name(start));
        let (folder, is_durable) = (&self.layout.folder, self.layout.is_durable_at_once);
        if is_durable { disk.create_folder(folder) } else { disk.create_folder_unsynced(folder) }
            .map_err(StoreError::io("create", folder))?;
        let segment = Arc::new(Segment::create(
            disk,
            &self.layout.temporary_folder,
            &path,
            start,
            self.segment_size(),
            self.layout.allocation,
            is_durable,
        )?);
        self.layout.advise(&segment);
        if is_durable {
            disk.sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        }
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

/// How many files, given by start and size, are whole and follow the one before.
fn whole_count(files: &[(u64, u64)], size: u64) -> usize {
    let follows = |index: usize| index == 0 || files[index - 1].0.checked_add(size) == Some(files[index].0);
    (0..files.len()).find(|&index| files[index].1 < size || !follows(index)).unwrap_or(files.len())
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
pub(crate) fn parse_name(name: &str) -> Option<u64> {
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
            is_durable_at_once: true,
        }
    }

    fn load(layout: ChainLayout) -> Result<SegmentChain> {
        SegmentChain::load(&RealDisk, layout, Expected::All)
    }

    #[test]
    fn sizes_found_on_disk_beat_the_configuration() {
        let root = tempfile::tempdir().expect("folder");
        let chain = load(layout(root.path())).expect("empty");
        chain.push_new(&RealDisk, 0).expect("first");
        chain.push_new(&RealDisk, 0).expect("second");
        let again = ChainLayout { segment_size_bytes: 1 << 20, ..layout(root.path()) };
        let chain = load(again).expect("load");
        assert_eq!(chain.segment_size(), 4096);
        assert_eq!(chain.segment_for(4096).expect("second").start(), 4096);
        assert!(chain.segment_for(8192).is_none());
    }

    #[test]
    fn a_hole_a_foreign_name_and_a_wrong_size_are_refused_by_name() {
        let root = tempfile::tempdir().expect("folder");
        let folder = root.path().join("log");
        std::fs::create_dir_all(&folder).expect("folder");
        let load = || load(layout(root.path())).expect_err("refused");
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
    fn after_a_kill_the_files_before_the_first_short_or_missing_one_are_the_chain() {
        for (sizes, whole_count) in [
            (&[(0, 4096), (4096, 4096), (8192, 100)][..], 2),
            (&[(0, 4096), (8192, 4096), (12_288, 4096)], 1),
            (&[(0, 0), (4096, 4096)], 0),
            (&[(4096, 4096)], 1),
        ] {
            let root = tempfile::tempdir().expect("folder");
            let layout = layout(root.path());
            std::fs::create_dir_all(&layout.folder).expect("folder");
            for (start, size) in sizes {
                std::fs::write(layout.folder.join(file_name(*start)), vec![0; *size]).expect("write");
            }
            let mut chain = SegmentChain::load(&RealDisk, layout.clone(), Expected::Prefix).expect("load");
            assert_eq!(chain.all().len(), whole_count);
            assert_eq!(
                std::fs::read_dir(&layout.folder).expect("list").count(),
                sizes.len(),
                "a load removes nothing"
            );
            assert_eq!(chain.remove_left_out(&RealDisk).expect("remove"), whole_count < sizes.len());
            assert!(!chain.remove_left_out(&RealDisk).expect("again"));
            assert_eq!(load(layout).expect("what is left is whole").all().len(), whole_count);
        }
    }

    #[test]
    fn a_chain_is_truncated_to_an_offset() {
        let root = tempfile::tempdir().expect("folder");
        let mut chain = load(layout(root.path())).expect("empty");
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
