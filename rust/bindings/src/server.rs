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
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Server {
    running: Owned<Running>,
}

#[pymethods]
impl Server {
    #[staticmethod]
    #[pyo3(signature = (
        listen, *, frame_size_max_bytes = 16_777_216, connections_max = 16_384, in_flight_max_bytes = 33_554_432,
        in_flight_total_max_bytes = 268_435_456, idle_timeout_s = 120.0, frame_timeout_s = 30.0, stall_timeout_s = 10.0,
        connect_timeout_s = 3.0, requests_max = 10_000, requests_max_bytes = 67_108_864, one_way_max = 10_000,
        one_way_max_bytes = 67_108_864,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but one are keywords with defaults")]
    fn start(
        py: Python<'_>,
        listen: Vec<String>,
        frame_size_max_bytes: usize,
        connections_max: usize,
        in_flight_max_bytes: usize,
        in_flight_total_max_bytes: usize,
        idle_timeout_s: f64,
        frame_timeout_s: f64,
        stall_timeout_s: f64,
        connect_timeout_s: f64,
        requests_max: usize,
        requests_max_bytes: usize,
        one_way_max: usize,
        one_way_max_bytes: usize,
    ) -> PyResult<Self> {
        let options = Options {
            listen: listen.iter().map(|address| parse_host(address)).collect::<PyResult<_>>()?,
            frame_size_max_bytes,
            connections_max,
            in_flight_max_bytes,
            in_flight_total_max_bytes,
            idle_timeout: duration("idle_timeout_s", idle_timeout_s)?,
            frame_timeout: duration("frame_timeout_s", frame_timeout_s)?,
            stall_timeout: duration("stall_timeout_s", stall_timeout_s)?,
            connect_timeout: duration("connect_timeout_s", connect_timeout_s)?,
        };
        let limits = LaneLimits {
            requests_max,
            requests_max_bytes,
            one_way_max,
            one_way_max_bytes,
            ..LaneLimits::default()
        };
        py.detach(|| Self::with_handler(options, limits, |lane, _| lane)).map_err(server_error)
    }

    #[getter]
    pub fn addresses(&self) -> PyResult<Vec<String>> {
        Ok(self.get()?.server.addresses().iter().map(SocketAddr::to_string).collect())
    }

    #[pyo3(signature = (*, count_max = 256, timeout_s = None))]
    pub fn next_batch(
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

    pub fn fileno(&self) -> PyResult<RawFd> {
        Ok(self.get()?.end.event_fd().as_raw_fd())
    }

    pub fn answer(&self, answers: Vec<(Py<Request>, Py<Answer>)>) -> PyResult<()> {
        let pairs = answers.iter().map(|(request, answer)| (&request.get().request, &answer.get().answer));
        self.get()?.end.answer(pairs).map_err(server_error)
    }

    #[pyo3(signature = (
        connection, code, *, ext_fields = None, body = None, one_way = true, opaque = None, remark = None,
        header_kind = "json", language = "JAVA", version = 513,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords with defaults")]
    pub fn send(
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
        self.get()?.end.send(ConnectionId(connection), &request, opaque).map_err(server_error)
    }

    pub fn connect(&self, address: &str) -> PyResult<u64> {
        let address = parse_host(address)?;
        let connection = self.get()?.remote.connect(address);
        Ok(connection.map_err(|error| server_error(error.into()))?.0)
    }

    pub fn close_connection(&self, connection: u64) -> PyResult<()> {
        // On a server that is closed, every connection is.
        let _ = self.get()?.remote.submit([Command::Close { connection: ConnectionId(connection) }]);
        Ok(())
    }

    pub fn statistics(&self) -> PyResult<ServerStatistics> {
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
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py, 3.0)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("Server({})", self.addresses()?.join(", ")))
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

pub fn duration(name: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| PyValueError::new_err(format!("{name} {seconds}: {error}")))
}
