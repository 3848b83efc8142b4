//! What goes to peers: answers to their requests, and requests of ours.

use bytes::Bytes;
use escrowmq_store::LogOffset;
use escrowmq_wire::{ExtFields, HeaderKind, Language, RemotingHeader, WireError, encode_frame_head};

use crate::event::Received;
use crate::fast::Late;

/// Bodies up to this size are copied behind their header: one chunk is cheaper than two.
const COPIED_BODY_SIZE_MAX: usize = 4096;

const FLAG_RESPONSE: i32 = 1;
const FLAG_ONE_WAY: i32 = 1 << 1;

/// What a request is answered with. Its number and kind of header follow from the request.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Response code.
    pub code: i32,
    /// What went wrong, for people.
    pub remark: Option<String>,
    /// The fields of the response.
    pub ext_fields: ExtFields<'static>,
    /// The body.
    pub body: Bytes,
    /// What we say we are written in.
    pub language: Language,
    /// Ordinal of the version that we say we are.
    pub version: i32,
    /// What it waits for; nothing, unless it tells of what was appended. Only a broker has a log to wait for.
    pub after: Option<After>,
}

/// What an answer waits for.
#[derive(Debug, Clone)]
pub struct After {
    /// The log offset behind what was appended.
    pub end: LogOffset,
    /// What is said instead when that takes too long.
    pub late: Late,
}

impl Answer {
    /// Ordinal of Apache `RocketMQ` 5.5.0, whose behaviour we show.
    pub const VERSION: i32 = 513;

    /// An answer of a code and a remark alone.
    #[must_use]
    pub fn remark(code: i32, remark: String) -> Self {
        Self {
            code,
            remark: Some(remark),
            ext_fields: ExtFields::default(),
            body: Bytes::new(),
            language: Language::Java,
            version: Self::VERSION,
            after: None,
        }
    }

    /// The frame that answers a request, in pieces.
    pub(crate) fn encode(&self, request: &Received) -> Result<Vec<Bytes>, WireError> {
        let header = RemotingHeader {
            code: self.code,
            language: self.language,
            version: self.version,
            opaque: request.opaque,
            flag: FLAG_RESPONSE,
            remark: self.remark.as_deref().map(Into::into),
            ext_fields: self.ext_fields.clone(),
        };
        encode(request.header_kind(), &header, &self.body)
    }
}

/// A request of ours to a peer.
#[derive(Debug, Clone)]
pub struct ServerRequest {
    /// Code, fields and the rest, but for number and flag.
    pub content: Answer,
    /// How to write the header.
    pub header_kind: HeaderKind,
    /// Whether no response is wanted.
    pub is_one_way: bool,
}

impl ServerRequest {
    /// The frame of the request with a number, in pieces.
    pub(crate) fn encode(&self, opaque: i32) -> Result<Vec<Bytes>, WireError> {
        let content = &self.content;
        let header = RemotingHeader {
            code: content.code,
            language: content.language,
            version: content.version,
            opaque,
            flag: if self.is_one_way { FLAG_ONE_WAY } else { 0 },
            remark: content.remark.as_deref().map(Into::into),
            ext_fields: content.ext_fields.clone(),
        };
        encode(self.header_kind, &header, &content.body)
    }
}

pub(crate) fn encode(
    kind: HeaderKind,
    header: &RemotingHeader<'_>,
    body: &Bytes,
) -> Result<Vec<Bytes>, WireError> {
    let mut head = Vec::with_capacity(256 + if body.len() <= COPIED_BODY_SIZE_MAX { body.len() } else { 0 });
    encode_frame_head(kind, header, body.len(), &mut head)?;
    if body.len() <= COPIED_BODY_SIZE_MAX {
        head.extend_from_slice(body);
        Ok(vec![head.into()])
    } else {
        Ok(vec![head.into(), body.clone()])
    }
}
