//! Where a queue ends, and making it end there. A power loss keeps any of the pages and sectors that were not synced and
//! loses any others, so behind the durable entries there may be holes, and entries behind the holes.
//!
//! ```text
//!  durable: all there, all below log_end │ not synced: any sector may be zeros
//!  | entry | entry | entry | entry | entry │ entry | zeros | zeros | entry | torn | zeros …
//!                                        └ the queue ends here
//! ```
//! Every durable entry names a record below `log_end` and no other entry does: the caller rebuilds the rest from there.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::entry::{ENTRY_SIZE, QueueEntry};
use super::queue::{ConsumeQueue, ENTRY_SIZE_U64, partition_point};
use crate::error::{Result, StoreError};
use crate::mapped::{Expected, Segment, SegmentChain};
use crate::offset::LogOffset;

impl ConsumeQueue {
    /// Ends the queue before the first entry whose record is at or after `log_end`, or which is no entry: what lies
    /// behind is zeroed and later files are removed, durably. Whether anything had to change is returned.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn cut(&mut self, log_end: LogOffset) -> Result<bool> {
        *self.tail.get_mut() = None;
        let had_left_out = self.chain.remove_left_out(self.disk.as_ref())?;
        let end = self.written_end(log_end);
        let layout = self.chain.layout().clone();
        // A file without an entry goes as a whole: Apache takes zeros at the start of a last file for an entry.
        let empty: Vec<Arc<Segment>> =
            self.chain.all().into_iter().filter(|file| end.is_none_or(|end| file.start() >= end)).collect();
        let mut has_changed = had_left_out || !empty.is_empty();
        // Newest first: a crash in between leaves no hole.
        for file in empty.iter().rev() {
            self.disk.remove(file.path()).map_err(StoreError::io("remove", file.path()))?;
            self.disk.sync_folder(&layout.folder).map_err(StoreError::io("sync", &layout.folder))?;
        }
        if has_changed {
            self.chain = SegmentChain::load(self.disk.as_ref(), layout, Expected::All)?;
        }
        if let Some(end) = end {
            has_changed |= self.chain.truncate(self.disk.as_ref(), end)?;
        }
        let max = end.unwrap_or(0) / ENTRY_SIZE_U64;
        *self.max.get_mut() = max;
        *self.durable.get_mut() = max;
        *self.min.get_mut() = max.min(*self.min.get_mut());
        Ok(has_changed)
    }

    /// Sets the bounds of a queue that was just mapped.
    pub(super) fn find_bounds(&mut self) {
        let max = self.written_end(LogOffset(u64::MAX)).unwrap_or(0) / ENTRY_SIZE_U64;
        let first = self.chain.first().map_or(0, |file| file.start() / ENTRY_SIZE_U64).min(max);
        let is_filler = |at| self.entry_in_file(at).is_some_and(|entry| entry.is_filler());
        let min = partition_point(first, max, is_filler);
        self.min.store(min, Ordering::Release);
        self.max.store(max, Ordering::Release);
        self.durable.store(max, Ordering::Release);
    }

    /// The byte after the last entry, `None` where there is no entry.
    ///
    /// Only the file that holds it is read through. The first entry of a file lies in one sector, so it is whole or
    /// zeros; where it is below `log_end` it is durable, and so are all files before its own.
    fn written_end(&self, log_end: LogOffset) -> Option<u64> {
        let files = self.chain.all();
        (0..files.len()).rev().find_map(|index| {
            let before = index.checked_sub(1).and_then(|index| last_entry(&files[index]));
            if index > 0 && !before.is_some_and(|entry| entry.is_written()) {
                return None;
            }
            let count = run_length(entries(&files[index]), before, log_end);
            (count > 0).then(|| files[index].start() + (count * ENTRY_SIZE) as u64)
        })
    }
}

/// How many entries of a file belong to the queue: 0 where it has none but fillers.
fn run_length(
    entries: impl Iterator<Item = QueueEntry>,
    before: Option<QueueEntry>,
    log_end: LogOffset,
) -> usize {
    let mut before = before.filter(|entry| !entry.is_filler()).map(|entry| entry.log_offset);
    let mut length = 0;
    for (index, entry) in entries.enumerate() {
        if before.is_none() && entry.is_filler() {
            continue;
        }
        let follows = match before {
            Some(before) => entry.log_offset > before,
            // Behind fillers an entry may be torn, its offset zeros and its size there. The record at log offset 0 is
            // never the first of a queue that begins later.
            None => index == 0 || entry.log_offset > LogOffset(0),
        };
        if !entry.is_written() || !follows || entry.log_offset >= log_end {
            break;
        }
        before = Some(entry.log_offset);
        length = index + 1;
    }
    length
}

fn entries(file: &Segment) -> impl Iterator<Item = QueueEntry> {
    file.slice(0..file.published()).as_chunks().0.iter().map(QueueEntry::decode)
}

/// The last entry of a full file.
fn last_entry(file: &Segment) -> Option<QueueEntry> {
    if file.published() < file.size() {
        return None;
    }
    file.slice(0..file.size()).last_chunk().map(QueueEntry::decode)
}

#[cfg(test)]
mod tests {
    use super::super::queue::tests::{FILE_ENTRIES, entry, fill, load};
    use super::*;
    use crate::offset::QueueOffset;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    type Files = BTreeMap<PathBuf, Vec<u8>>;

    fn files(root: &Path) -> Files {
        let Ok(folder) = std::fs::read_dir(root.join("queue")) else { return Files::new() };
        let paths = folder.map(|entry| entry.expect("entry").path());
        paths.map(|path| (path.clone(), std::fs::read(path).expect("read"))).collect()
    }

    #[test]
    fn a_queue_that_runs_ahead_is_cut_and_goes_on() {
        let root = tempfile::tempdir().expect("folder");
        let mut queue = load(root.path());
        fill(&queue, 0..700);
        assert!(queue.cut(LogOffset(45_050)).expect("cut"));
        assert_eq!((queue.max_offset(), files(root.path()).len()), (QueueOffset(451), 2));
        fill(&queue, 451..620);
        assert_eq!(queue.entries(QueueOffset(440), 180), (440..620).map(entry).collect::<Vec<_>>());
    }

    #[test]
    fn a_cut_at_a_files_start_leaves_no_empty_file() {
        let root = tempfile::tempdir().expect("folder");
        let mut queue = load(root.path());
        fill(&queue, 0..FILE_ENTRIES + 1);
        assert!(queue.cut(LogOffset(FILE_ENTRIES * 100)).expect("cut"));
        assert_eq!((queue.max_offset(), files(root.path()).len()), (QueueOffset(FILE_ENTRIES), 1));
        fill(&queue, FILE_ENTRIES..FILE_ENTRIES + 2);
        assert!(queue.cut(LogOffset(0)).expect("cut"));
        assert!(queue.is_empty() && files(root.path()).is_empty());
        fill(&queue, 10..12);
        assert_eq!(queue.min_offset(), QueueOffset(10));
    }

    #[test]
    fn fillers_without_an_entry_are_no_queue() {
        let root = tempfile::tempdir().expect("folder");
        let mut queue = load(root.path());
        fill(&queue, 5..9);
        queue.cut(LogOffset(500)).expect("cut");
        assert!(queue.is_empty() && files(root.path()).is_empty());
    }

    #[test]
    fn a_torn_first_entry_behind_fillers_is_no_entry() {
        let root = tempfile::tempdir().expect("folder");
        // Bytes 500 to 520: the offset's 8 and 4 of the rest lie in the first sector.
        fill(&load(root.path()), 25..30);
        let (path, mut bytes) = files(root.path()).pop_first().expect("file");
        bytes[500..508].fill(0);
        std::fs::write(path, bytes).expect("write");
        let mut queue = load(root.path());
        queue.cut(LogOffset(2_000)).expect("cut");
        assert!(queue.is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Goal: whatever sectors a power loss takes from the entries that were not synced, the cut leaves the synced
        /// ones and nothing else, and the rebuilt queue is the one that was never cut.
        #[test]
        fn the_durable_prefix_survives_any_loss_of_the_rest(
            begin in prop_oneof![Just(0_u64), 1..400_u64],
            durable in 0..700_u64,
            more in 0..500_u64,
            lost in proptest::collection::vec(any::<bool>(), 120),
            whole_files_lost in 0..2_usize,
        ) {
            let root = tempfile::tempdir().expect("folder");
            let (end, all) = (begin + durable, begin + durable + more);
            fill(&load(root.path()), begin..all);
            let mut sector = 0;
            let before = files(root.path());
            for (path, bytes) in &before {
                let start: usize = path.file_name().and_then(|n| n.to_str()).expect("name").parse().expect("digits");
                let durable_bytes = (usize::try_from(end).expect("small") * ENTRY_SIZE).saturating_sub(start);
                let mut bytes = bytes.clone();
                for piece in (0..bytes.len()).step_by(512) {
                    sector += 1;
                    let upto = bytes.len().min(piece + 512);
                    // A queue that was never synced may have lost its fillers too.
                    let kept = if durable == 0 { 0 } else { durable_bytes };
                    if lost[sector % lost.len()] && upto > kept {
                        bytes[piece.max(kept)..upto].fill(0);
                    }
                }
                std::fs::write(path, bytes).expect("write");
            }
            for (path, _) in before.iter().rev().take(whole_files_lost) {
                let start: u64 = path.file_name().and_then(|n| n.to_str()).expect("name").parse().expect("digits");
                if start >= end * ENTRY_SIZE_U64 {
                    std::fs::remove_file(path).expect("remove");
                }
            }

            let mut queue = load(root.path());
            queue.cut(LogOffset(end * 100)).expect("cut");
            if durable == 0 {
                prop_assert!(queue.is_empty());
            } else {
                prop_assert_eq!((queue.min_offset().0, queue.max_offset().0), (begin, end));
            }
            let after = files(root.path());
            drop(queue);
            let mut queue = load(root.path());
            prop_assert!(!queue.cut(LogOffset(end * 100)).expect("again"));
            prop_assert_eq!(files(root.path()), after);
            fill(&queue, end..all);
            prop_assert_eq!(files(root.path()).into_values().collect::<Vec<_>>(),
                            before.into_values().collect::<Vec<_>>());
        }
    }
}
