//! Filter expressions in `RocketMQ`'s SQL92 dialect over the properties of messages. Pure: no files, sockets, clock or
//! Python.
//!
//! ```text
//!   text ── lexer ──▶ tokens ── parser ──▶ expression ── evaluate, with properties ──▶ wanted, or not
//! ```
//!
//! An expression is compiled once and bounded in every direction; evaluating it borrows the bytes of the record and
//! allocates nothing (but for text that is no UTF-8). Compat: what is accepted and what it means is Apache 5.5.0's to the
//! letter, surprises included; `tests/golden` holds a table of what Apache made of thousands of expressions.

mod error;
mod evaluate;
mod expression;
mod filter;
mod java_numbers;
mod lexer;
mod names;
mod parser;
mod print;
mod token;

pub use error::{FilterError, Place, Problem};
pub use filter::PropertyFilter;

/// Longest expression.
pub const SIZE_MAX_BYTES: usize = 32 * 1024;
/// Deepest nesting of parentheses, signs, `NOT` and chained tests.
pub const DEPTH_MAX: usize = 100;
/// Most constants and properties in an expression.
pub const OPERANDS_MAX: usize = 2048;
/// Most different properties in an expression.
pub const NAMES_MAX: usize = 64;
