//! When to look at which connection next.
//!
//! Each connection has one entry at the time of its earliest deadline, or before it. A deadline that moves away, as the
//! idle one does with every byte, leaves the entry where it is: whoever looks too early puts it further on. So traffic
//! costs nothing here, and a quiet connection one look per idle time.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::connection::ConnectionId;

#[derive(Debug, Default)]
pub struct Deadlines {
    entries: BTreeSet<(Instant, ConnectionId)>,
}

impl Deadlines {
    /// Makes sure that a connection is looked at by `deadline`. `scheduled` is where its entry is.
    pub fn schedule(&mut self, connection: ConnectionId, scheduled: &mut Option<Instant>, deadline: Instant) {
        if let Some(entry) = *scheduled {
            if entry <= deadline {
                return;
            }
            self.entries.remove(&(entry, connection));
        }
        self.entries.insert((deadline, connection));
        *scheduled = Some(deadline);
    }

    /// Forgets a connection.
    pub fn forget(&mut self, connection: ConnectionId, scheduled: Option<Instant>) {
        if let Some(entry) = scheduled {
            self.entries.remove(&(entry, connection));
        }
    }

    /// A connection whose entry is due; the entry is gone then.
    pub fn pop_due(&mut self, now: Instant) -> Option<ConnectionId> {
        let first = *self.entries.first()?;
        if first.0 > now {
            return None;
        }
        self.entries.remove(&first);
        Some(first.1)
    }

    /// How long to sleep at most.
    pub fn wait(&self, now: Instant) -> Option<Duration> {
        Some(self.entries.first()?.0.saturating_duration_since(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_moves_forward_but_never_back() {
        let (start, connection) = (Instant::now(), ConnectionId(1));
        let at = |seconds| start + Duration::from_secs(seconds);
        let (mut deadlines, mut scheduled) = (Deadlines::default(), None);
        deadlines.schedule(connection, &mut scheduled, at(10));
        deadlines.schedule(connection, &mut scheduled, at(20));
        assert_eq!(deadlines.wait(start), Some(Duration::from_secs(10)));
        deadlines.schedule(connection, &mut scheduled, at(5));
        assert_eq!(deadlines.wait(start), Some(Duration::from_secs(5)));
        assert_eq!(deadlines.pop_due(at(4)), None);
        assert_eq!(deadlines.pop_due(at(5)), Some(connection));
        assert_eq!(deadlines.wait(start), None);
    }

    #[test]
    fn what_is_forgotten_is_never_due() {
        let (now, connection) = (Instant::now(), ConnectionId(1));
        let (mut deadlines, mut scheduled) = (Deadlines::default(), None);
        deadlines.schedule(connection, &mut scheduled, now);
        deadlines.forget(connection, scheduled);
        assert_eq!(deadlines.pop_due(now), None);
    }
}
