//! The state after a failed flush: nothing is acknowledged until the store is opened again. A sync that failed once may
//! succeed when it is tried again without having written anything, so it is never tried again.

use std::fmt::Display;
use std::sync::OnceLock;

use crate::error::{Result, StoreError};

/// Remembers the first failure.
#[derive(Debug, Default)]
pub(crate) struct Poison {
    cause: OnceLock<String>,
}

impl Poison {
    /// Poisons the store, unless it is already, and returns the error for it.
    pub fn set(&self, cause: impl Display) -> StoreError {
        let cause = self.cause.get_or_init(|| cause.to_string());
        StoreError::Poisoned { cause: cause.clone() }
    }

    /// The failure, where there was one.
    pub fn cause(&self) -> Option<&str> {
        self.cause.get().map(String::as_str)
    }

    /// Fails where the store is poisoned.
    pub fn check(&self) -> Result<()> {
        match self.cause() {
            Some(cause) => Err(StoreError::Poisoned { cause: cause.to_string() }),
            None => Ok(()),
        }
    }
}
