//! Numbers for people and monitors.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::message::Receipt;
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
    messages: AtomicU64,
    bytes: AtomicU64,
    batches: AtomicU64,
    flushes: AtomicU64,
}

impl Counters {
    pub fn count_append(&self, receipts: &[Receipt]) {
        let bytes = receipts.iter().map(|receipt| u64::from(receipt.size_bytes)).sum();
        self.messages.fetch_add(receipts.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.batches.fetch_add(1, Ordering::Relaxed);
    }

    pub fn count_flush(&self) {
        self.flushes.fetch_add(1, Ordering::Relaxed);
    }

    pub fn snapshot(&self, core: &StoreCore) -> Statistics {
        Statistics {
            messages_appended: self.messages.load(Ordering::Relaxed),
            bytes_appended: self.bytes.load(Ordering::Relaxed),
            batches_appended: self.batches.load(Ordering::Relaxed),
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
