//! The reader thread: answers what may have to come from the disk, mostly pulls, so that the epoll thread does not wait
//! for it.

use std::sync::Arc;
use std::thread::JoinHandle;

use escrowmq_net::{Command, ConnectionId, Remote};
use escrowmq_store::{LogOffset, QueueOffset, StoredRecord};
use parking_lot::{Condvar, Mutex};

use super::cold_turns::ColdTurns;
use super::lane::OpenStore;
use super::message_filter::MessageFilter;
use super::offset_requests::first_message_answer;
use super::pull_answer::pull_answer;
use super::pull_read::{PullRange, PullRead, read};
use super::pull_request::PullRequest;
use super::reply::Asker;

/// Most requests that wait for the reader.
const JOBS_MAX: usize = 4096;
const PAGE_SIZE: usize = 4096;
/// How far the reader stands back where there are too few processors: a scan takes all that it gets, and whoever waits
/// for it waits for the disk anyway, while the epoll thread has everybody wait.
const NICENESS: i32 = 10;

/// A pull for the reader.
#[derive(Debug)]
pub struct ColdPull {
    pub request: PullRequest,
    pub filter: Arc<MessageFilter>,
    pub from: i64,
    pub count_max: usize,
    pub size_max_bytes: usize,
}

/// What the reader is asked for.
#[derive(Debug)]
pub enum ColdJob {
    /// Messages.
    Pull(ColdPull),
    /// Whether the first message of a queue lies behind a log offset.
    FirstMessage { topic: Box<str>, queue_id: u32, floor: LogOffset },
}

/// What the epoll thread leaves for the reader.
struct Jobs {
    turns: ColdTurns<(Asker, ColdJob)>,
    is_ended: bool,
}

struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

/// The way to the reader thread.
pub struct Reader {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    /// Starts the thread.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(
        store: Arc<dyn OpenStore>,
        remote: Remote,
        count: impl Fn(&PullRequest, &PullRead) + Send + 'static,
    ) -> std::io::Result<Self> {
        let jobs = Mutex::new(Jobs { turns: ColdTurns::new(JOBS_MAX), is_ended: false });
        let shared = Arc::new(Shared { jobs, changed: Condvar::new() });
        let work = Arc::clone(&shared);
        let run = move || run(&*store, &remote, &work, count);
        let thread = std::thread::Builder::new().name("escrowmq-reader".to_owned()).spawn(run)?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Hands a job over; false where too many wait, in all or of this connection.
    pub fn submit(&self, asker: Asker, job: ColdJob) -> bool {
        let is_taken = self.shared.jobs.lock().turns.push(asker.peer.connection, (asker, job)).is_ok();
        if is_taken {
            self.shared.changed.notify_one();
        }
        is_taken
    }

    /// Drops the jobs of a connection that is gone.
    pub fn forget(&self, connection: ConnectionId) {
        self.shared.jobs.lock().turns.forget(connection);
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.shared.jobs.lock().is_ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // What it left unanswered belongs to connections that are gone.
            let _ = thread.join();
        }
    }
}

impl Shared {
    /// Waits for a job; none when there will be no more.
    fn next(&self) -> Option<(Asker, ColdJob)> {
        let mut jobs = self.jobs.lock();
        loop {
            if jobs.is_ended {
                return None;
            }
            if let Some(job) = jobs.turns.pop() {
                return Some(job);
            }
            self.changed.wait(&mut jobs);
        }
    }
}

fn run(store: &dyn OpenStore, remote: &Remote, jobs: &Shared, count: impl Fn(&PullRequest, &PullRead)) {
    // On Linux it is this thread's alone. Where it is refused, the reader is a thread like the others.
    let _ = rustix::process::nice(NICENESS);
    while let Some((asker, job)) = jobs.next() {
        let (head, body) = match job {
            ColdJob::Pull(pull) => {
                let Some(found) = pull.read(store) else { continue };
                found.records.iter().for_each(touch);
                count(&pull.request, &found);
                pull_answer(&asker, pull.request.queue_offset, found)
            }
            ColdJob::FirstMessage { topic, queue_id, floor } => {
                let queue = store.core().queue(&topic, queue_id);
                let first = queue.and_then(|queue| queue.entry(QueueOffset(0)));
                (
                    first_message_answer(&asker, first.is_some_and(|entry| entry.log_offset >= floor)),
                    Vec::new(),
                )
            }
        };
        let connection = asker.peer.connection;
        let settled_size = asker.settled_size();
        let command = if asker.is_one_way {
            Command::Settle { connection, size: settled_size }
        } else {
            Command::Send { connection, chunks: std::iter::once(head).chain(body).collect(), settled_size }
        };
        if remote.submit([command]).is_err() {
            return;
        }
    }
}

impl ColdPull {
    fn read(&self, store: &dyn OpenStore) -> Option<PullRead> {
        let range = PullRange {
            topic: &self.request.topic,
            queue_id: self.request.queue_id,
            from: self.from,
            count_max: self.count_max,
            size_max_bytes: self.size_max_bytes,
            floor: LogOffset(0),
        };
        read(store.core(), range, &self.filter)
    }
}

/// Reads a byte of every page, so that the epoll thread finds them resident when it writes them.
fn touch(record: &StoredRecord) {
    let bytes = record.bytes();
    let sum =
        bytes.iter().step_by(PAGE_SIZE).chain(bytes.last()).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
}
