//! Processor time of a process, user and system together, from `/proc/PID/stat`, and of each of its threads.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Failure;

/// Linux counts in hundredths of a second, whatever its own clock.
const TICK: Duration = Duration::from_millis(10);

#[derive(Debug, Clone, Default)]
pub struct ProcessorTime {
    process: Duration,
    /// By name; threads of one name are added up. Those that have ended are in the process's time only.
    threads: BTreeMap<String, Duration>,
}

impl ProcessorTime {
    /// What a process took so far; nothing where there is none.
    pub fn of(pid: Option<u32>) -> Result<Self, Failure> {
        let Some(pid) = pid else { return Ok(Self::default()) };
        let process = parse(&fs::read_to_string(format!("/proc/{pid}/stat"))?)?.1;
        let mut threads = BTreeMap::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            // A thread may end between the list and this.
            let Ok(stat) = fs::read_to_string(thread?.path().join("stat")) else { continue };
            let (name, time) = parse(&stat)?;
            *threads.entry(name).or_default() += time;
        }
        Ok(Self { process, threads })
    }

    /// What all processes took so far, in this one's own words: kernel threads and interrupts included.
    pub fn of_machine() -> Result<Duration, Failure> {
        let stat = fs::read_to_string("/proc/stat")?;
        let ticks: Vec<u32> = stat
            .lines()
            .next()
            .unwrap_or_default()
            .split_whitespace()
            .skip(1)
            .map(str::parse)
            .collect::<Result<_, _>>()?;
        // The fourth and fifth are of processors that have nothing to do; the last two are counted before as well.
        Ok(TICK
            * ticks
                .iter()
                .enumerate()
                .filter(|(place, _)| ![3, 4, 8, 9].contains(place))
                .map(|(_, ticks)| ticks)
                .sum())
    }

    /// What was taken since `before`.
    pub fn since(&self, before: &Self) -> Duration {
        self.process.saturating_sub(before.process)
    }

    /// What was taken since `before`, for so many messages in so long a time.
    #[allow(clippy::cast_precision_loss, reason = "for people")]
    pub fn report(&self, before: &Self, messages: u64, time: Duration) -> Value {
        let taken = self.since(before);
        let us_each = |taken: Duration| (taken.as_secs_f64() * 1e9 / messages.max(1) as f64).round() / 1e3;
        let threads: BTreeMap<&str, f64> = self
            .threads
            .iter()
            .map(|(name, &time)| {
                (name, time.saturating_sub(before.threads.get(name).copied().unwrap_or_default()))
            })
            .filter(|(_, taken)| !taken.is_zero())
            .map(|(name, taken)| (name.as_str(), us_each(taken)))
            .collect();
        json!({
            "cores": taken.as_secs_f64() / time.as_secs_f64(),
            "us_per_message": us_each(taken),
            "messages_per_core_second": (messages as f64 / taken.as_secs_f64()).round(),
            "us_per_message_by_thread": threads,
        })
    }
}

/// Name and time in a line of `stat`. The name is in brackets and may hold anything.
fn parse(stat: &str) -> Result<(String, Duration), Failure> {
    let begin = stat.find('(').ok_or("no name in stat")?;
    let end = stat.rfind(')').ok_or("no name in stat")?;
    let fields: Vec<&str> = stat[end + 1..].split_whitespace().collect();
    let ticks =
        |index: usize| fields.get(index).ok_or("stat is too short")?.parse::<u32>().map_err(Failure::from);
    // The fields behind the name begin with the third; times are the 14th and 15th.
    Ok((stat[begin + 1..end].to_owned(), TICK * (ticks(11)? + ticks(12)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_confuse() {
        let stat = "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0 20 0 1 0 5 6 7";
        assert_eq!(parse(stat).expect("stat"), ("a) b".to_owned(), Duration::from_secs(2)));
        assert!(parse("12 (a) S 1 2").is_err());
    }

    #[test]
    fn our_own_time_is_known() {
        let time = ProcessorTime::of(Some(std::process::id())).expect("it runs");
        assert!(!time.threads.is_empty());
    }
}
