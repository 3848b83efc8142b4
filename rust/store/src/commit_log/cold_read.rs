//! Reading what may be on disk alone. A fault brings in as much as the disk is set to read ahead, on some machines 8 MiB, and
//! holds its processor all the while. So faults bring in one page (see `use_singly`), and a reader asks for what follows
//! itself, a little at a time, while it reads what it asked for before.

use std::sync::atomic::{AtomicU64, Ordering};

use super::hot_window::BEHIND_BYTES;
use super::{CommitLog, within};
use crate::mapped::Segment;

/// The log is asked for in pieces of this size.
const PIECE_BYTES: u64 = 256 << 10;
/// How much is asked for, the piece that is read among it.
const ASKED_BYTES: u64 = 4 * PIECE_BYTES;

/// Which piece was read last.
#[derive(Debug, Default)]
pub(super) struct ColdRead {
    last_piece: AtomicU64,
}

impl CommitLog {
    /// Asks for the bytes from an offset on, unless they were asked for last time, or were written a moment ago.
    pub(super) fn ask_for(&self, segment: &Segment, at: u64) {
        let piece = at / PIECE_BYTES;
        if at + BEHIND_BYTES >= self.written.get()
            || self.cold_read.last_piece.swap(piece, Ordering::Relaxed) == piece
        {
            return;
        }
        let start = (piece * PIECE_BYTES).max(segment.start());
        segment.ask_for(within(segment, &(start..(start + ASKED_BYTES).min(segment.end()))));
    }
}
