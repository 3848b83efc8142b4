//! Pulls that filter by expressions over properties.

use std::time::Duration;

use escrowmq_store::FlushMode;

use super::codes::response;
use super::lane::{FastLaneOptions, Verdict};
use super::rig::{Rig, bodies, pull_fields};

const ASYNC: FlushMode = FlushMode::ASYNC_DEFAULT;

/// The group's own subscription, without and with waiting; the one that the request brings along.
const NOW: &str = "0";
const WAIT: &str = "2";
const BROUGHT: &str = "4";

fn store(rig: &mut Rig, amounts: &[i32]) {
    for amount in amounts {
        let properties = format!("TAGS\u{1}paid\u{2}amount\u{1}{amount}\u{2}");
        rig.send("orders", "0", &properties, amount.to_string().as_bytes());
    }
    assert!(rig.answers().iter().all(|answer| answer.header.code == response::SUCCESS));
    rig.build();
}

fn by_expression<'a>(offset: &'a str, expression: &'a str) -> [(&'a str, &'a str); 11] {
    let mut fields = pull_fields("all", offset, BROUGHT);
    fields[9] = ("expressionType", "SQL92");
    fields[10] = ("subscription", expression);
    fields
}

#[test]
fn a_pull_finds_what_an_expression_wants() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &[50, 150, 100, 200]);
    let answer = rig.answer_to(11, &pull_fields("large", "0", NOW), b"");
    assert_eq!((answer.header.code, bodies(&answer)), (response::SUCCESS, vec!["150".into(), "200".into()]));
    assert_eq!(answer.field("nextBeginOffset"), "4");
    let answer = rig.answer_to(11, &by_expression("1", "amount BETWEEN 60 AND 160 AND TAGS = 'paid'"), b"");
    assert_eq!(bodies(&answer), ["150", "100"], "what a request says itself counts");
    let answer = rig.answer_to(11, &by_expression("0", "amount > 1000"), b"");
    assert_eq!(
        (answer.header.code, answer.remark()),
        (response::PULL_RETRY_IMMEDIATELY, "NO_MATCHED_MESSAGE")
    );
    assert_eq!(answer.field("nextBeginOffset"), "4");
}

#[test]
fn what_is_no_expression_or_of_another_type_is_left_to_python() {
    let mut rig = Rig::new(ASYNC);
    assert_eq!(rig.ask(11, &by_expression("0", "amount >"), b""), Verdict::Passed);
    let mut other_type = by_expression("0", "amount > 1");
    other_type[9] = ("expressionType", "sql92");
    assert_eq!(rig.ask(11, &other_type, b""), Verdict::Passed);
    let options = FastLaneOptions { has_property_filters: false, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    assert_eq!(rig.ask(11, &by_expression("0", "amount > 1"), b""), Verdict::Passed);
    assert!(rig.answers().is_empty());
}

#[test]
fn a_parked_pull_wakes_for_what_its_expression_wants() {
    let mut rig = Rig::new(ASYNC);
    rig.ask(11, &pull_fields("large", "0", WAIT), b"");
    store(&mut rig, &[1, 2, 3]);
    assert_eq!(rig.shared.statistics().pulls_parked, 1, "those are not for it");
    rig.send("orders", "0", "amount\u{1}101\u{2}", b"at last");
    rig.answers();
    rig.build();
    let answer = rig.answer();
    assert_eq!((bodies(&answer), answer.field("nextBeginOffset")), (vec!["at last".to_owned()], "4"));
    rig.ask(11, &pull_fields("large", "4", WAIT), b"");
    store(&mut rig, &[4]);
    rig.pass(Duration::from_secs(15));
    let answer = rig.answer();
    assert_eq!(
        (answer.header.code, answer.field("nextBeginOffset")),
        (response::PULL_RETRY_IMMEDIATELY, "5")
    );
}

#[test]
fn a_parked_pull_that_has_not_seen_all_that_came_is_told_to_come_again() {
    let mut rig = Rig::new(ASYNC);
    for group in ["large", "billing"] {
        rig.ask(11, &pull_fields(group, "0", WAIT), b"");
    }
    for _ in 0..1000 {
        rig.send("orders", "0", "amount\u{1}1\u{2}", b"body");
    }
    rig.answers();
    rig.build();
    let answers = rig.answers();
    assert_eq!(answers.len(), 2);
    for answer in answers {
        assert_eq!(answer.header.code, response::PULL_RETRY_IMMEDIATELY);
        assert_eq!(answer.field("nextBeginOffset"), "800");
    }
}

#[test]
fn the_costlier_an_expression_the_fewer_messages_are_looked_at_for_one_answer() {
    let mut rig = Rig::new(ASYNC);
    store(&mut rig, &[1; 1000]);
    let terms = |count| vec!["amount > 100"; count].join(" OR ");
    let next = |rig: &mut Rig, expression: &str| -> u64 {
        let answer = rig.answer_to(11, &by_expression("0", expression), b"");
        assert_eq!(answer.header.code, response::PULL_RETRY_IMMEDIATELY);
        answer.field("nextBeginOffset").parse().expect("a number")
    };
    assert_eq!(next(&mut rig, &terms(10)), 800);
    assert_eq!(next(&mut rig, &terms(1000)), 16);
    let answer = rig.answer_to(11, &by_expression("0", &format!("{} OR TRUE", terms(1000))), b"");
    assert_eq!((bodies(&answer).len(), answer.field("nextBeginOffset")), (16, "16"));
}

#[test]
fn records_behind_the_hot_window_are_not_looked_at_here() {
    let options = FastLaneOptions { hot_window_bytes: 300, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    store(&mut rig, &[1; 10]);
    // Without a reader thread there is nobody to hand it to.
    let answer = rig.answer_to(11, &pull_fields("large", "0", NOW), b"");
    assert_eq!(answer.header.code, response::SYSTEM_BUSY);
    let answer = rig.answer_to(11, &pull_fields("large", "9", NOW), b"");
    assert_eq!(answer.header.code, response::PULL_RETRY_IMMEDIATELY);
}
