//! What `Server.next_batch` returns: requests, responses, connections that come and go, what of ours is written, and how
//! far the log is visible.

use escrowmq_lanes as lanes;
use escrowmq_net::{CloseReason, Peer};
use escrowmq_wire::HeaderKind;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyMemoryView};

use crate::answer::fields_dict;
use crate::buffer::SharedBytes;
use crate::error::frame_error;

/// A request of a peer.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Request {
    pub request: lanes::Request,
    ext_fields: PyOnceLock<Py<PyDict>>,
}

/// What a peer answered to a request of ours.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct Response {
    received: lanes::Received,
    ext_fields: PyOnceLock<Py<PyDict>>,
}

impl Request {
    fn received(&self) -> &lanes::Received {
        self.request.received()
    }
}

impl Response {
    pub fn new(received: lanes::Received) -> Self {
        Self { received, ext_fields: PyOnceLock::new() }
    }

    fn received(&self) -> &lanes::Received {
        &self.received
    }
}

/// A connection is there.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct ConnectionOpened {
    peer: Peer,
}

/// The kernel has taken a request of ours.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct RequestWritten {
    peer: Peer,
    #[pyo3(get)]
    opaque: i32,
}

/// A connection is gone, or could not be made.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct ConnectionClosed {
    peer: Peer,
    reason: CloseReason,
}

/// The log is visible up to here.
#[pyclass(frozen, get_all, module = "escrowmq._core")]
pub struct LogVisible {
    end: u64,
}

/// An event as the object of its class.
pub fn into_object(py: Python<'_>, event: lanes::Event) -> PyResult<Py<PyAny>> {
    let ext_fields = PyOnceLock::new();
    Ok(match event {
        lanes::Event::Request(request) => Py::new(py, Request { request, ext_fields })?.into_any(),
        lanes::Event::Response(received) => Py::new(py, Response { received, ext_fields })?.into_any(),
        lanes::Event::Opened(peer) => Py::new(py, ConnectionOpened { peer })?.into_any(),
        lanes::Event::Written(peer, opaque) => Py::new(py, RequestWritten { peer, opaque })?.into_any(),
        lanes::Event::Closed(peer, reason) => Py::new(py, ConnectionClosed { peer, reason })?.into_any(),
        lanes::Event::Visible(end) => Py::new(py, LogVisible { end: end.0 })?.into_any(),
    })
}

/// What requests and responses have in common. A macro, since `PyO3` takes one `#[pymethods]` block per class.
macro_rules! received_methods {
    ($class:ident { $($own:tt)* }) => {
        #[pymethods]
        impl $class {
            #[getter]
            fn connection(&self) -> u64 {
                self.received().peer.connection.0
            }

            #[getter]
            fn peer(&self) -> String {
                self.received().peer.address.to_string()
            }

            #[getter]
            fn header_kind(&self) -> &'static str {
                match self.received().header_kind() {
                    HeaderKind::Json => "json",
                    HeaderKind::Binary => "binary",
                }
            }

            #[getter]
            fn code(&self) -> i32 {
                self.received().code
            }

            #[getter]
            fn language(&self) -> &'static str {
                self.received().language.name()
            }

            #[getter]
            fn version(&self) -> i32 {
                self.received().version
            }

            #[getter]
            fn opaque(&self) -> i32 {
                self.received().opaque
            }

            #[getter]
            fn flag(&self) -> i32 {
                self.received().flag
            }

            #[getter]
            fn remark(&self) -> PyResult<Option<String>> {
                let header = self.received().frame.decode_header().map_err(frame_error)?;
                Ok(header.remark.map(std::borrow::Cow::into_owned))
            }

            #[getter]
            fn ext_fields(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
                let decode = || -> PyResult<_> {
                    let header = self.received().frame.decode_header().map_err(frame_error)?;
                    Ok(fields_dict(py, &header.ext_fields)?.unbind())
                };
                Ok(self.ext_fields.get_or_try_init(py, decode)?.clone_ref(py))
            }

            #[getter]
            fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyMemoryView>> {
                SharedBytes::view(py, self.received().frame.body.clone())
            }

            fn __repr__(&self) -> String {
                let received = self.received();
                format!(
                    concat!(stringify!($class), "(connection={}, code={}, opaque={}, flag={}, body of {} bytes)"),
                    received.peer.connection.0,
                    received.code,
                    received.opaque,
                    received.flag,
                    received.frame.body.len()
                )
            }

            $($own)*
        }
    };
}

received_methods!(Request {
    #[getter]
    fn is_one_way(&self) -> bool {
        self.received().is_one_way()
    }
});

received_methods!(Response {});

#[pymethods]
impl ConnectionOpened {
    #[getter]
    fn connection(&self) -> u64 {
        self.peer.connection.0
    }

    #[getter]
    fn peer(&self) -> String {
        self.peer.address.to_string()
    }

    #[getter]
    fn is_outgoing(&self) -> bool {
        self.peer.is_outgoing
    }

    fn __repr__(&self) -> String {
        format!("ConnectionOpened(connection={}, peer={})", self.peer.connection.0, self.peer.address)
    }
}

#[pymethods]
impl RequestWritten {
    #[getter]
    fn connection(&self) -> u64 {
        self.peer.connection.0
    }

    fn __repr__(&self) -> String {
        format!("RequestWritten(connection={}, opaque={})", self.peer.connection.0, self.opaque)
    }
}

#[pymethods]
impl ConnectionClosed {
    #[getter]
    fn connection(&self) -> u64 {
        self.peer.connection.0
    }

    #[getter]
    fn peer(&self) -> String {
        self.peer.address.to_string()
    }

    #[getter]
    fn reason(&self) -> &'static str {
        self.reason.name()
    }

    fn __repr__(&self) -> String {
        let Self { peer, reason } = self;
        format!("ConnectionClosed(connection={}, peer={}, {reason:?})", peer.connection.0, peer.address)
    }
}

#[pymethods]
impl LogVisible {
    fn __repr__(&self) -> String {
        format!("LogVisible(end={})", self.end)
    }
}
