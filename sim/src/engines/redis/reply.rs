//! The answers to commands, and their bytes in RESP2 and RESP3.
//!
//! The encoding is our own and not that of redis-protocol, whose RESP3 maps are hash maps: their
//! order would change from run to run.

use bytes::{BufMut, Bytes, BytesMut};

/// The version of the wire protocol that a connection asked for by HELLO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Resp2,
    Resp3,
}

/// A reply, or a message to a subscriber, in Redis's data types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A short status such as `OK`.
    Status(Bytes),
    /// An error: its code, a space, its text.
    Error(Bytes),
    /// A number.
    Integer(i64),
    /// A binary-safe string.
    Bulk(Bytes),
    /// A text for people, such as INFO's. RESP2 clients get a bulk string.
    Verbatim(Bytes),
    /// No value.
    Null,
    /// A list.
    Array(Vec<Reply>),
    /// Pairs in order. RESP2 clients get a flat array.
    Map(Vec<(Reply, Reply)>),
    /// A message that is not an answer. RESP2 clients get an array.
    Push(Vec<Reply>),
    /// Several frames one after the other: the answer of SUBSCRIBE to several channels.
    Several(Vec<Reply>),
}

impl Reply {
    pub(super) fn ok() -> Self {
        Self::Status(Bytes::from_static(b"OK"))
    }

    /// A bulk string of a text known at compile time.
    pub(super) fn word(text: &'static str) -> Self {
        Self::Bulk(Bytes::from_static(text.as_bytes()))
    }

    /// The number of items.
    pub(super) fn count(items: usize) -> Self {
        Self::Integer(i64::try_from(items).unwrap_or(i64::MAX))
    }

    pub(super) fn bulk_or_null(value: Option<&Bytes>) -> Self {
        value.map_or(Self::Null, |value| Self::Bulk(value.clone()))
    }

    /// Appends the reply's bytes.
    pub(super) fn encode(&self, protocol: Protocol, out: &mut BytesMut) {
        let resp3 = protocol == Protocol::Resp3;
        match self {
            Self::Status(text) => line(out, b'+', text),
            Self::Error(text) => line(out, b'-', text),
            Self::Integer(number) => line(out, b':', number.to_string().as_bytes()),
            Self::Bulk(bytes) => bulk(out, bytes),
            Self::Verbatim(text) if resp3 => {
                head(out, b'=', text.len() + 4);
                out.put_slice(b"txt:");
                out.put_slice(text);
                out.put_slice(b"\r\n");
            }
            Self::Verbatim(text) => bulk(out, text),
            Self::Null => out.put_slice(if resp3 { b"_\r\n" } else { b"$-1\r\n" }),
            Self::Array(items) => list(out, b'*', items, protocol),
            Self::Push(items) => list(out, if resp3 { b'>' } else { b'*' }, items, protocol),
            Self::Map(pairs) => {
                if resp3 {
                    head(out, b'%', pairs.len());
                } else {
                    head(out, b'*', pairs.len() * 2);
                }
                for (key, value) in pairs {
                    key.encode(protocol, out);
                    value.encode(protocol, out);
                }
            }
            Self::Several(frames) => frames.iter().for_each(|frame| frame.encode(protocol, out)),
        }
    }
}

impl From<&'static str> for Reply {
    fn from(status: &'static str) -> Self {
        Self::Status(Bytes::from_static(status.as_bytes()))
    }
}

fn head(out: &mut BytesMut, kind: u8, length: usize) {
    line(out, kind, length.to_string().as_bytes());
}

/// A line break inside a line would end it: Redis writes spaces instead.
fn line(out: &mut BytesMut, kind: u8, text: &[u8]) {
    out.put_u8(kind);
    out.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
    out.put_slice(b"\r\n");
}

fn bulk(out: &mut BytesMut, bytes: &[u8]) {
    head(out, b'$', bytes.len());
    out.put_slice(bytes);
    out.put_slice(b"\r\n");
}

fn list(out: &mut BytesMut, kind: u8, items: &[Reply], protocol: Protocol) {
    head(out, kind, items.len());
    for item in items {
        item.encode(protocol, out);
    }
}
