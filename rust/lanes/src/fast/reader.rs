//! The reader thread: answers pulls whose records may have to come from the disk, so that the epoll thread does not wait
//! for it.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::JoinHandle;

use escrowmq_net::{Command, Remote};
use escrowmq_store::{LogOffset, StoredRecord};

use super::lane::OpenStore;
use super::message_filter::MessageFilter;
use super::pull_answer::pull_answer;
use super::pull_read::{PullRange, PullRead, read};
use super::pull_request::PullRequest;
use super::reply::Asker;

/// Most pulls that wait for the reader.
const JOBS_MAX: usize = 4096;
const PAGE_SIZE: usize = 4096;
/// How far the reader stands back where there are too few processors: a scan takes all that it gets, and whoever waits
/// for it waits for the disk anyway, while the epoll thread has everybody wait.
const NICENESS: i32 = 10;

/// A pull for the reader.
#[derive(Debug)]
pub struct ColdPull {
    pub asker: Asker,
    pub request: PullRequest,
    pub filter: Arc<MessageFilter>,
    pub from: i64,
    pub count_max: usize,
    pub size_max_bytes: usize,
}

/// The way to the reader thread.
pub struct Reader {
    jobs: Option<SyncSender<ColdPull>>,
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
        let (jobs, work) = sync_channel(JOBS_MAX);
        let run = move || run(&*store, &remote, &work, count);
        let thread = std::thread::Builder::new().name("escrowmq-reader".to_owned()).spawn(run)?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread) })
    }

    /// Hands a pull over; gives it back where too many wait.
    pub fn submit(&self, pull: ColdPull) -> Result<(), Box<ColdPull>> {
        let Some(jobs) = &self.jobs else { return Err(Box::new(pull)) };
        jobs.try_send(pull).map_err(|error| match error {
            TrySendError::Full(pull) | TrySendError::Disconnected(pull) => Box::new(pull),
        })
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // What it left unanswered belongs to connections that are gone.
            let _ = thread.join();
        }
    }
}

fn run(
    store: &dyn OpenStore,
    remote: &Remote,
    jobs: &Receiver<ColdPull>,
    count: impl Fn(&PullRequest, &PullRead),
) {
    // On Linux it is this thread's alone. Where it is refused, the reader is a thread like the others.
    let _ = rustix::process::nice(NICENESS);
    for pull in jobs {
        let range = PullRange {
            topic: &pull.request.topic,
            queue_id: pull.request.queue_id,
            from: pull.from,
            count_max: pull.count_max,
            size_max_bytes: pull.size_max_bytes,
            floor: LogOffset(0),
        };
        let Some(found) = read(store.core(), range, &pull.filter) else { continue };
        found.records.iter().for_each(touch);
        count(&pull.request, &found);
        let (head, body) = pull_answer(&pull.asker, pull.request.queue_offset, found);
        let connection = pull.asker.peer.connection;
        let settled_size = pull.asker.settled_size();
        let command = if pull.asker.is_one_way {
            Command::Settle { connection, size: settled_size }
        } else {
            Command::Send { connection, chunks: std::iter::once(head).chain(body).collect(), settled_size }
        };
        if remote.submit([command]).is_err() {
            return;
        }
    }
}

/// Reads a byte of every page, so that the epoll thread finds them resident when it writes them.
fn touch(record: &StoredRecord) {
    let bytes = record.bytes();
    let sum =
        bytes.iter().step_by(PAGE_SIZE).chain(bytes.last()).fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    std::hint::black_box(sum);
}
