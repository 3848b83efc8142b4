//! The end of the lane on the epoll thread: takes what happens, and refuses what is too much.

use std::collections::HashSet;
use std::sync::Arc;

use escrowmq_net::{CloseReason, ConnectionId, Handler, Outbox, Peer, Remote};
use escrowmq_store::LogOffset;
use escrowmq_wire::Frame;
use foldhash::fast::RandomState;

use crate::answer::Answer;
use crate::event::{Event, Received, Request};
use crate::queue::LaneQueue;

/// Compat: Java clients try another broker on this code.
const SYSTEM_BUSY: i32 = 2;

/// Hands everything to Python.
#[derive(Debug)]
pub struct PythonLane {
    queue: Arc<LaneQueue>,
    remote: Remote,
    /// Connections that Python was never told of.
    unseen: HashSet<ConnectionId, RandomState>,
}

impl PythonLane {
    /// The lane's end on the epoll thread. The other one is a [`crate::LaneEnd`] with the same queue.
    #[must_use]
    pub fn new(queue: Arc<LaneQueue>, remote: Remote) -> Self {
        Self { queue, remote, unseen: HashSet::default() }
    }

    /// Tells Python how far the log is visible.
    pub(crate) fn tell_visible(&mut self, end: LogOffset) {
        self.queue.push(&mut self.queue.lock(), Event::Visible(end));
    }

    /// Takes a frame, and no other of its connection until Python is done with it.
    pub(crate) fn frame_first(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame) {
        if let Some(received) = Self::decode(outbox, peer, frame) {
            self.take(outbox, received, true);
        }
    }

    /// A frame far enough to know what it is; the connection of one with a bad header is closed.
    pub(crate) fn decode(outbox: &mut Outbox, peer: Peer, frame: Frame) -> Option<Received> {
        Received::decode(peer, frame)
            .map_err(|error| {
                tracing::info!(peer = %peer.address, %error, "closing a connection with a bad header");
                outbox.abort(peer.connection, CloseReason::BadFrame(error));
            })
            .ok()
    }

    /// Takes what was decoded.
    pub(crate) fn take(&mut self, outbox: &mut Outbox, received: Received, holds_up: bool) {
        let received_by = received.peer.connection;
        if received.is_response() {
            self.one_way(outbox, received_by, Event::Response(received));
        } else if received.is_one_way() {
            let request = self.request(outbox, received, holds_up);
            self.one_way(outbox, received_by, Event::Request(request));
        } else {
            self.two_way(outbox, received, holds_up);
        }
    }

    fn request(&self, outbox: &mut Outbox, received: Received, holds_up: bool) -> Request {
        let connection = received.peer.connection;
        let request = Request::new(received, self.remote.clone());
        if !holds_up {
            return request;
        }
        outbox.hold(connection);
        request.holding_up()
    }

    fn one_way(&mut self, outbox: &mut Outbox, connection: ConnectionId, event: Event) {
        let mut line = self.queue.lock();
        self.queue.push(&mut line, event);
        if self.queue.is_one_way_full(&line) {
            outbox.pause(connection);
            line.paused.push(connection);
        }
    }

    fn two_way(&mut self, outbox: &mut Outbox, received: Received, holds_up: bool) {
        let mut line = self.queue.lock();
        if self.queue.is_full(&line, received.peer.connection) {
            line.refused += 1;
            let waiting = line.two_way.count;
            drop(line);
            refuse(outbox, &received, waiting);
        } else {
            let request = self.request(outbox, received, holds_up);
            self.queue.push(&mut line, Event::Request(request));
        }
    }
}

impl Handler for PythonLane {
    fn opened(&mut self, outbox: &mut Outbox, peer: Peer) {
        let mut line = self.queue.lock();
        if self.queue.is_crowded(&line) {
            drop(line);
            self.unseen.insert(peer.connection);
            outbox.abort(peer.connection, CloseReason::Requested);
        } else {
            self.queue.push(&mut line, Event::Opened(peer));
        }
    }

    fn frame(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame) {
        if let Some(received) = Self::decode(outbox, peer, frame) {
            self.take(outbox, received, false);
        }
    }

    fn written(&mut self, _outbox: &mut Outbox, peer: Peer, number: i32) {
        self.queue.push(&mut self.queue.lock(), Event::Written(peer, number));
    }

    fn closed(&mut self, _outbox: &mut Outbox, peer: Peer, reason: CloseReason) {
        if !self.unseen.remove(&peer.connection) {
            self.queue.push(&mut self.queue.lock(), Event::Closed(peer, reason));
        }
    }

    fn woken(&mut self, _outbox: &mut Outbox) {}
}

impl Drop for PythonLane {
    fn drop(&mut self) {
        // The thread has ended, in whatever way: nobody may wait for more.
        self.queue.end();
    }
}

fn refuse(outbox: &mut Outbox, received: &Received, waiting: usize) {
    let (connection, size) = (received.peer.connection, received.size());
    let answer = Answer::remark(SYSTEM_BUSY, format!("system busy, {waiting} requests wait"));
    match answer.encode(received) {
        Ok(chunks) => {
            outbox.send(connection, chunks, size);
        }
        Err(error) => outbox.abort(connection, CloseReason::BadFrame(error)),
    }
}
