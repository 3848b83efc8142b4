//! The commit log: every message of every topic, one after the other, in segments. Appends happen under one lock and
//! end with `written`; a flush raises `durable`. Nothing here knows queues but for the next offset of each.

mod append;
mod cold_read;
mod flush;
mod hot_window;
mod queue_offsets;
mod read;
mod zero_ahead;

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;

use escrowmq_wire::{LogItem, RecordView};
use parking_lot::{Condvar, Mutex};

use crate::disk::Disk;
use crate::error::Result;
use crate::mapped::{Segment, SegmentChain, Watermark};
use crate::offset::LogOffset;
use crate::poison::Poison;
use append::Appender;
use cold_read::ColdRead;
pub(crate) use hot_window::HotWindow;
pub(crate) use queue_offsets::{QueueOffsets, TopicOffsets};
pub use read::StoredRecord;
pub(crate) use read::Walk;

/// What appends need to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendRules {
    pub body_size_max: usize,
    pub has_record_crc: bool,
    pub store_host: SocketAddr,
}

/// A place in the log where a record ends, or its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LogPoint {
    /// The place.
    pub offset: LogOffset,
    /// Store timestamp of the record before it, 0 where there is none.
    pub timestamp_ms: i64,
    /// That record.
    pub record: Option<LogOffset>,
}

impl LogPoint {
    /// The same place, a millisecond after its record. Where all before it is durable, a checkpoint of this time vouches
    /// for that record too, and what is appended next is no older.
    pub fn settled(self) -> Self {
        Self { timestamp_ms: self.timestamp_ms + i64::from(self.record.is_some()), ..self }
    }

    /// The place after a record.
    pub fn after(record: &RecordView<'_>) -> Self {
        Self {
            offset: LogOffset(record.log_offset() + u64::from(record.size())),
            timestamp_ms: record.store_timestamp_ms(),
            record: Some(LogOffset(record.log_offset())),
        }
    }
}

/// The log of a store.
#[derive(Debug)]
pub(crate) struct CommitLog {
    disk: Arc<dyn Disk>,
    chain: SegmentChain,
    rules: AppendRules,
    appender: Mutex<Appender>,
    /// Told when zeros that were written ahead of the end are there.
    zeroed: Condvar,
    /// Held while a segment is added, by an append that needs one or by the helper that prepares one.
    growth: Mutex<()>,
    /// Held while a flush runs: the point up to which the last one went.
    flushed: Mutex<LogPoint>,
    written: Watermark,
    durable: Watermark,
    cold_read: ColdRead,
    poison: Arc<Poison>,
}

impl CommitLog {
    /// A log that ends at `end`, whose bytes are durable.
    pub fn new(
        disk: Arc<dyn Disk>,
        chain: SegmentChain,
        rules: AppendRules,
        end: LogPoint,
        queue_offsets: QueueOffsets,
        poison: Arc<Poison>,
    ) -> Self {
        let appender = Appender::new(&chain, end, queue_offsets);
        chain.all().iter().for_each(|segment| segment.use_singly());
        Self {
            disk,
            chain,
            rules,
            appender: Mutex::new(appender),
            zeroed: Condvar::new(),
            growth: Mutex::new(()),
            flushed: Mutex::new(end),
            written: Watermark::new(end.offset.0),
            durable: Watermark::new(end.offset.0),
            cold_read: ColdRead::default(),
            poison,
        }
    }

    /// The first byte that is still there.
    pub fn start(&self) -> LogOffset {
        LogOffset(self.chain.first().map_or(0, |segment| segment.start()))
    }

    /// How far it is written.
    pub fn written(&self) -> &Watermark {
        &self.written
    }

    /// How far it is on disk.
    pub fn durable(&self) -> &Watermark {
        &self.durable
    }

    /// Its segments.
    pub fn chain(&self) -> &SegmentChain {
        &self.chain
    }

    /// The point up to which the last flush went.
    pub fn flushed(&self) -> LogPoint {
        *self.flushed.lock()
    }

    /// Takes no more appends.
    pub fn close(&self) {
        self.appender.lock().close();
    }

    /// The log offset from which on [`prepare_segment`](Self::prepare_segment) has something to do.
    pub fn prepare_at(&self) -> u64 {
        self.chain.last().map_or(0, |last| last.start() + last.size() as u64 / 2)
    }

    /// No record of the oldest segment is newer than this. `None` where that segment is still needed: it is written, or
    /// not built into the queues up to `built`.
    pub fn first_segment_newest_ms(&self, built: LogOffset) -> Option<i64> {
        let end = self.chain.first()?.end();
        let next = self.chain.segment_for(end).filter(|_| end <= built.0)?;
        match LogItem::parse(next.slice(0..next.published()), end) {
            Ok(LogItem::Record(record)) => Some(record.store_timestamp_ms()),
            _ => None,
        }
    }

    /// Adds the next segment ahead of need, when the present one is half full. Whether it did.
    ///
    /// # Errors
    /// [`crate::StoreError::Io`], of kind `StorageFull` where the disk has no room; the log goes on without.
    pub fn prepare_segment(&self) -> Result<bool> {
        let _growing = self.growth.lock();
        if self.written.get() < self.prepare_at() {
            return Ok(false);
        }
        self.grow(0)?;
        Ok(true)
    }

    /// Adds a segment, while `growth` is held.
    fn grow(&self, start: u64) -> Result<Arc<Segment>> {
        self.chain.push_new(&*self.disk, start).inspect(|segment| segment.use_singly())
    }
}

/// A range of log offsets as one of the segment's own.
fn within(segment: &Segment, range: &Range<u64>) -> Range<usize> {
    let within = |offset: u64| usize::try_from(offset - segment.start()).unwrap_or(usize::MAX);
    within(range.start)..within(range.end)
}
