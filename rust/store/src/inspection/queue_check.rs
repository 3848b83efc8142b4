//! Consume queues, entry by entry: what the log did not account for.

use std::collections::HashMap;
use std::sync::Arc;

use escrowmq_wire::{LogItem, RecordView};

use super::finding::{Finding, Findings, Part, Severity};
use crate::consume_queue::{ConsumeQueue, ENTRY_SIZE, QueueEntry, QueueStatus, QueueTable};
use crate::layout::StoreLayout;
use crate::mapped::SegmentChain;
use crate::offset::{LogOffset, QueueOffset};
use crate::recovery::{Examined, Files};

/// Entries that are read at a time.
const PIECE_ENTRIES: usize = 4_096;

/// Queues that are left, and what of them agreed with the log.
#[derive(Debug)]
pub(super) struct QueueCheck {
    left: Vec<QueueStatus>,
    matched: HashMap<usize, u64>,
    done_bytes: u64,
}

/// Bytes of a queue's entries.
pub(super) fn size_bytes(queue: &QueueStatus) -> u64 {
    (queue.max_offset.0 - queue.min_offset.0) * ENTRY_SIZE as u64
}

impl QueueCheck {
    pub fn new(queues: &QueueTable, matched: HashMap<usize, u64>) -> Self {
        Self { left: queues.list(), matched, done_bytes: 0 }
    }

    pub fn done_bytes(&self) -> u64 {
        self.done_bytes
    }

    /// Checks some more queues; whether it is through.
    pub fn step(
        &mut self,
        files: &Files,
        examined: &Examined,
        layout: &StoreLayout,
        findings: &mut Findings,
        budget_bytes: u64,
    ) -> bool {
        let until = self.done_bytes + budget_bytes;
        while let Some(status) = self.left.pop() {
            self.done_bytes += size_bytes(&status);
            if let Some(queue) = files.queues.get(&status.topic, status.queue_id) {
                let matched = self.matched.get(&(Arc::as_ptr(&queue) as usize)).copied().unwrap_or_default();
                let path = layout.consume_queues.join(&status.topic).join(status.queue_id.to_string());
                check_queue(&queue, &files.chain, examined, matched, |severity, offset, message| {
                    let offset = Some(offset.0);
                    findings.add(Finding {
                        severity,
                        part: Part::Queue,
                        path: path.clone(),
                        offset,
                        message,
                    });
                });
            }
            if self.done_bytes >= until {
                break;
            }
        }
        self.left.is_empty()
    }
}

/// Names the entries that no record of the log accounts for, if they are more than those that one does.
fn check_queue(
    queue: &ConsumeQueue,
    chain: &SegmentChain,
    examined: &Examined,
    matched: u64,
    mut report: impl FnMut(Severity, QueueOffset, String),
) {
    let end = examined.end.offset;
    let start = LogOffset(chain.first().map_or(end.0, |segment| segment.start()));
    // Of records that have expired, entries stay until their file goes.
    let is_counted = |entry: &QueueEntry| !entry.is_filler() && entry.log_offset >= start;
    let mut counted = 0;
    each_entry(queue, |_, entry| counted += u64::from(is_counted(&entry)));
    if counted == matched {
        return;
    }
    let checked_from = examined.report.checked_from;
    each_entry(queue, |offset, entry| {
        if !is_counted(&entry) || agrees(chain, end, queue, offset, entry) {
            return;
        }
        let is_rebuilt = examined.was_killed && entry.log_offset >= checked_from;
        let severity = if is_rebuilt { Severity::Note } else { Severity::Error };
        report(severity, offset, format!("it names {}, where its record is not", entry.log_offset));
    });
}

fn each_entry(queue: &ConsumeQueue, mut visit: impl FnMut(QueueOffset, QueueEntry)) {
    let mut entries = Vec::new();
    let mut at = queue.min_offset();
    loop {
        entries.clear();
        queue.read_entries(at, PIECE_ENTRIES, &mut entries);
        if entries.is_empty() {
            return;
        }
        for entry in &entries {
            visit(at, *entry);
            at.0 += 1;
        }
    }
}

/// Whether the record that an entry names is one of its queue and offset. Where it says otherwise, the log has said so.
fn agrees(
    chain: &SegmentChain,
    end: LogOffset,
    queue: &ConsumeQueue,
    offset: QueueOffset,
    entry: QueueEntry,
) -> bool {
    let at = entry.log_offset.0;
    let Some(segment) = chain.segment_for(at).filter(|_| entry.log_offset < end) else { return false };
    let start = usize::try_from(at - segment.start()).unwrap_or(usize::MAX);
    let is_its = |record: RecordView<'_>| {
        (record.topic(), record.queue_id()) == (queue.topic(), queue.queue_id())
            && record.queue_offset() == offset.0
    };
    match LogItem::parse(segment.slice(start..segment.published()), at) {
        Ok(LogItem::Record(record)) => is_its(record),
        _ => false,
    }
}
