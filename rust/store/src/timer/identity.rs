//! By what a message of the timer topic is known again: when it was delivered, put back to wait longer, or taken back by
//! its sender. Unique ids are the producers' and may repeat, so copies are counted: as many are passed over as were found.

use std::collections::{HashMap, HashSet};

use escrowmq_wire::{RecordView, property_names};

use super::TIMER_TOPIC;

/// What stays the same from the send to the delivery.
type Identity = Vec<u8>;

/// Copies that are in the log already.
#[derive(Debug, Default)]
pub(super) struct Delivered {
    counts: HashMap<Identity, u32>,
}

impl Delivered {
    /// Counts a record of the log, if it is one that timers wrote.
    pub fn note(&mut self, record: &RecordView<'_>) {
        let is_timed = record.properties().get_bytes(property_names::TIMER_OUT_MS).is_some();
        if is_timed && (record.topic() != TIMER_TOPIC || rolls(record) > 0) {
            *self.counts.entry(identity(record, record.topic(), rolls(record))).or_default() += 1;
        }
    }

    /// Whether a copy of a message that would go to `topic` is in the log; it counts for one message only.
    pub fn take(&mut self, record: &RecordView<'_>, topic: &str, rolls: u32) -> bool {
        if self.counts.is_empty() {
            return false;
        }
        match self.counts.get_mut(&identity(record, topic, rolls)) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        }
    }
}

/// Messages that were put back to wait longer: of each only the last copy waits.
#[derive(Debug, Default)]
pub(super) struct LastRolls {
    rolls: HashMap<Identity, u32>,
}

impl LastRolls {
    /// Looks at a message of the timer topic.
    pub fn note(&mut self, record: &RecordView<'_>) {
        let found = rolls(record);
        if found > 0 {
            let last = self.rolls.entry(identity(record, "", 0)).or_default();
            *last = found.max(*last);
        }
    }

    /// Whether a later copy of it is in the timer topic.
    pub fn is_superseded(&self, record: &RecordView<'_>) -> bool {
        !self.rolls.is_empty()
            && self.rolls.get(&identity(record, "", 0)).is_some_and(|last| *last > rolls(record))
    }
}

/// Messages that were taken back.
#[derive(Debug, Default)]
pub(super) struct Recalled {
    keys: HashSet<Vec<u8>>,
}

impl Recalled {
    /// Looks at a message, which may take another one back.
    pub fn note(&mut self, record: &RecordView<'_>) {
        let key = record.properties().get_bytes(property_names::TIMER_DEL_UNIQKEY);
        self.keys.extend(key.map(<[u8]>::to_vec));
    }

    /// Whether a message was taken back. Compat: 5.5 names it by its unique id alone, 5.3 by topic and id.
    pub fn contains(&self, record: &RecordView<'_>) -> bool {
        let properties = record.properties();
        let Some(id) = properties.get_bytes(property_names::UNIQ_KEY).filter(|_| !self.keys.is_empty())
        else {
            return false;
        };
        let topic = properties.get_bytes(property_names::REAL_TOPIC).unwrap_or_default();
        self.keys.contains(id) || self.keys.contains(&[topic, b"+", id].concat())
    }
}

/// How often a message was put back.
pub(super) fn rolls(record: &RecordView<'_>) -> u32 {
    let text = record.properties().get(property_names::TIMER_ROLL_TIMES);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn identity(record: &RecordView<'_>, topic: &str, rolls: u32) -> Identity {
    let properties = record.properties();
    let mut bytes = Vec::with_capacity(128);
    let names = [property_names::UNIQ_KEY, property_names::TIMER_OUT_MS, property_names::REAL_TOPIC];
    let values = names.map(|name| properties.get_bytes(name).unwrap_or_default());
    for part in [topic.as_bytes()].into_iter().chain(values) {
        bytes.extend_from_slice(part);
        bytes.push(0);
    }
    bytes.extend_from_slice(&rolls.to_be_bytes());
    bytes.extend_from_slice(&record.born_timestamp_ms().to_be_bytes());
    bytes.extend_from_slice(&record.body_crc().to_be_bytes());
    bytes
}
