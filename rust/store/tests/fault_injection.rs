//! A disk that fails: a sync that does not work poisons the store until it is opened again, a full disk is an error
//! that passes, and nothing that was acknowledged is lost to either.

mod crash_support;

use std::path::Path;
use std::time::Duration;

use crash_support::checks;
use crash_support::message::Message;
use crash_support::model::Allowed;
use crash_support::seeds;
use crash_support::workload::{ROOT, Run, START_MS, try_open};
use escrowmq_store::disk::DiskUsage;
use escrowmq_store::simulation::{Fault, FaultAt, Random, Survival};
use escrowmq_store::{FlushMode, LogOffset, Result, Store, StoreError};

/// A store in sync mode with some messages, all of them acknowledged.
fn run_with_messages(seed: u64) -> Run {
    let mut random = Random::new(seed);
    let mut run = Run::new(random.fork());
    while run.options.flush != FlushMode::Sync {
        run = Run::new(random.fork());
    }
    for _ in 0..3 {
        run.append().expect("append");
    }
    settle(&mut run);
    run
}

/// Flushes and builds all there is.
fn settle(run: &mut Run) {
    let end = run.store().flush_once().expect("flush");
    while run.store().build_once().expect("build") < end {}
    run.note_durable();
}

fn is_poisoned<T>(result: &Result<T>) -> bool {
    matches!(result, Err(StoreError::Poisoned { .. }))
}

fn is_full<T>(result: &Result<T>) -> bool {
    result.as_ref().is_err_and(StoreError::is_storage_full)
}

/// Checks that all is there now that nothing was lost.
fn check_all(run: &mut Run) {
    let (acknowledged, start_max) = (run.store().durable_end().0, run.store().log_start().0);
    run.check_contents(Allowed { acknowledged, start_max });
}

/// Loses power now, and checks what is left against what was acknowledged.
fn lose_power_and_check(run: &mut Run, random: &mut Random) {
    let at = run.disk.position();
    run.disk.clear_faults();
    let image = match random.below(3) {
        0 => run.disk.crash(at, Survival::Synced),
        _ => run.disk.crash(at, Survival::Any(random)),
    };
    let allowed = run.model.crash(at);
    run.kill();
    let store = try_open(&image, &run.clock, &run.options).unwrap_or_else(|error| panic!("{error}"));
    checks::check_contents(&image, &store, &mut run.model, allowed);
    checks::check_durable(&image, &store, random);
}

#[test]
fn a_failed_sync_of_the_log_poisons_the_store_until_it_is_opened_again() {
    let mut run = run_with_messages(1);
    let durable = run.store().durable_end();
    run.append().expect("append");
    run.disk.inject(Fault::io_error(FaultAt::Sync).on("commitlog"));

    assert!(is_poisoned(&run.store().flush_once()));
    assert!(is_poisoned(&run.store().flush_once()), "it is never tried again");
    assert!(is_poisoned(&run.store().build_once()));
    assert!(is_poisoned(&run.store().checkpoint_once()));
    assert!(is_poisoned(&run.append()));
    assert!(run.store().poisoned_by().is_some_and(|cause| cause.contains("commitlog")));
    assert_eq!((run.store().durable_end(), run.store().visible_end()), (durable, durable));
    assert!(is_poisoned(&run.store().close()));
    assert!(
        run.disk.files_under(ROOT).contains_key(&Path::new(ROOT).join("abort")),
        "it was no orderly stop"
    );

    run.kill_and_reopen().expect("open");
    check_all(&mut run);
    // The kernel counts the pages of the failed sync as clean: they are on disk only if they were written again.
    lose_power_and_check(&mut run, &mut Random::new(0));
}

#[test]
fn who_waits_for_a_sync_that_fails_is_told_that_the_store_is_poisoned() {
    let mut run = run_with_messages(1);
    run.kill();
    let core = try_open(&run.disk, &run.clock, &run.options).expect("open");
    let store = Store::start_simulated(core).expect("start");
    run.disk.inject(Fault::io_error(FaultAt::Sync).on("commitlog").lasting());
    let message = Message::random(&mut Random::new(1), 1, START_MS);
    let receipts = store.append(&[message.to_new(&[])]).expect("append");
    let end = receipts[0].end_offset();
    assert!(is_poisoned(&store.wait_durable(end, Duration::from_secs(30))));
    assert!(is_poisoned(&store.wait_visible(end, Duration::from_secs(30))));
    assert!(is_poisoned(&store.append(&[message.to_new(&[])])));
    assert!(is_poisoned(&store.close()));
    assert!(
        run.disk.files_under(ROOT).contains_key(&Path::new(ROOT).join("abort")),
        "it was no orderly stop"
    );
}

#[test]
fn a_deletion_whose_list_is_not_confirmed_is_refused_and_deletes_nothing_at_the_next_start() {
    for at in [FaultAt::SyncFolder, FaultAt::Sync, FaultAt::Write, FaultAt::Allocate] {
        let mut run = run_with_messages(3);
        let queues = run.store().queues();
        let topic =
            queues.iter().find(|queue| queue.max_offset > queue.min_offset).expect("one").topic.clone();
        run.store().flush_once().expect("flush");
        run.disk.inject(Fault::io_error(at).on("escrowmq"));
        let refused = run.store().delete_topics(&[&topic]);
        assert!(matches!(refused, Err(StoreError::Io { .. })), "{at:?}: {refused:?}");
        assert_eq!(run.store().queues(), queues, "{at:?}");
        run.kill_and_reopen().expect("open");
        assert_eq!(run.store().queues(), queues, "{at:?}");
        check_all(&mut run);
    }
}

#[test]
fn a_sync_that_finds_no_space_poisons_the_store() {
    for part in ["commitlog", "consumequeue", "index", "checkpoint"] {
        let mut run = run_with_messages(2);
        run.append().expect("append");
        run.disk.inject(Fault::no_space(FaultAt::Sync).on(part));
        let store = run.store();
        let first = store.flush_once().and_then(|_| store.build_once()).and_then(|_| store.checkpoint_once());
        assert!(matches!(first, Err(StoreError::Poisoned { .. })), "{part}: {first:?}");
        let again = store.checkpoint_once();
        assert!(matches!(again, Err(StoreError::Poisoned { .. })), "{part}: {again:?}");
    }
}

#[test]
fn any_failed_sync_costs_no_acknowledged_message() {
    seeds::run("any_failed_sync_costs_no_acknowledged_message", 150, |seed| {
        let mut random = Random::new(seed);
        let at = *random.pick(&[FaultAt::Sync, FaultAt::Sync, FaultAt::SyncFolder]);
        // Delayed allocation and quotas make a sync fail for want of space, too, and what it should write is lost as well.
        let fault = *random.pick(&[Fault::io_error as fn(FaultAt) -> Fault, Fault::no_space]);
        with_faults(&mut random, |after| fault(at).after(after));
    });
}

/// Goal: a start that fails does not deceive the next one. What it wrote and could not sync is in the files when they
/// are read, and may never be on disk.
#[test]
fn a_sync_that_fails_during_recovery_costs_nothing() {
    seeds::run("a_sync_that_fails_during_recovery_costs_nothing", 150, |seed| {
        let mut random = Random::new(seed);
        let mut run = Run::new(random.fork());
        run.steps(*random.pick(&[10, 30, 60]));
        let at = run.disk.position() - random.below(run.disk.position().min(20) + 1);
        let image = run.disk.crash(at, Survival::Any(&mut random));
        let allowed = run.model.crash(at);
        run.kill();
        let kind = *random.pick(&[FaultAt::Sync, FaultAt::Sync, FaultAt::SyncFolder]);
        image.inject(Fault::io_error(kind).after(u32::try_from(random.below(12)).expect("small")));
        let first = try_open(&image, &run.clock, &run.options);
        image.clear_faults();
        let store = match first {
            Ok(store) => store,
            Err(StoreError::Io { .. }) => {
                try_open(&image, &run.clock, &run.options).unwrap_or_else(|error| panic!("{error}"))
            }
            Err(error) => panic!("{error}"),
        };
        checks::check_contents(&image, &store, &mut run.model, allowed);
        checks::check_durable(&image, &store, &mut random);
        let again = image.crash(image.position(), Survival::Any(&mut random));
        let allowed = Allowed { acknowledged: store.log_end().0, ..allowed };
        drop(store);
        let store = try_open(&again, &run.clock, &run.options).unwrap_or_else(|error| panic!("{error}"));
        checks::check_contents(&again, &store, &mut run.model, allowed);
    });
}

#[test]
fn any_want_of_space_passes_and_costs_nothing() {
    seeds::run("any_want_of_space_passes_and_costs_nothing", 150, |seed| {
        let mut random = Random::new(seed);
        let at = *random.pick(&[FaultAt::Allocate, FaultAt::Write]);
        with_faults(&mut random, |after| Fault::no_space(at).after(after).lasting());
    });
}

/// Runs a store on a disk that fails sometimes, opens it again when it is poisoned, and loses power in the end.
fn with_faults(random: &mut Random, fault: impl Fn(u32) -> Fault) {
    let mut run = Run::new(random.fork());
    for _ in 0..3 {
        run.disk.inject(fault(u32::try_from(random.below(30)).expect("small")));
        for _ in 0..*random.pick(&[10, 40]) {
            let Err(error) = run.step() else { continue };
            let is_expected = matches!(error, StoreError::Poisoned { .. } | StoreError::Io { .. });
            assert!(is_expected, "{error}");
            if run.is_open() && error.is_storage_full() {
                // Somebody makes room.
                run.disk.clear_faults();
                continue;
            }
            if run.is_open() && matches!(error, StoreError::Poisoned { .. }) {
                let durable = run.store().durable_end();
                assert!(is_poisoned(&run.append()) && is_poisoned(&run.store().flush_once()));
                assert_eq!(run.store().durable_end(), durable, "acknowledged after a failed sync");
            }
            if run.kill_and_reopen().is_err() {
                run.disk.clear_faults();
                run.kill_and_reopen().unwrap_or_else(|error| panic!("{error}"));
            }
        }
        run.disk.clear_faults();
        checks::check_log_files(&run.disk, run.store(), &run.model);
    }
    lose_power_and_check(&mut run, random);
}

#[test]
fn a_segment_that_can_not_be_had_refuses_the_append_and_nothing_else() {
    let mut run = run_with_messages(2);
    // Where a segment is made before it has its name.
    run.disk.inject(Fault::no_space(FaultAt::Allocate).on("temporary/commitlog").lasting());
    let refused = (0..200).find_map(|_| run.append().err()).expect("a segment is needed");
    assert!(refused.is_storage_full(), "{refused}");
    let end = run.store().log_end();
    settle(&mut run);
    assert_eq!(run.store().log_end(), end);
    check_all(&mut run);

    run.disk.clear_faults();
    run.append().expect("there is room again");
    settle(&mut run);
    check_all(&mut run);
    lose_power_and_check(&mut run, &mut Random::new(0));
}

#[test]
fn a_queue_file_or_index_that_can_not_be_had_holds_up_acknowledgements_until_there_is_room() {
    for (at, part) in
        [(FaultAt::Allocate, "consumequeue"), (FaultAt::Allocate, "index"), (FaultAt::Write, "index")]
    {
        let mut run = run_with_messages(3);
        run.disk.inject(Fault::no_space(at).on(part).lasting());
        let mut visible = run.store().visible_end();
        let mut refused = false;
        for _ in 0..100 {
            run.append().expect("the log has room");
            let end = run.store().flush_once().expect("the log has room");
            let built = run.store().build_once();
            let checkpoint = run.store().checkpoint_once();
            if is_full(&built) || is_full(&checkpoint) {
                refused = true;
                visible = run.store().visible_end();
                assert!(is_full(&checkpoint) || visible < end, "acknowledged without its queue");
                break;
            }
        }
        assert!(refused, "{part} is needed sooner or later");
        run.disk.clear_faults();
        settle(&mut run);
        assert!(run.store().visible_end() >= visible && run.store().visible_end() > LogOffset(0));
        run.store().checkpoint_once().expect("there is room again");
        check_all(&mut run);
        lose_power_and_check(&mut run, &mut Random::new(0));
    }
}

#[test]
fn a_disk_that_is_nearly_full_refuses_writes_and_says_how_full_it_is() {
    let mut run = run_with_messages(4);
    run.disk.set_usage(DiskUsage { used_bytes: 91, available_bytes: 9 });
    run.store().expire_once().expect("nothing is old");
    match run.append() {
        Err(StoreError::DiskFull { used_percent: 91, refuse_percent: 90, .. }) => {}
        other => panic!("{other:?}"),
    }
    settle(&mut run);
    run.disk.set_usage(DiskUsage { used_bytes: 50, available_bytes: 50 });
    run.store().expire_once().expect("nothing is old");
    run.append().expect("there is room again");
    settle(&mut run);
    check_all(&mut run);
}
