//! Appending: one lock, one pass. Everything that can fail (a bad message, no room for a segment) fails before the
//! first byte is written, so a batch is in the log whole or not at all.

use std::sync::Arc;

use escrowmq_wire::{BLANK_SIZE_MIN, RECORD_CRC_SIZE, Record, encode_blank_into, strip_record_crc};
use parking_lot::MutexGuard;

use super::{AppendRules, CommitLog, LogPoint, QueueOffsets, TopicOffsets};
use crate::error::{BadMessage, Result, StoreError};
use crate::mapped::{Segment, SegmentChain};
use crate::message::{NewMessage, Receipt, is_queued};
use crate::offset::{LogOffset, QueueOffset};

/// What the append lock guards.
#[derive(Debug)]
pub(super) struct Appender {
    /// The segment that is written, and how much of it is.
    current: Option<Arc<Segment>>,
    position: usize,
    queue_offsets: QueueOffsets,
    last_timestamp_ms: i64,
    last_record: Option<LogOffset>,
    is_closed: bool,
    /// From here on zeros are being written; an append must not get there before they are.
    pub zeroed_from: Option<u64>,
    counts: AppendCounts,
}

/// What was appended since the log was opened.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AppendCounts {
    pub messages: u64,
    pub bytes: u64,
    pub batches: u64,
}

impl Appender {
    pub fn new(chain: &SegmentChain, end: LogPoint, queue_offsets: QueueOffsets) -> Self {
        // A log that ends with its last segment goes on in one that is yet to be made.
        let current = chain.segment_for(end.offset.0).or_else(|| chain.last());
        let position = current
            .as_ref()
            .map_or(0, |segment| usize::try_from(end.offset.0 - segment.start()).unwrap_or(segment.size()));
        Self {
            current,
            position,
            queue_offsets,
            last_timestamp_ms: end.timestamp_ms,
            last_record: end.record,
            is_closed: false,
            zeroed_from: None,
            counts: AppendCounts::default(),
        }
    }

    pub fn end(&self) -> LogPoint {
        let offset = self.current.as_ref().map_or(0, |segment| segment.start() + self.position as u64);
        LogPoint { offset: LogOffset(offset), timestamp_ms: self.last_timestamp_ms, record: self.last_record }
    }

    pub fn close(&mut self) {
        self.is_closed = true;
    }

    /// Lets readers see what was written since the last call.
    fn publish(&self) {
        if let Some(segment) = &self.current {
            segment.publish(self.position);
        }
    }

    /// Ends the present segment with a blank and goes on in `next`.
    fn roll(&mut self, next: Arc<Segment>) {
        if let Some(segment) = &self.current {
            let rest = segment.size() - self.position;
            if rest >= BLANK_SIZE_MIN {
                let mut blank = Vec::with_capacity(BLANK_SIZE_MIN);
                encode_blank_into(u32::try_from(rest).unwrap_or(u32::MAX), &mut blank);
                segment.write_at(self.position, &blank);
            }
            segment.publish(segment.size());
        }
        self.current = Some(next);
        self.position = 0;
    }
}

impl CommitLog {
    /// Appends all messages or none, and gives each one's receipt to `receive`.
    ///
    /// # Errors
    /// [`StoreError::BadMessage`], [`StoreError::Poisoned`], [`StoreError::Closed`], [`StoreError::Io`] where a segment
    /// can't be had.
    pub fn append(
        &self,
        messages: &[NewMessage<'_>],
        now_ms: i64,
        mut receive: impl FnMut(Receipt),
    ) -> Result<()> {
        if messages.is_empty() {
            return Ok(());
        }
        let (mut appender, fresh) = self.lock_with_room(messages)?;
        let mut fresh = fresh.into_iter();
        let timestamp_ms = now_ms.max(appender.last_timestamp_ms);
        appender.last_timestamp_ms = timestamp_ms;
        for message in messages {
            let properties = strip_record_crc(message.properties);
            let mut record = message.to_record(&properties, self.rules.store_host);
            let size = self.rules.record_size(&record);
            if !has_room(appender.current.as_deref(), appender.position, size) {
                appender.roll(fresh.next().expect("reserved for every roll"));
            }
            record.log_offset = appender.end().offset.0;
            record.store_timestamp_ms = timestamp_ms;
            if is_queued(record.sys_flag) {
                record.queue_offset = appender.queue_offsets.take(record.topic, record.queue_id);
            }
            let range = appender.position..appender.position + size;
            let segment = appender.current.as_ref().expect("there is room in it");
            segment.write_with(range, |bytes| self.rules.encode(&record, bytes));
            appender.position += size;
            appender.last_record = Some(LogOffset(record.log_offset));
            appender.counts.bytes += size as u64;
            receive(Receipt {
                log_offset: LogOffset(record.log_offset),
                size_bytes: u32::try_from(size).unwrap_or(u32::MAX),
                queue_offset: QueueOffset(record.queue_offset),
                store_timestamp_ms: timestamp_ms,
            });
        }
        appender.counts.messages += messages.len() as u64;
        appender.counts.batches += 1;
        appender.publish();
        self.written.raise(appender.end().offset.0);
        Ok(())
    }

    /// Where the log ends, and when it was last appended to.
    pub fn end(&self) -> LogPoint {
        self.appender.lock().end()
    }

    /// The offset that the next message of a queue gets.
    pub fn next_queue_offset(&self, topic: &str, queue_id: u32) -> QueueOffset {
        QueueOffset(self.appender.lock().queue_offsets.next(topic, queue_id))
    }

    /// What was appended since the log was opened.
    pub fn counts(&self) -> AppendCounts {
        self.appender.lock().counts
    }

    /// Where the log ends, and the next offsets of some topics there.
    pub fn offsets_of(&self, topics: &[&str]) -> (LogOffset, Vec<Option<TopicOffsets>>) {
        let appender = self.appender.lock();
        let offsets = topics.iter().map(|topic| appender.queue_offsets.of_topic(topic).cloned()).collect();
        (appender.end().offset, offsets)
    }

    /// Lets the queues of some topics begin at 0 again, if nothing was appended to them since their offsets were `known`.
    /// `forget` is called before anything can be appended again, and what it returns is: `None` where it was not called.
    ///
    /// # Errors
    /// That of `forget`; the queues then go on as before.
    pub fn forget_offsets<T>(
        &self,
        topics: &[&str],
        known: &[Option<TopicOffsets>],
        forget: impl FnOnce() -> Result<T>,
    ) -> Result<Option<T>> {
        let mut appender = self.appender.lock();
        let is_known = |(topic, known): (&&str, &Option<TopicOffsets>)| {
            appender.queue_offsets.of_topic(topic) == known.as_ref()
        };
        if !topics.iter().zip(known).all(is_known) {
            return Ok(None);
        }
        let forgotten = forget()?;
        for topic in topics {
            appender.queue_offsets.forget(topic);
        }
        Ok(Some(forgotten))
    }

    /// The lock, held when all messages can be written, and the segments that they will roll into.
    fn lock_with_room(
        &self,
        messages: &[NewMessage<'_>],
    ) -> Result<(MutexGuard<'_, Appender>, Vec<Arc<Segment>>)> {
        let mut appender = self.appender.lock();
        loop {
            // Checked under the lock: after a failed flush no later append may be acknowledged.
            self.poison.check()?;
            if appender.is_closed {
                return Err(StoreError::Closed);
            }
            let (fresh, end) = self.reserve(&appender, messages)?;
            if appender.zeroed_from.is_none_or(|from| end <= from) {
                return Ok((appender, fresh));
            }
            self.zeroed.wait(&mut appender);
        }
    }

    /// Checks every message, then gets the segments that the batch will roll into: a bad message costs no segment. Where
    /// the batch will end is returned with them.
    fn reserve(&self, appender: &Appender, messages: &[NewMessage<'_>]) -> Result<(Vec<Arc<Segment>>, u64)> {
        let mut rolls = 0;
        let mut position = appender.current.is_some().then_some(appender.position);
        let mut topic_before = None;
        for (index, message) in messages.iter().enumerate() {
            let is_known = topic_before == Some(message.topic);
            let bad = |reason| StoreError::BadMessage { index, reason };
            let size = self.check(message, is_known).map_err(bad)?;
            topic_before = Some(message.topic);
            let start = position.filter(|start| start + size + BLANK_SIZE_MIN <= self.chain.segment_size());
            rolls += usize::from(start.is_none());
            position = Some(start.unwrap_or(0) + size);
        }
        if let Some(segment) = &appender.current {
            // One that Apache made is sparse: a full disk must be an error here, not a fault in the mapping.
            segment.ensure_allocated(segment.size(), segment.size())?;
        }
        let mut fresh: Vec<Arc<Segment>> = Vec::new();
        for _ in 0..rolls {
            let before = fresh.last().or(appender.current.as_ref());
            let next = self.segment_at(before.map_or(0, |segment| segment.end()))?;
            next.ensure_allocated(next.size(), next.size())?;
            fresh.push(next);
        }
        let last_start = fresh.last().or(appender.current.as_ref()).map_or(0, |segment| segment.start());
        Ok((fresh, last_start + position.unwrap_or(0) as u64))
    }

    /// The size of a message's record, or why there can't be one. A batch often has one topic, which is checked once.
    fn check(&self, message: &NewMessage<'_>, is_topic_checked: bool) -> Result<usize, BadMessage> {
        if !is_topic_checked {
            message.check_topic()?;
        }
        // The checksum pair, and the separator that the pair before it may lack.
        let properties_room = if self.rules.has_record_crc { RECORD_CRC_SIZE + 1 } else { 0 };
        message.check_values(self.rules.body_size_max, properties_room)?;
        let properties = strip_record_crc(message.properties);
        let size = self.rules.record_size(&message.to_record(&properties, self.rules.store_host));
        let limit = self.chain.segment_size() - BLANK_SIZE_MIN;
        if size > limit { Err(BadMessage::Record { found: size, limit }) } else { Ok(size) }
    }

    /// The segment that begins at an offset: one that was prepared, or a new one.
    fn segment_at(&self, start: u64) -> Result<Arc<Segment>> {
        let _growing = self.growth.lock();
        match self.chain.segment_for(start) {
            Some(prepared) => Ok(prepared),
            None => self.grow(start),
        }
    }
}

impl AppendRules {
    fn record_size(&self, record: &Record<'_>) -> usize {
        if self.has_record_crc { record.encoded_size_with_crc() } else { record.encoded_size() }
    }

    fn encode(&self, record: &Record<'_>, out: &mut [u8]) {
        if self.has_record_crc {
            record.encode_with_crc_to(out);
        } else {
            record.encode_to(out);
        }
    }
}

/// Compat: a segment keeps room for a blank behind every record.
fn has_room(segment: Option<&Segment>, position: usize, size: usize) -> bool {
    segment.is_some_and(|segment| position + size + BLANK_SIZE_MIN <= segment.size())
}
