//! Both ends of the Python lane on a real server: order, limits, answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use escrowmq_lanes::{
    Answer, Event, LaneEnd, LaneError, LaneLimits, LaneQueue, PythonLane, Request, ServerRequest, Waited,
};
use escrowmq_net::{CloseReason, Options, Server};
use escrowmq_wire::{Frame, FrameDecoder, FrameStep, HeaderKind, RemotingHeader, encode_frame};

/// No test waits this long unless it fails.
const PATIENCE: Duration = Duration::from_secs(20);
const ONE_WAY: i32 = 2;
const RESPONSE: i32 = 1;

struct Lane {
    server: Server,
    end: LaneEnd,
}

impl Lane {
    fn start(limits: LaneLimits) -> Self {
        let options = Options { listen: vec!["127.0.0.1:0".parse().expect("address")], ..Options::default() };
        let queue = Arc::new(LaneQueue::new(limits).expect("queue"));
        let server =
            Server::start(options, |remote| PythonLane::new(Arc::clone(&queue), remote)).expect("server");
        let end = LaneEnd::new(queue, server.remote());
        Self { server, end }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.server.addresses()[0]).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream
    }

    fn next(&self) -> Event {
        loop {
            let mut events = self.end.next_batch(1).expect("open");
            if let Some(event) = events.pop() {
                return event;
            }
            assert_eq!(self.end.wait(Some(PATIENCE)).expect("wait"), Waited::Ready);
        }
    }

    fn next_request(&self) -> Request {
        loop {
            if let Event::Request(request) = self.next() {
                return request;
            }
        }
    }

    fn wait_for_in_flight(&self, wanted: impl Fn(u64) -> bool) {
        let began = Instant::now();
        while !wanted(self.server.statistics().bytes_in_flight) {
            assert!(began.elapsed() < PATIENCE, "{:?}", self.server.statistics());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn frame(kind: HeaderKind, opaque: i32, flag: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = RemotingHeader { code: 105, opaque, flag, ..RemotingHeader::default() };
    encode_frame(kind, &header, body, &mut bytes).expect("frame");
    bytes
}

fn receive(stream: &mut TcpStream) -> Frame {
    let mut received = BytesMut::new();
    loop {
        // Byte by byte, so that the next frame stays in the socket.
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        received.extend_from_slice(&byte);
        if let FrameStep::Frame(frame) = FrameDecoder::default().next_frame(&mut received).expect("frame") {
            return frame;
        }
    }
}

fn done() -> Answer {
    Answer { remark: None, ..Answer::remark(0, String::new()) }
}

#[test]
fn a_request_is_answered_once_in_the_kind_it_came_in() {
    let lane = Lane::start(LaneLimits::default());
    let mut stream = lane.connect();
    for kind in [HeaderKind::Json, HeaderKind::Binary] {
        stream.write_all(&frame(kind, 9, 0, b"body")).expect("send");
        let request = lane.next_request();
        assert_eq!(&request.received().frame.body[..], b"body");
        let answer = Answer { body: vec![1; 10_000].into(), ..done() };
        lane.end.answer([(&request, &answer)]).expect("answered");
        let answered = receive(&mut stream);
        let header = answered.decode_header().expect("header");
        assert_eq!((answered.kind, header.opaque, header.flag, header.code), (kind, 9, RESPONSE, 0));
        assert_eq!(answered.body.len(), 10_000);
        let again = lane.end.answer([(&request, &answer)]);
        assert!(matches!(again, Err(LaneError::AnsweredBefore { opaque: 9, .. })));
    }
    lane.wait_for_in_flight(|size| size == 0);
}

#[test]
fn a_request_is_in_flight_until_it_is_answered_or_dropped() {
    let lane = Lane::start(LaneLimits::default());
    let mut stream = lane.connect();
    stream.write_all(&frame(HeaderKind::Json, 1, 0, &[0; 5_000])).expect("send");
    let request = lane.next_request();
    lane.wait_for_in_flight(|size| size > 5_000);
    drop(request);
    lane.wait_for_in_flight(|size| size == 0);
    stream.write_all(&frame(HeaderKind::Json, 1, ONE_WAY, &[0; 5_000])).expect("send");
    let one_way = lane.next_request();
    lane.wait_for_in_flight(|size| size == 0);
    lane.end.answer([(&one_way, &done())]).expect("dropped");
    assert_eq!(lane.server.statistics().frames_sent, 0);
}

#[test]
fn a_full_queue_refuses_by_count_and_by_size() {
    let by_count = LaneLimits { requests_max: 1, ..LaneLimits::default() };
    let by_size = LaneLimits { requests_max_bytes: 1, ..LaneLimits::default() };
    for limits in [by_count, by_size] {
        let lane = Lane::start(limits);
        let mut stream = lane.connect();
        stream.write_all(&frame(HeaderKind::Binary, 1, 0, b"")).expect("send");
        stream.write_all(&frame(HeaderKind::Binary, 2, 0, b"")).expect("send");
        let refused = receive(&mut stream);
        let header = refused.decode_header().expect("header");
        assert_eq!((refused.kind, header.code, header.opaque), (HeaderKind::Binary, 2, 2));
        assert_eq!(header.remark.as_deref(), Some("system busy, 1 requests wait"));
        assert_eq!(lane.end.statistics().refused, 1);
        assert_eq!(lane.next_request().received().opaque, 1);
    }
}

#[test]
fn a_flood_of_one_connection_leaves_room_for_others() {
    let lane = Lane::start(LaneLimits { requests_max: 80, ..LaneLimits::default() });
    let (mut flooding, mut other) = (lane.connect(), lane.connect());
    for opaque in 0..200 {
        flooding.write_all(&frame(HeaderKind::Binary, opaque, 0, b"")).expect("send");
    }
    for opaque in 20..200 {
        let refused = receive(&mut flooding);
        let header = refused.decode_header().expect("header");
        assert_eq!((header.opaque, header.code), (opaque, 2));
    }
    other.write_all(&frame(HeaderKind::Binary, 1_000, 0, b"")).expect("send");
    let waiting: Vec<_> = (0..21).map(|_| lane.next_request().received().opaque).collect();
    assert_eq!(waiting, (0..20).chain([1_000]).collect::<Vec<_>>());
    // What was fetched does not count any more.
    flooding.write_all(&frame(HeaderKind::Binary, 300, 0, b"")).expect("send");
    assert_eq!(lane.next_request().received().opaque, 300);
}

#[test]
fn one_way_requests_wait_in_their_sockets_and_others_are_served_meanwhile() {
    let lane = Lane::start(LaneLimits { one_way_max: 2, ..LaneLimits::default() });
    let (mut flooding, mut other) = (lane.connect(), lane.connect());
    for opaque in 0..500 {
        flooding.write_all(&frame(HeaderKind::Binary, opaque, ONE_WAY, b"")).expect("send");
    }
    other.write_all(&frame(HeaderKind::Binary, 1_000, 0, b"")).expect("send");
    let mut found = Vec::new();
    while found.len() < 501 {
        let request = lane.next_request();
        // At most the two that may wait, and one that was being handed over, stand before those of another connection.
        if request.received().opaque == 1_000 {
            lane.end.answer([(&request, &done())]).expect("answered");
        }
        found.push(request.received().opaque);
        assert!(lane.end.statistics().waiting <= 5);
    }
    assert_eq!(receive(&mut other).decode_header().expect("header").opaque, 1_000);
    found.retain(|&opaque| opaque != 1_000);
    assert_eq!(found, (0..500).collect::<Vec<_>>());
}

#[test]
fn events_of_a_connection_come_in_order() {
    let lane = Lane::start(LaneLimits::default());
    let mut stream = lane.connect();
    stream.write_all(&frame(HeaderKind::Json, 1, 0, b"")).expect("send");
    stream.write_all(&frame(HeaderKind::Json, 2, ONE_WAY, b"")).expect("send");
    stream.write_all(&frame(HeaderKind::Json, 3, RESPONSE, b"")).expect("send");
    drop(stream);
    assert!(matches!(lane.next(), Event::Opened(_)));
    assert!(matches!(lane.next(), Event::Request(request) if request.received().opaque == 1));
    assert!(matches!(lane.next(), Event::Request(request) if request.received().opaque == 2));
    assert!(matches!(lane.next(), Event::Response(received) if received.opaque == 3));
    assert!(matches!(lane.next(), Event::Closed(_, CloseReason::Peer)));
}

#[test]
fn peers_that_come_faster_than_anyone_looks_are_closed_unseen() {
    let lane = Lane::start(LaneLimits { connection_events_max: 2, ..LaneLimits::default() });
    let (mut seen, mut unseen) = (lane.connect(), Vec::new());
    seen.write_all(&frame(HeaderKind::Json, 1, 0, b"")).expect("send");
    for _ in 0..5 {
        unseen.push(lane.connect());
    }
    // The second is seen too; the others find that two openings wait.
    for stream in &mut unseen[1..] {
        assert!(matches!(stream.read(&mut [0]), Ok(0) | Err(_)));
    }
    let mut opened = 0;
    let request = loop {
        match lane.next() {
            Event::Opened(_) => opened += 1,
            Event::Request(request) => break request,
            other => panic!("{other:?}"),
        }
    };
    assert!((1..=2).contains(&opened));
    lane.end.answer([(&request, &done())]).expect("answered");
    assert_eq!(receive(&mut seen).decode_header().expect("header").opaque, 1);
}

#[test]
fn a_header_that_cannot_be_read_closes_the_connection() {
    let lane = Lane::start(LaneLimits::default());
    let mut stream = lane.connect();
    stream.write_all(&[0, 0, 0, 8, 0, 0, 0, 4, b'n', b'o', b'p', b'e']).expect("send");
    assert!(matches!(lane.next(), Event::Opened(_)));
    assert!(matches!(lane.next(), Event::Closed(_, CloseReason::BadFrame(_))));
}

#[test]
fn requests_of_ours_are_numbered() {
    let lane = Lane::start(LaneLimits::default());
    let mut stream = lane.connect();
    let Event::Opened(peer) = lane.next() else { panic!("no connection") };
    let content = Answer { body: Bytes::from_static(b"check"), code: 39, ..done() };
    let request = ServerRequest { content, header_kind: HeaderKind::Json, is_one_way: true };
    let numbers = [None, None, Some(70)]
        .map(|opaque| lane.end.send(peer.connection, &request, opaque, false).expect("sent"));
    assert_eq!(numbers, [1, 2, 70]);
    for number in numbers {
        let frame = receive(&mut stream);
        let header = frame.decode_header().expect("header");
        assert_eq!((header.opaque, header.code, header.flag), (number, 39, ONE_WAY));
        assert_eq!(&frame.body[..], b"check");
    }
}

#[test]
fn the_end_of_the_server_is_the_end_of_the_lane() {
    let lane = Lane::start(LaneLimits::default());
    assert_eq!(lane.end.wait(Some(Duration::ZERO)).expect("wait"), Waited::TimedOut);
    let mut stream = lane.connect();
    stream.write_all(&frame(HeaderKind::Json, 1, 0, b"")).expect("send");
    let request = lane.next_request();
    lane.server.close(PATIENCE);
    assert_eq!(lane.end.wait(None).expect("wait"), Waited::Ready);
    assert!(matches!(lane.next(), Event::Closed(_, CloseReason::Shutdown)));
    assert!(lane.end.next_batch(1).is_none());
    assert_eq!(lane.end.wait(None).expect("wait"), Waited::Ready);
    assert!(matches!(lane.end.answer([(&request, &done())]), Err(LaneError::Net(_))));
}
