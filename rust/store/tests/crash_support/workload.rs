//! A store on a simulated disk, driven step by step, with a model that follows.

use std::path::Path;
use std::sync::Arc;

use escrowmq_store::clock::Clock;
use escrowmq_store::disk::DiskUsage;
use escrowmq_store::simulation::{Random, SimulatedDisk, VirtualClock};
use escrowmq_store::{FlushMode, Result, Retention, StoreCore, StoreOptions};

use super::checks;
use super::message::Message;
use super::model::{Allowed, Appended, Model};

/// The store directory on the simulated disk.
pub const ROOT: &str = "/store";
/// A morning in November 2026.
pub const START_MS: i64 = 1_794_984_736_720;
const HOUR_MS: i64 = 3_600_000;

/// A store, the disk it is on, and what it must hold.
#[derive(Debug)]
pub struct Run {
    pub disk: SimulatedDisk,
    pub clock: VirtualClock,
    pub options: StoreOptions,
    pub model: Model,
    store: Option<StoreCore>,
    random: Random,
    messages_made: usize,
}

/// Opens the store on a disk.
pub fn open(disk: &SimulatedDisk, clock: &VirtualClock, options: &StoreOptions) -> StoreCore {
    try_open(disk, clock, options).unwrap_or_else(|error| panic!("open: {error}"))
}

/// Opens the store on a disk, or says why not.
pub fn try_open(disk: &SimulatedDisk, clock: &VirtualClock, options: &StoreOptions) -> Result<StoreCore> {
    StoreCore::open(Arc::new(disk.clone()), Arc::new(clock.clone()), Path::new(ROOT), options.clone())
}

/// Small files, so that a short run fills many of them.
pub fn random_options(random: &mut Random) -> StoreOptions {
    StoreOptions {
        segment_size_bytes: *random.pick(&[4096, 8192, 16_384]),
        queue_file_entries: *random.pick(&[4, 10, 300]),
        index_slots: *random.pick(&[3, 50, 300]),
        index_entries: *random.pick(&[10, 60, 500]),
        flush: if random.chance(75) {
            FlushMode::Sync
        } else {
            FlushMode::Async { interval_ms: 500, pages_min: 2, thorough_interval_ms: 10_000 }
        },
        has_record_crc: random.chance(20),
        retention: Retention { age_max_ms: 2 * HOUR_MS, ..Retention::default() },
        ..StoreOptions::default()
    }
}

impl Run {
    /// An empty store.
    pub fn new(mut random: Random) -> Self {
        let options = random_options(&mut random);
        let (disk, clock) = (SimulatedDisk::default(), VirtualClock::new(START_MS));
        let store = open(&disk, &clock, &options);
        Self { disk, clock, options, model: Model::default(), store: Some(store), random, messages_made: 0 }
    }

    /// Goes on with a store that was opened on another disk.
    pub fn go_on(&mut self, disk: SimulatedDisk, store: StoreCore) {
        self.disk = disk;
        self.store = Some(store);
    }

    /// The store.
    pub fn store(&self) -> &StoreCore {
        self.store.as_ref().expect("it is open between the steps")
    }

    /// Checks what the store holds.
    pub fn check_contents(&mut self, allowed: Allowed) {
        let store = self.store.as_ref().expect("it is open between the steps");
        checks::check_contents(&self.disk, store, &mut self.model, allowed);
    }

    /// Whether there is a store; there is none after a start that failed.
    pub fn is_open(&self) -> bool {
        self.store.is_some()
    }

    /// Ends the process at once: memory is lost, but nothing that was written to a file.
    pub fn kill(&mut self) {
        self.store = None;
    }

    /// Takes random steps, which must all work.
    pub fn steps(&mut self, count: usize) {
        for _ in 0..count {
            self.step().unwrap_or_else(|error| panic!("{error}"));
        }
    }

    /// Takes a random step.
    pub fn step(&mut self) -> Result<()> {
        let result = match self.random.below(100) {
            0..35 => self.append(),
            35..57 => self.store().flush_once().map(drop),
            57..72 => self.store().build_once().map(drop),
            72..80 => self.store().checkpoint_once(),
            80..85 => self.store().prepare_segment_once().map(drop),
            85..93 => {
                self.advance_clock();
                Ok(())
            }
            93..96 => self.expire(),
            96 => self.delete_topic(),
            97 | 98 => self.close_and_reopen(),
            _ => self.kill_and_reopen(),
        };
        if self.store.is_some() {
            self.note_durable();
        }
        result
    }

    /// Appends some random messages, all of one call.
    pub fn append(&mut self) -> Result<()> {
        let count = *self.random.pick(&[1, 1, 1, 2, 3, 8]);
        let mut messages = Vec::new();
        for _ in 0..count {
            self.messages_made += 1;
            messages.push(Message::random(&mut self.random, self.messages_made, self.clock.now_ms()));
        }
        self.append_all(messages)
    }

    /// Appends these messages, all of one call.
    pub fn append_all(&mut self, messages: Vec<Message>) -> Result<()> {
        let properties: Vec<Vec<u8>> = messages.iter().map(Message::properties).collect();
        let new: Vec<_> =
            messages.iter().zip(&properties).map(|(message, text)| message.to_new(text)).collect();
        let at = self.disk.position();
        let receipts = self.store().append(&new)?;
        self.model.appended(at, messages, &receipts, &self.options);
        Ok(())
    }

    /// Tells the model how far the log is durable.
    pub fn note_durable(&mut self) {
        let end = self.store().durable_end().0;
        self.model.durable(self.disk.position(), end);
    }

    fn advance_clock(&mut self) {
        let small = i64::try_from(self.random.below(1500)).expect("small");
        let by_ms =
            *self.random.pick(&[small, small, small, small, -700, 5_000, 70_000, HOUR_MS, 3 * HOUR_MS]);
        self.clock.advance(by_ms);
    }

    /// Lets old segments go, sometimes as if the disk were nearly full.
    fn expire(&mut self) -> Result<()> {
        let before = self.disk.position();
        self.disk.set_usage(DiskUsage { used_bytes: *self.random.pick(&[20, 80, 87]), available_bytes: 10 });
        let result = self.store().expire_once();
        self.disk.set_usage(DiskUsage { used_bytes: 1, available_bytes: 99 });
        self.model.expired(before, self.store().log_start().0);
        result.map(drop)
    }

    /// Deletes a topic; its messages are in no queue any more.
    fn delete_topic(&mut self) -> Result<()> {
        let topic = Message::random(&mut self.random, 0, START_MS).topic;
        let began = self.disk.position();
        let before = self.store().log_end().0;
        let result = self.store().delete_topics(&[&topic]);
        self.model.deleted(topic, before, began..self.disk.position(), result.is_ok());
        result.map(drop)
    }

    /// Stops the store in order and starts it again on the same disk.
    pub fn close_and_reopen(&mut self) -> Result<()> {
        let closed = self.store().close();
        self.kill();
        closed.and_then(|()| self.kill_and_reopen())
    }

    /// Ends the process at once and starts another on the same disk.
    pub fn kill_and_reopen(&mut self) -> Result<()> {
        self.kill();
        let before = self.disk.position();
        let store = try_open(&self.disk, &self.clock, &self.options)?;
        let end = self.model.records.last().map_or(0, Appended::end);
        assert!(store.log_end().0 >= end, "a process that ended lost records: {} of {end}", store.log_end());
        assert_eq!(store.durable_end(), store.log_end(), "what is served after a start is durable");
        self.model.expired(before, store.log_start().0);
        self.model.settle_deletions(&store);
        self.store = Some(store);
        self.note_durable();
        Ok(())
    }
}
