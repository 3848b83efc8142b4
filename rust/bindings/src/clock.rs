//! The clock as Python sees it: one that both sides share.

use std::sync::Arc;

use escrowmq_store::clock::{Clock as _, SystemClock};
use pyo3::prelude::*;

/// The machine's clock, and how far it was moved on.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Clock {
    clock: Arc<SystemClock>,
}

#[pymethods]
impl Clock {
    #[new]
    #[pyo3(signature = (*, stands = false))]
    fn new(stands: bool) -> Self {
        Self { clock: Arc::new(if stands { SystemClock::standing() } else { SystemClock::default() }) }
    }

    fn wall_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn monotonic_ms(&self) -> i64 {
        self.clock.monotonic_ms()
    }

    fn advance(&self, py: Python<'_>, by_ms: u32) {
        py.detach(|| self.clock.advance(by_ms));
    }
}

impl Clock {
    /// The clock, for a store that outlives this object.
    pub fn shared(&self) -> Arc<SystemClock> {
        Arc::clone(&self.clock)
    }
}
