//! Requests whose fields hold anything: each is answered once, or waits, or is Python's, and nothing panics.

use escrowmq_store::FlushMode;
use proptest::prelude::*;

use super::lane::Verdict;
use super::rig::{PEER, Rig, pull_fields, send_fields};

const CODES: [i32; 10] = [10, 310, 320, 11, 361, 14, 15, 30, 31, 34];
const NAMES: [&str; 17] = [
    "topic",
    "b",
    "queueId",
    "e",
    "sysFlag",
    "f",
    "flag",
    "h",
    "properties",
    "i",
    "queueOffset",
    "maxMsgNums",
    "consumerGroup",
    "subscription",
    "commitOffset",
    "suspendTimeoutMillis",
    "batch",
];

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<i32>().prop_map(|number| number.to_string()),
        (-2_i32..8).prop_map(|number| number.to_string()),
        "[a-z\u{1}\u{2}]{0,40}",
        "\\PC{0,10}",
        prop_oneof![
            Just("orders"),
            Just("../orders"),
            Just("billing"),
            Just("all"),
            Just("true"),
            Just("*"),
            Just("")
        ]
        .prop_map(str::to_owned),
    ]
}

/// A request of one kind with the fields of another, some of them replaced.
fn fields() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let base = prop_oneof![
        Just(send_fields("orders", "0", "TAGS\u{1}a\u{2}").to_vec()),
        Just(pull_fields("all", "0", "6").to_vec()),
        Just(Vec::new()),
    ];
    let changes = proptest::collection::vec((proptest::sample::select(&NAMES[..]), value()), 0..6);
    (base, changes).prop_map(|(base, changes)| {
        base.into_iter().map(|(name, value)| (name, value.to_owned())).chain(changes).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_request_is_answered_once_or_waits_or_is_pythons(
        requests in proptest::collection::vec(
            (proptest::sample::select(&CODES[..]), fields(), proptest::collection::vec(any::<u8>(), 0..80)), 1..30),
        is_sync in any::<bool>(),
    ) {
        let mut rig = Rig::new(if is_sync { FlushMode::Sync } else { FlushMode::ASYNC_DEFAULT });
        let mut asked = 0;
        for (code, fields, body) in &requests {
            let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, &**value)).collect();
            let frame = rig.frame(*code, 0, &fields, body);
            if rig.lane.frame(&mut rig.sent, PEER, &frame) == Verdict::Done {
                asked += 1;
            }
            let statistics = rig.shared.statistics();
            let waiting = usize::try_from(statistics.sends_waiting + statistics.pulls_parked).expect("few");
            prop_assert_eq!(rig.sent.answers.len() + waiting, asked);
        }
        rig.flush();
        rig.pass(std::time::Duration::from_secs(601));
        prop_assert_eq!(rig.sent.answers.len(), asked);
        let mut opaques: Vec<_> = rig.answers().iter().map(|answer| answer.header.opaque).collect();
        opaques.sort_unstable();
        opaques.dedup();
        prop_assert_eq!(opaques.len(), asked);
    }
}
