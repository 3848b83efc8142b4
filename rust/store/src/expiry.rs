//! Removing old segments: by age at a given hour or when someone asks for it, by disk use at any time. A segment leaves
//! the log at once; its file goes when no reader holds it, or after a grace, since a reader keeps its memory whatever
//! becomes of the file. Files that have to wait are tried again in every round.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::disk::Disk;
use crate::error::{Result, StoreError};
use crate::mapped::{Segment, remove_file};
use crate::offset::LogOffset;
use crate::options::Retention;
use crate::store_core::StoreCore;

/// Segments removed in one run, so that a run stays short. Apache removes as many.
const SEGMENTS_PER_RUN_MAX: usize = 10;

/// Rounds that remove old segments whatever the hour, once someone has asked for it. Apache does as many.
const ASKED_ROUNDS: u32 = 20;

/// What a run removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExpiryReport {
    /// Segments that left the log.
    pub segments_expired: usize,
    /// Files that were removed, of this run's segments and of earlier ones.
    pub files_removed: usize,
    /// Files that wait for their readers.
    pub files_waiting: usize,
    /// Where the log begins now.
    pub log_start: LogOffset,
}

/// A segment that has left the log and whose file is still there.
#[derive(Debug)]
struct Doomed {
    segment: Arc<Segment>,
    since_ms: i64,
}

/// Removes old segments.
#[derive(Debug)]
pub(crate) struct Expiry {
    retention: Mutex<Retention>,
    /// From this share of the disk on, writes are refused. Looked at for every append, and never changed.
    refuse_ratio: f64,
    doomed: Mutex<Vec<Doomed>>,
    running: Mutex<()>,
    /// Rounds that are left to remove old segments whatever the hour, and whether one of them is to be now.
    asked_rounds: AtomicU32,
    is_asked: AtomicBool,
    /// Share of the disk in use, as the bits of an `f64`.
    used_ratio: AtomicU64,
    /// The log from here on stays, whatever its age and the disk's fill.
    held_from: AtomicU64,
}

impl Expiry {
    pub fn new(retention: Retention) -> Self {
        Self {
            retention: Mutex::new(retention),
            refuse_ratio: retention.refuse_ratio,
            doomed: Mutex::new(Vec::new()),
            running: Mutex::new(()),
            asked_rounds: AtomicU32::new(0),
            is_asked: AtomicBool::new(false),
            used_ratio: AtomicU64::new(0.0_f64.to_bits()),
            held_from: AtomicU64::new(u64::MAX),
        }
    }

    /// The share of the disk in use.
    pub fn used_ratio(&self) -> f64 {
        f64::from_bits(self.used_ratio.load(Ordering::Relaxed))
    }

    /// The share of the disk in use, where it is too much for writes.
    pub fn full_ratio(&self) -> Option<f64> {
        Some(self.used_ratio()).filter(|ratio| *ratio >= self.refuse_ratio)
    }

    /// Goes on with other rules; from which share of the disk on writes are refused does not change.
    pub fn set_retention(&self, retention: Retention) {
        *self.retention.lock() = Retention { refuse_ratio: self.refuse_ratio, ..retention };
    }

    /// The rules.
    pub fn retention(&self) -> Retention {
        *self.retention.lock()
    }

    /// Has old segments go in the next rounds whatever the hour, the first of which is to be soon.
    pub fn ask(&self) {
        self.asked_rounds.store(ASKED_ROUNDS, Ordering::Release);
        self.is_asked.store(true, Ordering::Release);
    }

    /// Whether a round is to be now, which is asked for no more.
    pub fn take_asked(&self) -> bool {
        self.is_asked.swap(false, Ordering::AcqRel)
    }

    /// Leaves the segment of a log offset and all later ones alone from now on; `None` holds nothing.
    pub fn hold_from(&self, at: Option<LogOffset>) {
        self.held_from.store(at.map_or(u64::MAX, |at| at.0), Ordering::Relaxed);
    }

    /// Files that wait for their readers.
    pub fn waiting(&self) -> usize {
        self.doomed.lock().len()
    }

    /// Notes how full the disk is.
    pub fn look_at_disk(&self, disk: &dyn Disk, folder: &Path) -> Result<f64> {
        let ratio = disk.usage(folder).map_err(StoreError::io("look at", folder))?.used_ratio();
        self.used_ratio.store(ratio.to_bits(), Ordering::Relaxed);
        Ok(ratio)
    }

    /// Keeps runs from beginning while the guard is held.
    pub fn pause(&self) -> MutexGuard<'_, ()> {
        self.running.lock()
    }

    /// Removes what is due; what is old whatever the hour, if so said or asked for before.
    pub fn run(&self, core: &StoreCore, is_any_hour: bool) -> Result<ExpiryReport> {
        // One run at a time: two that look at the same oldest segment would take two.
        let _running = self.running.lock();
        core.refuse_if_closed()?;
        let used_ratio = self.look_at_disk(&*core.disk, &core.layout.root)?;
        let now_ms = core.clock.now_ms();
        let retention = self.retention();
        let by_age = core.clock.local_hour() == retention.delete_hour
            || used_ratio >= retention.clean_ratio
            || is_any_hour
            || self.take_asked_round();
        let by_force = used_ratio >= retention.force_ratio;
        let mut report = ExpiryReport::default();
        // What is not durable stays, in async mode too: a segment that comes back after a crash must be whole.
        let limit = core.visible_end().min(core.durable_end());
        let limit = limit.min(LogOffset(self.held_from.load(Ordering::Relaxed)));
        while report.segments_expired < SEGMENTS_PER_RUN_MAX {
            let Some(newest_ms) = core.log.first_segment_newest_ms(limit) else { break };
            let is_old = now_ms - newest_ms >= retention.age_max_ms;
            if !(by_force || by_age && is_old) {
                break;
            }
            if let Some(segment) = core.log.chain().take_first() {
                tracing::info!(path = %segment.path().display(), by_force, used_ratio, "segment expired");
                self.doomed.lock().push(Doomed { segment, since_ms: now_ms });
                report.segments_expired += 1;
            }
        }
        report.log_start = core.log.start();
        if self.waiting() > 0 {
            core.queues.hide_before(report.log_start);
            // Only what is durable in the queues can go from the log: an entry that a power loss takes could not be made
            // again, and the queue would have a gap, or begin once more at 0. The log is flushed for the same reason: in
            // async mode the file that remembers a queue's end may hold nothing but entries of unflushed records.
            core.flush_once()?;
            match core.checkpoint_once() {
                // The queues are synced before the index finds no room, and what the index lacks is about to go.
                Err(error) if error.is_storage_full() => tracing::warn!(%error, "the index can't follow"),
                result => result?,
            }
        }
        report.files_removed = self.remove_files(core, now_ms)?;
        if report.files_removed > 0 {
            self.follow(core)?;
        }
        report.files_waiting = self.waiting();
        Ok(report)
    }

    /// Removes the files of queues and index that hold nothing of the log any more.
    pub fn run_queues(&self, core: &StoreCore) -> Result<()> {
        let _running = self.running.lock();
        core.refuse_if_closed()?;
        self.follow(core)
    }

    /// Lets queues and index follow the log's start.
    fn follow(&self, core: &StoreCore) -> Result<()> {
        // Behind the log's files, not before them: a segment that is still there after a crash is in service again, and
        // its messages are in their queues and in the index.
        let oldest = self.doomed.lock().first().map(|oldest| LogOffset(oldest.segment.start()));
        let start = oldest.unwrap_or(core.log.start());
        core.queues.expire(start)?;
        core.index.lock().expire(start)
    }

    fn take_asked_round(&self) -> bool {
        let left = |rounds: u32| rounds.checked_sub(1);
        self.asked_rounds.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).is_ok()
    }

    /// Removes the files of doomed segments, oldest first, up to the first that must wait: a crash then leaves a log
    /// without a hole.
    fn remove_files(&self, core: &StoreCore, now_ms: i64) -> Result<usize> {
        let mut doomed = self.doomed.lock();
        let mut removed = 0;
        while let Some(oldest) = doomed.first() {
            let is_held = Arc::strong_count(&oldest.segment) > 1;
            if is_held && now_ms - oldest.since_ms < self.retention().reader_grace_ms {
                break;
            }
            match remove_file(&*core.disk, &core.layout.commit_log, oldest.segment.path()) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
            doomed.remove(0);
            removed += 1;
        }
        Ok(removed)
    }
}
