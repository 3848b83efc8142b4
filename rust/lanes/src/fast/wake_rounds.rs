//! Which parked pulls to look at next. A queue that has grown goes through those that wait for it, one at a time and in
//! turn with other queues, so that whoever looks may stop after any of them and go on later.

use std::collections::VecDeque;
use std::collections::hash_map::{Entry, HashMap};

use escrowmq_store::Arrival;
use foldhash::fast::RandomState;

use super::parked_pulls::{ParkedId, ParkedPulls};

/// How far a queue has come.
#[derive(Debug, Default)]
struct Round {
    /// The last one that was given out.
    last: Option<ParkedId>,
    /// Whether the queue grew since the first one was.
    is_again: bool,
}

#[derive(Debug, Default)]
pub struct WakeRounds {
    rounds: HashMap<Arrival, Round, RandomState>,
    /// The queues of `rounds`, each once.
    turns: VecDeque<Arrival>,
}

impl WakeRounds {
    /// Has everyone looked at who waits for a queue now; again, if some of them were looked at before it grew.
    pub fn begin(&mut self, queue: Arrival) {
        match self.rounds.entry(queue) {
            Entry::Occupied(mut round) => round.get_mut().is_again = true,
            Entry::Vacant(place) => {
                self.turns.push_back(place.key().clone());
                place.insert(Round::default());
            }
        }
    }

    /// The next one to look at.
    pub fn next(&mut self, parked: &ParkedPulls) -> Option<ParkedId> {
        while let Some(queue) = self.turns.pop_front() {
            let Some(round) = self.rounds.get_mut(&queue) else { continue };
            let mut next = parked.next_waiting(&queue, round.last);
            if next.is_none() && round.is_again {
                *round = Round::default();
                next = parked.next_waiting(&queue, None);
            }
            if next.is_some() {
                round.last = next;
                self.turns.push_back(queue);
                return next;
            }
            self.rounds.remove(&queue);
        }
        None
    }

    /// Whether nobody is left to look at.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }
}
