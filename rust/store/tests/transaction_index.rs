//! The transaction index against a model, and against itself: told as it goes, read from the log, from a snapshot.

mod transaction_support;

use escrowmq_store::disk::DiskUsage;
use escrowmq_store::transaction_index::{PendingRange, TransactionIndex, TransactionState};
use escrowmq_store::{LogOffset, StoreError};
use proptest::prelude::*;
use transaction_support::model::Model;
use transaction_support::rig::{Draft, Rig, View, all};
use transaction_support::step::{FinalKind, GROUPS, IDS, Step, final_record, half, op, steps};

/// Something first, so that log offset 0 is no half record's.
fn rig() -> Rig {
    let rig = Rig::new();
    rig.append(&[Draft { topic: "orders".to_owned(), ..Draft::default() }]);
    rig
}

fn assert_agrees(index: &TransactionIndex, model: &Model) -> Result<(), TestCaseError> {
    prop_assert_eq!(View::of(index), model.view());
    for (half_offset, log_offset, transaction) in model.copies() {
        prop_assert_eq!(index.find(half_offset, log_offset), Some(transaction));
        prop_assert_eq!(index.find(half_offset, log_offset + 1), None);
        prop_assert_eq!(index.find(half_offset + 1, log_offset), None);
    }
    for who in (0..GROUPS.len()).flat_map(|group| (0..IDS.len()).map(move |id| (group, id))) {
        prop_assert_eq!(index.find_undecided(GROUPS[who.0], IDS[who.1]), model.find_undecided(who));
    }
    Ok(())
}

proptest! {
    #[test]
    fn it_agrees_with_a_plain_list(
        steps in steps(40), snapshot_at in 0_usize..40, close_at in 0_usize..60, forget_at in 0_usize..60, number in 0_u64..20,
    ) {
        let (rig, mut model) = (rig(), Model::default());
        for (at, step) in steps.iter().enumerate() {
            step.run(&rig, &mut model);
            if at == snapshot_at {
                rig.save();
            }
            if at == close_at {
                prop_assert_eq!(rig.index.lock().close_before(number), model.close_before(number));
            }
            if at == forget_at {
                let ms = rig.store.now_ms() - i64::try_from(number).expect("small");
                prop_assert_eq!(rig.index.lock().forget_decided_before(ms), model.forget_decided_before(ms));
            }
            assert_agrees(&rig.index.lock(), &model)?;
        }
        // What no record says is in the snapshot, so that a start after it says the same.
        rig.save();
        assert_agrees(&rig.read_again(), &model)?;
    }

    #[test]
    fn told_read_and_restored_are_the_same(steps in steps(60), snapshot_at in 0_usize..60) {
        let (rig, mut model) = (rig(), Model::default());
        for (at, step) in steps.iter().enumerate() {
            step.run(&rig, &mut model);
            if at == snapshot_at {
                rig.save();
            }
        }
        let saved_end = rig.index.lock().saved_end();
        prop_assert_eq!(rig.read_again().saved_end(), saved_end, "the snapshot was used, where there is one");
        assert_agrees(&rig.read_again(), &model)?;
        rig.put_snapshot(b"");
        prop_assert_eq!(rig.read_again().saved_end(), rig.store.log_start());
        assert_agrees(&rig.read_again(), &model)?;
        rig.store.close().expect("close");
        assert_agrees(&Rig::on(rig.disk.clone()).index.lock(), &model)?;
    }
}

/// A pending, a committed, a put-back and a discarded transaction, the last without its op.
fn some_of_everything(rig: &Rig) {
    let mut model = Model::default();
    for step in [
        Step::Prepare((0, 0)),
        Step::Prepare((0, 1)),
        Step::Prepare((1, 2)),
        Step::Prepare((1, 0)),
        Step::Final(1, FinalKind::Right),
        Step::OurOp(vec![('C', 1)]),
        Step::OurCopy(2, 1),
        Step::OurOp(vec![('P', 2)]),
        Step::DiscardRoot(3),
    ] {
        step.run(rig, &mut model);
    }
}

#[test]
fn a_snapshot_with_a_flipped_bit_or_cut_anywhere_is_no_snapshot() {
    let rig = rig();
    some_of_everything(&rig);
    rig.save();
    let (whole, view, start) = (rig.snapshot(), rig.view(), rig.store.log_start());
    assert_eq!(rig.read_again().saved_end(), rig.store.log_end());
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        for bytes in [&flipped[..], &whole[..at]] {
            rig.put_snapshot(bytes);
            let read = rig.read_again();
            assert_eq!(read.saved_end(), start, "byte {at}");
            assert_eq!(View::of(&read), view, "byte {at}");
        }
    }
    rig.put_snapshot(&[&whole[..], b"\0"].concat());
    assert_eq!(rig.read_again().saved_end(), start);
}

#[test]
fn a_snapshot_of_another_log_is_no_snapshot() {
    let (one, other) = (rig(), rig());
    some_of_everything(&one);
    one.save();
    // The same records at the same places, but later.
    other.clock.advance(1_000);
    some_of_everything(&other);
    other.save();
    other.put_snapshot(&one.snapshot());
    assert_eq!(other.read_again().saved_end(), LogOffset(0));
    assert_eq!(View::of(&other.read_again()), other.view());
    // One of a log that goes on where this one ends.
    let short = rig();
    short.put_snapshot(&one.snapshot());
    assert_eq!(short.read_again().pending_count(), 0);
}

#[test]
fn what_is_not_durable_is_saved_when_it_is() {
    let rig = rig();
    rig.store.flush_once().expect("flush");
    rig.append(&[half((0, 0), &[])]);
    let end = rig.store.log_end();
    assert!(!TransactionIndex::save(&rig.index, &rig.store).expect("save"));
    rig.store.flush_once().expect("flush");
    // Under load there is always something that is not durable yet: what was taken then is written all the same.
    rig.append(&[half((0, 1), &[])]);
    assert!(TransactionIndex::save(&rig.index, &rig.store).expect("save"));
    assert_eq!(rig.index.lock().saved_end(), end);
    let read = rig.read_again();
    assert_eq!(read.saved_end(), end);
    assert_eq!(View::of(&read), rig.view());
}

#[test]
fn a_snapshot_goes_as_far_as_the_log_is_durable_whoever_appended() {
    let rig = rig();
    rig.append(&[half((0, 0), &[])]);
    // Sends of the fast lane: nobody tells the index.
    let told = rig.index.lock().end();
    let message = Draft { topic: "orders".to_owned(), ..Draft::default() };
    (0..300).for_each(|_| rig.append_untold(&message));
    assert!(rig.store.log_end() > told);
    rig.save();
    assert_eq!(rig.read_again().saved_end(), rig.store.log_end());
    assert_eq!(View::of(&rig.read_again()), rig.view());
}

#[test]
fn an_empty_store_has_nothing_to_save() {
    let rig = Rig::new();
    assert!(TransactionIndex::save(&rig.index, &rig.store).expect("save"));
    assert_eq!(rig.read_again().pending_count(), 0);
    rig.store.close().expect("close");
    assert!(matches!(TransactionIndex::save(&rig.index, &rig.store), Err(StoreError::Closed)));
}

#[test]
fn pending_ones_are_listed_in_pages() {
    let rig = rig();
    rig.append(&vec![half((0, 0), &[]); 10]);
    let index = rig.index.lock();
    let page = |from_half, to_half, count_max| {
        let range = PendingRange { group: Some(GROUPS[0]), from_half, to_half, count_max };
        index.pending(range).iter().map(|one| one.half_offset).collect::<Vec<_>>()
    };
    assert_eq!(page(0, u64::MAX, 4), [0, 1, 2, 3]);
    assert_eq!(page(4, 7, 4), [4, 5, 6]);
    assert!(page(10, u64::MAX, 4).is_empty());
    assert_eq!(index.pending(all(Some("nobody"))), []);
}

#[test]
fn old_decisions_are_left_out_of_a_start_but_for_unmarked_ones() {
    let rig = rig();
    rig.append(&[half((0, 0), &[]), half((0, 1), &[]), half((0, 2), &[])]);
    let receipts = rig.append(&[op(&[0], Some(&[('R', 0)]))]);
    let second = rig.index.lock().pending(all(None))[0].log_offset;
    rig.append(&[final_record((0, 1), second, FinalKind::Right)]);
    let since_ms = receipts[0].store_timestamp_ms + 1_000;
    let read = TransactionIndex::open(&rig.store, since_ms).expect("index");
    assert_eq!((read.pending_count(), read.decided_count()), (1, 1));
    assert_eq!(read.unmarked(9)[0].state, TransactionState::Committed);
    assert_eq!(TransactionIndex::open(&rig.store, 0).expect("index").decided_count(), 2);
}

#[test]
fn expiry_leaves_what_is_held() {
    let rig = rig();
    rig.append(&vec![Draft { topic: "orders".to_owned(), body: vec![0; 4_000], ..Draft::default() }; 12]);
    let held = rig.append(&[half((0, 0), &[])])[0].log_offset;
    rig.append(&vec![Draft { topic: "orders".to_owned(), body: vec![0; 4_000], ..Draft::default() }; 20]);
    let end = rig.store.flush_once().expect("flush");
    while rig.store.build_once().expect("build") < end {}
    rig.disk.set_usage(DiskUsage { used_bytes: 99, available_bytes: 1 });
    rig.store.hold_from(Some(held));
    while rig.store.expire_once().expect("expire").segments_expired > 0 {}
    let start = rig.store.log_start();
    assert!(start > LogOffset(0) && start <= held && held.0 - start.0 < 16_384, "{start}");
    assert_eq!(rig.read_again().pending_count(), 1);
    rig.store.hold_from(None);
    assert!(rig.store.expire_once().expect("expire").log_start > held);
}
