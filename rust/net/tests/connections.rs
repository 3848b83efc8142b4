//! Connections that come, go, are made by us, and end with the server.

mod support;

use std::collections::HashSet;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::{Duration, Instant};

use bytes::Bytes;
use escrowmq_net::{CloseReason, Command, NetError, Options, Server, in_flight_size};
use rustix::process::{Resource, getrlimit, setrlimit};
use support::{Client, Event, PATIENCE, Reaction, frame_bytes, loopback, start};

#[test]
fn two_thousand_connections_are_served_and_their_numbers_are_never_used_again() {
    allow_descriptors(5_000);
    let running = start(loopback(), Reaction::Echo);
    let mut seen = HashSet::new();
    for round in 0..2 {
        let mut clients: Vec<_> = (0..2_000).map(|_| running.connect()).collect();
        for (client, opaque) in clients.iter_mut().zip(0..) {
            client.request(opaque, b"hello");
        }
        for (client, opaque) in clients.iter_mut().zip(0..) {
            assert_eq!(client.receive(), Some((opaque, Bytes::from_static(b"hello"))));
        }
        drop(clients);
        let statistics = running.wait_for(|statistics| statistics.connections == 0);
        assert_eq!(statistics.opened, 2_000 * (round + 1));
    }
    for event in running.events.try_iter() {
        if let Event::Opened(peer) = event {
            assert!(seen.insert(peer.connection));
        }
    }
    assert_eq!(seen.len(), 4_000);
}

#[test]
fn a_frame_counts_as_written_when_the_kernel_has_taken_its_last_byte() {
    let running = start(loopback(), Reaction::Keep);
    let mut client = running.connect();
    let Event::Opened(peer) = running.next() else { panic!("opened first") };
    let (connection, remote) = (peer.connection, running.server.remote());
    let send = |number, size| {
        let chunks = vec![Bytes::from(frame_bytes(number, &vec![7; size]))];
        let commands = [
            Command::Send { connection, chunks, settled_size: 0 },
            Command::TellWritten { connection, number },
        ];
        remote.submit(commands).expect("open");
    };
    send(1, 10);
    assert!(matches!(running.next(), Event::Written(found, 1) if found == connection));
    // More than any socket buffer takes while the peer does not read.
    send(2, 15 << 20);
    for _ in 0..2 {
        remote.wake().expect("open");
        assert!(matches!(running.next(), Event::Woken), "a whole round without it");
    }
    assert_eq!(client.receive().expect("a frame").0, 1);
    assert_eq!(client.receive().expect("a frame").0, 2);
    assert!(matches!(running.next(), Event::Written(found, 2) if found == connection));
    // One that the peer never takes is not told of.
    send(3, 15 << 20);
    drop(client);
    assert!(matches!(running.next(), Event::Closed(found, _) if found.connection == connection));
    send(4, 10);
    remote.wake().expect("open");
    assert!(matches!(running.next(), Event::Woken));
}

/// Both ends of every connection are in this process.
fn allow_descriptors(count: u64) {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < count) {
        limit.current = Some(count);
        setrlimit(Resource::Nofile, limit).expect("5,000 descriptors are allowed");
    }
}

#[test]
fn several_addresses_are_listened_on_ipv6_among_them() {
    let mut options = Options { listen: vec![(Ipv4Addr::LOCALHOST, 0).into(); 2], ..Options::default() };
    let ipv6: SocketAddr = "[::1]:0".parse().expect("address");
    if TcpListener::bind(ipv6).is_ok() {
        options.listen.push(ipv6);
    } else {
        println!("skipped: no IPv6 loopback on this machine");
    }
    let running = start(options.clone(), Reaction::Echo);
    let addresses = running.server.addresses();
    assert_eq!(addresses.len(), options.listen.len());
    for address in addresses {
        assert_ne!(address.port(), 0);
        let mut client = Client::connect(*address);
        client.request(1, b"hello");
        assert_eq!(client.receive(), Some((1, Bytes::from_static(b"hello"))));
    }
}

#[test]
fn the_same_port_of_both_families_can_be_listened_on() {
    if TcpListener::bind("[::]:0").is_err() {
        println!("skipped: no IPv6 on this machine");
        return;
    }
    let first = start(
        Options { listen: vec!["[::]:0".parse().expect("address")], ..Options::default() },
        Reaction::Echo,
    );
    let port = first.server.addresses()[0].port();
    // Another process may have the port of the other family; then nothing is shown either way.
    if let Err(error) = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)) {
        assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    }
}

#[test]
fn an_address_in_use_is_an_error_that_names_it() {
    let running = start(loopback(), Reaction::Echo);
    let address = running.server.addresses()[0];
    let second = Server::start(Options { listen: vec![address], ..Options::default() }, |_| Unused);
    match second {
        Err(NetError::Listen { address: named, source }) => {
            assert_eq!((named, source.kind()), (address, std::io::ErrorKind::AddrInUse));
        }
        other => panic!("{other:?}"),
    }
}

struct Unused;

impl escrowmq_net::Handler for Unused {
    fn opened(&mut self, _: &mut escrowmq_net::Outbox, _: escrowmq_net::Peer) {}
    fn frame(&mut self, _: &mut escrowmq_net::Outbox, _: escrowmq_net::Peer, _: escrowmq_wire::Frame) {}
    fn written(&mut self, _: &mut escrowmq_net::Outbox, _: escrowmq_net::Peer, _: i32) {}
    fn closed(&mut self, _: &mut escrowmq_net::Outbox, _: escrowmq_net::Peer, _: CloseReason) {}
    fn woken(&mut self, _: &mut escrowmq_net::Outbox) {}
}

#[test]
fn a_connection_of_ours_sends_what_was_queued_before_it_was_there() {
    let (server, client) = (start(loopback(), Reaction::Echo), start(Options::default(), Reaction::Keep));
    let remote = client.server.remote();
    let connection = remote.connect(server.server.addresses()[0]).expect("open");
    let chunks = vec![Bytes::from(frame_bytes(7, b"hello"))];
    remote.submit([Command::Send { connection, chunks, settled_size: 0 }]).expect("submitted");
    match client.next() {
        Event::Opened(peer) => {
            assert_eq!((peer.connection, peer.is_outgoing), (connection, true));
            assert_eq!(peer.address, server.server.addresses()[0]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(&client.next_frame().1.body[..], b"hello");
    remote.submit([Command::Close { connection }]).expect("submitted");
    assert_eq!(client.next_closed().1, CloseReason::Requested);
    assert_eq!(server.next_closed().1, CloseReason::Peer);
}

#[test]
fn a_connection_that_is_refused_or_takes_too_long_is_closed_without_being_opened() {
    let options = Options { connect_timeout: Duration::from_millis(50), ..Options::default() };
    let running = start(options, Reaction::Echo);
    let unused =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("listener").local_addr().expect("address");
    let connection = running.server.remote().connect(unused).expect("open");
    match running.next() {
        Event::Closed(peer, CloseReason::ConnectFailed(kind)) => {
            assert_eq!((peer.connection, kind), (connection, std::io::ErrorKind::ConnectionRefused));
        }
        other => panic!("{other:?}"),
    }
    // An address for documentation: nobody answers, or the system knows no way there.
    let connection = running.server.remote().connect("192.0.2.1:9".parse().expect("address")).expect("open");
    match running.next() {
        Event::Closed(peer, CloseReason::ConnectFailed(_)) => assert_eq!(peer.connection, connection),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_orderly_close_sends_what_was_answered() {
    let running = start(loopback(), Reaction::Keep);
    let mut client = running.connect();
    client.request(3, b"");
    let (peer, frame) = running.next_frame();
    // More than socket buffers hold, so that closing has to wait for the reader.
    let (size, settled_size) = (12 << 20, in_flight_size(&frame));
    let chunks = vec![Bytes::from(frame_bytes(3, &vec![9; size]))];
    let answer = Command::Send { connection: peer.connection, chunks, settled_size };
    running.server.remote().submit([answer]).expect("submitted");
    let server = running.server;
    let closing = std::thread::spawn(move || {
        server.close(PATIENCE);
        assert!(matches!(server.remote().wake(), Err(NetError::Closed)));
        server.close(PATIENCE);
    });
    // What the server does not read any more must not become a reset that overtakes the answer.
    let mut writing = client.stream.try_clone().expect("clone");
    let writer = std::thread::spawn(move || {
        while std::io::Write::write_all(&mut writing, &frame_bytes(4, &[0; 500])).is_ok() {}
    });
    let (opaque, body) = client.receive().expect("an answer");
    assert_eq!((opaque, body.len()), (3, size));
    assert!(client.is_closed());
    closing.join().expect("closed");
    client.stream.shutdown(std::net::Shutdown::Both).ok();
    writer.join().expect("writer");
    let last = running.events.try_iter().last();
    assert!(matches!(last, Some(Event::Closed(_, CloseReason::Shutdown))), "{last:?}");
}

#[test]
fn a_peer_that_does_not_read_does_not_hold_up_the_close() {
    let running = start(loopback(), Reaction::Amplify(12 << 20));
    let mut client = running.connect();
    client.request(1, b"");
    running.next_frame();
    let began = Instant::now();
    running.server.close(Duration::from_millis(50));
    assert!(began.elapsed() < Duration::from_secs(5));
    assert_eq!(running.next_closed().1, CloseReason::Shutdown);
}

#[test]
fn a_quiet_server_sleeps() {
    let running = start(loopback(), Reaction::Echo);
    let mut clients: Vec<_> = (0..20).map(|_| running.connect()).collect();
    for client in &mut clients {
        client.request(1, b"");
        client.receive().expect("an answer");
    }
    let before = running.server.statistics().wakeups;
    std::thread::sleep(Duration::from_millis(200));
    // The last answer may have been read before its round was over.
    assert!(running.server.statistics().wakeups <= before + 1);
}
