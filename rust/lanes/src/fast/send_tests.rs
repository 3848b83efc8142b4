//! Sends over a store whose steps are called.

use std::time::Duration;

use escrowmq_store::{FlushMode, LogOffset};
use escrowmq_wire::{BatchMessage, ExtFields, OffsetMessageId};

use super::codes::response;
use super::lane::Verdict;
use super::pending_answers::{Late, PendingAnswer};
use super::reply::Asker;
use super::rig::{PEER, Rig, send_fields};

const ASYNC: FlushMode = FlushMode::ASYNC_DEFAULT;

fn batch(bodies: &[&str]) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        let message = BatchMessage { flag: 3, body: body.as_bytes(), properties: b"TAGS\x01b\x02" };
        message.encode_into(&mut out).expect("it fits");
    }
    out
}

#[test]
fn a_message_is_stored_as_sent_with_the_brokers_properties_behind_its_own() {
    let mut rig = Rig::new(ASYNC);
    rig.send("orders", "3", "TAGS\u{1}paid\u{2}UNIQ_KEY\u{1}7F0A\u{2}WAIT\u{1}true\u{2}", b"body");
    let answer = rig.answer();
    assert_eq!((answer.header.code, answer.header.opaque), (response::SUCCESS, 1));
    let (fields, expected) = (
        &answer.header.ext_fields,
        [
            ("MSG_REGION", "region"),
            ("TRACE_ON", "true"),
            ("msgId", "7F00000100002A9F0000000000000000"),
            ("queueId", "3"),
            ("queueOffset", "0"),
            ("transactionId", "7F0A"),
        ],
    );
    assert_eq!(fields.iter().collect::<Vec<_>>(), expected);
    rig.build();
    let record = rig.core.record_at(LogOffset(0)).expect("it is there");
    let view = record.view();
    assert_eq!((view.topic(), view.queue_id(), view.body(), view.flag()), ("orders", 3, &b"body"[..], 9));
    assert_eq!((view.born_host(), view.born_timestamp_ms()), (PEER.address, 1_794_984_736_583));
    let expected: &[u8] = b"TAGS\x01paid\x02UNIQ_KEY\x017F0A\x02WAIT\x01true\x02\
        MSG_REGION\x01region\x02TRACE_ON\x01true\x02CLUSTER\x01cluster\x02";
    assert_eq!(view.properties_bytes(), expected);
}

#[test]
fn a_message_without_an_id_gets_one() {
    let mut rig = Rig::new(ASYNC);
    rig.send("orders", "0", "", b"body");
    rig.build();
    let record = rig.core.record_at(LogOffset(0)).expect("it is there");
    let id = record.view().properties().get("UNIQ_KEY").expect("an id").to_owned();
    assert_eq!(id.len(), 32);
    assert_eq!(rig.answer().field("transactionId"), id);
}

#[test]
fn what_is_more_than_an_append_is_left_to_python_untouched() {
    let mut rig = Rig::new(ASYNC);
    for (topic, properties) in [
        ("%RETRY%billing", ""),
        ("orders", "TRAN_MSG\u{1}true\u{2}"),
        ("orders", "DELAY\u{1}3\u{2}"),
        ("orders", "TIMER_DELIVER_MS\u{1}9\u{2}"),
    ] {
        assert_eq!(rig.send(topic, "0", properties, b"body"), Verdict::Passed, "{topic} {properties}");
    }
    let mut prepared = send_fields("orders", "0", "");
    prepared[5] = ("f", "4");
    assert_eq!(rig.ask(310, &prepared, b"body"), Verdict::Passed);
    assert_eq!(rig.ask(34, &[], b""), Verdict::Passed);
    assert_eq!(rig.send("unknown", "0", "", b"body"), Verdict::Awaited, "Python makes the topic");
    assert!(rig.answers().is_empty() && rig.sent.settled_count == 0);
    assert_eq!(rig.core.log_end(), LogOffset(0));
}

#[test]
fn in_sync_mode_answers_follow_the_flush_in_order() {
    let mut rig = Rig::new(FlushMode::Sync);
    for _ in 0..3 {
        assert_eq!(rig.send("orders", "0", "", b"body"), Verdict::Done);
    }
    assert_eq!(rig.shared.statistics().sends_waiting, 3);
    rig.lane.woken(&mut rig.sent);
    assert!(rig.answers().is_empty(), "nothing is on disk yet");
    rig.core.flush_once().expect("a flush");
    rig.lane.woken(&mut rig.sent);
    assert!(rig.answers().is_empty(), "nothing is in its queue yet");
    rig.build();
    let opaques: Vec<_> = rig.answers().iter().map(|answer| answer.header.opaque).collect();
    assert_eq!(opaques, [1, 2, 3]);
    assert_eq!(rig.shared.statistics().sends_waiting, 0);
}

#[test]
fn a_send_whose_flush_takes_too_long_is_told_so_with_its_place() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.send("orders", "2", "", b"body");
    rig.pass(Duration::from_secs(4));
    assert!(rig.answers().is_empty());
    rig.pass(Duration::from_secs(1));
    let answer = rig.answer();
    assert_eq!(answer.header.code, response::FLUSH_DISK_TIMEOUT);
    assert_eq!((answer.field("queueId"), answer.field("queueOffset")), ("2", "0"));
    assert!(answer.field("msgId").parse::<OffsetMessageId>().is_ok());
    rig.flush();
    assert!(rig.answers().is_empty(), "it is answered once");
}

#[test]
fn sends_that_a_stopping_store_does_not_flush_are_refused() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.send("orders", "0", "", b"body");
    escrowmq_store::ArrivalListener::stopped(&*rig.shared);
    rig.lane.woken(&mut rig.sent);
    assert_eq!(rig.answer().header.code, response::SERVICE_NOT_AVAILABLE);
    rig.core.close().expect("an orderly end");
    rig.send("orders", "0", "", b"body");
    assert_eq!(rig.answer().header.code, response::SERVICE_NOT_AVAILABLE);
}

#[test]
fn a_lane_that_closes_refuses_sends_and_answers_those_that_it_took() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.send("orders", "0", "", b"taken");
    let began = std::time::Instant::now();
    rig.shared.finish_sends(Duration::from_millis(20));
    assert!(began.elapsed() >= Duration::from_millis(20), "one waits for its flush");
    rig.send("orders", "0", "", b"refused");
    assert_eq!(rig.answer().header.code, response::SERVICE_NOT_AVAILABLE);
    rig.flush();
    assert_eq!(rig.answer().header.code, response::SUCCESS);
    rig.shared.finish_sends(Duration::from_secs(3600));
}

/// An answer of Python to what it appended.
fn held(rig: &mut Rig, end: LogOffset) -> PendingAnswer {
    let frame = rig.frame(36, 0, &[], b"");
    let header = frame.decode_header().expect("a header");
    let asker = Asker::new(PEER, &frame, &header);
    let head = asker.head(response::SUCCESS, None, ExtFields::default(), 0);
    let late = Late { code: response::SYSTEM_ERROR, remark: Some("late".to_owned()) };
    PendingAnswer { end, asker, head, body: Vec::new(), late }
}

#[test]
fn an_answer_of_python_waits_for_what_it_tells_of_among_the_lanes_own() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.send("orders", "0", "", b"before");
    let middle = rig.core.log_end();
    rig.send("orders", "0", "", b"after");
    // It comes after an answer that waits for more.
    let answer = held(&mut rig, middle);
    rig.shared.mailbox.hold(vec![answer]);
    assert!(rig.shared.mailbox.holds_answers());
    rig.lane.woken(&mut rig.sent);
    assert!(rig.answers().is_empty() && !rig.shared.mailbox.holds_answers());
    assert_eq!(rig.shared.statistics().sends_waiting, 3);
    rig.flush();
    let opaques: Vec<_> = rig.answers().iter().map(|answer| answer.header.opaque).collect();
    assert_eq!(opaques, [1, 3, 2]);
    let answer = held(&mut rig, middle);
    rig.shared.mailbox.hold(vec![answer]);
    rig.lane.woken(&mut rig.sent);
    assert_eq!(rig.answer().header.code, response::SUCCESS, "what it tells of was durable before it came");
}

#[test]
fn an_answer_of_python_says_what_it_says_when_the_flush_is_late_or_never_comes() {
    let mut rig = Rig::new(FlushMode::Sync);
    let answer = held(&mut rig, LogOffset(1));
    rig.shared.mailbox.hold(vec![answer]);
    rig.lane.woken(&mut rig.sent);
    rig.pass(Duration::from_secs(5));
    let answer = rig.answer();
    assert_eq!((answer.header.code, answer.remark()), (response::SYSTEM_ERROR, "late"));
    let answer = held(&mut rig, LogOffset(1));
    rig.shared.mailbox.hold(vec![answer]);
    escrowmq_store::ArrivalListener::stopped(&*rig.shared);
    rig.lane.woken(&mut rig.sent);
    assert_eq!(rig.answer().header.code, response::SERVICE_NOT_AVAILABLE);
}

#[test]
fn python_is_told_of_a_mark_when_the_log_is_visible_up_to_it_and_once() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.send("orders", "0", "", b"body");
    let end = rig.core.log_end();
    rig.shared.tell_when_visible(end);
    rig.shared.tell_when_visible(LogOffset(end.0 + 1));
    rig.lane.woken(&mut rig.sent);
    assert_eq!(rig.lane.take_reached(), None);
    rig.flush();
    assert_eq!(rig.lane.take_reached(), Some(end));
    assert_eq!(rig.lane.take_reached(), None);
    rig.send("orders", "0", "", b"body");
    rig.flush();
    assert_eq!(rig.lane.take_reached(), Some(rig.core.log_end()));
}

#[test]
fn one_way_sends_are_stored_and_not_answered() {
    for flush in [ASYNC, FlushMode::Sync] {
        let mut rig = Rig::new(flush);
        let frame = rig.frame(310, 2, &send_fields("orders", "0", ""), b"body");
        assert_eq!(rig.lane.frame(&mut rig.sent, PEER, &frame), Verdict::Done);
        rig.flush();
        assert!(rig.answers().is_empty());
        assert_eq!((rig.sent.settled_count, rig.shared.statistics().messages_stored), (1, 1));
        assert!(rig.core.record_at(LogOffset(0)).is_ok());
    }
}

#[test]
fn a_queue_that_is_not_named_is_each_in_turn_and_one_beyond_the_last_is_refused() {
    let mut rig = Rig::new(ASYNC);
    let mut queues = Vec::new();
    for _ in 0..4 {
        rig.send("orders", "-1", "", b"body");
        queues.push(rig.answer().field("queueId").to_owned());
    }
    queues.sort_unstable();
    assert_eq!(queues, ["0", "1", "2", "3"]);
    rig.send("orders", "4", "", b"body");
    let answer = rig.answer();
    assert_eq!(answer.header.code, response::INVALID_PARAMETER);
    assert!(answer.remark().starts_with("request queueId[4] is illegal"), "{}", answer.remark());
    assert_eq!(answer.field("MSG_REGION"), "region");
}

#[test]
fn what_the_store_refuses_is_the_senders_fault_or_the_brokers() {
    let mut rig = Rig::new(ASYNC);
    rig.send("orders", "0", "", &[b'x'; 4097]);
    assert_eq!(rig.answer().header.code, response::MESSAGE_ILLEGAL);
    rig.send("orders", "0", &format!("a\u{1}{}\u{2}", "x".repeat(32_700)), b"body");
    assert_eq!(rig.answer().header.code, response::MESSAGE_ILLEGAL);
    rig.send("orders", "0", "", b"");
    assert_eq!(rig.answer().header.code, response::MESSAGE_ILLEGAL);
    let answer = rig.answer_to(310, &[("b", "orders")], b"body");
    assert_eq!(
        (answer.header.code, answer.remark()),
        (response::SYSTEM_ERROR, "the custom field <queueId> is null")
    );
    assert_eq!(rig.shared.statistics().sends_refused, 4);
    rig.core.close().expect("an orderly end");
    rig.send("orders", "0", "", b"body");
    assert_eq!(rig.answer().header.code, response::SERVICE_NOT_AVAILABLE);
}

#[test]
fn a_broker_that_is_closed_to_sends_refuses_those_to_ordered_topics() {
    let mut rig = Rig::new(ASYNC);
    rig.shared.knowledge.set_broker_permission(4);
    rig.send("orders", "0", "", b"body");
    assert_eq!(rig.answer().header.code, response::SUCCESS);
    let entry =
        super::TopicEntry { read_queue_count: 1, write_queue_count: 1, permission: 6, is_ordered: true };
    rig.shared.knowledge.set_topics([(Box::from("orders"), entry)].into_iter().collect());
    rig.send("orders", "0", "", b"body");
    let answer = rig.answer();
    assert_eq!(answer.header.code, response::NO_PERMISSION);
    assert_eq!(answer.remark(), "the broker[127.0.0.1] sending message is forbidden");
}

#[test]
fn a_batch_is_stored_whole_and_answered_with_the_place_of_each() {
    let mut rig = Rig::new(ASYNC);
    let answer = rig.answer_to(
        320,
        &send_fields("orders", "1", "UNIQ_KEY\u{1}AB\u{2}"),
        &batch(&["one", "two", "three"]),
    );
    assert_eq!(answer.header.code, response::SUCCESS);
    assert_eq!((answer.field("queueOffset"), answer.field("transactionId")), ("0", "AB"));
    rig.build();
    let ids: Vec<OffsetMessageId> =
        answer.field("msgId").split(',').map(|id| id.parse().expect("an id")).collect();
    let stored: Vec<_> =
        ids.iter().map(|id| rig.core.record_at(LogOffset(id.log_offset)).expect("there")).collect();
    let bodies: Vec<_> = stored.iter().map(|record| record.view().body()).collect();
    assert_eq!(bodies, [&b"one"[..], b"two", b"three"]);
    assert!(stored.iter().all(|record| record.view().properties_bytes() == b"TAGS\x01b\x02"));
    let statistics = rig.shared.statistics();
    assert_eq!((statistics.sends, statistics.messages_stored), (1, 3));
}

#[test]
fn a_batch_with_one_bad_message_leaves_nothing_behind() {
    let mut rig = Rig::new(ASYNC);
    let mut cut = batch(&["one", "two"]);
    cut.truncate(cut.len() - 1);
    let large = batch(&["one", &"x".repeat(4097)]);
    let delayed = "DELAY\u{1}1\u{2}";
    for (properties, body) in [("", &cut), ("", &large), (delayed, &batch(&["one"]))] {
        let answer = rig.answer_to(320, &send_fields("orders", "1", properties), body);
        assert_eq!(answer.header.code, response::MESSAGE_ILLEGAL);
    }
    assert_eq!(rig.core.log_end(), LogOffset(0));
}

#[test]
fn a_request_that_is_given_back_is_tried_once_more_and_not_again() {
    let mut rig = Rig::new(ASYNC);
    let frame = rig.frame(310, 0, &send_fields("late", "0", ""), b"body");
    assert_eq!(rig.lane.frame(&mut rig.sent, PEER, &frame), Verdict::Awaited);
    rig.shared.mailbox.give_back(PEER, frame.clone());
    rig.lane.woken(&mut rig.sent);
    assert_eq!(rig.answer().header.code, response::SYSTEM_ERROR);
    let entry =
        super::TopicEntry { read_queue_count: 1, write_queue_count: 1, permission: 6, is_ordered: false };
    rig.shared.knowledge.set_topics([(Box::from("late"), entry)].into_iter().collect());
    rig.shared.mailbox.give_back(PEER, frame);
    rig.lane.woken(&mut rig.sent);
    let answer = rig.answer();
    assert_eq!((answer.header.code, answer.header.opaque), (response::SUCCESS, 1));
    assert_eq!(rig.shared.statistics().retries, 2);
}
