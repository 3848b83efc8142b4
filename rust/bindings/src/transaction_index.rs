//! The transactions of a store as Python sees them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use escrowmq_store::transaction_index::{
    PendingRange, Transaction as Found, TransactionIndex as RustIndex, TransactionState,
};
use escrowmq_store::{Receipt as StoreReceipt, Store as RustStore, StoreError};
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::store_error;
use crate::message::Message;
use crate::owner::Owned;
use crate::receipt::{Receipt, Receipts};
use crate::store::Store;
use crate::transaction_requests::Prepare;

/// Which transactions of a store are pending, and how the others ended.
#[pyclass(frozen, module = "escrowmq._core")]
pub struct TransactionIndex {
    index: Mutex<RustIndex>,
    store: Arc<Owned<RustStore>>,
}

#[pymethods]
impl TransactionIndex {
    #[staticmethod]
    #[pyo3(signature = (store, *, decided_since_ms = 0))]
    fn open(py: Python<'_>, store: &Bound<'_, Store>, decided_since_ms: i64) -> PyResult<Self> {
        let store = store.get().shared()?;
        let index = py
            .detach(|| RustIndex::open(store.get().ok_or(StoreError::Closed)?, decided_since_ms))
            .map_err(store_error)?;
        Ok(Self { index: Mutex::new(index), store })
    }

    fn note(&self, py: Python<'_>, messages: Vec<Py<Message>>, receipts: &Bound<'_, PyAny>) -> PyResult<()> {
        let receipts = receipts_of(receipts)?;
        if receipts.len() != messages.len() {
            return Err(PyValueError::new_err(format!(
                "{} receipts for {} messages",
                receipts.len(),
                messages.len()
            )));
        }
        self.with(py, |index| {
            let messages = messages.iter().map(|message| message.get().as_new_message());
            index.note(messages.zip(receipts));
        });
        Ok(())
    }

    fn find(&self, py: Python<'_>, places: Vec<(i64, i64)>) -> Vec<Option<Transaction>> {
        // What comes from a client may be any number; a negative one is no place.
        let find = |index: &mut RustIndex, (half, log): (i64, i64)| {
            index.find(u64::try_from(half).ok()?, u64::try_from(log).ok()?).map(Transaction::from)
        };
        self.with(py, |index| places.into_iter().map(|place| find(index, place)).collect())
    }

    fn find_undecided(&self, py: Python<'_>, group: &str, unique_id: &str) -> Option<Transaction> {
        self.with(py, |index| index.find_undecided(group, unique_id)).map(Into::into)
    }

    fn are_new(&self, py: Python<'_>, prepares: Vec<Py<Prepare>>) -> Vec<bool> {
        let identities: Vec<(&str, &str)> = prepares.iter().map(|prepare| prepare.get().identity()).collect();
        self.with(py, |index| {
            let mut seen = HashSet::with_capacity(identities.len());
            let is_new =
                |(group, unique_id)| seen.insert((group, unique_id)) && !index.is_undecided(group, unique_id);
            identities.into_iter().map(is_new).collect()
        })
    }

    #[pyo3(signature = (*, group = None, from_half = 0, to_half = None, count_max = 256))]
    fn pending(
        &self,
        py: Python<'_>,
        group: Option<&str>,
        from_half: u64,
        to_half: Option<u64>,
        count_max: usize,
    ) -> Vec<Transaction> {
        let range = PendingRange { group, from_half, to_half: to_half.unwrap_or(u64::MAX), count_max };
        transactions(self.with(py, |index| index.pending(range)))
    }

    fn pending_by_group(&self, py: Python<'_>) -> HashMap<String, usize> {
        self.with(py, |index| {
            let groups = index.pending_by_group().into_iter();
            groups.map(|(group, count)| (group.to_owned(), count)).collect()
        })
    }

    fn pending_by_topic(&self, py: Python<'_>) -> HashMap<String, usize> {
        self.with(py, |index| {
            let topics = index.pending_by_topic().into_iter();
            topics.map(|(topic, count)| (topic.to_owned(), count)).collect()
        })
    }

    #[pyo3(signature = (*, count_max = 256))]
    fn decided(&self, py: Python<'_>, count_max: usize) -> Vec<Transaction> {
        transactions(self.with(py, |index| index.decided(count_max)))
    }

    #[pyo3(signature = (*, count_max = 256))]
    fn unmarked(&self, py: Python<'_>, count_max: usize) -> Vec<Transaction> {
        transactions(self.with(py, |index| index.unmarked(count_max)))
    }

    #[pyo3(signature = (log_offset, *, count_max = 256))]
    fn live_before(&self, py: Python<'_>, log_offset: u64, count_max: usize) -> Vec<Transaction> {
        transactions(self.with(py, |index| index.live_before(log_offset, count_max)))
    }

    fn mark_asked(&self, py: Python<'_>, half_offsets: Vec<u64>) {
        self.with(py, |index| half_offsets.into_iter().for_each(|half_offset| index.mark_asked(half_offset)));
    }

    fn close_before(&self, py: Python<'_>, half_offset: u64) -> usize {
        self.with(py, |index| index.close_before(half_offset))
    }

    fn forget_decided_before(&self, py: Python<'_>, ms: i64) -> usize {
        self.with(py, |index| index.forget_decided_before(ms))
    }

    fn forget_decided_beyond(&self, py: Python<'_>, count_max: usize) -> usize {
        self.with(py, |index| index.forget_decided_beyond(count_max))
    }

    fn save(&self, py: Python<'_>) -> PyResult<bool> {
        let store = self.store.get().ok_or(StoreError::Closed).map_err(store_error)?;
        py.detach(|| RustIndex::save(&self.index, store)).map_err(store_error)
    }

    #[getter]
    fn pending_count(&self) -> usize {
        self.index.lock().pending_count()
    }

    #[getter]
    fn decided_count(&self) -> usize {
        self.index.lock().decided_count()
    }

    #[getter]
    fn ignored_count(&self) -> u64 {
        self.index.lock().ignored_count()
    }

    #[getter]
    fn contradiction_count(&self) -> u64 {
        self.index.lock().contradiction_count()
    }

    #[getter]
    fn end(&self) -> u64 {
        self.index.lock().end().0
    }

    #[getter]
    fn saved_end(&self) -> u64 {
        self.index.lock().saved_end().0
    }

    #[getter]
    fn first_live_half_offset(&self) -> Option<u64> {
        self.index.lock().first_live().map(|(half_offset, _)| half_offset)
    }

    #[getter]
    fn first_live_log_offset(&self) -> Option<u64> {
        self.index.lock().first_live().map(|(_, log_offset)| log_offset)
    }

    #[getter]
    fn oldest_root_store_ms(&self) -> Option<i64> {
        self.index.lock().oldest_root_store_ms()
    }

    #[getter]
    fn memory_bytes(&self) -> usize {
        self.index.lock().memory_bytes()
    }
}

impl TransactionIndex {
    /// Lets other Python threads run while the index works.
    fn with<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&mut RustIndex) -> T + Send) -> T {
        py.detach(|| work(&mut self.index.lock()))
    }
}

/// Receipts in whatever form an append, or part of one, has them.
pub fn receipts_of(receipts: &Bound<'_, PyAny>) -> PyResult<Vec<StoreReceipt>> {
    if let Ok(receipts) = receipts.cast::<Receipts>() {
        return Ok(receipts.get().0.clone());
    }
    let receipts = receipts.extract::<Vec<Py<Receipt>>>()?;
    Ok(receipts.iter().map(|receipt| receipt.get().into()).collect())
}

fn transactions(found: Vec<Found>) -> Vec<Transaction> {
    found.into_iter().map(Into::into).collect()
}

/// A transaction.
#[pyclass(frozen, eq, get_all, module = "escrowmq._core")]
#[derive(Debug, PartialEq, Eq)]
pub struct Transaction {
    root_log_offset: u64,
    root_store_ms: i64,
    group: String,
    topic: String,
    queue_id: i32,
    unique_id: String,
    body_crc: u32,
    checks: u32,
    is_asked: bool,
    state: &'static str,
    half_offset: u64,
    log_offset: u64,
    live_half_offsets: Vec<u64>,
    store_ms: i64,
    decided_ms: Option<i64>,
    decided_by: Option<String>,
    decision_end: u64,
    final_log_offset: Option<u64>,
}

#[pymethods]
impl Transaction {
    fn __repr__(&self) -> String {
        format!("{self:?}")
    }
}

impl From<Found> for Transaction {
    fn from(found: Found) -> Self {
        Self {
            root_log_offset: found.root_log_offset,
            root_store_ms: found.root_store_ms,
            group: found.group,
            topic: found.topic,
            queue_id: found.queue_id,
            unique_id: found.unique_id,
            body_crc: found.body_crc,
            checks: found.checks,
            is_asked: found.is_asked,
            state: match found.state {
                TransactionState::Pending => "pending",
                TransactionState::Committed => "committed",
                TransactionState::RolledBack => "rolled_back",
                TransactionState::Discarded => "discarded",
                TransactionState::Closed => "closed",
            },
            half_offset: found.half_offset,
            log_offset: found.log_offset,
            live_half_offsets: found.live_half_offsets,
            store_ms: found.store_ms,
            decided_ms: found.decided_ms,
            decided_by: found.decided_by,
            decision_end: found.decision_end,
            final_log_offset: found.final_log_offset,
        }
    }
}
