//! What waits for the reader thread: connections take turns, so that whoever asks for much waits for it alone, and what
//! a connection leaves behind when it closes is dropped.

use std::collections::{HashMap, VecDeque};

use escrowmq_net::ConnectionId;
use foldhash::fast::RandomState;

/// Jobs of connections, in the order of their turns.
#[derive(Debug)]
pub struct ColdTurns<T> {
    jobs: HashMap<ConnectionId, VecDeque<T>, RandomState>,
    /// Those with jobs, each once.
    turns: VecDeque<ConnectionId>,
    count: usize,
    count_max: usize,
}

impl<T> ColdTurns<T> {
    pub fn new(count_max: usize) -> Self {
        Self { jobs: HashMap::default(), turns: VecDeque::new(), count: 0, count_max }
    }

    /// Takes a job, or gives it back: a connection may have as many as are left free.
    pub fn push(&mut self, connection: ConnectionId, job: T) -> Result<(), T> {
        let own_count = self.jobs.get(&connection).map_or(0, VecDeque::len);
        if own_count >= self.count_max - self.count {
            return Err(job);
        }
        if own_count == 0 {
            self.turns.push_back(connection);
        }
        self.jobs.entry(connection).or_default().push_back(job);
        self.count += 1;
        Ok(())
    }

    /// The first job of the connection whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        let connection = self.turns.pop_front()?;
        let jobs = self.jobs.get_mut(&connection)?;
        let job = jobs.pop_front()?;
        self.count -= 1;
        if jobs.is_empty() {
            self.jobs.remove(&connection);
        } else {
            self.turns.push_back(connection);
        }
        Some(job)
    }

    /// Drops the jobs of a connection.
    pub fn forget(&mut self, connection: ConnectionId) {
        if let Some(jobs) = self.jobs.remove(&connection) {
            self.count -= jobs.len();
            self.turns.retain(|&other| other != connection);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ConnectionId = ConnectionId(1);
    const OTHER: ConnectionId = ConnectionId(2);

    fn all(turns: &mut ColdTurns<u32>) -> Vec<u32> {
        std::iter::from_fn(|| turns.pop()).collect()
    }

    #[test]
    fn connections_take_turns_and_each_keeps_its_order() {
        let mut turns = ColdTurns::new(100);
        for job in 10..14 {
            turns.push(ONE, job).expect("room");
        }
        for job in 20..22 {
            turns.push(OTHER, job).expect("room");
        }
        assert_eq!(all(&mut turns), [10, 20, 11, 21, 12, 13]);
        assert!(turns.jobs.is_empty() && turns.count == 0, "nothing is left behind");
    }

    #[test]
    fn what_a_closed_connection_asked_for_is_dropped() {
        let mut turns = ColdTurns::new(100);
        for (connection, job) in [(ONE, 10), (OTHER, 20), (ONE, 11)] {
            turns.push(connection, job).expect("room");
        }
        turns.forget(ONE);
        turns.forget(ONE);
        assert_eq!((all(&mut turns), turns.count), (vec![20], 0));
    }

    #[test]
    fn no_connection_leaves_the_others_without_room() {
        let mut turns = ColdTurns::new(8);
        let taken = |turns: &mut ColdTurns<u32>, connection| {
            (0..8).filter(|&job| turns.push(connection, job).is_ok()).count()
        };
        assert_eq!((taken(&mut turns, ONE), taken(&mut turns, OTHER)), (4, 2));
        assert_eq!((taken(&mut turns, ConnectionId(3)), taken(&mut turns, ONE)), (1, 0));
    }
}
