//! Who decides what a frame means. Everything here runs on the epoll thread, so nothing here may wait.

use escrowmq_wire::Frame;

use crate::close_reason::CloseReason;
use crate::connection::Peer;
use crate::outbox::Outbox;

/// Takes what happens on connections. For each connection: `opened`, then frames, then `closed`; a connection that
/// could not be made is only `closed`.
pub trait Handler: Send {
    /// A connection is there.
    fn opened(&mut self, outbox: &mut Outbox, peer: Peer);

    /// A frame came. Its [`in_flight_size`] is in flight until it is settled by [`Outbox::send`], [`Outbox::settle`] or
    /// the commands of the same names.
    fn frame(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame);

    /// The kernel has taken everything up to where [`crate::Command::TellWritten`] named this number.
    fn written(&mut self, outbox: &mut Outbox, peer: Peer, number: i32);

    /// A connection is gone, with all that was in flight on it.
    fn closed(&mut self, outbox: &mut Outbox, peer: Peer, reason: CloseReason);

    /// Someone called [`crate::Remote::wake`], once or several times.
    fn woken(&mut self, outbox: &mut Outbox);
}

/// What keeping a frame costs beside its bytes: a queue entry, its buffer's count, an object for Python.
const FRAME_OVERHEAD_SIZE: usize = 256;

/// What a frame counts for while it is in flight.
#[must_use]
pub fn in_flight_size(frame: &Frame) -> usize {
    FRAME_OVERHEAD_SIZE + frame.header.len() + frame.body.len()
}
