//! Files and records: a commit log with consume queues and a key index, in Apache `RocketMQ`'s formats.

pub mod clock;
pub mod disk;
pub mod error;
pub mod mapped;
pub mod offset;
pub mod options;
#[cfg(feature = "simulation")]
pub mod simulation;
