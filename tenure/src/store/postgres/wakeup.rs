//! What arrives on a connection of its own: wake-ups, and messages to the leader.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use futures_core::Stream;
use futures_util::StreamExt;
use tokio::sync::broadcast;

use super::link::Link;
use crate::Token;
use crate::store::fanout::Fanout;
use crate::store::{Hint, Key, Message};

/// Who waits for which election, by its key as the server sends it.
#[derive(Default)]
pub(super) struct Listeners {
    hints: Fanout<()>,
    inboxes: Fanout<Bytes>,
}

const RETRY_LEAST: Duration = Duration::from_millis(100);
const RETRY_MOST: Duration = Duration::from_secs(5);
/// How many messages a leader may fall behind before it loses the oldest.
const BUFFER: usize = 64;

impl Listeners {
    pub(super) fn wake(&self, payload: &str) {
        self.hints.bring(payload, ());
    }

    pub(super) fn message(&self, payload: &str) {
        if let Some((key, sent)) = payload.split_once(' ') {
            self.inboxes.bring(key, Bytes::copy_from_slice(sent.as_bytes()));
        }
    }
}

/// A key as the server notifies of it: payloads are text without zero bytes.
fn payload(key: &Key) -> String {
    let mut hex = String::with_capacity(2 * key.as_str().len());
    for byte in key.as_str().bytes() {
        // A string takes all of it.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// A message, likewise.
pub(super) fn encoded(message: &Message) -> String {
    BASE64.encode(message.encoded())
}

/// Reads `<token> <message>`.
fn addressed(sent: &[u8], to: Token) -> Option<Message> {
    let space = sent.iter().position(|&byte| byte == b' ')? + 1;
    let (token, message) = sent.split_at(space);
    Message::addressed(&[token, &BASE64.decode(message).ok()?].concat(), to)
}

/// Something was said of an election, or may have been.
enum Heard<T> {
    /// From here on it is listened to; or something was missed.
    Perhaps,
    Said(T),
}

/// Hints for one election. Whatever was released before it is listened to is found by the try that follows
/// the hint which it begins with.
pub(super) fn hints(link: Arc<Link>, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
    // One hint says as much as many.
    let waiting = |link: &Link, key: &str| link.listeners.hints.listen(key, 1);
    listen(link, payload(key), waiting, false).map(|_| Hint)
}

/// Messages to that tenure.
pub(super) fn messages(
    link: Arc<Link>,
    key: &Key,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    let waiting = |link: &Link, key: &str| link.listeners.inboxes.listen(key, BUFFER);
    listen(link, payload(key), waiting, true).filter_map(move |heard| {
        std::future::ready(match heard {
            Heard::Said(sent) => addressed(&sent, to),
            Heard::Perhaps => None,
        })
    })
}

/// One election, across connections: first listen there, then here.
fn listen<T: Clone + Send + 'static>(
    link: Arc<Link>,
    key: String,
    waiting: impl Fn(&Link, &str) -> broadcast::Receiver<T> + Send + 'static,
    for_messages: bool,
) -> impl Stream<Item = Heard<T>> + Send + 'static {
    async_stream::stream! {
        let mut failures = 0_u32;
        loop {
            let mut waiting = waiting(&link, &key);
            let listening = if for_messages {
                link.listening_for_messages().await
            } else {
                link.listening().await
            };
            match listening {
                Ok(session) => {
                    failures = 0;
                    yield Heard::Perhaps;
                    loop {
                        tokio::select! {
                            biased;
                            () = session.dead.cancelled() => break,
                            said = waiting.recv() => match said {
                                Ok(said) => yield Heard::Said(said),
                                Err(broadcast::error::RecvError::Lagged(_)) => yield Heard::Perhaps,
                                Err(broadcast::error::RecvError::Closed) => break,
                            }
                        }
                    }
                }
                Err(error) => tracing::debug!(%error, "no connection to listen on"),
            }
            let pause = RETRY_LEAST.saturating_mul(1 << failures.min(10)).min(RETRY_MOST);
            failures = failures.saturating_add(1);
            link.runtime.sleep_until(link.runtime.now() + pause).await;
        }
    }
}
