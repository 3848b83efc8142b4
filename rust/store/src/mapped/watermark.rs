//! A mark that only rises, and on which threads wait: how far the log is written, durable, built into queues.
//! Raising it costs two atomic operations while nobody waits, since every append does it.

use std::time::{Duration, Instant};

#[cfg(loom)]
use loom::sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
use std::sync::{
    Condvar, Mutex,
    atomic::{AtomicU64, Ordering, fence},
};

/// A wait that will not end by the mark's rising any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stopped;

/// A number that only rises, and on which threads wait.
#[derive(Debug)]
pub struct Watermark {
    value: AtomicU64,
    /// The least value that anyone waits for; a rise below it wakes nobody.
    wake_at: AtomicU64,
    is_stopped: Mutex<bool>,
    changed: Condvar,
}

impl Watermark {
    /// A mark that stands at `value`.
    #[must_use]
    pub fn new(value: u64) -> Self {
        Self {
            value: AtomicU64::new(value),
            wake_at: AtomicU64::new(u64::MAX),
            is_stopped: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    /// Where it stands.
    pub fn get(&self) -> u64 {
        self.value.load(Ordering::Acquire)
    }

    /// Raises it to `value`, if it is below, and wakes whoever waited for that.
    pub fn raise(&self, value: u64) {
        self.value.fetch_max(value, Ordering::Release);
        // Pairs with the fence in `wait`: either this sees the waiter, or the waiter sees the value.
        fence(Ordering::SeqCst);
        if value >= self.wake_at.load(Ordering::Relaxed) {
            let guard = self.is_stopped.lock();
            // Whoever is woken and must wait on says so again.
            self.wake_at.store(u64::MAX, Ordering::Relaxed);
            drop(guard);
            self.changed.notify_all();
        }
    }

    /// Ends all waits, now and later, that the present value does not satisfy.
    ///
    /// # Panics
    /// If a waiting thread panicked.
    pub fn stop(&self) {
        *self.is_stopped.lock().expect("no waiter panics") = true;
        self.changed.notify_all();
    }

    /// Waits until it stands at `value` or above. `Ok(false)` when `timeout` passed first.
    ///
    /// # Errors
    /// [`Stopped`] where the mark was stopped below `value`.
    ///
    /// # Panics
    /// If another waiting thread panicked.
    pub fn wait(&self, value: u64, timeout: Option<Duration>) -> Result<bool, Stopped> {
        if self.get() >= value {
            return Ok(true);
        }
        // A time that no clock can tell is for ever.
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut is_stopped = self.is_stopped.lock().expect("no waiter panics");
        loop {
            self.wake_at.fetch_min(value, Ordering::Relaxed);
            fence(Ordering::SeqCst);
            if self.get() >= value {
                return Ok(true);
            }
            if *is_stopped {
                return Err(Stopped);
            }
            is_stopped = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(is_stopped).expect("no waiter panics"),
                Some(left) if left.is_zero() => return Ok(false),
                Some(left) => self.changed.wait_timeout(is_stopped, left).expect("no waiter panics").0,
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_wait_ends_when_the_mark_reaches_its_value() {
        let mark = Arc::new(Watermark::new(0));
        let waiter = std::thread::spawn({
            let mark = Arc::clone(&mark);
            move || mark.wait(2, None)
        });
        mark.raise(1);
        mark.raise(2);
        assert_eq!(waiter.join().expect("waiter"), Ok(true));
    }

    #[test]
    fn a_stop_ends_waits_that_can_not_be_met_and_no_others() {
        let mark = Watermark::new(5);
        mark.stop();
        assert_eq!(mark.wait(6, None), Err(Stopped));
        assert_eq!(mark.wait(5, None), Ok(true));
    }

    #[test]
    fn a_wait_gives_up_after_its_time() {
        assert_eq!(Watermark::new(0).wait(1, Some(Duration::from_millis(1))), Ok(false));
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;

    #[test]
    fn no_rise_is_missed_by_a_thread_about_to_sleep() {
        loom::model(|| {
            let mark = Arc::new(Watermark::new(0));
            let raiser = loom::thread::spawn({
                let mark = Arc::clone(&mark);
                move || mark.raise(1)
            });
            assert_eq!(mark.wait(1, None), Ok(true));
            raiser.join().expect("raiser");
        });
    }

    #[test]
    fn a_stop_reaches_a_thread_about_to_sleep() {
        loom::model(|| {
            let mark = Arc::new(Watermark::new(0));
            let stopper = loom::thread::spawn({
                let mark = Arc::clone(&mark);
                move || mark.stop()
            });
            assert_eq!(mark.wait(1, None), Err(Stopped));
            stopper.join().expect("stopper");
        });
    }
}
