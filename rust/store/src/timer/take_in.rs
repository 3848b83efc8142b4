//! From the timer topic into wheel and timer log. Every message gets a unit, also one that was due before it could be
//! taken in: Apache goes on behind the message of the last unit, and would deliver such a one again.

use std::collections::HashMap;

use escrowmq_wire::{RecordView, property_names};

use super::deliver::Outgoing;
use super::identity::Recalled;
use super::restore::{NEVER_TAKEN_IN_MS, Restored};
use super::timers::{Then, Timers};
use super::unit::TimerUnit;
use super::wheel::{Slot, Wheel};
use crate::consume_queue::QueueEntry;
use crate::error::Result;
use crate::offset::{LogOffset, QueueOffset};
use crate::store_core::StoreCore;

/// Messages that are taken in at once.
const BATCH_COUNT_MAX: usize = 8192;

/// Messages of the timer topic that are written down together.
#[derive(Debug, Default)]
pub(super) struct Intake {
    units: Vec<NewUnit>,
    /// The next message of the timer topic after them.
    next: QueueOffset,
    /// How many begin to wait, by topic.
    waiting: HashMap<String, i64>,
    /// Unique ids of messages that were taken back, by messages that are late as they are.
    recalled: Recalled,
}

/// A unit that does not know the one before it yet.
#[derive(Debug)]
struct NewUnit {
    /// `None` where the message does not wait.
    tick: Option<i64>,
    unit: TimerUnit,
}

/// Whether messages that are due already may be delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Late {
    Deliver,
    Leave,
}

impl Intake {
    pub fn len(&self) -> usize {
        self.units.len()
    }
}

impl Timers {
    /// Begins to take in what came; whether there was anything.
    pub(super) fn take_in(&mut self, store: &StoreCore, now_ms: i64, late: Late) -> Result<bool> {
        let Some(queue) = self.queue(store) else { return Ok(false) };
        self.queue_next = self.queue_next.max(queue.min_offset());
        let limit = store.visible_end().min(store.durable_end());
        let mut entries = queue.entries(self.queue_next, BATCH_COUNT_MAX);
        let is_durable = |entry: &QueueEntry| entry.log_offset.0 + u64::from(entry.record_size) <= limit.0;
        entries.truncate(entries.iter().take_while(|entry| entry.is_filler() || is_durable(entry)).count());
        if entries.is_empty() {
            return Ok(false);
        }
        self.ensure_files(store, now_ms)?;
        let mut intake = Intake { next: self.queue_next, ..Intake::default() };
        let mut messages = Vec::new();
        for entry in &entries {
            if late == Late::Leave && self.is_late(store, entry, limit) {
                break;
            }
            messages.extend(self.take_entry(store, entry, limit, now_ms, &mut intake));
            intake.next.0 += 1;
        }
        if intake.next == self.queue_next {
            return Ok(false);
        }
        let count = messages.len();
        messages.retain(|message: &Restored| !intake.recalled.contains(&message.waited()));
        self.statistics.recalled += (count - messages.len()) as u64;
        self.outgoing = Some(Outgoing { messages, then: Then::TakeIn(intake) });
        self.send_out(store)?;
        Ok(true)
    }

    /// Writes units down, in memory; whoever calls this has reserved room for them.
    pub(super) fn write_units(&mut self, intake: Intake, now_ms: i64) -> Result<()> {
        for NewUnit { tick, mut unit } in intake.units {
            let Some(tick) = tick else {
                self.log.append(&unit);
                continue;
            };
            let slot = self.slot(tick)?;
            unit.previous = slot.map(|slot| slot.last);
            let position = self.log.append(&unit);
            let by = if unit.is_delete { -1 } else { 1 };
            let slot = match slot {
                Some(slot) => Slot { last: position, count: slot.count.saturating_add(by), ..slot },
                None => Slot::new(tick, position, by),
            };
            self.unwritten.insert(tick, slot);
            if let Some(wheel) = &mut self.wheel {
                wheel.occupied.insert(tick);
            }
            self.statistics.taken_in += 1;
        }
        for (topic, by) in intake.waiting {
            self.metrics.add(&topic, by, now_ms);
        }
        self.queue_next = intake.next;
        Ok(())
    }

    /// Makes the files where the first message begins to wait.
    fn ensure_files(&mut self, store: &StoreCore, now_ms: i64) -> Result<()> {
        if self.wheel.is_some() {
            return Ok(());
        }
        // First: a checkpoint without a wheel says that the wheel is lost, a wheel without one that all messages are.
        (self.read_tick, self.log_checked) = (self.reading_tick, store.log_end());
        self.checkpoint.save(self.progress(), self.log_checked, self.options.precision_ms, now_ms)?;
        let (path, temporary) = (&store.layout.timer_wheel, &store.layout.temporary);
        self.wheel = Some(Wheel::create(&*store.disk, path, temporary, self.options.wheel_slots)?);
        Ok(())
    }

    fn is_late(&self, store: &StoreCore, entry: &QueueEntry, limit: LogOffset) -> bool {
        let record = store.log.record_at(entry.log_offset, limit);
        let due = record.ok().and_then(|record| due_ms(&record.view()));
        due.is_some_and(|due| self.tick(due) < self.reading_tick)
    }

    /// Decides what becomes of a message; the message itself, where it is delivered at once.
    fn take_entry(
        &mut self,
        store: &StoreCore,
        entry: &QueueEntry,
        limit: LogOffset,
        now_ms: i64,
        intake: &mut Intake,
    ) -> Option<Restored> {
        if entry.is_filler() || self.catch_up.is_taken(entry.log_offset) {
            return None;
        }
        let record = store.log.record_at(entry.log_offset, limit).ok();
        let due = record.as_ref().and_then(|record| due_ms(&record.view()));
        let (Some(record), Some(due_ms)) = (record, due) else {
            tracing::error!(at = %entry.log_offset, "a message of the timer topic can't be read, or does not say when");
            self.statistics.lost += 1;
            return None;
        };
        let view = record.view();
        let tick = self.tick(due_ms);
        if self.catch_up.is_done(intake.next, tick < self.read_tick, &view) {
            return None;
        }
        let topic = view.properties().get(property_names::REAL_TOPIC).unwrap_or_default().to_string();
        let is_delete = view.properties().get_bytes(property_names::TIMER_DEL_UNIQKEY).is_some();
        let unit = TimerUnit {
            previous: None,
            is_roll: false,
            is_delete,
            write_ms: 0,
            delay_ms: 0,
            log_offset: entry.log_offset,
            record_size: entry.record_size,
            topic_hash: TimerUnit::hash_of(&topic),
        };
        if tick < self.reading_tick {
            // Its slot is one that was delivered before the checkpoint: nobody looks into it again.
            let write_ms =
                self.checkpoint.progress().map_or(0, |progress| progress.read_ms - self.options.precision_ms);
            intake.units.push(NewUnit { tick: None, unit: TimerUnit { write_ms, ..unit } });
            intake.recalled.note(&view);
            return if is_delete { None } else { self.restore_new(record, NEVER_TAKEN_IN_MS, now_ms) };
        }
        let (slot_ms, is_roll) = self.slot_time(due_ms, now_ms);
        let write_ms = self.floor(now_ms).min(slot_ms);
        let delay_ms = i32::try_from(slot_ms - write_ms).unwrap_or(i32::MAX);
        *intake.waiting.entry(topic).or_default() += if is_delete { -1 } else { 1 };
        let unit = TimerUnit { is_roll, write_ms, delay_ms, ..unit };
        intake.units.push(NewUnit { tick: Some(self.tick(slot_ms)), unit });
        None
    }

    /// The slot for a time, and whether the message has to go round once more then. Compat: one that waits a little longer
    /// than the wheel reaches goes half the way first, so that its last way is not too short.
    fn slot_time(&self, due_ms: i64, now_ms: i64) -> (i64, bool) {
        let (precision_ms, window) = (self.options.precision_ms, self.options.roll_window_slots);
        let write_ms = self.floor(now_ms);
        let beyond_ms = due_ms - write_ms - window * precision_ms;
        match beyond_ms {
            ..0 => (self.floor(due_ms), false),
            _ if beyond_ms < window / 3 * precision_ms => (write_ms + window / 2 * precision_ms, true),
            _ => (write_ms + window * precision_ms, true),
        }
    }

    fn floor(&self, time_ms: i64) -> i64 {
        self.tick(time_ms) * self.options.precision_ms
    }
}

/// When a message of the timer topic is due.
pub(super) fn due_ms(record: &RecordView<'_>) -> Option<i64> {
    record.properties().get(property_names::TIMER_OUT_MS)?.parse().ok().filter(|due| *due >= 0)
}
