//! Many seeds, on two threads, with a message that says how to run a failed one alone.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const THREADS: usize = 2;

/// Runs `scenario` for each seed. `ESCROWMQ_CRASH_SEEDS` says how many if not `count`, `ESCROWMQ_CRASH_FIRST_SEED` from
/// where on.
pub fn run(test: &str, count: u64, scenario: impl Fn(u64) + Sync) {
    let first = from_environment("ESCROWMQ_CRASH_FIRST_SEED").unwrap_or(0);
    let end = first + from_environment("ESCROWMQ_CRASH_SEEDS").unwrap_or(count);
    let next = AtomicU64::new(first);
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        break;
                    }
                    if catch_unwind(AssertUnwindSafe(|| scenario(seed))).is_err() {
                        eprintln!("seed {seed} failed: {}", replay(test, seed));
                        failed.lock().expect("no panic holds it").push(seed);
                    }
                }
            });
        }
    });
    let mut failed = failed.into_inner().expect("no panic holds it");
    failed.sort_unstable();
    if let Some(seed) = failed.first() {
        panic!("{} of {} seeds failed: {failed:?}\n{}", failed.len(), end - first, replay(test, *seed));
    }
}

fn replay(test: &str, seed: u64) -> String {
    format!(
        "run it alone with\n  ESCROWMQ_CRASH_FIRST_SEED={seed} ESCROWMQ_CRASH_SEEDS=1 \
         cargo test -p escrowmq-store --tests -- --exact {test} --nocapture"
    )
}

fn from_environment(name: &str) -> Option<u64> {
    let value = env::var(name).ok()?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is {value:?}, expected a number")))
}
