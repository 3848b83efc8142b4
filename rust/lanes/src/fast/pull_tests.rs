//! Pulls and requests about offsets over a store whose steps are called.

use std::time::Duration;

use escrowmq_net::{ConnectionId, Peer};
use escrowmq_store::{FlushMode, StoreCore};

use super::codes::response;
use super::lane::{FastLaneOptions, Verdict};
use super::rig::{Answered, PEER, Rig, bodies, pull_fields};

const ASYNC: FlushMode = FlushMode::ASYNC_DEFAULT;

/// A pull that does not wait, and one that does.
const NOW: &str = "0";
const WAIT: &str = "2";

fn store(rig: &mut Rig, tags: &[&str]) {
    for (index, tag) in tags.iter().enumerate() {
        rig.send("orders", "0", &format!("TAGS\u{1}{tag}\u{2}"), format!("{tag} {index}").as_bytes());
    }
    assert!(rig.answers().iter().all(|answer| answer.header.code == response::SUCCESS));
    rig.build();
}

fn offsets(answer: &Answered) -> (&str, &str, &str) {
    (answer.field("nextBeginOffset"), answer.field("minOffset"), answer.field("maxOffset"))
}

#[test]
fn a_pull_finds_what_its_group_wants() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["paid", "created", "paid"]);
    let answer = rig.answer_to(11, &pull_fields("billing", "0", NOW), b"");
    assert_eq!((answer.header.code, answer.remark()), (response::SUCCESS, "FOUND"));
    assert_eq!(bodies(&answer), ["paid 0", "paid 2"]);
    assert_eq!(offsets(&answer), ("3", "0", "3"));
    assert_eq!(answer.field("suggestWhichBrokerId"), "0");
    let answer = rig.answer_to(361, &pull_fields("all", "1", "20"), b"");
    assert_eq!(bodies(&answer), ["created 1", "paid 2"], "what a request says itself counts");
}

#[test]
fn where_nothing_is_wanted_a_pull_is_told_where_to_go_on() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["created"; 5]);
    let answer = rig.answer_to(11, &pull_fields("billing", "1", WAIT), b"");
    assert_eq!(
        (answer.header.code, answer.remark()),
        (response::PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    );
    assert_eq!(offsets(&answer), ("5", "0", "5"));
    store(&mut rig, &["created"; 1000]);
    let answer = rig.answer_to(11, &pull_fields("billing", "0", WAIT), b"");
    assert_eq!(offsets(&answer), ("800", "0", "1005"));
}

#[test]
fn an_answer_holds_no_more_than_it_may_and_always_one() {
    let options = FastLaneOptions { pull_size_max_bytes: 700, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    store(&mut rig, &["a"; 40]);
    let answer = rig.answer_to(11, &pull_fields("all", "0", "4"), b"");
    assert!(answer.body.len() <= 700 && bodies(&answer).len() > 1);
    rig.send("orders", "0", "", &[b'x'; 2000]);
    rig.answers();
    rig.build();
    let answer = rig.answer_to(11, &pull_fields("all", "40", "4"), b"");
    assert_eq!(bodies(&answer).len(), 1);
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["a"; 40]);
    assert_eq!(bodies(&rig.answer_to(11, &pull_fields("all", "0", "4"), b"")).len(), 32);
    let mut few = pull_fields("all", "0", "4");
    few[4] = ("maxMsgNums", "3");
    let answer = rig.answer_to(11, &few, b"");
    assert_eq!((bodies(&answer).len(), answer.field("nextBeginOffset")), (3, "3"));
}

#[test]
fn an_offset_outside_of_the_queue_is_corrected() {
    let mut rig = Rig::new(ASYNC);
    let answer = rig.answer_to(11, &pull_fields("all", "7", WAIT), b"");
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_OFFSET_MOVED, "NO_MESSAGE_IN_QUEUE"));
    assert_eq!(offsets(&answer), ("0", "0", "0"));
    store(&mut rig, &["a"; 2]);
    let answer = rig.answer_to(11, &pull_fields("all", "7", WAIT), b"");
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_OFFSET_MOVED, "OFFSET_OVERFLOW_BADLY"));
    assert_eq!(offsets(&answer), ("2", "0", "2"));
    let answer = rig.answer_to(11, &pull_fields("all", "-1", WAIT), b"");
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL"));
    assert_eq!(offsets(&answer), ("0", "0", "2"));
    let answer = rig.answer_to(11, &pull_fields("all", "2", NOW), b"");
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_NOT_FOUND, "OFFSET_OVERFLOW_ONE"));
}

#[test]
fn a_parked_pull_wakes_when_something_for_it_arrives() {
    let mut rig = Rig::new(ASYNC);
    assert_eq!(rig.ask(11, &pull_fields("billing", "0", WAIT), b""), Verdict::Done);
    assert_eq!(rig.shared.statistics().pulls_parked, 1);
    assert!(rig.answers().is_empty());
    store(&mut rig, &["created"]);
    assert!(rig.answers().is_empty(), "that is not for it");
    rig.send("orders", "1", "TAGS\u{1}paid\u{2}", b"elsewhere");
    rig.answers();
    rig.build();
    assert!(rig.answers().is_empty(), "nor is that");
    rig.send("orders", "0", "TAGS\u{1}paid\u{2}", b"at last");
    rig.answers();
    rig.build();
    let answer = rig.answer();
    assert_eq!((bodies(&answer), answer.field("nextBeginOffset")), (vec!["at last".to_owned()], "2"));
    assert_eq!(answer.header.code, response::SUCCESS);
    assert_eq!(rig.shared.statistics().pulls_parked, 0);
}

#[test]
fn in_sync_mode_a_pull_sees_only_what_is_on_disk() {
    let mut rig = Rig::new(FlushMode::Sync);
    rig.ask(11, &pull_fields("all", "0", "6"), b"");
    rig.send("orders", "0", "", b"body");
    rig.lane.woken(&mut rig.sent);
    assert!(rig.answers().is_empty());
    rig.flush();
    let codes: Vec<_> =
        rig.answers().iter().map(|answer| (answer.header.opaque, answer.header.code)).collect();
    assert_eq!(codes, [(2, 0), (1, 0)], "the send, then the pull");
}

#[test]
fn a_parked_pull_is_answered_when_its_time_is_over() {
    let mut rig = Rig::new(ASYNC);
    rig.ask(11, &pull_fields("billing", "0", WAIT), b"");
    rig.pass(Duration::from_millis(14_999));
    assert!(rig.answers().is_empty());
    rig.pass(Duration::from_millis(1));
    let answer = rig.answer();
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_NOT_FOUND, "NO_MESSAGE_IN_QUEUE"));
    rig.ask(11, &pull_fields("billing", "0", WAIT), b"");
    store(&mut rig, &["created"; 3]);
    rig.pass(Duration::from_secs(15));
    let answer = rig.answer();
    assert_eq!(
        (answer.header.code, answer.field("nextBeginOffset")),
        (response::PULL_RETRY_IMMEDIATELY, "3")
    );
}

#[test]
fn without_long_polling_a_pull_waits_for_a_moment() {
    let options = FastLaneOptions { is_long_polling: false, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    rig.ask(11, &pull_fields("all", "0", "6"), b"");
    rig.pass(Duration::from_secs(1));
    assert_eq!(rig.answer().header.code, response::PULL_NOT_FOUND);
}

#[test]
fn the_pulls_of_a_closed_connection_are_forgotten_and_no_others() {
    let mut rig = Rig::new(ASYNC);
    let other = Peer { connection: ConnectionId(8), ..PEER };
    for peer in [PEER, PEER, other] {
        let frame = rig.frame(11, 0, &pull_fields("all", "0", "6"), b"");
        rig.lane.frame(&mut rig.sent, peer, &frame);
    }
    assert_eq!(rig.shared.statistics().pulls_parked, 3);
    rig.lane.closed(PEER.connection);
    assert_eq!(rig.shared.statistics().pulls_parked, 1);
    rig.send("orders", "0", "", b"body");
    rig.build();
    let connections: Vec<_> = rig.answers().iter().map(|answer| answer.connection).collect();
    assert_eq!(connections, [PEER.connection, other.connection], "the send, then the pull");
}

#[test]
fn more_pulls_than_may_wait_are_refused() {
    let options = FastLaneOptions { parked_pulls_max: 1, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    rig.ask(11, &pull_fields("all", "0", "6"), b"");
    assert_eq!(rig.answer_to(11, &pull_fields("all", "0", "6"), b"").header.code, response::POLLING_FULL);
}

#[test]
fn pulls_that_are_not_known_enough_of_are_left_to_python() {
    let mut rig = Rig::new(ASYNC);
    assert_eq!(rig.ask(11, &pull_fields("strangers", "0", NOW), b""), Verdict::Passed);
    let mut other_topic = pull_fields("billing", "0", NOW);
    other_topic[1] = ("topic", "unknown");
    assert_eq!(rig.ask(11, &other_topic, b""), Verdict::Passed);
    let mut no_subscription = pull_fields("billing", "0", NOW);
    no_subscription[1] = ("topic", "%RETRY%billing");
    assert_eq!(rig.ask(11, &no_subscription, b""), Verdict::Passed);
    let mut by_property = pull_fields("billing", "0", "4");
    by_property[9] = ("expressionType", "SQL92");
    assert_eq!(rig.ask(11, &by_property, b""), Verdict::Passed);
    assert!(rig.answers().is_empty());
}

#[test]
fn what_may_not_be_pulled_is_refused_with_the_reason() {
    let mut rig = Rig::new(ASYNC);
    let mut ask = |change: (usize, (&'static str, &'static str))| {
        let mut fields = pull_fields("billing", "0", NOW);
        fields[change.0] = change.1;
        let answer = rig.answer_to(11, &fields, b"");
        (answer.header.code, answer.remark().to_owned(), answer.field("forbiddenType").to_owned())
    };
    let (code, remark, kind) = ask((0, ("consumerGroup", "idle")));
    assert_eq!((code, &*kind), (response::NO_PERMISSION, "2"));
    assert_eq!(remark, "subscription group no permission, idle");
    let (code, remark, kind) = ask((1, ("topic", "closed")));
    assert_eq!((code, &*kind), (response::NO_PERMISSION, "3"));
    assert_eq!(remark, "the topic[closed] pulling message is forbidden");
    let (code, remark, kind) = ask((2, ("queueId", "4")));
    assert_eq!((code, &*kind), (response::INVALID_PARAMETER, "absent"));
    assert!(
        remark.starts_with("queueId[4] is illegal, topic:[orders] topicConfig.readQueueNums:[4]"),
        "{remark}"
    );
    assert_eq!(ask((8, ("subVersion", "6"))).0, response::SUBSCRIPTION_NOT_LATEST);
    assert_eq!(ask((3, ("queueOffset", "first"))).0, response::SYSTEM_ERROR);
    let mut unreadable = pull_fields("billing", "0", "4");
    unreadable[10] = ("subscription", "||");
    assert_eq!(rig.answer_to(11, &unreadable, b"").header.code, response::SUBSCRIPTION_PARSE_FAILED);
    rig.shared.knowledge.set_broker_permission(2);
    let answer = rig.answer_to(11, &pull_fields("billing", "0", NOW), b"");
    assert_eq!((answer.header.code, answer.field("forbiddenType")), (response::NO_PERMISSION, "1"));
}

#[test]
fn a_pull_commits_the_offset_that_it_brings_and_obeys_a_reset() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["paid"; 4]);
    let mut fields = pull_fields("billing", "3", "1");
    fields[6] = ("commitOffset", "2");
    rig.answer_to(11, &fields, b"");
    assert_eq!(rig.shared.offsets.get("billing", "orders", 0), Some(2));
    rig.answer_to(11, &pull_fields("billing", "3", NOW), b"");
    assert_eq!(rig.shared.offsets.get("billing", "orders", 0), Some(2), "that one brought none");
    rig.shared.offsets.reset("billing", "orders", 0, 1);
    let answer = rig.answer_to(11, &fields, b"");
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_OFFSET_MOVED, "OFFSET_RESET"));
    assert_eq!(offsets(&answer), ("1", "0", "4"));
    assert_eq!(
        rig.shared.offsets.get("billing", "orders", 0),
        Some(1),
        "what it committed unaware does not count"
    );
    assert_eq!(rig.answer_to(11, &pull_fields("billing", "1", NOW), b"").header.code, response::SUCCESS);
}

#[test]
fn a_pull_that_waits_is_told_of_a_reset_at_once() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["paid"; 4]);
    rig.ask(11, &pull_fields("billing", "4", WAIT), b"");
    rig.ask(11, &pull_fields("all", "4", WAIT), b"");
    rig.shared.reset_offset("billing", "orders", 0, 1);
    rig.pass(Duration::ZERO);
    let answer = rig.answer();
    assert_eq!((answer.header.code, answer.remark()), (response::PULL_OFFSET_MOVED, "OFFSET_RESET"));
    assert_eq!(offsets(&answer), ("1", "0", "4"));
    assert_eq!(rig.answers().len(), 0, "the other group waits on");
}

#[test]
fn how_far_a_group_has_pulled_is_known() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["paid", "created", "paid"]);
    assert_eq!(rig.shared.offsets.pulled(), []);
    rig.answer_to(11, &pull_fields("billing", "0", NOW), b"");
    rig.ask(11, &pull_fields("all", "3", WAIT), b"");
    let mut pulled = rig.shared.offsets.pulled();
    pulled.sort();
    let expected = [("orders@all".into(), [(0, 3)].into()), ("orders@billing".into(), [(0, 3)].into())];
    assert_eq!(pulled, expected);
}

#[test]
fn what_lies_behind_the_hot_window_is_not_read_here() {
    let options = FastLaneOptions { hot_window_bytes: 300, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    store(&mut rig, &["a"; 10]);
    // Without a reader thread there is nobody to hand it to.
    let answer = rig.answer_to(11, &pull_fields("all", "0", "4"), b"");
    assert_eq!(answer.header.code, response::SYSTEM_BUSY);
    let answer = rig.answer_to(11, &pull_fields("all", "9", "4"), b"");
    assert_eq!(answer.header.code, response::SUCCESS);
}

fn offset_fields<'a>(group: &'a str, queue_id: &'a str) -> [(&'a str, &'a str); 3] {
    [("consumerGroup", group), ("topic", "orders"), ("queueId", queue_id)]
}

#[test]
fn the_ends_of_a_queue_are_told_and_0_where_there_is_none() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["a"; 3]);
    for (code, queue_id, expected) in
        [(30, "0", "3"), (31, "0", "0"), (30, "1", "0"), (31, "1", "0"), (30, "-1", "0")]
    {
        let answer = rig.answer_to(code, &offset_fields("", queue_id), b"");
        assert_eq!((answer.header.code, answer.field("offset")), (response::SUCCESS, expected));
    }
}

#[test]
fn a_consumer_offset_is_what_was_committed() {
    let mut rig = Rig::new(ASYNC);
    let commit =
        [("consumerGroup", "billing"), ("topic", "orders"), ("queueId", "2"), ("commitOffset", "11")];
    let answer = rig.answer_to(15, &commit, b"");
    assert_eq!((answer.header.code, answer.header.ext_fields.len()), (response::SUCCESS, 0));
    let answer = rig.answer_to(14, &offset_fields("billing", "2"), b"");
    assert_eq!((answer.header.code, answer.field("offset")), (response::SUCCESS, "11"));
    let frame = rig.frame(15, 2, &commit, b"");
    assert_eq!(rig.lane.frame(&mut rig.sent, PEER, &frame), Verdict::Done);
    assert!(rig.answers().is_empty());
    for (place, field) in [(0, ("consumerGroup", "strangers")), (1, ("topic", "unknown"))] {
        let mut fields = commit;
        fields[place] = field;
        assert_eq!(rig.ask(15, &fields, b""), Verdict::Passed);
    }
}

#[test]
fn a_group_that_never_committed_begins_at_0_where_0_is_still_in_memory() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &["a"]);
    let answer = rig.answer_to(14, &offset_fields("new", "0"), b"");
    assert_eq!((answer.header.code, answer.field("offset")), (response::SUCCESS, "0"));
    let answer = rig.answer_to(14, &offset_fields("new", "1"), b"");
    assert_eq!(answer.header.code, response::QUERY_NOT_FOUND);
    assert_eq!(answer.remark(), "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first");
    let [group, topic, queue] = offset_fields("new", "0");
    let answer = rig.answer_to(14, &[group, topic, queue, ("setZeroIfNotFound", "false")], b"");
    assert_eq!(answer.header.code, response::QUERY_NOT_FOUND);
}

#[test]
fn a_new_group_does_not_begin_behind_a_first_message_that_waits_for_its_flush() {
    let mut rig = Rig::new(FlushMode::Sync);
    assert_eq!(rig.send("orders", "0", "", b"first"), Verdict::Done);
    let answer = rig.answer_to(14, &offset_fields("new", "0"), b"");
    assert_eq!((answer.header.code, answer.field("offset")), (response::SUCCESS, "0"));
    let answer = rig.answer_to(14, &offset_fields("new", "1"), b"");
    assert_eq!(answer.header.code, response::QUERY_NOT_FOUND);

    rig.flush();
    rig.build();
    assert_eq!(rig.answer().header.code, response::SUCCESS);
    let answer = rig.answer_to(30, &[("topic", "orders"), ("queueId", "0")], b"");
    assert_eq!(answer.field("offset"), "1");
}

#[test]
fn pulls_are_looked_at_again_when_someone_asks_for_it() {
    let mut rig = Rig::new(ASYNC);
    rig.ask(11, &pull_fields("all", "0", "6"), b"");
    rig.send("orders", "0", "", b"body");
    rig.answers();
    // Built where nobody tells the lane.
    let core: &StoreCore = &rig.core;
    while core.build_once().expect("a build") < core.log_end() {}
    let _ = rig.shared.mailbox.take();
    rig.lane.woken(&mut rig.sent);
    assert!(rig.answers().is_empty());
    rig.shared.wake_pulls("orders", 0);
    rig.lane.woken(&mut rig.sent);
    assert_eq!(bodies(&rig.answer()), ["body"]);
}
