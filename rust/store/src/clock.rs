//! The time, as a value that is passed on: who waits for a day need not live through it in a test.
//!
//! What is written down and what is due follow this clock: store times, expiry, and whatever waits for a time of day or
//! for time to pass. What protects from a peer or a disk that hangs does not: there, real time passes.

use std::fmt::Debug;
use std::sync::Weak;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use chrono::{TimeZone, Timelike};
use parking_lot::Mutex;

/// Tells the time.
pub trait Clock: Send + Sync + Debug {
    /// Milliseconds since 1970 UTC.
    fn now_ms(&self) -> i64;

    /// Milliseconds since some moment, for how long ago things were: this one is never set.
    fn monotonic_ms(&self) -> i64 {
        self.now_ms()
    }

    /// Hour of the day where this clock hangs; UTC unless it knows better.
    fn local_hour(&self) -> u8 {
        u8::try_from(self.now_ms().div_euclid(3_600_000).rem_euclid(24)).unwrap_or(0)
    }

    /// Tells `listener`, for as long as there is one, whenever the clock was moved on. A clock that only tests of steps
    /// move tells nobody.
    fn listen(&self, listener: Weak<dyn ClockListener>) {
        drop(listener);
    }
}

/// Someone who waits for a time.
pub trait ClockListener: Send + Sync {
    /// The clock was moved on: what was far off may be due.
    fn clock_advanced(&self);
}

/// The machine's clock, and how far it was moved on. Only tests move it, or have one that stands between their moves.
#[derive(Debug)]
pub struct SystemClock {
    began: Instant,
    stands_at_ms: Option<i64>,
    advanced_ms: AtomicU64,
    listeners: Mutex<Vec<Weak<dyn ClockListener>>>,
}

impl SystemClock {
    /// A clock that tells the time of its making until it is moved on.
    #[must_use]
    pub fn standing() -> Self {
        Self { stands_at_ms: Some(machine_ms()), ..Self::default() }
    }

    /// Moves it on, and tells who listens.
    pub fn advance(&self, by_ms: u32) {
        self.advanced_ms.fetch_add(u64::from(by_ms), Ordering::SeqCst);
        let mut listeners = self.listeners.lock();
        listeners.retain(|listener| listener.strong_count() > 0);
        let there: Vec<_> = listeners.iter().filter_map(Weak::upgrade).collect();
        // Told without the lock: a listener may be the last who holds what it belongs to.
        drop(listeners);
        for listener in there {
            listener.clock_advanced();
        }
    }

    fn advanced_ms(&self) -> i64 {
        self.advanced_ms.load(Ordering::Relaxed).cast_signed()
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            stands_at_ms: None,
            advanced_ms: AtomicU64::new(0),
            listeners: Mutex::default(),
        }
    }
}

impl Clock for SystemClock {
    fn now_ms(&self) -> i64 {
        self.stands_at_ms.unwrap_or_else(machine_ms).saturating_add(self.advanced_ms())
    }

    fn monotonic_ms(&self) -> i64 {
        let since = if self.stands_at_ms.is_some() { 0 } else { whole_ms(self.began.elapsed()) };
        since.saturating_add(self.advanced_ms())
    }

    fn local_hour(&self) -> u8 {
        let now = chrono::Local.timestamp_millis_opt(self.now_ms()).earliest().unwrap_or_default();
        u8::try_from(now.hour()).unwrap_or(0)
    }

    fn listen(&self, listener: Weak<dyn ClockListener>) {
        self.listeners.lock().push(listener);
    }
}

fn machine_ms() -> i64 {
    whole_ms(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn whole_ms(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    const DAY_MS: u32 = 86_400_000;

    #[derive(Default)]
    struct Calls(AtomicUsize);

    impl ClockListener for Calls {
        fn clock_advanced(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_clock_that_stands_tells_the_time_of_its_making_and_how_far_it_was_moved() {
        let (clock, machine) = (SystemClock::standing(), SystemClock::default());
        let (wall, monotonic) = (clock.now_ms(), clock.monotonic_ms());
        let reading = machine.monotonic_ms();
        while machine.monotonic_ms() < reading + 2 {}
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (wall, monotonic));
        clock.advance(DAY_MS);
        let day = i64::from(DAY_MS);
        assert_eq!((clock.now_ms(), clock.monotonic_ms()), (wall + day, monotonic + day));
    }

    #[test]
    fn a_clock_that_was_moved_on_tells_both_times_so() {
        let clock = SystemClock::default();
        let (wall, monotonic) = (clock.now_ms(), clock.monotonic_ms());
        clock.advance(DAY_MS);
        clock.advance(DAY_MS);
        let passed = [clock.now_ms() - wall, clock.monotonic_ms() - monotonic];
        let expected = 2 * i64::from(DAY_MS);
        assert!(passed.iter().all(|passed| (expected..expected + 60_000).contains(passed)), "{passed:?}");
    }

    #[test]
    fn the_hour_follows() {
        let clock = SystemClock::default();
        let hours: std::collections::BTreeSet<u8> = (0..24)
            .map(|_| {
                clock.advance(3_600_000);
                clock.local_hour()
            })
            .collect();
        assert!(hours.len() >= 23, "an hour of a day may be missing when clocks are set: {hours:?}");
    }

    #[test]
    fn who_listens_is_told_and_who_is_gone_is_forgotten() {
        let clock = SystemClock::default();
        let (stays, goes) = (Arc::new(Calls::default()), Arc::new(Calls::default()));
        for listener in [&stays, &goes] {
            let listener: Arc<dyn ClockListener> = Arc::clone(listener) as _;
            clock.listen(Arc::downgrade(&listener));
        }
        clock.advance(1);
        drop(goes);
        clock.advance(1);
        assert_eq!(stays.0.load(Ordering::SeqCst), 2);
        assert_eq!(clock.listeners.lock().len(), 1);
    }
}
