//! A store on a simulated disk, with an index that is told of what is appended.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use escrowmq_store::disk::{Allocation, Disk};
use escrowmq_store::simulation::{SimulatedDisk, VirtualClock};
use escrowmq_store::transaction_index::{PendingRange, Transaction, TransactionIndex};
use escrowmq_store::{NewMessage, Receipt, StoreCore, StoreOptions};
use escrowmq_wire::{SysFlag, encode_properties};
use parking_lot::Mutex;

/// The store directory on the simulated disk.
pub const ROOT: &str = "/store";
/// What the index wrote down.
pub const SNAPSHOT: &str = "/store/escrowmq/transactions";
const START_MS: i64 = 1_794_984_736_720;

/// A message to append.
#[derive(Debug, Clone, Default)]
pub struct Draft {
    pub topic: String,
    pub sys_flag: i32,
    pub prepared_transaction_offset: i64,
    pub body: Vec<u8>,
    pub properties: Vec<(&'static str, String)>,
}

impl Draft {
    fn encoded_properties(&self) -> Vec<u8> {
        let mut encoded = Vec::new();
        encode_properties(self.properties.iter().map(|(name, value)| (name, value)), &mut encoded);
        encoded
    }

    fn message<'a>(&'a self, properties: &'a [u8]) -> NewMessage<'a> {
        NewMessage {
            topic: &self.topic,
            queue_id: 0,
            flag: 0,
            sys_flag: SysFlag(self.sys_flag),
            born_timestamp_ms: START_MS,
            born_host: "127.0.0.1:4711".parse().expect("address"),
            store_host: None,
            is_stored: false,
            reconsume_times: 0,
            prepared_transaction_offset: self.prepared_transaction_offset,
            body: &self.body,
            properties,
        }
    }
}

/// Everything that an index says.
#[derive(Debug, PartialEq, Eq)]
pub struct View {
    pub pending: Vec<Transaction>,
    pub decided: Vec<Transaction>,
    pub unmarked: Vec<Transaction>,
    pub pending_by_group: Vec<(String, usize)>,
    pub first_live: Option<(u64, u64)>,
    pub oldest_root_store_ms: Option<i64>,
    pub ignored: u64,
    pub contradictions: u64,
}

impl View {
    pub fn of(index: &TransactionIndex) -> Self {
        let groups = index.pending_by_group().into_iter().map(|(group, count)| (group.to_owned(), count));
        let mut pending_by_group: Vec<_> = groups.collect();
        pending_by_group.sort();
        assert_eq!(index.pending_count(), index.pending(all(None)).len());
        assert_eq!(by_topic(index), index.pending_by_topic().into_iter().collect());
        assert_eq!(index.decided_count(), index.decided(usize::MAX).len());
        Self {
            pending: index.pending(all(None)),
            decided: index.decided(usize::MAX),
            unmarked: index.unmarked(usize::MAX),
            pending_by_group,
            first_live: index.first_live(),
            oldest_root_store_ms: index.oldest_root_store_ms(),
            ignored: index.ignored_count(),
            contradictions: index.contradiction_count(),
        }
    }
}

fn by_topic(index: &TransactionIndex) -> HashMap<&str, usize> {
    let mut counts = HashMap::new();
    let listed = index.pending(all(None));
    for (topic, _) in index.pending_by_topic() {
        counts.insert(topic, listed.iter().filter(|one| one.topic == topic).count());
    }
    assert_eq!(counts.values().sum::<usize>(), listed.len(), "no topic is missing");
    counts
}

/// All pending transactions, or all of a group.
pub fn all(group: Option<&str>) -> PendingRange<'_> {
    PendingRange { group, from_half: 0, to_half: u64::MAX, count_max: usize::MAX }
}

/// A store and its index.
pub struct Rig {
    pub disk: SimulatedDisk,
    pub clock: VirtualClock,
    pub store: StoreCore,
    pub index: Mutex<TransactionIndex>,
}

impl Rig {
    pub fn new() -> Self {
        Self::on(SimulatedDisk::default())
    }

    /// Opens what is on a disk.
    pub fn on(disk: SimulatedDisk) -> Self {
        let clock = VirtualClock::new(START_MS);
        let options = StoreOptions {
            segment_size_bytes: 16_384,
            queue_file_entries: 50,
            index_slots: 10,
            index_entries: 20,
            ..StoreOptions::default()
        };
        let store =
            StoreCore::open(Arc::new(disk.clone()), Arc::new(clock.clone()), Path::new(ROOT), options)
                .expect("open");
        let index = TransactionIndex::open(&store, 0).expect("index");
        Self { disk, clock, store, index: Mutex::new(index) }
    }

    /// Appends all in one batch, and tells the index.
    pub fn append(&self, drafts: &[Draft]) -> Vec<Receipt> {
        let properties: Vec<Vec<u8>> = drafts.iter().map(Draft::encoded_properties).collect();
        let messages: Vec<NewMessage<'_>> =
            drafts.iter().zip(&properties).map(|(draft, properties)| draft.message(properties)).collect();
        self.clock.advance(1);
        let receipts = self.store.append(&messages).expect("append");
        self.index.lock().note(messages.into_iter().zip(receipts.iter().copied()));
        receipts
    }

    /// Appends what does not concern the index, and does not tell it.
    pub fn append_untold(&self, draft: &Draft) {
        self.store.append_one(&draft.message(&draft.encoded_properties())).expect("append");
    }

    pub fn view(&self) -> View {
        View::of(&self.index.lock())
    }

    /// What an index says that reads its snapshot, if there is one, and the log.
    pub fn read_again(&self) -> TransactionIndex {
        TransactionIndex::open(&self.store, 0).expect("index")
    }

    /// Saves the index when the log is durable.
    pub fn save(&self) {
        self.store.flush_once().expect("flush");
        assert!(TransactionIndex::save(&self.index, &self.store).expect("save"));
    }

    /// The bytes of the snapshot.
    pub fn snapshot(&self) -> Vec<u8> {
        let file = self.disk.open(Path::new(SNAPSHOT)).expect("snapshot");
        let mut bytes = vec![0; usize::try_from(file.size_bytes().expect("size")).expect("small")];
        file.read_at(0, &mut bytes).expect("read");
        bytes
    }

    /// Puts other bytes there.
    pub fn put_snapshot(&self, bytes: &[u8]) {
        let path = Path::new(SNAPSHOT);
        if self.disk.open(path).is_ok() {
            self.disk.remove(path).expect("remove");
        }
        let file = self.disk.create(path, 0, Allocation::OnDemand).expect("create");
        file.write_at(0, bytes).expect("write");
    }
}
