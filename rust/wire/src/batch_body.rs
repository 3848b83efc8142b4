//! The body of a batch send: messages that share a topic and a queue, one after another.
//!
//! ```text
//! total size int32 | magic int32 = 0 | checksum int32 = 0 | flag int32
//! body size int32 | body | properties size int16 | properties
//! ```
//! Compat: Java reads neither the total size nor the two zeros; the sizes of body and properties lead to the next.

use crate::big_endian::Cursor;
use crate::error::WireError;
use crate::record_encode::PROPERTIES_SIZE_MAX;

const FIXED_SIZE: usize = 20;

/// One message of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchMessage<'a> {
    /// The producer's own flag.
    pub flag: i32,
    /// The body.
    pub body: &'a [u8],
    /// The raw property string.
    pub properties: &'a [u8],
}

impl BatchMessage<'_> {
    /// Appends the message to a batch.
    ///
    /// # Errors
    /// [`WireError::BatchFieldTooLarge`]; then nothing was appended.
    pub fn encode_into(&self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let too_large = |field, size, size_max| WireError::BatchFieldTooLarge { field, size, size_max };
        let properties_size = i16::try_from(self.properties.len())
            .map_err(|_| too_large("properties", self.properties.len(), PROPERTIES_SIZE_MAX))?;
        let size = FIXED_SIZE + self.body.len() + 2 + self.properties.len();
        let total_size = u32::try_from(size)
            .ok()
            .filter(|&size| i32::try_from(size).is_ok())
            .ok_or(too_large("message", size, 0x7FFF_FFFF))?;
        // The total is the body and what surrounds it, so this cannot wrap.
        let body_size = total_size - 22 - u32::from(properties_size.unsigned_abs());

        out.reserve(size);
        out.extend_from_slice(&total_size.to_be_bytes());
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&self.flag.to_be_bytes());
        out.extend_from_slice(&body_size.to_be_bytes());
        out.extend_from_slice(self.body);
        out.extend_from_slice(&properties_size.to_be_bytes());
        out.extend_from_slice(self.properties);
        Ok(())
    }
}

/// The messages of a batch, in order. After an error there are no more.
pub fn iter_batch(bytes: &[u8]) -> impl Iterator<Item = Result<BatchMessage<'_>, WireError>> {
    let mut rest = Cursor::new(bytes);
    std::iter::from_fn(move || {
        if rest.remaining() == 0 {
            return None;
        }
        let message = next_message(&mut rest, bytes.len());
        if message.is_err() {
            rest = Cursor::new(&[]);
        }
        Some(message)
    })
}

fn next_message<'a>(rest: &mut Cursor<'a>, batch_size: usize) -> Result<BatchMessage<'a>, WireError> {
    let position = batch_size - rest.remaining();
    let bad = |field, length, remaining| WireError::BatchFieldLength { field, position, length, remaining };

    let remaining = rest.remaining();
    let fixed = rest.array::<FIXED_SIZE>().ok_or(bad("fixed part", 20, remaining))?;
    let [.., f1, f2, f3, f4, b1, b2, b3, b4] = fixed;
    let body_size = i32::from_be_bytes([b1, b2, b3, b4]);
    let remaining = rest.remaining();
    let body = usize::try_from(body_size).ok().and_then(|size| rest.slice(size)).ok_or(bad(
        "body",
        i64::from(body_size),
        remaining,
    ))?;

    let remaining = rest.remaining();
    let properties_size = rest.i16().ok_or(bad("properties", 0, remaining))?;
    let properties = usize::try_from(properties_size).ok().and_then(|size| rest.slice(size)).ok_or(bad(
        "properties",
        i64::from(properties_size),
        remaining - 2,
    ))?;
    Ok(BatchMessage { flag: i32::from_be_bytes([f1, f2, f3, f4]), body, properties })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_that_of_the_protocol() {
        let mut out = Vec::new();
        BatchMessage { flag: 7, body: b"hi", properties: b"a\x01b\x02" }
            .encode_into(&mut out)
            .expect("it is small");
        assert_eq!(out, *b"\0\0\0\x1c\0\0\0\0\0\0\0\0\0\0\0\x07\0\0\0\x02hi\0\x04a\x01b\x02");
    }

    #[test]
    fn lengths_that_lie_end_the_batch() {
        let mut out = Vec::new();
        BatchMessage { flag: 7, body: b"hi", properties: b"p" }.encode_into(&mut out).expect("it is small");
        let first_size = out.len();
        out.extend_from_slice(b"\0\0\0\x1c\0\0\0\0\0\0\0\0\0\0\0\x07\xff\xff\xff\xfehi");
        let found: Vec<_> = iter_batch(&out).collect();
        let error =
            WireError::BatchFieldLength { field: "body", position: first_size, length: -2, remaining: 2 };
        assert_eq!(found.len(), 2);
        assert_eq!(found[1], Err(error));
        for size in 1..first_size {
            assert!(iter_batch(&out[..size]).all(|message| message.is_err()), "{size}");
        }
    }

    #[test]
    fn long_properties_are_refused() {
        let properties = vec![b'p'; PROPERTIES_SIZE_MAX + 1];
        let mut out = Vec::new();
        assert!(BatchMessage { flag: 0, body: b"", properties: &properties }.encode_into(&mut out).is_err());
        assert!(out.is_empty());
        let longest = BatchMessage { flag: 0, body: b"", properties: &properties[1..] };
        assert_eq!(longest.encode_into(&mut out), Ok(()));
        assert_eq!(iter_batch(&out).collect::<Vec<_>>(), [Ok(longest)]);
    }

    proptest! {
        #[test]
        fn messages_come_back(wanted: Vec<(i32, Vec<u8>, Vec<u8>)>) {
            let mut out = Vec::new();
            let wanted: Vec<_> = wanted
                .iter()
                .map(|(flag, body, properties)| BatchMessage { flag: *flag, body, properties })
                .collect();
            for message in &wanted {
                message.encode_into(&mut out)?;
            }
            prop_assert_eq!(iter_batch(&out).collect::<Result<Vec<_>, _>>()?, wanted);
        }

        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            prop_assert!(iter_batch(&bytes).count() <= 1 + bytes.len() / 22);
        }
    }
}
