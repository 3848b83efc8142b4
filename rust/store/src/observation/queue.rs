//! A queue as it is at one moment: from where to where it may be read, and its entries between.

use std::sync::Arc;

use escrowmq_wire::{LogItem, RecordView};

use super::files::Files;
use super::scan::QueueScan;
use crate::consume_queue::{ENTRY_SIZE, QueueEntry, TimeBoundary, partition_point, search_by_time};
use crate::error::{Result, StoreError, Unreadable};
use crate::offset::{LogOffset, QueueOffset};

/// Entries that are held against the log where nobody says how far it is visible: those that a writer may just be at.
const TAIL_COUNT: u64 = 64;
const ENTRY_SIZE_U64: u64 = ENTRY_SIZE as u64;

/// A queue as it was when it was looked at.
#[derive(Debug)]
pub struct ObservedQueue {
    topic: String,
    queue_id: u32,
    entries: Arc<Files>,
    log: Arc<Files>,
    min: u64,
    max: u64,
}

impl ObservedQueue {
    pub(super) fn load(
        topic: &str,
        queue_id: u32,
        entries: Files,
        log: Arc<Files>,
        limit: Option<LogOffset>,
    ) -> Result<Self> {
        let (start, end) = entries.look()?;
        let (log_start, _) = log.look()?;
        let mut queue = Self {
            topic: topic.to_owned(),
            queue_id,
            entries: Arc::new(entries),
            log,
            min: start / ENTRY_SIZE_U64,
            max: end / ENTRY_SIZE_U64,
        };
        queue.max = queue.end_of(QueueEntry::is_written)?;
        if let Some(limit) = limit {
            queue.max =
                queue.end_of(|entry| entry.is_filler() || entry.end().is_some_and(|end| end <= limit))?;
        }
        queue.min = queue.end_of(|entry| entry.is_filler() || entry.log_offset.0 < log_start)?;
        if limit.is_none() {
            queue.max = queue.checked_end()?;
        }
        Ok(queue)
    }

    /// The topic.
    #[must_use]
    pub fn topic(&self) -> &str {
        &self.topic
    }

    /// Its number.
    #[must_use]
    pub fn queue_id(&self) -> u32 {
        self.queue_id
    }

    /// The first entry whose record is still there.
    #[must_use]
    pub fn min_offset(&self) -> QueueOffset {
        QueueOffset(self.min)
    }

    /// The offset behind the last entry that may be read.
    #[must_use]
    pub fn max_offset(&self) -> QueueOffset {
        QueueOffset(self.max)
    }

    /// The entry at an offset.
    ///
    /// # Errors
    /// [`StoreError::NoRecord`] where its file is gone, [`StoreError::Io`].
    pub fn entry(&self, offset: QueueOffset) -> Result<QueueEntry> {
        let mut bytes = [0; ENTRY_SIZE];
        self.entries.read(offset.0 * ENTRY_SIZE_U64, &mut bytes)?;
        Ok(QueueEntry::decode(&bytes))
    }

    /// Entries from an offset on, at most `count_max`, and none of the next file.
    pub(super) fn entries(&self, from: u64, count_max: u64) -> Result<Vec<QueueEntry>> {
        let left = self.entries.left_in_file(from * ENTRY_SIZE_U64)? / ENTRY_SIZE_U64;
        let count = usize::try_from(count_max.min(left)).unwrap_or(usize::MAX);
        let mut bytes = vec![0; count * ENTRY_SIZE];
        if count > 0 {
            self.entries.read(from * ENTRY_SIZE_U64, &mut bytes)?;
        }
        let (entries, _) = bytes.as_chunks::<ENTRY_SIZE>();
        Ok(entries.iter().map(QueueEntry::decode).collect())
    }

    /// The queue offset for a store time, as brokers answer it.
    ///
    /// # Errors
    /// [`StoreError::Unreadable`], [`StoreError::Io`].
    pub fn offset_by_time(&self, timestamp_ms: i64, boundary: TimeBoundary) -> Result<QueueOffset> {
        let mut failure = None;
        let found = search_by_time(self.min_offset(), self.max_offset(), timestamp_ms, boundary, &mut |at| {
            match self.store_time(at) {
                Ok(time) => Some(time),
                // Expired meanwhile: older than all others.
                Err(StoreError::NoRecord { .. }) => None,
                Err(error) => {
                    failure = Some(error);
                    None
                }
            }
        });
        failure.map_or(Ok(found), Err)
    }

    /// Reads the records of a range, as far as this queue goes.
    #[must_use]
    pub fn scan(self: &Arc<Self>, from: QueueOffset, to: QueueOffset) -> QueueScan {
        QueueScan::new(Arc::clone(self), from.0.max(self.min), to.0.min(self.max))
    }

    pub(super) fn log(&self) -> &Files {
        &self.log
    }

    /// What stands at an entry's place, if it is the record that the entry names.
    pub(super) fn record<'a>(
        &self,
        offset: u64,
        entry: &QueueEntry,
        bytes: &'a [u8],
    ) -> Result<RecordView<'a>> {
        let at = entry.log_offset;
        let damaged = |reason| self.unreadable(offset, at, Unreadable::Record(reason));
        let other = || self.unreadable(offset, at, Unreadable::OtherRecord);
        let LogItem::Record(view) = LogItem::parse(bytes, at.0).map_err(damaged)? else {
            return Err(other());
        };
        view.check_whole().map_err(damaged)?;
        let is_named = view.topic() == self.topic
            && view.queue_id() == self.queue_id
            && view.queue_offset() == offset
            && view.size() == entry.record_size;
        if is_named { Ok(view) } else { Err(other()) }
    }

    /// The bytes of the log from a record on to the end of its file, if these hold as many as the queue says: that is not
    /// believed before it is allocated. Where there is no such file any more, whoever reads it is told.
    pub(super) fn left_for(&self, offset: u64, entry: &QueueEntry) -> Result<u64> {
        let (at, record_size) = (entry.log_offset, entry.record_size);
        let left = self.log.left_in_file(at.0)?;
        if left == 0 {
            self.log.read(at.0, &mut [0])?;
        }
        if u64::from(record_size) > left {
            return Err(self.unreadable(offset, at, Unreadable::BeyondFile { record_size, left }));
        }
        Ok(left)
    }

    fn unreadable(&self, offset: u64, at: LogOffset, reason: Unreadable) -> StoreError {
        let (topic, queue_id, offset) = (self.topic.clone(), self.queue_id, QueueOffset(offset));
        StoreError::Unreadable { path: self.log.path_of(at.0), at, topic, queue_id, offset, reason }
    }

    fn store_time(&self, offset: QueueOffset) -> Result<i64> {
        let entry = self.entry(offset)?;
        self.read_record(offset.0, &entry, |view| view.store_timestamp_ms())
    }

    fn read_record<T>(
        &self,
        offset: u64,
        entry: &QueueEntry,
        read: impl FnOnce(RecordView<'_>) -> T,
    ) -> Result<T> {
        self.left_for(offset, entry)?;
        let mut bytes = vec![0; entry.record_size as usize];
        self.log.read(entry.log_offset.0, &mut bytes)?;
        self.record(offset, entry, &bytes).map(read)
    }

    /// The first offset of this queue whose entry is not as told; true up to some point, false from there on.
    fn end_of(&self, is_before: impl Fn(&QueueEntry) -> bool) -> Result<u64> {
        let mut failure = None;
        let end = partition_point(self.min, self.max, |offset| match self.entry(QueueOffset(offset)) {
            Ok(entry) => is_before(&entry),
            // The first files went meanwhile.
            Err(StoreError::NoRecord { .. }) => true,
            Err(error) => {
                failure = Some(error);
                true
            }
        });
        failure.map_or(Ok(end), Err)
    }

    /// The end of what reads as whole records: a writer that says nothing may be at the last ones.
    fn checked_end(&self) -> Result<u64> {
        for offset in self.max.saturating_sub(TAIL_COUNT).max(self.min)..self.max {
            let entry = self.entry(QueueOffset(offset))?;
            match self.read_record(offset, &entry, |_| ()) {
                Ok(()) => {}
                Err(error @ StoreError::Io { .. }) => return Err(error),
                Err(_) => return Ok(offset),
            }
        }
        Ok(self.max)
    }
}
