//! Bytes in and out of one connection, as far as its socket, its limits and its share of the round allow.

use std::io::{self, Read};
use std::net::Shutdown;

use mio::Interest;

use super::EventLoop;
use crate::close_reason::CloseReason;
use crate::connection::{ConnectionId, LINGER, State};
use crate::handler::{Handler, in_flight_size};
use crate::outbox::{Room, token};
use crate::receive_buffer::Filled;
use crate::write_queue::Written;

/// What a connection may read in one round.
const READ_SHARE_SIZE: usize = 256 * 1024;
/// Reads of one round whose bytes nobody wants.
const DROPPED_READS_MAX: usize = 16;
/// The first byte of a TLS handshake.
const TLS_HANDSHAKE: u8 = 0x16;

impl<H: Handler> EventLoop<H> {
    /// Reads until the socket has no more, the connection is paused or has had its share.
    pub(super) fn read(&mut self, connection: ConnectionId) {
        let mut share = READ_SHARE_SIZE;
        if self.outbox.live(connection).is_some_and(|found| matches!(found.state, State::Lingering(_))) {
            return self.linger(connection);
        }
        loop {
            if !self.deliver(connection) {
                return;
            }
            let room = self.outbox.room_in_total(connection);
            if room == Room::None {
                return;
            }
            let now = self.outbox.now;
            let Some(found) = self.outbox.live(connection).filter(|found| found.may_read) else { return };
            if share == 0 {
                return self.outbox.mark_readable_again(connection);
            }
            let read = match room {
                Room::Little(size_max) => found.received.fill_little(&found.stream, size_max),
                Room::Plenty | Room::None => found.received.fill(&found.stream, &mut self.read_buffer),
            };
            let size = match read {
                Ok(Filled::Some(size)) => size,
                Ok(Filled::Last(size)) => {
                    found.may_read = found.has_end;
                    size
                }
                Ok(Filled::Nothing) => {
                    found.may_read = false;
                    return;
                }
                Ok(Filled::End) => return self.outbox.abort(connection, CloseReason::Peer),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    return self.outbox.abort(connection, CloseReason::Failed(error.kind()));
                }
            };
            found.last_traffic = now;
            share = share.saturating_sub(size);
            self.outbox.counters.bytes_received.add(size);
        }
    }

    /// Hands over the frames that are whole. False if the connection is not to be read on.
    fn deliver(&mut self, connection: ConnectionId) -> bool {
        let frame_size_max = self.outbox.options.frame_size_max_bytes;
        let now = self.outbox.now;
        loop {
            let Some(found) = self.outbox.live(connection) else { return false };
            if found.state != State::Open || found.is_paused() {
                self.outbox.account(connection);
                return false;
            }
            match found.received.next_frame(frame_size_max) {
                Ok(Some(frame)) => {
                    found.unsettled_size += in_flight_size(&frame);
                    found.frame_since = None;
                    let peer = found.peer;
                    self.outbox.counters.frames_received.add(1);
                    self.outbox.account(connection);
                    self.handler.frame(&mut self.outbox, peer, frame);
                }
                Ok(None) => {
                    if found.received.has_partial() {
                        found.frame_since.get_or_insert(now);
                    }
                    self.outbox.account(connection);
                    return true;
                }
                Err(error) => {
                    // No frame that is accepted begins with the first byte of a TLS handshake.
                    let is_tls = found.received.first_byte() == Some(TLS_HANDSHAKE);
                    let reason = if is_tls { CloseReason::Tls } else { CloseReason::BadFrame(error) };
                    tracing::info!(peer = %found.peer.address, ?reason, "closing a connection that sends no frames");
                    self.outbox.abort(connection, reason);
                    return false;
                }
            }
        }
    }

    /// Drops what a peer sends after our last byte; ends when it closes, or at once if it was sent nothing of late.
    fn linger(&mut self, connection: ConnectionId) {
        let now = self.outbox.now;
        let Some(found) = self.outbox.live(connection) else { return };
        let State::Lingering(reason) = &found.state else { return };
        let reason = reason.clone();
        let mut dropped = [0; 4096];
        for _ in 0..DROPPED_READS_MAX {
            match found.stream.read(&mut dropped) {
                Ok(size) if size > 0 => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if found.last_write.is_none_or(|at| now.duration_since(at) >= LINGER) {
                        self.outbox.abort(connection, reason);
                    }
                    return;
                }
                _ => return self.outbox.abort(connection, reason),
            }
        }
        self.outbox.mark_readable_again(connection);
    }

    pub(super) fn write(&mut self, connection: ConnectionId) {
        let now = self.outbox.now;
        let Some(found) = self.outbox.connections.get_mut(&connection) else { return };
        found.is_dirty = false;
        if found.is_blocked || matches!(found.state, State::Connecting | State::Lingering(_) | State::Gone) {
            return;
        }
        let before = found.queue.size();
        let result = found.queue.write_to(&mut found.stream);
        let (written, is_marked) = (before - found.queue.size(), found.queue.is_marked());
        if written > 0 {
            found.last_traffic = now;
            found.last_write = Some(now);
        }
        let watched = match result {
            Ok(Written::All) => {
                if let State::Draining(reason) = &found.state {
                    let reason = reason.clone();
                    found.enter(State::Lingering(reason), now);
                    // It fails where the peer has gone already, which reading tells.
                    let _ = found.stream.shutdown(Shutdown::Write);
                    self.outbox.mark_readable_again(connection);
                }
                self.watch_for_write(connection, false)
            }
            Ok(Written::Blocked) => {
                found.is_blocked = true;
                self.watch_for_write(connection, true)
            }
            Ok(Written::More) => {
                self.outbox.mark_dirty(connection);
                Ok(())
            }
            Err(error) => Err(error),
        };
        self.outbox.counters.bytes_sent.add(written);
        match watched {
            Ok(()) => self.outbox.account(connection),
            Err(error) => self.outbox.abort(connection, CloseReason::Failed(error.kind())),
        }
        if is_marked {
            self.tell_written(connection);
        }
    }

    /// Tells the handler what the kernel has taken, where somebody asked.
    fn tell_written(&mut self, connection: ConnectionId) {
        while let Some(found) = self.outbox.connections.get_mut(&connection)
            && let Some(number) = found.queue.take_reached()
        {
            let peer = found.peer;
            self.handler.written(&mut self.outbox, peer, number);
        }
    }

    /// Has epoll report room to write, or not.
    fn watch_for_write(&mut self, connection: ConnectionId, is_watched: bool) -> io::Result<()> {
        let Some(found) = self.outbox.connections.get_mut(&connection) else { return Ok(()) };
        if found.is_watched_for_write == is_watched {
            return Ok(());
        }
        found.is_watched_for_write = is_watched;
        let interest = if is_watched { Interest::READABLE | Interest::WRITABLE } else { Interest::READABLE };
        self.outbox.registry.reregister(&mut found.stream, token(connection), interest)
    }
}
