//! What timers are made with.

use super::log::FILE_SIZE_MIN;
use super::wheel::WHEEL_SLOTS;
use crate::error::{Result, StoreError};

/// What timers are made with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimerOptions {
    /// Milliseconds of a tick: as exact as deliveries are.
    pub precision_ms: i64,
    /// Ticks that a message may wait in the wheel; one that waits longer goes round by the timer topic, so that its
    /// record does not expire.
    pub roll_window_slots: i64,
    /// Size of a file of the timer log; of those found on disk where there are any.
    pub log_file_size_bytes: u64,
    /// Slots of the wheel. Apache knows one number only.
    pub wheel_slots: u64,
}

impl Default for TimerOptions {
    fn default() -> Self {
        Self {
            precision_ms: 1_000,
            roll_window_slots: 2 * 24 * 3600,
            log_file_size_bytes: 100 << 20,
            wheel_slots: WHEEL_SLOTS,
        }
    }
}

impl TimerOptions {
    pub(super) fn validate(&self) -> Result<()> {
        let bad = |name, found: i64, expected: String| {
            Err(StoreError::BadOption { name, found: found.to_string(), expected })
        };
        // Compat: the precisions that Apache has.
        if ![100, 200, 500, 1_000].contains(&self.precision_ms) {
            return bad("precision_ms", self.precision_ms, "100, 200, 500 or 1000".to_string());
        }
        // Half a turn: a slot of the next turn must never meet one that is not delivered yet.
        let window_max = (self.wheel_slots / 2).cast_signed() - BLANK_SLOTS;
        if !(2..=window_max).contains(&self.roll_window_slots) {
            return bad("roll_window_slots", self.roll_window_slots, format!("2 to {window_max}"));
        }
        let size = self.log_file_size_bytes;
        if !(FILE_SIZE_MIN..=1 << 30).contains(&size) {
            return bad("log_file_size_bytes", size.cast_signed(), format!("{FILE_SIZE_MIN} to {}", 1 << 30));
        }
        Ok(())
    }
}

/// Compat: slots that Apache leaves free between one turn of the wheel and the next.
pub(super) const BLANK_SLOTS: i64 = 60;
