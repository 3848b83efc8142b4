//! What one peer may take of what all share, over a store whose steps are called.

use escrowmq_net::{ConnectionId, Peer};
use escrowmq_store::FlushMode;

use super::codes::response;
use super::lane::FastLaneOptions;
use super::rig::{PEER, Rig, pull_fields};

const ASYNC: FlushMode = FlushMode::ASYNC_DEFAULT;

#[test]
fn one_connection_leaves_room_for_the_parked_pulls_of_others() {
    let options = FastLaneOptions { parked_pulls_max: 8, ..FastLaneOptions::default() };
    let mut rig = Rig::with(ASYNC, options);
    for _ in 0..8 {
        rig.ask(11, &pull_fields("all", "0", "6"), b"");
    }
    assert_eq!(rig.shared.statistics().pulls_parked, 4);
    assert!(rig.answers().iter().all(|answer| answer.header.code == response::POLLING_FULL));
    let frame = rig.frame(11, 0, &pull_fields("all", "0", "6"), b"");
    rig.lane.frame(&mut rig.sent, Peer { connection: ConnectionId(8), ..PEER }, &frame);
    assert_eq!((rig.shared.statistics().pulls_parked, rig.answers().len()), (5, 0));
}

#[test]
fn an_arrival_wakes_many_pulls_in_slices_and_forgets_none() {
    let mut rig = Rig::new(ASYNC);
    let count = 2000;
    for _ in 0..count {
        rig.ask(11, &pull_fields("all", "0", "6"), b"");
    }
    rig.send("orders", "0", "", b"body");
    rig.answers();
    rig.build();
    let first = rig.answers().len();
    assert!(first > 0 && first < count, "{first} at once");
    let mut woken = first;
    for _ in 0..count {
        rig.lane.woken(&mut rig.sent);
        woken += rig.answers().len();
    }
    assert_eq!((woken, rig.shared.statistics().pulls_parked), (count, 0));
}

#[test]
fn no_offset_is_kept_for_a_queue_that_the_topic_never_had() {
    let mut rig = Rig::new(ASYNC);
    for (queue_id, code) in
        [("3", response::SUCCESS), ("4", response::INVALID_PARAMETER), ("-1", response::INVALID_PARAMETER)]
    {
        let fields =
            [("consumerGroup", "billing"), ("topic", "orders"), ("queueId", queue_id), ("commitOffset", "1")];
        assert_eq!(rig.answer_to(15, &fields, b"").header.code, code, "queue {queue_id}");
    }
    assert_eq!(rig.shared.offsets.get("billing", "orders", 4), None);
}
