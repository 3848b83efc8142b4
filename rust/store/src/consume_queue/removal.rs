//! Taking entries away at a queue's front, as the log expires, or all of them. Readers keep the files that they hold.

use std::sync::atomic::Ordering;

use super::queue::{ConsumeQueue, ENTRY_SIZE_U64, partition_point};
use super::table::remove_folder;
use crate::error::Result;
use crate::mapped::remove_file;
use crate::offset::LogOffset;

impl ConsumeQueue {
    /// Moves the min offset to the first record at or after `log_start`. Readers see no older ones any more.
    pub fn hide_before(&self, log_start: LogOffset) {
        let (min, max) = (self.min_offset().0, self.max_offset().0);
        let is_gone = |at: u64| self.is_gone(at, log_start);
        self.min.fetch_max(partition_point(min, max, is_gone), Ordering::AcqRel);
    }

    /// Moves the min offset to the first record at or after `log_start`, and removes the files that hold none. The last
    /// file stays: it remembers the max offset.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire(&self, log_start: LogOffset) -> Result<()> {
        // Before the files go, so that readers are told by the min offset first.
        self.hide_before(log_start);
        let files = self.chain.all();
        // Oldest first, and each for good before the next: a crash in between leaves no hole.
        for file in files.split_last().map_or(&[][..], |(_, older)| older) {
            let last = file.end() / ENTRY_SIZE_U64 - 1;
            if file.published() < file.size() || !self.is_gone(last, log_start) {
                break;
            }
            self.chain.take_first();
            remove_file(self.disk.as_ref(), &self.chain.layout().folder, file.path())?;
        }
        Ok(())
    }

    fn is_gone(&self, at: u64, log_start: LogOffset) -> bool {
        self.entry_in_file(at).is_none_or(|entry| entry.log_offset < log_start || entry.is_filler())
    }

    /// Removes its files and its folder. Readers keep what they hold.
    pub(super) fn remove(&self) -> Result<()> {
        let mut tail = self.tail.lock();
        *tail = None;
        let folder = &self.chain.layout().folder;
        // Newest first, and each for good before the next: a crash in between leaves a queue that is short, not one
        // that begins too late or has a hole.
        for file in self.chain.all().iter().rev() {
            remove_file(self.disk.as_ref(), folder, file.path())?;
        }
        while self.chain.take_first().is_some() {}
        for mark in [&self.max, &self.min, &self.durable] {
            mark.store(0, Ordering::Release);
        }
        remove_folder(self.disk.as_ref(), folder)
    }
}

#[cfg(test)]
mod tests {
    use super::super::entry::QueueEntry;
    use super::super::queue::tests::{bounds, entry, files, fill, load};
    use super::*;
    use crate::offset::QueueOffset;

    #[test]
    fn expiry_follows_the_log_and_keeps_the_last_file() {
        let root = tempfile::tempdir().expect("folder");
        let queue = load(root.path());
        fill(&queue, 0..700);
        queue.expire(LogOffset(0)).expect("nothing yet");
        assert_eq!((bounds(&queue), files(root.path()).len()), ((0, 700), 3));
        queue.expire(LogOffset(29_901)).expect("all but one of the first file");
        assert_eq!((bounds(&queue), files(root.path()).len()), ((300, 700), 2));
        queue.expire(LogOffset(31_000)).expect("some of the second file");
        assert_eq!((bounds(&queue), files(root.path()).len()), ((310, 700), 2));
        assert_eq!(queue.entries(QueueOffset(309), 1), []);
        queue.expire(LogOffset(1_000_000)).expect("everything");
        assert_eq!((bounds(&queue), files(root.path()).len()), ((700, 700), 1));
        queue
            .append(QueueOffset(700), QueueEntry { log_offset: LogOffset(1_000_000), ..entry(0) })
            .expect("next");
        queue.sync().expect("sync");
        let queue = load(root.path());
        queue.expire(LogOffset(1_000_000)).expect("again");
        assert_eq!(bounds(&queue), (700, 701));
    }
}
