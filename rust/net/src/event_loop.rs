//! The epoll thread: waits for events, and works off what they lead to.
//!
//! ```text
//!   wait ─▶ events ─▶ what is due ─▶ reads left over ─▶ writes ─▶ removals ─▶ wait
//! ```
//! Epoll reports changes only, so a connection remembers whether its socket may still have bytes or room. No step waits,
//! and no connection gets more than its share of a round.

mod transfer;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use crate::close_reason::CloseReason;
use crate::command::Command;
use crate::connection::{Connection, ConnectionId, Peer, State};
use crate::handler::Handler;
use crate::options::Options;
use crate::outbox::Outbox;
use crate::remote::Shared;

pub const WAKER_TOKEN: Token = Token(usize::MAX);

const EVENTS_MAX: usize = 1024;
/// Connections that a listener may accept in one round.
const ACCEPTS_MAX: usize = 256;
/// How long to wait for descriptors when there are none.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

pub struct EventLoop<H> {
    poll: Poll,
    listeners: Vec<TcpListener>,
    outbox: Outbox,
    handler: H,
    shared: Arc<Shared>,
    read_buffer: Vec<u8>,
    accept_again_at: Option<Instant>,
    close_by: Option<Instant>,
}

impl<H: Handler> EventLoop<H> {
    pub fn new(
        poll: Poll,
        mut listeners: Vec<TcpListener>,
        options: Options,
        shared: Arc<Shared>,
        handler: H,
    ) -> io::Result<Self> {
        for (index, listener) in listeners.iter_mut().enumerate() {
            poll.registry().register(listener, listener_token(index), Interest::READABLE)?;
        }
        let (counters, next_id) = (Arc::clone(&shared.counters), Arc::clone(&shared.next_id));
        let outbox = Outbox::new(options, counters, poll.registry().try_clone()?, next_id);
        Ok(Self {
            poll,
            listeners,
            outbox,
            handler,
            shared,
            read_buffer: Vec::new(),
            accept_again_at: None,
            close_by: None,
        })
    }

    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        while !self.is_done() {
            let wait = self.wait();
            if let Err(error) = self.poll.poll(&mut events, wait) {
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                tracing::error!(%error, "epoll failed, the server ends");
                return;
            }
            self.outbox.now = Instant::now();
            self.outbox.counters.wakeups.add(1);
            for event in &events {
                self.dispatch(event);
            }
            self.outbox.look_at_due();
            self.work_off();
        }
    }

    fn is_done(&self) -> bool {
        self.close_by.is_some() && self.outbox.connections.is_empty() && self.outbox.gone.is_empty()
    }

    /// How long to sleep at most: not at all while something is left over.
    fn wait(&self) -> Option<Duration> {
        let outbox = &self.outbox;
        if !(outbox.dirty.is_empty() && outbox.readable_again.is_empty() && outbox.gone.is_empty()) {
            return Some(Duration::ZERO);
        }
        let until = |at: Option<Instant>| at.map(|at| at.saturating_duration_since(outbox.now));
        [outbox.deadlines.wait(outbox.now), until(self.accept_again_at), until(self.close_by)]
            .into_iter()
            .flatten()
            .min()
    }

    fn dispatch(&mut self, event: &Event) {
        if event.token() == WAKER_TOKEN {
            self.take_commands();
        } else if let Some(index) = listener_index(event.token(), self.listeners.len()) {
            self.accept(index);
        } else {
            self.connection_ready(ConnectionId(event.token().0 as u64), event);
        }
    }

    /// Everything that events have left behind.
    fn work_off(&mut self) {
        if self.accept_again_at.is_some_and(|at| at <= self.outbox.now) {
            self.accept_again_at = None;
            for index in 0..self.listeners.len() {
                self.accept(index);
            }
        }
        for connection in std::mem::take(&mut self.outbox.readable_again) {
            if let Some(found) = self.outbox.connections.get_mut(&connection) {
                found.is_readable_again = false;
            }
            self.read(connection);
        }
        for connection in std::mem::take(&mut self.outbox.dirty) {
            self.write(connection);
        }
        if self.close_by.is_some_and(|close_by| close_by <= self.outbox.now) {
            let left: Vec<_> = self.outbox.connections.keys().copied().collect();
            for connection in left {
                self.outbox.abort(connection, CloseReason::Shutdown);
            }
        }
        for (peer, reason) in std::mem::take(&mut self.outbox.gone) {
            self.outbox.remove(peer.connection);
            self.outbox.counters.count_closed(&reason);
            self.handler.closed(&mut self.outbox, peer, reason);
        }
        // Last, since writes and removals are what makes the total shrink, and nothing else might wake those who wait.
        self.outbox.resume_after_total();
    }

    fn take_commands(&mut self) {
        let inbox = self.shared.take();
        for command in inbox.commands {
            match command {
                Command::Send { connection, chunks, settled_size } => {
                    self.outbox.send(connection, chunks, settled_size);
                }
                Command::TellWritten { connection, number } => self.outbox.tell_written(connection, number),
                Command::Settle { connection, size } => self.outbox.settle(connection, size),
                Command::Resume { connection } => self.outbox.resume(connection),
                Command::LetGo { connection } => self.outbox.let_go(connection),
                Command::Close { connection } => self.outbox.close(connection),
                Command::Abort { connection, reason } => self.outbox.abort(connection, reason),
                Command::Connect { connection, address } => self.outbox.begin_connect(connection, address),
            }
        }
        if inbox.is_woken {
            self.handler.woken(&mut self.outbox);
        }
        if inbox.close_by.is_some() && self.close_by.is_none() {
            self.close_by = inbox.close_by;
            self.accept_again_at = None;
            self.listeners.clear();
            let open: Vec<_> = self.outbox.connections.keys().copied().collect();
            for connection in open {
                self.outbox.drain(connection, CloseReason::Shutdown);
            }
        }
    }

    fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPTS_MAX {
            let Some(listener) = self.listeners.get(index) else { return };
            match listener.accept() {
                Ok((stream, address)) => self.accepted(stream, address),
                Err(error) => match error.kind() {
                    io::ErrorKind::WouldBlock => return,
                    io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
                    _ => {
                        // Out of descriptors or memory. Epoll will not report those who wait already.
                        tracing::warn!(%error, "cannot accept connections");
                        self.accept_again_at = Some(self.outbox.now + ACCEPT_RETRY);
                        return;
                    }
                },
            }
        }
        self.accept_again_at = Some(self.outbox.now);
    }

    fn accepted(&mut self, stream: TcpStream, address: SocketAddr) {
        if self.outbox.connections.len() >= self.outbox.options.connections_max {
            self.outbox.counters.refused.add(1);
            return;
        }
        let peer = Peer { connection: self.outbox.new_id(), address, is_outgoing: false };
        // Without this answers wait for acknowledgements of earlier ones. It fails where the peer has gone already, which
        // the first read tells.
        let _ = stream.set_nodelay(true);
        match self.outbox.insert(Connection::new(peer, stream, State::Open, self.outbox.now)) {
            Ok(()) => {
                self.outbox.counters.opened.add(1);
                self.handler.opened(&mut self.outbox, peer);
            }
            Err(error) => tracing::warn!(%error, %address, "cannot watch a connection"),
        }
    }

    fn connection_ready(&mut self, connection: ConnectionId, event: &Event) {
        let Some(found) = self.outbox.live(connection) else { return };
        if found.state == State::Connecting {
            self.connected(connection);
        }
        let Some(found) = self.outbox.live(connection).filter(|found| found.state != State::Connecting)
        else {
            return;
        };
        if event.is_error() {
            let error = found.stream.take_error().ok().flatten();
            let kind = error.map_or(io::ErrorKind::ConnectionReset, |error| error.kind());
            return self.outbox.abort(connection, CloseReason::Failed(kind));
        }
        found.has_end |= event.is_read_closed();
        found.may_read |= event.is_readable() || event.is_read_closed();
        let may_read = found.may_read;
        if event.is_writable() {
            found.is_blocked = false;
            self.outbox.mark_dirty(connection);
        }
        if may_read {
            self.read(connection);
        }
    }

    /// Epoll says something about a connection that was being made: it is there, or it failed.
    fn connected(&mut self, connection: ConnectionId) {
        let now = self.outbox.now;
        let Some(found) = self.outbox.live(connection) else { return };
        let failed = match found.stream.take_error() {
            Ok(Some(error)) | Err(error) => Some(error),
            Ok(None) => match found.stream.peer_addr() {
                Ok(_) => None,
                Err(error) if error.kind() == io::ErrorKind::NotConnected => return,
                Err(error) => Some(error),
            },
        };
        if let Some(error) = failed {
            return self.outbox.abort(connection, CloseReason::ConnectFailed(error.kind()));
        }
        let _ = found.stream.set_nodelay(true);
        found.enter(State::Open, now);
        found.last_traffic = now;
        let peer = found.peer;
        self.outbox.counters.opened.add(1);
        // Writes what was queued meanwhile, and stops watching for room to write.
        self.outbox.mark_dirty(connection);
        self.outbox.schedule(connection);
        self.handler.opened(&mut self.outbox, peer);
    }
}

fn listener_token(index: usize) -> Token {
    Token(WAKER_TOKEN.0 - 1 - index)
}

fn listener_index(token: Token, count: usize) -> Option<usize> {
    (WAKER_TOKEN.0 - 1).checked_sub(token.0).filter(|&index| index < count)
}
