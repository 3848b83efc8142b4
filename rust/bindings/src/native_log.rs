//! What native threads log, for Python's own logs.

use std::os::fd::{AsRawFd, RawFd};

use escrowmq_telemetry::{LogQueue, install};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyDict};
use tracing::Level;

/// A record: its level, what happened, and the facts.
type Logged<'py> = (&'static str, String, Bound<'py, PyDict>);

/// Python's names for levels; it has no word for the finest.
const LEVELS: [(&str, Level); 4] =
    [("error", Level::ERROR), ("warning", Level::WARN), ("info", Level::INFO), ("debug", Level::DEBUG)];

/// The log of this process.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct NativeLog {
    queue: &'static LogQueue,
}

#[pymethods]
impl NativeLog {
    #[new]
    fn new(level: &str) -> PyResult<Self> {
        let found = LEVELS.iter().find(|(name, _)| *name == level);
        let (_, level) = found.ok_or_else(|| {
            PyValueError::new_err(format!("level {level:?}, expected error, warning, info or debug"))
        })?;
        Ok(Self { queue: install(*level)? })
    }

    fn fileno(&self) -> RawFd {
        self.queue.event_fd().as_raw_fd()
    }

    fn take<'py>(&self, py: Python<'py>) -> PyResult<(Vec<Logged<'py>>, u64)> {
        let taken = self.queue.take();
        let records = taken.records.into_iter().map(|record| {
            let name =
                LEVELS.iter().find(|(_, level)| *level == record.level).map_or("debug", |(name, _)| name);
            Ok((name, record.message, record.fields.into_py_dict(py)?))
        });
        Ok((records.collect::<PyResult<_>>()?, taken.dropped))
    }
}
