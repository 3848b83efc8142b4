//! A fast lane over a store whose steps are called, with a list for an outbox: what unit tests stand on.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use escrowmq_filter::PropertyFilter;
use escrowmq_net::{ConnectionId, Peer};
use escrowmq_store::clock::SystemClock;
use escrowmq_store::disk::RealDisk;
use escrowmq_store::{FlushMode, StoreCore, StoreOptions};
use escrowmq_wire::{Frame, FrameStep, HeaderKind, LogItem, RecordView, RemotingHeader, cut_frame};
use tempfile::TempDir;

use super::lane::{FastLane, FastLaneOptions, FastLaneShared, Verdict};
use super::reply::Replies;
use super::subscriptions::{GroupEntry, SubscriptionEntry};
use super::topics::TopicEntry;
use super::{Identity, MessageFilter, TagFilter};

pub const PEER: Peer = Peer {
    connection: ConnectionId(7),
    address: SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 50_000),
    is_outgoing: false,
};

/// An answer as the peer reads it.
#[derive(Debug)]
pub struct Answered {
    pub connection: ConnectionId,
    pub header: RemotingHeader<'static>,
    pub body: Vec<u8>,
}

impl Answered {
    pub fn field(&self, name: &str) -> &str {
        self.header.ext_fields.get(name).unwrap_or("absent")
    }

    pub fn remark(&self) -> &str {
        self.header.remark.as_deref().unwrap_or_default()
    }
}

/// Takes answers, and keeps a clock that tests move.
#[derive(Debug)]
pub struct Sent {
    pub answers: Vec<Answered>,
    pub settled_count: usize,
    pub now: Instant,
}

impl Replies for Sent {
    fn send(&mut self, connection: ConnectionId, head: Bytes, body: Vec<Bytes>, settled_size: usize) {
        assert!(settled_size > 0, "an answer settles its request");
        let mut bytes = head.to_vec();
        for chunk in &body {
            bytes.extend_from_slice(chunk);
        }
        let Ok(FrameStep::Frame(frame)) = cut_frame(&bytes, usize::MAX) else { panic!("no whole frame") };
        assert_eq!(frame.size(), bytes.len());
        let header = frame.decode_header().expect("a header").into_owned();
        assert!(header.is_response() && header.version == 513);
        self.answers.push(Answered { connection, header, body: frame.body.to_vec() });
    }

    fn settle(&mut self, _connection: ConnectionId, _size: usize) {
        self.settled_count += 1;
    }

    fn now(&self) -> Instant {
        self.now
    }
}

/// A lane with everything around it.
pub struct Rig {
    pub core: Arc<StoreCore>,
    pub shared: Arc<FastLaneShared>,
    pub lane: FastLane,
    pub sent: Sent,
    next_opaque: i32,
    _folder: TempDir,
}

impl Rig {
    pub fn new(flush: FlushMode) -> Self {
        Self::with(flush, FastLaneOptions::default())
    }

    pub fn with(flush: FlushMode, options: FastLaneOptions) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let store_options = StoreOptions {
            segment_size_bytes: 1 << 20,
            queue_file_entries: 1000,
            index_slots: 100,
            index_entries: 1000,
            body_size_max_bytes: 4096,
            flush,
            ..StoreOptions::default()
        };
        let core = StoreCore::open(
            Arc::new(RealDisk),
            Arc::new(SystemClock::default()),
            folder.path(),
            store_options,
        );
        let core = Arc::new(core.expect("a store"));
        let shared = FastLaneShared::new(6);
        assert!(core.listen(shared.clone()));
        let identity = Identity {
            broker_name: "broker-a".to_owned(),
            cluster_name: "cluster".to_owned(),
            region_id: "region".to_owned(),
            broker_address: "127.0.0.1".to_owned(),
            is_trace_on: true,
            store_host: core.options().store_host,
        };
        let lane = FastLane::new(core.clone(), Arc::clone(&shared), identity, options);
        let sent = Sent { answers: Vec::new(), settled_count: 0, now: Instant::now() };
        let rig = Self { core, shared, lane, sent, next_opaque: 0, _folder: folder };
        rig.tell();
        rig
    }

    /// Topic `orders` of four queues, group `billing` that wants `paid`, group `large` that wants an
    /// `amount` over 100, and group `all`.
    fn tell(&self) {
        let topic = |permission| TopicEntry {
            read_queue_count: 4,
            write_queue_count: 4,
            permission,
            is_ordered: false,
        };
        let topics = [("orders", 6), ("%RETRY%billing", 6), ("closed", 2)];
        let topics = topics.into_iter().map(|(name, permission)| (Box::from(name), topic(permission)));
        self.shared.knowledge.set_topics(topics.collect());
        let group = |is_consume_enabled| GroupEntry { is_consume_enabled };
        let groups = [("billing", true), ("all", true), ("large", true), ("idle", false)];
        self.shared
            .knowledge
            .set_groups(groups.into_iter().map(|(name, is_on)| (Box::from(name), group(is_on))).collect());
        let filter = |filter: TagFilter| Some(Arc::new(MessageFilter::from(filter)));
        let paid = filter(TagFilter::parse("paid").expect("a tag"));
        let all = filter(TagFilter::All);
        let large = PropertyFilter::compile("amount > 100").expect("an expression");
        let large = Some(Arc::new(MessageFilter::Properties(Arc::new(large))));
        let subscriptions = [("billing", 5, paid), ("all", 5, all), ("large", 5, large)];
        let subscription = |(group, version, filter): (&str, i64, Option<Arc<MessageFilter>>)| {
            (Box::from(group), Box::from("orders"), SubscriptionEntry { version, filter })
        };
        self.shared.knowledge.set_subscriptions(subscriptions.into_iter().map(subscription).collect());
    }

    pub fn frame(&mut self, code: i32, flag: i32, fields: &[(&str, &str)], body: &[u8]) -> Frame {
        self.next_opaque += 1;
        let ext_fields = fields.iter().copied().collect();
        let header =
            RemotingHeader { code, flag, opaque: self.next_opaque, ext_fields, ..RemotingHeader::default() };
        let mut bytes = Vec::new();
        header.encode_into(HeaderKind::Json, &mut bytes).expect("it fits");
        Frame { kind: HeaderKind::Json, header: bytes.into(), body: Bytes::copy_from_slice(body) }
    }

    pub fn ask(&mut self, code: i32, fields: &[(&str, &str)], body: &[u8]) -> Verdict {
        let frame = self.frame(code, 0, fields, body);
        self.lane.frame(&mut self.sent, PEER, &frame)
    }

    /// Asks, and returns the one answer.
    pub fn answer_to(&mut self, code: i32, fields: &[(&str, &str)], body: &[u8]) -> Answered {
        assert_eq!(self.ask(code, fields, body), Verdict::Done);
        self.answer()
    }

    /// The one answer that was sent since the last.
    pub fn answer(&mut self) -> Answered {
        let mut answers = self.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        answers.pop().expect("one")
    }

    pub fn answers(&mut self) -> Vec<Answered> {
        std::mem::take(&mut self.sent.answers)
    }

    pub fn send(&mut self, topic: &str, queue_id: &str, properties: &str, body: &[u8]) -> Verdict {
        self.ask(310, &send_fields(topic, queue_id, properties), body)
    }

    /// Flushes and builds, as the store's threads would, and wakes the lane.
    pub fn flush(&mut self) {
        self.core.flush_once().expect("a flush");
        self.build();
    }

    pub fn build(&mut self) {
        while self.core.build_once().expect("a build") < self.core.log_end() {}
        self.lane.woken(&mut self.sent);
    }

    pub fn pass(&mut self, time: Duration) {
        self.sent.now += time;
        self.lane.woken(&mut self.sent);
    }
}

pub fn send_fields<'a>(topic: &'a str, queue_id: &'a str, properties: &'a str) -> [(&'a str, &'a str); 12] {
    [
        ("a", "producers"),
        ("b", topic),
        ("c", "TBW102"),
        ("d", "4"),
        ("e", queue_id),
        ("f", "0"),
        ("g", "1794984736583"),
        ("h", "9"),
        ("i", properties),
        ("j", "0"),
        ("k", "false"),
        ("m", "false"),
    ]
}

pub fn pull_fields<'a>(group: &'a str, offset: &'a str, sys_flag: &'a str) -> [(&'a str, &'a str); 11] {
    [
        ("consumerGroup", group),
        ("topic", "orders"),
        ("queueId", "0"),
        ("queueOffset", offset),
        ("maxMsgNums", "32"),
        ("sysFlag", sys_flag),
        ("commitOffset", "0"),
        ("suspendTimeoutMillis", "15000"),
        ("subVersion", "5"),
        ("expressionType", "TAG"),
        ("subscription", "*"),
    ]
}

/// The bodies of the records in an answer.
pub fn bodies(answer: &Answered) -> Vec<String> {
    let mut rest = &answer.body[..];
    let mut bodies = Vec::new();
    while !rest.is_empty() {
        let at = u64::from_be_bytes(rest[28..36].try_into().expect("eight bytes"));
        let Ok(LogItem::Record(view)) = LogItem::parse(rest, at) else { panic!("no record") };
        let view: RecordView<'_> = view;
        bodies.push(String::from_utf8_lossy(view.body()).into_owned());
        rest = &rest[view.bytes().len()..];
    }
    bodies
}
