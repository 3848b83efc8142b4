//! Both lanes of a broker: a request takes the fast one if it can, else Python's.

use std::sync::Arc;

use escrowmq_net::{CloseReason, Handler, Outbox, Peer};
use escrowmq_wire::Frame;

use crate::error::LaneError;
use crate::event::Request;
use crate::fast::{FastLane, FastLaneShared, Verdict};
use crate::python_lane::PythonLane;

/// The two lanes as one handler.
pub struct BrokerLanes {
    fast: FastLane,
    python: PythonLane,
}

impl BrokerLanes {
    /// Puts a fast lane before Python's.
    #[must_use]
    pub fn new(fast: FastLane, python: PythonLane) -> Self {
        Self { fast, python }
    }
}

impl Handler for BrokerLanes {
    fn opened(&mut self, outbox: &mut Outbox, peer: Peer) {
        self.python.opened(outbox, peer);
    }

    fn frame(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame) {
        if self.fast.frame(outbox, peer, &frame) == Verdict::Passed {
            self.python.frame(outbox, peer, frame);
        }
    }

    fn closed(&mut self, outbox: &mut Outbox, peer: Peer, reason: CloseReason) {
        self.fast.closed(peer.connection);
        self.python.closed(outbox, peer, reason);
    }

    fn woken(&mut self, outbox: &mut Outbox) {
        self.fast.woken(outbox);
        self.python.woken(outbox);
    }
}

impl FastLaneShared {
    /// Gives a request back to the fast lane, in place of an answer.
    ///
    /// # Errors
    /// [`LaneError::AnsweredBefore`].
    pub fn give_back(self: &Arc<Self>, request: &Request) -> Result<(), LaneError> {
        let received = request.received();
        // A one-way request was settled when it was fetched, a request with an answer is settled by that.
        if !request.settle() && !received.is_one_way() {
            let connection = received.peer.connection;
            return Err(LaneError::AnsweredBefore { connection, opaque: received.opaque });
        }
        self.mailbox.give_back(received.peer, received.frame.clone());
        Ok(())
    }
}
