//! Answers to what is written and not yet durable: they wait here for the group commit.
//!
//! Several threads append, and Python may keep an answer back for reasons of its own, so answers come in any order of
//! what they wait for. They all wait equally long, so the one that came first is late first.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;
use escrowmq_store::LogOffset;

use super::codes::response;
use super::reply::Asker;

/// An answer that waits.
#[derive(Debug)]
pub struct PendingAnswer {
    /// The log offset behind the last record that it tells of.
    pub end: LogOffset,
    pub asker: Asker,
    /// What goes out when the log is visible up to there: a header, and a body where there is one.
    pub head: Bytes,
    pub body: Vec<Bytes>,
    pub late: Late,
}

/// What an answer says in place of its code and remark when the flush takes too long. Its fields stay, a body does not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Late {
    /// The code.
    pub code: i32,
    /// The remark.
    pub remark: Option<String>,
}

impl Default for Late {
    /// Compat: what a send is told.
    fn default() -> Self {
        Self { code: response::FLUSH_DISK_TIMEOUT, remark: None }
    }
}

/// What an answer waits for, and which one of those that wait for it.
type Place = (LogOffset, u64);

#[derive(Debug)]
pub struct PendingAnswers {
    by_end: BTreeMap<Place, PendingAnswer>,
    /// In the order in which they came, each with the time when it is late. Those that left are dropped at the front.
    by_age: VecDeque<(Place, Instant)>,
    came: u64,
    flush_timeout: Duration,
}

impl PendingAnswers {
    pub fn new(flush_timeout: Duration) -> Self {
        Self { by_end: BTreeMap::new(), by_age: VecDeque::new(), came: 0, flush_timeout }
    }

    pub fn len(&self) -> usize {
        self.by_end.len()
    }

    pub fn push(&mut self, answer: PendingAnswer, now: Instant) {
        self.came += 1;
        let place = (answer.end, self.came);
        self.by_age.push_back((place, now + self.flush_timeout));
        self.by_end.insert(place, answer);
    }

    /// The next answer that may go out when the log is visible up to `end`.
    pub fn pop_visible(&mut self, end: LogOffset) -> Option<PendingAnswer> {
        let first = self.by_end.first_entry()?;
        if first.key().0 > end {
            return None;
        }
        let answer = first.remove();
        self.drop_departed();
        Some(answer)
    }

    /// The next answer that has waited too long.
    pub fn pop_late(&mut self, now: Instant) -> Option<PendingAnswer> {
        let &(place, deadline) = self.by_age.front()?;
        if deadline > now {
            return None;
        }
        let answer = self.by_end.remove(&place);
        self.drop_departed();
        answer
    }

    /// The next answer, whatever became of what it tells.
    pub fn pop(&mut self) -> Option<PendingAnswer> {
        self.pop_visible(LogOffset(u64::MAX))
    }

    /// When the first has waited too long.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.by_age.front().map(|&(_, deadline)| deadline)
    }

    /// Keeps the front of the second list an answer that waits.
    fn drop_departed(&mut self) {
        while self.by_age.front().is_some_and(|(place, _)| !self.by_end.contains_key(place)) {
            self.by_age.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rig::PEER;
    use super::*;
    use escrowmq_wire::{Frame, HeaderKind, RemotingHeader};

    const TIMEOUT: Duration = Duration::from_secs(5);

    fn answer(end: u64) -> PendingAnswer {
        let frame = Frame { kind: HeaderKind::Json, header: Bytes::new(), body: Bytes::new() };
        let asker = Asker::new(PEER, &frame, &RemotingHeader::default());
        PendingAnswer {
            end: LogOffset(end),
            asker,
            head: Bytes::new(),
            body: Vec::new(),
            late: Late::default(),
        }
    }

    fn ends(mut next: impl FnMut() -> Option<PendingAnswer>) -> Vec<u64> {
        std::iter::from_fn(|| next().map(|answer| answer.end.0)).collect()
    }

    #[test]
    fn answers_leave_when_the_log_is_there_whatever_order_they_came_in() {
        let mut pending = PendingAnswers::new(TIMEOUT);
        let now = Instant::now();
        for end in [30, 10, 40, 20, 10] {
            pending.push(answer(end), now);
        }
        assert_eq!(ends(|| pending.pop_visible(LogOffset(9))), [0; 0]);
        assert_eq!(ends(|| pending.pop_visible(LogOffset(30))), [10, 10, 20, 30]);
        assert_eq!((pending.len(), pending.next_deadline()), (1, Some(now + TIMEOUT)));
        assert_eq!(ends(|| pending.pop()), [40]);
        assert_eq!((pending.len(), pending.by_age.len()), (0, 0));
    }

    #[test]
    fn the_first_that_came_is_late_first() {
        let mut pending = PendingAnswers::new(TIMEOUT);
        let now = Instant::now();
        for (end, second) in [(30, 0), (10, 1), (20, 2)] {
            pending.push(answer(end), now + Duration::from_secs(second));
        }
        assert_eq!(pending.next_deadline(), Some(now + TIMEOUT));
        assert!(pending.pop_visible(LogOffset(10)).is_some());
        assert_eq!(ends(|| pending.pop_late(now + TIMEOUT)), [30]);
        assert_eq!(pending.next_deadline(), Some(now + TIMEOUT + Duration::from_secs(2)));
        assert_eq!(ends(|| pending.pop_late(now + TIMEOUT * 2)), [20]);
        assert!(pending.by_age.is_empty());
    }
}
