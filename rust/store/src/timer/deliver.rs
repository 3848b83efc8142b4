//! Slots that are due: their messages go to their own topics, in the order in which they came, in batches.

use std::collections::{HashSet, VecDeque};

use escrowmq_wire::property_names;

use super::identity::Recalled;
use super::restore::Restored;
use super::take_in::due_ms;
use super::timers::{Then, Timers};
use super::unit::TimerUnit;
use super::{TIMER_TOPIC, identity};
use crate::commit_log::StoredRecord;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::store_core::StoreCore;

/// Messages that are appended at once.
const BATCH_COUNT_MAX: usize = 1024;
/// Bytes that are appended at once, but for one larger message.
const BATCH_SIZE_MAX: usize = 4 << 20;

/// A slot that is being delivered.
#[derive(Debug)]
pub(super) struct SlotCursor {
    tick: i64,
    units: VecDeque<TimerUnit>,
    recalled: Recalled,
}

/// Messages to append, and what happens when they are durable.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub messages: Vec<Restored>,
    pub then: Then,
}

impl Timers {
    /// Begins to deliver what is due; whether there was anything.
    pub(super) fn deliver(&mut self, store: &StoreCore, now_ms: i64) -> Result<bool> {
        let (mut messages, mut size, mut finished) = (Vec::new(), 0, None);
        while messages.len() < BATCH_COUNT_MAX && size < BATCH_SIZE_MAX {
            if self.cursor.is_none() && !self.open_next_slot(store, now_ms)? {
                break;
            }
            // None where the slot's chain was broken and the wheel is being made anew.
            let Some(cursor) = &mut self.cursor else { return Ok(true) };
            match cursor.units.pop_front() {
                None => {
                    finished = Some(cursor.tick + 1);
                    self.cursor = None;
                }
                Some(unit) => {
                    let restored = self.restore(store, &unit, now_ms);
                    size += restored.as_ref().map_or(0, Restored::size);
                    messages.extend(restored);
                }
            }
        }
        if messages.is_empty() && finished.is_none() {
            return Ok(false);
        }
        for message in &messages {
            self.metrics.add(&message.real_topic(), -1, now_ms);
        }
        let then = Then::Read(finished.unwrap_or(self.read_tick));
        self.outgoing = Some(Outgoing { messages, then });
        self.send_out(store)?;
        Ok(true)
    }

    /// Appends what is on its way. Where that fails for now, it stays on its way.
    pub(super) fn send_out(&mut self, store: &StoreCore) -> Result<()> {
        while let Some(outgoing) = &mut self.outgoing {
            let messages: Vec<_> = outgoing.messages.iter().map(Restored::message).collect();
            match store.append(&messages) {
                Ok(receipts) => {
                    let end = receipts.last().map_or(LogOffset(0), crate::Receipt::end_offset);
                    if let Some(outgoing) = self.outgoing.take() {
                        self.count(&outgoing);
                        self.await_durable(end, outgoing.then);
                    }
                }
                Err(StoreError::BadMessage { index, reason }) => {
                    let lost = outgoing.messages.remove(index);
                    tracing::error!(topic = lost.real_topic(), %reason, "a timer's message can't be delivered");
                    self.statistics.lost += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn count(&mut self, outgoing: &Outgoing) {
        let all = outgoing.messages.len() as u64;
        let rolled = outgoing.messages.iter().filter(|message| message.is_roll()).count() as u64;
        self.statistics.rolled += rolled;
        self.statistics.delivered += all - rolled;
        self.statistics.delivered_late += if matches!(outgoing.then, Then::TakeIn(_)) { all } else { 0 };
    }

    /// Reads the chain of the next slot that is due; false where none is.
    fn open_next_slot(&mut self, store: &StoreCore, now_ms: i64) -> Result<bool> {
        let now_tick = self.tick(now_ms);
        let Some(wheel) = &mut self.wheel else { return Ok(false) };
        let Some(tick) = wheel.occupied.next(self.reading_tick).filter(|tick| *tick < now_tick) else {
            return Ok(false);
        };
        wheel.occupied.remove(tick);
        match self.read_chain(store, tick)? {
            Some(cursor) => {
                self.cursor = Some(cursor);
                self.reading_tick = tick + 1;
            }
            None => {
                tracing::error!(tick, "the timer log does not hold what a slot of the wheel names");
                self.rebuild(store, now_ms)?;
            }
        }
        Ok(true)
    }

    /// The units of a slot, oldest first; `None` where the chain is broken.
    fn read_chain(&self, store: &StoreCore, tick: i64) -> Result<Option<SlotCursor>> {
        let Some(slot) = self.slot(tick)? else { return Ok(None) };
        let mut cursor = SlotCursor { tick, units: VecDeque::new(), recalled: Recalled::default() };
        // Compat: after a kill Apache takes messages in twice, and would deliver them twice.
        let mut seen = HashSet::new();
        let mut next = Some(slot.last);
        // Units of files that are gone have no messages any more.
        while let Some(at) = next.filter(|at| *at >= self.log.start()) {
            let is_linked = |unit: &TimerUnit| {
                self.tick(unit.slot_ms()) == tick && unit.previous.is_none_or(|previous| previous < at)
            };
            let Some(unit) = self.log.unit_at(at).filter(is_linked) else { return Ok(None) };
            if unit.is_delete && !unit.is_roll {
                if let Some(record) = record_of(store, &unit) {
                    cursor.recalled.note(&record.view());
                }
            } else if seen.insert(unit.log_offset) {
                cursor.units.push_front(unit);
            }
            next = unit.previous;
        }
        Ok(Some(cursor))
    }

    /// What becomes of a unit that is due; `None` where nothing does.
    fn restore(&mut self, store: &StoreCore, unit: &TimerUnit, now_ms: i64) -> Option<Restored> {
        let Some(record) = record_of(store, unit) else {
            tracing::error!(at = %unit.log_offset, "a timer's message is not in the log any more");
            self.statistics.lost += 1;
            return None;
        };
        let view = record.view();
        // Whatever the wheel says, nothing is delivered before its time.
        let is_early = due_ms(&view).is_some_and(|due| self.tick(due) >= self.tick(now_ms));
        if unit.is_roll || is_early {
            if self.catch_up.was_delivered(&view, TIMER_TOPIC, identity::rolls(&view) + 1) {
                self.statistics.found_delivered += 1;
                return None;
            }
            return Some(Restored::roll(record, unit.write_ms, now_ms));
        }
        if self.cursor.as_ref().is_some_and(|cursor| cursor.recalled.contains(&view)) {
            self.statistics.recalled += 1;
            return None;
        }
        if view.properties().get_bytes(property_names::TIMER_DEL_UNIQKEY).is_some() {
            return None;
        }
        self.restore_new(record, unit.write_ms, now_ms)
    }

    /// The message as it is delivered, unless it was before.
    pub(super) fn restore_new(
        &mut self,
        record: StoredRecord,
        taken_in_ms: i64,
        now_ms: i64,
    ) -> Option<Restored> {
        let view = record.view();
        let topic = view.properties().get(property_names::REAL_TOPIC).unwrap_or_default();
        if self.catch_up.was_delivered(&view, topic, identity::rolls(&view)) {
            self.statistics.found_delivered += 1;
            return None;
        }
        let at = view.log_offset();
        let restored = Restored::deliver(record, taken_in_ms, now_ms);
        if restored.is_none() {
            tracing::error!(at, "a timer's message does not say which queue it is for");
            self.statistics.lost += 1;
        }
        restored
    }
}

/// The record of a unit.
pub(super) fn record_of(store: &StoreCore, unit: &TimerUnit) -> Option<StoredRecord> {
    let record = store.log.record_at(unit.log_offset, store.log_end()).ok()?;
    let view = record.view();
    (view.topic() == TIMER_TOPIC && view.size() == unit.record_size).then_some(record)
}
