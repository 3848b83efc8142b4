//! Mapped files: one ([`Segment`]), many as one ([`SegmentChain`]), and the marks that say how far they may be read
//! ([`Watermark`]). The only memory that two threads share without a lock is here, and with it the crate's `unsafe`
//! but for one advice to the kernel in `disk`.

mod segment;
mod segment_chain;
mod watermark;

pub use segment::{LogSlice, Segment};
pub use segment_chain::{ChainLayout, Expected, SegmentChain, file_name};
pub(crate) use segment_chain::{list_or_empty, parse_name, remove_file};
pub use watermark::{Stopped, Watermark};

/// The unit in which the kernel writes a mapping back.
pub const PAGE_SIZE: usize = 4096;
