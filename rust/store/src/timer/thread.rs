//! The thread that runs a store's timers. It sleeps until the next slot is due; what comes in meanwhile is taken in with
//! the tick that ends next, many at a time.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::{Round, TimerOptions, Timers};
use crate::clock::ClockListener;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;
use crate::options::FlushMode;
use crate::store_core::StoreCore;

/// How long a step waits that failed for want of space, and how often a wait for the disk looks whether it still should.
const PAUSE: Duration = Duration::from_secs(1);
/// The longest sleep: a machine's clock may be set, and nobody says so.
const SLEEP_MAX_MS: i64 = 10_000;

/// Timers that run.
#[derive(Debug)]
pub struct TimerThread<S: Send + Sync + 'static> {
    shared: Arc<Shared<S>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct Shared<S> {
    store: Arc<S>,
    core: fn(&S) -> &StoreCore,
    precision_ms: i64,
    timers: Mutex<Timers>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_stopping: bool,
    /// Where the last message of the timer topic ends that was not looked for since.
    appended_end: Option<LogOffset>,
    /// Why the thread has ended before it was asked to.
    broken_by: Option<String>,
}

impl<S: Send + Sync + 'static> TimerThread<S> {
    /// Opens the timers of the store that `core` finds in `store`, and runs them.
    ///
    /// # Errors
    /// As [`Timers::open`].
    pub fn start(store: Arc<S>, core: fn(&S) -> &StoreCore, options: TimerOptions) -> Result<Self> {
        let now_ms = core(&store).clock.now_ms();
        let timers = Mutex::new(Timers::open(core(&store), options, now_ms)?);
        let precision_ms = options.precision_ms;
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { store, core, precision_ms, timers, state, changed });
        let listener: Arc<dyn ClockListener> = Arc::clone(&shared) as _;
        shared.core().clock.listen(Arc::downgrade(&listener));
        drop(listener);
        let running = Arc::clone(&shared);
        let thread =
            std::thread::Builder::new().name("escrow-timer".to_string()).spawn(move || running.run());
        let thread = thread.map_err(StoreError::io("start threads for", &shared.core().layout.root))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Says that a message was appended to the timer topic, whose record ends at `end`.
    pub fn appended(&self, end: LogOffset) {
        let mut state = self.shared.state.lock();
        let was_known = state.appended_end.is_some();
        state.appended_end = state.appended_end.max(Some(end));
        if !was_known {
            self.shared.changed.notify_all();
        }
    }

    /// Looks at the timers, between two rounds.
    pub fn with<T>(&self, look: impl FnOnce(&Timers) -> T) -> T {
        look(&self.shared.timers.lock())
    }

    /// Why the timers stand still until the store is opened again; `None` while they run.
    pub fn broken_by(&self) -> Option<String> {
        self.shared.state.lock().broken_by.clone()
    }

    /// Stops the thread and writes down how far the timers are. A second call does nothing.
    ///
    /// # Errors
    /// As [`Timers::close`].
    pub fn close(&self) -> Result<()> {
        if !self.stop() {
            return Ok(());
        }
        let core = self.shared.core();
        self.shared.timers.lock().close(core, core.clock.now_ms())
    }

    /// Stops the thread, and leaves everything else as a kill would.
    pub fn abandon(&self) {
        self.stop();
    }

    /// Stops the thread; false where it was stopped before.
    fn stop(&self) -> bool {
        let Some(thread) = self.thread.lock().take() else { return false };
        self.shared.state.lock().is_stopping = true;
        self.shared.changed.notify_all();
        // A thread that panicked has said so.
        let _ = thread.join();
        true
    }
}

impl<S: Send + Sync> Drop for TimerThread<S> {
    fn drop(&mut self) {
        if let Err(error) = self.close() {
            tracing::error!(%error, "the timers did not stop orderly");
        }
    }
}

impl<S: Send + Sync> ClockListener for Shared<S> {
    fn clock_advanced(&self) {
        let _state = self.state.lock();
        self.changed.notify_all();
    }
}

impl<S: Send + Sync> Shared<S> {
    fn core(&self) -> &StoreCore {
        (self.core)(&self.store)
    }

    fn run(&self) {
        while !self.state.lock().is_stopping {
            let core = self.core();
            let flushed = self.flush_appended();
            // What is visible now is taken in by this round; what is not is looked for with the next tick.
            let visible = core.visible_end().min(core.durable_end());
            match flushed.and_then(|()| self.timers.lock().run(core, core.clock.now_ms())) {
                Ok(round) => self.after(round, visible),
                Err(error) if error.is_storage_full() || matches!(error, StoreError::DiskFull { .. }) => {
                    tracing::error!(%error, "timers wait for space");
                    self.changed.wait_for(&mut self.state.lock(), PAUSE);
                }
                Err(StoreError::Closed) => return,
                Err(error) => {
                    tracing::error!(%error, "timers stand still until the store is opened again");
                    self.state.lock().broken_by = Some(error.to_string());
                    return;
                }
            }
        }
    }

    /// In async mode the log may take ten seconds to come to disk, and timers go by what is there: they see to it.
    fn flush_appended(&self) -> Result<()> {
        let appended = self.state.lock().appended_end;
        if self.is_async() && appended.is_some_and(|end| end > self.core().durable_end()) {
            self.core().flush_once()?;
        }
        Ok(())
    }

    fn is_async(&self) -> bool {
        matches!(self.core().options.flush, FlushMode::Async { .. })
    }

    /// Waits for what a round leaves to wait for.
    fn after(&self, round: Round, visible: LogOffset) {
        if let Some(end) = round.awaits {
            // Messages that go round are in the timer topic once more.
            let mut state = self.state.lock();
            state.appended_end = state.appended_end.max(Some(end));
            drop(state);
            if !self.is_async() {
                // Whatever ends the wait, the next round finds out.
                let _ = self.core().log.durable().wait(end.0, Some(PAUSE));
            }
        } else if !round.has_more {
            self.sleep(round.next_due_ms, visible);
        }
    }

    /// Sleeps until something is due, or the tick ends in which something came.
    fn sleep(&self, next_due_ms: Option<i64>, visible: LogOffset) {
        let clock = &self.core().clock;
        let mut state = self.state.lock();
        state.appended_end = state.appended_end.filter(|end| *end > visible);
        let mut tick_end_ms = None;
        while !state.is_stopping {
            let now_ms = clock.now_ms();
            if state.appended_end.is_some() && tick_end_ms.is_none() {
                tick_end_ms = Some((now_ms.div_euclid(self.precision_ms) + 1) * self.precision_ms);
            }
            let until_ms = [next_due_ms, tick_end_ms].into_iter().flatten().min();
            match until_ms {
                None => self.changed.wait(&mut state),
                Some(until_ms) if until_ms <= now_ms => return,
                Some(until_ms) => {
                    let pause_ms = (until_ms - now_ms).min(SLEEP_MAX_MS).unsigned_abs();
                    self.changed.wait_for(&mut state, Duration::from_millis(pause_ms));
                }
            }
        }
    }
}
