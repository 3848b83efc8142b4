//! The consume queue of one topic and queue number: entries of 20 bytes in mapped files, written by one thread and read
//! by many. An entry is published before the max offset covers it, so a reader below max never waits for the writer.
//!
//! ```text
//!  consumequeue/<topic>/<queue>/00000000000006000000      byte 6,000,000 = queue offset 300,000
//!
//!  | filler … | expired … | readable entries … | zeros … |
//!  first file             min                  max
//! ```

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::entry::{ENTRY_SIZE, QueueEntry};
use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};
use crate::mapped::{ChainLayout, Expected, Segment, SegmentChain};
use crate::offset::QueueOffset;

/// Files are sparse; blocks are had in steps of this size, so that a queue with one message costs little.
const ALLOCATION_STEP: usize = 64 * 1024;

pub(super) const ENTRY_SIZE_U64: u64 = ENTRY_SIZE as u64;

/// Where a queue's files are and how they are made.
#[derive(Debug, Clone)]
pub struct QueueLayout {
    /// `consumequeue/<topic>/<queue>`.
    pub folder: PathBuf,
    /// Where files are made before they are renamed into `folder`.
    pub temporary_folder: PathBuf,
    /// Size of a file, a multiple of 20; of the files found on disk where there are any.
    pub file_size_bytes: u64,
}

/// The entries of one topic and queue number.
#[derive(Debug)]
pub struct ConsumeQueue {
    topic: Arc<str>,
    queue_id: u32,
    pub(super) disk: Arc<dyn Disk>,
    pub(super) chain: SegmentChain,
    /// The file that takes the next entry. The lock is the writer's: it keeps a second one out.
    pub(super) tail: Mutex<Option<Arc<Segment>>>,
    pub(super) min: AtomicU64,
    pub(super) max: AtomicU64,
    /// Entries before this offset are durable.
    pub(super) durable: AtomicU64,
    /// Whether there are files whose names may not be durable.
    has_new_names: AtomicBool,
}

impl ConsumeQueue {
    /// Maps the files of a queue that are `expected`, which may be none. Changes nothing. Until [`Self::cut`] says where
    /// the log ends, the queue is the run of written entries that was found, and counts as durable.
    ///
    /// # Errors
    /// [`StoreError::ForeignFile`], [`StoreError::WrongSize`], [`StoreError::MissingFile`], [`StoreError::Io`].
    pub fn load(
        disk: Arc<dyn Disk>,
        topic: Arc<str>,
        queue_id: u32,
        layout: QueueLayout,
        expected: Expected,
    ) -> Result<Self> {
        let QueueLayout { folder, temporary_folder, file_size_bytes } = layout;
        let layout = ChainLayout {
            folder,
            temporary_folder,
            kind: "consume queue",
            segment_size_bytes: file_size_bytes,
            allocation: Allocation::OnDemand,
            // Whoever builds queues must not wait for the disk: sends may wait for it, and a topic may have many queues.
            is_durable_at_once: false,
        };
        let chain = SegmentChain::load(disk.as_ref(), layout, expected)?;
        let size = chain.layout().segment_size_bytes;
        if size == 0 || size % ENTRY_SIZE_U64 != 0 {
            let path = chain.first().map_or_else(|| chain.layout().folder.clone(), |file| file.path().into());
            let reason = "its size is not a multiple of 20";
            return Err(StoreError::ForeignFile { path, kind: "consume queue", reason });
        }
        if let Some(file) = chain.first().filter(|file| file.start() % size != 0) {
            let reason = "its name is not a multiple of its size";
            return Err(StoreError::ForeignFile { path: file.path().into(), kind: "consume queue", reason });
        }
        let mut queue = Self {
            topic,
            queue_id,
            disk,
            chain,
            tail: Mutex::new(None),
            min: AtomicU64::new(0),
            max: AtomicU64::new(0),
            durable: AtomicU64::new(0),
            has_new_names: AtomicBool::new(false),
        };
        queue.find_bounds();
        Ok(queue)
    }

    /// Topic of the queue.
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Its number.
    pub fn queue_id(&self) -> u32 {
        self.queue_id
    }

    /// Size of its files.
    pub fn file_size_bytes(&self) -> u64 {
        self.chain.layout().segment_size_bytes
    }

    /// The first offset whose record the log may still hold; the max where there is none.
    pub fn min_offset(&self) -> QueueOffset {
        QueueOffset(self.min.load(Ordering::Acquire))
    }

    /// The offset that the next entry gets.
    pub fn max_offset(&self) -> QueueOffset {
        QueueOffset(self.max.load(Ordering::Acquire))
    }

    /// Whether it never had an entry, or lost all to [`Self::cut`]: the next one may then have any offset.
    pub fn is_empty(&self) -> bool {
        self.max_offset().0 == 0
    }

    /// Adds the entry of a queue offset. One that is there already is left as it is: rebuilding repeats itself.
    ///
    /// # Errors
    /// [`StoreError::QueueGap`] where entries before it are missing, [`StoreError::QueueConflict`] where another record
    /// has the offset, [`StoreError::Io`] of kind `StorageFull`. The queue is then as before.
    pub fn append(&self, at: QueueOffset, entry: QueueEntry) -> Result<()> {
        let mut tail = self.tail.lock();
        let max = self.max.load(Ordering::Relaxed);
        if at.0 < max {
            return self.accept_repeated(at, entry);
        }
        if at.0 > max && max > 0 {
            return Err(self.gap(QueueOffset(max), at, entry));
        }
        let byte = at.0.checked_mul(ENTRY_SIZE_U64).ok_or_else(|| self.gap(QueueOffset(max), at, entry))?;
        let segment = match tail.take().filter(|segment| byte < segment.end()) {
            Some(segment) => segment,
            None => self.segment_to_write(byte, at, entry)?,
        };
        let written = write(&segment, byte, &entry);
        *tail = Some(segment);
        written?;
        if max == 0 {
            // The fillers before the first entry are as unsynced as the entry.
            self.durable.store((byte - byte % self.file_size_bytes()) / ENTRY_SIZE_U64, Ordering::Release);
            self.min.store(at.0, Ordering::Release);
        }
        self.max.store(at.0 + 1, Ordering::Release);
        Ok(())
    }

    /// One entry; `None` where it is not readable.
    pub fn entry(&self, at: QueueOffset) -> Option<QueueEntry> {
        if at < self.min_offset() || at >= self.max_offset() {
            return None;
        }
        self.entry_in_file(at.0)
    }

    /// Up to `count` entries from an offset on, as many as there are without a gap.
    pub fn entries(&self, from: QueueOffset, count: usize) -> Vec<QueueEntry> {
        let mut found = Vec::new();
        self.read_entries(from, count, &mut found);
        found
    }

    /// As [`Self::entries`], added to a list that the caller keeps.
    pub fn read_entries(&self, from: QueueOffset, count: usize, found: &mut Vec<QueueEntry>) {
        let max = self.max_offset().0;
        if from < self.min_offset() || from.0 >= max {
            return;
        }
        let mut byte = from.0 * ENTRY_SIZE_U64;
        let end = max.min(from.0.saturating_add(count as u64)) * ENTRY_SIZE_U64;
        found.reserve(entry_count(end - byte));
        while byte < end {
            // Gone only where expiry is faster than this reader: what it read so far is still right.
            let Some(segment) = self.chain.segment_for(byte) else { return };
            let upto = end.min(segment.end());
            let bytes = segment.slice(place(&segment, byte)..place(&segment, upto));
            found.extend(bytes.as_chunks().0.iter().map(QueueEntry::decode));
            byte = upto;
        }
    }

    /// Whether it has entries that are not durable.
    pub fn is_dirty(&self) -> bool {
        self.durable.load(Ordering::Acquire) < self.max.load(Ordering::Acquire)
    }

    /// Makes all entries durable that were there when it was called, and the names of their files. Whether there were new
    /// ones is returned: then the folders above the queue's have to be synced too.
    ///
    /// # Errors
    /// [`StoreError::Io`]. What reached the disk is then unknown, and the caller must not try again.
    pub fn sync(&self) -> Result<bool> {
        let upto = self.max.load(Ordering::Acquire);
        // After the offset: the file of an entry before it has been announced by now.
        let has_new_names = self.has_new_names.swap(false, Ordering::AcqRel);
        let mut byte = self.durable.load(Ordering::Acquire) * ENTRY_SIZE_U64;
        let end = upto * ENTRY_SIZE_U64;
        while byte < end {
            let Some(segment) = self.chain.segment_for(byte) else {
                // Expired meanwhile, and with it all files before the next one.
                let Some(first) = self.chain.first().filter(|first| first.start() > byte) else { break };
                byte = first.start();
                continue;
            };
            let range = place(&segment, byte)..place(&segment, end.min(segment.end()));
            segment.sync(range).map_err(StoreError::io("sync", segment.path()))?;
            byte = segment.end();
        }
        if has_new_names {
            let folder = &self.chain.layout().folder;
            self.disk.sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        }
        self.durable.fetch_max(upto, Ordering::AcqRel);
        Ok(has_new_names)
    }

    /// An entry below max, readable or expired, whose file is there.
    pub(super) fn entry_in_file(&self, at: u64) -> Option<QueueEntry> {
        let byte = at * ENTRY_SIZE_U64;
        let segment = self.chain.segment_for(byte)?;
        let place = place(&segment, byte);
        (place + ENTRY_SIZE <= segment.published())
            .then(|| segment.slice(place..place + ENTRY_SIZE).first_chunk().map(QueueEntry::decode))?
    }

    /// The file of a byte, made where it is not there.
    fn segment_to_write(&self, byte: u64, at: QueueOffset, entry: QueueEntry) -> Result<Arc<Segment>> {
        if let Some(segment) = self.chain.segment_for(byte) {
            return Ok(segment);
        }
        // The last file ends elsewhere only if it was made for a first entry that could then not be written, and this
        // is another one.
        if let Some(last) = self.chain.last().filter(|last| last.end() != byte) {
            return Err(self.gap(QueueOffset(last.start() / ENTRY_SIZE_U64), at, entry));
        }
        let segment = self.chain.push_new(self.disk.as_ref(), byte - byte % self.file_size_bytes())?;
        self.has_new_names.store(true, Ordering::Release);
        Ok(segment)
    }

    fn accept_repeated(&self, at: QueueOffset, entry: QueueEntry) -> Result<()> {
        match self.entry_in_file(at.0) {
            // The tags code is left out: delay levels may have been configured otherwise when it was computed.
            Some(kept) if (kept.log_offset, kept.record_size) != (entry.log_offset, entry.record_size) => {
                Err(StoreError::QueueConflict {
                    topic: self.topic.to_string(),
                    queue_id: self.queue_id,
                    offset: at,
                    kept: kept.log_offset,
                    found: entry.log_offset,
                })
            }
            _ => Ok(()),
        }
    }

    fn gap(&self, expected: QueueOffset, found: QueueOffset, entry: QueueEntry) -> StoreError {
        let (topic, at) = (self.topic.to_string(), entry.log_offset);
        StoreError::QueueGap { topic, queue_id: self.queue_id, expected, found, at }
    }
}

/// Writes an entry, and the fillers before it where it is the first of a queue that begins inside a file.
fn write(segment: &Segment, byte: u64, entry: &QueueEntry) -> Result<()> {
    let place = place(segment, byte);
    segment.ensure_allocated(place + ENTRY_SIZE, ALLOCATION_STEP)?;
    let blanks = (place - segment.published()) / ENTRY_SIZE;
    if blanks > 0 {
        segment.write_at(segment.published(), &QueueEntry::FILLER.encode().repeat(blanks));
    }
    segment.write_at(place, &entry.encode());
    segment.publish(place + ENTRY_SIZE);
    Ok(())
}

/// The first of `low..high` for which `is_before` is false, where it is true up to some point and false from there on.
pub(crate) fn partition_point(mut low: u64, mut high: u64, mut is_before: impl FnMut(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// A byte of the queue as a place in its file. Files are mapped whole, so it fits.
fn place(segment: &Segment, byte: u64) -> usize {
    usize::try_from(byte - segment.start()).unwrap_or(usize::MAX)
}

fn entry_count(bytes: u64) -> usize {
    usize::try_from(bytes / ENTRY_SIZE_U64).unwrap_or(usize::MAX)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::disk::RealDisk;
    use crate::offset::LogOffset;
    use std::path::Path;

    pub(in super::super) const FILE_ENTRIES: u64 = 300;

    pub(in super::super) fn load(root: &Path) -> ConsumeQueue {
        let temporary_folder = root.join("temporary");
        std::fs::create_dir_all(&temporary_folder).expect("temporary");
        let layout = QueueLayout {
            folder: root.join("queue"),
            temporary_folder,
            file_size_bytes: FILE_ENTRIES * ENTRY_SIZE_U64,
        };
        ConsumeQueue::load(Arc::new(RealDisk), "orders".into(), 2, layout, Expected::All).expect("load")
    }

    /// The entry of a record whose place in the log is its queue offset times 100.
    pub(in super::super) fn entry(at: u64) -> QueueEntry {
        QueueEntry { log_offset: LogOffset(at * 100), record_size: 100, tags_code: -1 }
    }

    pub(in super::super) fn fill(queue: &ConsumeQueue, range: std::ops::Range<u64>) {
        for at in range {
            queue.append(QueueOffset(at), entry(at)).expect("append");
        }
    }

    pub(in super::super) fn bounds(queue: &ConsumeQueue) -> (u64, u64) {
        (queue.min_offset().0, queue.max_offset().0)
    }

    pub(in super::super) fn files(root: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(root.join("queue"))
            .expect("list")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn entries_are_read_back_across_files() {
        let root = tempfile::tempdir().expect("folder");
        let queue = load(root.path());
        assert!(queue.is_empty() && !queue.is_dirty());
        fill(&queue, 0..700);
        assert_eq!(bounds(&queue), (0, 700));
        let expected: Vec<_> = (250..650).map(entry).collect();
        assert_eq!(queue.entries(QueueOffset(250), 400), expected);
        assert_eq!(queue.entries(QueueOffset(699), usize::MAX), [entry(699)]);
        assert_eq!(queue.entries(QueueOffset(700), 1), []);
        assert_eq!((queue.entry(QueueOffset(700)), queue.entry(QueueOffset(u64::MAX))), (None, None));
        assert!(queue.is_dirty());
        queue.sync().expect("sync");
        assert!(!queue.is_dirty());
        assert_eq!(files(root.path()).len(), 3);
        assert_eq!(bounds(&load(root.path())), (0, 700));
    }

    #[test]
    fn a_repeated_entry_is_accepted_a_gap_and_a_conflict_are_not() {
        let root = tempfile::tempdir().expect("folder");
        let queue = load(root.path());
        fill(&queue, 0..3);
        fill(&queue, 0..3);
        let gap = queue.append(QueueOffset(4), entry(4)).expect_err("gap");
        assert!(matches!(gap, StoreError::QueueGap { expected: QueueOffset(3), found: QueueOffset(4), .. }));
        let conflict = queue.append(QueueOffset(1), entry(2)).expect_err("conflict");
        assert!(matches!(
            conflict,
            StoreError::QueueConflict { kept: LogOffset(100), found: LogOffset(200), .. }
        ));
        let retagged = QueueEntry { tags_code: 9, ..entry(1) };
        queue.append(QueueOffset(1), retagged).expect("another tags code is no conflict");
        assert_eq!(bounds(&queue), (0, 3));
        assert!(queue.append(QueueOffset(u64::MAX), entry(4)).is_err());
    }

    #[test]
    fn an_empty_queue_begins_anywhere_behind_fillers() {
        let root = tempfile::tempdir().expect("folder");
        let queue = load(root.path());
        let begin = 7 * FILE_ENTRIES + 5;
        fill(&queue, begin..begin + 2);
        assert_eq!(bounds(&queue), (begin, begin + 2));
        assert_eq!(queue.entry(QueueOffset(begin - 1)), None);
        queue.sync().expect("sync");
        assert_eq!(files(root.path()), [format!("{:020}", 7 * FILE_ENTRIES * ENTRY_SIZE_U64)]);
        let bytes = std::fs::read(root.path().join("queue").join(&files(root.path())[0])).expect("read");
        assert_eq!(bytes[..100], QueueEntry::FILLER.encode().repeat(5));
        assert_eq!(bounds(&load(root.path())), (begin, begin + 2));
    }

    #[test]
    fn readers_see_whole_entries_while_one_writes() {
        let root = tempfile::tempdir().expect("folder");
        let queue = load(root.path());
        let has_failed = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let mut seen = 0;
                    // A writer that failed must not leave its readers waiting for ever.
                    while seen < 20_000 && !has_failed.load(Ordering::Acquire) {
                        let entries = queue.entries(QueueOffset(seen), 32);
                        let expected = (seen..).take(entries.len()).map(entry);
                        assert!(entries.iter().copied().eq(expected));
                        seen += entries.len() as u64;
                    }
                });
            }
            for at in 0..20_000 {
                if let Err(error) = queue.append(QueueOffset(at), entry(at)) {
                    has_failed.store(true, Ordering::Release);
                    panic!("{error}");
                }
            }
        });
    }
}
