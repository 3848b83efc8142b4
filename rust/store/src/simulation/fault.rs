//! Failures that a test asks a simulated disk for.

use std::io;

use rustix::io::Errno;

/// The calls that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultAt {
    /// A sync of a file or of a range of a mapping.
    Sync,
    /// A sync of a folder.
    SyncFolder,
    /// The creation of a file, or the allocation of a range.
    Allocate,
    /// A write by position; half of its bytes are written.
    Write,
}

/// A failure that is to come.
#[derive(Debug, Clone)]
pub struct Fault {
    at: FaultAt,
    skip: u32,
    times: u32,
    path_part: String,
    errno: Errno,
}

impl Fault {
    /// The next call of that kind fails, once, with an input-output error.
    #[must_use]
    pub fn io_error(at: FaultAt) -> Self {
        Self { at, skip: 0, times: 1, path_part: String::new(), errno: Errno::IO }
    }

    /// The next call of that kind fails, once, for want of space.
    #[must_use]
    pub fn no_space(at: FaultAt) -> Self {
        Self { errno: Errno::NOSPC, ..Self::io_error(at) }
    }

    /// Lets `skip` calls pass first.
    #[must_use]
    pub fn after(self, skip: u32) -> Self {
        Self { skip, ..self }
    }

    /// Fails until the fault is cleared.
    #[must_use]
    pub fn lasting(self) -> Self {
        Self { times: u32::MAX, ..self }
    }

    /// Counts and fails only calls on paths that contain `part`.
    #[must_use]
    pub fn on(self, part: &str) -> Self {
        Self { path_part: part.to_owned(), ..self }
    }

    /// What a call meets: this fault's error, or nothing.
    pub(super) fn meet(&mut self, at: FaultAt, path: &str) -> io::Result<()> {
        if self.at != at || self.times == 0 || !path.contains(&self.path_part) {
            return Ok(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Ok(());
        }
        self.times = if self.times == u32::MAX { u32::MAX } else { self.times - 1 };
        Err(self.errno.into())
    }
}
