//! A stream of frames. What is cut out lies in the input, both decoders agree, and frames encode to the same value.
//! Run with `-malloc_limit_mb=16`: the lengths in a frame may announce gigabytes, and must not be believed.

#![no_main]

use bytes::BytesMut;
use escrowmq_wire::{FrameDecoder, FrameStep, HeaderKind, cut_frame, encode_frame};
use libfuzzer_sys::fuzz_target;

const FRAME_SIZE_MAX: usize = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    let decoder = FrameDecoder::new(FRAME_SIZE_MAX);
    let mut received = BytesMut::from(bytes);
    let mut rest = bytes;
    loop {
        let step = cut_frame(rest, FRAME_SIZE_MAX);
        let shared = decoder.next_frame(&mut received);
        let frame = match (step, shared) {
            (Ok(FrameStep::Frame(frame)), Ok(FrameStep::Frame(shared))) => {
                assert_eq!(
                    (frame.kind, frame.header, frame.body),
                    (shared.kind, &shared.header[..], &shared.body[..])
                );
                frame
            }
            (Ok(FrameStep::Partial { missing_size }), Ok(FrameStep::Partial { missing_size: same })) => {
                assert_eq!(missing_size, same);
                assert!(missing_size > 0 && rest.len() + missing_size <= FRAME_SIZE_MAX);
                return;
            }
            (Err(error), Err(same)) => return assert_eq!(error, same),
            (one, other) => panic!("{one:?} is not {other:?}"),
        };
        rest = &rest[frame.size()..];
        assert_eq!(rest, &received[..]);

        let Ok(header) = frame.decode_header() else { continue };
        let mut again = Vec::new();
        match encode_frame(frame.kind, &header, frame.body, &mut again) {
            Ok(size) => assert_eq!(size, again.len()),
            // Text that was not UTF-8 grows when it is repaired, and may then be too long.
            Err(_) => {
                assert_eq!(frame.kind, HeaderKind::Binary);
                continue;
            }
        }
        match cut_frame(&again, usize::MAX) {
            Ok(FrameStep::Frame(found)) => {
                assert_eq!(found.decode_header().as_ref(), Ok(&header));
                assert_eq!(found.body, frame.body);
            }
            other => panic!("{other:?}"),
        }
    }
});
