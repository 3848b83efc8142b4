//! When the housekeeper looks for what is too old: every ten seconds, and whenever somebody asks for it. In the first
//! minute it only looks how full the disk is.

/// Between two rounds. Apache's are as far apart.
const INTERVAL_MS: i64 = 10_000;
/// Nothing expires earlier: whoever finds that a setting was wrong has a minute to stop the store. Apache waits as long.
const FIRST_MS: i64 = 60_000;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    /// Nothing yet.
    Wait,
    /// To look how full the disk is.
    Look,
    /// To remove what is too old.
    Expire,
}

/// When rounds were, by a clock that is never set.
#[derive(Debug)]
pub(crate) struct ExpiryRounds {
    began_ms: i64,
    last_ms: i64,
}

impl ExpiryRounds {
    /// Begins to count.
    pub fn new(now_ms: i64) -> Self {
        Self { began_ms: now_ms, last_ms: now_ms }
    }

    /// What is to be done now.
    pub fn next(&mut self, now_ms: i64, is_asked: bool) -> Round {
        if !is_asked && now_ms - self.last_ms < INTERVAL_MS {
            return Round::Wait;
        }
        self.last_ms = now_ms;
        if is_asked || now_ms - self.began_ms >= FIRST_MS { Round::Expire } else { Round::Look }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_expires_in_the_first_minute_and_then_every_ten_seconds() {
        let mut rounds = ExpiryRounds::new(1_000);
        let done: Vec<_> = (1..=90)
            .filter_map(|second| match rounds.next(1_000 + second * 1_000, false) {
                Round::Wait => None,
                round => Some((second, round)),
            })
            .collect();
        let looks = [10, 20, 30, 40, 50].map(|second| (second, Round::Look));
        let expiries = [60, 70, 80, 90].map(|second| (second, Round::Expire));
        assert_eq!(done, [&looks[..], &expiries[..]].concat());
    }

    #[test]
    fn whoever_asks_gets_a_round_at_once() {
        let mut rounds = ExpiryRounds::new(0);
        assert_eq!(rounds.next(1, true), Round::Expire);
        assert_eq!(rounds.next(2, false), Round::Wait);
        assert_eq!(rounds.next(10_001, false), Round::Look);
    }
}
