//! Answers that a test wants dropped: the request is made one-way before anybody looks at it, so it is carried out, and
//! nobody answers.

use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::{Bytes, BytesMut};
use escrowmq_wire::{Frame, HeaderKind};
use parking_lot::Mutex;

/// Where the last byte of the flag stands in a binary header.
const BINARY_FLAG_AT: usize = 12;
const FLAG_ONE_WAY: u8 = 1 << 1;
const JSON_FLAG_KEY: &[u8] = b"\"flag\":";

/// Codes of requests whose next answer is dropped. While there are none, which is always but in a test, a frame costs a
/// look at one number.
#[derive(Debug, Default)]
pub struct DroppedAnswers {
    count: AtomicUsize,
    codes: Mutex<Vec<i32>>,
}

impl DroppedAnswers {
    /// Has the answer to the next request of this code dropped, once.
    pub fn drop_next(&self, code: i32) {
        let mut codes = self.codes.lock();
        codes.push(code);
        self.count.store(codes.len(), Ordering::Release);
    }

    /// The frame that is to be dealt with in place of this one.
    pub fn apply(&self, frame: Frame) -> Frame {
        if self.count.load(Ordering::Relaxed) == 0 {
            return frame;
        }
        let mut codes = self.codes.lock();
        let Some(at) = asked_code(&frame).and_then(|code| codes.iter().position(|&wanted| wanted == code))
        else {
            return frame;
        };
        let Some(header) = without_answer(&frame) else { return frame };
        codes.remove(at);
        self.count.store(codes.len(), Ordering::Release);
        Frame { header, ..frame }
    }
}

fn asked_code(frame: &Frame) -> Option<i32> {
    let header = frame.decode_header().ok()?;
    (!header.is_response() && !header.is_one_way()).then_some(header.code)
}

/// The header with the one-way bit set and no byte more: what a frame counts for in flight stays the same.
fn without_answer(frame: &Frame) -> Option<Bytes> {
    let mut header = BytesMut::from(&frame.header[..]);
    let at = match frame.kind {
        HeaderKind::Binary => BINARY_FLAG_AT,
        HeaderKind::Json => json_flag_at(&header)?,
    };
    // In JSON this turns the digit 0, the flag of every request that wants an answer, into a 2.
    *header.get_mut(at)? |= FLAG_ONE_WAY;
    Some(header.freeze())
}

/// Where the number of the flag stands: behind its name. A field of that name has a text behind it.
fn json_flag_at(header: &[u8]) -> Option<usize> {
    let ends = header.windows(JSON_FLAG_KEY.len()).enumerate().filter(|(_, bytes)| *bytes == JSON_FLAG_KEY);
    let value_at =
        |end: usize| Some(end + header[end..].iter().position(|byte| !byte.is_ascii_whitespace())?);
    ends.filter_map(|(at, _)| value_at(at + JSON_FLAG_KEY.len())).find(|&at| header[at].is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrowmq_wire::RemotingHeader;

    const SEND: i32 = 310;

    fn frame(kind: HeaderKind, code: i32, flag: i32) -> Frame {
        let ext_fields = [("flag", "\"flag\":7")].into_iter().collect();
        let header = RemotingHeader { code, flag, opaque: 7, ext_fields, ..RemotingHeader::default() };
        let mut bytes = Vec::new();
        header.encode_into(kind, &mut bytes).expect("it fits");
        Frame { kind, header: bytes.into(), body: Bytes::from_static(b"body") }
    }

    fn is_one_way(frame: &Frame) -> bool {
        frame.decode_header().expect("a header").is_one_way()
    }

    #[test]
    fn the_next_request_of_a_code_is_made_one_way_and_no_other() {
        for kind in [HeaderKind::Json, HeaderKind::Binary] {
            let dropped = DroppedAnswers::default();
            dropped.drop_next(SEND);
            for (code, flag) in [(11, 0), (SEND, 1), (SEND, 2)] {
                let before = frame(kind, code, flag);
                assert_eq!(dropped.apply(before.clone()), before, "no such request");
            }
            let before = frame(kind, SEND, 0);
            let after = dropped.apply(before.clone());
            assert!(is_one_way(&after));
            assert_eq!(after.header.len(), before.header.len());
            let mut header = after.decode_header().expect("a header");
            header.flag = 0;
            assert_eq!(header, before.decode_header().expect("a header"), "but for the flag it is the same");
            assert_eq!(dropped.apply(before.clone()), before, "once");
        }
    }

    #[test]
    fn each_call_drops_one() {
        let dropped = DroppedAnswers::default();
        dropped.drop_next(SEND);
        dropped.drop_next(SEND);
        let seen: Vec<bool> =
            (0..3).map(|_| is_one_way(&dropped.apply(frame(HeaderKind::Json, SEND, 0)))).collect();
        assert_eq!(seen, [true, true, false]);
    }
}
