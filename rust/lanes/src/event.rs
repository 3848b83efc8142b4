//! What Python fetches from the lane.

use std::sync::atomic::{AtomicBool, Ordering};

use bytes::BytesMut;
use escrowmq_net::{CloseReason, Command, Peer, Remote, in_flight_size};
use escrowmq_store::LogOffset;
use escrowmq_wire::{Frame, HeaderKind, Language, RemotingHeader, WireError};

/// A quarter of what is read at once: a larger frame keeps at most four times its size.
const COPIED_FRAME_SIZE_MAX: usize = 16 * 1024;

/// Something that happened on a connection, or to the log.
#[derive(Debug)]
pub enum Event {
    /// A connection is there.
    Opened(Peer),
    /// A request came.
    Request(Request),
    /// A response to a request of ours came.
    Response(Received),
    /// The kernel has taken a request of ours, the one with this number.
    Written(Peer, i32),
    /// A connection is gone, or could not be made.
    Closed(Peer, CloseReason),
    /// The log is visible as far as Python asked to be told, and up to here.
    Visible(LogOffset),
}

/// A frame of a peer with the numbers of its header. Texts are decoded when asked for.
#[derive(Debug)]
pub struct Received {
    /// Who sent it.
    pub peer: Peer,
    /// The frame; it shares the memory it was received into.
    pub frame: Frame,
    /// Request or response code.
    pub code: i32,
    /// What the peer is written in.
    pub language: Language,
    /// Ordinal of the peer's version.
    pub version: i32,
    /// Number of the request.
    pub opaque: i32,
    /// Bit 0: response. Bit 1: one-way.
    pub flag: i32,
}

impl Received {
    /// Decodes a frame far enough to know what it is.
    ///
    /// # Errors
    /// [`WireError`]: its header can't be read.
    pub fn decode(peer: Peer, frame: Frame) -> Result<Self, WireError> {
        let RemotingHeader { code, language, version, opaque, flag, .. } = frame.decode_header()?;
        Ok(Self { peer, frame: cut_loose(frame), code, language, version, opaque, flag })
    }

    /// Whether it answers a request.
    #[must_use]
    pub fn is_response(&self) -> bool {
        self.header_flags().is_response()
    }

    /// Whether no answer may be sent.
    #[must_use]
    pub fn is_one_way(&self) -> bool {
        self.header_flags().is_one_way()
    }

    /// How its header is written.
    #[must_use]
    pub fn header_kind(&self) -> HeaderKind {
        self.frame.kind
    }

    /// What it counts for while it is in flight.
    #[must_use]
    pub fn size(&self) -> usize {
        in_flight_size(&self.frame)
    }

    fn header_flags(&self) -> RemotingHeader<'static> {
        RemotingHeader { flag: self.flag, ..RemotingHeader::default() }
    }
}

/// A small frame in memory of its own: it may wait for long, and would keep the buffer of all that came along with it.
fn cut_loose(frame: Frame) -> Frame {
    if frame.header.len() + frame.body.len() > COPIED_FRAME_SIZE_MAX {
        return frame;
    }
    let mut header = BytesMut::with_capacity(frame.header.len() + frame.body.len());
    header.extend_from_slice(&frame.header);
    header.extend_from_slice(&frame.body);
    let mut header = header.freeze();
    let body = header.split_off(frame.header.len());
    Frame { kind: frame.kind, header, body }
}

/// A request. Dropped without an answer, it is no longer in flight, and its peer waits in vain.
#[derive(Debug)]
pub struct Request {
    received: Received,
    remote: Remote,
    is_settled: AtomicBool,
    /// Whether its connection is not read until it is answered or given back.
    holds_up: AtomicBool,
}

impl Request {
    pub(crate) fn new(received: Received, remote: Remote) -> Self {
        Self { received, remote, is_settled: AtomicBool::new(false), holds_up: AtomicBool::new(false) }
    }

    /// The request, for which what its connection sent behind it waits.
    pub(crate) fn holding_up(self) -> Self {
        self.holds_up.store(true, Ordering::Release);
        self
    }

    /// Has its connection read on, if that waits.
    pub(crate) fn let_go(&self) {
        if self.holds_up.swap(false, Ordering::AcqRel) {
            let connection = self.received.peer.connection;
            // A server that is closed reads nothing any more.
            let _ = self.remote.submit([Command::LetGo { connection }]);
        }
    }

    /// The frame.
    #[must_use]
    pub fn received(&self) -> &Received {
        &self.received
    }

    /// Marks it as no longer in flight; false if it was marked before.
    pub(crate) fn settle(&self) -> bool {
        !self.is_settled.swap(true, Ordering::AcqRel)
    }

    /// Takes the mark back: its answer was not sent after all.
    pub(crate) fn unsettle(&self) {
        self.is_settled.store(false, Ordering::Release);
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.let_go();
        if self.settle() {
            let (connection, size) = (self.received.peer.connection, self.received.size());
            // A server that is closed counts nothing any more.
            let _ = self.remote.submit([Command::Settle { connection, size }]);
        }
    }
}
