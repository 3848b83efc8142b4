//! The end of the lane on Python's threads: fetches events, and gives answers back, both in batches.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use escrowmq_net::{Command, ConnectionId, Remote};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::answer::{Answer, ServerRequest};
use crate::error::LaneError;
use crate::event::{Event, Request};
use crate::queue::{Class, LaneQueue};

/// What a lane holds now, and refused so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneStatistics {
    /// Events that wait to be fetched.
    pub waiting: usize,
    /// Requests that were answered `SYSTEM_BUSY`.
    pub refused: u64,
}

/// What waiting came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// Something can be fetched, or the lane has ended.
    Ready,
    /// The time is over.
    TimedOut,
    /// A signal came; whoever waits may want to look at it, and wait again.
    Interrupted,
}

/// Fetches and answers. Any thread may, and several at a time.
#[derive(Debug)]
pub struct LaneEnd {
    queue: Arc<LaneQueue>,
    remote: Remote,
    next_opaque: AtomicI32,
}

impl LaneEnd {
    /// The end of the lane of that queue, on the server of that handle.
    #[must_use]
    pub fn new(queue: Arc<LaneQueue>, remote: Remote) -> Self {
        Self { queue, remote, next_opaque: AtomicI32::new(1) }
    }

    /// Readable while something can be fetched, or the lane has ended.
    #[must_use]
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.queue.event_fd.as_fd()
    }

    /// Waits until something can be fetched; for ever, without a time.
    ///
    /// # Errors
    /// [`LaneError::System`] where the system refuses to wait.
    pub fn wait(&self, time_max: Option<Duration>) -> Result<Waited, LaneError> {
        // A time that does not fit is as good as for ever.
        let time_max = time_max.and_then(|time| Timespec::try_from(time).ok());
        let mut watched = [PollFd::new(&self.queue.event_fd, PollFlags::IN)];
        match poll(&mut watched, time_max.as_ref()) {
            Ok(0) => Ok(Waited::TimedOut),
            Ok(_) => Ok(Waited::Ready),
            Err(Errno::INTR) => Ok(Waited::Interrupted),
            Err(error) => Err(LaneError::System { action: "wait for requests", source: error.into() }),
        }
    }

    /// Fetches up to `count_max` events, without waiting. None if the lane has ended and everything was fetched.
    #[must_use]
    pub fn next_batch(&self, count_max: usize) -> Option<Vec<Event>> {
        let mut commands = Vec::new();
        let mut line = self.queue.lock();
        if line.is_empty() && line.is_ended {
            return None;
        }
        let mut events = Vec::with_capacity(count_max.min(line.len()));
        while events.len() < count_max
            && let Some(event) = self.queue.pop(&mut line)
        {
            if Class::of(&event) == Class::OneWay {
                // Nobody will answer it, so fetching it is what settles it.
                commands.extend(settle(&event));
            }
            events.push(event);
        }
        if self.queue.is_one_way_free(&line) {
            commands.extend(line.paused.drain(..).map(|connection| Command::Resume { connection }));
        }
        drop(line);
        if !commands.is_empty() {
            // A server that is closed counts nothing any more.
            let _ = self.remote.submit(commands);
        }
        Some(events)
    }

    /// Answers requests, all or, on an error, none. What belongs to one-way requests and closed connections is dropped.
    ///
    /// # Errors
    /// [`LaneError::AnsweredBefore`], [`LaneError::Wire`] where an answer can't be encoded, [`LaneError::Net`] where the
    /// server is closed.
    pub fn answer<'a>(
        &self,
        answers: impl IntoIterator<Item = (&'a Request, &'a Answer)>,
    ) -> Result<(), LaneError> {
        let (mut commands, mut settled) = (Vec::new(), Vec::new());
        let result = answers.into_iter().try_for_each(|(request, answer)| {
            let received = request.received();
            if received.is_one_way() {
                return Ok(());
            }
            let (connection, settled_size) = (received.peer.connection, received.size());
            let chunks = answer.encode(received)?;
            if !request.settle() {
                return Err(LaneError::AnsweredBefore { connection, opaque: received.opaque });
            }
            settled.push(request);
            commands.push(Command::Send { connection, chunks, settled_size });
            Ok(())
        });
        let result = result.and_then(|()| Ok(self.remote.submit(commands)?));
        if result.is_err() {
            for request in settled {
                request.unsettle();
            }
        }
        result
    }

    /// Sends a request to a peer and returns its number, which the response repeats: the given one, or the next.
    ///
    /// # Errors
    /// [`LaneError::Wire`] where it can't be encoded, [`LaneError::Net`] where the server is closed.
    pub fn send(
        &self,
        connection: ConnectionId,
        request: &ServerRequest,
        opaque: Option<i32>,
    ) -> Result<i32, LaneError> {
        let opaque = opaque.unwrap_or_else(|| self.next_opaque.fetch_add(1, Ordering::Relaxed));
        let chunks = request.encode(opaque)?;
        self.remote.submit([Command::Send { connection, chunks, settled_size: 0 }])?;
        Ok(opaque)
    }

    /// What the lane holds now, and refused so far.
    #[must_use]
    pub fn statistics(&self) -> LaneStatistics {
        let line = self.queue.lock();
        LaneStatistics { waiting: line.len(), refused: line.refused }
    }
}

fn settle(event: &Event) -> Option<Command> {
    let received = match event {
        Event::Request(request) => request.settle().then_some(request.received())?,
        Event::Response(received) => received,
        Event::Opened(_) | Event::Closed(..) => return None,
    };
    Some(Command::Settle { connection: received.peer.connection, size: received.size() })
}
