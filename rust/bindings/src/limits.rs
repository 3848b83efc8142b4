//! What peers may cost a server, as one value: every kind of server takes the same.

use std::net::SocketAddr;

use escrowmq_lanes::LaneLimits;
use escrowmq_net::Options;
use pyo3::prelude::*;

use crate::server::duration;

/// The limits of a server.
#[pyclass(frozen, eq, module = "escrowmq._core")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// Without addresses to listen on.
    net: Options,
    pub lane: LaneLimits,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (
        *, connections_max = 16_384, connection_idle_s = 120.0, frame_size_max_bytes = 16_777_216,
        in_flight_max_bytes = 33_554_432, in_flight_total_max_bytes = 268_435_456, frame_timeout_s = 30.0,
        stall_timeout_s = 10.0, connect_timeout_s = 3.0, requests_max = 10_000, requests_max_bytes = 67_108_864,
        one_way_max = 10_000, one_way_max_bytes = 67_108_864,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all are keywords with defaults")]
    fn new(
        connections_max: usize,
        connection_idle_s: f64,
        frame_size_max_bytes: usize,
        in_flight_max_bytes: usize,
        in_flight_total_max_bytes: usize,
        frame_timeout_s: f64,
        stall_timeout_s: f64,
        connect_timeout_s: f64,
        requests_max: usize,
        requests_max_bytes: usize,
        one_way_max: usize,
        one_way_max_bytes: usize,
    ) -> PyResult<Self> {
        let net = Options {
            listen: Vec::new(),
            connections_max,
            idle_timeout: duration("connection_idle_s", connection_idle_s)?,
            frame_size_max_bytes,
            in_flight_max_bytes,
            in_flight_total_max_bytes,
            frame_timeout: duration("frame_timeout_s", frame_timeout_s)?,
            stall_timeout: duration("stall_timeout_s", stall_timeout_s)?,
            connect_timeout: duration("connect_timeout_s", connect_timeout_s)?,
        };
        let lane = LaneLimits {
            requests_max,
            requests_max_bytes,
            one_way_max,
            one_way_max_bytes,
            ..LaneLimits::default()
        };
        Ok(Self { net, lane })
    }

    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl Limits {
    /// The same limits for a server that listens.
    pub fn listening(&self, listen: Vec<SocketAddr>) -> Options {
        Options { listen, ..self.net.clone() }
    }
}
