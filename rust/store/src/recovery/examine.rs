//! Finding the log's end. Reads, changes nothing.

use std::ops::ControlFlow;

use escrowmq_wire::{LogItem, RecordError};

use super::{Files, RecoveryReport};
use crate::commit_log::{LogPoint, Walk};
use crate::error::{Result, StoreError};
use crate::mapped::{PAGE_SIZE, Segment, SegmentChain};
use crate::offset::LogOffset;
use crate::stop_note::StopNote;

/// Apache sets its checkpoint's times a little ahead of what it has flushed, and allows for this much when it reads them.
pub(crate) const CHECKPOINT_SLACK_MS: i64 = 3_000;
/// Mismatches beyond this many are counted by nobody: the first ones tell the story.
const MISMATCHES_REPORTED_MAX: usize = 1_000;

/// What the directory holds.
#[derive(Debug)]
pub(crate) struct Examined {
    /// Where the log ends.
    pub end: LogPoint,
    /// From where its bytes may not be on disk.
    pub durable_before: LogOffset,
    /// Whether the stop note was right: queues and index are whole.
    pub is_orderly: bool,
    /// Whether the last process did not stop.
    pub was_killed: bool,
    /// What there is to say about it.
    pub report: RecoveryReport,
}

/// Looks at the files of a store.
///
/// # Errors
/// [`StoreError::NotALog`], [`StoreError::WrongSize`].
pub(crate) fn examine(
    files: &Files,
    configured_segment_size: u64,
    was_killed: bool,
    note: Option<&StopNote>,
) -> Result<Examined> {
    refuse_odd_size(&files.chain, configured_segment_size)?;
    refuse_foreign(&files.chain)?;
    if let Some(end) = note.filter(|_| !was_killed).and_then(|note| agreed_end(files, note)) {
        let report = RecoveryReport {
            was_orderly: true,
            checked_from: end.offset,
            log_end: end.offset,
            ..RecoveryReport::default()
        };
        return Ok(Examined { end, durable_before: end.offset, is_orderly: true, was_killed, report });
    }
    // A queue that is shorter than it was: someone removed its files, which may hold entries of the oldest records.
    let lacks_entries = note.is_some_and(|note| note.queues.iter().any(|queue| is_short(files, queue)));
    scan(files, configured_segment_size, was_killed, lacks_entries)
}

/// Whether a queue ends before the offset that a stop note has for it.
fn is_short(files: &Files, (topic, queue_id, end): &(String, u32, u64)) -> bool {
    files.queues.get(topic, *queue_id).is_none_or(|queue| queue.max_offset().0 < *end)
}

/// Walks the log from a point before which it is surely durable, and in the queues unless they lack entries, to the
/// first record that is not whole.
fn scan(
    files: &Files,
    configured_segment_size: u64,
    was_killed: bool,
    lacks_entries: bool,
) -> Result<Examined> {
    let times = files.checkpoint.times();
    let sure_ms = match times.log_ms.min(times.queues_ms).saturating_sub(CHECKPOINT_SLACK_MS) {
        _ if lacks_entries => i64::MIN,
        sure_ms => sure_ms,
    };
    let from = segment_before(&files.chain, sure_ms).map_or(0, |segment| segment.start());
    let mut end = LogPoint { offset: LogOffset(from), ..LogPoint::default() };
    let mut report = RecoveryReport { checked_from: end.offset, ..RecoveryReport::default() };
    let mut walk = Walk::new(&files.chain, end.offset, LogOffset(u64::MAX));
    let result = walk.each(|record| {
        let at = LogOffset(record.log_offset());
        match record.check_whole() {
            // Zeros in text are a sector that was lost, unless the record surely reached the disk: then a producer
            // sent them, and Apache took them.
            Err(RecordError::Nul { .. }) if !was_killed || record.store_timestamp_ms() < times.log_ms => {}
            result => result.map_err(|reason| StoreError::Damaged { at, reason })?,
        }
        if record.check_record_crc() == Some(false)
            && report.record_crc_mismatches.len() < MISMATCHES_REPORTED_MAX
        {
            tracing::warn!(%at, "the record's trailing CRC does not agree, though the record is whole");
            report.record_crc_mismatches.push(at);
        }
        report.records_checked += 1;
        report.bytes_checked += u64::from(record.size());
        end = LogPoint {
            timestamp_ms: end.timestamp_ms.max(record.store_timestamp_ms()),
            ..LogPoint::after(&record)
        };
        Ok(ControlFlow::Continue(()))
    });
    end.offset = walk.position();
    match result {
        Ok(()) | Err(StoreError::Damaged { reason: RecordError::EndOfData { .. }, .. }) => {}
        Err(StoreError::Damaged { at, reason }) => {
            refuse_truncated(&files.chain, at, reason, configured_segment_size)?;
            report.end_reason = reason.to_string();
        }
        Err(error) => return Err(error),
    }
    report.log_end = end.offset;
    let durable_before =
        if was_killed { end_of_older(&files.chain, times.log_ms, end.offset)? } else { end.offset };
    Ok(Examined { end, durable_before, is_orderly: false, was_killed, report })
}

/// Where the records stored before a time end: what follows, the blank of their segment included, may be younger.
pub(super) fn end_of_older(chain: &SegmentChain, timestamp_ms: i64, end: LogOffset) -> Result<LogOffset> {
    let mut older_end = LogOffset(segment_before(chain, timestamp_ms).map_or(0, |segment| segment.start()));
    Walk::new(chain, older_end, end).each(|record| {
        if record.store_timestamp_ms() >= timestamp_ms {
            return Ok(ControlFlow::Break(()));
        }
        older_end = LogPoint::after(&record).offset;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(older_end.min(end))
}

/// The newest segment that begins with a whole record stored before a time, else the oldest one.
fn segment_before(chain: &SegmentChain, timestamp_ms: i64) -> Option<std::sync::Arc<Segment>> {
    let segments = chain.all();
    let newest = segments.iter().rev().find(|segment| match first_item(segment) {
        Ok(LogItem::Record(record)) => {
            record.store_timestamp_ms() < timestamp_ms && record.check_whole().is_ok()
        }
        _ => false,
    });
    newest.or(segments.first()).cloned()
}

/// Where the stop note says that the log ends, if log, queues and index agree with all of it.
fn agreed_end(files: &Files, note: &StopNote) -> Option<LogPoint> {
    let is_same = StopNote::queue_ends(&files.queues.list()) == note.queues
        && files.index.last_log_offset() == note.index_end;
    if !is_same || !ends_at(&files.chain, note.log_end) {
        return None;
    }
    let Some(last_record) = note.last_record else {
        let is_empty = files.chain.first().is_none_or(|segment| segment.start() == note.log_end.0);
        return is_empty.then_some(LogPoint { offset: note.log_end, ..LogPoint::default() });
    };
    let mut end = None;
    let mut walk = Walk::new(&files.chain, last_record, note.log_end);
    walk.each(|record| {
        record.check_whole().map_err(|reason| StoreError::Damaged { at: last_record, reason })?;
        end = Some(LogPoint::after(&record));
        Ok(ControlFlow::Break(()))
    })
    .ok()?;
    end.filter(|end| end.offset == note.log_end)
}

/// Whether nothing stands at an offset.
fn ends_at(chain: &SegmentChain, end: LogOffset) -> bool {
    let mut has_more = false;
    let result = Walk::new(chain, end, LogOffset(u64::MAX)).each(|_| {
        has_more = true;
        Ok(ControlFlow::Break(()))
    });
    !has_more
        && matches!(result, Ok(()) | Err(StoreError::Damaged { reason: RecordError::EndOfData { .. }, .. }))
}

/// Refuses files that no log began. A torn write can't be mistaken for one: a record's size and magic stand in one
/// sector, and a new segment reads as zeros.
fn refuse_foreign(chain: &SegmentChain) -> Result<()> {
    for segment in chain.all() {
        if let Err(reason @ RecordError::BadMagic { .. }) = first_item(&segment) {
            return Err(StoreError::NotALog { path: segment.path().to_path_buf(), reason });
        }
    }
    Ok(())
}

/// Refuses files of a size that nobody configures: they lost their end, at whatever byte that was.
fn refuse_odd_size(chain: &SegmentChain, configured: u64) -> Result<()> {
    let found = chain.layout().segment_size_bytes;
    match chain.first() {
        Some(first) if found != configured && !found.is_multiple_of(PAGE_SIZE as u64) => {
            Err(StoreError::WrongSize { path: first.path().to_path_buf(), expected: configured, found })
        }
        _ => Ok(()),
    }
}

/// Refuses a lone file that lost its end: it has another size than configured, and a record reaches beyond it.
fn refuse_truncated(chain: &SegmentChain, at: LogOffset, reason: RecordError, configured: u64) -> Result<()> {
    let found = chain.layout().segment_size_bytes;
    match chain.segment_for(at.0) {
        Some(segment) if found != configured && matches!(reason, RecordError::NotEnoughBytes { .. }) => {
            Err(StoreError::WrongSize { path: segment.path().to_path_buf(), expected: configured, found })
        }
        _ => Ok(()),
    }
}

fn first_item(segment: &Segment) -> std::result::Result<LogItem<'_>, RecordError> {
    LogItem::parse(segment.slice(0..segment.published()), segment.start())
}
