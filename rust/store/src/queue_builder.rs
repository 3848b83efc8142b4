//! Tails the log and fills consume queues and key index (Apache: reput). What it makes is a function of the log alone:
//! the same record always becomes the same entries, at whatever time and in whatever run.

use std::ops::ControlFlow;

use escrowmq_wire::{RecordView, TransactionKind, property_names, tags_code};
use parking_lot::Mutex;

use crate::arrivals::Arrivals;
use crate::commit_log::{CommitLog, LogPoint, Walk};
use crate::consume_queue::{QueueEntry, QueueTable};
use crate::error::Result;
use crate::key_index::KeyIndex;
use crate::mapped::Watermark;
use crate::message::is_queued;
use crate::offset::{LogOffset, QueueOffset};
use crate::visible_limit::VisibleLimit;

/// The topic whose entries carry a delivery time instead of a tags code.
pub(crate) const SCHEDULE_TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// Records between two moves of the mark: readers wait no longer than these take.
const RECORDS_PER_STEP: usize = 256;

/// Turns records into queue entries.
#[derive(Debug, Clone)]
pub(crate) struct EntryRules {
    /// Delays of the levels of the schedule topic, from level 1 on.
    pub delay_levels_ms: Vec<i64>,
}

impl EntryRules {
    /// The entry of a record in its queue; `None` for one that stands in none.
    pub fn entry(&self, record: &RecordView<'_>) -> Option<QueueEntry> {
        is_queued(record.sys_flag()).then(|| QueueEntry {
            log_offset: LogOffset(record.log_offset()),
            record_size: record.size(),
            tags_code: self.tags_code(record),
        })
    }

    fn tags_code(&self, record: &RecordView<'_>) -> i64 {
        let properties = record.properties();
        if record.topic() == SCHEDULE_TOPIC {
            // Compat: a level beyond the last counts as the last; one that is no number as none.
            let level = properties
                .get(property_names::DELAY)
                .and_then(|text| text.parse::<usize>().ok())
                .unwrap_or(0);
            if let Some(level) = level.min(self.delay_levels_ms.len()).checked_sub(1) {
                return record.store_timestamp_ms() + self.delay_levels_ms[level];
            }
        }
        properties.get(property_names::TAGS).map_or(0, tags_code)
    }
}

/// Fills queues and index from the log.
#[derive(Debug)]
pub(crate) struct QueueBuilder {
    rules: EntryRules,
    /// Up to where the log is built.
    point: Mutex<LogPoint>,
    built: Watermark,
}

impl QueueBuilder {
    /// A builder that goes on at `point`.
    pub fn new(rules: EntryRules, point: LogPoint) -> Self {
        Self { rules, point: Mutex::new(point), built: Watermark::new(point.offset.0) }
    }

    /// How far queues and index are filled.
    pub fn built(&self) -> &Watermark {
        &self.built
    }

    /// The point up to which queues and index are filled.
    pub fn point(&self) -> LogPoint {
        *self.point.lock()
    }

    /// Builds some records up to `limit`, notes which queues grew, and returns how far it got.
    ///
    /// # Errors
    /// What queue or index said. What was built before stays built, and a later call goes on from there.
    pub fn step(
        &self,
        log: &CommitLog,
        queues: &QueueTable,
        index: &Mutex<KeyIndex>,
        limit: LogOffset,
        mut arrivals: Option<&mut Arrivals>,
        visible: &VisibleLimit,
    ) -> Result<LogOffset> {
        let mut point = self.point.lock();
        let mut walk = Walk::new(log.chain(), point.offset, limit);
        let mut index = index.lock();
        let mut count = 0;
        let mut last = *point;
        let result = walk.each(|record| {
            let is_queued = self.build(&record, queues, &mut index)?;
            if let Some(arrivals) = arrivals.as_deref_mut().filter(|_| is_queued) {
                arrivals.add(record.topic(), record.queue_id());
            }
            last = LogPoint::after(&record);
            count += 1;
            Ok(if count < RECORDS_PER_STEP { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        *point = LogPoint { offset: walk.position(), ..last };
        // Other processes are told first: what is acknowledged here must not be unknown there.
        visible.publish(point.offset);
        self.built.raise(point.offset.0);
        result.map(|()| point.offset)
    }

    /// Builds one record, and returns whether it stands in a queue.
    fn build(&self, record: &RecordView<'_>, queues: &QueueTable, index: &mut KeyIndex) -> Result<bool> {
        let entry = self.rules.entry(record);
        if let Some(entry) = entry {
            queues.append(record.topic(), record.queue_id(), QueueOffset(record.queue_offset()), entry)?;
        }
        if is_indexed(record) {
            index.index_record(record)?;
        }
        Ok(entry.is_some())
    }
}

/// Compat: Apache indexes every record but rolled-back ones.
pub(crate) fn is_indexed(record: &RecordView<'_>) -> bool {
    record.sys_flag().transaction() != TransactionKind::Rollback
}
