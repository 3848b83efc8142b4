//! What hostile and broken peers meet: an answer or a closed connection, while others notice nothing.

mod support;

use std::io::{ErrorKind, Write};
use std::time::Duration;

use bytes::Bytes;
use escrowmq_net::{CloseReason, Command, Options, in_flight_size};
use escrowmq_wire::WireError;
use proptest::prelude::*;
use support::{Event, Reaction, Running, frame_bytes, loopback, start};

const SHORT: Duration = Duration::from_millis(50);

fn still_serves(running: &Running) {
    let mut client = running.connect();
    client.request(1, b"alive");
    assert_eq!(client.receive(), Some((1, Bytes::from_static(b"alive"))));
}

#[test]
fn half_a_frame_for_ever_is_closed_even_if_bytes_keep_coming() {
    let running = start(Options { frame_timeout: SHORT, ..loopback() }, Reaction::Echo);
    let (mut silent, mut dripping) = (running.connect(), running.connect());
    let frame = frame_bytes(1, &vec![0; 60_000]);
    silent.send(&frame[..100]);
    for byte in &frame {
        match dripping.stream.write_all(&[*byte]) {
            Ok(()) => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => {
                assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset));
                break;
            }
        }
    }
    for _ in 0..2 {
        assert_eq!(running.next_closed().1, CloseReason::SlowFrame);
    }
    assert!(silent.is_closed());
    still_serves(&running);
}

#[test]
fn numbers_that_cannot_be_right_close_the_connection_at_once() {
    let running = start(loopback(), Reaction::Echo);
    let limit = 16 * 1024 * 1024;
    let cases: [(&[u8], WireError); 4] = [
        (&[0x7F, 0xFF, 0xFF, 0xFF], WireError::FrameTooLarge { size: 0x8000_0003, size_max: limit }),
        (&[0x80, 0, 0, 0], WireError::FrameTooShort { length: i32::MIN }),
        (&[0, 0, 0, 9, 0, 0, 0, 6], WireError::HeaderBeyondFrame { header_size: 6, room: 5 }),
        (&[0, 0, 0, 9, 9, 0, 0, 5], WireError::UnknownHeaderKind { kind: 9 }),
    ];
    for (bytes, error) in cases {
        let mut client = running.connect();
        client.send(bytes);
        assert!(client.is_closed());
        assert_eq!(running.next_closed().1, CloseReason::BadFrame(error));
    }
    let statistics = running.wait_for(|statistics| statistics.connections == 0);
    assert_eq!((statistics.closed_by("bad_frame"), statistics.bytes_in_flight), (4, 0));
    still_serves(&running);
}

#[test]
fn a_tls_handshake_is_told_apart() {
    let running = start(loopback(), Reaction::Echo);
    let mut client = running.connect();
    client.send(&[0x16, 3, 1, 2, 0, 1]);
    assert!(client.is_closed());
    assert_eq!(running.next_closed().1, CloseReason::Tls);
}

#[test]
fn an_announced_frame_costs_what_has_arrived_of_it() {
    let running = start(loopback(), Reaction::Echo);
    let mut clients: Vec<_> = (0..50).map(|_| running.connect()).collect();
    let frame = frame_bytes(1, &vec![0; 15 << 20]);
    for client in &mut clients {
        client.send(&frame[..1_000]);
    }
    let statistics = running.wait_for(|statistics| statistics.bytes_received == 50_000);
    assert_eq!(statistics.bytes_in_flight, 50_000);
    still_serves(&running);
}

#[test]
fn a_client_that_never_reads_is_not_read_and_then_closed() {
    let limit = 256 * 1024;
    let options = Options {
        frame_size_max_bytes: limit,
        in_flight_max_bytes: limit,
        stall_timeout: SHORT,
        ..loopback()
    };
    let answer_size = 100_000;
    let running = start(options, Reaction::Amplify(answer_size));
    let mut client = running.connect();
    client.stream.set_write_timeout(Some(SHORT)).expect("timeout");
    let mut reader = running.connect();
    // A frame per event, so that the queue is looked at between answers.
    while client.stream.write_all(&frame_bytes(1, &[0; 100])).is_ok() {
        let in_flight = running.server.statistics().bytes_in_flight;
        assert!(in_flight <= 2 * limit as u64 + 2 * answer_size as u64, "{in_flight} bytes in flight");
        reader.request(2, b"");
        assert_eq!(reader.receive().expect("an answer").1.len(), answer_size);
    }
    assert_eq!(running.next_closed().1, CloseReason::SlowReader);
    running.wait_for(|statistics| statistics.bytes_in_flight == 0);
    reader.request(3, b"");
    assert!(reader.receive().is_some());
}

#[test]
fn a_client_with_too_much_unanswered_is_not_read_until_it_drains() {
    let options = Options { frame_size_max_bytes: 4096, in_flight_max_bytes: 8192, ..loopback() };
    let running = start(options, Reaction::Keep);
    let mut client = running.connect();
    let requests: Vec<u8> = (0..100).flat_map(|opaque| frame_bytes(opaque, &[0; 2_000])).collect();
    client.send(&requests);
    let mut held = Vec::new();
    for opaque in 0..100 {
        let (peer, frame) = running.next_frame();
        assert_eq!(frame.decode_header().expect("header").opaque, opaque);
        held.push((peer.connection, in_flight_size(&frame)));
        let size: usize = held.iter().map(|entry| entry.1).sum();
        assert!(size <= 8192 + 3_000);
        if size > 8192 {
            assert!(running.events.recv_timeout(Duration::from_millis(5)).is_err());
            let settled = held.drain(..).map(|(connection, size)| Command::Settle { connection, size });
            running.server.remote().submit(settled.collect::<Vec<_>>()).expect("submitted");
        }
    }
}

#[test]
fn when_all_together_have_too_much_in_flight_the_next_reader_waits() {
    let options = Options {
        frame_size_max_bytes: 4096,
        in_flight_max_bytes: 8192,
        in_flight_total_max_bytes: 8192,
        ..loopback()
    };
    let running = start(options, Reaction::Keep);
    let mut clients: Vec<_> = (0..3).map(|_| running.connect()).collect();
    let mut held = Vec::new();
    for client in &mut clients {
        client.request(1, &[0; 2_600]);
        held.push(running.next_frame());
    }
    clients[0].request(2, b"waits");
    assert!(running.events.recv_timeout(SHORT).is_err());
    let settled = held
        .iter()
        .map(|(peer, frame)| Command::Settle { connection: peer.connection, size: in_flight_size(frame) });
    running.server.remote().submit(settled.collect::<Vec<_>>()).expect("submitted");
    assert_eq!(&running.next_frame().1.body[..], b"waits");
}

#[test]
fn half_frames_that_fill_the_total_are_closed_in_time_and_others_go_on() {
    let limit = 64 * 1024;
    let options = Options {
        frame_size_max_bytes: limit,
        in_flight_max_bytes: limit,
        in_flight_total_max_bytes: limit,
        frame_timeout: Duration::from_millis(200),
        ..loopback()
    };
    let running = start(options, Reaction::Echo);
    let frame = frame_bytes(1, &vec![0; 60_000]);
    let mut hostile: Vec<_> = (0..8).map(|_| running.connect()).collect();
    for client in &mut hostile {
        client.send(&frame[..50_000]);
    }
    running.wait_for(|statistics| statistics.bytes_in_flight > limit as u64);
    // One read past the limit, and no further.
    let in_flight = running.server.statistics().bytes_in_flight;
    assert!(in_flight <= 2 * limit as u64 + 64 * 1024, "{in_flight} bytes in flight");
    still_serves(&running);
    for client in &mut hostile {
        assert!(client.is_closed());
    }
    let statistics = running.wait_for(|statistics| statistics.bytes_in_flight == 0);
    assert_eq!(statistics.closed_by("slow_frame"), 8);
}

#[test]
fn those_who_hold_much_hold_up_each_other_and_nobody_else() {
    let limit = 64 * 1024;
    let options = Options {
        frame_size_max_bytes: limit,
        in_flight_max_bytes: limit,
        in_flight_total_max_bytes: limit,
        connections_max: 16,
        frame_timeout: Duration::from_secs(3600),
        ..loopback()
    };
    let running = start(options, Reaction::Echo);
    let mut modest = running.connect();
    let frame = frame_bytes(1, &vec![0; 60_000]);
    let mut hostile: Vec<_> = (0..8).map(|_| running.connect()).collect();
    for client in &mut hostile {
        client.send(&frame[..50_000]);
    }
    running.wait_for(|statistics| statistics.bytes_in_flight > limit as u64);
    for opaque in 0..100 {
        // One at a time, and more at once than a share of 4 KiB holds.
        modest.request(opaque, &[7; 1_000]);
        assert_eq!(modest.receive().expect("an answer").0, opaque);
        let many: Vec<u8> = (0..20).flat_map(|opaque| frame_bytes(opaque, &[7; 1_000])).collect();
        modest.send(&many);
        for opaque in 0..20 {
            assert_eq!(modest.receive().expect("an answer").0, opaque);
        }
        still_serves(&running);
    }
    let in_flight = running.server.statistics().bytes_in_flight;
    assert!(in_flight <= 2 * limit as u64 + 64 * 1024, "{in_flight} bytes in flight");
}

#[test]
fn too_many_connections_are_closed_at_once_and_counted() {
    let running = start(Options { connections_max: 3, ..loopback() }, Reaction::Echo);
    let mut clients: Vec<_> = (0..3).map(|_| running.connect()).collect();
    running.wait_for(|statistics| statistics.connections == 3);
    assert!(running.connect().is_closed());
    running.wait_for(|statistics| statistics.refused == 1);
    for client in &mut clients {
        client.request(5, b"kept");
        assert_eq!(client.receive(), Some((5, Bytes::from_static(b"kept"))));
    }
    drop(clients.pop());
    running.wait_for(|statistics| statistics.connections == 2);
    still_serves(&running);
}

#[test]
fn silence_is_closed_and_traffic_is_not() {
    let running = start(Options { idle_timeout: Duration::from_secs(1), ..loopback() }, Reaction::Echo);
    let began = std::time::Instant::now();
    let (mut silent, mut talking) = (running.connect(), running.connect());
    let silent_address = silent.stream.local_addr().expect("address");
    let closed = loop {
        talking.request(1, b"");
        talking.receive().expect("an answer");
        match running.events.recv_timeout(Duration::from_millis(1)) {
            Ok(Event::Closed(peer, reason)) => break (peer.address, reason),
            _ => assert!(began.elapsed() < support::PATIENCE),
        }
    };
    assert_eq!(closed, (silent_address, CloseReason::Idle));
    assert!(began.elapsed() >= Duration::from_secs(1));
    assert!(silent.is_closed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_bytes_cost_their_sender_the_connection_at_most(
        bytes in proptest::collection::vec(any::<u8>(), 1..2_000),
        is_prefixed in any::<bool>(),
    ) {
        let running = start(Options { frame_timeout: Duration::from_millis(5), ..loopback() }, Reaction::Echo);
        let mut client = running.connect();
        let prefix = if is_prefixed { vec![0, 0, 4, 0, 1, 0] } else { Vec::new() };
        // The server may close before everything is sent.
        let _ = client.stream.write_all(&[prefix, bytes].concat());
        let _ = client.stream.shutdown(std::net::Shutdown::Write);
        let (_, reason) = running.next_closed();
        prop_assert!(
            matches!(reason, CloseReason::BadFrame(_) | CloseReason::Tls | CloseReason::Peer | CloseReason::SlowFrame
                | CloseReason::Failed(_)),
            "{reason:?}"
        );
        still_serves(&running);
    }
}
