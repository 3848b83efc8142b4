//! How a store is laid out and when it flushes, expires and refuses. Defaults are Apache `RocketMQ`'s, but for `flush`.

use std::net::{Ipv4Addr, SocketAddr};

use crate::consume_queue::ENTRY_SIZE;
use crate::error::{Result, StoreError};

/// When a message counts as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushMode {
    /// Group commit: whoever arrives while a flush runs shares the next one.
    Sync,
    /// At intervals, or when enough pages are dirty.
    Async {
        /// How often dirty pages are looked at.
        interval_ms: u64,
        /// How many 4 KiB pages must be dirty for a flush.
        pages_min: u64,
        /// After this time any dirty byte is flushed.
        thorough_interval_ms: u64,
    },
}

impl FlushMode {
    /// Apache's asynchronous flush: every 500 ms, 4 pages, anything after 10 s.
    pub const ASYNC_DEFAULT: Self =
        Self::Async { interval_ms: 500, pages_min: 4, thorough_interval_ms: 10_000 };
}

/// When old segments go, and when the disk counts as full.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retention {
    /// Age after which a segment may go.
    pub age_max_ms: i64,
    /// Hour of the day, local time, in which old segments go.
    pub delete_hour: u8,
    /// From this share of the disk on, old segments go at any hour.
    pub clean_ratio: f64,
    /// From this share on, segments go whatever their age.
    pub force_ratio: f64,
    /// From this share on, writes are refused.
    pub refuse_ratio: f64,
    /// How long a reader may keep a deleted segment's file; then the file goes and the reader keeps its memory.
    pub reader_grace_ms: i64,
}

impl Default for Retention {
    fn default() -> Self {
        Self {
            age_max_ms: 72 * 3_600_000,
            delete_hour: 4,
            clean_ratio: 0.75,
            force_ratio: 0.85,
            refuse_ratio: 0.90,
            reader_grace_ms: 120_000,
        }
    }
}

/// How a store is laid out and run. Sizes found on disk beat these.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreOptions {
    /// Size of a log segment.
    pub segment_size_bytes: u64,
    /// Entries of 20 bytes in a consume-queue file.
    pub queue_file_entries: u64,
    /// Hash slots of a key-index file.
    pub index_slots: u32,
    /// Entries of a key-index file, the unused entry 0 included.
    pub index_entries: u32,
    /// When a message counts as written.
    pub flush: FlushMode,
    /// How often queues, index and checkpoint are made durable.
    pub checkpoint_interval_ms: u64,
    /// Largest body.
    pub body_size_max_bytes: u32,
    /// Whether records carry a trailing CRC property.
    pub has_record_crc: bool,
    /// When old segments go.
    pub retention: Retention,
    /// Delays of the levels of `SCHEDULE_TOPIC_XXXX`, from level 1 on; they stand in its queue's entries.
    pub delay_levels_ms: Vec<i64>,
    /// The address that records give as the broker's.
    pub store_host: SocketAddr,
}

/// No segment is smaller: a page, which also has room for any system message.
const SEGMENT_SIZE_MIN_BYTES: u64 = 4096;

impl StoreOptions {
    /// Refuses what no store can be made of.
    ///
    /// # Errors
    /// [`StoreError::BadOption`] names the option and its bounds.
    pub fn validate(&self) -> Result<()> {
        let whole = |name, found: u64, min: u64, max: u64| {
            if (min..=max).contains(&found) {
                return Ok(());
            }
            Err(StoreError::BadOption { name, found: found.to_string(), expected: format!("{min} to {max}") })
        };
        let ratio = |name, found: f64| {
            // Above 1 is allowed: it says never.
            if found >= 0.0 {
                return Ok(());
            }
            Err(StoreError::BadOption { name, found: found.to_string(), expected: "0 or more".to_string() })
        };
        let size_max = u64::from(i32::MAX.unsigned_abs());
        whole("segment_size_bytes", self.segment_size_bytes, SEGMENT_SIZE_MIN_BYTES, size_max)?;
        whole("queue_file_entries", self.queue_file_entries, 1, size_max / ENTRY_SIZE as u64)?;
        whole("index_slots", u64::from(self.index_slots), 1, size_max)?;
        whole("index_entries", u64::from(self.index_entries), 2, size_max)?;
        whole("checkpoint_interval_ms", self.checkpoint_interval_ms, 1, size_max)?;
        whole("body_size_max_bytes", u64::from(self.body_size_max_bytes), 1, size_max)?;
        whole("retention_hour", u64::from(self.retention.delete_hour), 0, 23)?;
        ratio("disk_clean_ratio", self.retention.clean_ratio)?;
        ratio("disk_force_ratio", self.retention.force_ratio)?;
        ratio("disk_refuse_ratio", self.retention.refuse_ratio)
    }
}

impl Default for StoreOptions {
    fn default() -> Self {
        const SECOND: i64 = 1_000;
        const MINUTE: i64 = 60 * SECOND;
        const HOUR: i64 = 60 * MINUTE;
        let seconds = [1, 5, 10, 30].map(|n| n * SECOND);
        let minutes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30].map(|n| n * MINUTE);
        let hours = [1, 2].map(|n| n * HOUR);
        Self {
            segment_size_bytes: 1 << 30,
            queue_file_entries: 300_000,
            index_slots: 5_000_000,
            index_entries: 20_000_000,
            flush: FlushMode::Sync,
            checkpoint_interval_ms: 1_000,
            body_size_max_bytes: 4 << 20,
            has_record_crc: false,
            retention: Retention::default(),
            delay_levels_ms: [&seconds[..], &minutes[..], &hours[..]].concat(),
            store_host: SocketAddr::from((Ipv4Addr::LOCALHOST, 10_911)),
        }
    }
}
