//! Bodies in the three compressed forms that clients use. Brokers store them as they come; readers unpack them.
//!
//! A few bytes can unpack to gigabytes, so every reader names the most it accepts, and output grows only as it is made.
//! Compat: a stream that ends too early is an error, as in Java, though not every library here would say so.

use std::io::{self, Read, Write};

use flate2::{Compression, Decompress, FlushDecompress, Status, write::ZlibEncoder};
use lz4_flex::frame::{BlockMode, FrameDecoder, FrameEncoder, FrameInfo};

use crate::error::WireError;
use crate::sys_flag::CompressionKind;

/// The level at which Java producers compress.
pub const COMPRESSION_LEVEL_DEFAULT: u8 = 5;

/// A window of 8 MiB, which every zstd decoder has to support. Larger ones are accepted only up to the size limit.
const ZSTD_WINDOW_LOG_MIN: u32 = 23;
const ZSTD_WINDOW_LOG_MAX: u32 = 27;

/// Unpacks a body; at most `size_max` bytes come out.
///
/// # Errors
/// [`WireError::Decompress`] or [`WireError::DecompressedTooLarge`].
pub fn decompress(kind: CompressionKind, bytes: &[u8], size_max: usize) -> Result<Vec<u8>, WireError> {
    // Text shrinks to a quarter or so; what is not text should not be paid for in advance.
    let mut plain = Vec::with_capacity(bytes.len().saturating_mul(4).min(size_max));
    // One byte more than allowed is enough to know that there is too much.
    let limit = size_max.saturating_add(1);
    match kind {
        CompressionKind::Zlib => inflate(bytes, limit, &mut plain),
        CompressionKind::Lz4 => decompress_lz4(bytes, limit, &mut plain),
        CompressionKind::Zstd => decompress_zstd(bytes, limit, &mut plain),
    }
    .map_err(|error| WireError::Decompress { kind, size: bytes.len(), reason: error.kind() })?;
    if plain.len() > size_max {
        return Err(WireError::DecompressedTooLarge { kind, size_max });
    }
    Ok(plain)
}

fn inflate(bytes: &[u8], limit: usize, plain: &mut Vec<u8>) -> io::Result<()> {
    let mut inflater = Decompress::new(true);
    let mut consumed = 0;
    loop {
        if plain.len() == plain.capacity() {
            plain.reserve_exact(plain.len().max(256).min(limit - plain.len()));
        }
        let (before, made_before) = (inflater.total_in(), plain.len());
        let status = inflater.decompress_vec(&bytes[consumed..], plain, FlushDecompress::None)?;
        consumed += usize::try_from(inflater.total_in() - before).unwrap_or_default();
        if status == Status::StreamEnd || plain.len() >= limit {
            return Ok(());
        }
        let is_stuck = inflater.total_in() == before && plain.len() == made_before;
        if is_stuck && plain.len() < plain.capacity() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn decompress_lz4(bytes: &[u8], limit: usize, plain: &mut Vec<u8>) -> io::Result<()> {
    // The decoder takes the end of its input for the end of a frame. Bytes behind the input that can begin neither a
    // block nor a frame make it stumble unless the frame has really ended.
    let probe = &[0xFF; 4][..];
    let mut decoder = FrameDecoder::new(bytes.chain(probe));
    loop {
        let room = limit - plain.len();
        decoder.by_ref().take(room as u64).read_to_end(plain)?;
        let (rest, probe_rest) = decoder.get_ref().get_ref();
        if plain.len() >= limit {
            return Ok(());
        }
        if probe_rest.len() < probe.len() || bytes.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if rest.is_empty() {
            return Ok(());
        }
        // Frames may follow each other; the decoder stops after each.
    }
}

fn decompress_zstd(bytes: &[u8], limit: usize, plain: &mut Vec<u8>) -> io::Result<()> {
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut decoder = zstd::stream::read::Decoder::with_buffer(bytes)?;
    let window_log = usize::BITS - limit.leading_zeros();
    decoder.window_log_max(window_log.clamp(ZSTD_WINDOW_LOG_MIN, ZSTD_WINDOW_LOG_MAX))?;
    decoder.take(limit as u64).read_to_end(plain)?;
    Ok(())
}

/// Packs a body. LZ4 has no level.
///
/// # Errors
/// [`WireError::Compress`], which memory does not give rise to.
pub fn compress(kind: CompressionKind, level: u8, bytes: &[u8]) -> Result<Vec<u8>, WireError> {
    match kind {
        CompressionKind::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::new(u32::from(level.min(9))));
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        CompressionKind::Lz4 => {
            // Compat: lz4-java reads no frames whose blocks depend on each other.
            let info = FrameInfo::new().block_mode(BlockMode::Independent);
            let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
            encoder.write_all(bytes).and_then(|()| Ok(encoder.finish()?))
        }
        CompressionKind::Zstd => zstd::bulk::compress(bytes, i32::from(level)),
    }
    .map_err(|error| WireError::Compress { kind, size: bytes.len(), reason: error.kind() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KINDS: [CompressionKind; 3] = [CompressionKind::Zlib, CompressionKind::Lz4, CompressionKind::Zstd];

    fn packed(kind: CompressionKind, bytes: &[u8]) -> Vec<u8> {
        compress(kind, COMPRESSION_LEVEL_DEFAULT, bytes).expect("memory")
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bomb = vec![0; 1 << 20];
        for kind in KINDS {
            let bytes = packed(kind, &bomb);
            let error = WireError::DecompressedTooLarge { kind, size_max: (1 << 20) - 1 };
            assert_eq!(decompress(kind, &bytes, (1 << 20) - 1), Err(error));
            assert_eq!(
                decompress(kind, &bytes, 0),
                Err(WireError::DecompressedTooLarge { kind, size_max: 0 })
            );
            assert_eq!(decompress(kind, &bytes, 1 << 20).map(|plain| plain.len()), Ok(1 << 20));
            assert_eq!(decompress(kind, &bytes, usize::MAX).map(|plain| plain.len()), Ok(1 << 20));
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_an_error() {
        for kind in KINDS {
            let bytes = packed(kind, b"the quick brown fox jumps over the lazy dog");
            for size in 0..bytes.len() {
                let found = decompress(kind, &bytes[..size], 1000);
                assert!(matches!(found, Err(WireError::Decompress { .. })), "{kind:?} {size}: {found:?}");
            }
        }
    }

    #[test]
    fn frames_that_follow_each_other_are_one_body() {
        for kind in [CompressionKind::Lz4, CompressionKind::Zstd] {
            let bytes = [packed(kind, b"one "), packed(kind, b"two")].concat();
            assert_eq!(decompress(kind, &bytes, 100).as_deref(), Ok(&b"one two"[..]));
        }
    }

    #[test]
    fn what_other_tools_wrote_is_read() {
        // `printf hello | lz4 -c` and `zstd -c`; both add a checksum of the content.
        let lz4 = b"\x04\x22\x4d\x18\x64\x40\xa7\x05\x00\x00\x80hello\x00\x00\x00\x00\xf9\x77\x00\xfb";
        assert_eq!(decompress(CompressionKind::Lz4, lz4, 100).as_deref(), Ok(&b"hello"[..]));
        let zstd = b"\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00hello\xa3\x6d\x9f\x88";
        assert_eq!(decompress(CompressionKind::Zstd, zstd, 100).as_deref(), Ok(&b"hello"[..]));
    }

    proptest! {
        #[test]
        fn bodies_come_back(bytes in proptest::collection::vec(0_u8..4, 0..3000), level in 0_u8..12) {
            for kind in KINDS {
                let packed = compress(kind, level, &bytes)?;
                prop_assert_eq!(decompress(kind, &packed, bytes.len())?, bytes.clone());
            }
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>, at in 0_usize..60, byte: u8) {
            for kind in KINDS {
                let _ = decompress(kind, &bytes, 1000);
                let mut damaged = packed(kind, b"the quick brown fox jumps over the lazy dog");
                let at = at % damaged.len();
                damaged[at] = byte;
                let _ = decompress(kind, &damaged, 1000);
            }
        }
    }
}
