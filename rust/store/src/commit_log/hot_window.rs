//! Which part of the log is resident: a window ahead of the end, so that appends do not fault, and one behind it,
//! where readers are. A populated segment would be a gigabyte of resident memory.

use super::{CommitLog, within};

/// How much is made resident ahead of the end.
const AHEAD_BYTES: u64 = 32 << 20;
/// How much stays resident behind the end.
pub(super) const BEHIND_BYTES: u64 = 32 << 20;
/// How much is populated in one step, which holds up page faults of the same process.
const STEP_BYTES: u64 = 256 << 10;
/// How much is appended until it is looked whether the next segment is there.
const LOOK_AGAIN_BYTES: u64 = 4 << 20;
/// How near to the end zeros are written, at most: by the time that an append gets there they are long written.
const ZEROS_DISTANCE: u64 = 8 << 20;

/// How far the window has got.
#[derive(Debug, Default)]
pub(crate) struct HotWindow {
    has_zeros: bool,
    populated_to: u64,
    released_to: u64,
    next_at: u64,
}

impl HotWindow {
    /// A window that has got nowhere. Whether it writes zeros ahead depends on how often the log is flushed: a flush writes
    /// whole pieces of memory, so that small flushes are better off with small ones.
    pub fn new(has_zeros: bool) -> Self {
        Self { has_zeros, ..Self::default() }
    }

    /// The log offset at which the window should move on.
    pub fn next_at(&self) -> u64 {
        self.next_at
    }

    /// Moves the window to the log's end.
    pub fn advance(&mut self, log: &CommitLog) {
        let end = log.written.get();
        let mut at = self.populated_to.max(end);
        let ahead = (end + AHEAD_BYTES).next_multiple_of(STEP_BYTES);
        while at < ahead {
            let Some(segment) = log.chain.segment_for(at) else { break };
            let upto = (at + 1).next_multiple_of(STEP_BYTES).min(segment.end());
            if self.has_zeros {
                log.zero_ahead(&segment, &(at..upto), ZEROS_DISTANCE);
            }
            segment.populate(within(&segment, &(at..upto)));
            at = upto;
        }
        self.populated_to = at;
        // The chain may end within the window: look again soon, when it may have grown.
        self.next_at = end + if at >= ahead { AHEAD_BYTES / 2 } else { LOOK_AGAIN_BYTES };
        let behind = log.durable.get().min(end.saturating_sub(BEHIND_BYTES));
        while self.released_to < behind {
            let Some(segment) = log.chain.segment_for(self.released_to) else {
                self.released_to = log.start().0.max(behind);
                break;
            };
            let upto = behind.min(segment.end());
            segment.release(within(&segment, &(self.released_to..upto)));
            self.released_to = upto;
        }
    }
}
