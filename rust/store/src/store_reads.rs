//! The reading side of a store: by log offset, by queue, by time, by key. Nothing here changes anything.

use std::sync::Arc;

use crate::commit_log::StoredRecord;
use crate::consume_queue::{ConsumeQueue, QueueStatus, TimeBoundary};
use crate::error::{Result, StoreError};
use crate::key_index::KeyIndex;
use crate::offset::{LogOffset, QueueOffset};
use crate::options::FlushMode;
use crate::store_core::StoreCore;

/// Records looked at for a key, beyond as many as are wanted: whoever sends messages can choose keys of one hash, and must
/// not make a search of one of them long.
const CANDIDATES_MAX: usize = 1_024;

impl StoreCore {
    /// The record at a log offset. Any offset may be asked for, so what does not read as a record there is none: only
    /// who follows a queue knows that one was. In async mode, where an append is acknowledged before it is in its queue, it
    /// can be read from its append on.
    ///
    /// # Errors
    /// [`StoreError::NoRecord`] where none begins, or none may be read yet.
    pub fn record_at(&self, at: LogOffset) -> Result<StoredRecord> {
        let limit = match self.options.flush {
            FlushMode::Async { .. } => self.log_end(),
            FlushMode::Sync => self.visible_end(),
        };
        self.log.record_at(at, limit).map_err(|error| match error {
            StoreError::Damaged { at, .. } => {
                StoreError::NoRecord { at, start: self.log_start(), end: limit }
            }
            error => error,
        })
    }

    /// Up to `count_max` records of a queue, and no more than `size_max_bytes` unless the first alone is larger.
    /// Empty where the queue has none at `from`.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub fn read_queue(
        &self,
        topic: &str,
        queue_id: u32,
        from: QueueOffset,
        count_max: usize,
        size_max_bytes: usize,
    ) -> Result<Vec<StoredRecord>> {
        let Some(queue) = self.queues.get(topic, queue_id) else { return Ok(Vec::new()) };
        let entries = queue.entries(from, count_max);
        let mut records = Vec::with_capacity(entries.len());
        let mut size_bytes = 0;
        for entry in entries {
            size_bytes += entry.record_size as usize;
            if size_bytes > size_max_bytes && !records.is_empty() {
                break;
            }
            match self.log.record_at(entry.log_offset, self.visible_end()) {
                Ok(record) => records.push(record),
                // Expired since the entry was read.
                Err(StoreError::NoRecord { at, start, .. }) if at < start && records.is_empty() => {}
                // Expired behind what was read, or in its queue a moment before it is visible: for the next read.
                Err(StoreError::NoRecord { at, start, end }) if at < start || at >= end => break,
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }

    /// All queues, with where they begin and end.
    pub fn queues(&self) -> Vec<QueueStatus> {
        self.queues.list()
    }

    /// Where a queue begins and ends, where there is one.
    pub fn queue_status(&self, topic: &str, queue_id: u32) -> Option<QueueStatus> {
        self.queues.get(topic, queue_id).map(|queue| QueueStatus::from(&*queue))
    }

    /// A queue, where there is one.
    pub fn queue(&self, topic: &str, queue_id: u32) -> Option<Arc<ConsumeQueue>> {
        self.queues.get(topic, queue_id)
    }

    /// Where a queue will end when all that is written is visible.
    pub fn written_queue_end(&self, topic: &str, queue_id: u32) -> QueueOffset {
        self.log.next_queue_offset(topic, queue_id)
    }

    /// The queue offset for a store time; `None` where there is no such queue.
    pub fn offset_by_time(
        &self,
        topic: &str,
        queue_id: u32,
        timestamp_ms: i64,
        boundary: TimeBoundary,
    ) -> Option<QueueOffset> {
        let queue = self.queues.get(topic, queue_id)?;
        let store_time = |at: LogOffset, _size: u32| {
            // What is in a queue is written, and a moment later visible: it must not pass for expired meanwhile.
            self.log.record_at(at, self.log_end()).ok().map(|record| record.view().store_timestamp_ms())
        };
        Some(queue.offset_by_time(timestamp_ms, boundary, &store_time))
    }

    /// The log offset and the store time of the last record in the key index.
    pub fn key_index_end(&self) -> Option<(LogOffset, i64)> {
        self.index.lock().end()
    }

    /// Messages of a topic with a key (or a unique id) stored between two times, newest first. Where more than a thousand
    /// other keys have the same hash, older ones may be missing.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn find_by_key(
        &self,
        topic: &str,
        key: &str,
        count_max: usize,
        begin_ms: i64,
        end_ms: i64,
    ) -> Result<Vec<StoredRecord>> {
        let mut candidates_max = count_max;
        loop {
            let candidates = self.index.lock().find(topic, key, candidates_max, begin_ms, end_ms)?;
            let has_more = candidates.len() == candidates_max;
            let records = candidates.into_iter().filter_map(|at| self.record_at(at).ok());
            // The index knows hashes: another key, or another topic, may have the same one.
            let has_key = |record: &StoredRecord| KeyIndex::has_key(&record.view(), topic, key);
            let found: Vec<_> = records.filter(has_key).take(count_max).collect();
            if found.len() == count_max || !has_more || candidates_max >= CANDIDATES_MAX {
                return Ok(found);
            }
            candidates_max = candidates_max.saturating_mul(2).min(CANDIDATES_MAX);
        }
    }

    /// The newest message of a topic with a unique id.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn find_by_unique_id(&self, topic: &str, id: &str) -> Result<Option<StoredRecord>> {
        let found = self.find_by_key(topic, id, usize::MAX, i64::MIN, i64::MAX)?;
        let has_id = |record: &StoredRecord| {
            record.view().properties().get(escrowmq_wire::property_names::UNIQ_KEY) == Some(id)
        };
        Ok(found.into_iter().find(has_id))
    }
}
