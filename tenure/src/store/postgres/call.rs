//! Carries out requests as statements on the connection for requests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, Statement, ToStatement};

use super::error::{failed, is_about_a_row, is_fatal, is_late};
use super::link::Link;
use super::live::Live;
use super::pending::Pending;
use super::reply;
use super::statements::{ACQUIRE, OBSERVE, RELEASE, RENEW, Statements};
use crate::store::slot::Patience;
use crate::store::{Key, Message, Reply, Request, StoreError, StoreErrorKind, are_renewals};
use crate::{HolderId, Token};

/// Rare, so that it is not prepared on each connection.
const DESCRIBE: &str = include_str!("sql/describe.sql");

/// How a request is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// By a plain statement where there is one, then by the function.
    PlainFirst,
    Function,
}

impl Link {
    /// Carries out one request.
    pub(super) async fn call(
        self: &Arc<Self>,
        key: &Key,
        request: Request,
    ) -> Result<Reply, StoreError> {
        let live = self.live(Patience::of(&request)).await?;
        self.call_on(&live, key, &request, Path::PlainFirst).await
    }

    /// Carries out requests, of which several may be for one key: renewals together, others one by one.
    pub(super) async fn call_all(
        self: &Arc<Self>,
        requests: &[(Key, Request)],
    ) -> Vec<Result<Reply, StoreError>> {
        let live = match self.live(Patience::of_all(requests)).await {
            Ok(live) => live,
            Err(error) => return vec![Err(error); requests.len()],
        };
        let renewed = match self.renewed_together(&live, requests).await {
            Ok(renewed) => renewed,
            Err(error) => {
                self.requests.failed(&live, &error);
                return vec![Err(error); requests.len()];
            }
        };
        // Nothing is known of the others, and nothing was changed for them.
        let path = if renewed.is_some() { Path::Function } else { Path::PlainFirst };
        let renewed = renewed.unwrap_or_else(|| vec![false; requests.len()]);
        let each = requests.iter().zip(renewed).map(|((key, request), is_renewed)| {
            let live = &live;
            async move {
                if is_renewed {
                    return Ok(Reply::Renewed);
                }
                self.call_on(live, key, request, path).await
            }
        });
        join_all(each).await
    }

    /// Which requests one statement has carried out; `None` if they can't be asked together, or the statement has undone
    /// what it did.
    async fn renewed_together(
        &self,
        live: &Arc<Live>,
        requests: &[(Key, Request)],
    ) -> Result<Option<Vec<bool>>, StoreError> {
        let fast_path = live.statements.fast_path.as_ref();
        let has_compared = live.has_compared.load(Ordering::Relaxed);
        let together = requests.len() > 1 && has_compared && are_renewals(requests);
        let Some(path) = fast_path.filter(|_| together) else { return Ok(None) };
        let (mut keys, mut holders) = (Vec::new(), Vec::new());
        let (mut tokens, mut ttls) = (Vec::new(), Vec::new());
        for (key, request) in requests {
            let holder = holder(request).to_bits().to_be_bytes();
            // What one of them can't say refuses only that one.
            let Ok(asked) = Asked::of(key, request, &holder) else { return Ok(None) };
            keys.push(key.as_str().as_bytes());
            holders.push(holder.to_vec());
            tokens.push(asked.token);
            ttls.push(asked.ttl);
        }
        let rows = match self.query(live, &path.renew_all, &[&keys, &holders, &tokens, &ttls]).await
        {
            Err(error) if is_late(&error) || is_about_a_row(&error) => return Ok(None),
            rows => self.acknowledged(live, rows)?,
        };
        let renewed =
            reply::renewed(&rows, requests.len()).inspect_err(|_| live.session.dead.cancel())?;
        live.session.serves();
        Ok(Some(renewed))
    }

    async fn call_on(
        &self,
        live: &Arc<Live>,
        key: &Key,
        request: &Request,
        path: Path,
    ) -> Result<Reply, StoreError> {
        let rows = self.ask(live, key, request, path).await;
        let reply = rows.and_then(|rows| {
            reply::read(request, &rows).inspect_err(|error| {
                // Replies that do not fit their requests may be out of step with them. A damaged record concerns its
                // own election.
                if error.kind() != StoreErrorKind::BadRecord {
                    live.session.dead.cancel();
                }
            })
        });
        match &reply {
            Ok(reply) => {
                live.session.serves();
                if let Some(gate) = &self.gate {
                    gate.note(key, request, reply);
                }
            }
            Err(error) => self.requests.failed(live, error),
        }
        if let Ok(Reply::Renewed) = reply {
            live.has_compared.store(true, Ordering::Relaxed);
        }
        reply
    }

    async fn ask(
        &self,
        live: &Arc<Live>,
        key: &Key,
        request: &Request,
        path: Path,
    ) -> Result<Vec<Row>, StoreError> {
        let holder = holder(request).to_bits().to_be_bytes();
        if let Request::Describe { token, version, profile, .. } = request {
            let sql = self.config.table.named(DESCRIBE);
            let (key, token) = (key.as_str().as_bytes(), signed(*token)?);
            let version = i64::try_from(*version).unwrap_or(i64::MAX);
            let (name, metadata) = (profile.name().as_bytes(), &profile.metadata()[..]);
            let parameters: [(&(dyn ToSql + Sync), Type); 6] = [
                (&key, Type::BYTEA),
                (&&holder[..], Type::BYTEA),
                (&token, Type::INT8),
                (&version, Type::INT8),
                (&name, Type::BYTEA),
                (&metadata, Type::BYTEA),
            ];
            // It is too rare to be prepared for each session, and preparing it here would take another round trip.
            let pending = Pending::on(live, &self.runtime);
            let rows = live.session.client.query_typed(&sql, &parameters).await;
            pending.answered(rows.as_ref().is_err_and(is_fatal));
            return self.acknowledged(live, rows);
        }
        let has_compared = live.has_compared.load(Ordering::Relaxed);
        // A renewal that names the server has it compared with the history.
        let tells_server = match request {
            Request::Acquire { .. } => true,
            Request::Renew { .. } => !has_compared,
            Request::Release { .. } | Request::Describe { .. } => false,
            Request::Observe | Request::Notify { .. } => false,
        };
        let asked = Asked {
            identity: tells_server.then_some(&live.identity),
            backend: tells_server.then_some(&live.backend),
            trust: self.config.trust_empty_store,
            ..Asked::of(key, request, &holder)?
        };
        let is_near = live.distance.is_short();
        let fast_path = live.statements.fast_path.as_ref();
        if path == Path::PlainFirst
            && let Some(statement) =
                fast_path.and_then(|path| path.statement(request, is_near, has_compared))
            && let Some(rows) = self.ask_plainly(live, statement, &asked).await
        {
            return self.acknowledged(live, rows);
        }
        self.ask_function(live, key, request, &asked).await
    }

    /// Asks by a plain statement; `None` if the function must be asked instead.
    async fn ask_plainly(
        &self,
        live: &Arc<Live>,
        statement: &Statement,
        asked: &Asked<'_>,
    ) -> Option<Result<Vec<Row>, Error>> {
        match self.query(live, statement, &asked.in_order()[..statement.params().len()]).await {
            Ok(rows) if rows.is_empty() => None,
            Err(error) if is_late(&error) => None,
            rows => Some(rows),
        }
    }

    /// Asks by a call of the request's function.
    async fn ask_function(
        &self,
        live: &Arc<Live>,
        key: &Key,
        request: &Request,
        asked: &Asked<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let Statements { acquire, renew, release, observe, notify, .. } = &live.statements;
        let (statement, (count, of_lock)) = match request {
            Request::Acquire { .. } => (acquire, ACQUIRE),
            Request::Renew { .. } => (renew, RENEW),
            Request::Release { .. } => (release, RELEASE),
            // A describe was asked before.
            Request::Observe | Request::Describe { .. } => (observe, OBSERVE),
            Request::Notify { message } => {
                let (number, message) = self.letter(message)?;
                let rows = self.query(live, notify, &[&asked.key, &number, &message]).await;
                return self.acknowledged(live, rows);
            }
        };
        let lock = self.gate.as_ref().map(|gate| (gate.number(key), gate.is_immediate()));
        let mut parameters = asked.in_order()[..count].to_vec();
        if let Some((lock, immediate)) = &lock {
            let of_a_lock: [&(dyn ToSql + Sync); 4] =
                [&lock.number, &lock.is_pair, &live.admitted, immediate];
            parameters.extend(&of_a_lock[..of_lock]);
        }
        self.acknowledged(live, self.query(live, statement, &parameters).await)
    }

    /// A message under a random number: all connections may see the number, but only roles that may read the table
    /// see the message.
    fn letter(&self, message: &Message) -> Result<(Vec<u8>, Vec<u8>), StoreError> {
        let number = self.runtime.entropy().map_err(|error| {
            StoreError::new(StoreErrorKind::Refused, "no random number for the message")
                .with_source(error)
        })?;
        Ok((number.to_be_bytes().to_vec(), message.encoded()))
    }

    /// The rows, if the standbys that must acknowledge them have done so.
    fn acknowledged(
        &self,
        live: &Live,
        rows: Result<Vec<Row>, Error>,
    ) -> Result<Vec<Row>, StoreError> {
        live.session.is_replicated()?;
        rows.map_err(|error| failed(&self.config, &error))
    }

    async fn query(
        &self,
        live: &Arc<Live>,
        statement: &(impl ToStatement + Sync + ?Sized),
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        let pending = Pending::on(live, &self.runtime);
        let rows = live.session.client.query(statement, parameters).await;
        // An error with a code is a reply of the server: the connection is fine.
        pending.answered(rows.as_ref().is_err_and(is_fatal));
        rows
    }
}

/// The parameters of all statements.
struct Asked<'a> {
    key: &'a [u8],
    holder: &'a [u8],
    token: i64,
    ttl: i64,
    /// The server, if the request has it compared with the history.
    identity: Option<&'a String>,
    /// Its process.
    backend: Option<&'a String>,
    quarantine: i64,
    name: &'a [u8],
    metadata: &'a [u8],
    trust: bool,
}

impl<'a> Asked<'a> {
    /// Those that the request contains.
    fn of(key: &'a Key, request: &'a Request, holder: &'a [u8]) -> Result<Self, StoreError> {
        let (token, ttl) = match request {
            Request::Acquire { seen, ttl, .. } => (seen.map_or(Ok(0), signed)?, *ttl),
            Request::Renew { token, ttl, .. } => (signed(*token)?, *ttl),
            Request::Release { token, .. } => (signed(*token)?, Duration::ZERO),
            Request::Describe { .. } | Request::Observe | Request::Notify { .. } => {
                (0, Duration::ZERO)
            }
        };
        let (quarantine, name, metadata) = match request {
            Request::Acquire { quarantine, profile, .. } => {
                (micros(*quarantine), profile.name().as_bytes(), &profile.metadata()[..])
            }
            _ => (0, &[][..], &[][..]),
        };
        let (key, ttl) = (key.as_str().as_bytes(), micros(ttl));
        let (identity, backend, trust) = (None, None, false);
        Ok(Self { key, holder, token, ttl, identity, backend, quarantine, name, metadata, trust })
    }

    /// Each statement takes the first few of them.
    fn in_order(&self) -> [&(dyn ToSql + Sync); 10] {
        [
            &self.key,
            &self.holder,
            &self.token,
            &self.ttl,
            &self.identity,
            &self.backend,
            &self.quarantine,
            &self.name,
            &self.metadata,
            &self.trust,
        ]
    }
}

/// The candidate that asks; zero for requests of no candidate.
fn holder(request: &Request) -> HolderId {
    match request {
        Request::Acquire { holder, .. }
        | Request::Renew { holder, .. }
        | Request::Release { holder, .. }
        | Request::Describe { holder, .. } => *holder,
        Request::Observe | Request::Notify { .. } => HolderId::from_bits(0),
    }
}

/// Whole microseconds, rounded down: the store's granularity covers what is lost. Sums of a few of them
/// fit a bigint.
pub(super) fn micros(duration: Duration) -> i64 {
    const MOST: i64 = i64::MAX / 8;
    i64::try_from(duration.as_micros()).map_or(MOST, |micros| micros.min(MOST))
}

/// A token as a bigint.
///
/// # Errors
/// If it is greater than any that this store grants.
fn signed(token: Token) -> Result<i64, StoreError> {
    i64::try_from(token).map_err(|_| {
        let detail = format!("the token {token} is above what a bigint holds");
        StoreError::new(StoreErrorKind::Refused, detail)
    })
}
