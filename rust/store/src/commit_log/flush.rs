//! Group commit: a flush takes whatever came in while the last one ran. There is no timer.

use super::CommitLog;
use crate::error::{Result, StoreError};
use crate::offset::LogOffset;

impl CommitLog {
    /// Makes durable what is written now, and returns how far that is.
    ///
    /// # Errors
    /// [`StoreError::Poisoned`] once a sync has failed, this one or an earlier one.
    pub fn flush(&self) -> Result<LogOffset> {
        let mut flushed = self.flushed.lock();
        self.poison.check()?;
        let target = self.end();
        let mut at = flushed.offset.0;
        while at < target.offset.0 {
            let Some(segment) = self.chain.segment_for(at) else {
                // Expired before it was flushed, which in async mode it may be; what comes after it was not.
                let Some(first) = self.chain.first().filter(|first| first.start() > at) else { break };
                at = first.start();
                continue;
            };
            let upto = target.offset.0.min(segment.end());
            let within = |offset: u64| usize::try_from(offset - segment.start()).unwrap_or(segment.size());
            if let Err(source) = segment.sync(within(at)..within(upto)) {
                let path = segment.path().to_path_buf();
                let error = self.poison.set(&StoreError::Io { action: "sync", path, source });
                tracing::error!(%error, "flush failed");
                self.durable.stop();
                return Err(error);
            }
            at = upto;
        }
        *flushed = target;
        self.durable.raise(target.offset.0);
        Ok(target.offset)
    }
}
