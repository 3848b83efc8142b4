//! The index of an open store. Whoever appends records of transactions tells it, at once and in order.

use super::event::{Event, Identity};
use super::index::Index;
use super::queries::PendingRange;
use super::transaction::Transaction;
use crate::message::{NewMessage, Receipt};
use crate::offset::LogOffset;

/// The transactions of a store.
#[derive(Debug)]
pub struct TransactionIndex {
    pub(super) index: Index,
    pub(super) end: LogOffset,
    /// The record before the end; `None` where there is none.
    pub(super) last_record: Option<LogOffset>,
    /// Where a start would begin to read the log.
    pub(super) saved_end: LogOffset,
    /// How far a snapshot goes that is written and has no name yet: it waits for the log to be durable as far as that.
    pub(super) written: Option<LogOffset>,
}

impl TransactionIndex {
    /// An index that has seen the log up to `end`.
    pub(super) fn new(index: Index, end: LogOffset, last_record: Option<LogOffset>) -> Self {
        Self { index, end, last_record, saved_end: end, written: None }
    }

    /// Takes in what was just appended: all of it that may concern transactions, in the order of the log.
    pub fn note<'a>(&mut self, appended: impl IntoIterator<Item = (NewMessage<'a>, Receipt)>) {
        for (message, receipt) in appended {
            if let Some(event) = Event::of_message(&message, &receipt) {
                self.index.apply(&event);
            }
            if receipt.end_offset() > self.end {
                (self.end, self.last_record) = (receipt.end_offset(), Some(receipt.log_offset));
            }
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

    /// Whether there is an undecided transaction of a group with a unique id.
    #[must_use]
    pub fn is_undecided(&self, group: &str, unique_id: &str) -> bool {
        self.index.find_undecided(Identity { group, unique_id }).is_some()
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

    /// How many transactions for each topic are pending.
    #[must_use]
    pub fn pending_by_topic(&self) -> Vec<(&str, usize)> {
        self.index.pending_by_topic()
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

    /// Notes that the question about a copy has left; one that is not the newest any more does not matter.
    pub fn mark_asked(&mut self, half_offset: u64) {
        self.index.mark_asked(half_offset);
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

    /// Forgets decided transactions, the first decision first, until so many are left, and returns how many. Those with
    /// live copies stay.
    pub fn forget_decided_beyond(&mut self, count_max: usize) -> usize {
        self.index.forget_decided_beyond(count_max)
    }

    /// Pending transactions with a live copy that begins before a log offset, no more than `count_max`.
    #[must_use]
    pub fn live_before(&self, log_offset: u64, count_max: usize) -> Vec<Transaction> {
        self.index.list_live_before(log_offset, count_max)
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

    /// The log offset that a start would begin to read at.
    #[must_use]
    pub fn saved_end(&self) -> LogOffset {
        self.saved_end
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
