//! Servers and peers for the tests: real sockets on loopback, ports that were free, limits small enough to meet.

#![allow(
    dead_code,
    clippy::missing_panics_doc,
    reason = "each test file uses its part; a panic is how a test fails"
)]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use escrowmq_net::{
    CloseReason, ConnectionId, Handler, Options, Outbox, Peer, Server, Statistics, in_flight_size,
};
use escrowmq_wire::{Frame, FrameDecoder, FrameStep, HeaderKind, RemotingHeader, encode_frame};

/// No test waits this long unless it fails.
pub const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub enum Event {
    Opened(Peer),
    Frame(Peer, Frame),
    Written(ConnectionId, i32),
    Closed(Peer, CloseReason),
    Woken,
}

/// What to do with a frame.
#[derive(Debug, Clone)]
pub enum Reaction {
    /// Answer with the same bytes.
    Echo,
    /// Answer with a body of so many bytes, whatever was asked.
    Amplify(usize),
    /// Keep it in flight.
    Keep,
    /// Settle it, and read no more from its connection.
    Pause,
}

/// Reacts, and reports what happens.
pub struct Reacting {
    reaction: Reaction,
    events: Sender<Event>,
}

impl Handler for Reacting {
    fn opened(&mut self, _outbox: &mut Outbox, peer: Peer) {
        self.report(Event::Opened(peer));
    }

    fn frame(&mut self, outbox: &mut Outbox, peer: Peer, frame: Frame) {
        let (connection, size) = (peer.connection, in_flight_size(&frame));
        match self.reaction {
            Reaction::Echo => {
                let head = head_of(&frame);
                assert!(outbox.send(connection, [head, frame.header.clone(), frame.body.clone()], size));
            }
            Reaction::Amplify(body_size) => {
                outbox.send(connection, [Bytes::from(frame_bytes(0, &vec![7; body_size]))], size);
            }
            Reaction::Keep => {}
            Reaction::Pause => {
                outbox.settle(connection, size);
                outbox.pause(connection);
            }
        }
        self.report(Event::Frame(peer, frame));
    }

    fn written(&mut self, _outbox: &mut Outbox, peer: Peer, number: i32) {
        self.report(Event::Written(peer.connection, number));
    }

    fn closed(&mut self, _outbox: &mut Outbox, peer: Peer, reason: CloseReason) {
        self.report(Event::Closed(peer, reason));
    }

    fn woken(&mut self, _outbox: &mut Outbox) {
        self.report(Event::Woken);
    }
}

impl Reacting {
    fn report(&self, event: Event) {
        // The test may have seen enough.
        let _ = self.events.send(event);
    }
}

/// A server with what happened on it.
pub struct Running {
    pub server: Server,
    pub events: Receiver<Event>,
}

pub fn loopback() -> Options {
    Options { listen: vec!["127.0.0.1:0".parse().expect("address")], ..Options::default() }
}

pub fn start(options: Options, reaction: Reaction) -> Running {
    let (sender, events) = channel();
    let server = Server::start(options, |_| Reacting { reaction, events: sender }).expect("server");
    Running { server, events }
}

impl Running {
    pub fn connect(&self) -> Client {
        Client::connect(self.server.addresses()[0])
    }

    pub fn next(&self) -> Event {
        self.events.recv_timeout(PATIENCE).expect("an event")
    }

    pub fn next_frame(&self) -> (Peer, Frame) {
        loop {
            match self.next() {
                Event::Frame(peer, frame) => return (peer, frame),
                Event::Closed(peer, reason) => panic!("{peer:?} was closed: {reason:?}"),
                Event::Opened(_) | Event::Written(..) | Event::Woken => {}
            }
        }
    }

    pub fn next_closed(&self) -> (Peer, CloseReason) {
        loop {
            if let Event::Closed(peer, reason) = self.next() {
                return (peer, reason);
            }
        }
    }

    /// Waits for numbers.
    pub fn wait_for(&self, wanted: impl Fn(&Statistics) -> bool) -> Statistics {
        let began = Instant::now();
        loop {
            let statistics = self.server.statistics();
            if wanted(&statistics) {
                return statistics;
            }
            assert!(began.elapsed() < PATIENCE, "waited in vain: {statistics:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A peer with a blocking socket.
pub struct Client {
    pub stream: TcpStream,
    received: BytesMut,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        stream.set_nodelay(true).expect("nodelay");
        Self { stream, received: BytesMut::new() }
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("send");
    }

    pub fn request(&mut self, opaque: i32, body: &[u8]) {
        self.send(&frame_bytes(opaque, body));
    }

    /// The next answer: its number and its body. None where the server has closed.
    pub fn receive(&mut self) -> Option<(i32, Bytes)> {
        let decoder = FrameDecoder::default();
        loop {
            if let FrameStep::Frame(frame) = decoder.next_frame(&mut self.received).expect("a frame") {
                return Some((frame.decode_header().expect("header").opaque, frame.body));
            }
            let mut buffer = vec![0; 65_536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(size) => self.received.extend_from_slice(&buffer[..size]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Waits until the server closes.
    pub fn is_closed(&mut self) -> bool {
        self.receive().is_none()
    }
}

pub fn frame_bytes(opaque: i32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = RemotingHeader { code: 1, opaque, ..RemotingHeader::default() };
    encode_frame(HeaderKind::Binary, &header, body, &mut bytes).expect("frame");
    bytes
}

/// The eight bytes in front of the header of a frame.
fn head_of(frame: &Frame) -> Bytes {
    let sizes = [4 + frame.header.len() + frame.body.len(), frame.header.len()];
    let [length, header_size] = sizes.map(|size| u32::try_from(size).expect("size"));
    let kind = u32::from(frame.kind.code()) << 24;
    [length.to_be_bytes(), (kind | header_size).to_be_bytes()].concat().into()
}
