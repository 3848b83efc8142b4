//! The queue between the epoll thread and Python's threads: one line, so that order holds, and limits by kind.
//!
//! The eventfd is readable exactly while something can be fetched or the lane has ended; both change under one lock.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;

use escrowmq_net::ConnectionId;
use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use rustix::event::{EventfdFlags, eventfd};

use crate::error::LaneError;
use crate::event::Event;

/// How much may wait for Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    /// Most requests that want an answer; a quarter of them, but at least 16, for one connection.
    pub requests_max: usize,
    /// Most bytes of them.
    pub requests_max_bytes: usize,
    /// Most one-way requests and responses.
    pub one_way_max: usize,
    /// Most bytes of them.
    pub one_way_max_bytes: usize,
    /// Most openings and closings. Peers that come and go faster than Python looks are closed unseen.
    pub connection_events_max: usize,
}

impl Default for LaneLimits {
    fn default() -> Self {
        Self {
            requests_max: 10_000,
            requests_max_bytes: 64 * 1024 * 1024,
            one_way_max: 10_000,
            one_way_max_bytes: 64 * 1024 * 1024,
            connection_events_max: 65_536,
        }
    }
}

/// One connection gets at most this part of the queue, so that a flood of one peer leaves room for the others.
const SHARE: usize = 4;
/// But at least this many.
const SHARE_MIN: usize = 16;

/// Any number but zero will do, and this is a small one in either byte order.
const WAKE_COUNT: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 0];

/// Which limit an event counts for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Wants an answer, so it can be refused.
    TwoWay,
    /// Wants none, so its connection has to wait.
    OneWay,
    /// An opening or closing, that a request of ours is written, or that the log is visible.
    News,
}

impl Class {
    pub fn of(event: &Event) -> Self {
        match event {
            Event::Request(request) if !request.received().is_one_way() => Self::TwoWay,
            Event::Request(_) | Event::Response(_) => Self::OneWay,
            Event::Opened(_) | Event::Written(..) | Event::Closed(..) | Event::Visible(_) => Self::News,
        }
    }
}

#[derive(Debug, Default, Clone, Copy)]
pub struct Load {
    pub count: usize,
    pub size: usize,
}

impl Load {
    fn add(&mut self, size: usize) {
        self.count += 1;
        self.size += size;
    }

    fn subtract(&mut self, size: usize) {
        self.count -= 1;
        self.size -= size;
    }

    fn reaches(self, count_max: usize, size_max: usize) -> bool {
        self.count >= count_max || self.size >= size_max
    }
}

#[derive(Debug, Default)]
pub struct Line {
    events: VecDeque<Event>,
    pub two_way: Load,
    /// How many of those belong to which connection.
    two_way_by_connection: HashMap<ConnectionId, usize, RandomState>,
    pub one_way: Load,
    pub news: Load,
    /// Connections that are not read until fewer one-way requests wait.
    pub paused: Vec<ConnectionId>,
    pub refused: u64,
    pub is_ended: bool,
}

impl Line {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    fn add(&mut self, event: &Event) {
        if let (Class::TwoWay, Event::Request(request)) = (Class::of(event), event) {
            *self.two_way_by_connection.entry(request.received().peer.connection).or_default() += 1;
        }
        self.load(event).add(size_of_event(event));
    }

    fn subtract(&mut self, event: &Event) {
        if let (Class::TwoWay, Event::Request(request)) = (Class::of(event), event)
            && let Entry::Occupied(mut count) =
                self.two_way_by_connection.entry(request.received().peer.connection)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
        self.load(event).subtract(size_of_event(event));
    }

    fn load(&mut self, event: &Event) -> &mut Load {
        match Class::of(event) {
            Class::TwoWay => &mut self.two_way,
            Class::OneWay => &mut self.one_way,
            Class::News => &mut self.news,
        }
    }
}

/// What waits for Python, between the two ends of a lane.
#[derive(Debug)]
pub struct LaneQueue {
    line: Mutex<Line>,
    limits: LaneLimits,
    pub(crate) event_fd: OwnedFd,
}

impl LaneQueue {
    /// An empty queue.
    ///
    /// # Errors
    /// [`LaneError::System`] where the system refuses an eventfd.
    pub fn new(limits: LaneLimits) -> Result<Self, LaneError> {
        let event_fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|error| LaneError::System { action: "create an eventfd", source: error.into() })?;
        Ok(Self { line: Mutex::default(), limits, event_fd })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock()
    }

    /// Whether a request of a connection that wants an answer has to be refused: too many wait, or too many of its own.
    pub(crate) fn is_full(&self, line: &Line, connection: ConnectionId) -> bool {
        let own_count = line.two_way_by_connection.get(&connection).copied().unwrap_or_default();
        line.two_way.reaches(self.limits.requests_max, self.limits.requests_max_bytes)
            || own_count >= (self.limits.requests_max / SHARE).max(SHARE_MIN)
    }

    /// Whether no more connections can be told of.
    pub(crate) fn is_crowded(&self, line: &Line) -> bool {
        line.news.count >= self.limits.connection_events_max
    }

    /// Whether connections with one-way requests have to wait.
    pub(crate) fn is_one_way_full(&self, line: &Line) -> bool {
        line.one_way.reaches(self.limits.one_way_max, self.limits.one_way_max_bytes)
    }

    /// Whether they need not wait any more: half of it is free.
    pub(crate) fn is_one_way_free(&self, line: &Line) -> bool {
        !line
            .one_way
            .reaches((self.limits.one_way_max / 2).max(1), (self.limits.one_way_max_bytes / 2).max(1))
    }

    pub(crate) fn push(&self, line: &mut Line, event: Event) {
        line.add(&event);
        if line.is_empty() && !line.is_ended {
            self.set_readable();
        }
        line.events.push_back(event);
    }

    pub(crate) fn pop(&self, line: &mut Line) -> Option<Event> {
        let event = line.events.pop_front()?;
        line.subtract(&event);
        if line.is_empty() {
            // A burst must not leave its room behind.
            line.events.shrink_to(1024);
            if !line.is_ended {
                self.set_unreadable();
            }
        }
        Some(event)
    }

    /// Ends the lane: what waits can still be fetched, nothing more comes.
    pub(crate) fn end(&self) {
        let mut line = self.line.lock();
        if !line.is_ended {
            line.is_ended = true;
            self.set_readable();
        }
    }

    fn set_readable(&self) {
        if let Err(error) = rustix::io::write(&self.event_fd, &WAKE_COUNT) {
            tracing::error!(%error, "Python can't be woken");
        }
    }

    fn set_unreadable(&self) {
        let mut count = [0; 8];
        // It may have been read by someone who was given the number; then there is nothing to do.
        let _ = rustix::io::read(&self.event_fd, &mut count);
    }
}

fn size_of_event(event: &Event) -> usize {
    match event {
        Event::Request(request) => request.received().size(),
        Event::Response(received) => received.size(),
        Event::Opened(_) | Event::Written(..) | Event::Closed(..) | Event::Visible(_) => 0,
    }
}
