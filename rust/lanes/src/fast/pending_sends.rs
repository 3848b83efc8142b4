//! Sends that are written and not yet durable: their answers wait here for the group commit.
//!
//! They are appended by one thread, so each ends behind the one before, and what a group commit covers is a front of
//! the line.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use bytes::Bytes;
use escrowmq_store::LogOffset;

use super::reply::Asker;

/// A send whose answer waits.
#[derive(Debug)]
pub struct PendingSend {
    /// The log offset behind its last record.
    pub end: LogOffset,
    pub asker: Asker,
    /// The answer that it gets when it is durable.
    pub head: Bytes,
    /// When it has waited too long.
    deadline: Instant,
}

#[derive(Debug)]
pub struct PendingSends {
    line: VecDeque<PendingSend>,
    flush_timeout: Duration,
}

impl PendingSends {
    pub fn new(flush_timeout: Duration) -> Self {
        Self { line: VecDeque::new(), flush_timeout }
    }

    pub fn len(&self) -> usize {
        self.line.len()
    }

    pub fn push(&mut self, end: LogOffset, asker: Asker, head: Bytes, now: Instant) {
        debug_assert!(self.line.back().is_none_or(|last| last.end < end), "one thread appends");
        self.line.push_back(PendingSend { end, asker, head, deadline: now + self.flush_timeout });
    }

    /// The next send that is durable when the log is visible up to `end`.
    pub fn pop_visible(&mut self, end: LogOffset) -> Option<PendingSend> {
        self.pop_if(|first| first.end <= end)
    }

    /// The next send that has waited too long.
    pub fn pop_late(&mut self, now: Instant) -> Option<PendingSend> {
        self.pop_if(|first| first.deadline <= now)
    }

    /// The next send, whatever became of it.
    pub fn pop(&mut self) -> Option<PendingSend> {
        self.line.pop_front()
    }

    fn pop_if(&mut self, is_meant: impl FnOnce(&PendingSend) -> bool) -> Option<PendingSend> {
        if self.line.front().is_some_and(is_meant) { self.line.pop_front() } else { None }
    }

    /// When the first has waited too long.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.line.front().map(|first| first.deadline)
    }
}
