//! A server with a fast lane over a store, as Python sees it: a `Server` that answers much itself.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use escrowmq_lanes::fast::{
    self, FastLane, FastLaneOptions, FastLaneShared, Identity, OpenStore, QueueOffsets,
};
use escrowmq_lanes::{BrokerLanes, LaneError, LaneLimits};
use escrowmq_net::Options;
use escrowmq_store::{LogOffset, Store as RustStore, StoreCore};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use crate::answer::Answer;
use crate::error::server_error;
use crate::fast_entries::{FastLaneStatistics, GroupEntry, SubscriptionEntry, TopicEntry, Traffic};
use crate::limits::Limits;
use crate::owner::Owned;
use crate::server::{Server, duration, settings};
use crate::server_event::Request;
use crate::store::Store;

/// A server that answers sends, pulls and offsets itself.
#[pyclass(frozen, extends = Server, module = "escrowmq._core")]
pub struct BrokerServer {
    shared: Arc<FastLaneShared>,
}

impl OpenStore for Owned<RustStore> {
    fn core(&self) -> &StoreCore {
        self.get_on_own_thread().expect("it is taken away only when nobody holds it any more")
    }
}

#[pymethods]
impl BrokerServer {
    #[staticmethod]
    #[pyo3(signature = (
        store, listen, *, broker_name, cluster_name, region_id = "DefaultRegion", broker_address = "127.0.0.1",
        broker_permission = 6, asks_for_traces = true, has_long_polling = true, short_polling_ms = 1_000,
        parked_pulls_max = 100_000, pull_count_max = 32, pull_size_max_bytes = 262_144, hot_window_bytes = 33_554_432,
        has_property_filters = true, flush_timeout_ms = 5_000, limits = None,
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
        asks_for_traces: bool,
        has_long_polling: bool,
        short_polling_ms: u64,
        parked_pulls_max: usize,
        pull_count_max: usize,
        pull_size_max_bytes: usize,
        hot_window_bytes: u64,
        has_property_filters: bool,
        flush_timeout_ms: u64,
        limits: Option<Py<Limits>>,
    ) -> PyResult<Py<Self>> {
        let (options, limits) = settings(&listen, limits.as_ref())?;
        let fast = FastLaneOptions {
            is_long_polling: has_long_polling,
            short_polling: Duration::from_millis(short_polling_ms),
            parked_pulls_max,
            pull_count_max,
            pull_size_max_bytes,
            hot_window_bytes,
            has_property_filters,
            flush_timeout: Duration::from_millis(flush_timeout_ms),
        };
        let store = store.get().shared()?;
        let identity = Identity {
            broker_name,
            cluster_name,
            region_id: region_id.to_owned(),
            broker_address: broker_address.to_owned(),
            is_trace_on: asks_for_traces,
            store_host: store.core().options().store_host,
        };
        let shared = FastLaneShared::new(broker_permission);
        let lane = FastLane::new(store.clone(), Arc::clone(&shared), identity, fast);
        let started = py.detach(|| serve(options, limits, &store, lane, &shared)).map_err(server_error)?;
        match started {
            Some(server) => Py::new(py, PyClassInitializer::from(server).add_subclass(Self { shared })),
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

    fn pulled_offsets(&self) -> BTreeMap<String, QueueOffsets> {
        self.shared.offsets.pulled().into_iter().map(|(key, offsets)| (key.into(), offsets)).collect()
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
        self.shared.reset_offset(group, topic, queue_id, offset);
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

    fn answer(slf: &Bound<'_, Self>, answers: Vec<(Py<Request>, Py<Answer>)>) -> PyResult<()> {
        let (given_back, answered) =
            answers.into_iter().partition::<Vec<_>, _>(|(_, answer)| answer.get().is_retry);
        let pairs = answered.iter().map(|(request, answer)| (&request.get().request, &answer.get().answer));
        slf.get().shared.answer(slf.as_super().get().end()?, pairs).map_err(server_error)?;
        for (request, _) in given_back {
            slf.get().shared.give_back(&request.get().request).map_err(server_error)?;
        }
        Ok(())
    }

    fn drop_next_answer(&self, code: i32) {
        self.shared.drop_next_answer(code);
    }

    fn abandon(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.as_super().get().close(slf.py(), 0.0)
    }

    #[pyo3(signature = (*, timeout_s = 3.0))]
    fn close(slf: &Bound<'_, Self>, timeout_s: f64) -> PyResult<()> {
        let time_max = duration("timeout_s", timeout_s)?;
        let (server, shared) = (slf.as_super().get(), &slf.get().shared);
        // In a process that was forked off, there is nothing to wait for.
        server.check_mine()?;
        let began = Instant::now();
        slf.py().detach(|| shared.finish_sends(time_max));
        server.close(slf.py(), time_max.saturating_sub(began.elapsed()).as_secs_f64())
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
