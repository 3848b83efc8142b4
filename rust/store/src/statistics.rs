//! Numbers for people and monitors.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::offset::LogOffset;
use crate::store_core::StoreCore;

/// Numbers for people and monitors, since the store was opened.
#[derive(Debug, Clone, PartialEq)]
pub struct Statistics {
    /// Messages appended.
    pub messages_appended: u64,
    /// Bytes of their records.
    pub bytes_appended: u64,
    /// Batches they came in.
    pub batches_appended: u64,
    /// Flushes that succeeded.
    pub flushes: u64,
    /// First byte of the log.
    pub log_start: LogOffset,
    /// Where the log ends.
    pub log_end: LogOffset,
    /// How far it is on disk.
    pub durable_end: LogOffset,
    /// How far it is in the queues.
    pub visible_end: LogOffset,
    /// Log segments.
    pub segments: usize,
    /// Consume queues.
    pub queues: usize,
    /// Files of expired segments that wait for their readers.
    pub files_waiting: usize,
    /// Share of the disk in use, as last looked at.
    pub disk_used_ratio: f64,
    /// Why nothing is acknowledged any more.
    pub poisoned_by: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    flushes: AtomicU64,
}

impl Counters {
    pub fn count_flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn snapshot(&self, core: &StoreCore) -> Statistics {
        let appended = core.log.counts();
        Statistics {
            messages_appended: appended.messages,
            bytes_appended: appended.bytes,
            batches_appended: appended.batches,
            flushes: self.flushes.load(Ordering::Relaxed),
            log_start: core.log_start(),
            log_end: core.log_end(),
            durable_end: core.durable_end(),
            visible_end: core.visible_end(),
            segments: core.log.chain().all().len(),
            queues: core.queues().len(),
            files_waiting: core.expiry.waiting(),
            disk_used_ratio: core.expiry.used_ratio(),
            poisoned_by: core.poisoned_by().map(str::to_string),
        }
    }
}
