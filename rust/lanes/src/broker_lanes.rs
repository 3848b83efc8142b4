//! Both lanes of a broker: a request takes the fast one if it can, else Python's.

use std::sync::Arc;

use escrowmq_net::{CloseReason, Handler, Outbox, Peer};
use escrowmq_wire::Frame;

use crate::answer::{After, Answer};
use crate::error::LaneError;
use crate::event::Request;
use crate::fast::{Asker, FastLane, FastLaneShared, PendingAnswer, Verdict};
use crate::lane_end::{Encoded, LaneEnd};
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
        let frame = self.fast.shared().dropped_answers.apply(frame);
        match self.fast.frame(outbox, peer, &frame) {
            Verdict::Done => {}
            Verdict::Passed => self.python.frame(outbox, peer, frame),
            Verdict::Awaited => self.python.frame_first(outbox, peer, frame),
        }
    }

    fn written(&mut self, outbox: &mut Outbox, peer: Peer, number: i32) {
        self.python.written(outbox, peer, number);
    }

    fn closed(&mut self, outbox: &mut Outbox, peer: Peer, reason: CloseReason) {
        self.fast.closed(peer.connection);
        self.python.closed(outbox, peer, reason);
    }

    fn woken(&mut self, outbox: &mut Outbox) {
        self.fast.woken(outbox);
        if let Some(end) = self.fast.take_reached() {
            self.python.tell_visible(end);
        }
        self.python.woken(outbox);
    }
}

impl FastLaneShared {
    /// Answers requests, all or, on an error, none. In sync mode an answer that tells of what was appended goes out when
    /// that is durable and in its queues; in async mode at once.
    ///
    /// # Errors
    /// As [`LaneEnd::answer`].
    pub fn answer<'a>(
        &self,
        end: &LaneEnd,
        answers: impl IntoIterator<Item = (&'a Request, &'a Answer)>,
    ) -> Result<(), LaneError> {
        let kept = end.answer_or_keep(answers, |answer| answer.after.is_some())?;
        self.mailbox.hold(kept.into_iter().filter_map(pending).collect());
        Ok(())
    }

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
        // After that: the epoll thread looks into the mailbox before it reads.
        request.let_go();
        Ok(())
    }
}

/// The answer as it waits for the log.
fn pending(encoded: Encoded<'_>) -> Option<PendingAnswer> {
    let After { end, late } = encoded.answer.after.clone()?;
    let mut chunks = encoded.chunks.into_iter();
    let head = chunks.next().unwrap_or_default();
    Some(PendingAnswer {
        end,
        asker: Asker::of(encoded.request.received()),
        head,
        body: chunks.collect(),
        late,
    })
}
