//! A store with its threads. Each runs one step of [`StoreCore`] whenever there is something for it to do:
//!
//! | thread | step | waits for |
//! |---|---|---|
//! | flusher | flush | bytes that are not durable; in async mode an interval too |
//! | builder | build | bytes that are durable (sync) or written (async) and not built |
//! | segment helper | prepare a segment, move the resident window | the log's end coming near |
//! | housekeeper | checkpoint, expiry | time |

use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::clock::{Clock, ClockListener, SystemClock};
use crate::commit_log::HotWindow;
use crate::directory_lock::DirectoryLock;
use crate::disk::{Disk, RealDisk};
use crate::error::{Result, StoreError};
use crate::expiry::ExpiryReport;
use crate::expiry_rounds::{ExpiryRounds, Round};
use crate::mapped::{PAGE_SIZE, Watermark};
use crate::offset::LogOffset;
use crate::options::{FlushMode, Retention, StoreOptions};
use crate::store_core::StoreCore;

/// How long the builder lets the log grow in async mode before it follows again: nobody waits for it there, and an append
/// that wakes nobody is several times cheaper. Apache's builder pauses as long.
const ASYNC_BUILD_PAUSE: Duration = Duration::from_millis(1);
/// With many queues a checkpoint takes seconds of the disk that flushes wait for: it pauses this many times as long.
const CHECKPOINT_PAUSE_RATIO: u32 = 9;
/// A start has to build again what came after the last checkpoint.
const CHECKPOINT_PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a step waits that failed for want of space.
const FULL_DISK_PAUSE: Duration = Duration::from_secs(1);

/// An open store directory. What can be read and asked is [`StoreCore`]'s.
#[derive(Debug)]
pub struct Store {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    lock: Mutex<Option<DirectoryLock>>,
}

#[derive(Debug)]
struct Shared {
    core: StoreCore,
    is_stopping: Mutex<bool>,
    stopping: Condvar,
}

impl Deref for Store {
    type Target = StoreCore;

    fn deref(&self) -> &StoreCore {
        &self.shared.core
    }
}

impl Store {
    /// Opens a store directory, or makes one, recovers it, and starts its threads.
    ///
    /// # Errors
    /// [`StoreError::InUse`], what is wrong with the directory, [`StoreError::Io`].
    pub fn open(folder: &Path, options: StoreOptions) -> Result<Self> {
        Self::open_with_clock(folder, options, Arc::new(SystemClock::default()))
    }

    /// The same, with a clock of the caller's.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with_clock(folder: &Path, options: StoreOptions, clock: Arc<dyn Clock>) -> Result<Self> {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        // Before the lock: not even its file may appear in a folder that is none of ours.
        let layout = StoreCore::check(&*disk, folder, &options)?;
        disk.create_folder(folder).map_err(StoreError::io("create", folder))?;
        let lock = DirectoryLock::acquire(&layout.lock)?;
        let core = match StoreCore::open_checked(disk, clock, layout, options) {
            Ok(core) => core,
            Err(error) => {
                lock.discard();
                return Err(error);
            }
        };
        Self::start(core, Some(lock))
    }

    /// Starts the threads of a store that was opened on a simulated disk, where there is nothing to lock.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    #[cfg(feature = "simulation")]
    pub fn start_simulated(core: StoreCore) -> Result<Self> {
        Self::start(core, None)
    }

    fn start(core: StoreCore, lock: Option<DirectoryLock>) -> Result<Self> {
        let folder = core.layout.root.clone();
        let shared = Arc::new(Shared { core, is_stopping: Mutex::new(false), stopping: Condvar::new() });
        let listener: Arc<dyn ClockListener> = Arc::clone(&shared) as _;
        shared.core.clock.listen(Arc::downgrade(&listener));
        drop(listener);
        // Before the threads: if one can't be started, dropping this stops those that were.
        let store = Self { shared, threads: Mutex::new(Vec::new()), lock: Mutex::new(lock) };
        for (name, run) in [
            ("escrow-flush", Shared::run_flusher as fn(&Shared)),
            ("escrow-build", Shared::run_builder),
            ("escrow-segment", Shared::run_segment_helper),
            ("escrow-house", Shared::run_housekeeper),
        ] {
            let shared = Arc::clone(&store.shared);
            let work = move || shared.poison_on_panic(name, run);
            let thread = std::thread::Builder::new().name(name.to_string()).spawn(work);
            store.threads.lock().push(thread.map_err(StoreError::io("start threads for", &folder))?);
        }
        Ok(store)
    }

    /// Waits until the log is on disk up to `end`.
    ///
    /// # Errors
    /// [`StoreError::NotYetDurable`] after `timeout`, [`StoreError::Poisoned`], [`StoreError::Closed`].
    pub fn wait_durable(&self, end: LogOffset, timeout: Duration) -> Result<()> {
        self.wait(self.log.durable(), end, timeout)
    }

    /// Waits until messages are in their queues up to `end`, and in sync mode on disk: then they may be acknowledged.
    ///
    /// # Errors
    /// [`StoreError::NotYetDurable`] after `timeout`, [`StoreError::Poisoned`], [`StoreError::Closed`].
    pub fn wait_visible(&self, end: LogOffset, timeout: Duration) -> Result<()> {
        self.wait(self.builder.built(), end, timeout)
    }

    /// Makes everything that is written durable now.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`].
    pub fn flush(&self) -> Result<LogOffset> {
        self.flush_once()
    }

    /// Removes what is too old or does not fit any more, now and not at the next round; old segments at any hour, if so
    /// said.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire(&self, is_any_hour: bool) -> Result<ExpiryReport> {
        self.expiry.run(self, is_any_hour)
    }

    /// Has old segments go whatever the hour, in the next rounds. Does not wait for them.
    pub fn expire_soon(&self) {
        self.expiry.ask();
        self.shared.look_again();
    }

    /// Removes the files of queues and index that hold nothing of the log any more.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn expire_queues(&self) -> Result<()> {
        self.expiry.run_queues(self)
    }

    /// Goes on with other rules for expiry; from which share of the disk on writes are refused does not change.
    pub fn set_retention(&self, retention: Retention) {
        self.expiry.set_retention(retention);
    }

    /// Stops the threads, then the store, orderly. A second call does nothing.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`]; the next start then recovers.
    pub fn close(&self) -> Result<()> {
        if self.refuse_if_closed().is_ok() {
            // First what was taken is finished, so that whoever waits for it is answered; its error comes again below.
            let _ = self.finish();
        }
        self.stop_threads(StoreCore::close)
    }

    /// Stops as a kill would, between two steps of each thread: nothing is flushed or built any more and no note is left,
    /// so the next start finds what a killed process leaves. For tests.
    pub fn abandon(&self) {
        self.shared.core.abandon();
        self.stop_threads(|_| ());
    }

    /// Ends the threads, then does what is left to do, then gives the directory back.
    fn stop_threads<T>(&self, finally: impl FnOnce(&StoreCore) -> T) -> T {
        *self.shared.is_stopping.lock() = true;
        self.shared.stopping.notify_all();
        self.stop_waits();
        // Held to the end: a second caller returns when the directory is really free, and not before.
        let mut threads = self.threads.lock();
        for thread in threads.drain(..) {
            // A thread that panicked has said so; what it left behind is for `close` to find.
            let _ = thread.join();
        }
        let result = finally(&self.shared.core);
        drop(self.lock.lock().take());
        result
    }

    fn wait(&self, mark: &Watermark, end: LogOffset, timeout: Duration) -> Result<()> {
        match mark.wait(end.0, Some(timeout)) {
            Ok(true) => Ok(()),
            Ok(false) => Err(StoreError::NotYetDurable {
                offset: end,
                waited_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
            }),
            Err(_) => Err(self.stopped()),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the store did not close orderly");
        }
    }
}

impl ClockListener for Shared {
    fn clock_advanced(&self) {
        self.look_again();
    }
}

impl Shared {
    /// Has whoever pauses look whether it is time now; a pause that is cut short costs a step too early.
    fn look_again(&self) {
        let _pausing = self.is_stopping.lock();
        self.stopping.notify_all();
    }

    /// Runs a thread's work. A panic in it is a defect of ours; nobody may wait for what will not come.
    fn poison_on_panic(&self, name: &str, run: fn(&Self)) {
        let work = std::panic::AssertUnwindSafe(|| run(self));
        if std::panic::catch_unwind(work).is_err() {
            self.core.poison_by_panic(name);
        }
    }

    fn run_flusher(&self) {
        let core = &self.core;
        let mut last_flush = Instant::now();
        while core.log.written().wait(core.durable_end().0 + 1, None).is_ok() {
            if let FlushMode::Async { interval_ms, pages_min, thorough_interval_ms } = core.options.flush {
                if self.pause(Duration::from_millis(interval_ms)) {
                    return;
                }
                let dirty_bytes = core.log_end().0 - core.durable_end().0;
                let is_thorough = last_flush.elapsed() >= Duration::from_millis(thorough_interval_ms);
                if dirty_bytes < pages_min * PAGE_SIZE as u64 && !is_thorough {
                    continue;
                }
            }
            last_flush = Instant::now();
            if core.flush_once().is_err() {
                return;
            }
        }
    }

    fn run_builder(&self) {
        let core = &self.core;
        while core.build_limit().wait(core.visible_end().0 + 1, None).is_ok() {
            match core.build_once() {
                Ok(built) if built.0 == core.build_limit().get() && self.is_async() => {
                    if self.pause(ASYNC_BUILD_PAUSE) {
                        return;
                    }
                }
                Ok(_) => {}
                Err(error) if error.is_storage_full() => {
                    tracing::error!(%error, "queues can't follow the log");
                    if self.pause(FULL_DISK_PAUSE) {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn run_segment_helper(&self) {
        let core = &self.core;
        let mut window = HotWindow::new(matches!(core.options.flush, FlushMode::Async { .. }));
        loop {
            if let Err(error) = core.prepare_segment_once() {
                tracing::error!(%error, "the next segment can't be made");
                if self.pause(FULL_DISK_PAUSE) {
                    return;
                }
            }
            window.advance(&core.log);
            let next = window.next_at().min(core.log.prepare_at());
            if core.log.written().wait(next, None).is_err() {
                return;
            }
        }
    }

    fn run_housekeeper(&self) {
        let core = &self.core;
        let mut rounds = ExpiryRounds::new(core.clock.monotonic_ms());
        let interval = Duration::from_millis(core.options.checkpoint_interval_ms);
        let mut pause = interval;
        while !self.pause(pause) {
            let began = Instant::now();
            let saved = core.checkpoint_once();
            pause = (began.elapsed() * CHECKPOINT_PAUSE_RATIO).min(CHECKPOINT_PAUSE_MAX).max(interval);
            match saved {
                Err(error) if error.is_storage_full() => tracing::error!(%error, "the checkpoint can't move"),
                Err(_) => return,
                Ok(()) => {}
            }
            let result = match rounds.next(core.clock.monotonic_ms(), core.expiry.take_asked()) {
                Round::Wait => Ok(()),
                Round::Look => core.look_at_disk().map(drop),
                Round::Expire => core.expire_once().map(drop),
            };
            if let Err(error) = result {
                tracing::error!(%error, "expiry failed, and is tried again");
            }
        }
    }

    fn is_async(&self) -> bool {
        matches!(self.core.options.flush, FlushMode::Async { .. })
    }

    /// Waits, or until the store stops, or the clock was moved on; whether it stops.
    fn pause(&self, time: Duration) -> bool {
        let mut is_stopping = self.is_stopping.lock();
        if !*is_stopping {
            self.stopping.wait_for(&mut is_stopping, time);
        }
        *is_stopping
    }
}
