//! What other threads have for the fast lane: the store's arrivals, requests that Python gives back, answers of Python
//! that wait for a flush, pulls to look at again. They leave it here and wake the epoll thread; nobody waits for anybody.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use escrowmq_net::{Peer, Remote};
use escrowmq_store::{Arrival, ArrivalListener, LogOffset};
use escrowmq_wire::Frame;
use parking_lot::Mutex;

use super::pending_answers::PendingAnswer;

/// A request that Python gave back.
#[derive(Debug)]
pub struct Returned {
    pub peer: Peer,
    pub frame: Frame,
}

/// What lay in the mailbox.
#[derive(Debug, Default)]
pub struct Letters {
    pub grown: BTreeSet<Arrival>,
    pub returned: Vec<Returned>,
    /// Answers of Python to what it appended.
    pub held: Vec<PendingAnswer>,
    /// Log offsets of which Python wants to be told when they are visible.
    pub marks: Vec<LogOffset>,
}

/// The mailbox of a fast lane.
#[derive(Default)]
pub struct Mailbox {
    letters: Mutex<Letters>,
    /// How many answers, pulls and marks wait for something to arrive. While none does, arrivals are of no interest.
    waiting: AtomicUsize,
    /// Answers of Python that lie here, or were taken and are not yet counted elsewhere.
    held: AtomicUsize,
    is_stopped: AtomicBool,
    remote: OnceLock<Remote>,
}

impl Mailbox {
    /// Tells it whom to wake.
    pub fn connect(&self, remote: Remote) {
        // There is one epoll thread in the life of a mailbox.
        let _ = self.remote.set(remote);
    }

    pub fn take(&self) -> Letters {
        std::mem::take(&mut *self.letters.lock())
    }

    /// Leaves a request that Python gave back.
    pub fn give_back(&self, peer: Peer, frame: Frame) {
        self.letters.lock().returned.push(Returned { peer, frame });
        self.wake();
    }

    /// Leaves answers that wait for a flush.
    pub fn hold(&self, answers: Vec<PendingAnswer>) {
        if !answers.is_empty() {
            self.held.fetch_add(answers.len(), Ordering::SeqCst);
            self.letters.lock().held.extend(answers);
            self.wake();
        }
    }

    /// Says that so many answers that were taken are counted by whoever took them.
    pub fn counted(&self, answers: usize) {
        self.held.fetch_sub(answers, Ordering::SeqCst);
    }

    /// Whether answers lie here that nobody counts yet.
    pub fn holds_answers(&self) -> bool {
        self.held.load(Ordering::SeqCst) > 0
    }

    /// Leaves a log offset of which Python wants to be told.
    pub fn mark(&self, end: LogOffset) {
        self.letters.lock().marks.push(end);
        self.wake();
    }

    /// Has the pulls looked at again that wait for a queue.
    pub fn look_at(&self, queue: Arrival) {
        self.letters.lock().grown.insert(queue);
        self.wake();
    }

    /// Says how many wait. What arrives after this call is told; who calls it looks at the store once more.
    pub fn set_waiting(&self, count: usize) {
        self.waiting.store(count, Ordering::Relaxed);
        // Pairs with the one in `arrived`: either the builder sees who waits, or who waits sees what was built.
        fence(Ordering::SeqCst);
    }

    /// Whether nothing will arrive any more.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Acquire)
    }

    /// Has the epoll thread look at the mailbox and the clock.
    pub fn wake(&self) {
        if let Some(remote) = self.remote.get() {
            // A server that is closed has nobody left who waits.
            let _ = remote.wake();
        }
    }
}

impl ArrivalListener for Mailbox {
    fn arrived(&self, _end: LogOffset, queues: &[Arrival]) {
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return;
        }
        self.letters.lock().grown.extend(queues.iter().cloned());
        self.wake();
    }

    fn stopped(&self) {
        self.is_stopped.store(true, Ordering::Release);
        self.wake();
    }
}

impl fmt::Debug for Mailbox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Mailbox").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}
