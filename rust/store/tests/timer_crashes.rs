//! Power is lost, or the process killed, at any moment of the timers' life, also while they recover. However often
//! that happens: what was durable when it was sent comes exactly once, and nothing comes before its time.

mod timer_support;

#[path = "crash_support/seeds.rs"]
mod seeds;

use std::collections::{BTreeMap, BTreeSet};

use escrowmq_store::simulation::{Random, SimulatedDisk, Survival};
use escrowmq_store::timer::{TIMER_QUEUE, TIMER_TOPIC, TimerOptions};
use escrowmq_store::{FlushMode, QueueOffset, StoreOptions};
use timer_support::{Rig, store_options, timer_options};

#[test]
fn timers_come_exactly_once_whenever_the_power_goes() {
    seeds::run("timers_come_exactly_once_whenever_the_power_goes", 300, |seed| {
        let mut life = Life::new(Random::new(seed));
        for _ in 0..1 + life.random.below(4) {
            let steps = *life.random.pick(&[10, 30, 80]);
            for _ in 0..steps {
                life.step();
            }
            if life.random.chance(70) {
                life.lose_power();
            } else {
                life.rig.kill_and_open();
            }
        }
        life.rig.run();
        for _ in 0..150 {
            life.rig.pass(1_000);
        }
        life.check_end();
    });
}

/// A rig that does random things, and what is known of the messages that were sent.
struct Life {
    rig: Rig,
    random: Random,
    /// When each message became durable, as a position of the disk's journal.
    durable_at: BTreeMap<usize, usize>,
    recalled: BTreeSet<usize>,
    made: usize,
}

impl Life {
    fn new(mut random: Random) -> Self {
        let flush = if random.chance(75) {
            FlushMode::Sync
        } else {
            FlushMode::Async { interval_ms: 500, pages_min: 2, thorough_interval_ms: 10_000 }
        };
        let timers = TimerOptions { precision_ms: *random.pick(&[1_000, 1_000, 200]), ..timer_options() };
        let rig = Rig::with(StoreOptions { flush, segment_size_bytes: 1 << 16, ..store_options() }, timers);
        Self { rig, random, durable_at: BTreeMap::new(), recalled: BTreeSet::new(), made: 0 }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.send(),
            30..34 => self.recall(),
            34..50 => drop(self.rig.store().flush_once().expect("flush")),
            50..60 => drop(self.rig.store().build_once().expect("build")),
            60..80 => drop(self.rig.round()),
            80..84 => drop(self.rig.run()),
            84..94 => {
                let by_ms = *self.random.pick(&[100, 300, 1_000, 1_000, 4_000, 15_000]);
                self.rig.clock.advance(by_ms);
            }
            94 | 95 => self.rig.store().checkpoint_once().expect("checkpoint"),
            96 | 97 => self.rig.close_and_open(),
            _ => self.rig.kill_and_open(),
        }
        self.note_durable();
    }

    fn send(&mut self) {
        for _ in 0..*self.random.pick(&[1, 1, 2, 5]) {
            let delay_ms = i64::try_from(*self.random.pick(&[1, 500, 1_000, 3_000, 9_000, 25_000, 60_000]))
                .expect("small");
            self.rig.send(self.made, delay_ms);
            self.made += 1;
        }
    }

    /// Takes a message back that is not due yet.
    fn recall(&mut self) {
        let now_ms = self.rig.now_ms();
        let waiting: Vec<usize> = self
            .rig
            .sent
            .iter()
            .filter(|(_, sent)| sent.due_ms > now_ms + 5_000)
            .map(|(number, _)| *number)
            .collect();
        if !waiting.is_empty() {
            let number = *self.random.pick(&waiting);
            self.rig.recall(number);
            self.recalled.insert(number);
        }
    }

    fn note_durable(&mut self) {
        let (end, position) = (self.rig.store().durable_end().0, self.rig.disk.position());
        for (number, _) in self.rig.sent.iter().filter(|(_, sent)| sent.log_end <= end) {
            self.durable_at.entry(*number).or_insert(position);
        }
    }

    fn lose_power(&mut self) {
        let position = self.rig.disk.position();
        let at = position - self.random.below(position.min(60) + 1);
        let mut disk = self.crash(&self.rig.disk.clone(), at);
        self.rig.kill();
        // Power comes back for a moment only.
        for _ in 0..*self.random.pick(&[0, 0, 1, 2]) {
            self.rig.disk = disk.clone();
            self.rig.open();
            for _ in 0..self.random.below(6) {
                self.rig.settle_store();
                self.rig.round();
            }
            self.rig.kill();
            let at = self.random.below(disk.position() + 1);
            disk = self.crash(&disk, at);
        }
        self.rig.disk = disk;
        self.rig.open();
        self.forget_what_was_not_durable(at);
    }

    fn crash(&mut self, disk: &SimulatedDisk, at: usize) -> SimulatedDisk {
        match self.random.below(8) {
            0 => disk.crash(at, Survival::Synced),
            1 => disk.crash(at, Survival::Written),
            _ => disk.crash(at, Survival::Any(&mut self.random)),
        }
    }

    /// What was durable is there; of the rest, what is there counts as sent.
    fn forget_what_was_not_durable(&mut self, at: usize) {
        let waits =
            self.rig.store().read_queue(TIMER_TOPIC, TIMER_QUEUE, QueueOffset(0), usize::MAX, usize::MAX);
        let bodies = waits.expect("read").into_iter().map(|record| record.view().body().to_vec());
        let there: BTreeSet<usize> =
            bodies.map(|body| String::from_utf8(body).expect("text")[5..].parse().expect("number")).collect();
        for (number, durable_at) in &self.durable_at {
            assert!(*durable_at > at || there.contains(number), "{number} was durable and is lost");
        }
        self.durable_at.retain(|_, durable_at| *durable_at <= at);
        self.rig.sent.retain(|number, _| there.contains(number));
        // All that is there is durable now, whatever the journal of this disk counts from.
        self.durable_at = there.iter().map(|number| (*number, 0)).collect();
    }

    fn check_end(&mut self) {
        self.rig.check_none_early();
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        self.rig.numbers().into_iter().for_each(|number| *counts.entry(number).or_default() += 1);
        for number in self.rig.sent.keys() {
            let count = counts.get(number).copied().unwrap_or(0);
            let is_right = if self.recalled.contains(number) { count <= 1 } else { count == 1 };
            assert!(is_right, "{number} came {count} times");
        }
        let statistics = self.rig.timers().statistics();
        assert_eq!(statistics.lost, 0, "{statistics:?}");
    }
}
