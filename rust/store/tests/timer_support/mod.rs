//! A store with timers on a simulated disk, driven step by step, with a list of what was sent.
#![allow(dead_code)] // each test file uses its part

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use escrowmq_store::clock::Clock;
use escrowmq_store::disk::Disk;
use escrowmq_store::simulation::{SimulatedDisk, VirtualClock};
use escrowmq_store::timer::{Round, TIMER_QUEUE, TIMER_TOPIC, TimerOptions, Timers};
use escrowmq_store::{NewMessage, QueueOffset, Result, StoreCore, StoreOptions, StoredRecord};
use escrowmq_wire::SysFlag;

/// The store directory on the simulated disk.
pub const ROOT: &str = "/store";
/// A morning in November 2026, some milliseconds after a full second.
pub const START_MS: i64 = 1_794_984_736_720;
/// The topic that messages are for.
pub const TOPIC: &str = "orders";
/// Its queues.
pub const QUEUES: u32 = 2;

/// Small files and a small wheel, so that a short run fills many of them and goes round.
pub fn timer_options() -> TimerOptions {
    TimerOptions { precision_ms: 1_000, roll_window_slots: 20, log_file_size_bytes: 4096, wheel_slots: 240 }
}

/// Small files.
pub fn store_options() -> StoreOptions {
    StoreOptions {
        segment_size_bytes: 16_384,
        queue_file_entries: 50,
        index_slots: 10,
        index_entries: 20,
        ..StoreOptions::default()
    }
}

/// A message that was sent.
#[derive(Debug, Clone, Copy)]
pub struct Sent {
    /// When its sender wants it.
    pub due_ms: i64,
    /// Where its record ends.
    pub log_end: u64,
}

/// A message that was delivered.
#[derive(Debug)]
pub struct Delivered {
    pub number: u32,
    pub at_ms: i64,
    pub record: StoredRecord,
}

/// A store, its timers, and what was sent.
#[derive(Debug)]
pub struct Rig {
    pub disk: SimulatedDisk,
    pub clock: VirtualClock,
    pub store_options: StoreOptions,
    pub timer_options: TimerOptions,
    pub sent: BTreeMap<u32, Sent>,
    running: Option<(StoreCore, Timers)>,
}

impl Rig {
    pub fn new() -> Self {
        Self::with(store_options(), timer_options())
    }

    pub fn with(store_options: StoreOptions, timer_options: TimerOptions) -> Self {
        let (disk, clock) = (SimulatedDisk::default(), VirtualClock::new(START_MS));
        let mut rig =
            Self { disk, clock, store_options, timer_options, sent: BTreeMap::new(), running: None };
        rig.open();
        rig
    }

    pub fn open(&mut self) {
        let (disk, clock) = (Arc::new(self.disk.clone()), Arc::new(self.clock.clone()));
        let store = StoreCore::open(disk, clock, Path::new(ROOT), self.store_options.clone())
            .unwrap_or_else(|error| panic!("open store: {error}"));
        let timers = Timers::open(&store, self.timer_options, self.now_ms())
            .unwrap_or_else(|error| panic!("open timers: {error}"));
        self.running = Some((store, timers));
    }

    /// Ends the process at once: memory is lost, but nothing that was written to a file.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Stops in good order and starts again.
    pub fn close_and_open(&mut self) {
        self.close();
        self.open();
    }

    /// Stops in good order.
    pub fn close(&mut self) {
        let now_ms = self.now_ms();
        let (store, timers) = self.running.as_mut().expect("open");
        timers.close(store, now_ms).unwrap_or_else(|error| panic!("close timers: {error}"));
        store.close().unwrap_or_else(|error| panic!("close store: {error}"));
        self.kill();
    }

    pub fn kill_and_open(&mut self) {
        self.kill();
        self.open();
    }

    pub fn store(&self) -> &StoreCore {
        &self.running.as_ref().expect("open").0
    }

    pub fn timers(&self) -> &Timers {
        &self.running.as_ref().expect("open").1
    }

    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Sends a message that is due after a while, as a broker stores it.
    pub fn send(&mut self, number: u32, delay_ms: i64) {
        self.send_with(number, delay_ms, "");
    }

    /// Sends a message with further properties.
    pub fn send_with(&mut self, number: u32, delay_ms: i64, further: &str) {
        let due_ms = self.now_ms() + delay_ms;
        let log_end = self.append(number, due_ms, further);
        self.sent.insert(number, Sent { due_ms, log_end });
    }

    /// Sends a message that takes another back.
    pub fn recall(&mut self, number: u32) {
        let due_ms = self.sent[&number].due_ms;
        let further = format!("TIMER_DEL_UNIQKEY\u{1}id-{number}\u{2}");
        self.append(number, due_ms, &further);
    }

    fn append(&self, number: u32, due_ms: i64, further: &str) -> u64 {
        let precision_ms = self.timer_options.precision_ms;
        let out_ms = (due_ms - 1).div_euclid(precision_ms) * precision_ms;
        let queue = number % QUEUES;
        let properties = format!(
            "UNIQ_KEY\u{1}id-{number}\u{2}TIMER_DELIVER_MS\u{1}{due_ms}\u{2}{further}TIMER_OUT_MS\u{1}{out_ms}\u{2}\
             REAL_TOPIC\u{1}{TOPIC}\u{2}REAL_QID\u{1}{queue}\u{2}"
        );
        let body = format!("body {number}");
        let message = NewMessage {
            topic: TIMER_TOPIC,
            queue_id: TIMER_QUEUE.cast_signed(),
            flag: 7,
            sys_flag: SysFlag(0),
            born_timestamp_ms: self.now_ms() - 5,
            born_host: "10.0.0.9:4711".parse().expect("address"),
            store_host: None,
            is_stored: false,
            reconsume_times: 0,
            prepared_transaction_offset: 0,
            body: body.as_bytes(),
            properties: properties.as_bytes(),
        };
        self.store().append_one(&message).unwrap_or_else(|error| panic!("append: {error}")).end_offset().0
    }

    /// Brings the log to disk and into the queues.
    pub fn settle_store(&self) {
        let end = self.store().flush_once().unwrap_or_else(|error| panic!("flush: {error}"));
        while self.store().build_once().unwrap_or_else(|error| panic!("build: {error}")) < end {}
    }

    /// One round.
    pub fn try_round(&mut self) -> Result<Round> {
        let now_ms = self.now_ms();
        let (store, timers) = self.running.as_mut().expect("open");
        timers.run(store, now_ms)
    }

    /// One round, which must work.
    pub fn round(&mut self) -> Round {
        self.try_round().unwrap_or_else(|error| panic!("round: {error}"))
    }

    /// Rounds until there is nothing to do; when the next slot is due.
    pub fn run(&mut self) -> Option<i64> {
        for _ in 0..100_000 {
            self.settle_store();
            let round = self.round();
            if round.awaits.is_none() && !round.has_more {
                self.settle_store();
                return round.next_due_ms;
            }
        }
        panic!("the timers find no end");
    }

    /// Turns the clock forward and runs.
    pub fn pass(&mut self, ms: i64) -> Option<i64> {
        self.clock.advance(ms);
        self.run()
    }

    /// What is in the queues of the topic, in the order of the log.
    pub fn delivered(&self) -> Vec<Delivered> {
        let read = |queue| {
            self.store().read_queue(TOPIC, queue, QueueOffset(0), usize::MAX, usize::MAX).expect("read")
        };
        let mut found: Vec<_> = (0..QUEUES).flat_map(read).map(Delivered::new).collect();
        found.sort_by_key(|delivered| delivered.record.view().log_offset());
        found
    }

    /// Numbers of what was delivered, in the order of the log.
    pub fn numbers(&self) -> Vec<u32> {
        self.delivered().iter().map(|delivered| delivered.number).collect()
    }

    /// Removes a file or a folder of the store.
    pub fn remove(&self, name: &str) {
        let path = Path::new(ROOT).join(name);
        for entry in self.disk.list(&path).unwrap_or_default() {
            self.disk.remove(&path.join(entry.name)).expect("remove");
        }
        self.disk.remove(&path).expect("remove");
    }

    /// Panics unless every message was delivered once and none before its time.
    pub fn check_all_delivered(&self) {
        let mut numbers = self.numbers();
        numbers.sort_unstable();
        assert_eq!(numbers, self.sent.keys().copied().collect::<Vec<_>>(), "each once");
        self.check_none_early();
    }

    /// Panics if a message was delivered before its time.
    pub fn check_none_early(&self) {
        for Delivered { number, at_ms, .. } in self.delivered() {
            let due_ms = self.sent[&number].due_ms;
            assert!(at_ms >= due_ms, "{number} came {} ms early", due_ms - at_ms);
        }
    }
}

impl Delivered {
    fn new(record: StoredRecord) -> Self {
        let view = record.view();
        let body = std::str::from_utf8(view.body()).expect("text");
        let number = body.strip_prefix("body ").expect("ours").parse().expect("number");
        let at_ms = view.store_timestamp_ms();
        Self { number, at_ms, record }
    }

    /// A property.
    pub fn property(&self, name: &str) -> Option<String> {
        self.record.view().properties().get(name).map(str::to_string)
    }
}
