//! What the store must hold, as plain lists.

use std::collections::BTreeMap;
use std::ops::Range;

use escrowmq_store::Receipt;
use escrowmq_store::{StoreCore, StoreOptions};

use super::message::{Message, QUEUES};

/// A message that was appended.
#[derive(Debug, Clone)]
pub struct Appended {
    pub message: Message,
    pub receipt: Receipt,
    /// Its record as it must lie in the log.
    pub bytes: Vec<u8>,
    /// The journal position before its append.
    at: usize,
}

impl Appended {
    pub fn start(&self) -> u64 {
        self.receipt.log_offset.0
    }

    pub fn end(&self) -> u64 {
        self.receipt.end_offset().0
    }
}

/// What was appended, acknowledged and expired, and at which journal positions.
#[derive(Debug, Default)]
pub struct Model {
    /// In the order of the log.
    pub records: Vec<Appended>,
    /// Journal positions, and how far the log was durable there.
    durable: Vec<(usize, u64)>,
    /// Journal positions before an expiry, and where the log began after it.
    expired: Vec<(usize, u64)>,
    /// In their order.
    deletions: Vec<Deletion>,
}

/// A topic was deleted, or may have been.
#[derive(Debug)]
struct Deletion {
    topic: String,
    /// Its records before this log offset are in no queue.
    before: u64,
    /// Journal positions before and after.
    positions: Range<usize>,
    /// Whether it surely happened: power that goes in the middle leaves the topic whole, or gone.
    is_sure: bool,
}

/// What a store may hold after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed {
    /// Everything before this log offset must be there, if it did not expire.
    pub acknowledged: u64,
    /// Where the log may begin at the latest.
    pub start_max: u64,
}

impl Model {
    /// Messages were appended, beginning at a journal position.
    pub fn appended(
        &mut self,
        at: usize,
        messages: Vec<Message>,
        receipts: &[Receipt],
        options: &StoreOptions,
    ) {
        assert_eq!(messages.len(), receipts.len());
        for (message, receipt) in messages.into_iter().zip(receipts) {
            let end = self.records.last().map_or(0, Appended::end);
            assert!(
                receipt.log_offset.0 >= end,
                "{receipt:?} overlaps the record before it, which ends at {end}"
            );
            let bytes = message.record_bytes(receipt, options.has_record_crc);
            assert_eq!(bytes.len(), receipt.size_bytes as usize, "size of {receipt:?}");
            if message.is_queued() {
                let next = self.next_queue_offset(&message.topic, message.queue_id);
                assert_eq!(receipt.queue_offset.0, next, "next of {}/{}", message.topic, message.queue_id);
            }
            self.records.push(Appended { message, receipt: *receipt, bytes, at });
        }
    }

    /// The log is durable up to an offset.
    pub fn durable(&mut self, position: usize, durable_end: u64) {
        let last = self.durable.last().map_or(0, |(_, end)| *end);
        assert!(durable_end >= last, "the durable end went back from {last} to {durable_end}");
        if durable_end > last {
            self.durable.push((position, durable_end));
        }
    }

    /// An expiry that began at a journal position may have moved the log's start.
    pub fn expired(&mut self, position: usize, start: u64) {
        self.expired.push((position, start));
    }

    /// A topic was deleted between two journal positions; where that failed, nobody knows before the next start.
    pub fn deleted(&mut self, topic: String, before: u64, positions: Range<usize>, is_sure: bool) {
        self.deletions.push(Deletion { topic, before, positions, is_sure });
    }

    /// Learns from a store that was just opened which deletions happened that may or may not have.
    pub fn settle_deletions(&mut self, store: &StoreCore) {
        for index in 0..self.deletions.len() {
            if !self.deletions[index].is_sure {
                self.deletions[index].is_sure = true;
                let topic = self.deletions[index].topic.clone();
                let (start, queues) = (store.log_start().0, 0..QUEUES);
                let has_happened = queues.into_iter().all(|queue_id| {
                    let found = store.queue(&topic, queue_id);
                    let found = found.map_or((0, 0), |queue| (queue.min_offset().0, queue.max_offset().0));
                    found == self.bounds(&topic, queue_id, start)
                });
                self.deletions[index].is_sure = has_happened;
            }
        }
        self.deletions.retain(|deletion| deletion.is_sure);
    }

    /// The positions just after something became durable.
    pub fn durable_positions(&self) -> Vec<usize> {
        self.durable.iter().map(|(position, _)| *position).collect()
    }

    /// What may be there after a crash at a journal position; appends that came later are forgotten.
    pub fn crash(&mut self, at: usize) -> Allowed {
        self.records.retain(|record| record.at < at.max(1));
        self.deletions.retain(|deletion| deletion.positions.start < at.max(1));
        for deletion in &mut self.deletions {
            deletion.is_sure &= deletion.positions.end <= at;
        }
        let acknowledged =
            self.durable.iter().rev().find(|(position, _)| *position <= at).map_or(0, |(_, end)| *end);
        let start_max =
            self.expired.iter().filter(|(position, _)| *position <= at).map(|(_, start)| *start).max();
        Allowed { acknowledged, start_max: start_max.unwrap_or(0) }
    }

    /// The log ends at `end`: later appends are forgotten.
    pub fn cut(&mut self, end: u64) {
        self.records.retain(|record| record.end() <= end);
    }

    /// The store was recovered on a disk whose journal is now at `position`, and its log ends at `end`: what is left
    /// counts as durable from here on.
    pub fn recovered(&mut self, allowed: Allowed, position: usize, end: u64) {
        self.cut(end);
        for record in &mut self.records {
            record.at = 0;
        }
        for deletion in &mut self.deletions {
            deletion.positions = 0..0;
        }
        self.durable = vec![(0, allowed.acknowledged), (position, end)];
        self.expired = vec![(0, allowed.start_max)];
    }

    /// The records from a log offset on.
    pub fn records_from(&self, start: u64) -> impl Iterator<Item = &Appended> {
        self.records.iter().filter(move |record| record.start() >= start)
    }

    /// The records of each queue, from a log offset on.
    pub fn queues_from(&self, start: u64) -> BTreeMap<(String, u32), Vec<&Appended>> {
        let mut queues: BTreeMap<(String, u32), Vec<&Appended>> = BTreeMap::new();
        for record in self.records_from(start).filter(|record| self.is_in_a_queue(record)) {
            queues.entry((record.message.topic.clone(), record.message.queue_id)).or_default().push(record);
        }
        queues
    }

    /// The first offset of a queue in a log that begins somewhere, and the next one.
    pub fn bounds(&self, topic: &str, queue_id: u32, start: u64) -> (u64, u64) {
        let next = self.next_queue_offset(topic, queue_id);
        let is_same = |record: &&Appended| {
            self.is_in_a_queue(record) && record.message.topic == topic && record.message.queue_id == queue_id
        };
        let first = self.records_from(start).find(is_same);
        (first.map_or(next, |record| record.receipt.queue_offset.0), next)
    }

    /// The offset that the next message of a queue gets.
    pub fn next_queue_offset(&self, topic: &str, queue_id: u32) -> u64 {
        let is_same = |record: &&Appended| {
            self.is_in_a_queue(record) && record.message.topic == topic && record.message.queue_id == queue_id
        };
        self.records.iter().rev().find(is_same).map_or(0, |record| record.receipt.queue_offset.0 + 1)
    }

    fn is_in_a_queue(&self, record: &Appended) -> bool {
        let is_behind = |deletion: &Deletion| {
            deletion.is_sure && deletion.topic == record.message.topic && record.start() < deletion.before
        };
        record.message.is_queued() && !self.deletions.iter().any(is_behind)
    }
}
