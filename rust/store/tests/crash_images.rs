//! Power is lost at any moment of a store's life, also while it recovers from the last loss, and once more; the disk
//! is left as the model of [`escrowmq_store::simulation`] allows. After each start: what was acknowledged is there and
//! equal, nothing is there that was not written, queues and index agree with the log, and recovery is idempotent.

mod crash_support;

use crash_support::checks::{self, assert_same_folder, folder};
use crash_support::message::Message;
use crash_support::model::Allowed;
use crash_support::seeds;
use crash_support::workload::{Run, START_MS, open};
use escrowmq_store::simulation::{Random, SimulatedDisk, Survival};
use escrowmq_wire::SysFlag;

#[test]
fn acknowledged_messages_survive_a_power_loss_at_any_moment() {
    seeds::run("acknowledged_messages_survive_a_power_loss_at_any_moment", 500, |seed| {
        let mut random = Random::new(seed);
        let mut run = Run::new(random.fork());
        let lives = 1 + random.below(3);
        for _ in 0..lives {
            let steps = *random.pick(&[5, 20, 60, 100]);
            run.steps(steps);
            lose_power(&mut run, &mut random);
        }
        run.steps(10);
        run.close_and_reopen().unwrap_or_else(|error| panic!("{error}"));
        let allowed = Allowed { acknowledged: run.store().log_end().0, start_max: run.store().log_start().0 };
        run.check_contents(allowed);
    });
}

/// Goal: of queues that someone removed none stays away, be its messages ever so old. Method: a queue whose only message
/// is older than all that a start looks at, removed after an orderly stop.
#[test]
fn a_queue_that_is_removed_after_an_orderly_stop_comes_back() {
    let mut random = Random::new(0);
    let mut run = Run::new(random.fork());
    let message = |random: &mut Random, topic: &str| Message {
        topic: topic.to_string(),
        sys_flag: SysFlag(0),
        ..Message::random(random, 0, START_MS)
    };
    let old = Message { queue_id: 0, ..message(&mut random, "old") };
    run.append_all(vec![old]).unwrap_or_else(|error| panic!("{error}"));
    for _ in 0..200 {
        run.clock.advance(10_000);
        let new = message(&mut random, "new");
        run.append_all(vec![new]).unwrap_or_else(|error| panic!("{error}"));
    }
    run.store().close().unwrap_or_else(|error| panic!("{error}"));
    checks::remove_folder(&run.disk, "consumequeue/old/0");
    run.kill_and_reopen().unwrap_or_else(|error| panic!("{error}"));
    run.check_contents(Allowed { acknowledged: run.store().log_end().0, start_max: 0 });
}

/// Loses power, recovers, checks everything, and leaves the recovered store running.
fn lose_power(run: &mut Run, random: &mut Random) {
    let at = crash_point(run, random);
    let mut disk = crash(&run.disk, at, random);
    let allowed = run.model.crash(at);
    run.kill();
    // Somebody takes queues or index for the cause of the trouble. Where messages have expired, only the queues know how
    // many there were.
    for name in ["consumequeue", "index"] {
        if random.chance(4) && allowed.start_max == 0 && !checks::folder(&disk, name).is_empty() {
            checks::remove_folder(&disk, name);
        }
    }
    // A folder that was removed half way is beyond what a start can tell: power stays while somebody works.
    disk = disk.copy();
    // Power comes back for a moment only.
    for _ in 0..*random.pick(&[0, 0, 0, 1, 1, 2]) {
        drop(open(&disk, &run.clock, &run.options));
        let at = random.below(disk.position() + 1);
        disk = crash(&disk, at, random);
    }

    let twin = disk.copy();
    let store = open(&disk, &run.clock, &run.options);
    checks::check_contents(&disk, &store, &mut run.model, allowed);
    checks::check_durable(&disk, &store, random);
    check_idempotent(run, &disk, &twin);
    let has_expired = store.log_start().0 > 0;
    checks::check_rebuild(&disk, &run.clock, &run.options, has_expired);

    run.model.recovered(allowed, disk.position(), store.log_end().0);
    run.go_on(disk, store);
}

/// Often right after something was acknowledged, and often late: early moments are those of shorter runs.
fn crash_point(run: &Run, random: &mut Random) -> usize {
    let acknowledged = run.model.durable_positions();
    match random.below(4) {
        0 if !acknowledged.is_empty() => *random.pick(&acknowledged),
        1 => run.disk.position() - random.below(run.disk.position().min(20) + 1),
        _ => random.below(run.disk.position() + 1),
    }
}

fn crash(disk: &SimulatedDisk, at: usize, random: &mut Random) -> SimulatedDisk {
    match random.below(10) {
        0 => disk.crash(at, Survival::Synced),
        1 => disk.crash(at, Survival::Written),
        _ => disk.crash(at, Survival::Any(random)),
    }
}

/// Recovery of a copy of the same disk gives the same bytes, and an orderly stop and start after it changes none.
fn check_idempotent(run: &Run, disk: &SimulatedDisk, twin: &SimulatedDisk) {
    let store = open(twin, &run.clock, &run.options);
    for name in ["commitlog", "consumequeue", "index"] {
        assert_same_folder(&folder(twin, name), &folder(disk, name), "recovered twice");
    }
    store.close().unwrap_or_else(|error| panic!("close: {error}"));
    drop(store);
    let store = open(twin, &run.clock, &run.options);
    for name in ["commitlog", "consumequeue", "index"] {
        assert_same_folder(&folder(twin, name), &folder(disk, name), "stopped and started after recovery");
    }
    drop(store);
    drop(open(twin, &run.clock, &run.options));
    for name in ["commitlog", "consumequeue"] {
        assert_same_folder(&folder(twin, name), &folder(disk, name), "killed and started after recovery");
    }
    assert!(folder(twin, "index").values().eq(folder(disk, "index").values()), "killed and started: index");
}
