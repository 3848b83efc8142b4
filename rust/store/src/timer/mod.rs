//! Messages that are delivered at a time of their own, in Apache `RocketMQ`'s files. The log is the truth: a message
//! waits in the timer topic, and wheel and timer log say when which one is due.
//!
//! ```text
//! timer topic ──> take in ──> timer log, wheel ──slot is due──> deliver ──> its own topic
//!      ^              └────── due already ──────────────────────────┘ │
//!      └────────────────── waits longer than the wheel reaches ───────┘
//! ```
//! Whatever is appended is durable before the checkpoint moves past its cause, so that nothing is lost; what was
//! appended and not yet checked off is found in the log at the next start, so that nothing is delivered twice.

mod checkpoint;
mod deliver;
mod identity;
mod log;
mod metrics;
mod occupied;
mod options;
mod recover;
mod restore;
mod take_in;
mod thread;
mod timers;
mod unit;
mod wheel;

pub use checkpoint::CHECKPOINT_SIZE;
pub use options::TimerOptions;
pub use thread::TimerThread;
pub use timers::{Round, TimerStatistics, Timers};
pub use wheel::WHEEL_SLOTS;

/// Topic of messages that wait.
pub const TIMER_TOPIC: &str = "rmq_sys_wheel_timer";
/// Its one queue.
pub const TIMER_QUEUE: u32 = 0;
