//! Wake-ups and messages to the leader, which arrive on a connection of their own.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::StreamExt;
use tokio::sync::broadcast;
use tokio_postgres::types::ToSql;

use super::error::failed;
use super::link::Link;
use super::listeners::payload;
use crate::Token;
use crate::store::listen::{self, Heard};
use crate::store::{Hint, Key, Message, StoreError, StoreErrorKind};

/// How many messages a leader may fall behind before it loses the oldest.
const BUFFER: usize = 64;
/// How many numbers of messages are remembered, since any role may announce a number again.
const REMEMBERED: usize = 1024;

/// Hints for one election. The stream begins with a hint: the attempt that follows it finds a lease that was
/// released before the subscription.
pub(super) fn hints(link: Arc<Link>, key: &Key) -> impl Stream<Item = Hint> + Send + 'static {
    // One hint has the effect of many.
    let waiting = |link: &Link, key: &str| link.listeners.hints.listen(key, 1);
    listen(link, payload(key), waiting, false).map(|_| Hint)
}

/// Messages to that tenure, each once, however often its number is announced.
pub(super) fn messages(
    link: Arc<Link>,
    key: &Key,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    let waiting = |link: &Link, key: &str| link.listeners.inboxes.listen(key, BUFFER);
    let fetching = Arc::clone(&link);
    let heard = listen(link, payload(key), waiting, true);
    let key = key.clone();
    async_stream::stream! {
        let mut fetched = VecDeque::new();
        let mut heard = pin!(heard);
        while let Some(heard) = heard.next().await {
            let Heard::Said(number) = heard else { continue };
            if fetched.contains(&number) {
                continue;
            }
            match fetch(&fetching, &key, to, number).await {
                Ok(None) => {}
                Ok(Some(message)) => {
                    fetched.push_back(number);
                    if fetched.len() > REMEMBERED {
                        fetched.pop_front();
                    }
                    yield message;
                }
                Err(error) => tracing::warn!(%error, "a message to the leader could not be fetched"),
            }
        }
    }
}

/// The message of that number, if there is one to that tenure.
async fn fetch(
    link: &Arc<Link>,
    key: &Key,
    to: Token,
    number: u128,
) -> Result<Option<Message>, StoreError> {
    let session = link.listening().await?;
    let sql = format!(
        "SELECT message FROM {} WHERE number = $1 AND key = $2 AND token = $3",
        link.config.table.object("_messages")
    );
    let number = &number.to_be_bytes()[..];
    let (key, token) = (key.as_str().as_bytes(), i64::try_from(to.get()).unwrap_or(i64::MAX));
    let parameters: [&(dyn ToSql + Sync); 3] = [&number, &key, &token];
    let asked = session.client.query_opt(&sql, &parameters);
    let within = link.config.connect_timeout;
    let row = tokio::select! {
        biased;
        row = asked => row,
        () = link.runtime.sleep_until(link.runtime.now() + within) => {
            session.dead.cancel();
            let detail = format!("no answer within the connect_timeout of {within:?}");
            return Err(StoreError::new(StoreErrorKind::Timeout, detail));
        }
    };
    let message = row.and_then(|row| row.map(|row| row.try_get::<_, Vec<u8>>(0)).transpose());
    let message = message.map_err(|error| failed(&link.config, &error))?;
    let token = format!("{to} ");
    Ok(message.and_then(|sent| Message::addressed(&[token.as_bytes(), &sent].concat(), to)))
}

/// Notifications of one election.
fn listen<T: Clone + Send + 'static>(
    link: Arc<Link>,
    key: String,
    waiting: impl Fn(&Link, &str) -> broadcast::Receiver<T> + Send + 'static,
    for_messages: bool,
) -> impl Stream<Item = Heard<T>> + Send + 'static {
    listen::listen(Arc::clone(&link.runtime), move || {
        let (link, waiting) = (Arc::clone(&link), waiting(&link, &key));
        async move {
            let listening = if for_messages {
                link.listening_for_messages().await
            } else {
                link.listening().await
            };
            match listening {
                Ok(session) => Some((session, waiting)),
                Err(error) => {
                    tracing::debug!(%error, "no connection to listen on");
                    None
                }
            }
        }
    })
}
