//! All timers of a store. Whoever owns them calls [`Timers::run`] when something came in or is due, and sees to it that
//! what a round appended becomes durable before the next: a round never waits.

use std::collections::HashMap;
use std::sync::Arc;

use super::checkpoint::{CHECKPOINT_SIZE, Progress, TimerCheckpoint};
use super::deliver::{Outgoing, SlotCursor};
use super::log::TimerLog;
use super::metrics::TimerMetrics;
use super::options::TimerOptions;
use super::recover::{self, CatchUp};
use super::take_in::{Intake, Late};
use super::wheel::{Slot, Wheel};
use super::{TIMER_QUEUE, TIMER_TOPIC};
use crate::config_file::ConfigFile;
use crate::consume_queue::ConsumeQueue;
use crate::error::{Result, StoreError};
use crate::offset::{LogOffset, QueueOffset};
use crate::store_core::StoreCore;

/// Counts are written down this often at most; nothing but people depends on them.
const METRICS_INTERVAL_MS: i64 = 10_000;

/// What a round leaves to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// The next round goes on when the log is durable up to here.
    pub awaits: Option<LogOffset>,
    /// Whether the next round has something to do at once.
    pub has_more: bool,
    /// When the next slot is due; `None` where nothing waits.
    pub next_due_ms: Option<i64>,
}

/// What was done since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimerStatistics {
    /// Messages taken into the wheel.
    pub taken_in: u64,
    /// Messages delivered.
    pub delivered: u64,
    /// Of these, messages that were due before they were taken in.
    pub delivered_late: u64,
    /// Messages put back to wait longer.
    pub rolled: u64,
    /// Messages taken back by others.
    pub recalled: u64,
    /// Messages that were found in the log already when they were due: a kill had come between.
    pub found_delivered: u64,
    /// Messages that could not be delivered: expired, damaged, or for a topic that can't be.
    pub lost: u64,
    /// How often wheel and timer log were made anew from the timer topic.
    pub rebuilds: u64,
}

/// The timers of a store.
#[derive(Debug)]
pub struct Timers {
    pub(super) options: TimerOptions,
    pub(super) checkpoint: TimerCheckpoint,
    pub(super) log: TimerLog,
    /// `None` until the first message waits: a store without timers has no files for them.
    pub(super) wheel: Option<Wheel>,
    pub(super) metrics: TimerMetrics,
    pub(super) statistics: TimerStatistics,
    /// Slots before this tick are delivered, durably.
    pub(super) read_tick: i64,
    /// Slots before this tick are delivered, or on their way.
    pub(super) reading_tick: i64,
    /// The next message of the timer topic.
    pub(super) queue_next: QueueOffset,
    /// What a kill left half done.
    pub(super) catch_up: CatchUp,
    /// Slots that the wheel file does not have yet.
    pub(super) unwritten: HashMap<i64, Slot>,
    /// Whatever is delivered and not checked off stands behind this place of the log.
    pub(super) log_checked: LogOffset,
    metrics_saved_ms: i64,
    /// Whether the checkpoint is behind.
    pub(super) is_dirty: bool,
    pub(super) cursor: Option<SlotCursor>,
    pub(super) outgoing: Option<Outgoing>,
    awaiting: Option<Awaiting>,
    broken_by: Option<String>,
}

/// What happens when the log is durable up to a place.
#[derive(Debug)]
struct Awaiting {
    end: LogOffset,
    then: Then,
}

#[derive(Debug)]
pub(super) enum Then {
    /// Late messages are delivered: the batch that they came with is written down.
    TakeIn(Intake),
    /// Slots before this tick are delivered.
    Read(i64),
}

impl Timers {
    /// Opens the timers of a store, whatever state they are in. Where there never were any, nothing is made.
    ///
    /// # Errors
    /// [`StoreError::BadOption`], [`StoreError::ForeignFile`], [`StoreError::Io`].
    pub fn open(store: &StoreCore, options: TimerOptions, now_ms: i64) -> Result<Self> {
        options.validate()?;
        let (disk, layout) = (&store.disk, &store.layout);
        let checkpoint =
            TimerCheckpoint::load(Arc::clone(disk), &layout.timer_checkpoint, &layout.temporary)?;
        let metrics = ConfigFile::new(Arc::clone(disk), &layout.config, &layout.temporary, "timermetrics");
        let log = recover::load_log(store, &options)?;
        let mut timers = Self {
            options,
            checkpoint,
            log,
            wheel: None,
            metrics: TimerMetrics::load(metrics),
            statistics: TimerStatistics::default(),
            read_tick: 0,
            reading_tick: 0,
            queue_next: QueueOffset(0),
            catch_up: CatchUp::default(),
            unwritten: HashMap::new(),
            log_checked: store.log_end(),
            metrics_saved_ms: now_ms,
            is_dirty: false,
            cursor: None,
            outgoing: None,
            awaiting: None,
            broken_by: None,
        };
        timers.recover(store, now_ms)?;
        Ok(timers)
    }

    /// Takes in what came, delivers what is due, as far as a round goes.
    ///
    /// # Errors
    /// [`StoreError::DiskFull`], [`StoreError::Io`] of kind `StorageFull`: it may be called again.
    /// [`StoreError::Poisoned`]: the timers must be opened again.
    pub fn run(&mut self, store: &StoreCore, now_ms: i64) -> Result<Round> {
        if let Some(cause) = &self.broken_by {
            return Err(StoreError::Poisoned { cause: cause.clone() });
        }
        self.step(store, now_ms).inspect_err(|error| self.break_unless_passing(error))
    }

    /// Takes in what came, and makes the checkpoint as new as it can be, so that whoever opens the store next has little to
    /// do. What is on its way and not durable yet is found in the log by then.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn close(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        if let Some(cause) = &self.broken_by {
            return Err(StoreError::Poisoned { cause: cause.clone() });
        }
        let closed = self.finish(store, now_ms);
        closed.inspect_err(|error| self.break_unless_passing(error))
    }

    /// Messages in the slot of a time.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn count_at(&self, time_ms: i64) -> Result<i32> {
        Ok(self.slot(time_ms.div_euclid(self.options.precision_ms))?.map_or(0, |slot| slot.count))
    }

    /// What was done since the start.
    pub fn statistics(&self) -> TimerStatistics {
        self.statistics
    }

    /// The checkpoint as Apache's replicas ask for it.
    pub fn checkpoint_bytes(&self) -> [u8; CHECKPOINT_SIZE] {
        self.checkpoint.bytes()
    }

    /// How many messages wait for each topic, as JSON.
    pub fn metrics_text(&self) -> String {
        self.metrics.text()
    }

    fn step(&mut self, store: &StoreCore, now_ms: i64) -> Result<Round> {
        if let Some(end) = self.settle(store, now_ms)? {
            return Ok(self.round(Some(end), false));
        }
        let now_tick = self.tick(now_ms);
        // After half a turn new slots could meet old ones that are due: those go first then.
        let is_overdue = now_tick - self.reading_tick >= (self.options.wheel_slots / 2).cast_signed();
        if !is_overdue && self.take_in(store, now_ms, Late::Deliver)? {
            return Ok(self.round(self.awaited(), false));
        }
        let has_delivered = self.deliver(store, now_ms)?;
        if !has_delivered {
            self.reading_tick = self.reading_tick.max(now_tick);
            self.catch_up.pass(self.reading_tick, self.queue_next);
            self.log.expire(store.log_start())?;
            self.log.release();
        }
        Ok(self.round(self.awaited(), is_overdue || (has_delivered && self.awaiting.is_none())))
    }

    fn finish(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        if self.wheel.is_none() && self.queue(store).is_none() {
            return Ok(());
        }
        loop {
            if self.settle(store, now_ms)?.is_some() {
                // The log is closed after the timers, and would do it then.
                store.flush_once()?;
            } else if !self.take_in(store, now_ms, Late::Leave)? {
                break;
            }
        }
        if self.wheel.is_some() {
            self.reading_tick = self.reading_tick.max(self.tick(now_ms));
            self.write_out(store, now_ms)?;
            self.metrics.save(now_ms)?;
        }
        Ok(())
    }

    /// Goes on with what the last round appended, if it is durable; where the log has to be durable up to, if not.
    fn settle(&mut self, store: &StoreCore, now_ms: i64) -> Result<Option<LogOffset>> {
        self.send_out(store)?;
        if let Some(Awaiting { end, then }) = &self.awaiting {
            if store.durable_end() < *end {
                return Ok(Some(*end));
            }
            if let Then::TakeIn(intake) = then {
                self.log.reserve(intake.len())?;
            }
        }
        if let Some(Awaiting { then, .. }) = self.awaiting.take() {
            match then {
                Then::TakeIn(intake) => self.write_units(intake, now_ms)?,
                Then::Read(tick) => self.read_tick = tick,
            }
            self.is_dirty = true;
        }
        if self.is_dirty {
            self.write_out(store, now_ms)?;
        }
        Ok(None)
    }

    /// Brings log, wheel and checkpoint to disk, in this order: a slot never names a unit that a power loss may take, nor
    /// the checkpoint anything that either lacks.
    pub(super) fn write_out(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        let Some(wheel) = &self.wheel else { return Ok(()) };
        if !self.unwritten.is_empty() {
            self.log.sync()?;
            for slot in self.unwritten.values() {
                wheel.put(slot)?;
            }
            wheel.sync()?;
            self.unwritten.clear();
        }
        self.log.sync()?;
        // Slots that hold nothing are as good as delivered.
        if self.outgoing.is_none() && self.cursor.is_none() && self.awaiting.is_none() {
            let next = wheel.occupied.next(self.read_tick).unwrap_or(i64::MAX);
            self.read_tick = self.reading_tick.min(next).max(self.read_tick);
        }
        // A slot that is delivered in part, or was before a kill, has messages before the log's end.
        if self.cursor.is_none() && self.catch_up.is_over() {
            self.log_checked = store.log_end();
        }
        if !self.catch_up.is_rebuilding(self.queue_next) {
            self.checkpoint.save(self.progress(), self.log_checked, self.options.precision_ms, now_ms)?;
        }
        if now_ms - self.metrics_saved_ms >= METRICS_INTERVAL_MS {
            self.metrics_saved_ms = now_ms;
            self.metrics.save(now_ms)?;
        }
        self.is_dirty = false;
        Ok(())
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            read_ms: self.read_tick * self.options.precision_ms,
            log_position: self.log.end(),
            queue_offset: self.queue_next,
        }
    }

    /// Remembers what happens once the log is durable up to `end`.
    pub(super) fn await_durable(&mut self, end: LogOffset, then: Then) {
        self.awaiting = Some(Awaiting { end, then });
    }

    fn awaited(&self) -> Option<LogOffset> {
        self.awaiting.as_ref().map(|awaiting| awaiting.end)
    }

    fn round(&self, awaits: Option<LogOffset>, has_more: bool) -> Round {
        let next = self.wheel.as_ref().and_then(|wheel| wheel.occupied.next(self.reading_tick));
        Round { awaits, has_more, next_due_ms: next.map(|tick| (tick + 1) * self.options.precision_ms) }
    }

    /// The slot of a tick, be it on its way to the file.
    pub(super) fn slot(&self, tick: i64) -> Result<Option<Slot>> {
        match (self.unwritten.get(&tick), &self.wheel) {
            (Some(slot), _) => Ok(Some(*slot)),
            (None, Some(wheel)) => wheel.slot(tick),
            (None, None) => Ok(None),
        }
    }

    pub(super) fn tick(&self, time_ms: i64) -> i64 {
        time_ms.div_euclid(self.options.precision_ms)
    }

    pub(super) fn queue(&self, store: &StoreCore) -> Option<Arc<ConsumeQueue>> {
        store.queue(TIMER_TOPIC, TIMER_QUEUE)
    }

    /// What can't be written now may be written later; after anything else nobody knows what the files hold.
    fn break_unless_passing(&mut self, error: &StoreError) {
        if !error.is_storage_full() && !matches!(error, StoreError::DiskFull { .. } | StoreError::Closed) {
            self.broken_by = Some(error.to_string());
        }
    }
}
