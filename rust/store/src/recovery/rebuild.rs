//! Making the directory what a store that ends where [`examine`](super::examine) found it looks like.

use std::ops::ControlFlow;

use escrowmq_wire::RecordView;

use super::examine::end_of_older;
use super::{Examined, Files};
use crate::checkpoint::CheckpointTimes;
use crate::commit_log::Walk;
use crate::consume_queue::{QueueEntry, QueueTable};
use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::mapped::SegmentChain;
use crate::offset::{LogOffset, QueueOffset};
use crate::queue_builder::{EntryRules, is_indexed};

/// Repairs log, queues and index, durably.
///
/// # Errors
/// [`StoreError::Io`]; the repair is then unfinished, and the next start does it again.
pub(crate) fn repair(
    disk: &dyn Disk,
    files: &mut Files,
    rules: &EntryRules,
    examined: &mut Examined,
) -> Result<()> {
    let end = examined.end;
    files.queues.forget(&[], files.queues.deleted().up_to(end.offset));
    // Nothing may be appended before this is durable: a stale record behind the end could be taken for a later one.
    examined.report.has_cut_log = files.chain.truncate(disk, end.offset.0)?;
    if examined.is_orderly {
        files.queues.cut(end.offset)?;
        return Ok(());
    }
    if examined.was_killed {
        let folder = &files.chain.layout().folder;
        // For a removal that a start before this one made and could not sync.
        disk.sync_folder(folder).map_err(StoreError::io("sync", folder))?;
        rewrite(&mut files.chain, examined.durable_before, end.offset)?;
    }
    let start = LogOffset(files.chain.first().map_or(end.offset.0, |segment| segment.start()));
    let queues_from = cut_queues(files, examined.report.checked_from, start)?;
    let index_from = cut_index(files, examined, start)?;
    examined.report.has_rebuilt_index = index_from == start;
    examined.report.has_rebuilt_queues = queues_from == start;
    if queues_from == start || index_from == start {
        forget_built(files)?;
    }
    examined.report.records_rebuilt = match fill(files, rules, queues_from, index_from, end.offset, start)? {
        Filled::All(count) => count,
        // A queue lacks entries below the checked part of the log: its files were removed, by someone or by expiry
        // before it was cut. Entries that are there are left alone: of messages that expired nothing else is left.
        Filled::QueuesLackOlder => {
            forget_built(files)?;
            examined.report.has_rebuilt_queues = true;
            match fill(files, rules, start, index_from, end.offset, start)? {
                Filled::All(count) => count,
                Filled::QueuesLackOlder => unreachable!("nothing is older than the log's start"),
            }
        }
    };
    files.queues.sync_dirty()?;
    files.index.sync()?;
    let (log_ms, ms) = (end.settled().timestamp_ms, end.timestamp_ms);
    let times = CheckpointTimes { log_ms, queues_ms: ms, index_ms: ms };
    files.checkpoint.save_with_offset(times, end.record.unwrap_or_default())
}

/// Lets the checkpoint vouch for no queue and no index entry, durably. While they are made anew from the log's start,
/// a crash leaves some queues whole and others not begun, and only a start that builds all again can tell.
fn forget_built(files: &Files) -> Result<()> {
    let times = files.checkpoint.times();
    let forgotten = CheckpointTimes { queues_ms: 0, index_ms: 0, ..times };
    if times == forgotten { Ok(()) } else { files.checkpoint.save(forgotten) }
}

/// Writes the part of the log that may not be on disk once more, and the zeros behind it, and syncs them. A sync that
/// failed before the stop, or in a start that failed, may have left pages that only look written.
fn rewrite(chain: &mut SegmentChain, from: LogOffset, to: LogOffset) -> Result<()> {
    let mut at = from.0;
    while at < to.0 {
        let Some(segment) = chain.segment_mut(at) else { break };
        let upto = to.0.min(segment.end());
        let within = |offset: u64| usize::try_from(offset - segment.start()).unwrap_or(usize::MAX);
        let range = within(at)..within(upto);
        segment.rewrite(range.clone());
        segment.sync(range).map_err(StoreError::io("sync", segment.path()))?;
        at = upto;
    }
    let Some(segment) = chain.segment_mut(to.0) else { return Ok(()) };
    segment.rewrite_from(usize::try_from(to.0 - segment.start()).unwrap_or(usize::MAX))
}

/// Cuts queues to what is surely durable, and returns from where the log must be built into them.
fn cut_queues(files: &mut Files, checked_from: LogOffset, start: LogOffset) -> Result<LogOffset> {
    if files.queues.list().is_empty() {
        return Ok(start);
    }
    let from = checked_from.max(start);
    files.queues.cut(from)?;
    // What a deletion has left is gone before a topic of the same name is filled again.
    files.queues.settle_deleted()?;
    Ok(from)
}

/// Cuts the index to what is surely durable, and returns from where the log must be built into it.
fn cut_index(files: &mut Files, examined: &Examined, start: LogOffset) -> Result<LogOffset> {
    let durable_before = if examined.was_killed {
        end_of_older(&files.chain, files.checkpoint.times().index_ms, examined.end.offset)?
    } else {
        // An orderly stop of Apache's: it has flushed its index, whatever its checkpoint says.
        examined.end.offset
    };
    let chain = &files.chain;
    files.index.cut(durable_before, &|at| store_time(chain, at))?;
    Ok(match files.index.last_log_offset() {
        Some(last) if examined.was_killed => durable_before.max(LogOffset(last.0 + 1)),
        Some(last) => LogOffset(last.0 + 1).max(start),
        None => start,
    })
}

enum Filled {
    /// This many records went through.
    All(u64),
    /// A queue has no entries for records that the log still holds.
    QueuesLackOlder,
}

/// Builds the log into queues from one offset on, into the index from another.
fn fill(
    files: &mut Files,
    rules: &EntryRules,
    queues_from: LogOffset,
    index_from: LogOffset,
    end: LogOffset,
    start: LogOffset,
) -> Result<Filled> {
    let mut count = 0;
    let mut lacks_older = false;
    let (queues, index) = (&files.queues, &mut files.index);
    // The index may go on in the middle of a record, right behind the last one that it knows.
    let from = queues_from.min(segment_start(&files.chain, index_from)).max(start);
    Walk::new(&files.chain, from, end).each(|record| {
        let at = LogOffset(record.log_offset());
        count += 1;
        if at >= queues_from
            && !queues.is_deleted(record.topic(), at)
            && let Some(entry) = rules.entry(&record)
        {
            let next = queues
                .get(record.topic(), record.queue_id())
                .map_or(QueueOffset(0), |queue| queue.max_offset());
            let found = QueueOffset(record.queue_offset());
            if found > next && queues_from > start {
                lacks_older = true;
                return Ok(ControlFlow::Break(()));
            }
            if found > next {
                // The entries between are of messages that expired, and so are those that are there.
                queues.restart(record.topic(), record.queue_id())?;
            }
            append_or_restart(queues, &record, found, entry)?;
        }
        if at >= index_from && is_indexed(&record) {
            index.index_record(&record)?;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(if lacks_older { Filled::QueuesLackOlder } else { Filled::All(count) })
}

/// Adds an entry. Where another record has its place, the topic was deleted and made again: the later queue counts.
fn append_or_restart(
    queues: &QueueTable,
    record: &RecordView<'_>,
    at: QueueOffset,
    entry: QueueEntry,
) -> Result<()> {
    match queues.append(record.topic(), record.queue_id(), at, entry) {
        Err(StoreError::QueueConflict { .. }) => {
            queues.restart(record.topic(), record.queue_id())?;
            queues.append(record.topic(), record.queue_id(), at, entry)
        }
        result => result,
    }
}

/// An item boundary at or before an offset.
fn segment_start(chain: &SegmentChain, offset: LogOffset) -> LogOffset {
    chain.segment_for(offset.0).map_or(offset, |segment| LogOffset(segment.start()))
}

/// When a record was stored.
fn store_time(chain: &SegmentChain, at: LogOffset) -> Option<i64> {
    let mut timestamp_ms = None;
    Walk::new(chain, at, LogOffset(u64::MAX))
        .each(|record: RecordView<'_>| {
            timestamp_ms = Some(record.store_timestamp_ms());
            Ok(ControlFlow::Break(()))
        })
        .ok()?;
    timestamp_ms
}
