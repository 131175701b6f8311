//! The channels of the server: one for the wake-ups of each election, and one for the messages to
//! its leader.

use bytes::Bytes;

use super::config::RedisConfig;
use crate::Token;
use crate::store::subscriptions::{Subscriber, Table, Topic, inbox};
use crate::store::{Key, Message};

/// The listeners of each channel.
pub(super) struct Channels {
    prefix: String,
    pub(super) table: Table<Bytes>,
}

/// The longest message: a token, a space, the channel with its length in front, and the payload.
const SAID_MOST: usize = 20 + 1 + 1 + Message::CHANNEL_MOST + Message::PAYLOAD_MOST;

impl Channels {
    pub(super) fn new(config: &RedisConfig) -> Self {
        Self { prefix: config.prefix.clone(), table: Table::default() }
    }

    /// Hands what the server has sent to its listeners. Channels without a listener here are
    /// ignored, and so are messages above the longest that candidates send.
    pub(super) fn said(&self, channel: &str, said: &[u8]) {
        match self.topic(channel) {
            Some(Topic::Election(key)) => self.table.wake(&key),
            Some(Topic::Inbox(key)) if said.len() <= SAID_MOST => {
                self.table.say(&key, Bytes::copy_from_slice(said));
            }
            Some(Topic::Inbox(_)) | None => {}
        }
    }

    /// The opposite of [`names`].
    fn topic(&self, channel: &str) -> Option<Topic> {
        let rest = channel.strip_prefix('{')?.strip_prefix(&self.prefix)?.strip_prefix("}:")?;
        if let Some(key) = rest.strip_prefix("leader:") {
            return Key::new(key).ok().map(Topic::Election);
        }
        Key::new(rest.strip_prefix("inbox:")?).ok().map(Topic::Inbox)
    }
}

/// The channels of these topics.
pub(super) fn names(config: &RedisConfig, topics: &[Topic]) -> Vec<String> {
    let name = |topic: &Topic| match topic {
        Topic::Election(key) => config.record(key),
        Topic::Inbox(key) => config.inbox(key),
    };
    topics.iter().map(name).collect()
}

/// Messages to that tenure.
pub(super) fn messages<S: Subscriber<Said = Bytes>>(
    server: std::sync::Arc<S>,
    key: &Key,
    to: Token,
) -> impl futures_core::Stream<Item = Message> + Send + 'static {
    let said = inbox(server, key.clone());
    futures_util::StreamExt::filter_map(said, move |said| {
        std::future::ready(Message::addressed(&said, to))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_read_as_they_are_named() {
        let config = RedisConfig::new("h", 1).prefix("a:b").unwrap();
        let channels = Channels::new(&config);
        for key in ["job", "inbox:x", "}:leader:", "ä\0"] {
            let key = Key::new(key).unwrap();
            let topics = [Topic::Election(key.clone()), Topic::Inbox(key)];
            for (topic, name) in topics.iter().zip(names(&config, &topics)) {
                assert_eq!(channels.topic(&name).as_ref(), Some(topic), "{name}");
            }
        }
        for other in ["{a}:leader:job", "{a:b}:leader:", "{a:b}:past", "a:b:leader:job", ""] {
            assert_eq!(channels.topic(other), None, "{other}");
        }
    }

    #[test]
    fn messages_longer_than_any_are_dropped() {
        let config = RedisConfig::new("h", 1);
        let channels = Channels::new(&config);
        let key = Key::new("job").unwrap();
        let mut inbox = channels.table.open(&key);
        for length in [SAID_MOST, SAID_MOST + 1, 1] {
            channels.said(&config.inbox(&key), &vec![b'x'; length]);
        }
        let heard = [(); 3].map(|()| inbox.try_recv().ok().map(|said| said.len()));
        assert_eq!(heard, [Some(SAID_MOST), Some(1), None]);
    }
}
