//! One epoll thread with everything that has a socket: listeners, connections of peers, connections to others.
//!
//! It cuts what arrives into frames, hands them to a [`Handler`] on the same thread, and writes the chunks that come
//! back, from that thread or, through a [`Remote`], from any other. It never blocks, and knows neither what a frame
//! means nor Python nor the store.
//!
//! ```text
//!   socket ─ read ─▶ ReceiveBuffer ─ cut ─▶ Frame ─▶ Handler ─┐
//!                                                             ├─▶ Outbox ─▶ WriteQueue ─ writev ─▶ socket
//!   other threads ── Remote ── commands, one eventfd ─────────┘
//! ```
//!
//! What a peer can cost is bounded, and checked before anything is allocated:
//!
//! - A frame above [`Options::frame_size_max_bytes`] closes its connection when its length is there. Memory for a frame
//!   grows with the bytes that arrived, not with those announced.
//! - Bytes that are received and not settled, and chunks that are not written, are in flight. A connection with more
//!   than [`Options::in_flight_max_bytes`] is not read until half of it is gone; while all together have more than
//!   [`Options::in_flight_total_max_bytes`], whoever wants to be read next has to wait.
//! - A peer that leaves more than its limit unread for [`Options::stall_timeout`], or twice its limit at any time, is
//!   closed. So is one that is silent for [`Options::idle_timeout`], or needs more than [`Options::frame_timeout`] for a
//!   frame.
//!
//! Deadlines are kept in order and looked at when they are due, so a quiet server sleeps.

#![forbid(unsafe_code)]

mod close_reason;
mod command;
mod connection;
mod counters;
mod deadlines;
mod error;
mod event_loop;
mod handler;
mod listener;
mod options;
mod outbox;
mod receive_buffer;
mod remote;
mod server;
mod write_queue;

pub use close_reason::CloseReason;
pub use command::Command;
pub use connection::{ConnectionId, Peer};
pub use counters::Statistics;
pub use error::NetError;
pub use handler::{Handler, in_flight_size};
pub use options::Options;
pub use outbox::Outbox;
pub use remote::Remote;
pub use server::Server;
