//! The log, record by record, and for each record its entries in queue and index.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use escrowmq_wire::{LogItem, RecordError, RecordView};

use super::finding::{Finding, Findings, Part, Severity};
use super::queue_check::QueueCheck;
use crate::commit_log::Walk;
use crate::error::{Result, StoreError};
use crate::key_index::{FoundEntry, IndexCursor, KeyIndex};
use crate::layout::StoreLayout;
use crate::offset::{LogOffset, QueueOffset};
use crate::queue_builder::{EntryRules, is_indexed};
use crate::recovery::{Examined, Files};

/// Everything that a record is held against.
pub(super) struct Against<'a> {
    pub files: &'a Files,
    pub rules: &'a EntryRules,
    pub examined: &'a Examined,
    pub layout: &'a StoreLayout,
    pub findings: &'a mut Findings,
}

/// How far the log is checked, and what was seen on the way.
#[derive(Debug)]
pub(super) struct LogCheck {
    at: LogOffset,
    /// Entries that agree with their record, by queue.
    matched: HashMap<usize, u64>,
    cursor: IndexCursor,
    /// The first record that the index should have behind its last one, and how many there are.
    unindexed: Option<(LogOffset, u64)>,
    hashes: Vec<u32>,
    found: Vec<FoundEntry>,
}

impl LogCheck {
    pub fn new(start: LogOffset) -> Self {
        Self {
            at: start,
            matched: HashMap::new(),
            cursor: IndexCursor::default(),
            unindexed: None,
            hashes: Vec::new(),
            found: Vec::new(),
        }
    }

    pub fn position(&self) -> LogOffset {
        self.at
    }

    /// Checks some more; whether it is through.
    pub fn step(&mut self, against: &mut Against<'_>, size_bytes: u64) -> Result<bool> {
        let (files, end) = (against.files, against.examined.end.offset);
        let limit = LogOffset(self.at.0.saturating_add(size_bytes.max(1))).min(end);
        let mut walk = Walk::new(&files.chain, self.at, limit);
        let result = walk.each(|record| {
            self.record(against, &record)?;
            Ok(ControlFlow::Continue(()))
        });
        let reached = walk.position();
        match result {
            Ok(()) if reached < limit => self.at = end,
            Ok(()) => self.at = reached,
            Err(StoreError::Damaged { at, reason }) => {
                against.log_finding(Severity::Error, at, reason.to_string());
                // Where the next record begins, only the next segment says.
                self.at = LogOffset(files.chain.segment_for(at.0).map_or(end.0, |segment| segment.end()));
            }
            Err(error) => return Err(error),
        }
        Ok(self.at >= end)
    }

    /// What is left to say when the log is through, and what is to be checked next.
    pub fn finish(&mut self, against: &mut Against<'_>) -> Result<QueueCheck> {
        against.check_end();
        if let Some((at, count)) = self.unindexed {
            let message = format!("{count} records from {at} on are not in it");
            against.index_finding(against.severity(at), None, message);
        }
        let mut beyond = 0;
        while let Some(entry) = self.cursor.peek(&against.files.index)? {
            beyond += 1;
            self.cursor.advance();
            if beyond == 1 {
                let message = format!("it names {}, where the log has no record", entry.log_offset);
                against.index_finding(against.severity(entry.log_offset), Some(entry), message);
            }
        }
        if beyond > 1 {
            against.index_finding(Severity::Note, None, format!("so do {} entries after it", beyond - 1));
        }
        Ok(QueueCheck::new(&against.files.queues, std::mem::take(&mut self.matched)))
    }

    fn record(&mut self, against: &mut Against<'_>, record: &RecordView<'_>) -> Result<()> {
        let at = LogOffset(record.log_offset());
        match record.check_whole() {
            Ok(()) => {}
            // Producers may send zeros, and Apache takes them.
            Err(reason @ RecordError::Nul { .. }) => {
                against.log_finding(Severity::Note, at, reason.to_string());
            }
            Err(reason) => against.log_finding(Severity::Error, at, reason.to_string()),
        }
        if record.check_record_crc() == Some(false) {
            against.log_finding(Severity::Error, at, "its trailing CRC does not agree".to_owned());
        }
        self.queue_entry(against, record);
        self.index_entries(against, record)
    }

    fn queue_entry(&mut self, against: &mut Against<'_>, record: &RecordView<'_>) {
        let Some(expected) = against.rules.entry(record) else { return };
        let (topic, queue_id) = (record.topic(), record.queue_id());
        if against.files.queues.is_deleted(topic, expected.log_offset) {
            return;
        }
        let offset = QueueOffset(record.queue_offset());
        let queue = against.files.queues.get(topic, queue_id);
        let found = queue.as_ref().and_then(|queue| queue.entry(offset));
        if let (Some(queue), true) = (&queue, found == Some(expected)) {
            *self.matched.entry(Arc::as_ptr(queue) as usize).or_default() += 1;
            return;
        }
        let at = expected.log_offset;
        let message = match found {
            None => format!("the record at {at} is not in it"),
            Some(found) if (found.log_offset, found.record_size) == (at, expected.record_size) => {
                let (found, expected) = (found.tags_code, expected.tags_code);
                format!("the record at {at} has tags code {expected}, its entry {found}")
            }
            Some(found) => {
                let (size, other, other_size) = (expected.record_size, found.log_offset, found.record_size);
                format!("it names {other_size} bytes at {other}, the log has {size} bytes at {at}")
            }
        };
        let path = against.layout.consume_queues.join(topic).join(queue_id.to_string());
        let severity = against.severity(at);
        against.findings.add(Finding { severity, part: Part::Queue, path, offset: Some(offset.0), message });
    }

    /// The entries of the index stand in the order of the log: those of this record come next, or it has none.
    fn index_entries(&mut self, against: &mut Against<'_>, record: &RecordView<'_>) -> Result<()> {
        let index = &against.files.index;
        if index.wrong_geometry().is_some() {
            return Ok(());
        }
        let at = LogOffset(record.log_offset());
        self.hashes.clear();
        let has_tag = is_indexed(record) && KeyIndex::hashes(record, &mut self.hashes);
        self.found.clear();
        while let Some(entry) = self.cursor.peek(index)?.filter(|entry| entry.log_offset <= at) {
            self.cursor.advance();
            if entry.log_offset == at {
                self.found.push(entry);
            } else if entry.log_offset.0 >= against.log_start() {
                let message = format!("it names {}, where no record begins", entry.log_offset);
                against.index_finding(against.severity(entry.log_offset), Some(entry), message);
            }
        }
        let is_same = |expected: &[u32]| self.found.iter().map(|entry| &entry.key_hash).eq(expected);
        let without_tag = &self.hashes[..self.hashes.len() - usize::from(has_tag)];
        if is_same(&self.hashes) || is_same(without_tag) {
            return Ok(());
        }
        if self.found.is_empty() && index.last_log_offset().is_none_or(|last| at > last) {
            self.unindexed =
                Some((self.unindexed.map_or(at, |(first, _)| first), self.unindexed_count() + 1));
            return Ok(());
        }
        let (found, expected) = (self.found.len(), self.hashes.len());
        let message = format!("the record at {at} has {expected} keys, its {found} entries are others");
        against.index_finding(against.severity(at), self.found.first().copied(), message);
        Ok(())
    }

    fn unindexed_count(&self) -> u64 {
        self.unindexed.map_or(0, |(_, count)| count)
    }
}

impl Against<'_> {
    fn log_start(&self) -> u64 {
        self.files.chain.first().map_or(0, |segment| segment.start())
    }

    /// What does not agree from there on, a start after a kill builds again.
    fn severity(&self, at: LogOffset) -> Severity {
        let is_rebuilt = self.examined.was_killed && at >= self.examined.report.checked_from;
        if is_rebuilt { Severity::Note } else { Severity::Error }
    }

    fn log_finding(&mut self, severity: Severity, at: LogOffset, message: String) {
        let segment = self.files.chain.segment_for(at.0);
        let path =
            segment.map_or_else(|| self.layout.commit_log.clone(), |segment| segment.path().to_path_buf());
        self.findings.add(Finding { severity, part: Part::Log, path, offset: Some(at.0), message });
    }

    fn index_finding(&mut self, severity: Severity, entry: Option<FoundEntry>, message: String) {
        let path = entry.and_then(|entry| self.files.index.paths().get(entry.file).cloned());
        let path: PathBuf = path.unwrap_or_else(|| self.layout.key_index.clone());
        let offset = entry.map(|entry| u64::from(entry.number));
        self.findings.add(Finding { severity, part: Part::Index, path, offset, message });
    }

    /// Why the log ends where it does, and whether something stands behind it.
    fn check_end(&mut self) {
        let end = self.examined.end.offset;
        let reason = self.examined.report.end_reason.clone();
        if !reason.is_empty() {
            let severity = if self.examined.was_killed { Severity::Note } else { Severity::Error };
            self.log_finding(severity, end, format!("the log is cut here: {reason}"));
        }
        for segment in self.files.chain.all().iter().filter(|segment| segment.start() > end.0) {
            let first = LogItem::parse(segment.slice(0..segment.published()), segment.start());
            if matches!(first, Ok(LogItem::Record(_))) {
                let message = format!("records begin here, behind the end of the log at {end}");
                self.log_finding(Severity::Error, LogOffset(segment.start()), message);
            }
        }
    }
}
