//! The listeners of each channel of the server.

use bytes::Bytes;
use redis::{PushInfo, PushKind, Value};

use crate::store::Message;
use crate::store::fanout::Fanout;

/// The listeners of each channel.
pub(super) type Channels = Fanout<Bytes>;

/// The longest message: a token, a space, the channel with its length in front, and the payload.
const SAID_MOST: usize = 20 + 1 + 1 + Message::CHANNEL_MOST + Message::PAYLOAD_MOST;

impl Channels {
    /// Hands a message that the server has pushed to its listeners. Other pushes are ignored, and so are messages
    /// without a listener here, and messages above the longest that candidates send.
    pub(super) fn pushed(&self, push: &PushInfo) {
        if push.kind != PushKind::Message {
            return;
        }
        let [Value::BulkString(channel), Value::BulkString(said)] = &push.data[..] else { return };
        let Ok(channel) = std::str::from_utf8(channel) else { return };
        if said.len() > SAID_MOST {
            return;
        }
        self.publish(channel, Bytes::copy_from_slice(said));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_longer_than_any_message_are_dropped() {
        let channels = Channels::default();
        let mut waiting = channels.listen("job", 64);
        for length in [SAID_MOST, SAID_MOST + 1, 1] {
            let texts = [b"job".to_vec(), vec![b'x'; length]];
            let data = texts.map(Value::BulkString).to_vec();
            channels.pushed(&PushInfo { kind: PushKind::Message, data });
        }
        let heard = [(); 3].map(|()| waiting.try_recv().ok().map(|said| said.len()));
        assert_eq!(heard, [Some(SAID_MOST), Some(1), None]);
    }
}
