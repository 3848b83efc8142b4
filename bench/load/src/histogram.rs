//! Times in buckets whose width grows with them, so that each is known to within a hundredth.

use std::time::Duration;

use serde_json::{Value, json};

/// Buckets per doubling.
const STEPS: u64 = 64;
const STEP_BITS: u32 = STEPS.trailing_zeros();

#[derive(Debug, Clone, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    max_ns: u64,
}

impl Histogram {
    pub fn add(&mut self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let bucket = bucket_of(ns);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds what another one holds.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (own, count) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += count;
        }
        self.count += other.count;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// The time that so many of a thousand do not exceed, in nanoseconds.
    pub fn quantile_ns(&self, per_mille: u64) -> u64 {
        let wanted = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper_ns(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// What people look at, in milliseconds.
    pub fn report(&self) -> Value {
        json!({
            "p50_ms": ms(self.quantile_ns(500)),
            "p99_ms": ms(self.quantile_ns(990)),
            "p99.9_ms": ms(self.quantile_ns(999)),
            "max_ms": ms(self.max_ns),
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "for people")]
fn ms(ns: u64) -> f64 {
    (ns as f64 / 1e3).round() / 1e3
}

fn bucket_of(ns: u64) -> usize {
    let doublings = (ns / STEPS).checked_ilog2().map_or(0, |log| log + 1);
    let step = if doublings == 0 { ns } else { (ns >> (doublings - 1)) - STEPS };
    let bucket = if doublings == 0 { step } else { u64::from(doublings) * STEPS + step };
    usize::try_from(bucket).unwrap_or(usize::MAX)
}

/// The largest time of a bucket.
fn upper_ns(bucket: usize) -> u64 {
    let (doublings, step) = (bucket as u64 >> STEP_BITS, bucket as u64 % STEPS);
    if doublings == 0 { step } else { ((STEPS + step + 1) << (doublings - 1)) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_is_put_there() {
        for ns in (0..10_000).chain((0..50).map(|power| 1 << power)).chain([123_456_789, 5_000_001]) {
            let upper = upper_ns(bucket_of(ns));
            assert!(upper >= ns && upper - ns <= ns / STEPS, "{ns} is in a bucket up to {upper}");
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_added() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|us| histogram.add(Duration::from_micros(us)));
        assert_eq!(histogram.count(), 1000);
        for (per_mille, us) in [(500, 500), (990, 990), (999, 999), (1000, 1000)] {
            let found = histogram.quantile_ns(per_mille);
            assert!(found >= us * 1000 && found <= us * 1016, "{found} for {us}");
        }
    }

    #[test]
    fn two_that_are_merged_are_one_of_all_times() {
        let (mut short, mut long, mut all) =
            (Histogram::default(), Histogram::default(), Histogram::default());
        for us in 1..=1000 {
            if us <= 300 { &mut short } else { &mut long }.add(Duration::from_micros(us));
            all.add(Duration::from_micros(us));
        }
        short.merge(&long);
        assert_eq!((short.count(), short.report()), (all.count(), all.report()));
    }
}
