//! The connections, and what may be done with them on the epoll thread.
//!
//! Nothing is written or removed here: a connection is put on a list, and the loop works the lists off when the events
//! of a round are handled, so that many answers leave in one system call.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use bytes::Bytes;
use foldhash::fast::RandomState;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};

use crate::close_reason::CloseReason;
use crate::connection::{Connection, ConnectionId, Pause, Peer, State};
use crate::counters::Counters;
use crate::deadlines::Deadlines;
use crate::options::Options;

/// How much a connection may read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// As much as it likes.
    Plenty,
    /// So many bytes.
    Little(usize),
    /// Nothing.
    None,
}

/// What a handler does with connections.
#[derive(Debug)]
pub struct Outbox {
    pub(crate) connections: HashMap<ConnectionId, Connection, RandomState>,
    pub(crate) options: Options,
    pub(crate) counters: Arc<Counters>,
    pub(crate) registry: Registry,
    pub(crate) deadlines: Deadlines,
    pub(crate) now: Instant,
    /// Those with something to write.
    pub(crate) dirty: Vec<ConnectionId>,
    /// Those to be read without a new event: they were paused, or had more than their share.
    pub(crate) readable_again: Vec<ConnectionId>,
    /// Those to be removed.
    pub(crate) gone: Vec<(Peer, CloseReason)>,
    /// Those that wait for the total to shrink, longest first; some may have given back enough to read again meanwhile.
    waiting_for_total: Vec<ConnectionId>,
    in_flight_size: usize,
    next_id: Arc<AtomicU64>,
}

impl Outbox {
    pub(crate) fn new(
        options: Options,
        counters: Arc<Counters>,
        registry: Registry,
        next_id: Arc<AtomicU64>,
    ) -> Self {
        Self {
            connections: HashMap::default(),
            options,
            counters,
            registry,
            deadlines: Deadlines::default(),
            now: Instant::now(),
            dirty: Vec::new(),
            readable_again: Vec::new(),
            gone: Vec::new(),
            waiting_for_total: Vec::new(),
            in_flight_size: 0,
            next_id,
        }
    }

    /// Queues a frame, given in pieces, and settles so many bytes in flight. False if the connection is gone.
    pub fn send(
        &mut self,
        connection: ConnectionId,
        chunks: impl IntoIterator<Item = Bytes>,
        settled_size: usize,
    ) -> bool {
        let queued_size_max = self.options.in_flight_max_bytes.saturating_mul(2);
        let Some(found) = self.connections.get_mut(&connection) else { return false };
        if matches!(found.state, State::Gone | State::Lingering(_)) {
            return false;
        }
        if found.queue.size() > queued_size_max {
            // A peer that is over its limit gets time to read; one that lets this much pile up can't be waited for.
            self.abort(connection, CloseReason::SlowReader);
            return false;
        }
        found.unsettled_size = found.unsettled_size.saturating_sub(settled_size);
        for chunk in chunks {
            found.queue.push(chunk);
        }
        self.counters.frames_sent.add(1);
        if !found.is_dirty {
            found.is_dirty = true;
            self.dirty.push(connection);
        }
        self.account(connection);
        true
    }

    /// Has the handler told when what is queued for a connection is written.
    pub(crate) fn tell_written(&mut self, connection: ConnectionId, number: i32) {
        if let Some(found) = self.live(connection).filter(|found| !matches!(found.state, State::Lingering(_)))
        {
            found.queue.mark(number);
            self.mark_dirty(connection);
        }
    }

    /// Takes bytes off those in flight: a request was dealt with, and nothing is to be sent.
    pub fn settle(&mut self, connection: ConnectionId, size: usize) {
        if let Some(found) = self.live(connection) {
            found.unsettled_size = found.unsettled_size.saturating_sub(size);
            self.account(connection);
        }
    }

    /// Stops reading a connection, at once: frames that were received already are kept back too.
    pub fn pause(&mut self, connection: ConnectionId) {
        if let Some(found) = self.live(connection) {
            found.pause(Pause::Handler);
        }
    }

    /// Reads a connection again that was paused.
    pub fn resume(&mut self, connection: ConnectionId) {
        self.unpause(connection, Pause::Handler);
    }

    /// Stops reading a connection as [`pause`](Self::pause) does, for another reason: the last frame that it sent is to
    /// be dealt with first. A connection that is paused as well is read again when both have ended.
    pub fn hold(&mut self, connection: ConnectionId) {
        if let Some(found) = self.live(connection) {
            found.pause(Pause::Held);
        }
    }

    /// Ends what [`hold`](Self::hold) began.
    pub fn let_go(&mut self, connection: ConnectionId) {
        self.unpause(connection, Pause::Held);
    }

    /// Closes a connection when what is queued for it is written.
    pub fn close(&mut self, connection: ConnectionId) {
        self.drain(connection, CloseReason::Requested);
    }

    /// Closes a connection now, whatever is queued for it.
    pub fn abort(&mut self, connection: ConnectionId, reason: CloseReason) {
        let now = self.now;
        if let Some(found) = self.live(connection) {
            let peer = found.peer;
            found.enter(State::Gone, now);
            self.gone.push((peer, reason));
        }
    }

    /// Begins a connection. It is `opened`, or `closed` where it can't be made, at the earliest after this call.
    pub fn connect(&mut self, address: SocketAddr) -> ConnectionId {
        let connection = self.new_id();
        self.begin_connect(connection, address);
        connection
    }

    /// Bytes that are queued for a connection and not written; none where it is gone. Whoever answers with more than was
    /// asked looks here first.
    #[must_use]
    pub fn queued_size(&self, connection: ConnectionId) -> Option<usize> {
        let found = self.connections.get(&connection)?;
        (found.state != State::Gone).then(|| found.queue.size())
    }

    /// When the round began. The clock of everything that has no need to be more exact.
    #[must_use]
    pub fn now(&self) -> Instant {
        self.now
    }

    pub(crate) fn new_id(&self) -> ConnectionId {
        ConnectionId(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    pub(crate) fn begin_connect(&mut self, connection: ConnectionId, address: SocketAddr) {
        let peer = Peer { connection, address, is_outgoing: true };
        let connected = if self.connections.len() < self.options.connections_max {
            TcpStream::connect(address)
        } else {
            Err(io::ErrorKind::QuotaExceeded.into())
        };
        let inserted = connected
            .and_then(|stream| self.insert(Connection::new(peer, stream, State::Connecting, self.now)));
        if let Err(error) = inserted {
            self.gone.push((peer, CloseReason::ConnectFailed(error.kind())));
        }
    }

    /// Takes a connection in, and has epoll watch it.
    pub(crate) fn insert(&mut self, mut connection: Connection) -> io::Result<()> {
        let id = connection.peer.connection;
        let is_connecting = connection.state == State::Connecting;
        connection.is_watched_for_write = is_connecting;
        let interest =
            if is_connecting { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.registry.register(&mut connection.stream, token(id), interest)?;
        self.connections.insert(id, connection);
        self.counters.connections.set(self.connections.len());
        self.schedule(id);
        Ok(())
    }

    /// Takes a connection out, for good.
    pub(crate) fn remove(&mut self, id: ConnectionId) {
        if let Some(mut connection) = self.connections.remove(&id) {
            self.in_flight_size -= connection.charged_size;
            self.counters.bytes_in_flight.set(self.in_flight_size);
            self.counters.connections.set(self.connections.len());
            self.deadlines.forget(id, connection.scheduled);
            // Closing takes it out of epoll as well; an error here changes nothing.
            let _ = self.registry.deregister(&mut connection.stream);
        }
    }

    /// Writes what is queued, reads nothing more, then closes.
    pub(crate) fn drain(&mut self, connection: ConnectionId, reason: CloseReason) {
        let now = self.now;
        let Some(found) = self.live(connection) else { return };
        match found.state {
            State::Open => {
                found.enter(State::Draining(reason), now);
                self.mark_dirty(connection);
                self.schedule(connection);
            }
            State::Connecting => self.abort(connection, reason),
            State::Draining(_) | State::Lingering(_) | State::Gone => {}
        }
    }

    /// A connection that is not on its way out.
    pub(crate) fn live(&mut self, connection: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&connection).filter(|found| found.state != State::Gone)
    }

    pub(crate) fn mark_dirty(&mut self, connection: ConnectionId) {
        if let Some(found) = self.connections.get_mut(&connection).filter(|found| !found.is_dirty) {
            found.is_dirty = true;
            self.dirty.push(connection);
        }
    }

    pub(crate) fn mark_readable_again(&mut self, connection: ConnectionId) {
        if let Some(found) = self.connections.get_mut(&connection).filter(|found| !found.is_readable_again) {
            found.is_readable_again = true;
            self.readable_again.push(connection);
        }
    }

    fn unpause(&mut self, connection: ConnectionId, pause: Pause) {
        let now = self.now;
        if self.live(connection).is_some_and(|found| found.unpause(pause, now)) {
            self.mark_readable_again(connection);
            self.schedule(connection);
        }
    }

    /// Brings totals, pauses and deadlines in step with what a connection holds.
    pub(crate) fn account(&mut self, connection: ConnectionId) {
        let (now, size_max) = (self.now, self.options.in_flight_max_bytes);
        let Some(found) = self.connections.get_mut(&connection) else { return };
        let in_flight_size = found.in_flight_size();
        let charged_size = in_flight_size + found.received.len();
        self.in_flight_size = self.in_flight_size - found.charged_size + charged_size;
        self.counters.bytes_in_flight.set(self.in_flight_size);
        found.charged_size = charged_size;
        if found.queue.size() <= size_max {
            found.over_since = None;
        } else if found.over_since.is_none() {
            found.over_since = Some(now);
        }
        if in_flight_size > size_max {
            found.pause(Pause::InFlight);
        }
        if found.may_be_due_earlier() {
            let deadline = found.deadline(&self.options, now).0;
            self.deadlines.schedule(connection, &mut found.scheduled, deadline);
        }
        // Of those that follow, most connections need nothing most of the time.
        if found.is_paused() {
            if in_flight_size <= size_max / 2 {
                self.unpause(connection, Pause::InFlight);
            }
            if charged_size < self.options.share_of_total() / 2 {
                self.unpause(connection, Pause::Total);
            }
        }
    }

    /// How much a connection may read now; if nothing, it waits for the total to shrink. Over the limit, one that holds
    /// little may still read its share: those who hold much hold up each other, not everybody.
    pub(crate) fn room_in_total(&mut self, connection: ConnectionId) -> Room {
        if self.in_flight_size <= self.options.in_flight_total_max_bytes {
            return Room::Plenty;
        }
        let share = self.options.share_of_total();
        let Some(found) = self.connections.get_mut(&connection) else { return Room::None };
        if found.charged_size < share {
            return Room::Little(share - found.charged_size);
        }
        found.pause(Pause::Total);
        if !found.is_waiting_for_total {
            found.is_waiting_for_total = true;
            self.waiting_for_total.push(connection);
        }
        Room::None
    }

    /// Lets those read again that waited for the total, once a quarter of it is free.
    pub(crate) fn resume_after_total(&mut self) {
        let resume_size = self.options.in_flight_total_max_bytes / 4 * 3;
        if !self.waiting_for_total.is_empty() && self.in_flight_size <= resume_size {
            for connection in std::mem::take(&mut self.waiting_for_total) {
                if let Some(found) = self.connections.get_mut(&connection) {
                    found.is_waiting_for_total = false;
                }
                self.unpause(connection, Pause::Total);
            }
        }
    }

    pub(crate) fn schedule(&mut self, connection: ConnectionId) {
        if let Some(found) = self.connections.get_mut(&connection) {
            let deadline = found.deadline(&self.options, self.now).0;
            self.deadlines.schedule(connection, &mut found.scheduled, deadline);
        }
    }

    /// Closes what is past its time, and looks at the rest again later.
    pub(crate) fn look_at_due(&mut self) {
        while let Some(connection) = self.deadlines.pop_due(self.now) {
            let Some(found) = self.connections.get_mut(&connection) else { continue };
            found.scheduled = None;
            let (deadline, reason) = found.deadline(&self.options, self.now);
            if deadline <= self.now {
                self.abort(connection, reason);
            } else {
                self.schedule(connection);
            }
        }
    }
}

/// The name of a connection for epoll. Listeners and the waker count down from the largest.
#[allow(clippy::cast_possible_truncation, reason = "this crate needs epoll, and pointers of 64 bits")]
pub fn token(connection: ConnectionId) -> Token {
    const { assert!(usize::BITS == 64) };
    Token(connection.0 as usize)
}
