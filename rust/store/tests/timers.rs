//! Timers step by step, with a clock that stands still unless it is told to move.

mod timer_support;

use std::path::Path;

use escrowmq_store::disk::Disk;
use escrowmq_store::timer::{TIMER_TOPIC, TimerOptions};
use escrowmq_store::{QueueOffset, StoreError};
use timer_support::{ROOT, Rig, START_MS, timer_options};

/// From the start to the next full second.
const TO_FULL_SECOND_MS: i64 = 1_000 - START_MS.rem_euclid(1_000);

#[test]
fn a_store_without_timers_has_no_files_for_them() {
    let mut rig = Rig::new();
    assert_eq!(rig.run(), None);
    rig.close_and_open();
    for name in ["timerwheel", "timerlog", "config/timercheck", "config/timermetrics"] {
        assert!(rig.disk.open(&Path::new(ROOT).join(name)).is_err(), "{name}");
    }
}

#[test]
fn messages_come_at_their_time_and_in_their_order() {
    let mut rig = Rig::new();
    for number in 0..3 {
        rig.send(number, 5_000);
    }
    rig.send(3, 3_000);
    // 3 s from …36.720 is …39.720, which is delivered with the tick that ends at …40.
    assert_eq!(rig.run(), Some(START_MS + TO_FULL_SECOND_MS + 3_000));
    rig.pass(TO_FULL_SECOND_MS + 2_999);
    assert!(rig.numbers().is_empty());
    rig.pass(1);
    assert_eq!(rig.numbers(), [3]);
    assert_eq!(rig.pass(1_999), Some(START_MS + TO_FULL_SECOND_MS + 5_000));
    assert_eq!(rig.pass(1), None);
    assert_eq!(rig.numbers(), [3, 0, 1, 2]);
    rig.check_all_delivered();
    let statistics = rig.timers().statistics();
    assert_eq!((statistics.taken_in, statistics.delivered, statistics.delivered_late), (4, 4, 0));
}

#[test]
fn a_message_is_what_it_was_with_the_times_of_its_wait() {
    let mut rig = Rig::new();
    rig.send_with(1, 2_000, "TAGS\u{1}paid\u{2}");
    rig.run();
    rig.pass(10_000);
    let delivered = rig.delivered();
    let [message] = &delivered[..] else { panic!("one message, found {delivered:?}") };
    let view = message.record.view();
    assert_eq!((view.queue_id(), view.flag(), view.born_timestamp_ms()), (1, 7, START_MS - 5));
    assert_eq!(view.born_host().to_string(), "10.0.0.9:4711");
    let property = |name| message.property(name).unwrap_or_default();
    assert_eq!((property("TAGS"), property("UNIQ_KEY")), ("paid".to_string(), "id-1".to_string()));
    assert_eq!((property("REAL_TOPIC"), property("REAL_QID")), ("orders".to_string(), "1".to_string()));
    assert_eq!(property("TIMER_ENQUEUE_MS"), (START_MS - 720).to_string());
    assert_eq!(property("TIMER_DEQUEUE_MS"), (START_MS + 10_000).to_string());
}

#[test]
fn a_message_whose_slot_has_passed_comes_at_once() {
    let mut rig = Rig::new();
    rig.send(0, 60_000);
    rig.pass(10_000);
    rig.send(1, 100);
    // The clock goes on before the message is taken in.
    rig.clock.advance(5_000);
    rig.send(2, 100);
    rig.run();
    rig.clock.advance(5_000);
    assert_eq!(rig.numbers(), [1]);
    rig.run();
    assert_eq!(rig.numbers(), [1, 2]);
    rig.send(3, -8_000);
    rig.run();
    assert_eq!(rig.numbers(), [1, 2, 3]);
    assert_eq!(rig.timers().statistics().delivered_late, 1);
    let never = i64::MAX.to_string();
    assert_eq!(rig.delivered()[2].property("TIMER_ENQUEUE_MS"), Some(never));
}

#[test]
fn a_message_that_waits_longer_than_the_wheel_reaches_goes_round_and_comes_once() {
    let mut rig = Rig::new();
    rig.send(0, 25_000);
    rig.send(1, 75_000);
    rig.run();
    for second in 0..80 {
        rig.pass(1_000);
        if second % 13 == 5 {
            rig.close_and_open();
        }
        rig.check_none_early();
    }
    rig.check_all_delivered();
    let waits = rig.store().read_queue(TIMER_TOPIC, 0, QueueOffset(0), 99, usize::MAX).expect("read");
    let rolls: Vec<_> = waits
        .iter()
        .map(|record| {
            let view = record.view();
            view.properties().get("TIMER_ROLL_TIMES").map(str::to_string)
        })
        .collect();
    let some = |times: &str| Some(times.to_string());
    assert_eq!(rolls, [None, None, some("1"), some("1"), some("2"), some("3")]);
}

#[test]
fn a_message_that_was_taken_back_does_not_come() {
    let mut rig = Rig::new();
    for number in 0..3 {
        rig.send(number, 15_000);
    }
    rig.run();
    rig.recall(1);
    rig.pass(20_000);
    assert_eq!(rig.numbers(), [0, 2]);
    assert_eq!(rig.timers().statistics().recalled, 1);
    // A recall that comes too late, or for nothing, is no message.
    rig.recall(0);
    rig.pass(60_000);
    assert_eq!(rig.numbers(), [0, 2]);
}

#[test]
fn a_message_that_was_taken_back_before_it_went_round_does_not_come_though_the_broker_was_away() {
    let mut rig = Rig::new();
    rig.send(0, 30_000);
    rig.send(1, 30_000);
    rig.recall(0);
    rig.run();
    rig.pass(60_000);
    assert_eq!(rig.numbers(), [1]);
    assert_eq!(rig.timers().statistics().recalled, 1);
}

#[test]
fn a_slot_with_more_messages_than_a_batch_comes_whole_and_once_though_killed_in_between() {
    let mut rig = Rig::new();
    for number in 0..2_500 {
        rig.send(number, 15_000);
    }
    rig.run();
    rig.clock.advance(40_000);
    rig.settle_store();
    assert!(rig.round().awaits.is_some());
    rig.settle_store();
    assert!(rig.round().awaits.is_some());
    rig.settle_store();
    assert_eq!(rig.numbers().len(), 2_048);
    rig.kill_and_open();
    rig.run();
    rig.check_all_delivered();
    assert_eq!(rig.timers().statistics().found_delivered, 2_048);
}

#[test]
fn nothing_comes_twice_though_killed_between_delivery_and_checkpoint_again_and_again() {
    let mut rig = Rig::new();
    for number in 0..10 {
        rig.send(number, 5_000 + 1_000 * (number as i64 % 3));
    }
    rig.run();
    rig.clock.advance(20_000);
    for _ in 0..5 {
        rig.settle_store();
        rig.round();
        rig.settle_store();
        rig.kill_and_open();
    }
    rig.run();
    rig.check_all_delivered();
}

#[test]
fn wheel_log_and_checkpoint_come_back_from_the_timer_topic() {
    let files = ["timerwheel", "timerlog", "config/timercheck"];
    for lost in 1..8 {
        for is_orderly in [true, false] {
            let mut rig = Rig::new();
            for number in 0..30 {
                rig.send(number, 2_000 + 2_000 * number as i64);
                rig.pass(300);
            }
            rig.recall(29);
            rig.pass(15_000);
            if is_orderly {
                rig.close()
            } else {
                rig.kill()
            }
            let is_lost = |place: usize| lost & (1 << place) != 0;
            for (_, name) in files.iter().enumerate().filter(|(place, _)| is_lost(*place)) {
                rig.remove(name);
            }
            rig.open();
            for _ in 0..100 {
                rig.pass(1_000);
            }
            let sent = rig.sent.remove(&29).expect("was sent");
            rig.check_all_delivered();
            rig.sent.insert(29, sent);
            assert!(rig.timers().statistics().rebuilds > 0, "lost {lost}, orderly {is_orderly}");
        }
    }
}

#[test]
fn another_precision_makes_the_wheel_anew() {
    let mut rig = Rig::new();
    rig.send(0, 15_000);
    rig.run();
    rig.close();
    rig.timer_options = TimerOptions { precision_ms: 100, ..timer_options() };
    rig.open();
    assert_eq!(rig.timers().statistics().rebuilds, 1);
    rig.run();
    rig.pass(30_000);
    rig.check_all_delivered();
}

#[test]
fn a_broker_that_was_away_for_longer_than_the_wheel_turns_delivers_everything() {
    let mut rig = Rig::new();
    for number in 0..50 {
        rig.send(number, 1_000 * number as i64);
    }
    rig.run();
    rig.close();
    rig.clock.advance(500_000);
    rig.open();
    for number in 50..60 {
        rig.send(number, 1_000 * number as i64);
    }
    rig.run();
    rig.pass(80_000);
    rig.check_all_delivered();
}

#[test]
fn counts_are_those_of_what_waits() {
    let mut rig = Rig::new();
    for number in 0..5 {
        rig.send(number, 4_000 + 10_000 * (number as i64 / 3));
    }
    rig.run();
    let due_ms = rig.sent[&0].due_ms;
    assert_eq!(rig.timers().count_at(due_ms - 720).expect("count"), 3);
    assert_eq!(rig.timers().count_at(due_ms + 5_000).expect("count"), 0);
    rig.pass(8_000);
    rig.close_and_open();
    let text = rig.timers().metrics_text();
    assert!(text.contains("\"orders\":{\"count\":2,"), "{text}");
}

#[test]
fn options_that_no_wheel_can_have_are_refused() {
    let rig = Rig::new();
    let wrong = [
        TimerOptions { precision_ms: 300, ..timer_options() },
        TimerOptions { roll_window_slots: 61, ..timer_options() },
        TimerOptions { roll_window_slots: 1, ..timer_options() },
        TimerOptions { log_file_size_bytes: 100, ..timer_options() },
    ];
    for options in wrong {
        let opened = escrowmq_store::timer::Timers::open(rig.store(), options, START_MS);
        assert!(matches!(opened, Err(StoreError::BadOption { .. })), "{options:?}");
    }
}
