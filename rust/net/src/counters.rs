//! What happened so far, counted on the epoll thread and read from any. Each number is right by itself; together they
//! may be a moment apart.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::close_reason::CloseReason;

#[derive(Debug, Default)]
pub struct Counters {
    pub connections: Counter,
    pub opened: Counter,
    pub refused: Counter,
    closed: [Counter; CloseReason::COUNT],
    pub frames_received: Counter,
    pub frames_sent: Counter,
    pub bytes_received: Counter,
    pub bytes_sent: Counter,
    pub bytes_in_flight: Counter,
    pub wakeups: Counter,
}

impl Counters {
    pub fn count_closed(&self, reason: &CloseReason) {
        self.closed[reason.index()].add(1);
    }

    pub fn read(&self) -> Statistics {
        let closed = CloseReason::NAMES.into_iter().zip(self.closed.iter().map(Counter::get));
        Statistics {
            connections: self.connections.get(),
            opened: self.opened.get(),
            refused: self.refused.get(),
            closed: closed.filter(|(_, count)| *count > 0).collect(),
            frames_received: self.frames_received.get(),
            frames_sent: self.frames_sent.get(),
            bytes_received: self.bytes_received.get(),
            bytes_sent: self.bytes_sent.get(),
            bytes_in_flight: self.bytes_in_flight.get(),
            wakeups: self.wakeups.get(),
        }
    }
}

/// A number with one writer, which therefore needs no atomic addition.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: usize) {
        self.set_u64(self.get() + count as u64);
    }

    pub fn set(&self, value: usize) {
        self.set_u64(value as u64);
    }

    fn set_u64(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// What a server did since it was started, and what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statistics {
    /// Connections that are open or being made.
    pub connections: u64,
    /// Connections that were opened, by peers and by us.
    pub opened: u64,
    /// Connections that were closed at once, since there were too many.
    pub refused: u64,
    /// Connections that were closed, by [`CloseReason::name`]; reasons that did not occur are left out.
    pub closed: Vec<(&'static str, u64)>,
    /// Frames that were cut.
    pub frames_received: u64,
    /// Frames that were queued for peers.
    pub frames_sent: u64,
    /// Bytes that sockets gave.
    pub bytes_received: u64,
    /// Bytes that sockets took.
    pub bytes_sent: u64,
    /// Bytes that are received and not settled, or queued and not written.
    pub bytes_in_flight: u64,
    /// How often the thread woke up.
    pub wakeups: u64,
}

impl Statistics {
    /// How many connections were closed for the reason of that name.
    #[must_use]
    pub fn closed_by(&self, name: &str) -> u64 {
        self.closed.iter().find(|entry| entry.0 == name).map_or(0, |entry| entry.1)
    }
}
