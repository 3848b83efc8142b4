//! The index of an open store. Whoever appends records of transactions tells it, at once and in order.

use super::event::Event;
use super::index::Index;
use super::queries::PendingRange;
use super::transaction::Transaction;
use crate::commit_log::Walk;
use crate::error::{Result, StoreError};
use crate::message::{NewMessage, Receipt};
use crate::offset::LogOffset;
use crate::store_core::StoreCore;
use std::ops::ControlFlow;

/// The transactions of a store.
#[derive(Debug)]
pub struct TransactionIndex {
    index: Index,
    end: LogOffset,
}

impl TransactionIndex {
    /// The index of a store.
    ///
    /// # Errors
    /// [`StoreError::Damaged`].
    pub fn open(store: &StoreCore) -> Result<Self> {
        let mut opened = Self { index: Index::default(), end: store.log_start() };
        opened.replay(store)?;
        Ok(opened)
    }

    /// Takes in the log from where it stands to the log's end.
    fn replay(&mut self, store: &StoreCore) -> Result<()> {
        let end = store.log_end();
        while self.end < end {
            let mut walk = Walk::new(store.log.chain(), self.end, end);
            walk.each(|record| {
                if let Some(event) = Event::of_record(&record) {
                    self.index.apply(&event);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            let reached = walk.position();
            self.end = if reached < end { reached.max(store.log_start()) } else { reached };
            if self.end == reached && reached < end {
                return Err(StoreError::NoRecord { at: reached, start: store.log_start(), end });
            }
        }
        Ok(())
    }

    /// Takes in what was just appended: all of it that may concern transactions, in the order of the log.
    pub fn note<'a>(&mut self, appended: impl IntoIterator<Item = (NewMessage<'a>, Receipt)>) {
        for (message, receipt) in appended {
            if let Some(event) = Event::of_message(&message, &receipt) {
                self.index.apply(&event);
            }
            self.end = self.end.max(receipt.end_offset());
        }
    }

    /// The transaction with a copy at a half offset, if that copy stands at this log offset.
    #[must_use]
    pub fn find(&self, half_offset: u64, log_offset: u64) -> Option<Transaction> {
        self.index.find(half_offset, log_offset)
    }

    /// The newest undecided transaction of a group with a unique id.
    #[must_use]
    pub fn find_undecided(&self, group: &str, unique_id: &str) -> Option<Transaction> {
        self.index.find_by_unique_id(group, unique_id)
    }

    /// Pending transactions by the half offset of their newest copy.
    #[must_use]
    pub fn pending(&self, range: PendingRange<'_>) -> Vec<Transaction> {
        self.index.list_pending_in(range)
    }

    /// How many transactions of each group are pending.
    #[must_use]
    pub fn pending_by_group(&self) -> Vec<(&str, usize)> {
        self.index.pending_by_group()
    }

    /// Decided transactions, the last decision first.
    #[must_use]
    pub fn decided(&self, count_max: usize) -> Vec<Transaction> {
        self.index.list_newest_decided(count_max)
    }

    /// Decided transactions with live copies: an op record is missing.
    #[must_use]
    pub fn unmarked(&self, count_max: usize) -> Vec<Transaction> {
        self.index.list_unmarked(count_max)
    }

    /// Closes pending transactions whose newest copy lies before a half offset, and returns how many: an Apache broker
    /// had the store, and is done with them.
    pub fn close_before(&mut self, half_offset: u64) -> usize {
        self.index.close_before(half_offset)
    }

    /// Forgets decided transactions that ended before a time, and returns how many. Those with live copies stay.
    pub fn forget_decided_before(&mut self, ms: i64) -> usize {
        self.index.forget_decided_before(ms)
    }

    /// How many transactions are pending.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.index.pending.len()
    }

    /// How many decided transactions it remembers.
    #[must_use]
    pub fn decided_count(&self) -> usize {
        self.index.decided.len()
    }

    /// Records of the half topic that are no transaction.
    #[must_use]
    pub fn ignored_count(&self) -> u64 {
        self.index.ignored
    }

    /// Decisions in the log that came after another one of the same transaction.
    #[must_use]
    pub fn contradiction_count(&self) -> u64 {
        self.index.contradictions
    }

    /// The log offset up to which it has seen everything.
    #[must_use]
    pub fn end(&self) -> LogOffset {
        self.end
    }

    /// Half offset and log offset of the first copy that is live and whose transaction is pending.
    #[must_use]
    pub fn first_live(&self) -> Option<(u64, u64)> {
        self.index.first_live()
    }

    /// When the oldest root of a pending transaction was stored.
    #[must_use]
    pub fn oldest_root_store_ms(&self) -> Option<i64> {
        self.index.oldest_root_store_ms()
    }

    /// How much memory it takes.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.index.memory_bytes()
    }
}
