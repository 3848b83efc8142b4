//! The queue between whoever logs and whoever writes it down. The eventfd is readable exactly while something is in it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{EventfdFlags, eventfd};
use tracing::Level;

use crate::log_record::LogRecord;

/// Most records that wait.
pub const RECORDS_MAX: usize = 1_000;

/// Most records of a level in a second: a peer that misbehaves as often as it can must not keep Python busy with it, nor
/// drown what is more serious.
pub const RECORDS_PER_SECOND_MAX: usize = 100;

const SECOND: Duration = Duration::from_secs(1);

/// Any number but zero will do, and this is a small one in either byte order.
const WAKE_COUNT: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 0];

const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

/// What waited.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// In the order in which they were logged.
    pub records: Vec<LogRecord>,
    /// How many were not kept since the last time.
    pub dropped: u64,
}

#[derive(Debug)]
struct State {
    taken: Taken,
    second_began: Instant,
    /// How many of each level came in this second.
    in_this_second: [usize; LEVELS.len()],
}

/// Records that wait to be written down.
#[derive(Debug)]
pub struct LogQueue {
    state: Mutex<State>,
    /// Place of the least serious level that is wanted.
    level_max: AtomicUsize,
    event_fd: OwnedFd,
}

impl LogQueue {
    /// An empty queue that wants what is at least as serious as a level.
    ///
    /// # Errors
    /// The system refuses an eventfd.
    pub fn new(level: Level) -> io::Result<Self> {
        let event_fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        let state = State {
            taken: Taken::default(),
            second_began: Instant::now(),
            in_this_second: [0; LEVELS.len()],
        };
        Ok(Self { state: Mutex::new(state), level_max: AtomicUsize::new(place(level)), event_fd })
    }

    /// Wants another level from now on.
    pub fn set_level(&self, level: Level) {
        self.level_max.store(place(level), Ordering::Relaxed);
    }

    /// Whether records of a level are wanted.
    #[must_use]
    pub fn wants(&self, level: Level) -> bool {
        place(level) <= self.level_max.load(Ordering::Relaxed)
    }

    /// Takes everything that waits.
    pub fn take(&self) -> Taken {
        let mut state = self.state.lock();
        // Nothing to read means that nothing waits.
        let _ = rustix::io::read(&self.event_fd, &mut [0; 8]);
        std::mem::take(&mut state.taken)
    }

    /// A descriptor that is readable while something waits.
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }

    pub(crate) fn push(&self, record: LogRecord, now: Instant) {
        let mut state = self.state.lock();
        if now.saturating_duration_since(state.second_began) >= SECOND {
            state.second_began = now;
            state.in_this_second = [0; LEVELS.len()];
        }
        let of_level = &mut state.in_this_second[place(record.level)];
        *of_level += 1;
        if *of_level > RECORDS_PER_SECOND_MAX || state.taken.records.len() >= RECORDS_MAX {
            state.taken.dropped += 1;
            return;
        }
        state.taken.records.push(record);
        if state.taken.records.len() == 1 {
            // A descriptor that can't be written to is readable already.
            let _ = rustix::io::write(&self.event_fd, &WAKE_COUNT);
        }
    }
}

/// The more serious, the lower.
fn place(level: Level) -> usize {
    LEVELS.iter().position(|each| *each == level).unwrap_or(LEVELS.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(level: Level) -> LogRecord {
        LogRecord { level, message: String::new(), fields: Vec::new() }
    }

    fn is_readable(queue: &LogQueue) -> bool {
        let mut poll = [rustix::event::PollFd::new(&queue.event_fd, rustix::event::PollFlags::IN)];
        let nothing = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut poll, Some(&nothing)).expect("polled") == 1
    }

    #[test]
    fn it_is_readable_exactly_while_something_waits() {
        let queue = LogQueue::new(Level::INFO).expect("a queue");
        assert!(!is_readable(&queue));
        for _ in 0..2 {
            queue.push(record(Level::WARN), Instant::now());
            queue.push(record(Level::INFO), Instant::now());
            assert!(is_readable(&queue));
            assert_eq!(queue.take().records, [record(Level::WARN), record(Level::INFO)]);
            assert!(!is_readable(&queue));
        }
    }

    #[test]
    fn what_comes_too_often_is_counted_and_leaves_room_for_what_is_more_serious() {
        let queue = LogQueue::new(Level::INFO).expect("a queue");
        let now = Instant::now();
        for _ in 0..5 * RECORDS_PER_SECOND_MAX {
            queue.push(record(Level::INFO), now);
        }
        queue.push(record(Level::ERROR), now);
        let taken = queue.take();
        assert_eq!(taken.records.len(), RECORDS_PER_SECOND_MAX + 1);
        assert_eq!(taken.records.last(), Some(&record(Level::ERROR)));
        assert_eq!(taken.dropped, 4 * RECORDS_PER_SECOND_MAX as u64);
        queue.push(record(Level::INFO), now + SECOND);
        assert_eq!(queue.take(), Taken { records: vec![record(Level::INFO)], dropped: 0 });
    }

    #[test]
    fn a_queue_that_nobody_takes_from_stops_growing() {
        let queue = LogQueue::new(Level::INFO).expect("a queue");
        let began = Instant::now();
        for number in 0..2_000 {
            queue.push(record(Level::WARN), began + SECOND * number);
        }
        let taken = queue.take();
        assert_eq!((taken.records.len(), taken.dropped), (RECORDS_MAX, 1_000));
    }

    #[test]
    fn levels_are_respected_and_may_change() {
        let queue = LogQueue::new(Level::WARN).expect("a queue");
        assert!(queue.wants(Level::ERROR) && queue.wants(Level::WARN) && !queue.wants(Level::INFO));
        queue.set_level(Level::DEBUG);
        assert!(queue.wants(Level::DEBUG) && !queue.wants(Level::TRACE));
    }
}
