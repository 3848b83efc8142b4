//! Both lanes of a broker on a real server and a real store: messages from producers to consumers over sockets.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use escrowmq_lanes::fast::{
    FastLane, FastLaneOptions, FastLaneShared, GroupEntry, Identity, MessageFilter, SubscriptionEntry,
    TagFilter, TopicEntry,
};
use escrowmq_lanes::{BrokerLanes, Event, LaneEnd, LaneLimits, LaneQueue, PythonLane, Request, Waited};
use escrowmq_net::{Options, Server};
use escrowmq_store::{FlushMode, LogOffset, Retention, Store, StoreOptions};
use escrowmq_wire::{
    Frame, FrameDecoder, FrameStep, HeaderKind, LogItem, OffsetMessageId, RemotingHeader, encode_frame,
};

/// No test waits this long unless it fails.
const PATIENCE: Duration = Duration::from_secs(20);
const PULL_NOT_FOUND: i32 = 19;
const QUERY_NOT_FOUND: i32 = 22;

struct Broker {
    // Before the store: what serves ends before what is served.
    server: Server,
    end: LaneEnd,
    shared: Arc<FastLaneShared>,
    store: Arc<Store>,
}

impl Broker {
    fn start(folder: &Path, flush: FlushMode) -> Self {
        let retention =
            Retention { clean_ratio: 1.0, force_ratio: 1.0, refuse_ratio: 1.0, ..Retention::default() };
        let options = StoreOptions {
            segment_size_bytes: 1 << 20,
            queue_file_entries: 1000,
            index_slots: 100,
            index_entries: 1000,
            flush,
            retention,
            ..StoreOptions::default()
        };
        let store = Arc::new(Store::open(folder, options).expect("a store"));
        let shared = FastLaneShared::new(6);
        let identity = Identity {
            broker_name: "broker".to_owned(),
            cluster_name: "cluster".to_owned(),
            region_id: "region".to_owned(),
            broker_address: "127.0.0.1".to_owned(),
            is_trace_on: true,
            store_host: store.options().store_host,
        };
        let mut fast =
            FastLane::new(store.clone(), Arc::clone(&shared), identity, FastLaneOptions::default());
        let queue = Arc::new(LaneQueue::new(LaneLimits::default()).expect("queue"));
        let options = Options { listen: vec!["127.0.0.1:0".parse().expect("address")], ..Options::default() };
        let server = Server::start(options, |remote| {
            assert!(store.listen(shared.clone()));
            fast.start_threads(&remote).expect("threads");
            BrokerLanes::new(fast, PythonLane::new(Arc::clone(&queue), remote))
        });
        let server = server.expect("server");
        let end = LaneEnd::new(queue, server.remote());
        let broker = Self { server, end, shared, store };
        broker.tell(&["orders"]);
        broker
    }

    /// These topics, and two groups that want all of `orders` and only what is `paid`.
    fn tell(&self, topics: &[&str]) {
        let entry =
            TopicEntry { read_queue_count: 4, write_queue_count: 4, permission: 6, is_ordered: false };
        let knowledge = &self.shared.knowledge;
        knowledge.set_topics(topics.iter().map(|&topic| (topic.into(), entry)).collect());
        let group = GroupEntry { is_consume_enabled: true };
        knowledge.set_groups(["all", "billing"].map(|name| (name.into(), group)).into_iter().collect());
        let wants = |group: &str, filter: TagFilter| {
            (
                group.into(),
                "orders".into(),
                SubscriptionEntry { version: 1, filter: Some(Arc::new(MessageFilter::from(filter))) },
            )
        };
        let paid = TagFilter::of_codes([escrowmq_wire::java_hash("paid")]);
        knowledge
            .set_subscriptions([wants("all", TagFilter::All), wants("billing", paid)].into_iter().collect());
    }

    fn connect(&self, kind: HeaderKind) -> Peer {
        let stream = TcpStream::connect(self.server.addresses()[0]).expect("connect");
        stream.set_read_timeout(Some(PATIENCE)).expect("timeout");
        Peer { stream, kind, received: BytesMut::new(), opaque: 0 }
    }

    fn next_request(&self) -> Request {
        loop {
            match self.end.next_batch(1).expect("open").pop() {
                Some(Event::Request(request)) => return request,
                Some(_) => {}
                None => assert_eq!(self.end.wait(Some(PATIENCE)).expect("wait"), Waited::Ready),
            }
        }
    }

    fn wait_for_parked(&self, count: u64) {
        let began = Instant::now();
        while self.shared.statistics().pulls_parked != count {
            assert!(began.elapsed() < PATIENCE);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

struct Peer {
    stream: TcpStream,
    kind: HeaderKind,
    received: BytesMut,
    opaque: i32,
}

struct Answer {
    header: RemotingHeader<'static>,
    frame: Frame,
}

impl Answer {
    fn field(&self, name: &str) -> &str {
        self.header.ext_fields.get(name).unwrap_or("absent")
    }

    fn bodies(&self) -> Vec<String> {
        let mut rest = &self.frame.body[..];
        let mut bodies = Vec::new();
        while !rest.is_empty() {
            let at = u64::from_be_bytes(rest[28..36].try_into().expect("eight bytes"));
            let Ok(LogItem::Record(view)) = LogItem::parse(rest, at) else { panic!("no record") };
            view.check_whole().expect("whole");
            bodies.push(String::from_utf8_lossy(view.body()).into_owned());
            rest = &rest[view.bytes().len()..];
        }
        bodies
    }
}

impl Peer {
    fn send(&mut self, code: i32, fields: &[(&str, &str)], body: &[u8]) -> i32 {
        self.opaque += 1;
        let ext_fields = fields.iter().copied().collect();
        let header = RemotingHeader { code, opaque: self.opaque, ext_fields, ..RemotingHeader::default() };
        let mut out = Vec::new();
        encode_frame(self.kind, &header, body, &mut out).expect("it fits");
        self.stream.write_all(&out).expect("sent");
        self.opaque
    }

    fn receive(&mut self) -> Answer {
        let decoder = FrameDecoder::default();
        loop {
            if let FrameStep::Frame(frame) = decoder.next_frame(&mut self.received).expect("frames") {
                assert_eq!(frame.kind, self.kind, "answered in the kind that was asked");
                let header = frame.decode_header().expect("header").into_owned();
                return Answer { header, frame };
            }
            let mut buffer = vec![0; 65_536];
            let size = self.stream.read(&mut buffer).expect("an answer");
            assert!(size > 0, "the server has closed");
            self.received.extend_from_slice(&buffer[..size]);
        }
    }

    fn ask(&mut self, code: i32, fields: &[(&str, &str)], body: &[u8]) -> Answer {
        let opaque = self.send(code, fields, body);
        let answer = self.receive();
        assert_eq!((answer.header.opaque, answer.header.flag), (opaque, 1));
        answer
    }

    /// Sends a message to queue 0 of a topic.
    fn produce(&mut self, topic: &str, tag: &str, body: &str) -> Answer {
        let properties = format!("TAGS\u{1}{tag}\u{2}UNIQ_KEY\u{1}7F\u{2}");
        self.ask(310, &message_fields(topic, &properties), body.as_bytes())
    }
}

fn message_fields<'a>(topic: &'a str, properties: &'a str) -> [(&'a str, &'a str); 7] {
    [("a", "p"), ("b", topic), ("e", "0"), ("f", "0"), ("g", "1"), ("h", "0"), ("i", properties)]
}

fn pull_fields<'a>(group: &'a str, offset: &'a str, suspend_ms: &'a str) -> [(&'a str, &'a str); 9] {
    [
        ("consumerGroup", group),
        ("topic", "orders"),
        ("queueId", "0"),
        ("queueOffset", offset),
        ("maxMsgNums", "32"),
        ("sysFlag", if suspend_ms == "0" { "0" } else { "2" }),
        ("commitOffset", "0"),
        ("suspendTimeoutMillis", suspend_ms),
        ("subVersion", "1"),
    ]
}

fn in_every_way(test: impl Fn(&Broker, HeaderKind)) {
    for flush in [FlushMode::Sync, FlushMode::ASYNC_DEFAULT] {
        for kind in [HeaderKind::Json, HeaderKind::Binary] {
            let folder = tempfile::tempdir().expect("a folder");
            test(&Broker::start(folder.path(), flush), kind);
        }
    }
}

#[test]
fn a_message_is_sent_stored_pulled_and_filtered() {
    in_every_way(|broker, kind| {
        let (mut producer, mut consumer) = (broker.connect(kind), broker.connect(kind));
        for (tag, body) in [("paid", "one"), ("created", "two"), ("paid", "three")] {
            let answer = producer.produce("orders", tag, body);
            assert_eq!((answer.header.code, answer.field("transactionId")), (0, "7F"));
            let id: OffsetMessageId = answer.field("msgId").parse().expect("an id");
            broker.store.wait_visible(LogOffset(id.log_offset + 1), PATIENCE).expect("visible");
        }
        let found = consumer.ask(11, &pull_fields("all", "0", "0"), b"");
        assert_eq!(
            (found.header.code, found.bodies()),
            (0, vec!["one".into(), "two".into(), "three".into()])
        );
        let found = consumer.ask(11, &pull_fields("billing", "0", "0"), b"");
        assert_eq!(
            (found.bodies(), found.field("nextBeginOffset")),
            (vec!["one".into(), "three".into()], "3")
        );
    });
}

#[test]
fn a_parked_pull_is_woken_or_answered_in_time() {
    in_every_way(|broker, kind| {
        let (mut producer, mut consumer) = (broker.connect(kind), broker.connect(kind));
        let opaque = consumer.send(11, &pull_fields("billing", "0", "15000"), b"");
        broker.wait_for_parked(1);
        producer.produce("orders", "created", "not for it");
        producer.produce("orders", "paid", "for it");
        let found = consumer.receive();
        assert_eq!((found.header.opaque, found.bodies()), (opaque, vec!["for it".into()]));
        let late = consumer.ask(11, &pull_fields("billing", "2", "30"), b"");
        assert_eq!(late.header.code, PULL_NOT_FOUND);
    });
}

#[test]
fn every_message_reaches_a_consumer_that_waits_for_each() {
    in_every_way(|broker, kind| {
        let count = 200;
        let (mut producer, mut consumer) = (broker.connect(kind), broker.connect(kind));
        let producing = std::thread::spawn(move || {
            for index in 0..count {
                assert_eq!(producer.produce("orders", "paid", &index.to_string()).header.code, 0);
            }
        });
        let (mut next, mut seen) = ("0".to_owned(), Vec::new());
        while seen.len() < count {
            // A wake-up that is missed shows as a pull that waits for its whole time.
            let found = consumer.ask(11, &pull_fields("all", &next, "15000"), b"");
            assert_eq!(found.header.code, 0);
            seen.extend(found.bodies());
            found.field("nextBeginOffset").clone_into(&mut next);
        }
        producing.join().expect("all are sent");
        assert!(seen.iter().enumerate().all(|(index, body)| *body == index.to_string()));
    });
}

#[test]
fn offsets_are_committed_and_asked_for() {
    in_every_way(|broker, kind| {
        let mut consumer = broker.connect(kind);
        let queue = [("consumerGroup", "billing"), ("topic", "orders"), ("queueId", "0")];
        assert_eq!(consumer.ask(14, &queue, b"").header.code, QUERY_NOT_FOUND);
        let [group, topic, queue_id] = queue;
        let committed = consumer.ask(15, &[group, topic, queue_id, ("commitOffset", "41")], b"");
        assert_eq!(committed.header.code, 0);
        assert_eq!(consumer.ask(14, &queue, b"").field("offset"), "41");
        assert_eq!(consumer.ask(30, &queue, b"").field("offset"), "0");
    });
}

#[test]
fn what_is_given_back_after_a_change_is_served_and_other_requests_are_pythons() {
    in_every_way(|broker, kind| {
        let mut producer = broker.connect(kind);
        let opaque = producer.send(310, &message_fields("fresh", ""), b"body");
        let request = broker.next_request();
        assert_eq!(request.received().opaque, opaque);
        broker.tell(&["orders", "fresh"]);
        broker.shared.give_back(&request).expect("given back");
        let answer = producer.receive();
        assert_eq!((answer.header.opaque, answer.header.code, answer.field("queueOffset")), (opaque, 0, "0"));
        assert!(broker.shared.give_back(&request).is_err(), "it is answered");
        producer.send(34, &[], b"{}");
        assert_eq!(broker.next_request().received().code, 34);
    });
}

#[test]
fn a_send_does_not_overtake_one_whose_topic_is_being_made() {
    in_every_way(|broker, kind| {
        let mut producer = broker.connect(kind);
        let first = producer.send(310, &message_fields("fresh", ""), b"first");
        let request = broker.next_request();
        broker.tell(&["orders", "fresh"]);
        let second = producer.send(310, &message_fields("fresh", ""), b"second");
        // What another connection asks goes on meanwhile.
        assert_eq!(broker.connect(kind).produce("orders", "", "other").header.code, 0);
        broker.shared.give_back(&request).expect("given back");
        for (opaque, offset) in [(first, "0"), (second, "1")] {
            let answer = producer.receive();
            assert_eq!((answer.header.opaque, answer.field("queueOffset")), (opaque, offset));
        }
    });
}

#[test]
fn a_connection_is_read_on_when_the_request_that_held_it_up_is_answered_or_forgotten() {
    in_every_way(|broker, kind| {
        let mut producer = broker.connect(kind);
        let fields = message_fields("forbidden", "");
        producer.send(310, &fields, b"first");
        producer.send(310, &fields, b"second");
        let request = broker.next_request();
        let refusal = escrowmq_lanes::Answer::remark(17, "there is no such topic".to_owned());
        broker.end.answer([(&request, &refusal)]).expect("answered");
        assert_eq!(producer.receive().header.code, 17);
        drop(broker.next_request());
        assert_eq!(producer.produce("orders", "", "third").field("queueOffset"), "0");
    });
}

#[test]
fn what_was_stored_before_the_start_comes_from_the_reader_thread() {
    let folder = tempfile::tempdir().expect("a folder");
    let broker = Broker::start(folder.path(), FlushMode::Sync);
    let mut producer = broker.connect(HeaderKind::Json);
    for index in 0..40 {
        producer.ask(310, &message_fields("orders", &format!("number\u{1}{index}\u{2}")), b"body");
    }
    drop(broker);
    let broker = Broker::start(folder.path(), FlushMode::Sync);
    let mut consumer = broker.connect(HeaderKind::Binary);
    let found = consumer.ask(11, &pull_fields("all", "0", "15000"), b"");
    assert_eq!((found.bodies().len(), found.field("nextBeginOffset")), (32, "32"));
    assert_eq!(broker.shared.statistics().cold_reads, 1);
    let mut fields = pull_fields("all", "0", "15000").to_vec();
    fields[5] = ("sysFlag", "6");
    fields.extend([("expressionType", "SQL92"), ("subscription", "number BETWEEN 35 AND 38")]);
    let found = consumer.ask(11, &fields, b"");
    assert_eq!((found.bodies().len(), found.field("nextBeginOffset")), (4, "40"));
    assert_eq!(broker.shared.statistics().cold_reads, 2);
}
