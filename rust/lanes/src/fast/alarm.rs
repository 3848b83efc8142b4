//! A thread that sleeps until the next deadline of a waiting pull or send, and then wakes the epoll thread, which has no
//! clock of its own for them.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

/// Wakes someone at a time.
pub struct Alarm {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    at: Option<Instant>,
    is_ended: bool,
}

impl Alarm {
    /// Starts the thread. A system that refuses it has no room for a server either.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(ring: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let work = {
            let shared = Arc::clone(&shared);
            move || shared.run(ring)
        };
        let thread = std::thread::Builder::new().name("escrowmq-alarm".to_owned()).spawn(work)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Rings at this time at the latest. One that is set for earlier stays.
    pub fn set(&self, at: Instant) {
        let mut state = self.shared.state.lock();
        if state.at.is_none_or(|set| at < set) {
            state.at = Some(at);
            self.shared.changed.notify_one();
        }
    }
}

impl Shared {
    fn run(&self, ring: impl Fn()) {
        let mut state = self.state.lock();
        while !state.is_ended {
            match state.at {
                None => self.changed.wait(&mut state),
                Some(at) if at <= Instant::now() => {
                    state.at = None;
                    drop(state);
                    ring();
                    state = self.state.lock();
                }
                Some(at) => {
                    self.changed.wait_until(&mut state, at);
                }
            }
        }
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        self.shared.state.lock().is_ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // It only rings; a panic of it was reported where it happened.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn it_rings_once_at_the_earliest_time() {
        let (bell, heard) = mpsc::channel();
        let alarm =
            Alarm::start(move || bell.send(Instant::now()).expect("the test listens")).expect("a thread");
        let begin = Instant::now();
        alarm.set(begin + Duration::from_secs(60));
        alarm.set(begin + Duration::from_millis(20));
        let at = heard.recv_timeout(Duration::from_secs(10)).expect("it rings");
        assert!(at >= begin + Duration::from_millis(20));
        assert!(heard.recv_timeout(Duration::from_millis(20)).is_err());
    }
}
