//! The header of a remoting frame as a value. Its two forms are in `header_json` and `header_binary`.
//!
//! One type serves both ends of a copy: decoding borrows every text from the frame, and
//! [`RemotingHeader::into_owned`] cuts it loose where a request outlives its buffer.

use std::borrow::Cow;

use crate::error::WireError;
use crate::language::Language;
use crate::{header_binary, header_json};

/// More ext fields than any request has. A field of six bytes on the wire costs 48 in memory: without a limit, one
/// frame of 16 MiB could cost 128.
pub const EXT_FIELDS_MAX: usize = 1024;

/// How the header of a frame is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HeaderKind {
    /// A JSON object; what servers answer with, and the only form for codes beyond 16 bits.
    Json,
    /// Fixed numbers, then counted texts; `ROCKETMQ` in Java.
    Binary,
}

impl HeaderKind {
    /// The kind of a number, which is the high byte of the header length.
    ///
    /// # Errors
    /// [`WireError::UnknownHeaderKind`].
    pub fn from_code(code: u8) -> Result<Self, WireError> {
        match code {
            0 => Ok(Self::Json),
            1 => Ok(Self::Binary),
            kind => Err(WireError::UnknownHeaderKind { kind }),
        }
    }

    /// The number of the kind.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Json => 0,
            Self::Binary => 1,
        }
    }
}

/// The header of a request or a response.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemotingHeader<'a> {
    /// Request code, or response code where [`Self::is_response`].
    pub code: i32,
    /// What the sender is written in.
    pub language: Language,
    /// Version of the sender.
    pub version: i32,
    /// Number of the request, repeated by its response.
    pub opaque: i32,
    /// Bit 0: response. Bit 1: one-way.
    pub flag: i32,
    /// What went wrong, for people.
    pub remark: Option<Cow<'a, str>>,
    /// The parameters of the request or response.
    pub ext_fields: ExtFields<'a>,
}

impl<'a> RemotingHeader<'a> {
    const FLAG_RESPONSE: i32 = 1;
    const FLAG_ONE_WAY: i32 = 1 << 1;

    /// Decodes a header; texts are borrowed where the form allows it.
    ///
    /// # Errors
    /// [`WireError`] with the place of the fault.
    pub fn decode(kind: HeaderKind, bytes: &'a [u8]) -> Result<Self, WireError> {
        match kind {
            HeaderKind::Json => header_json::decode(bytes),
            HeaderKind::Binary => header_binary::decode(bytes),
        }
    }

    /// Appends the encoded header.
    ///
    /// # Errors
    /// [`WireError::HeaderValueTooLarge`] or [`WireError::HeaderFieldTooLarge`] where the binary form has no room; what
    /// was appended until then is for the caller to truncate.
    pub fn encode_into(&self, kind: HeaderKind, out: &mut Vec<u8>) -> Result<(), WireError> {
        match kind {
            HeaderKind::Json => {
                header_json::encode(self, out);
                Ok(())
            }
            HeaderKind::Binary => header_binary::encode(self, out),
        }
    }

    /// Whether this answers a request.
    #[must_use]
    pub const fn is_response(&self) -> bool {
        self.flag & Self::FLAG_RESPONSE != 0
    }

    /// Whether no answer may be sent.
    #[must_use]
    pub const fn is_one_way(&self) -> bool {
        self.flag & Self::FLAG_ONE_WAY != 0
    }

    /// The same header with every text copied out of the frame.
    #[must_use]
    pub fn into_owned(self) -> RemotingHeader<'static> {
        RemotingHeader {
            code: self.code,
            language: self.language,
            version: self.version,
            opaque: self.opaque,
            flag: self.flag,
            remark: self.remark.map(|remark| Cow::Owned(remark.into_owned())),
            ext_fields: self
                .ext_fields
                .0
                .into_iter()
                .map(|(name, value)| (Cow::Owned(name.into_owned()), Cow::Owned(value.into_owned())))
                .collect(),
        }
    }
}

/// The ext fields in the order of the wire, so that a binary header encodes to the same bytes again.
///
/// Compat: a binary field of length 0 is null in Java; here it is an empty text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtFields<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> ExtFields<'a> {
    /// The value of a name; of several the last, as Java's map keeps it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|field| field.0 == name).map(|field| &*field.1)
    }

    /// No fields, and room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self(Vec::with_capacity(count))
    }

    /// Adds a field at the end.
    pub fn push(&mut self, name: impl Into<Cow<'a, str>>, value: impl Into<Cow<'a, str>>) {
        self.0.push((name.into(), value.into()));
    }

    /// Adds a field from a peer.
    pub(crate) fn push_bounded(&mut self, name: Cow<'a, str>, value: Cow<'a, str>) -> Result<(), WireError> {
        if self.0.len() == EXT_FIELDS_MAX {
            return Err(WireError::TooManyExtFields { count_max: EXT_FIELDS_MAX });
        }
        if self.0.is_empty() {
            // A send has about 14, most others fewer: one allocation for all of them.
            self.0.reserve(16);
        }
        self.0.push((name, value));
        Ok(())
    }

    /// All fields in order.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// How many fields there are, duplicates included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a, N: Into<Cow<'a, str>>, V: Into<Cow<'a, str>>> FromIterator<(N, V)> for ExtFields<'a> {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Headers that both forms can hold: no number beyond 16 bits, no empty remark, known languages.
    pub(crate) fn any_header() -> impl Strategy<Value = RemotingHeader<'static>> {
        (
            (any::<i16>(), 0_u8..14, any::<i16>(), any::<i32>(), any::<i32>()),
            proptest::option::of("\\PC{1,20}|[\u{0}-\u{20}\"\\\\]{1,9}"),
            proptest::collection::vec((".{0,12}", "\\PC{0,30}|[\u{0}-\u{20}\"\\\\]{0,9}"), 0..12),
        )
            .prop_map(|((code, language, version, opaque, flag), remark, fields)| RemotingHeader {
                code: i32::from(code),
                language: Language::from_code(language),
                version: i32::from(version),
                opaque,
                flag,
                remark: remark.map(Cow::Owned),
                ext_fields: fields.into_iter().collect(),
            })
    }

    #[test]
    fn of_two_fields_with_one_name_the_later_wins() {
        let fields: ExtFields = [("a", "1"), ("a", "2")].into_iter().collect();
        assert_eq!(fields.get("a"), Some("2"));
        assert_eq!(fields.get("b"), None);
        assert_eq!(fields.len(), 2);
    }

    #[test]
    fn the_flag_tells_what_a_frame_is() {
        let header = RemotingHeader { flag: 3, ..RemotingHeader::default() };
        assert!(header.is_response() && header.is_one_way());
        assert_eq!(HeaderKind::from_code(2), Err(WireError::UnknownHeaderKind { kind: 2 }));
    }

    proptest! {
        #[test]
        fn both_forms_hold_the_same_header(header in any_header()) {
            for kind in [HeaderKind::Json, HeaderKind::Binary] {
                let mut bytes = Vec::new();
                header.encode_into(kind, &mut bytes)?;
                prop_assert_eq!(RemotingHeader::decode(kind, &bytes)?.into_owned(), header.clone());
                prop_assert_eq!(HeaderKind::from_code(kind.code())?, kind);
            }
        }
    }
}
