//! A server from outside: started, asked where it listens, closed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mio::{Poll, Waker};
use parking_lot::Mutex;

use crate::counters::Statistics;
use crate::error::NetError;
use crate::event_loop::{EventLoop, WAKER_TOKEN};
use crate::handler::Handler;
use crate::listener::listen_on;
use crate::options::Options;
use crate::remote::{Remote, Shared};

/// The epoll thread and its listeners. Dropped, it closes without waiting for what is queued.
#[derive(Debug)]
pub struct Server {
    remote: Remote,
    addresses: Vec<SocketAddr>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Server {
    /// Listens, and starts the thread. The handler is made with a [`Remote`] in hand, and dropped when the thread ends.
    ///
    /// # Errors
    /// [`NetError::LimitTooSmall`], [`NetError::Listen`], or [`NetError::System`] where the system refuses.
    pub fn start<H: Handler + 'static>(
        options: Options,
        make_handler: impl FnOnce(Remote) -> H,
    ) -> Result<Self, NetError> {
        options.check()?;
        let system = |action| move |source| NetError::System { action, source };
        let poll = Poll::new().map_err(system("create an epoll instance"))?;
        let waker = Waker::new(poll.registry(), WAKER_TOKEN).map_err(system("create an eventfd"))?;
        let shared = Arc::new(Shared::new(waker));
        let (mut listeners, mut addresses) = (Vec::new(), Vec::new());
        for &address in &options.listen {
            let (listener, found) = listen_on(address)?;
            listeners.push(listener);
            addresses.push(found);
        }
        let remote = Remote { shared: Arc::clone(&shared) };
        let event_loop = EventLoop::new(poll, listeners, options, shared, make_handler(remote.clone()))
            .map_err(system("watch a listener"))?;
        let thread = thread::Builder::new()
            .name("escrowmq-net".to_owned())
            .spawn(move || event_loop.run())
            .map_err(system("start a thread"))?;
        Ok(Self { remote, addresses, thread: Mutex::new(Some(thread)) })
    }

    /// Where it listens, in the order of [`Options::listen`], with the ports that were free.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// A handle for other threads.
    #[must_use]
    pub fn remote(&self) -> Remote {
        self.remote.clone()
    }

    /// What happened so far.
    #[must_use]
    pub fn statistics(&self) -> Statistics {
        self.remote.statistics()
    }

    /// Closes in order: no more connections and frames, commands submitted before this take effect, what is queued is
    /// written for at most `flush_time`, then everything is closed and the thread ends. Again, it does nothing.
    pub fn close(&self, flush_time: Duration) {
        let now = Instant::now();
        self.remote.shared.close(now.checked_add(flush_time).unwrap_or(now));
        // Held while joining, so that whoever closes as well returns no earlier.
        let mut thread = self.thread.lock();
        if let Some(thread) = thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the epoll thread has panicked");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.close(Duration::ZERO);
    }
}
