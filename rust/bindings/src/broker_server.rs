//! A server with a fast lane over a store, as Python sees it. Whatever a `Server` does, one inside does.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Instant;

use escrowmq_lanes::fast::{
    self, FastLane, FastLaneOptions, FastLaneShared, Identity, OpenStore, QueueOffsets,
};
use escrowmq_lanes::{BrokerLanes, LaneError, LaneLimits};
use escrowmq_net::Options;
use escrowmq_store::{LogOffset, Store as RustStore, StoreCore};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyMapping, PyTuple};

use crate::answer::Answer;
use crate::error::server_error;
use crate::fast_entries::{FastLaneStatistics, GroupEntry, SubscriptionEntry, TopicEntry, Traffic};
use crate::message::parse_host;
use crate::owner::Owned;
use crate::server::{Server, ServerStatistics, duration};
use crate::server_event::Request;
use crate::store::Store;

/// A server that answers sends, pulls and offsets itself.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct BrokerServer {
    server: Server,
    shared: Arc<FastLaneShared>,
}

impl OpenStore for Owned<RustStore> {
    fn core(&self) -> &StoreCore {
        self.get().expect("the threads that ask are in the process that opened the store")
    }
}

#[pymethods]
impl BrokerServer {
    #[staticmethod]
    #[pyo3(signature = (
        store, listen, *, broker_name, cluster_name, region_id = "DefaultRegion", broker_address = "127.0.0.1",
        broker_permission = 6, is_trace_on = true, is_long_polling = true, short_polling_s = 1.0,
        parked_pulls_max = 100_000, pull_count_max = 32, pull_size_max_bytes = 262_144, hot_window_bytes = 33_554_432,
        flush_timeout_s = 5.0, frame_size_max_bytes = 16_777_216, connections_max = 16_384,
        in_flight_max_bytes = 33_554_432, in_flight_total_max_bytes = 268_435_456, idle_timeout_s = 120.0,
        frame_timeout_s = 30.0, stall_timeout_s = 10.0, connect_timeout_s = 3.0, requests_max = 10_000,
        requests_max_bytes = 67_108_864, one_way_max = 10_000, one_way_max_bytes = 67_108_864,
    ))]
    #[allow(clippy::too_many_arguments, reason = "in Python all but two are keywords, most with defaults")]
    #[allow(clippy::fn_params_excessive_bools, reason = "in Python they are named")]
    fn start(
        py: Python<'_>,
        store: &Bound<'_, Store>,
        listen: Vec<String>,
        broker_name: String,
        cluster_name: String,
        region_id: &str,
        broker_address: &str,
        broker_permission: u32,
        is_trace_on: bool,
        is_long_polling: bool,
        short_polling_s: f64,
        parked_pulls_max: usize,
        pull_count_max: usize,
        pull_size_max_bytes: usize,
        hot_window_bytes: u64,
        flush_timeout_s: f64,
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
        let fast = FastLaneOptions {
            is_long_polling,
            short_polling: duration("short_polling_s", short_polling_s)?,
            parked_pulls_max,
            pull_count_max,
            pull_size_max_bytes,
            hot_window_bytes,
            flush_timeout: duration("flush_timeout_s", flush_timeout_s)?,
        };
        let store = store.get().shared()?;
        let identity = Identity {
            broker_name,
            cluster_name,
            region_id: region_id.to_owned(),
            broker_address: broker_address.to_owned(),
            is_trace_on,
            store_host: store.core().options().store_host,
        };
        let shared = FastLaneShared::new(broker_permission);
        let lane = FastLane::new(store.clone(), Arc::clone(&shared), identity, fast);
        let started = py.detach(|| serve(options, limits, &store, lane, &shared)).map_err(server_error)?;
        match started {
            Some(server) => Ok(Self { server, shared }),
            None => Err(PyValueError::new_err("the store has, or had, a server")),
        }
    }

    fn set_topics(&self, topics: &Bound<'_, PyMapping>) -> PyResult<()> {
        let topics = topics.items()?.extract::<Vec<(String, Py<TopicEntry>)>>()?;
        let topics = topics.into_iter().map(|(name, entry)| (name.into(), entry.get().entry()));
        self.shared.knowledge.set_topics(topics.collect());
        Ok(())
    }

    fn set_groups(&self, groups: &Bound<'_, PyMapping>) -> PyResult<()> {
        let groups = groups.items()?.extract::<Vec<(String, Py<GroupEntry>)>>()?;
        let groups = groups.into_iter().map(|(name, entry)| (name.into(), entry.get().entry()));
        self.shared.knowledge.set_groups(groups.collect());
        Ok(())
    }

    fn set_subscriptions(&self, subscriptions: &Bound<'_, PyMapping>) -> PyResult<()> {
        let entries = subscriptions.items()?.extract::<Vec<((String, String), Py<SubscriptionEntry>)>>()?;
        let entries = entries
            .into_iter()
            .map(|((group, topic), entry)| (group.into(), topic.into(), entry.get().entry()));
        self.shared.knowledge.set_subscriptions(entries.collect());
        Ok(())
    }

    fn set_broker_permission(&self, permission: u32) {
        self.shared.knowledge.set_broker_permission(permission);
    }

    fn consumer_offset(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        self.shared.offsets.get(group, topic, queue_id)
    }

    fn consumer_offsets(&self) -> BTreeMap<String, QueueOffsets> {
        self.shared.offsets.all().into_iter().map(|(key, offsets)| (key.into(), offsets)).collect()
    }

    fn consumer_offsets_version(&self) -> u64 {
        self.shared.offsets.version()
    }

    fn load_consumer_offsets(&self, offsets: &Bound<'_, PyMapping>) -> PyResult<()> {
        let tables = offsets.items()?.extract::<Vec<(String, Bound<'_, PyMapping>)>>()?;
        let read = |(key, table): (String, Bound<'_, PyMapping>)| -> PyResult<_> {
            let queues = table.items()?.extract::<Vec<(i32, i64)>>()?;
            Ok((key.into(), queues.into_iter().collect::<QueueOffsets>()))
        };
        let offsets: Vec<_> = tables.into_iter().map(read).collect::<PyResult<_>>()?;
        self.shared.offsets.load(offsets);
        Ok(())
    }

    fn commit_consumer_offset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.shared.offsets.commit(group, topic, queue_id, offset);
    }

    fn reset_consumer_offset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.shared.offsets.reset(group, topic, queue_id, offset);
    }

    #[pyo3(signature = (*, group = None, topic = None))]
    fn remove_consumer_offsets(&self, group: Option<&str>, topic: Option<&str>) -> PyResult<usize> {
        if group.is_none() && topic.is_none() {
            return Err(PyValueError::new_err("neither group nor topic, expected one or both"));
        }
        Ok(self.shared.offsets.remove(group, topic))
    }

    fn tell_when_visible(&self, log_offset: u64) {
        self.shared.tell_when_visible(LogOffset(log_offset));
    }

    fn wake_pulls(&self, topic: &str, queue_id: u32) {
        self.shared.wake_pulls(topic, queue_id);
    }

    fn fast_lane_statistics(&self) -> FastLaneStatistics {
        self.shared.statistics().into()
    }

    fn traffic_in(&self) -> BTreeMap<String, Traffic> {
        let traffic = self.shared.knowledge.traffic_in();
        traffic.into_iter().map(|(topic, traffic)| (topic.into(), traffic.into())).collect()
    }

    fn traffic_out(&self) -> BTreeMap<(String, String), Traffic> {
        let traffic = self.shared.knowledge.traffic_out();
        traffic
            .into_iter()
            .map(|(group, topic, traffic)| ((topic.into(), group.into()), traffic.into()))
            .collect()
    }

    #[pyo3(signature = (topic, *, messages, size_bytes))]
    fn count_in(&self, topic: &str, messages: u64, size_bytes: u64) {
        self.shared.knowledge.count_in(topic, fast::Traffic { messages, size_bytes });
    }

    fn answer(&self, answers: Vec<(Py<Request>, Py<Answer>)>) -> PyResult<()> {
        let (given_back, answered) =
            answers.into_iter().partition::<Vec<_>, _>(|(_, answer)| answer.get().is_retry);
        let pairs = answered.iter().map(|(request, answer)| (&request.get().request, &answer.get().answer));
        self.shared.answer(self.server.end()?, pairs).map_err(server_error)?;
        for (request, _) in given_back {
            self.shared.give_back(&request.get().request).map_err(server_error)?;
        }
        Ok(())
    }

    #[getter]
    fn addresses(&self) -> PyResult<Vec<String>> {
        self.server.addresses()
    }

    #[pyo3(signature = (*, count_max = 256, timeout_s = None))]
    fn next_batch(
        &self,
        py: Python<'_>,
        count_max: usize,
        timeout_s: Option<f64>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        self.server.next_batch(py, count_max, timeout_s)
    }

    fn fileno(&self) -> PyResult<RawFd> {
        self.server.fileno()
    }

    #[pyo3(signature = (
        connection, code, *, ext_fields = None, body = None, one_way = true, opaque = None, remark = None,
        header_kind = "json", language = "JAVA", version = 513,
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
    ) -> PyResult<i32> {
        self.server.send(
            connection,
            code,
            ext_fields,
            body,
            one_way,
            opaque,
            remark,
            header_kind,
            language,
            version,
        )
    }

    fn connect(&self, address: &str) -> PyResult<u64> {
        self.server.connect(address)
    }

    fn close_connection(&self, connection: u64) -> PyResult<()> {
        self.server.close_connection(connection)
    }

    fn statistics(&self) -> PyResult<ServerStatistics> {
        self.server.statistics()
    }

    fn drop_next_answer(&self, code: i32) {
        self.shared.drop_next_answer(code);
    }

    fn abandon(&self, py: Python<'_>) -> PyResult<()> {
        self.server.close(py, 0.0)
    }

    #[pyo3(signature = (*, timeout_s = 3.0))]
    fn close(&self, py: Python<'_>, timeout_s: f64) -> PyResult<()> {
        let time_max = duration("timeout_s", timeout_s)?;
        // In a process that was forked off, there is nothing to wait for.
        self.server.fileno()?;
        let began = Instant::now();
        py.detach(|| self.shared.finish_sends(time_max));
        self.server.close(py, time_max.saturating_sub(began.elapsed()).as_secs_f64())
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py, 3.0)
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("BrokerServer({})", self.addresses()?.join(", ")))
    }
}

/// Starts the server. None where the store tells someone else what arrives; only when addresses could be listened on is it
/// asked to tell this one, which can't be undone.
fn serve(
    options: Options,
    limits: LaneLimits,
    store: &Owned<RustStore>,
    mut lane: FastLane,
    shared: &Arc<FastLaneShared>,
) -> Result<Option<Server>, LaneError> {
    let mut is_heard = false;
    let mut threads = Ok(());
    let server = Server::with_handler(options, limits, |python, remote| {
        is_heard = store.core().listen(shared.clone());
        threads = lane.start_threads(&remote);
        BrokerLanes::new(lane, python)
    })?;
    threads.map_err(|source| LaneError::System { action: "start a thread", source })?;
    Ok(is_heard.then_some(server))
}
