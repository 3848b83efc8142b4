//! A start: what the last snapshot knew, and what the log says since.

use std::ops::ControlFlow;

use super::event::Event;
use super::index::Index;
use super::snapshot::{self, RecordBefore};
use super::tracker::TransactionIndex;
use super::{HALF_TOPIC, TRANSACTION_QUEUE};
use crate::commit_log::Walk;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::store_core::StoreCore;

/// A larger file is none of ours: it would hold tens of millions of transactions.
const SIZE_MAX_BYTES: u64 = 4 << 30;
/// Decided transactions are forgotten no sooner than this after their decision: until then Apache may have put back a copy
/// of one, which would pass for a new transaction.
const COPIES_AFTER_DECISION_MS: i64 = 15 * 60 * 1_000;
/// Decided transactions beyond twice those that must stay are too many.
const DECIDED_SLACK: usize = 65_536;

impl TransactionIndex {
    /// The index of a store: from its snapshot and the log behind it, or from all of the log. Transactions that were
    /// decided before a time are left out, so that a long log costs no more memory than a short one.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] where the log can't be read.
    pub fn open(store: &StoreCore, decided_since_ms: i64) -> Result<Self> {
        let mut opened = load(store).unwrap_or_else(|| Self::new(Index::default(), store.log_start(), None));
        let from = opened.end();
        opened.replay(store, decided_since_ms)?;
        opened.forget_decided_before(decided_since_ms);
        tracing::info!(
            %from,
            to = %opened.end(),
            pending = opened.pending_count(),
            decided = opened.decided_count(),
            "transactions read"
        );
        Ok(opened)
    }

    /// Takes in the log from where it stands to the log's end.
    fn replay(&mut self, store: &StoreCore, decided_since_ms: i64) -> Result<()> {
        let end = store.log_end();
        let mut decided_max = DECIDED_SLACK;
        while self.end < end {
            let mut walk = Walk::new(store.log.chain(), self.end, end);
            walk.each(|record| {
                if let Some(event) = Event::of_record(&record) {
                    self.index.apply(&event);
                }
                self.last_record = Some(LogOffset(record.log_offset()));
                if self.index.decided.len() > decided_max {
                    let aged_ms = record.store_timestamp_ms().saturating_sub(COPIES_AFTER_DECISION_MS);
                    self.index.forget_decided_before(decided_since_ms.min(aged_ms));
                    decided_max = 2 * self.index.decided.len() + DECIDED_SLACK;
                }
                Ok(ControlFlow::Continue(()))
            })?;
            self.end = walk.position();
            let start = store.log_start();
            if self.end < end && self.end >= start {
                return Err(StoreError::NoRecord { at: self.end, start, end });
            }
            // The segment has expired meanwhile.
            self.end = self.end.max(start);
        }
        Ok(())
    }
}

/// The index as its snapshot has it, if that was taken of this log.
fn load(store: &StoreCore) -> Option<TransactionIndex> {
    let path = &store.layout.transactions;
    let file = store.disk.open(path).ok()?;
    let size = file.size_bytes().ok().filter(|size| *size <= SIZE_MAX_BYTES)?;
    let mut bytes = vec![0; usize::try_from(size).ok()?];
    file.read_at(0, &mut bytes).ok()?;
    let index = snapshot::decode(&bytes).and_then(|(index, end, before)| agreed(store, index, end, before));
    if index.is_none() {
        tracing::warn!(path = %path.display(), "not a snapshot of this log: all of the log is read instead");
    }
    index
}

fn agreed(store: &StoreCore, index: Index, end: u64, before: RecordBefore) -> Option<TransactionIndex> {
    let half_end = store.written_queue_end(HALF_TOPIC, TRANSACTION_QUEUE).0;
    if index.last_half.is_some_and(|(half_offset, _)| half_offset >= half_end) || end > store.log_end().0 {
        return None;
    }
    let mut found = Vec::new();
    let mut walk = Walk::new(store.log.chain(), LogOffset(before.log_offset), LogOffset(end));
    walk.each(|record| {
        found.push(RecordBefore::from(record));
        Ok(ControlFlow::Continue(()))
    })
    .ok()?;
    let is_same = found == [before] && walk.position() == LogOffset(end);
    is_same.then(|| TransactionIndex::new(index, LogOffset(end), Some(LogOffset(before.log_offset))))
}
