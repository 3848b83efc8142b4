//! What becomes of a request after `escrowmq-net` has cut it out of its stream.
//!
//! The fast lane ([`fast`]): sends, pulls and requests about offsets are answered on the epoll thread, from the store and
//! from tables that Python replaces. [`BrokerLanes`] puts it before the other one.
//!
//! The Python lane: every other request goes into a bounded queue, Python fetches many at a time, and its answers go back to
//! the epoll thread many at a time. Nothing here knows Python; the other end of the lane is a [`LaneEnd`], which any thread
//! may hold.
//!
//! ```text
//!   epoll thread                                                  Python's threads
//!   Handler ─ PythonLane ─ push ─▶ queue, eventfd ─ next_batch ─▶ LaneEnd
//!             SYSTEM_BUSY ◀─ full ┘                                 │ answer, send
//!   sockets ◀──────────────── commands ◀────────────────────────────┘
//! ```
//!
//! - A request is answered once, in the kind of header it came with; a one-way request never.
//! - When the queue is full, or one connection has its share of it, a request is answered `SYSTEM_BUSY` at once. One-way
//!   requests and responses can't be refused like that: they have a limit of their own, at which their connections are
//!   not read any more.
//! - What happens on one connection is fetched in the order in which it happened, its opening and closing included.

#![forbid(unsafe_code)]

mod answer;
mod broker_lanes;
mod call_lane;
mod calls;
mod decision;
mod dropped_answers;
mod error;
mod event;
pub mod fast;
mod lane_end;
mod prepare;
mod python_lane;
mod queue;
mod sent_message;

pub use answer::{After, Answer, ServerRequest};
pub use broker_lanes::BrokerLanes;
pub use call_lane::CallLane;
pub use calls::{Call, Callable, Calls, Reply, ReplyQueue};
pub use decision::Decision;
pub use error::LaneError;
pub use event::{Event, Received, Request};
pub use lane_end::{LaneEnd, LaneStatistics, Waited};
pub use prepare::{Prepare, PrepareReader, topic_of_send};
pub use python_lane::PythonLane;
pub use queue::{LaneLimits, LaneQueue};
pub use sent_message::{QueuedSend, SentMessage};
