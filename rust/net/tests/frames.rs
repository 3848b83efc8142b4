//! Frames in and chunks out, however the bytes are cut on their way.

mod support;

use bytes::Bytes;
use escrowmq_net::{Command, in_flight_size};
use support::{Event, Reaction, frame_bytes, loopback, start};

#[test]
fn a_frame_that_comes_byte_by_byte_is_answered() {
    let running = start(loopback(), Reaction::Echo);
    let mut client = running.connect();
    for byte in frame_bytes(42, b"slow") {
        client.send(&[byte]);
    }
    assert_eq!(client.receive(), Some((42, Bytes::from_static(b"slow"))));
    running.wait_for(|statistics| statistics.bytes_in_flight == 0);
}

#[test]
fn thousands_of_pipelined_frames_are_answered_in_order() {
    let running = start(loopback(), Reaction::Echo);
    let mut client = running.connect();
    let count = 20_000;
    let mut writing = client.stream.try_clone().expect("clone");
    let writer = std::thread::spawn(move || {
        let requests: Vec<u8> =
            (0..count).flat_map(|opaque| frame_bytes(opaque, &opaque.to_be_bytes())).collect();
        std::io::Write::write_all(&mut writing, &requests).expect("send");
    });
    for opaque in 0..count {
        let expected = Bytes::copy_from_slice(&opaque.to_be_bytes());
        assert_eq!(client.receive(), Some((opaque, expected)));
    }
    writer.join().expect("writer");
    let statistics = running.wait_for(|statistics| statistics.bytes_in_flight == 0);
    assert_eq!((statistics.frames_received, statistics.frames_sent), (20_000, 20_000));
    assert_eq!(statistics.bytes_received, statistics.bytes_sent);
}

#[test]
fn frames_of_all_sizes_come_back_unchanged() {
    let running = start(loopback(), Reaction::Echo);
    let mut client = running.connect();
    let mut writing = client.stream.try_clone().expect("clone");
    let sizes = [0, 1, 4_000, 65_536, 70_000, 1 << 20, 5, (16 << 20) - 100];
    let body = |size: usize| -> Vec<u8> { (0..=250).cycle().take(size).collect() };
    let writer = std::thread::spawn(move || {
        for (opaque, size) in (0..).zip(sizes) {
            std::io::Write::write_all(&mut writing, &frame_bytes(opaque, &body(size))).expect("send");
        }
    });
    for (opaque, size) in (0..).zip(sizes) {
        let (found, received) = client.receive().expect("an answer");
        assert_eq!((found, received.len()), (opaque, size));
        assert!(received == body(size));
    }
    writer.join().expect("writer");
}

#[test]
fn other_threads_answer_in_batches_with_one_wake_up() {
    let running = start(loopback(), Reaction::Keep);
    let mut client = running.connect();
    for opaque in 0..100 {
        client.request(opaque, b"");
    }
    let mut commands = Vec::new();
    for opaque in 0..100 {
        let (peer, frame) = running.next_frame();
        let (connection, settled_size) = (peer.connection, in_flight_size(&frame));
        let chunks = vec![Bytes::from(frame_bytes(opaque, b"later"))];
        commands.push(Command::Send { connection, chunks, settled_size });
    }
    running.server.remote().submit(commands).expect("submitted");
    for opaque in 0..100 {
        assert_eq!(client.receive(), Some((opaque, Bytes::from_static(b"later"))));
    }
    running.wait_for(|statistics| statistics.bytes_in_flight == 0);
}

#[test]
fn a_handler_is_woken_by_any_thread() {
    let running = start(loopback(), Reaction::Echo);
    running.server.remote().wake().expect("open");
    assert!(matches!(running.next(), Event::Woken));
}

#[test]
fn a_paused_connection_delivers_nothing_until_it_is_resumed() {
    let running = start(loopback(), Reaction::Pause);
    let mut client = running.connect();
    let requests: Vec<u8> = (0..3).flat_map(|opaque| frame_bytes(opaque, b"")).collect();
    client.send(&requests);
    for opaque in 0..3 {
        let (peer, frame) = running.next_frame();
        assert_eq!(frame.decode_header().expect("header").opaque, opaque);
        assert!(running.events.recv_timeout(std::time::Duration::from_millis(20)).is_err());
        running.server.remote().submit([Command::Resume { connection: peer.connection }]).expect("submitted");
    }
}
