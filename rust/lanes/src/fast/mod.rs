//! The fast lane: sends, pulls and requests about offsets, answered on the epoll thread without Python.
//!
//! It takes a request only if tables that Python replaces as a whole ([`Knowledge`]) tell all that is needed; any other
//! it leaves untouched for the Python lane. Python may change the tables and give the request back, once.
//!
//! ```text
//!             ┌─ send, batch ─▶ store.append ─▶ pending (sync) ─▶ answer when visible
//!   frame ────┼─ pull ─▶ read ─▶ answer │ parked until arrival, deadline │ reader thread, when cold
//!             ├─ offsets ─▶ queues, ConsumerOffsets ─▶ answer
//!             └─ anything else, anything unknown ─▶ Python lane
//!
//!   store's builder ─ arrived ─┐
//!   Python ─ give back, hold ──┼─▶ mailbox ─ wake ─▶ woken: release answers, look at pulls, refuse what is late
//!   alarm ─ deadline ──────────┘
//! ```
//!
//! - Nothing here waits, and nothing touches pages that may not be resident: what lies behind the hot window is read
//!   by the reader thread, which answers through the epoll thread.
//! - In sync mode a send is answered when the store says that it is visible, which is after its flush. So is a request for
//!   which Python appended something: its answer says what it waits for.
//! - Whoever begins to wait says so first and looks at the store once more after that; the builder publishes first and
//!   asks who waits after that. So no arrival is missed.

mod alarm;
mod batch_send;
mod brought_filters;
pub(crate) mod codes;
mod cold_turns;
mod consumer_offsets;
mod counters;
mod fields;
#[cfg(test)]
mod filter_tests;
#[cfg(test)]
mod hostile_tests;
mod identity;
mod knowledge;
mod lane;
mod mailbox;
mod memory;
mod message_filter;
mod offset_requests;
mod parked_pulls;
mod pending_answers;
mod pull;
mod pull_answer;
mod pull_read;
mod pull_request;
#[cfg(test)]
mod pull_tests;
mod reader;
mod reply;
#[cfg(test)]
mod rig;
mod send;
mod send_request;
#[cfg(test)]
mod send_tests;
mod sent_properties;
#[cfg(test)]
mod share_tests;
mod subscriptions;
mod tag_filter;
mod topics;
mod traffic;
mod wake_rounds;

pub use consumer_offsets::{ConsumerOffsets, QueueOffsets};
pub use counters::FastLaneStatistics;
pub use identity::Identity;
pub use knowledge::Knowledge;
pub(crate) use lane::Verdict;
pub use lane::{FastLane, FastLaneOptions, FastLaneShared, OpenStore};
pub use message_filter::MessageFilter;
pub use pending_answers::Late;
pub(crate) use pending_answers::PendingAnswer;
pub(crate) use reply::Asker;
pub(crate) use send_request::SendRequest;
pub(crate) use sent_properties::SentProperties;
pub use subscriptions::{GroupEntry, Groups, SubscriptionEntry, Subscriptions, is_tag_type};
pub use tag_filter::TagFilter;
pub use topics::{TopicEntry, Topics};
pub use traffic::Traffic;
