//! The timers of a store as Python sees them.

use std::sync::Arc;

use escrowmq_lanes::fast::OpenStore;
use escrowmq_store::timer::{self, TimerOptions, TimerThread};
use escrowmq_store::{LogOffset, Store as RustStore, StoreError};
use pyo3::prelude::*;

use crate::error::store_error;
use crate::owner::Owned;
use crate::store::Store;

/// Messages of a store that wait for a time of their own, and the thread that delivers them.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Timers {
    thread: Owned<TimerThread<Owned<RustStore>>>,
}

#[pymethods]
impl Timers {
    #[staticmethod]
    #[pyo3(signature = (store, *, precision_ms = 1_000, roll_window_slots = 172_800, log_file_size_bytes = 104_857_600))]
    fn start(
        py: Python<'_>,
        store: &Bound<'_, Store>,
        precision_ms: i64,
        roll_window_slots: i64,
        log_file_size_bytes: u64,
    ) -> PyResult<Self> {
        let store: Arc<Owned<RustStore>> = store.get().shared()?;
        let options =
            TimerOptions { precision_ms, roll_window_slots, log_file_size_bytes, ..TimerOptions::default() };
        let thread =
            py.detach(|| TimerThread::start(store, OpenStore::core, options)).map_err(store_error)?;
        Ok(Self { thread: Owned::new(thread) })
    }

    fn appended(&self, py: Python<'_>, end_offset: u64) -> PyResult<()> {
        let thread = self.get()?;
        py.detach(|| thread.appended(LogOffset(end_offset)));
        Ok(())
    }

    fn count_at(&self, py: Python<'_>, time_ms: i64) -> PyResult<i32> {
        let thread = self.get()?;
        py.detach(|| thread.with(|timers| timers.count_at(time_ms))).map_err(store_error)
    }

    fn checkpoint(&self, py: Python<'_>) -> PyResult<[u8; timer::CHECKPOINT_SIZE]> {
        let thread = self.get()?;
        Ok(py.detach(|| thread.with(timer::Timers::checkpoint_bytes)))
    }

    fn metrics(&self, py: Python<'_>) -> PyResult<String> {
        let thread = self.get()?;
        Ok(py.detach(|| thread.with(timer::Timers::metrics_text)))
    }

    fn statistics(&self, py: Python<'_>) -> PyResult<TimerStatistics> {
        let thread = self.get()?;
        Ok(py.detach(|| thread.with(timer::Timers::statistics)).into())
    }

    #[getter]
    fn broken_by(&self) -> PyResult<Option<String>> {
        Ok(self.get()?.broken_by())
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let thread = self.get()?;
        py.detach(|| thread.close()).map_err(store_error)
    }

    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        let thread = self.get()?;
        py.detach(|| thread.abandon());
        Ok(())
    }
}

impl Timers {
    fn get(&self) -> PyResult<&TimerThread<Owned<RustStore>>> {
        self.thread.get().ok_or(StoreError::Closed).map_err(store_error)
    }
}

/// What timers did since they were opened.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct TimerStatistics {
    taken_in: u64,
    delivered: u64,
    delivered_late: u64,
    rolled: u64,
    recalled: u64,
    found_delivered: u64,
    lost: u64,
    rebuilds: u64,
}

impl From<timer::TimerStatistics> for TimerStatistics {
    fn from(statistics: timer::TimerStatistics) -> Self {
        Self {
            taken_in: statistics.taken_in,
            delivered: statistics.delivered,
            delivered_late: statistics.delivered_late,
            rolled: statistics.rolled,
            recalled: statistics.recalled,
            found_delivered: statistics.found_delivered,
            lost: statistics.lost,
            rebuilds: statistics.rebuilds,
        }
    }
}
