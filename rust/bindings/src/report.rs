//! What a store says about itself: its queues, its start, its expiry, its numbers. Values only.

use escrowmq_store as store;
use pyo3::prelude::*;

/// A queue and the offsets that it holds.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueStatus {
    topic: String,
    queue_id: u32,
    min_offset: u64,
    max_offset: u64,
}

impl From<store::QueueStatus> for QueueStatus {
    fn from(queue: store::QueueStatus) -> Self {
        Self {
            topic: queue.topic,
            queue_id: queue.queue_id,
            min_offset: queue.min_offset.0,
            max_offset: queue.max_offset.0,
        }
    }
}

/// An entry of a queue.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct QueueEntry {
    queue_offset: u64,
    log_offset: u64,
    size_bytes: u32,
    tags_code: i64,
}

impl QueueEntry {
    /// The entry of a queue offset.
    pub fn at(queue_offset: u64, entry: store::QueueEntry) -> Self {
        let store::QueueEntry { log_offset, record_size, tags_code } = entry;
        Self { queue_offset, log_offset: log_offset.0, size_bytes: record_size, tags_code }
    }
}

/// What a start found and did.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the store's own report has them, and each is a claim of its own"
)]
pub struct RecoveryReport {
    was_orderly: bool,
    checked_from: u64,
    records_checked: u64,
    bytes_checked: u64,
    log_end: u64,
    end_reason: String,
    has_cut_log: bool,
    has_rebuilt_queues: bool,
    has_rebuilt_index: bool,
    records_rebuilt: u64,
    record_crc_mismatches: Vec<u64>,
}

impl From<&store::RecoveryReport> for RecoveryReport {
    fn from(report: &store::RecoveryReport) -> Self {
        Self {
            was_orderly: report.was_orderly,
            checked_from: report.checked_from.0,
            records_checked: report.records_checked,
            bytes_checked: report.bytes_checked,
            log_end: report.log_end.0,
            end_reason: report.end_reason.clone(),
            has_cut_log: report.has_cut_log,
            has_rebuilt_queues: report.has_rebuilt_queues,
            has_rebuilt_index: report.has_rebuilt_index,
            records_rebuilt: report.records_rebuilt,
            record_crc_mismatches: report.record_crc_mismatches.iter().map(|at| at.0).collect(),
        }
    }
}

/// What an expiry removed.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct ExpiryReport {
    segments_expired: usize,
    files_removed: usize,
    files_waiting: usize,
    log_start: u64,
}

impl From<store::ExpiryReport> for ExpiryReport {
    fn from(report: store::ExpiryReport) -> Self {
        Self {
            segments_expired: report.segments_expired,
            files_removed: report.files_removed,
            files_waiting: report.files_waiting,
            log_start: report.log_start.0,
        }
    }
}

/// Numbers since the store was opened.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq)]
pub struct Statistics {
    messages_appended: u64,
    bytes_appended: u64,
    batches_appended: u64,
    flushes: u64,
    log_start: u64,
    log_end: u64,
    durable_end: u64,
    visible_end: u64,
    segments: usize,
    queues: usize,
    files_waiting: usize,
    disk_used_ratio: f64,
    poisoned_by: Option<String>,
}

impl From<store::Statistics> for Statistics {
    fn from(numbers: store::Statistics) -> Self {
        Self {
            messages_appended: numbers.messages_appended,
            bytes_appended: numbers.bytes_appended,
            batches_appended: numbers.batches_appended,
            flushes: numbers.flushes,
            log_start: numbers.log_start.0,
            log_end: numbers.log_end.0,
            durable_end: numbers.durable_end.0,
            visible_end: numbers.visible_end.0,
            segments: numbers.segments,
            queues: numbers.queues,
            files_waiting: numbers.files_waiting,
            disk_used_ratio: numbers.disk_used_ratio,
            poisoned_by: numbers.poisoned_by,
        }
    }
}

/// Rust's own form, `Name { field: value }`, is close enough to Python's to read.
macro_rules! repr_as_debug {
    ($($class:ident),+) => {$(
        #[pymethods]
        impl $class {
            fn __repr__(&self) -> String {
                format!("{self:?}")
            }
        }
    )+};
}

repr_as_debug!(QueueStatus, RecoveryReport, ExpiryReport, Statistics);
