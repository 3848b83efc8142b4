//! Transactions for tests: messages as brokers write them, a store that takes them, and a model of plain lists.
#![allow(dead_code)] // each test file uses its part

pub mod model;
pub mod rig;
pub mod step;
