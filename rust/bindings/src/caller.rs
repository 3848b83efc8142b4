//! A server that listens nowhere and asks others, as Python sees it: whoever asks sleeps without the interpreter's lock,
//! or finds replies in a queue of its own.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use escrowmq_lanes::{CallLane, Calls, Reply, ReplyQueue};
use escrowmq_net::{Command, ConnectionId};
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::error::server_error;
use crate::limits::Limits;
use crate::message::parse_host;
use crate::outgoing::OutgoingRequest;
use crate::server::{Server, duration, settings};
use crate::server_event::Response;

/// A thread that sleeps for an answer sees to signals this often.
const SIGNALS_SEEN_EVERY: Duration = Duration::from_millis(100);

/// Asks others.
#[pyclass(frozen, extends = Server, module = "escrowmq._core")]
pub struct Caller {
    calls: Arc<Calls>,
}

#[pymethods]
impl Caller {
    #[staticmethod]
    #[pyo3(signature = (*, limits = None))]
    fn start(py: Python<'_>, limits: Option<Py<Limits>>) -> PyResult<Py<Self>> {
        let (options, lane) = settings(&[], limits.as_ref())?;
        let made: OnceLock<Arc<Calls>> = OnceLock::new();
        let server = py
            .detach(|| {
                Server::with_handler(options, lane, |python, remote| {
                    let calls = made.get_or_init(|| Arc::new(Calls::new(remote)));
                    CallLane::new(Arc::clone(calls), python)
                })
            })
            .map_err(server_error)?;
        let calls = made.into_inner().expect("a server that was started has a handler");
        Py::new(py, PyClassInitializer::from(server).add_subclass(Self { calls }))
    }

    fn connect(slf: &Bound<'_, Self>, address: &str) -> PyResult<u64> {
        slf.as_super().get().check_mine()?;
        let address = parse_host(address)?;
        Ok(slf.get().calls.connect(address).map_err(server_error)?.0)
    }

    fn ask(
        slf: &Bound<'_, Self>,
        connection: u64,
        request: &OutgoingRequest,
        timeout_s: f64,
    ) -> PyResult<Option<Py<PyAny>>> {
        slf.as_super().get().check_mine()?;
        let py = slf.py();
        let deadline = Instant::now() + duration("timeout_s", timeout_s)?;
        let call = slf.get().calls.call(ConnectionId(connection), request).map_err(server_error)?;
        loop {
            let until = deadline.min(Instant::now() + SIGNALS_SEEN_EVERY);
            if let Some(reply) = py.detach(|| call.wait_until(until)) {
                return into_object(py, reply).map(Some);
            }
            py.check_signals()?;
            if Instant::now() >= deadline {
                return Ok(None);
            }
        }
    }

    fn ask_into(
        slf: &Bound<'_, Self>,
        replies: &Replies,
        token: u64,
        connection: u64,
        request: &OutgoingRequest,
    ) -> PyResult<i32> {
        slf.as_super().get().check_mine()?;
        let calls = &slf.get().calls;
        calls.call_into(ConnectionId(connection), request, &replies.queue, token).map_err(server_error)
    }

    fn tell(slf: &Bound<'_, Self>, connection: u64, request: &OutgoingRequest) -> PyResult<()> {
        let chunks = request.encode_one_way().map_err(server_error)?;
        let command = Command::Send { connection: ConnectionId(connection), chunks, settled_size: 0 };
        slf.as_super().get().submit(command)
    }

    fn forget(&self, number: i32) -> bool {
        self.calls.forget(number)
    }
}

/// Replies to the questions of one thread or event loop.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Replies {
    queue: Arc<ReplyQueue>,
}

#[pymethods]
impl Replies {
    #[new]
    fn new() -> PyResult<Self> {
        Ok(Self { queue: Arc::new(ReplyQueue::new().map_err(server_error)?) })
    }

    fn fileno(&self) -> RawFd {
        self.queue.event_fd().as_raw_fd()
    }

    fn take(&self, py: Python<'_>) -> PyResult<Vec<(u64, Py<PyAny>)>> {
        self.queue.take().into_iter().map(|(token, reply)| Ok((token, into_object(py, reply)?))).collect()
    }
}

/// The answer, or in a word why the connection has ended.
fn into_object(py: Python<'_>, reply: Reply) -> PyResult<Py<PyAny>> {
    match reply {
        Reply::Answer(received) => Ok(Py::new(py, Response::new(received))?.into_any()),
        Reply::Ended(reason) => {
            let word = reason.map_or("ended", |reason| reason.name());
            Ok(PyString::new(py, word).unbind().into_any())
        }
    }
}
