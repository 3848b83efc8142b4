//! One connection: its socket, what it received, what it has to write, and when to give it up.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use mio::net::TcpStream;

use crate::close_reason::CloseReason;
use crate::options::Options;
use crate::receive_buffer::ReceiveBuffer;
use crate::write_queue::WriteQueue;

/// How long a peer gets to take what was written last and to close. Closed at once, a socket that still receives answers
/// with a reset, which may overtake our last bytes.
pub const LINGER: Duration = Duration::from_secs(1);

/// Names a connection. No number is used twice in the life of a server, so a late command never hits a newer connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A connection and who is at its other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Peer {
    /// The connection.
    pub connection: ConnectionId,
    /// The other end.
    pub address: SocketAddr,
    /// Whether we began it.
    pub is_outgoing: bool,
}

/// Why a connection is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Pause {
    /// Too much of it is in flight.
    InFlight = 1,
    /// Too much of all connections is in flight.
    Total = 2,
    /// The handler has no room for more.
    Handler = 4,
    /// The handler is not done with a frame that nothing may overtake.
    Held = 8,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    Connecting,
    Open,
    /// Nothing is read any more; when everything is written, it is closed for this reason.
    Draining(CloseReason),
    /// Everything is written and the peer was told so; what it still sends is dropped, until it closes or time is up.
    Lingering(CloseReason),
    /// It is on the list of those to be removed.
    Gone,
}

#[derive(Debug)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each says something else about the socket or a list, in any combination"
)]
pub struct Connection {
    pub peer: Peer,
    pub stream: TcpStream,
    pub state: State,
    /// When `state` began.
    pub state_since: Instant,
    pub received: ReceiveBuffer,
    pub queue: WriteQueue,
    /// Received frames that nobody has settled.
    pub unsettled_size: usize,
    /// What the total counts for this connection.
    pub charged_size: usize,
    pauses: u8,
    /// Whether the socket may have bytes; false after it said that it has none.
    pub may_read: bool,
    /// Whether the peer has announced its end: then a short read does not mean that nothing follows.
    pub has_end: bool,
    /// Whether the socket takes nothing until epoll says so.
    pub is_blocked: bool,
    /// Whether epoll watches for room to write.
    pub is_watched_for_write: bool,
    pub is_dirty: bool,
    pub is_readable_again: bool,
    /// Whether it is on the list of those that wait for the total.
    pub is_waiting_for_total: bool,
    pub last_traffic: Instant,
    pub last_write: Option<Instant>,
    /// When the frame that is not whole began.
    pub frame_since: Option<Instant>,
    /// Since when more is unread by the peer than is allowed.
    pub over_since: Option<Instant>,
    pub scheduled: Option<Instant>,
}

impl Connection {
    pub fn new(peer: Peer, stream: TcpStream, state: State, now: Instant) -> Self {
        Self {
            peer,
            stream,
            state,
            state_since: now,
            received: ReceiveBuffer::default(),
            queue: WriteQueue::default(),
            unsettled_size: 0,
            charged_size: 0,
            pauses: 0,
            may_read: false,
            has_end: false,
            is_blocked: false,
            is_watched_for_write: false,
            is_dirty: false,
            is_readable_again: false,
            is_waiting_for_total: false,
            last_traffic: now,
            last_write: None,
            frame_since: None,
            over_since: None,
            scheduled: None,
        }
    }

    pub fn enter(&mut self, state: State, now: Instant) {
        self.state = state;
        self.state_since = now;
    }

    /// Received and unsettled, or queued and unwritten.
    pub fn in_flight_size(&self) -> usize {
        self.unsettled_size + self.queue.size()
    }

    pub fn is_paused(&self) -> bool {
        self.pauses != 0
    }

    pub fn is_paused_for(&self, pause: Pause) -> bool {
        self.pauses & pause as u8 != 0
    }

    pub fn pause(&mut self, pause: Pause) {
        self.pauses |= pause as u8;
    }

    /// Ends one pause, and says whether the connection may be read again.
    pub fn unpause(&mut self, pause: Pause, now: Instant) -> bool {
        let was_paused_for = self.is_paused_for(pause);
        self.pauses &= !(pause as u8);
        if was_paused_for && pause != Pause::Total && self.frame_since.is_some() {
            // The peer could not go on meanwhile, through no fault of its own.
            self.frame_since = Some(now);
        }
        was_paused_for && self.pauses == 0
    }

    /// Whether its deadline may have moved to an earlier time since it was last scheduled. Traffic alone moves it away.
    pub fn may_be_due_earlier(&self) -> bool {
        self.scheduled.is_none()
            || self.frame_since.is_some()
            || self.over_since.is_some()
            || self.is_paused()
            || self.state != State::Open
    }

    /// The next time at which it has to be given up, if nothing happens before, and why.
    pub fn deadline(&self, options: &Options, now: Instant) -> (Instant, CloseReason) {
        match &self.state {
            State::Connecting => {
                let reason = CloseReason::ConnectFailed(std::io::ErrorKind::TimedOut);
                return (self.state_since + options.connect_timeout, reason);
            }
            State::Draining(reason) => return (self.state_since + options.stall_timeout, reason.clone()),
            State::Lingering(reason) => return (self.state_since + LINGER, reason.clone()),
            State::Open | State::Gone => {}
        }
        // While we do not read and owe nothing written, the silence is ours.
        let is_our_silence = self.is_paused() && self.queue.is_empty();
        let silent_since = if is_our_silence { now } else { self.last_traffic };
        let mut earliest = (silent_since + options.idle_timeout, CloseReason::Idle);
        // Paused for the total, a frame's time goes on: half frames may be what fills the total.
        let is_frame_held_up =
            [Pause::InFlight, Pause::Handler, Pause::Held].into_iter().any(|pause| self.is_paused_for(pause));
        if let Some(since) = self.frame_since.filter(|_| !is_frame_held_up) {
            let frame_end = since + options.frame_timeout;
            if frame_end < earliest.0 {
                earliest = (frame_end, CloseReason::SlowFrame);
            }
        }
        if let Some(since) = self.over_since {
            let stall_end = since + options.stall_timeout;
            if stall_end < earliest.0 {
                earliest = (stall_end, CloseReason::SlowReader);
            }
        }
        earliest
    }
}
