//! The way from other threads to the epoll thread: a list of commands, and one eventfd that is written when the list
//! begins to fill, not for every command.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use mio::Waker;
use parking_lot::Mutex;

use crate::command::Command;
use crate::connection::ConnectionId;
use crate::counters::{Counters, Statistics};
use crate::error::NetError;

#[derive(Debug, Default)]
pub struct Inbox {
    pub commands: Vec<Command>,
    /// Until when to write what is queued; set once, when the server closes.
    pub close_by: Option<Instant>,
    /// Whether someone asked for [`crate::Handler::woken`].
    pub is_woken: bool,
}

#[derive(Debug)]
pub struct Shared {
    inbox: Mutex<Inbox>,
    waker: Waker,
    /// Whether the waker was used since the inbox was last emptied.
    is_awake: AtomicBool,
    pub next_id: Arc<AtomicU64>,
    pub counters: Arc<Counters>,
}

impl Shared {
    pub fn new(waker: Waker) -> Self {
        Self {
            inbox: Mutex::default(),
            waker,
            is_awake: AtomicBool::new(false),
            next_id: Arc::new(AtomicU64::new(1)),
            counters: Arc::default(),
        }
    }

    /// Empties the inbox. To be called once per use of the waker.
    pub fn take(&self) -> Inbox {
        // Before the inbox is emptied: whoever fills it afterwards wakes the thread again.
        self.is_awake.store(false, Ordering::SeqCst);
        let mut inbox = self.inbox.lock();
        Inbox {
            commands: std::mem::take(&mut inbox.commands),
            close_by: inbox.close_by,
            is_woken: std::mem::take(&mut inbox.is_woken),
        }
    }

    /// Asks the thread to end; what was submitted before is still done.
    pub fn close(&self, close_by: Instant) {
        self.inbox.lock().close_by.get_or_insert(close_by);
        self.wake();
    }

    fn fill(&self, fill: impl FnOnce(&mut Inbox)) -> Result<(), NetError> {
        {
            let mut inbox = self.inbox.lock();
            if inbox.close_by.is_some() {
                return Err(NetError::Closed);
            }
            fill(&mut inbox);
            if inbox.commands.is_empty() && !inbox.is_woken {
                return Ok(());
            }
        }
        self.wake();
        Ok(())
    }

    fn wake(&self) {
        if !self.is_awake.swap(true, Ordering::SeqCst)
            && let Err(error) = self.waker.wake()
        {
            tracing::error!(%error, "the epoll thread can't be woken");
        }
    }
}

/// A handle for other threads. Cheap to clone; all calls return at once.
#[derive(Debug, Clone)]
pub struct Remote {
    pub(crate) shared: Arc<Shared>,
}

impl Remote {
    /// Submits commands, which take effect in this order. The thread is woken once, however many there are.
    ///
    /// # Errors
    /// [`NetError::Closed`]: the server closes or is closed, and none of them will have an effect.
    pub fn submit(&self, commands: impl IntoIterator<Item = Command>) -> Result<(), NetError> {
        self.shared.fill(|inbox| inbox.commands.extend(commands))
    }

    /// Has the epoll thread call [`crate::Handler::woken`] soon.
    ///
    /// # Errors
    /// [`NetError::Closed`].
    pub fn wake(&self) -> Result<(), NetError> {
        self.shared.fill(|inbox| inbox.is_woken = true)
    }

    /// Begins a connection and returns its number. The handler hears that it is opened, or closed where it can't be made.
    ///
    /// # Errors
    /// [`NetError::Closed`].
    pub fn connect(&self, address: SocketAddr) -> Result<ConnectionId, NetError> {
        let connection = ConnectionId(self.shared.next_id.fetch_add(1, Ordering::Relaxed));
        self.submit([Command::Connect { connection, address }])?;
        Ok(connection)
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.shared.counters.read()
    }
}
