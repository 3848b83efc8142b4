//! A disk in memory that writes down every effect on it, the disks that a power loss could make of it, and a clock
//! that stands still. For tests alone: the feature `simulation` turns it on.
//!
//! ```text
//!   store ──effects──▶ SimulatedDisk ──▶ journal: create, write, sync, rename ... in one order
//!                                           │
//!                       crash(at, survival) ▼   any prefix of the journal
//!                                    another SimulatedDisk, as a power loss at that point may leave it
//! ```
//!
//! What a power loss may leave is what [`crate::disk`] does not promise: see [`SimulatedDisk::crash`].

mod clock;
mod crash;
mod disk;
mod fault;
mod file;
mod journal;
mod names;
mod pages;
mod random;

pub use clock::VirtualClock;
pub use crash::Survival;
pub use disk::SimulatedDisk;
pub use fault::{Fault, FaultAt};
pub use journal::{FileId, Operation};
pub use random::Random;
