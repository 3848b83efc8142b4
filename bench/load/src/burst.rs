//! Sends that are written together. They are encoded once; before each use only the unique keys of their messages are
//! filled in, so that the generator takes little of the machine that the broker needs.

use memchr::memmem;

use crate::Failure;
use crate::request::{self, KEY_DIGITS, KEY_MARK, Shape};

const HEX_DIGITS: &[u8; 16] = b"0123456789ABCDEF";

#[derive(Debug)]
pub struct Burst {
    bytes: Vec<u8>,
    /// Where the digits of each message's key are.
    keys: Vec<usize>,
}

impl Burst {
    /// So many requests, for each queue in turn.
    pub fn new(shape: Shape<'_>, request_count: u32) -> Result<Self, Failure> {
        let mut bytes = Vec::new();
        for request in 0..request_count {
            let queue_id = request % shape.queue_count;
            request::send(shape, queue_id, &mut bytes)?;
        }
        let keys = memmem::find_iter(&bytes, KEY_MARK).map(|at| at + KEY_MARK.len()).collect();
        Ok(Self { bytes, keys })
    }

    /// The requests, with keys that count on from `first`.
    pub fn stamped(&mut self, first: u64) -> &[u8] {
        for (mut number, &at) in (first..).zip(&self.keys) {
            for digit in self.bytes[at..at + KEY_DIGITS].iter_mut().rev() {
                *digit = HEX_DIGITS[usize::from(number.to_be_bytes()[7] & 0xF)];
                number >>= 4;
            }
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use escrowmq_wire::{HeaderKind, cut_frames};

    fn keys(bytes: &[u8]) -> Vec<String> {
        let key = |at: usize| String::from_utf8_lossy(&bytes[at..at + KEY_MARK.len() + KEY_DIGITS]).into();
        memmem::find_iter(bytes, KEY_MARK).map(key).collect()
    }

    #[test]
    fn every_message_of_every_request_has_a_key_of_its_own() {
        for (kind, batch, key_count) in
            [(HeaderKind::Json, 1, 3), (HeaderKind::Binary, 1, 3), (HeaderKind::Binary, 2, 9)]
        {
            let shape = Shape { kind, topic: "t", queue_count: 2, body: b"body", batch, properties: "" };
            let mut burst = Burst::new(shape, 3).expect("burst");
            let bytes = burst.stamped(0xFFFF_FFFE);
            assert_eq!(cut_frames(bytes, 1 << 20).expect("frames").len(), 3);
            let keys = keys(bytes);
            assert_eq!(keys.len(), key_count);
            assert!(keys[0].ends_with("FFFFFFFE") && keys[2].ends_with("00000000"));
        }
    }
}
