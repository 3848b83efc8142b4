//! The frame of the remoting protocol: cut out of a stream without copies, and written.
//!
//! ```text
//! length int32 | kind int8, header size int24 | header | body
//!                └────────────── length counts these ──────┘
//! ```
//! Every number is checked as soon as its bytes are there, and nothing is allocated for what has only been announced.

use bytes::{Bytes, BytesMut};

use crate::big_endian::{i32_at, u32_at};
use crate::error::WireError;
use crate::header::{HeaderKind, RemotingHeader};

/// Largest frame that Java peers accept, its length field included.
pub const FRAME_SIZE_MAX_DEFAULT: usize = 16 * 1024 * 1024;

const LENGTH_SIZE: usize = 4;
const PREFIX_SIZE: usize = LENGTH_SIZE + 4;
const HEADER_SIZE_MAX: usize = 0xFF_FFFF;

/// What the front of a buffer holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FrameStep<F> {
    /// A whole frame.
    Frame(F),
    /// The beginning of one.
    Partial {
        /// Bytes that are known to be missing: up to the length where even that is not there, else to the frame's end.
        missing_size: usize,
    },
}

/// A frame in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameView<'a> {
    /// How the header is written.
    pub kind: HeaderKind,
    /// The encoded header.
    pub header: &'a [u8],
    /// The body, empty where there is none.
    pub body: &'a [u8],
}

impl<'a> FrameView<'a> {
    /// Size of the whole frame.
    #[must_use]
    pub fn size(&self) -> usize {
        PREFIX_SIZE + self.header.len() + self.body.len()
    }

    /// The header, borrowed from the frame.
    ///
    /// # Errors
    /// [`WireError`] with the place of the fault.
    pub fn decode_header(&self) -> Result<RemotingHeader<'a>, WireError> {
        RemotingHeader::decode(self.kind, self.header)
    }
}

/// The frame at the front of `bytes`. A size of `frame_size_max` includes the length field.
///
/// # Errors
/// [`WireError`]: the stream cannot be read on, and the connection has to be closed.
pub fn cut_frame(bytes: &[u8], frame_size_max: usize) -> Result<FrameStep<FrameView<'_>>, WireError> {
    if bytes.len() < LENGTH_SIZE {
        return Ok(FrameStep::Partial { missing_size: LENGTH_SIZE - bytes.len() });
    }
    let length = i32_at(bytes, 0);
    let size = match usize::try_from(length) {
        Ok(length) if length >= PREFIX_SIZE - LENGTH_SIZE => LENGTH_SIZE + length,
        _ => return Err(WireError::FrameTooShort { length }),
    };
    if size > frame_size_max {
        return Err(WireError::FrameTooLarge { size, size_max: frame_size_max });
    }
    if bytes.len() < PREFIX_SIZE {
        return Ok(FrameStep::Partial { missing_size: size - bytes.len() });
    }
    let word = u32_at(bytes, LENGTH_SIZE);
    let kind = HeaderKind::from_code(bytes[LENGTH_SIZE])?;
    let header_size = word as usize & HEADER_SIZE_MAX;
    let room = size - PREFIX_SIZE;
    if header_size > room {
        return Err(WireError::HeaderBeyondFrame { header_size, room });
    }
    let Some(frame) = bytes.get(PREFIX_SIZE..size) else {
        return Ok(FrameStep::Partial { missing_size: size - bytes.len() });
    };
    let (header, body) = frame.split_at(header_size);
    Ok(FrameStep::Frame(FrameView { kind, header, body }))
}

/// A frame that shares the memory it was received into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// How the header is written.
    pub kind: HeaderKind,
    /// The encoded header.
    pub header: Bytes,
    /// The body, empty where there is none.
    pub body: Bytes,
}

impl Frame {
    /// The header, borrowed from the frame.
    ///
    /// # Errors
    /// [`WireError`] with the place of the fault.
    pub fn decode_header(&self) -> Result<RemotingHeader<'_>, WireError> {
        RemotingHeader::decode(self.kind, &self.header)
    }
}

/// Cuts frames out of what a connection receives.
#[derive(Debug, Clone, Copy)]
pub struct FrameDecoder {
    frame_size_max: usize,
}

impl Default for FrameDecoder {
    fn default() -> Self {
        Self::new(FRAME_SIZE_MAX_DEFAULT)
    }
}

impl FrameDecoder {
    /// A decoder that refuses frames above `frame_size_max`, the length field included.
    #[must_use]
    pub const fn new(frame_size_max: usize) -> Self {
        Self { frame_size_max }
    }

    /// Takes the frame at the front of `received`, if it is whole; header and body keep sharing the memory.
    ///
    /// # Errors
    /// [`WireError`]: the stream cannot be read on, and the connection has to be closed.
    pub fn next_frame(&self, received: &mut BytesMut) -> Result<FrameStep<Frame>, WireError> {
        let (kind, header_size, size) = match cut_frame(received, self.frame_size_max)? {
            FrameStep::Frame(frame) => (frame.kind, frame.header.len(), frame.size()),
            FrameStep::Partial { missing_size } => return Ok(FrameStep::Partial { missing_size }),
        };
        let mut header = received.split_to(size).freeze().split_off(PREFIX_SIZE);
        let body = header.split_off(header_size);
        Ok(FrameStep::Frame(Frame { kind, header, body }))
    }
}

/// The frames of a buffer that holds only whole frames, such as a recording.
///
/// # Errors
/// [`WireError`] of the first frame that is none; [`WireError::FrameTruncated`] where the last one is not whole.
pub fn cut_frames(bytes: &[u8], frame_size_max: usize) -> Result<Vec<FrameView<'_>>, WireError> {
    let mut frames = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        match cut_frame(rest, frame_size_max)? {
            FrameStep::Frame(frame) => {
                rest = &rest[frame.size()..];
                frames.push(frame);
            }
            FrameStep::Partial { missing_size } => return Err(WireError::FrameTruncated { missing_size }),
        }
    }
    Ok(frames)
}

/// Appends a frame and returns its size. On an error `out` is as it was.
///
/// # Errors
/// [`WireError`] where the header or the frame is larger than the format can express.
pub fn encode_frame(
    kind: HeaderKind,
    header: &RemotingHeader<'_>,
    body: &[u8],
    out: &mut Vec<u8>,
) -> Result<usize, WireError> {
    let head_size = encode_frame_head(kind, header, body.len(), out)?;
    out.extend_from_slice(body);
    Ok(head_size + body.len())
}

/// Appends everything of a frame but its body, which the caller sends from where it lies, and returns the size of
/// what was appended. On an error `out` is as it was.
///
/// # Errors
/// [`WireError`] where the header or the frame is larger than the format can express.
pub fn encode_frame_head(
    kind: HeaderKind,
    header: &RemotingHeader<'_>,
    body_size: usize,
    out: &mut Vec<u8>,
) -> Result<usize, WireError> {
    let start = out.len();
    out.extend_from_slice(&[0; PREFIX_SIZE]);
    let prefix =
        header.encode_into(kind, out).and_then(|()| prefix(kind, out.len() - start - PREFIX_SIZE, body_size));
    match prefix {
        Ok(prefix) => {
            out[start..start + PREFIX_SIZE].copy_from_slice(&prefix);
            Ok(out.len() - start)
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

fn prefix(kind: HeaderKind, header_size: usize, body_size: usize) -> Result<[u8; PREFIX_SIZE], WireError> {
    let [high, b1, b2, b3] = u32::try_from(header_size).unwrap_or(u32::MAX).to_be_bytes();
    if high > 0 {
        return Err(WireError::HeaderFieldTooLarge {
            field: "header",
            size: header_size,
            size_max: HEADER_SIZE_MAX,
        });
    }
    let length = header_size.saturating_add(body_size).saturating_add(PREFIX_SIZE - LENGTH_SIZE);
    let [l1, l2, l3, l4] = i32::try_from(length)
        .map_err(|_| WireError::FrameTooLarge { size: length, size_max: 0x7FFF_FFFF })?
        .to_be_bytes();
    Ok([l1, l2, l3, l4, kind.code(), b1, b2, b3])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::tests::any_header;
    use proptest::prelude::*;

    fn cut(bytes: &[u8]) -> Result<FrameStep<FrameView<'_>>, WireError> {
        cut_frame(bytes, 1024)
    }

    #[test]
    fn numbers_are_refused_as_soon_as_they_are_there() {
        assert_eq!(cut(&[0xFF; 4]), Err(WireError::FrameTooShort { length: -1 }));
        assert_eq!(cut(&[0, 0, 0, 3]), Err(WireError::FrameTooShort { length: 3 }));
        assert_eq!(
            cut(&[0x7F, 0xFF, 0xFF, 0xFF]),
            Err(WireError::FrameTooLarge { size: 0x8000_0003, size_max: 1024 })
        );
        assert_eq!(cut(&[0, 0, 3, 0xFD]), Err(WireError::FrameTooLarge { size: 1025, size_max: 1024 }));
        assert_eq!(cut(&[0, 0, 3, 0xFC]), Ok(FrameStep::Partial { missing_size: 1020 }));
        assert_eq!(cut(&[0, 0, 0, 9, 7, 0, 0, 0]), Err(WireError::UnknownHeaderKind { kind: 7 }));
        assert_eq!(
            cut(&[0, 0, 0, 9, 0, 0, 0, 6]),
            Err(WireError::HeaderBeyondFrame { header_size: 6, room: 5 })
        );
    }

    #[test]
    fn a_partial_frame_says_what_is_missing() {
        let bytes = [0, 0, 0, 7, 1, 0, 0, 2, b'h', b'h', b'b'];
        for (size, missing_size) in [(0, 4), (3, 1), (4, 7), (7, 4), (8, 3), (10, 1)] {
            assert_eq!(cut(&bytes[..size]), Ok(FrameStep::Partial { missing_size }));
        }
        let frame = FrameView { kind: HeaderKind::Binary, header: b"hh", body: b"b" };
        assert_eq!(cut(&bytes), Ok(FrameStep::Frame(frame)));
        assert_eq!(cut(&[0, 0, 0, 4, 0, 0, 0, 0]).map(|step| matches!(step, FrameStep::Frame(_))), Ok(true));
    }

    #[test]
    fn a_frame_that_cannot_be_encoded_leaves_nothing_behind() {
        let mut out = b"before".to_vec();
        let header = RemotingHeader { code: 70_000, ..RemotingHeader::default() };
        assert!(encode_frame(HeaderKind::Binary, &header, b"", &mut out).is_err());
        let header =
            RemotingHeader { remark: Some("r".repeat(HEADER_SIZE_MAX).into()), ..RemotingHeader::default() };
        assert!(encode_frame(HeaderKind::Binary, &header, b"", &mut out).is_err());
        assert!(
            encode_frame_head(HeaderKind::Json, &RemotingHeader::default(), usize::MAX, &mut out).is_err()
        );
        assert_eq!(out, b"before");
    }

    proptest! {
        #[test]
        fn frames_come_back_from_a_stream_in_pieces(
            wanted in proptest::collection::vec((any_header(), any::<bool>(), any::<Vec<u8>>()), 0..5),
            piece_size in 1_usize..200,
        ) {
            let mut stream = Vec::new();
            for (header, is_json, body) in &wanted {
                let kind = if *is_json { HeaderKind::Json } else { HeaderKind::Binary };
                let before = stream.len();
                let size = encode_frame(kind, header, body, &mut stream)?;
                prop_assert_eq!(size, stream.len() - before);
            }
            prop_assert_eq!(cut_frames(&stream, FRAME_SIZE_MAX_DEFAULT)?.len(), wanted.len());
            let (decoder, mut received, mut found) = (FrameDecoder::default(), BytesMut::new(), Vec::new());
            for piece in stream.chunks(piece_size) {
                received.extend_from_slice(piece);
                while let FrameStep::Frame(frame) = decoder.next_frame(&mut received)? {
                    found.push((frame.decode_header()?.into_owned(), frame.kind == HeaderKind::Json, frame.body.to_vec()));
                }
            }
            prop_assert_eq!(found, wanted);
            prop_assert!(received.is_empty());
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = cut(&bytes);
            let _ = cut_frames(&bytes, 1024);
        }
    }
}
