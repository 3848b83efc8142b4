//! The time of day, as a value that a test can hold still.

use std::fmt::Debug;
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::Timelike;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970 UTC.
    fn now_ms(&self) -> i64;

    /// Hour of the day where this clock hangs; UTC unless it knows better.
    fn local_hour(&self) -> u8 {
        u8::try_from(self.now_ms().div_euclid(3_600_000).rem_euclid(24)).unwrap_or(0)
    }
}

/// The machine's clock.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn local_hour(&self) -> u8 {
        u8::try_from(chrono::Local::now().hour()).unwrap_or(0)
    }
}
