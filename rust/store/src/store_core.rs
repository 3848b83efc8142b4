//! A store without threads: every step of its life is a call. [`Store`](crate::Store) runs the steps on threads; a
//! test runs them in an order of its own, on a disk of its own.
//!
//! ```text
//! append ──> log ──written──> flush ──durable──> queue builder ──built──> readers, acknowledgements
//!                                                      └──> consume queues, key index ──> checkpoint
//! ```
//! In sync mode the builder never passes `durable`, so what is in a queue is on disk; in async mode it follows
//! `written`.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::arrivals::{ArrivalListener, Arrivals};
use crate::checkpoint::{Checkpoint, CheckpointTimes};
use crate::clock::Clock;
use crate::commit_log::{AppendRules, CommitLog, LogPoint, QueueOffsets};
use crate::consume_queue::{ENTRY_SIZE, QueueTable};
use crate::deleted_topics::DeletedTopics;
use crate::disk::{Allocation, Disk};
use crate::error::{Result, StoreError};
use crate::expiry::{Expiry, ExpiryReport};
use crate::key_index::KeyIndex;
use crate::layout::StoreLayout;
use crate::mapped::{ChainLayout, Expected, SegmentChain, Watermark};
use crate::message::{NewMessage, Receipt};
use crate::offset::LogOffset;
use crate::options::{FlushMode, StoreOptions};
use crate::poison::Poison;
use crate::queue_builder::{EntryRules, QueueBuilder};
use crate::recovery::{self, Files, RecoveryReport};
use crate::running_mark::RunningMark;
use crate::statistics::{Counters, Statistics};
use crate::stop_note::StopNote;
use crate::visible_limit::VisibleLimit;

/// A store whose steps are called.
#[derive(Debug)]
pub struct StoreCore {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) layout: StoreLayout,
    pub(crate) options: StoreOptions,
    pub(crate) log: CommitLog,
    pub(crate) queues: QueueTable,
    pub(crate) index: Mutex<KeyIndex>,
    pub(crate) builder: QueueBuilder,
    pub(crate) expiry: Expiry,
    pub(crate) counters: Counters,
    checkpoint: Mutex<Checkpoint>,
    visible: VisibleLimit,
    poison: Arc<Poison>,
    listener: OnceLock<Arc<dyn ArrivalListener>>,
    is_closed: AtomicBool,
    fails_next_flush: AtomicBool,
    report: RecoveryReport,
}

impl StoreCore {
    /// Opens a store directory, or makes one, and recovers it. Whoever calls this holds the directory's lock.
    ///
    /// # Errors
    /// What is wrong with the directory, which is then unchanged; [`StoreError::Io`].
    pub fn open(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        folder: &Path,
        options: StoreOptions,
    ) -> Result<Self> {
        let layout = Self::check(&*disk, folder, &options)?;
        Self::open_checked(disk, clock, layout, options)
    }

    /// The names in a folder, unless something speaks against opening it so. Nothing is touched.
    pub(crate) fn check(disk: &dyn Disk, folder: &Path, options: &StoreOptions) -> Result<StoreLayout> {
        options.validate()?;
        let layout = StoreLayout::new(folder);
        layout.refuse_foreign_folder(disk)?;
        layout.refuse_unsupported(disk)?;
        Ok(layout)
    }

    /// Opens what was checked.
    pub(crate) fn open_checked(
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
        layout: StoreLayout,
        options: StoreOptions,
    ) -> Result<Self> {
        let mark = RunningMark::load(&*disk, &layout)?;
        let mut files = load(&disk, &clock, &layout, &options, mark)?;
        let was_killed = mark.is_some();
        let note = StopNote::load(&*disk, &layout.stop);
        let mut examined = recovery::examine(&files, options.segment_size_bytes, was_killed, note.as_ref())?;

        layout.create_folders(&*disk)?;
        RunningMark::leave(&*disk, &layout, files.queues.file_size_bytes())?;
        let rules = EntryRules { delay_levels_ms: options.delay_levels_ms.clone() };
        let listed = files.queues.deleted();
        recovery::repair(&*disk, &mut files, &rules, &mut examined)?;
        // Only now: the note may be what told that a queue is missing, and a start that is cut short must be told again.
        StopNote::remove(&*disk, &layout.stop)?;
        // Nothing may be appended that the checkpoint already vouches for: its times are later than the records.
        let CheckpointTimes { log_ms, queues_ms, index_ms } = files.checkpoint.times();
        let settled = examined.end.settled();
        let vouched_ms = log_ms.max(queues_ms).max(index_ms);
        let end = LogPoint { timestamp_ms: settled.timestamp_ms.max(vouched_ms), ..settled };
        let built = LogPoint { timestamp_ms: examined.end.timestamp_ms, ..end };
        tracing::info!(folder = %layout.root.display(), report = ?examined.report, "store opened");

        let poison = Arc::new(Poison::default());
        let append_rules = AppendRules {
            body_size_max: options.body_size_max_bytes as usize,
            has_record_crc: options.has_record_crc,
            store_host: options.store_host,
        };
        let queue_offsets = queue_offsets(&files.queues);
        let Files { chain, queues, index, checkpoint } = files;
        let log =
            CommitLog::new(Arc::clone(&disk), chain, append_rules, end, queue_offsets, Arc::clone(&poison));
        queues.settle_deleted()?;
        let deleted = queues.deleted().from(log.start());
        if deleted != listed {
            deleted.save(&*disk, &layout.deleted_topics, &layout.temporary)?;
            queues.forget(&[], deleted);
        }
        queues.expire(log.start())?;
        let visible = VisibleLimit::open(&*disk, &layout.visible)?;
        visible.publish(end.offset);
        let core = Self {
            expiry: Expiry::new(options.retention),
            builder: QueueBuilder::new(rules, built),
            index: Mutex::new(index),
            checkpoint: Mutex::new(checkpoint),
            counters: Counters::default(),
            listener: OnceLock::new(),
            is_closed: AtomicBool::new(false),
            fails_next_flush: AtomicBool::new(false),
            report: examined.report,
            disk,
            clock,
            layout,
            options,
            log,
            queues,
            visible,
            poison,
        };
        core.look_at_disk()?;
        Ok(core)
    }

    /// Appends all messages or none, and returns where they are. They are on disk, and in their queues, when
    /// [`visible_end`](Self::visible_end) has passed the last one's end.
    ///
    /// # Errors
    /// [`StoreError::BadMessage`], [`StoreError::DiskFull`], [`StoreError::Poisoned`], [`StoreError::Closed`],
    /// [`StoreError::Io`] where a segment can't be had. Nothing is appended then.
    pub fn append(&self, messages: &[NewMessage<'_>]) -> Result<Vec<Receipt>> {
        self.refuse_on_full_disk()?;
        self.append_into_reserve(messages)
    }

    /// The same, also while the disk is too full for others: for what ends transactions that were taken.
    ///
    /// # Errors
    /// As [`append`](Self::append); [`StoreError::Io`] of kind `StorageFull` where there is really no room.
    pub fn append_into_reserve(&self, messages: &[NewMessage<'_>]) -> Result<Vec<Receipt>> {
        let mut receipts = Vec::with_capacity(messages.len());
        self.log.append(messages, self.clock.now_ms(), |receipt| receipts.push(receipt))?;
        Ok(receipts)
    }

    /// Appends one message. As [`append`](Self::append).
    ///
    /// # Errors
    /// As [`append`](Self::append).
    ///
    /// # Panics
    /// Never: a message that was appended has a receipt.
    pub fn append_one(&self, message: &NewMessage<'_>) -> Result<Receipt> {
        self.refuse_on_full_disk()?;
        let mut receipt = None;
        let message = std::slice::from_ref(message);
        self.log.append(message, self.clock.now_ms(), |one| receipt = Some(one))?;
        Ok(receipt.expect("one receipt for one message"))
    }

    /// Makes durable what is written, and returns how far that is.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`].
    pub fn flush_once(&self) -> Result<LogOffset> {
        if self.fails_next_flush.swap(false, Ordering::Relaxed) {
            let source = io::Error::other("a test has asked for it");
            return Err(self.poison_unless_full(StoreError::io("sync", &self.layout.root)(source)));
        }
        let end = self.log.flush().inspect_err(|_| self.stop_waits())?;
        self.counters.count_flush();
        Ok(end)
    }

    /// Builds some records into queues and index, and returns how far it got.
    ///
    /// # Errors
    /// [`StoreError::Io`] of kind `StorageFull`, after which it may be called again; [`StoreError::Poisoned`].
    pub fn build_once(&self) -> Result<LogOffset> {
        self.poison.check()?;
        let limit = LogOffset(self.build_limit().get());
        let listener = self.listener.get();
        let mut arrivals = listener.map(|_| Arrivals::default());
        let result =
            self.builder.step(&self.log, &self.queues, &self.index, limit, arrivals.as_mut(), &self.visible);
        if let (Some(listener), Some(arrivals)) = (listener, arrivals) {
            listener.arrived(self.visible_end(), &arrivals.into_queues());
        }
        result.map_err(|error| self.poison_unless_full(error))
    }

    /// Makes queues and index durable as far as they are built, then says so in the checkpoint.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`]: a sync has failed.
    pub fn checkpoint_once(&self) -> Result<()> {
        self.refuse_if_closed()?;
        // Both points are taken before the syncs: what comes in meanwhile is not vouched for.
        self.checkpoint(self.builder.point(), self.log.flushed())
    }

    /// Makes queues and index durable, then says that they are up to `built`, and the log up to `flushed`.
    fn checkpoint(&self, built: LogPoint, flushed: LogPoint) -> Result<()> {
        self.poison.check()?;
        let times = CheckpointTimes {
            log_ms: flushed.timestamp_ms,
            queues_ms: built.timestamp_ms,
            index_ms: built.timestamp_ms,
        };
        let checkpoint = self.checkpoint.lock();
        if checkpoint.times() == times && !self.queues.is_dirty() && !self.index.lock().is_dirty() {
            return Ok(());
        }
        let synced = self.queues.sync_dirty().and_then(|()| self.sync_index());
        // The log may be behind the queues in async mode, and a record that a power loss takes must not be vouched for.
        let surely = if built.offset < flushed.offset { built } else { flushed };
        let save = || checkpoint.save_with_offset(times, surely.record.unwrap_or_default());
        synced.and_then(|()| save()).map_err(|error| self.poison_unless_full(error))
    }

    /// Adds the next segment when the present one is half full. Whether it did.
    ///
    /// # Errors
    /// [`StoreError::Io`], of kind `StorageFull` where the disk has no room.
    pub fn prepare_segment_once(&self) -> Result<bool> {
        self.log.prepare_segment()
    }

    /// Removes what is too old or does not fit any more: a round of expiry.
    ///
    /// # Errors
    /// [`StoreError::Io`]. What could not be removed is tried again the next time.
    pub fn expire_once(&self) -> Result<ExpiryReport> {
        self.expiry.run(self, false)
    }

    /// Notes how full the disk is, which appends look at.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn look_at_disk(&self) -> Result<f64> {
        self.expiry.look_at_disk(&*self.disk, &self.layout.root)
    }

    /// Has expiry leave the segment of a log offset and all later ones alone, whatever their age and the disk's fill;
    /// `None` holds nothing.
    pub fn hold_from(&self, at: Option<LogOffset>) {
        self.expiry.hold_from(at);
    }

    /// Fails where the store is closed: the directory may be another's by now.
    pub(crate) fn refuse_if_closed(&self) -> Result<()> {
        if self.is_closed.load(Ordering::SeqCst) { Err(StoreError::Closed) } else { Ok(()) }
    }

    /// Stops orderly: flushes, builds, and leaves a note that makes the next start quick. A second call does nothing.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`]; the directory then counts as killed.
    pub fn close(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        // An expiry that runs is waited for; a later one finds the store closed.
        let _no_expiry = self.expiry.pause();
        self.finish()?;
        // Nothing comes after it, so it vouches for all there is.
        self.checkpoint(self.builder.point(), self.log.flushed().settled())?;
        match self.stop_note().save(&*self.disk, &self.layout.stop, &self.layout.temporary) {
            // All is durable without it; the next start only takes longer.
            Err(error) if error.is_storage_full() => tracing::warn!(%error, "no room for the stop note"),
            result => result?,
        }
        RunningMark::remove(&*self.disk, &self.layout)
    }

    /// Has the next flush fail as if the disk had refused it, for tests.
    pub fn fail_next_flush(&self) {
        self.fails_next_flush.store(true, Ordering::Relaxed);
    }

    /// Does nothing any more, and leaves the directory as it is.
    pub(crate) fn abandon(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let _no_expiry = self.expiry.pause();
        self.log.close();
    }

    /// Takes no more appends, and brings those that were taken to disk and into their queues.
    pub(crate) fn finish(&self) -> Result<()> {
        self.log.close();
        let end = self.flush_once()?;
        while self.build_once()? < end {}
        Ok(())
    }

    /// Tells `listener` of everything that becomes visible from now on. There is one; a second call changes nothing, and
    /// returns false.
    pub fn listen(&self, listener: Arc<dyn ArrivalListener>) -> bool {
        self.listener.set(listener).is_ok()
    }

    /// The time of day by its clock, in milliseconds since 1970 UTC.
    pub fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// What it was opened with. Sizes found on disk beat those in here.
    pub fn options(&self) -> &StoreOptions {
        &self.options
    }

    /// The first byte of the log that is still there.
    pub fn log_start(&self) -> LogOffset {
        self.log.start()
    }

    /// Where the log ends.
    pub fn log_end(&self) -> LogOffset {
        LogOffset(self.log.written().get())
    }

    /// How far the log is on disk.
    pub fn durable_end(&self) -> LogOffset {
        LogOffset(self.log.durable().get())
    }

    /// How far messages are in their queues, and in sync mode on disk.
    pub fn visible_end(&self) -> LogOffset {
        LogOffset(self.builder.built().get())
    }

    /// Numbers for people and monitors.
    pub fn statistics(&self) -> Statistics {
        self.counters.snapshot(self)
    }

    /// What the start found and did.
    pub fn recovery_report(&self) -> &RecoveryReport {
        &self.report
    }

    /// Why the store is poisoned, where it is.
    pub fn poisoned_by(&self) -> Option<&str> {
        self.poison.cause()
    }

    /// The mark that the builder follows.
    pub(crate) fn build_limit(&self) -> &Watermark {
        match self.options.flush {
            FlushMode::Sync => self.log.durable(),
            FlushMode::Async { .. } => self.log.written(),
        }
    }

    /// Ends all waits: nothing will move any more.
    pub(crate) fn stop_waits(&self) {
        self.log.written().stop();
        self.log.durable().stop();
        self.builder.built().stop();
        if let Some(listener) = self.listener.get() {
            listener.stopped();
        }
    }

    /// The error of a wait that was stopped.
    pub(crate) fn stopped(&self) -> StoreError {
        self.poison.check().err().unwrap_or(StoreError::Closed)
    }

    /// Acknowledges nothing any more: a thread of the store is gone.
    pub(crate) fn poison_by_panic(&self, thread: &str) {
        self.poison.set(format_args!("thread {thread} panicked"));
        self.stop_waits();
    }

    /// Index files are synced outside of the index's lock, which the builder needs.
    fn sync_index(&self) -> Result<()> {
        let written = self.index.lock().write_out()?;
        written.sync()
    }

    fn refuse_on_full_disk(&self) -> Result<()> {
        match self.expiry.full_ratio() {
            None => Ok(()),
            Some(used_ratio) => Err(StoreError::DiskFull {
                path: self.layout.root.clone(),
                used_percent: percent(used_ratio),
                refuse_percent: percent(self.options.retention.refuse_ratio),
            }),
        }
    }

    /// A full disk passes; any other failure of a write or sync leaves the files in a state nobody knows.
    fn poison_unless_full(&self, error: StoreError) -> StoreError {
        if error.is_storage_full() {
            return error;
        }
        let poisoned = self.poison.set(&error);
        tracing::error!(%error, "the store is poisoned");
        self.stop_waits();
        poisoned
    }

    fn stop_note(&self) -> StopNote {
        StopNote {
            log_end: self.log_end(),
            last_record: self.log.end().record,
            queues: StopNote::queue_ends(&self.queues.list()),
            index_end: self.index.lock().last_log_offset(),
        }
    }
}

/// Opens the files of a store. Changes nothing.
pub(crate) fn load(
    disk: &Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
    layout: &StoreLayout,
    options: &StoreOptions,
    mark: Option<RunningMark>,
) -> Result<Files> {
    let chain = SegmentChain::load(
        &**disk,
        ChainLayout {
            folder: layout.commit_log.clone(),
            temporary_folder: layout.temporary.clone(),
            kind: "commit log",
            segment_size_bytes: options.segment_size_bytes,
            allocation: Allocation::Whole,
            is_durable_at_once: true,
        },
        Expected::All,
    )?;
    let (queue_file_size_bytes, expected) = match mark.and_then(|mark| mark.queue_file_size_bytes) {
        Some(size_bytes) => (size_bytes, Expected::Prefix),
        None => (options.queue_file_entries * ENTRY_SIZE as u64, Expected::All),
    };
    let queues = QueueTable::load(
        Arc::clone(disk),
        &layout.consume_queues,
        &layout.temporary,
        queue_file_size_bytes,
        expected,
        DeletedTopics::load(&**disk, &layout.deleted_topics)?,
    )?;
    let index = KeyIndex::load(
        Arc::clone(disk),
        Arc::clone(clock),
        &layout.key_index,
        &layout.temporary,
        options.index_slots,
        options.index_entries,
    )?;
    let checkpoint = Checkpoint::load(Arc::clone(disk), &layout.checkpoint, &layout.temporary)?;
    Ok(Files { chain, queues, index, checkpoint })
}

fn queue_offsets(queues: &QueueTable) -> QueueOffsets {
    let mut offsets = QueueOffsets::default();
    for queue in queues.list() {
        offsets.set(&queue.topic, queue.queue_id, queue.max_offset.0);
    }
    offsets
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // ratios between 0 and 1
fn percent(ratio: f64) -> u32 {
    (ratio * 100.0).round() as u32
}
