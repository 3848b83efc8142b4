//! What the crash tests share: messages to append, a model of what the store must hold, steps that drive it, and the
//! checks that compare the two.

#![allow(dead_code)] // each test file uses its own part

pub mod checks;
pub mod message;
pub mod model;
pub mod seeds;
pub mod workload;
