//! Wake-ups, and messages to the leader, over the connection that carries nothing else.

use std::sync::Arc;

use fred::interfaces::EventInterface;
use fred::types::Message as Pushed;
use futures_core::Stream;
use futures_util::StreamExt;
use tokio::sync::broadcast;

use super::link::{Link, Live, after, failed};
use crate::Token;
use crate::store::listen::{self, Heard};
use crate::store::{Hint, Message};

/// Hints on one channel. The stream begins with a hint: the attempt that follows it finds a lease that was
/// released before the subscription.
pub(super) fn hints(link: Arc<Link>, channel: String) -> impl Stream<Item = Hint> + Send + 'static {
    listen(link, channel).map(|_| Hint)
}

/// Messages on one channel to that tenure.
pub(super) fn messages(
    link: Arc<Link>,
    channel: String,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    listen(link, channel).filter_map(move |heard| {
        std::future::ready(match heard {
            Heard::Said(pushed) => {
                pushed.value.as_bytes().and_then(|said| Message::addressed(said, to))
            }
            Heard::Perhaps => None,
        })
    })
}

/// Of all channels, what is said on this one.
fn listen(link: Arc<Link>, channel: String) -> impl Stream<Item = Heard<Pushed>> + Send + 'static {
    let wanted = channel.clone();
    let heard = listen::listen(Arc::clone(&link.runtime), move || {
        let (link, channel) = (Arc::clone(&link), channel.clone());
        async move { subscribe(&link, &channel).await }
    });
    heard.filter(move |heard| {
        let is_other = matches!(heard, Heard::Said(pushed) if *pushed.channel != *wanted);
        std::future::ready(!is_other)
    })
}

/// `None` if the channel could not be subscribed: hints are unreliable anyway, and the next attempt follows.
async fn subscribe(
    link: &Arc<Link>,
    channel: &str,
) -> Option<(Arc<Live>, broadcast::Receiver<Pushed>)> {
    let live = match link.live().await {
        Ok(live) => live,
        Err(error) => {
            tracing::debug!(%error, "no connection to subscribe on");
            return None;
        }
    };
    let messages = live.wakeups.message_rx();
    tokio::select! {
        biased;
        answer = live.subscribe(channel) => match answer {
            Ok(()) => Some((live, messages)),
            Err(error) => {
                let error = failed(&error);
                tracing::warn!(%error, "a subscription was refused: no wake-ups and messages arrive");
                None
            }
        },
        () = after(link.config.connect_timeout) => {
            live.dead.cancel();
            None
        }
    }
}
