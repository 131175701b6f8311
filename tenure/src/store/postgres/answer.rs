//! A request as one statement, or as two that are sent together: a look goes along with what may
//! have to show the election, an acquire and an ask. A renewal that changes nothing is followed by
//! a look.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tenure_core::{Acquire, Asked, Reservation, Wish};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::call::Typed;
use super::link::Link;
use super::live::Live;
use super::renewal::{Columns, Renewal};
use super::reply::{self, Found, per_row, unexpected};
use super::statements::{DESCRIBE, NOTIFY, Statements, WANT};
use super::value;
use crate::store::{Key, Message, Profile, Reply, Request, StoreError, StoreErrorKind};
use crate::{HolderId, Token};

impl Link {
    pub(super) async fn answer(
        &self,
        live: &Arc<Live>,
        key: &Key,
        request: &Request,
    ) -> Result<Reply, StoreError> {
        let Statements { ask, .. } = &live.statements;
        let bytes = key.as_str().as_bytes();
        match request {
            Request::Acquire { asks, profile } => self.acquire(live, key, asks, profile).await,
            Request::Look { quarantine, .. } => {
                Ok(Reply::At(self.look_at(live, key).await?.shown(Some(*quarantine))))
            }
            Request::Observe => Ok(Reply::At(self.look_at(live, key).await?.shown(None))),
            Request::Renew { holder, token, number, stamp } => {
                let (holder, token, number, stamp) = (*holder, *token, *number, *stamp);
                self.renew(live, Renewal { key, holder, token, number, stamp }).await
            }
            Request::Release { holder, token, reservation } => {
                let (tenure, kept) = ((*holder, *token), *reservation);
                or_silently(|notifies| self.release(live, key, tenure, kept, notifies)).await
            }
            Request::Ask { token, asked: Asked { name, defer }, quarantine, .. } => {
                let (token, name) = (value::token(*token)?, value::name(*name));
                let defer = value::demand(*defer);
                let parameters: [&(dyn ToSql + Sync); 4] = [&bytes, &token, &name, &defer];
                let asked = self.ask(live, ask, &parameters);
                let (asked, found) = tokio::join!(biased; asked, self.look_at(live, key));
                asked?;
                Ok(Reply::At(found?.shown(Some(*quarantine))))
            }
            Request::Want { token, wish } => {
                let (token, wish) = (*token, *wish);
                or_silently(|notifies| self.want(live, key, token, wish, notifies)).await
            }
            Request::Describe { holder, token, version, profile } => {
                let (holder, token) = (value::holder(*holder), value::token(*token)?);
                let version = i64::try_from(*version).unwrap_or(i64::MAX);
                let (name, metadata) = (profile.name().as_bytes(), &profile.metadata()[..]);
                let parameters: [Typed<'_>; 6] = [
                    (&bytes, Type::BYTEA),
                    (&holder, Type::BYTEA),
                    (&token, Type::INT8),
                    (&version, Type::INT8),
                    (&name, Type::BYTEA),
                    (&metadata, Type::BYTEA),
                ];
                let rows = self.ask_rarely(live, DESCRIBE, &parameters).await?;
                match one(&rows).and_then(|row| reply::column(row, 0))? {
                    Some(true) => Ok(Reply::Described),
                    Some(false) => Ok(Reply::NotHeld),
                    None => Err(unexpected("to a describe")),
                }
            }
            Request::Notify { message } => {
                let (number, message) = self.letter(message)?;
                let parameters: [Typed<'_>; 3] =
                    [(&bytes, Type::BYTEA), (&number, Type::BYTEA), (&message, Type::BYTEA)];
                let token =
                    reply::granted(one(&self.ask_rarely(live, NOTIFY, &parameters).await?)?)?;
                Ok(token.map_or(Reply::Vacant, |token| Reply::Notified { token }))
            }
        }
    }

    async fn acquire(
        &self,
        live: &Arc<Live>,
        key: &Key,
        asks: &Acquire,
        profile: &Profile,
    ) -> Result<Reply, StoreError> {
        let is_first = !live.is_examined.load(Ordering::Relaxed);
        let (number, seen) = (value::number(asks.number)?, value::seen(asks.seen)?);
        let lost = asks.lost.map(|loss| value::seen(loss.last)).transpose()?;
        let mark_number = asks.mark.map(|mark| value::number(mark.number)).transpose()?;
        let parameters: [&(dyn ToSql + Sync); 18] = [
            &key.as_str().as_bytes(),
            &value::holder(asks.holder),
            &number,
            &seen,
            &lost,
            &asks.mark.map(|mark| value::holder(mark.holder)),
            &mark_number,
            &asks.stamp.map(|watch| value::stamp(watch.stamp)),
            &asks.stamp.map(|watch| value::watched(watch.time)),
            &value::demand(asks.ttl),
            &value::demand(asks.quarantine),
            &value::name(asks.name),
            &profile.name().as_bytes(),
            &&profile.metadata()[..],
            &live.identity,
            &live.backend,
            &is_first,
            &self.config.trust_empty_store,
        ];
        let granted = self.ask(live, &live.statements.acquire, &parameters);
        let (granted, found) = tokio::join!(biased; granted, self.look_at(live, key));
        let granted = reply::granted(one(&granted?)?)?;
        live.is_examined.store(true, Ordering::Relaxed);
        match granted {
            Some(token) => Ok(Reply::Granted { token }),
            None => Ok(Reply::Not(found?.shown(Some(asks.quarantine)))),
        }
    }

    async fn renew(&self, live: &Arc<Live>, renewal: Renewal<'_>) -> Result<Reply, StoreError> {
        let Renewal { key, holder, token, number, stamp } = renewal;
        let rows = if stamp.is_some() {
            let columns = Columns::of(&[renewal])?;
            self.ask(live, &live.statements.renew_watched, &columns.in_order()).await?
        } else {
            let (holder, token) = (value::holder(holder), value::token(token)?);
            let number = value::number(number)?;
            let parameters: [&(dyn ToSql + Sync); 4] =
                [&key.as_str().as_bytes(), &holder, &token, &number];
            self.ask(live, &live.statements.renew, &parameters).await?
        };
        match rows.first() {
            Some(row) => reply::renewed(row)?.1,
            None => self.look_at(live, key).await?.not_renewed(holder, token, number),
        }
    }

    async fn release(
        &self,
        live: &Arc<Live>,
        key: &Key,
        (holder, token): (HolderId, Token),
        kept: Option<Reservation>,
        notifies: bool,
    ) -> Result<Reply, StoreError> {
        let (holder, token) = (value::holder(holder), value::token(token)?);
        let name = kept.map(|kept| value::name(kept.name));
        let reserve = kept.map_or(0, |kept| value::demand(kept.reserve));
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&key.as_str().as_bytes(), &holder, &token, &name, &reserve, &notifies];
        let rows = self.ask(live, &live.statements.release, &parameters).await?;
        Ok(if rows.is_empty() { Reply::NotHeld } else { Reply::Released })
    }

    async fn want(
        &self,
        live: &Arc<Live>,
        key: &Key,
        token: Token,
        wish: Option<Wish>,
        notifies: bool,
    ) -> Result<Reply, StoreError> {
        let bytes = key.as_str().as_bytes();
        let (token, wish) = (value::token(token)?, wish.map(value::wish));
        let parameters: [Typed<'_>; 4] = [
            (&bytes, Type::BYTEA),
            (&token, Type::INT8),
            (&wish, Type::BYTEA),
            (&notifies, Type::BOOL),
        ];
        let rows = self.ask_rarely(live, WANT, &parameters).await?;
        Ok(if rows.is_empty() { Reply::NotNoted } else { Reply::Noted })
    }

    async fn look_at(&self, live: &Arc<Live>, key: &Key) -> Result<Found, StoreError> {
        let found = self.look(live, &[key]).await?;
        found.into_iter().next().ok_or_else(|| unexpected("to a look"))?
    }

    /// The state of each of these elections, in their order.
    pub(super) async fn look(
        &self,
        live: &Arc<Live>,
        keys: &[&Key],
    ) -> Result<Vec<Result<Found, StoreError>>, StoreError> {
        let bytes: Vec<_> = keys.iter().map(|key| key.as_str().as_bytes()).collect();
        let rows = self.ask(live, &live.statements.look, &[&bytes]).await?;
        if rows.len() != keys.len() {
            return Err(unexpected("another number of elections than was looked for"));
        }
        rows.iter().map(|row| per_row(Found::read(row))).collect()
    }

    /// A message under a random number: all connections may see the number, but only roles that may
    /// read the table see the message.
    fn letter(&self, message: &Message) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        let number = self.runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random number for the message")
                .with_source(error)
        })?;
        Ok((number.to_be_bytes().to_vec(), message.encoded()))
    }
}

/// The answer to a request that notifies; if a lock has not come in time, that to the same request
/// without the notification. A commit with a notification takes a lock that all databases of the
/// server share, and keeps it for as long as its disk or its standby takes. The error proves that
/// nothing was done; and if it was about another lock, the repetition fails in the same way.
async fn or_silently<F: Future<Output = Result<Reply, StoreError>>>(
    ask: impl Fn(bool) -> F,
) -> Result<Reply, StoreError> {
    match ask(true).await {
        Err(error) if error.kind() == StoreErrorKind::Locked => ask(false).await,
        answer => answer,
    }
}

fn one(rows: &[Row]) -> Result<&Row, StoreError> {
    let [row] = rows else { return Err(unexpected("not one row")) };
    Ok(row)
}
