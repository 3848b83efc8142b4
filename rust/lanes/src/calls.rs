//! Requests of ours that are open: who waits for which answer. The epoll thread gives it to them without anybody between.
//!
//! A caller either sleeps until its answer is there, or has it put into a queue with an eventfd, which one thread or event
//! loop empties. An answer that nobody waits for any more is nobody's, and goes to Python with the rest.

use std::collections::{HashMap, HashSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Instant;

use bytes::Bytes;
use escrowmq_net::{CloseReason, Command, ConnectionId, Remote};
use foldhash::fast::RandomState;
use parking_lot::{Condvar, Mutex};
use rustix::event::{EventfdFlags, eventfd};
use std::net::SocketAddr;

use crate::answer::ServerRequest;
use crate::error::LaneError;
use crate::event::Received;

/// Numbers of calls have this bit, so that those of other requests of ours never meet them.
const CALL_BIT: i32 = 1 << 30;
const NUMBER_MASK: i32 = CALL_BIT - 1;
const WAKE_COUNT: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 0];

/// What comes of a call.
#[derive(Debug)]
pub enum Reply {
    /// Its answer.
    Answer(Received),
    /// The connection has ended before; why is not known where it had ended before the call.
    Ended(Option<CloseReason>),
}

/// A request that can be sent again and again.
pub trait Callable {
    /// The frame with a number, in pieces.
    ///
    /// # Errors
    /// [`LaneError::Wire`] where it can't be encoded.
    fn encode_call(&self, opaque: i32) -> Result<Vec<Bytes>, LaneError>;
}

impl Callable for ServerRequest {
    fn encode_call(&self, opaque: i32) -> Result<Vec<Bytes>, LaneError> {
        Ok(self.encode(opaque)?)
    }
}

/// Someone who sleeps.
#[derive(Debug, Default)]
struct Sleeper {
    reply: Mutex<Option<Reply>>,
    is_there: Condvar,
}

/// Replies for one thread or event loop, by the tokens that it chose.
#[derive(Debug)]
pub struct ReplyQueue {
    replies: Mutex<VecDeque<(u64, Reply)>>,
    event_fd: OwnedFd,
}

impl ReplyQueue {
    /// An empty queue.
    ///
    /// # Errors
    /// [`LaneError::System`] where the system refuses an eventfd.
    pub fn new() -> Result<Self, LaneError> {
        let event_fd = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)
            .map_err(|error| LaneError::System { action: "create an eventfd", source: error.into() })?;
        Ok(Self { replies: Mutex::default(), event_fd })
    }

    /// Readable while there are replies.
    #[must_use]
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.event_fd.as_fd()
    }

    /// All that is there.
    #[must_use]
    pub fn take(&self) -> VecDeque<(u64, Reply)> {
        let mut replies = self.replies.lock();
        if !replies.is_empty() {
            let mut count = [0; 8];
            // Nobody else reads it, so it can be read.
            let _ = rustix::io::read(&self.event_fd, &mut count);
        }
        std::mem::take(&mut replies)
    }

    fn put(&self, token: u64, reply: Reply) {
        let mut replies = self.replies.lock();
        if replies.is_empty()
            && let Err(error) = rustix::io::write(&self.event_fd, &WAKE_COUNT)
        {
            tracing::error!(%error, "who waits for replies can't be woken");
        }
        replies.push_back((token, reply));
    }
}

#[derive(Debug)]
enum Waiting {
    Sleeping(Arc<Sleeper>),
    Queued(Arc<ReplyQueue>, u64),
}

impl Waiting {
    fn settle(self, reply: Reply) {
        match self {
            Self::Sleeping(sleeper) => {
                *sleeper.reply.lock() = Some(reply);
                sleeper.is_there.notify_one();
            }
            Self::Queued(queue, token) => queue.put(token, reply),
        }
    }
}

#[derive(Debug, Default)]
struct Table {
    waiting: HashMap<i32, (ConnectionId, Waiting), RandomState>,
    /// Connections that were begun and have not ended.
    open: HashSet<ConnectionId, RandomState>,
}

/// The calls of one server.
#[derive(Debug)]
pub struct Calls {
    table: Mutex<Table>,
    next_number: AtomicI32,
    remote: Remote,
}

/// A call that somebody sleeps for. Dropped, it is forgotten.
#[derive(Debug)]
pub struct Call<'a> {
    calls: &'a Calls,
    number: i32,
    sleeper: Arc<Sleeper>,
}

impl Call<'_> {
    /// Sleeps until the reply is there, or the time has come.
    #[must_use]
    pub fn wait_until(&self, deadline: Instant) -> Option<Reply> {
        let mut reply = self.sleeper.reply.lock();
        while reply.is_none() {
            if self.sleeper.is_there.wait_until(&mut reply, deadline).timed_out() {
                break;
            }
        }
        reply.take()
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.calls.forget(self.number);
    }
}

impl Calls {
    /// No calls yet, by the connections of that handle.
    #[must_use]
    pub fn new(remote: Remote) -> Self {
        Self { table: Mutex::default(), next_number: AtomicI32::new(1), remote }
    }

    /// Begins a connection, by which may be called from now on.
    ///
    /// # Errors
    /// [`LaneError::Net`] where the server is closed.
    pub fn connect(&self, address: SocketAddr) -> Result<ConnectionId, LaneError> {
        // Held until it is written down: its end may come at once.
        let mut table = self.table.lock();
        let connection = self.remote.connect(address)?;
        table.open.insert(connection);
        Ok(connection)
    }

    /// Calls, for somebody who will sleep.
    ///
    /// # Errors
    /// [`LaneError::Wire`] where the request can't be encoded, [`LaneError::Net`] where the server is closed.
    pub fn call(&self, connection: ConnectionId, request: &impl Callable) -> Result<Call<'_>, LaneError> {
        let sleeper = Arc::new(Sleeper::default());
        let number = self.begin(connection, request, Waiting::Sleeping(Arc::clone(&sleeper)))?;
        Ok(Call { calls: self, number, sleeper })
    }

    /// Calls, and has the reply put into a queue; which number the call has.
    ///
    /// # Errors
    /// As [`Self::call`].
    pub fn call_into(
        &self,
        connection: ConnectionId,
        request: &impl Callable,
        queue: &Arc<ReplyQueue>,
        token: u64,
    ) -> Result<i32, LaneError> {
        self.begin(connection, request, Waiting::Queued(Arc::clone(queue), token))
    }

    /// Nobody waits for it any more; whether anybody did.
    pub fn forget(&self, number: i32) -> bool {
        self.table.lock().waiting.remove(&number).is_some()
    }

    fn begin(
        &self,
        connection: ConnectionId,
        request: &impl Callable,
        waiting: Waiting,
    ) -> Result<i32, LaneError> {
        let number = CALL_BIT | (self.next_number.fetch_add(1, Ordering::Relaxed) & NUMBER_MASK);
        let chunks = request.encode_call(number)?;
        {
            let mut table = self.table.lock();
            if !table.open.contains(&connection) {
                drop(table);
                waiting.settle(Reply::Ended(None));
                return Ok(number);
            }
            // Before it is sent: the answer may be here before this thread goes on.
            table.waiting.insert(number, (connection, waiting));
        }
        if let Err(error) = self.remote.submit([Command::Send { connection, chunks, settled_size: 0 }]) {
            self.forget(number);
            return Err(error.into());
        }
        Ok(number)
    }

    /// Gives an answer to who waits for it; back to the caller, if nobody does.
    pub(crate) fn answered(&self, received: Received) -> Option<Received> {
        if received.opaque & CALL_BIT == 0 {
            return Some(received);
        }
        let mut table = self.table.lock();
        let is_its = table
            .waiting
            .get(&received.opaque)
            .is_some_and(|(connection, _)| *connection == received.peer.connection);
        let waiting = if is_its { table.waiting.remove(&received.opaque) } else { None };
        drop(table);
        match waiting {
            Some((_, waiting)) => {
                waiting.settle(Reply::Answer(received));
                None
            }
            None => Some(received),
        }
    }

    /// A connection has ended, and so have its calls.
    pub(crate) fn ended(&self, connection: ConnectionId, reason: &CloseReason) {
        let mut table = self.table.lock();
        table.open.remove(&connection);
        let numbers: Vec<i32> = table
            .waiting
            .iter()
            .filter_map(|(number, (by, _))| (*by == connection).then_some(*number))
            .collect();
        let ended: Vec<Waiting> = numbers
            .iter()
            .filter_map(|number| table.waiting.remove(number).map(|(_, waiting)| waiting))
            .collect();
        drop(table);
        for waiting in ended {
            waiting.settle(Reply::Ended(Some(reason.clone())));
        }
    }

    /// The epoll thread has ended: nothing is answered any more.
    pub(crate) fn end(&self) {
        let mut table = self.table.lock();
        table.open.clear();
        let ended: Vec<_> = table.waiting.drain().map(|(_, (_, waiting))| waiting).collect();
        drop(table);
        for waiting in ended {
            waiting.settle(Reply::Ended(Some(CloseReason::Shutdown)));
        }
    }
}
