//! What a start does with wheel, timer log and checkpoint. Where they agree, the wheel learns of the units that came
//! after the checkpoint; where they do not, both are made anew from the timer topic. Either way the log tells what was
//! delivered after the checkpoint, so that it is not delivered again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use escrowmq_wire::RecordView;

use super::checkpoint::Progress;
use super::deliver::record_of;
use super::identity::{Delivered, LastRolls};
use super::log::TimerLog;
use super::options::{BLANK_SLOTS, TimerOptions};
use super::timers::Timers;
use super::unit::TimerUnit;
use super::wheel::{Slot, Wheel};
use crate::commit_log::Walk;
use crate::consume_queue::TimeBoundary;
use crate::error::{Result, StoreError};
use crate::mapped::{list_or_empty, remove_file};
use crate::offset::{LogOffset, QueueOffset};
use crate::store_core::StoreCore;

/// What a start found half done. It is forgotten once the timers have passed it.
#[derive(Debug, Default)]
pub(super) struct CatchUp {
    /// Records that have a unit, though the checkpoint does not know.
    taken: HashSet<LogOffset>,
    /// Copies of messages that were delivered, though the checkpoint does not know.
    delivered: Delivered,
    /// In a rebuild, messages before this one were taken in once: those that were due are delivered.
    done_before: QueueOffset,
    last_rolls: LastRolls,
    until_tick: i64,
    until_queue: QueueOffset,
}

impl CatchUp {
    pub fn is_taken(&self, at: LogOffset) -> bool {
        self.taken.contains(&at)
    }

    pub fn was_delivered(&mut self, record: &RecordView<'_>, topic: &str, rolls: u32) -> bool {
        self.delivered.take(record, topic, rolls)
    }

    /// Whether a message of the timer topic needs no unit any more.
    pub fn is_done(&self, at: QueueOffset, is_before_read_time: bool, record: &RecordView<'_>) -> bool {
        (at < self.done_before && is_before_read_time) || self.last_rolls.is_superseded(record)
    }

    /// Whether wheel and timer log are being made anew: the checkpoint stays where it is until they are.
    pub fn is_rebuilding(&self, queue_next: QueueOffset) -> bool {
        queue_next < self.done_before
    }

    /// Forgets what the timers have passed.
    pub fn pass(&mut self, tick: i64, queue_next: QueueOffset) {
        if !self.is_over() && tick > self.until_tick && queue_next >= self.until_queue {
            *self = Self::default();
        }
    }

    /// Whether nothing of it is left.
    pub fn is_over(&self) -> bool {
        self.until_tick == 0
    }
}

/// The timer log, without files where those that are there do not fit together.
pub(super) fn load_log(store: &StoreCore, options: &TimerOptions) -> Result<TimerLog> {
    let (folder, temporary) = (&store.layout.timer_log, &store.layout.temporary);
    let load = || TimerLog::load(Arc::clone(&store.disk), folder, temporary, options.log_file_size_bytes);
    match load() {
        Err(error @ (StoreError::WrongSize { .. } | StoreError::MissingFile { .. })) => {
            tracing::error!(%error, "the timer log is damaged");
            for entry in list_or_empty(&*store.disk, folder)? {
                remove_file(&*store.disk, folder, &folder.join(entry.name))?;
            }
            load()
        }
        result => result,
    }
}

impl Timers {
    /// Finds out how far the timers were.
    pub(super) fn recover(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        let now_tick = self.tick(now_ms);
        let queue = self.queue(store);
        let queue_max = queue.as_ref().map_or(QueueOffset(0), |queue| queue.max_offset());
        let progress = self.checkpoint.progress();
        if progress.is_none() && queue_max.0 == 0 && !self.log.has_files() {
            (self.read_tick, self.reading_tick) = (now_tick, now_tick);
            return Ok(());
        }
        // Compat: where nobody knows, Apache begins half a turn of the wheel ago.
        let earliest = now_tick - (self.options.wheel_slots / 2).cast_signed() + BLANK_SLOTS;
        let progress = progress.filter(|progress| progress.read_ms > 0);
        self.read_tick = progress.map_or(earliest, |progress| self.tick(progress.read_ms));
        self.reading_tick = self.read_tick;
        let queue_min = queue.as_ref().map_or(QueueOffset(0), |queue| queue.min_offset());
        self.queue_next =
            progress.map_or(queue_min, |progress| progress.queue_offset.min(queue_max).max(queue_min));
        let is_sound = match progress {
            Some(progress) => self.examine(store, progress)?,
            None => false,
        };
        if is_sound {
            self.log_checked = self.delivered_from(store);
            self.find_delivered(store);
            self.find_taken(store);
            (self.catch_up.until_tick, self.catch_up.until_queue) = (now_tick.max(1), queue_max);
            Ok(())
        } else {
            self.rebuild(store, now_ms)
        }
    }

    /// Makes wheel and timer log anew: they are emptied, and everything that waits is taken in again. The checkpoint names
    /// a place that no log has, so that a start that is cut short begins again.
    pub(super) fn rebuild(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        tracing::warn!(queue_next = %self.queue_next, "wheel and timer log are made anew from the timer topic");
        self.statistics.rebuilds += 1;
        self.log_checked = self.delivered_from(store);
        let lost = Progress { log_position: i64::MAX.cast_unsigned(), ..self.progress() };
        self.checkpoint.save(lost, self.log_checked, self.options.precision_ms, now_ms)?;
        let (path, temporary) = (&store.layout.timer_wheel, &store.layout.temporary);
        self.wheel = Some(Wheel::create(&*store.disk, path, temporary, self.options.wheel_slots)?);
        self.log.clear()?;
        self.metrics.clear();
        self.unwritten.clear();
        self.cursor = None;
        self.reading_tick = self.read_tick;

        self.is_dirty = true;
        let until_tick = self.tick(now_ms).max(1);
        self.catch_up = CatchUp { done_before: self.queue_next, until_tick, ..CatchUp::default() };
        self.find_delivered(store);
        if let Some(queue) = self.queue(store) {
            self.catch_up.until_queue = queue.max_offset();
            self.queue_next = queue.min_offset();
            let mut at = self.queue_next;
            while at < queue.max_offset() {
                let entries = queue.entries(at, 1024);
                for entry in &entries {
                    if let Ok(record) = store.log.record_at(entry.log_offset, store.log_end()) {
                        self.catch_up.last_rolls.note(&record.view());
                    }
                }
                at.0 += (entries.len() as u64).max(1);
            }
        }
        Ok(())
    }

    /// Whether checkpoint, timer log and wheel agree; the wheel then knows all units of the log.
    fn examine(&mut self, store: &StoreCore, progress: Progress) -> Result<bool> {
        let precision_ms = self.options.precision_ms;
        if self.checkpoint.notes().is_some_and(|notes| notes.precision_ms != precision_ms) {
            return Ok(false);
        }
        let slots = self.options.wheel_slots;
        let Some(mut wheel) = Wheel::open(&*store.disk, &store.layout.timer_wheel, slots)? else {
            return Ok(false);
        };
        let is_good = |_: u64, unit: &TimerUnit| {
            unit.log_offset < store.log_start() || record_of(store, unit).is_some()
        };
        let from = progress.log_position;
        let Some(end) = self.log.find_end(from, is_good) else { return Ok(false) };
        let has_last = self.log.before(from).is_none_or(|last| self.log.unit_at(last).is_some());

        let (log_start, mut is_sound, mut occupied) = (self.log.start(), has_last, Vec::new());
        wheel.each_from(self.read_tick, |slot| {
            is_sound &= slot.last < end;
            if slot.last >= log_start {
                occupied.push(slot.tick);
            }
        })?;
        if !is_sound {
            return Ok(false);
        }
        occupied.into_iter().for_each(|tick| wheel.occupied.insert(tick));
        self.wheel = Some(wheel);
        self.replay(from, end)?;
        self.log.cut(from, end)?;
        Ok(true)
    }

    /// Tells the wheel of the units between two positions. What it knows already is written once more: a sync that failed
    /// may have left it in memory only.
    fn replay(&mut self, from: u64, end: u64) -> Result<()> {
        let mut units = Vec::new();
        self.log.find_end(from, |at, unit| {
            units.push((at, *unit));
            true
        });
        for (at, unit) in units.into_iter().take_while(|(at, _)| *at < end) {
            let tick = self.tick(unit.slot_ms());
            if tick < self.read_tick {
                continue;
            }
            let by = if unit.is_delete { -1 } else { 1 };
            let slot = match self.slot(tick)? {
                Some(slot) if slot.last >= at => slot,
                Some(slot) => Slot { last: at, count: slot.count.saturating_add(by), ..slot },
                None => Slot::new(tick, at, by),
            };
            self.unwritten.insert(tick, slot);
            if let Some(wheel) = &mut self.wheel {
                wheel.occupied.insert(tick);
            }
        }
        self.is_dirty = true;
        Ok(())
    }

    /// Finds the messages that have a unit already among those that the checkpoint has not.
    fn find_taken(&mut self, store: &StoreCore) {
        let first = self.queue(store).and_then(|queue| queue.entry(self.queue_next));
        let Some(first) = first.map(|entry| entry.log_offset) else { return };
        let mut at = self.log.end();
        while let Some(before) = self.log.before(at) {
            match self.log.unit_at(before) {
                Some(unit) if unit.log_offset >= first => self.catch_up.taken.insert(unit.log_offset),
                _ => break,
            };
            at = before;
        }
    }

    fn find_delivered(&mut self, store: &StoreCore) {
        let mut delivered = Delivered::default();
        let note = |record: RecordView<'_>| {
            delivered.note(&record);
            Ok(ControlFlow::Continue(()))
        };
        if let Err(error) = Walk::new(store.log.chain(), self.log_checked, store.log_end()).each(note) {
            tracing::error!(%error, "what was delivered since the timers' checkpoint may be delivered again");
        }
        self.catch_up.delivered = delivered;
    }

    /// A place of the log before everything that was delivered and not checked off.
    fn delivered_from(&self, store: &StoreCore) -> LogOffset {
        let start = store.log_start();
        let notes = self.checkpoint.notes().filter(|notes| notes.is_latest);
        if let Some(notes) = notes.filter(|notes| is_place(store, notes.log_end)) {
            return notes.log_end.max(start);
        }
        // Apache was here: nothing is delivered before its slot's time, and nothing that was late before it was stored.
        let read_ms = self.read_tick * self.options.precision_ms;
        let mut from = start;
        for status in store.queues() {
            let Some(queue) = store.queue(&status.topic, status.queue_id) else { continue };
            let first = store.offset_by_time(&status.topic, status.queue_id, read_ms, TimeBoundary::Lower);
            let before =
                first.and_then(|first| first.0.checked_sub(1)).and_then(|at| queue.entry(QueueOffset(at)));
            let record = before.and_then(|entry| store.log.record_at(entry.log_offset, store.log_end()).ok());
            let is_older = record.is_some_and(|record| record.view().store_timestamp_ms() < read_ms);
            from = from.max(before.filter(|_| is_older).map_or(start, |entry| entry.log_offset));
        }
        let first = self.queue(store).and_then(|queue| queue.entry(self.queue_next));
        first.map_or(from, |entry| from.min(entry.log_offset)).max(start)
    }
}

/// Whether a place that was the log's end once is one where a record can begin.
fn is_place(store: &StoreCore, at: LogOffset) -> bool {
    at >= store.log_end() || at < store.log_start() || store.log.is_item_at(at)
}
