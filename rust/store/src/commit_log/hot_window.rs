//! Which part of the log is resident: a window ahead of the end, so that appends do not fault, and one behind it,
//! where readers are. A populated segment would be a gigabyte of resident memory.

use super::CommitLog;

/// How much is made resident ahead of the end.
const AHEAD_BYTES: u64 = 32 << 20;
/// How much stays resident behind the end.
const BEHIND_BYTES: u64 = 32 << 20;
/// How much is populated in one step, which holds up page faults of the same process.
const STEP_BYTES: u64 = 4 << 20;

/// How far the window has got.
#[derive(Debug, Default)]
pub(crate) struct HotWindow {
    populated_to: u64,
    released_to: u64,
    next_at: u64,
}

impl HotWindow {
    /// The log offset at which the window should move on.
    pub fn next_at(&self) -> u64 {
        self.next_at
    }

    /// Moves the window to the log's end.
    pub fn advance(&mut self, log: &CommitLog) {
        let end = log.written.get();
        let mut at = self.populated_to.max(end);
        while at < end + AHEAD_BYTES {
            let Some(segment) = log.chain.segment_for(at) else { break };
            let upto = (at + STEP_BYTES).min(end + AHEAD_BYTES).min(segment.end());
            segment.populate(range(segment.start(), at, upto));
            at = upto;
        }
        self.populated_to = at;
        // The chain may end within the window: look again soon, when it may have grown.
        self.next_at = end + if at >= end + AHEAD_BYTES { AHEAD_BYTES / 2 } else { STEP_BYTES };
        let behind = log.durable.get().min(end.saturating_sub(BEHIND_BYTES));
        while self.released_to < behind {
            let Some(segment) = log.chain.segment_for(self.released_to) else {
                self.released_to = log.start().0.max(behind);
                break;
            };
            let upto = behind.min(segment.end());
            segment.release(range(segment.start(), self.released_to, upto));
            self.released_to = upto;
        }
    }
}

fn range(start: u64, from: u64, to: u64) -> std::ops::Range<usize> {
    let within = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
    within(from)..within(to)
}
