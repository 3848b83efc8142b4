//! What the fast lane did, counted without locks and read from any thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// One number.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn set(&self, value: usize) {
        self.0.store(value as u64, Ordering::Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, Default)]
pub struct Counters {
    pub sends: Counter,
    pub messages_stored: Counter,
    pub sends_refused: Counter,
    pub sends_waiting: Counter,
    pub pulls: Counter,
    pub pulls_found: Counter,
    pub messages_pulled: Counter,
    pub pulls_parked: Counter,
    pub cold_reads: Counter,
    pub offsets: Counter,
    pub retries: Counter,
}

impl Counters {
    pub fn read(&self) -> FastLaneStatistics {
        FastLaneStatistics {
            sends: self.sends.get(),
            messages_stored: self.messages_stored.get(),
            sends_refused: self.sends_refused.get(),
            sends_waiting: self.sends_waiting.get(),
            pulls: self.pulls.get(),
            pulls_found: self.pulls_found.get(),
            messages_pulled: self.messages_pulled.get(),
            pulls_parked: self.pulls_parked.get(),
            cold_reads: self.cold_reads.get(),
            offsets: self.offsets.get(),
            retries: self.retries.get(),
        }
    }
}

/// Numbers since the start, and what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FastLaneStatistics {
    /// Send requests that were stored, batches counted once.
    pub sends: u64,
    /// Messages that were stored, those of batches each.
    pub messages_stored: u64,
    /// Send requests that were answered with an error.
    pub sends_refused: u64,
    /// Answers that wait for a flush: of stored sends, and of what Python stored.
    pub sends_waiting: u64,
    /// Pull requests that were answered.
    pub pulls: u64,
    /// Those of them that were answered with messages.
    pub pulls_found: u64,
    /// Messages in the answers to pulls.
    pub messages_pulled: u64,
    /// Pulls that wait for messages.
    pub pulls_parked: u64,
    /// Pulls that the reader thread answered.
    pub cold_reads: u64,
    /// Requests about offsets that were answered.
    pub offsets: u64,
    /// Requests that Python gave back.
    pub retries: u64,
}
