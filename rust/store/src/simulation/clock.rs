//! A clock that moves only when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::clock::Clock;

/// A clock that moves only when it is told to. Clones show the same time.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    now_ms: Arc<AtomicI64>,
}

impl VirtualClock {
    /// A clock that shows `now_ms`.
    #[must_use]
    pub fn new(now_ms: i64) -> Self {
        Self { now_ms: Arc::new(AtomicI64::new(now_ms)) }
    }

    /// Turns it forward, or back where `by_ms` is negative.
    pub fn advance(&self, by_ms: i64) {
        self.now_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// Sets it.
    pub fn set(&self, now_ms: i64) {
        self.now_ms.store(now_ms, Ordering::SeqCst);
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(Ordering::SeqCst)
    }
}
