//! The end of the lane on Python's threads: fetches events, and gives answers back, both in batches.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use bytes::Bytes;
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
        self.answer_or_keep(answers, |_| false).map(drop)
    }

    /// As [`answer`](Self::answer), but those that are to be kept are returned, ready to be sent by whoever keeps them.
    pub(crate) fn answer_or_keep<'a>(
        &self,
        answers: impl IntoIterator<Item = (&'a Request, &'a Answer)>,
        is_kept: impl Fn(&Answer) -> bool,
    ) -> Result<Vec<Encoded<'a>>, LaneError> {
        let (kept, mut now): (Vec<_>, Vec<_>) =
            encode_all(answers)?.into_iter().partition(|encoded| is_kept(encoded.answer));
        let command = |encoded: &mut Encoded<'_>| {
            let (received, chunks) = (encoded.request.received(), std::mem::take(&mut encoded.chunks));
            Command::Send { connection: received.peer.connection, chunks, settled_size: received.size() }
        };
        if let Err(error) = self.remote.submit(now.iter_mut().map(command)) {
            for encoded in now.iter().chain(&kept) {
                encoded.request.unsettle();
            }
            return Err(error.into());
        }
        now.iter().chain(&kept).for_each(|encoded| encoded.request.let_go());
        Ok(kept)
    }

    /// Sends a request to a peer and returns its number, which the response repeats: the given one, or the next. Where it is
    /// wished, [`Event::Written`] comes when the kernel has taken all of it, unless the connection ends before.
    ///
    /// # Errors
    /// [`LaneError::Wire`] where it can't be encoded, [`LaneError::Net`] where the server is closed.
    pub fn send(
        &self,
        connection: ConnectionId,
        request: &ServerRequest,
        opaque: Option<i32>,
        tells_when_written: bool,
    ) -> Result<i32, LaneError> {
        let opaque = opaque.unwrap_or_else(|| self.next_opaque.fetch_add(1, Ordering::Relaxed));
        let chunks = request.encode(opaque)?;
        let send = Command::Send { connection, chunks, settled_size: 0 };
        let tell = tells_when_written.then_some(Command::TellWritten { connection, number: opaque });
        self.remote.submit([send].into_iter().chain(tell))?;
        Ok(opaque)
    }

    /// What the lane holds now, and refused so far.
    #[must_use]
    pub fn statistics(&self) -> LaneStatistics {
        let line = self.queue.lock();
        LaneStatistics { waiting: line.len(), refused: line.refused }
    }
}

/// An answer that is settled and not yet sent.
pub(crate) struct Encoded<'a> {
    pub request: &'a Request,
    pub answer: &'a Answer,
    pub chunks: Vec<Bytes>,
}

/// Encodes and settles all or, on an error, none. One-way requests get no answer.
fn encode_all<'a>(
    answers: impl IntoIterator<Item = (&'a Request, &'a Answer)>,
) -> Result<Vec<Encoded<'a>>, LaneError> {
    let mut encoded: Vec<Encoded<'a>> = Vec::new();
    let result = answers.into_iter().try_for_each(|(request, answer)| {
        let received = request.received();
        if received.is_one_way() {
            return Ok(());
        }
        let chunks = answer.encode(received)?;
        if !request.settle() {
            let connection = received.peer.connection;
            return Err(LaneError::AnsweredBefore { connection, opaque: received.opaque });
        }
        encoded.push(Encoded { request, answer, chunks });
        Ok(())
    });
    match result {
        Ok(()) => Ok(encoded),
        Err(error) => {
            for one in encoded {
                one.request.unsettle();
            }
            Err(error)
        }
    }
}

fn settle(event: &Event) -> Option<Command> {
    let received = match event {
        Event::Request(request) => request.settle().then_some(request.received())?,
        Event::Response(received) => received,
        Event::Opened(_) | Event::Written(..) | Event::Closed(..) | Event::Visible(_) => return None,
    };
    Some(Command::Settle { connection: received.peer.connection, size: received.size() })
}
