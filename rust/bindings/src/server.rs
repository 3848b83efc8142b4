//! The server as Python sees it. Waiting and closing let other Python threads run; nothing else waits.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrowmq_lanes::{LaneEnd, LaneError, LaneLimits, LaneQueue, PythonLane, ServerRequest, Waited};
use escrowmq_net::{Command, ConnectionId, Handler, Options, Remote, Server as RustServer};
use escrowmq_wire::HeaderKind;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use crate::answer::{Answer, content};
use crate::error::{server_closed, server_error};
use crate::limits::Limits;
use crate::message::parse_host;
use crate::owner::Owned;
use crate::server_event::{Request, into_object};

/// The epoll thread, and Python's end of its lane.
struct Running {
    server: RustServer,
    end: LaneEnd,
    remote: Remote,
}

/// Listens, cuts frames and sends answers on a thread of its own.
#[pyclass(frozen, subclass, module = "escrowmq._core")]
pub struct Server {
    running: Owned<Running>,
}

#[pymethods]
impl Server {
    #[staticmethod]
    #[pyo3(signature = (listen, *, limits = None))]
    fn start(py: Python<'_>, listen: Vec<String>, limits: Option<Py<Limits>>) -> PyResult<Self> {
        let (options, lane) = settings(&listen, limits.as_ref())?;
        py.detach(|| Self::with_handler(options, lane, |lane, _| lane)).map_err(server_error)
    }

    #[getter]
    fn addresses(&self) -> PyResult<Vec<String>> {
        Ok(self.get()?.server.addresses().iter().map(SocketAddr::to_string).collect())
    }

    #[pyo3(signature = (*, count_max = 256, timeout_s = None))]
    fn next_batch(
        &self,
        py: Python<'_>,
        count_max: usize,
        timeout_s: Option<f64>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        if count_max == 0 {
            return Err(PyValueError::new_err("count_max 0, expected 1 or more"));
        }
        let end = &self.get()?.end;
        let deadline = match timeout_s {
            // A time beyond the clock's end is as good as none.
            Some(seconds) => Instant::now().checked_add(duration("timeout_s", seconds)?),
            None => None,
        };
        loop {
            let events = end.next_batch(count_max).ok_or_else(server_closed)?;
            if !events.is_empty() {
                return events.into_iter().map(|event| into_object(py, event)).collect();
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            match py.detach(|| end.wait(left)).map_err(server_error)? {
                Waited::Ready => {}
                Waited::TimedOut => return Ok(Vec::new()),
                Waited::Interrupted => py.check_signals()?,
            }
        }
    }

    fn fileno(&self) -> PyResult<RawFd> {
        Ok(self.get()?.end.event_fd().as_raw_fd())
    }

    pub fn answer(&self, answers: Vec<(Py<Request>, Py<Answer>)>) -> PyResult<()> {
        let pairs = answers.iter().map(|(request, answer)| (&request.get().request, &answer.get().answer));
        self.get()?.end.answer(pairs).map_err(server_error)
    }

    #[pyo3(signature = (
        connection, code, *, ext_fields = None, body = None, one_way = true, opaque = None, remark = None,
        header_kind = "json", language = "JAVA", version = 513, tells_when_written = false,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords with defaults")]
    fn send(
        &self,
        connection: u64,
        code: i32,
        ext_fields: Option<&Bound<'_, PyMapping>>,
        body: Option<&Bound<'_, PyAny>>,
        one_way: bool,
        opaque: Option<i32>,
        remark: Option<String>,
        header_kind: &str,
        language: &str,
        version: i32,
        tells_when_written: bool,
    ) -> PyResult<i32> {
        let request = ServerRequest {
            content: content(code, remark, ext_fields, body, language, version)?,
            header_kind: match header_kind {
                "json" => HeaderKind::Json,
                "binary" => HeaderKind::Binary,
                other => {
                    let message = format!("header_kind {other:?}, expected json or binary");
                    return Err(PyValueError::new_err(message));
                }
            },
            is_one_way: one_way,
        };
        let end = &self.get()?.end;
        end.send(ConnectionId(connection), &request, opaque, tells_when_written).map_err(server_error)
    }

    fn connect(&self, address: &str) -> PyResult<u64> {
        let address = parse_host(address)?;
        let connection = self.get()?.remote.connect(address);
        Ok(connection.map_err(|error| server_error(error.into()))?.0)
    }

    fn close_connection(&self, connection: u64) -> PyResult<()> {
        // On a server that is closed, every connection is.
        let _ = self.get()?.remote.submit([Command::Close { connection: ConnectionId(connection) }]);
        Ok(())
    }

    fn statistics(&self) -> PyResult<ServerStatistics> {
        let running = self.get()?;
        let (net, lane) = (running.server.statistics(), running.end.statistics());
        Ok(ServerStatistics {
            connections: net.connections,
            connections_opened: net.opened,
            connections_refused: net.refused,
            connections_closed: net.closed.into_iter().collect(),
            frames_received: net.frames_received,
            frames_sent: net.frames_sent,
            bytes_received: net.bytes_received,
            bytes_sent: net.bytes_sent,
            bytes_in_flight: net.bytes_in_flight,
            requests_waiting: lane.waiting,
            requests_refused: lane.refused,
        })
    }

    #[pyo3(signature = (*, timeout_s = 3.0))]
    pub fn close(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        let (server, time_max) = (&self.get()?.server, duration("timeout_s", timeout_s)?);
        py.detach(|| server.close(time_max));
        Ok(())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        // By name: a kind of server may have more to do when it closes.
        slf.call_method0("close")?;
        Ok(())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("{}({})", slf.get_type().name()?, slf.get().addresses()?.join(", ")))
    }
}

impl Server {
    /// A server whose epoll thread runs another handler than the Python lane alone.
    pub fn with_handler<H: Handler + 'static>(
        options: Options,
        limits: LaneLimits,
        make_handler: impl FnOnce(PythonLane, Remote) -> H,
    ) -> Result<Self, LaneError> {
        let running = Running::start(options, limits, make_handler)?;
        Ok(Self { running: Owned::new(running) })
    }

    /// Python's end of the lane, for a server that answers in another way.
    pub fn end(&self) -> PyResult<&LaneEnd> {
        Ok(&self.get()?.end)
    }

    /// Has the epoll thread do something.
    pub fn submit(&self, command: Command) -> PyResult<()> {
        self.get()?.remote.submit([command]).map_err(|error| server_error(error.into()))
    }

    /// Refuses a process that was forked off.
    pub fn check_mine(&self) -> PyResult<()> {
        self.get().map(|_| ())
    }

    fn get(&self) -> PyResult<&Running> {
        self.running.get().ok_or_else(server_closed)
    }
}

impl Running {
    fn start<H: Handler + 'static>(
        options: Options,
        limits: LaneLimits,
        make_handler: impl FnOnce(PythonLane, Remote) -> H,
    ) -> Result<Self, LaneError> {
        let queue = Arc::new(LaneQueue::new(limits)?);
        let server = RustServer::start(options, |remote| {
            make_handler(PythonLane::new(Arc::clone(&queue), remote.clone()), remote)
        })?;
        let remote = server.remote();
        Ok(Self { server, end: LaneEnd::new(queue, remote.clone()), remote })
    }
}

/// Numbers since the server was started.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct ServerStatistics {
    connections: u64,
    connections_opened: u64,
    connections_refused: u64,
    connections_closed: BTreeMap<&'static str, u64>,
    frames_received: u64,
    frames_sent: u64,
    bytes_received: u64,
    bytes_sent: u64,
    bytes_in_flight: u64,
    requests_waiting: usize,
    requests_refused: u64,
}

#[pymethods]
impl ServerStatistics {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

/// The addresses to listen on with the limits, and those of the lane; without any, the defaults.
pub fn settings(listen: &[String], limits: Option<&Py<Limits>>) -> PyResult<(Options, LaneLimits)> {
    let listen = listen.iter().map(|address| parse_host(address)).collect::<PyResult<_>>()?;
    let defaults = Limits::default();
    let limits = limits.map_or(&defaults, Py::get);
    Ok((limits.listening(listen), limits.lane))
}

pub fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{name} {seconds}: {error}")))
}
