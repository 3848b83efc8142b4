//! The records of a range of a queue, read in windows of the log: neighbours together, what lies far apart by itself.
//!
//! ```text
//! log    │ a1 b1 a2 │ b2 ──── far ──── │ a3 a4 b3 a5 │        a scan of queue a reads two windows
//! ```

use std::ops::Range;
use std::sync::Arc;

use escrowmq_wire::RecordView;

use super::queue::ObservedQueue;
use crate::consume_queue::QueueEntry;
use crate::error::Result;
use crate::offset::QueueOffset;

/// As much is read at a time, unless one record is larger.
const WINDOW_SIZE_MAX: u64 = 1024 * 1024;
/// Bytes of other queues that are rather read than passed over with a read of their own.
const GAP_SIZE_MAX: u64 = 4 * 1024;
/// Entries that are looked at together.
const ENTRY_COUNT: u64 = 4_096;

/// Reads a range of a queue from its beginning to its end.
#[derive(Debug)]
pub struct QueueScan {
    queue: Arc<ObservedQueue>,
    range: Range<u64>,
    tags_codes: Option<Vec<i32>>,
    /// Entries that are wanted, and where they stand.
    entries: Vec<(u64, QueueEntry)>,
    /// The first of them that is not read.
    next: usize,
    window: Vec<u8>,
    read_bytes: u64,
}

impl QueueScan {
    pub(super) fn new(queue: Arc<ObservedQueue>, from: u64, to: u64) -> Self {
        let range = from..to.max(from);
        Self {
            queue,
            range,
            tags_codes: None,
            entries: Vec::new(),
            next: 0,
            window: Vec::new(),
            read_bytes: 0,
        }
    }

    /// Leaves out records with other tags, by the hashes that the queue holds: some that have the same hash may stay.
    #[must_use]
    pub fn with_tags_codes(mut self, codes: Vec<i32>) -> Self {
        self.tags_codes = Some(codes);
        self
    }

    /// The offset that is looked at next.
    #[must_use]
    pub fn position(&self) -> QueueOffset {
        QueueOffset(self.entries.get(self.next).map_or(self.range.start, |(offset, _)| *offset))
    }

    /// Bytes of the log that were read so far.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes
    }

    /// Reads a window and hands its records over, in their order; whether there was one.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`] where what the queue names is no such record, [`StoreError::NoRecord`] where it has
    /// expired, and [`StoreError::Io`].
    pub fn read_window(&mut self, mut each: impl FnMut(&RecordView<'_>)) -> Result<bool> {
        while self.next == self.entries.len() {
            if self.range.is_empty() {
                return Ok(false);
            }
            self.read_entries()?;
        }
        let (count, size) = self.window_size()?;
        let start = self.entries[self.next].1.log_offset.0;
        self.window.resize(usize::try_from(size).unwrap_or(usize::MAX), 0);
        self.queue.log().read(start, &mut self.window)?;
        self.read_bytes += size;
        for (offset, entry) in &self.entries[self.next..self.next + count] {
            let place = usize::try_from(entry.log_offset.0 - start).unwrap_or(usize::MAX);
            let bytes = &self.window[place..place + entry.record_size as usize];
            each(&self.queue.record(*offset, entry, bytes)?);
        }
        self.next += count;
        Ok(true)
    }

    fn read_entries(&mut self) -> Result<()> {
        let from = self.range.start;
        let entries = self.queue.entries(from, ENTRY_COUNT.min(self.range.end - from))?;
        if entries.is_empty() {
            // Its file went since the queue was looked at.
            self.queue.entry(QueueOffset(from))?;
        }
        self.range.start += entries.len() as u64;
        self.next = 0;
        self.entries.clear();
        let codes = self.tags_codes.as_ref();
        #[allow(clippy::cast_possible_truncation)] // Compat: brokers compare the low half
        let is_wanted =
            |entry: &QueueEntry| codes.is_none_or(|codes| codes.contains(&(entry.tags_code as i32)));
        self.entries
            .extend((from..).zip(entries).filter(|(_, entry)| !entry.is_filler() && is_wanted(entry)));
        Ok(())
    }

    /// How many of the next entries one window takes, and its size.
    fn window_size(&self) -> Result<(usize, u64)> {
        let (offset, first) = &self.entries[self.next];
        let start = first.log_offset.0;
        let left = self.queue.left_for(*offset, first)?;
        let (mut count, mut size) = (1, u64::from(first.record_size));
        for (_, entry) in &self.entries[self.next + 1..] {
            let (at, end) = (entry.log_offset.0, entry.end().map_or(u64::MAX, |end| end.0));
            let is_near = at >= start + size && at - (start + size) <= GAP_SIZE_MAX;
            if !is_near || end - start > left.min(WINDOW_SIZE_MAX) {
                break;
            }
            size = end - start;
            count += 1;
        }
        Ok((count, size))
    }
}
