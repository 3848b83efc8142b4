//! Who asked, and the way back to them.

use std::time::Instant;

use bytes::Bytes;
use escrowmq_net::{ConnectionId, Outbox, Peer, in_flight_size};
use escrowmq_wire::{ExtFields, Frame, FrameStep, HeaderKind, RemotingHeader, cut_frame, encode_frame_head};

use super::codes::response;
use crate::event::Received;

/// The version that the broker says it is: 5.5.0.
const VERSION: i32 = 513;
const FLAG_RESPONSE: i32 = 1;
const HEAD_SIZE_USUAL: usize = 320;

/// Where answers go. The epoll thread's outbox, or a list in a test.
pub trait Replies {
    /// Queues a frame, and settles so many bytes in flight.
    fn send(&mut self, connection: ConnectionId, head: Bytes, body: Vec<Bytes>, settled_size: usize);

    /// Settles bytes in flight: nothing is to be sent.
    fn settle(&mut self, connection: ConnectionId, size: usize);

    /// The time, exact enough for deadlines of seconds.
    fn now(&self) -> Instant;
}

impl Replies for Outbox {
    fn send(&mut self, connection: ConnectionId, head: Bytes, body: Vec<Bytes>, settled_size: usize) {
        // False where the connection is gone, and with it whoever asked.
        let _ = Self::send(self, connection, std::iter::once(head).chain(body), settled_size);
    }

    fn settle(&mut self, connection: ConnectionId, size: usize) {
        Self::settle(self, connection, size);
    }

    fn now(&self) -> Instant {
        Self::now(self)
    }
}

/// Who asked what: enough to answer later, without the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    pub peer: Peer,
    kind: HeaderKind,
    opaque: i32,
    pub is_one_way: bool,
    settled_size: usize,
}

impl Asker {
    pub fn new(peer: Peer, frame: &Frame, header: &RemotingHeader<'_>) -> Self {
        Self {
            peer,
            kind: frame.kind,
            opaque: header.opaque,
            is_one_way: header.is_one_way(),
            settled_size: in_flight_size(frame),
        }
    }

    /// Who asked what Python was given.
    pub fn of(received: &Received) -> Self {
        Self {
            peer: received.peer,
            kind: received.header_kind(),
            opaque: received.opaque,
            is_one_way: received.is_one_way(),
            settled_size: received.size(),
        }
    }

    /// The same asker, for a request that is not in flight any more.
    pub fn settled(self) -> Self {
        Self { settled_size: 0, ..self }
    }

    /// Everything of an answer but its body, in the kind of header that was asked with.
    pub fn head(&self, code: i32, remark: Option<&str>, fields: ExtFields<'_>, body_size: usize) -> Bytes {
        let mut header = RemotingHeader {
            code,
            version: VERSION,
            opaque: self.opaque,
            flag: FLAG_RESPONSE,
            remark: remark.map(Into::into),
            ext_fields: fields,
            ..RemotingHeader::default()
        };
        let mut out = Vec::with_capacity(HEAD_SIZE_USUAL);
        while let Err(error) = encode_frame_head(self.kind, &header, body_size, &mut out) {
            // Only a field or remark of the asker's own making can be too large; without them there is nothing left to fail.
            tracing::warn!(%error, code, "an answer does not fit its header");
            header.code = response::SYSTEM_ERROR;
            header.remark = None;
            header.ext_fields = ExtFields::default();
        }
        out.into()
    }

    /// Answers, unless the request was one-way.
    pub fn send(&self, replies: &mut impl Replies, head: Bytes, body: Vec<Bytes>) {
        if self.is_one_way {
            replies.settle(self.peer.connection, self.settled_size);
        } else {
            replies.send(self.peer.connection, head, body, self.settled_size);
        }
    }

    /// Answers with fields and no body.
    pub fn answer(&self, replies: &mut impl Replies, code: i32, remark: Option<&str>, fields: ExtFields<'_>) {
        if self.is_one_way {
            return replies.settle(self.peer.connection, self.settled_size);
        }
        self.send(replies, self.head(code, remark, fields, 0), Vec::new());
    }

    /// Answers that it was not done, and why.
    pub fn refuse(&self, replies: &mut impl Replies, code: i32, remark: &str) {
        self.answer(replies, code, Some(remark), ExtFields::default());
    }

    /// For an answer from another thread: the bytes in flight that it settles.
    pub fn settled_size(&self) -> usize {
        self.settled_size
    }

    /// The head of an answer of this asker with another code and remark, and without its body.
    pub fn recode(&self, mut head: Bytes, body: &[Bytes], code: i32, remark: Option<&str>) -> Bytes {
        if !body.is_empty() {
            head = [&[head][..], body].concat().concat().into();
        }
        let fields = match cut_frame(&head, usize::MAX) {
            Ok(FrameStep::Frame(frame)) => frame.decode_header().map(|header| header.ext_fields).ok(),
            _ => None,
        };
        self.head(code, remark, fields.unwrap_or_default(), 0)
    }
}
