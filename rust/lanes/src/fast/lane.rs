//! The fast lane itself: what it holds, which requests it looks at, and what it does when it is woken. What it does with
//! them is in the files of the requests.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use escrowmq_net::{ConnectionId, Peer, Remote};
use escrowmq_store::{FlushMode, LogOffset, Store, StoreCore};
use escrowmq_wire::{Frame, RemotingHeader};

use crate::dropped_answers::DroppedAnswers;

use super::alarm::Alarm;
use super::brought_filters::BroughtFilters;
use super::codes::{request, response};
use super::consumer_offsets::ConsumerOffsets;
use super::counters::{Counters, FastLaneStatistics};
use super::identity::{Identity, UniqueIds};
use super::knowledge::Knowledge;
use super::mailbox::Mailbox;
use super::memory::memory_size;
use super::parked_pulls::ParkedPulls;
use super::pending_answers::{PendingAnswer, PendingAnswers};
use super::pull_read::PullRead;
use super::pull_request::PullRequest;
use super::reader::Reader;
use super::reply::{Asker, Replies};
use super::traffic::Traffic;
use super::wake_rounds::WakeRounds;

/// A store that stays open while someone holds it.
pub trait OpenStore: Send + Sync {
    /// The store.
    fn core(&self) -> &StoreCore;
}

impl OpenStore for Store {
    fn core(&self) -> &StoreCore {
        self
    }
}

impl OpenStore for StoreCore {
    fn core(&self) -> &StoreCore {
        self
    }
}

/// How a fast lane serves.
#[derive(Debug, Clone)]
pub struct FastLaneOptions {
    /// Whether a pull that asks to wait does so as long as it asks.
    pub is_long_polling: bool,
    /// How long it waits otherwise.
    pub short_polling: Duration,
    /// Most pulls that wait. A connection may have as many as are left free.
    pub parked_pulls_max: usize,
    /// Most messages in an answer.
    pub pull_count_max: usize,
    /// Most bytes of messages in an answer, if there is more than one.
    pub pull_size_max_bytes: usize,
    /// How far behind the log's end records are read on the epoll thread.
    pub hot_window_bytes: u64,
    /// Whether pulls may filter by expressions over properties.
    pub has_property_filters: bool,
    /// How long a send waits for its flush.
    pub flush_timeout: Duration,
}

impl Default for FastLaneOptions {
    fn default() -> Self {
        Self {
            is_long_polling: true,
            short_polling: Duration::from_secs(1),
            parked_pulls_max: 100_000,
            pull_count_max: 32,
            pull_size_max_bytes: 256 * 1024,
            hot_window_bytes: 32 << 20,
            has_property_filters: true,
            flush_timeout: Duration::from_secs(5),
        }
    }
}

/// What other threads share with a fast lane.
#[derive(Debug)]
pub struct FastLaneShared {
    /// What it goes by.
    pub knowledge: Knowledge,
    /// What groups read next.
    pub offsets: ConsumerOffsets,
    pub(crate) mailbox: Mailbox,
    pub(crate) dropped_answers: DroppedAnswers,
    pub(super) counters: Counters,
    /// Whether no more sends are taken.
    pub(super) is_closing: AtomicBool,
}

/// How often those who close look whether all sends are answered.
const CLOSE_PAUSE: Duration = Duration::from_millis(1);

impl FastLaneShared {
    /// Nothing is known yet but what the broker allows.
    #[must_use]
    pub fn new(broker_permission: u32) -> Arc<Self> {
        Arc::new(Self {
            knowledge: Knowledge::new(broker_permission),
            offsets: ConsumerOffsets::default(),
            mailbox: Mailbox::default(),
            dropped_answers: DroppedAnswers::default(),
            counters: Counters::default(),
            is_closing: AtomicBool::new(false),
        })
    }

    /// Refuses sends from now on, and waits until what was stored is answered, or for this time.
    pub fn finish_sends(&self, time_max: Duration) {
        self.is_closing.store(true, Ordering::SeqCst);
        let began = Instant::now();
        // At least once: a send that was not refused any more is counted by then.
        loop {
            std::thread::sleep(CLOSE_PAUSE.min(time_max));
            // In this order: an answer leaves the mailbox when it is counted.
            let is_done = !self.mailbox.holds_answers() && self.counters.read().sends_waiting == 0;
            if is_done || began.elapsed() >= time_max {
                return;
            }
        }
    }

    /// Has the next request of this code carried out and not answered, for tests.
    pub fn drop_next_answer(&self, code: i32) {
        self.dropped_answers.drop_next(code);
    }

    /// Counts a pull that is answered.
    pub(super) fn count_pull(&self, request: &PullRequest, found: &PullRead) {
        self.counters.pulls.add(1);
        self.counters.pulls_found.add(usize::from(!found.records.is_empty()));
        self.counters.messages_pulled.add(found.records.len());
        self.offsets.note_pulled(&request.group, &request.topic, request.queue_id, found.next_offset);
        let traffic = Traffic::of_sizes(found.records.iter().map(|record| record.bytes().len()));
        self.knowledge.count_out(&request.group, &request.topic, traffic);
    }

    /// Numbers since the start.
    #[must_use]
    pub fn statistics(&self) -> FastLaneStatistics {
        self.counters.read()
    }

    /// Has Python told when the log is visible up to here.
    pub fn tell_when_visible(&self, end: LogOffset) {
        self.mailbox.mark(end);
    }

    /// Sets what a group reads next, and has its pull told so: the one that waits, or the next.
    pub fn reset_offset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.offsets.reset(group, topic, queue_id, offset);
        self.wake_pulls(topic, queue_id.unsigned_abs());
    }

    /// Has the pulls looked at again that wait for a queue.
    pub fn wake_pulls(&self, topic: &str, queue_id: u32) {
        self.mailbox.look_at(escrowmq_store::Arrival { topic: topic.into(), queue_id });
    }
}

/// The store tells the fast lane through what they share.
impl escrowmq_store::ArrivalListener for FastLaneShared {
    fn arrived(&self, end: LogOffset, queues: &[escrowmq_store::Arrival]) {
        self.mailbox.arrived(end, queues);
    }

    fn stopped(&self) {
        self.mailbox.stopped();
    }
}

/// Whether a request is dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is, now or by what was noted.
    Done,
    /// It is for Python, and nothing of it was done.
    Passed,
    /// The same, and it may come back: what its connection sends next must not overtake it.
    Awaited,
}

/// Sends, pulls and offsets, answered on the epoll thread.
pub struct FastLane {
    pub(super) store: Arc<dyn OpenStore>,
    pub(super) shared: Arc<FastLaneShared>,
    pub(super) options: FastLaneOptions,
    pub(super) identity: Identity,
    /// The properties that every message gets.
    pub(super) broker_properties: Vec<u8>,
    pub(super) unique_ids: UniqueIds,
    pub(super) properties_scratch: Vec<u8>,
    pub(super) next_queue: u32,
    pub(super) is_sync: bool,
    pub(super) pending: PendingAnswers,
    /// Log offsets of which Python wants to be told.
    marks: BTreeSet<LogOffset>,
    pub(super) parked: ParkedPulls,
    pub(super) rounds: WakeRounds,
    pub(super) brought_filters: BroughtFilters,
    pub(super) reader: Option<Reader>,
    alarm: Option<Alarm>,
    /// Where the log ended at the start: what lies before may not be resident.
    started_at: LogOffset,
    /// Compat: how much of the log Apache takes for being in memory.
    pub(super) memory_bytes: u64,
}

impl FastLane {
    /// A fast lane over a store, without threads: nothing wakes it, and nothing is read that is not resident.
    #[must_use]
    pub fn new(
        store: Arc<dyn OpenStore>,
        shared: Arc<FastLaneShared>,
        identity: Identity,
        options: FastLaneOptions,
    ) -> Self {
        let core = store.core();
        Self {
            is_sync: core.options().flush == FlushMode::Sync,
            started_at: core.log_end(),
            broker_properties: identity.properties(),
            unique_ids: UniqueIds::new(identity.store_host),
            properties_scratch: Vec::new(),
            next_queue: 0,
            pending: PendingAnswers::new(options.flush_timeout),
            marks: BTreeSet::new(),
            parked: ParkedPulls::default(),
            rounds: WakeRounds::default(),
            brought_filters: BroughtFilters::default(),
            reader: None,
            alarm: None,
            memory_bytes: memory_size() / 5 * 2,
            store,
            shared,
            options,
            identity,
        }
    }

    /// What other threads share with it.
    pub(crate) fn shared(&self) -> &FastLaneShared {
        &self.shared
    }

    /// Starts its threads, which go with it.
    ///
    /// # Errors
    /// What the system says where it refuses a thread.
    pub fn start_threads(&mut self, remote: &Remote) -> std::io::Result<()> {
        self.shared.mailbox.connect(remote.clone());
        let shared = Arc::clone(&self.shared);
        self.alarm = Some(Alarm::start(move || shared.mailbox.wake())?);
        let shared = Arc::clone(&self.shared);
        let count = move |request: &PullRequest, found: &PullRead| shared.count_pull(request, found);
        self.reader = Some(Reader::start(Arc::clone(&self.store), remote.clone(), count)?);
        Ok(())
    }

    /// Deals with a request, if it is one for this lane and enough is known.
    pub(crate) fn frame(&mut self, replies: &mut impl Replies, peer: Peer, frame: &Frame) -> Verdict {
        // A header that can't be read is Python's lane to refuse.
        let Ok(header) = frame.decode_header() else { return Verdict::Passed };
        if header.is_response() {
            return Verdict::Passed;
        }
        self.dispatch(replies, Asker::new(peer, frame, &header), &header, frame)
    }

    fn dispatch(
        &mut self,
        replies: &mut impl Replies,
        asker: Asker,
        header: &RemotingHeader<'_>,
        frame: &Frame,
    ) -> Verdict {
        match header.code {
            request::SEND_MESSAGE | request::SEND_MESSAGE_V2 | request::SEND_BATCH_MESSAGE => {
                self.send(replies, asker, header, frame)
            }
            request::PULL_MESSAGE | request::LITE_PULL_MESSAGE => self.pull(replies, asker, header),
            request::GET_MAX_OFFSET
            | request::GET_MIN_OFFSET
            | request::QUERY_CONSUMER_OFFSET
            | request::UPDATE_CONSUMER_OFFSET => self.offsets(replies, asker, header),
            _ => Verdict::Passed,
        }
    }

    /// A connection is gone.
    pub(crate) fn closed(&mut self, connection: ConnectionId) {
        self.parked.forget(connection);
        if let Some(reader) = &self.reader {
            reader.forget(connection);
        }
        self.publish_waiting();
    }

    /// Works off what has arrived and what is late.
    pub(crate) fn woken(&mut self, replies: &mut impl Replies) {
        let letters = self.shared.mailbox.take();
        for returned in letters.returned {
            self.take_back(replies, returned.peer, &returned.frame);
        }
        self.marks.extend(letters.marks);
        self.take_held(replies, letters.held);
        self.release_answers(replies);
        letters.grown.into_iter().for_each(|queue| self.rounds.begin(queue));
        self.wake_grown(replies);
        self.wake_late(replies);
        self.set_alarm();
    }

    /// Answers what Python stored, or keeps the answers until that is durable. After it, it is known that they wait.
    fn take_held(&mut self, replies: &mut impl Replies, held: Vec<PendingAnswer>) {
        let count = held.len();
        for answer in held {
            if self.is_sync {
                self.pending.push(answer, replies.now());
            } else {
                answer.asker.send(replies, answer.head, answer.body);
            }
        }
        self.publish_waiting();
        self.shared.mailbox.counted(count);
    }

    /// How far the log is visible, if that is what Python wants to be told of.
    pub(crate) fn take_reached(&mut self) -> Option<LogOffset> {
        let visible_end = self.store.core().visible_end();
        if self.marks.first().is_none_or(|&first| first > visible_end) {
            return None;
        }
        self.marks = self.marks.split_off(&LogOffset(visible_end.0 + 1));
        self.publish_waiting();
        Some(visible_end)
    }

    /// Deals with a request that Python gave back. It has no second chance.
    fn take_back(&mut self, replies: &mut impl Replies, peer: Peer, frame: &Frame) {
        self.shared.counters.retries.add(1);
        let Ok(header) = frame.decode_header() else { return };
        let asker = Asker::new(peer, frame, &header);
        // Python fetched a one-way request, which settled it.
        let asker = if asker.is_one_way { asker.settled() } else { asker };
        if self.dispatch(replies, asker, &header, frame) != Verdict::Done {
            let remark = "the request was tried twice, and what it needs was not there either time";
            asker.refuse(replies, response::SYSTEM_ERROR, remark);
        }
    }

    /// Says how many wait, to the mailbox and to whoever counts.
    pub(super) fn publish_waiting(&mut self) {
        let (sends, pulls) = (self.pending.len(), self.parked.len());
        self.shared.mailbox.set_waiting(sends + pulls + self.marks.len());
        self.shared.counters.sends_waiting.set(sends);
        self.shared.counters.pulls_parked.set(pulls);
    }

    /// Has itself woken when the next one that waits is late.
    pub(super) fn set_alarm(&self) {
        let deadlines = [self.pending.next_deadline(), self.parked.next_deadline()];
        if let (Some(alarm), Some(at)) = (&self.alarm, deadlines.into_iter().flatten().min()) {
            alarm.set(at);
        }
    }

    /// Where the part of the log begins that is surely resident.
    pub(super) fn hot_floor(&self) -> LogOffset {
        let end = self.store.core().log_end().0;
        LogOffset(end.saturating_sub(self.options.hot_window_bytes).max(self.started_at.0))
    }

    /// Where the part of the log begins that Apache would take for being in memory.
    pub(super) fn memory_floor(&self) -> LogOffset {
        LogOffset(self.store.core().log_end().0.saturating_sub(self.memory_bytes))
    }
}
