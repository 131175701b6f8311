//! Messages to the leader: rows of the table, announced on the connection for notifications.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::StreamExt;
use tokio_postgres::types::ToSql;

use super::error::failed;
use super::link::Link;
use crate::Token;
use crate::logging;
use crate::store::subscriptions::inbox;
use crate::store::{Key, Message, StoreError, StoreErrorKind};

/// The number of remembered message numbers, since any role may announce a number again.
const REMEMBERED: usize = 1024;

/// Messages to that tenure, each once, however often its number is announced.
pub(super) fn messages(
    link: Arc<Link>,
    key: &Key,
    to: Token,
) -> impl Stream<Item = Message> + Send + 'static {
    let (announced, key) = (inbox(Arc::clone(&link), key.clone()), key.clone());
    async_stream::stream! {
        let mut fetched = VecDeque::new();
        let mut announced = pin!(announced);
        while let Some(number) = announced.next().await {
            if fetched.contains(&number) {
                continue;
            }
            match fetch(&link, &key, to, number).await {
                Ok(None) => {}
                Ok(Some(message)) => {
                    fetched.push_back(number);
                    if fetched.len() > REMEMBERED {
                        fetched.pop_front();
                    }
                    yield message;
                }
                Err(error) => logging::warn!(%error, "a message to the leader could not be fetched"),
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
    let listening = link.listening().await?;
    let session = &listening.session;
    let sql = format!(
        "SELECT message FROM {} WHERE number = $1 AND key = $2 AND token = $3
            AND octet_length(message) <= {}",
        link.config.table.object("_messages"),
        Message::ENCODED_MOST
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
