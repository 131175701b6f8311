//! Messages to the leader.

use std::sync::Arc;

use bytes::Bytes;

use super::LimitError;
use super::key::check;
#[cfg(any(feature = "redis-without-tls", feature = "fred", feature = "postgres"))]
use crate::Token;

/// A message to the leader: a channel's name and any bytes. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    channel: Arc<str>,
    payload: Bytes,
}

impl Message {
    /// The longest name of a channel, in bytes.
    pub(super) const CHANNEL_MOST: usize = 64;
    /// The longest payload, in bytes: with the longest key and channel it fits a notification of
    /// PostgreSQL.
    pub const PAYLOAD_MOST: usize = 4096;

    /// Checks a message. The receiver distinguishes messages by the channel's name.
    ///
    /// # Errors
    /// If the channel is empty or longer than 64 bytes, or the payload longer than
    /// [`Message::PAYLOAD_MOST`] bytes.
    pub fn new(channel: impl AsRef<str>, payload: impl Into<Bytes>) -> Result<Self, LimitError> {
        let (channel, payload) = (channel.as_ref(), payload.into());
        check("channel", channel.len(), 1, Self::CHANNEL_MOST)?;
        check("payload", payload.len(), 0, Self::PAYLOAD_MOST)?;
        // A copy: the bytes that were handed in may run code of their owner's when they are
        // dropped.
        Ok(Self { channel: channel.into(), payload: Bytes::copy_from_slice(&payload) })
    }

    /// The channel's name.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// The payload.
    pub fn payload(&self) -> &Bytes {
        &self.payload
    }
}

/// The form at a server: the tenure's token, which the server puts in front, a space, the length of
/// the channel's name in one byte, the name, and the payload.
#[cfg(any(feature = "redis-without-tls", feature = "fred", feature = "postgres"))]
impl Message {
    /// The longest message as it is sent to the server.
    #[cfg(feature = "postgres")]
    pub(super) const ENCODED_MOST: usize = 1 + Self::CHANNEL_MOST + Self::PAYLOAD_MOST;

    /// The message as it is sent to the server.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let length = u8::try_from(self.channel.len()).unwrap_or(u8::MAX);
        [&[length], self.channel.as_bytes(), &self.payload].concat()
    }

    /// Reads a message that the server has forwarded; `None` if it is to another tenure, or no
    /// message.
    pub(super) fn addressed(sent: &[u8], to: Token) -> Option<Self> {
        let space = sent.iter().position(|&byte| byte == b' ')?;
        let token: u64 = std::str::from_utf8(&sent[..space]).ok()?.parse().ok()?;
        let (&length, body) = sent[space + 1..].split_first()?;
        let (channel, payload) = body.split_at_checked(usize::from(length))?;
        let channel = std::str::from_utf8(channel).ok()?;
        let message = Self::new(channel, Bytes::copy_from_slice(payload)).ok()?;
        (token == to.get()).then_some(message)
    }
}

#[cfg(all(test, any(feature = "redis-without-tls", feature = "fred", feature = "postgres")))]
mod tests {
    use super::*;

    fn sent(token: &str, message: &Message) -> Vec<u8> {
        [token.as_bytes(), b" ", &message.encoded()].concat()
    }

    #[test]
    fn messages_reach_their_tenure_only() {
        let (seven, eight) = (Token::new(7).unwrap(), Token::new(8).unwrap());
        for (channel, payload) in
            [("a", &b""[..]), ("wake up", b"\0 7 \xff"), (&"x".repeat(64), &[b' '; 4096])]
        {
            let message = Message::new(channel, Bytes::copy_from_slice(payload)).unwrap();
            let sent = sent("7", &message);
            assert_eq!(Message::addressed(&sent, seven), Some(message));
            assert_eq!(Message::addressed(&sent, eight), None);
        }
    }

    #[test]
    fn malformed_messages_are_ignored() {
        let long = [b"7 \x01a".as_slice(), &[0; 4097]].concat();
        for sent in [
            &b""[..],
            b"7",
            b"7 ",
            b"7 \x02a",
            b"x \x01a",
            b"7 \x00",
            b"7 \x01\xff",
            b"-7 \x01a",
            &long,
        ] {
            assert_eq!(Message::addressed(sent, Token::new(7).unwrap()), None, "{sent:?}");
        }
    }

    #[test]
    fn errors_name_the_limits() {
        let error = Message::new("", "").unwrap_err().to_string();
        assert_eq!(error, "channel has 0 bytes; it must have 1 to 64");
        let error = Message::new("a", vec![0; 4097]).unwrap_err().to_string();
        assert_eq!(error, "payload has 4097 bytes; it must have 0 to 4096");
    }
}
