//! The handler of a server that asks others: answers go to who waits for them, everything else to Python.

use std::sync::Arc;

use escrowmq_net::{CloseReason, Handler, Outbox, Peer};
use escrowmq_wire::Frame;

use crate::calls::Calls;
use crate::python_lane::PythonLane;

/// Puts the open calls before the Python lane.
#[derive(Debug)]
pub struct CallLane {
    calls: Arc<Calls>,
    python: PythonLane,
}

impl CallLane {
    /// A handler of these calls.
    #[must_use]
    pub fn new(calls: Arc<Calls>, python: PythonLane) -> Self {
        Self { calls, python }
    }
}

impl Handler for CallLane {
    fn opened(&mut self, outbox: &mut Outbox, peer: Peer) {
        self.python.opened(outbox, peer);
    }

    fn frame(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame) {
        let Some(received) = PythonLane::decode(outbox, peer, frame) else { return };
        if !received.is_response() {
            return self.python.take(outbox, received, false);
        }
        let size = received.size();
        match self.calls.answered(received) {
            None => outbox.settle(peer.connection, size),
            Some(received) => self.python.take(outbox, received, false),
        }
    }

    fn written(&mut self, outbox: &mut Outbox, peer: Peer, number: i32) {
        self.python.written(outbox, peer, number);
    }

    fn closed(&mut self, outbox: &mut Outbox, peer: Peer, reason: CloseReason) {
        self.calls.ended(peer.connection, &reason);
        self.python.closed(outbox, peer, reason);
    }

    fn woken(&mut self, outbox: &mut Outbox) {
        self.python.woken(outbox);
    }
}

impl Drop for CallLane {
    fn drop(&mut self) {
        self.calls.end();
    }
}
