//! Carries out requests on the connection for requests, one by one or many together.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row, Statement};

use super::error::{failed, is_about_a_row, is_fatal};
use super::link::Link;
use super::live::Live;
use super::renewal::{Columns, Renewal};
use super::reply::{self, unexpected};
use crate::store::slot::Patience;
use crate::store::{Key, Reply, Request, StoreError, StoreErrorKind};

/// A parameter of a statement that is not prepared.
pub(super) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

impl Link {
    /// Carries out one request.
    pub(super) async fn call(
        self: &Arc<Self>,
        key: &Key,
        request: Request,
    ) -> Result<Reply, StoreError> {
        let live = self.live(Patience::of(&request)).await?;
        self.call_on(&live, key, &request).await
    }

    /// Carries out requests, of which several may be for one key: looks together, renewals together
    /// as far as their rows are not locked, others one by one.
    pub(super) async fn call_all(
        self: &Arc<Self>,
        requests: &[(Key, Request)],
    ) -> Vec<Result<Reply, StoreError>> {
        let live = match self.live(Patience::of_all(requests)).await {
            Ok(live) => live,
            Err(error) => return vec![Err(error); requests.len()],
        };
        let together = match self.together(&live, requests).await {
            Ok(replies) => replies,
            Err(error) => {
                self.note_error(&live, &error);
                return vec![Err(error); requests.len()];
            }
        };
        let each = requests.iter().zip(together).map(|((key, request), reply)| {
            let live = &live;
            async move {
                match reply {
                    Some(reply) => reply,
                    None => self.call_on(live, key, request).await,
                }
            }
        });
        join_all(each).await
    }

    /// The replies to those requests that one statement has carried out. A damaged row is an error
    /// of its own, which leaves the others as they are.
    async fn together<'a>(
        &self,
        live: &Arc<Live>,
        requests: &'a [(Key, Request)],
    ) -> Result<Vec<Option<Result<Reply, StoreError>>>, StoreError> {
        let mut replies = vec![None; requests.len()];
        if requests.len() < 2 {
            return Ok(replies);
        }
        let look = |(key, request): &'a (Key, Request)| match request {
            Request::Look { quarantine, .. } => Some((key, *quarantine)),
            _ => None,
        };
        if let Some(looks) = requests.iter().map(look).collect::<Option<Vec<_>>>() {
            let (keys, looks): (Vec<_>, Vec<_>) = looks.into_iter().unzip();
            let found = self.examining(live, self.look(live, &keys)).await?;
            live.session.serves();
            let shown = found.into_iter().zip(looks);
            let replies =
                shown.map(|(found, of)| Some(found.map(|one| Reply::At(one.shown(Some(of))))));
            return Ok(replies.collect());
        }
        let renewals = requests.iter().map(Renewal::of);
        let Some(renewals) = renewals.collect::<Option<Vec<_>>>() else { return Ok(replies) };
        // What one of them can't say refuses only that one.
        let Ok(columns) = Columns::of(&renewals) else { return Ok(replies) };
        let rows = self.examining(live, async {
            match self.query(live, &live.statements.renew_all, &columns.in_order()).await {
                // It is one row's trouble, and nothing was changed for the others.
                Err(error) if is_about_a_row(&error) => Ok(Vec::new()),
                rows => self.acknowledged(live, rows),
            }
        });
        let rows = rows.await?;
        live.session.serves();
        for row in &rows {
            let (place, reply) = reply::renewed(row)?;
            let one = place.checked_sub(1).and_then(|index| replies.get_mut(index));
            *one.ok_or_else(|| unexpected("a renewal that was not asked for"))? = Some(reply);
        }
        Ok(replies)
    }

    async fn call_on(
        &self,
        live: &Arc<Live>,
        key: &Key,
        request: &Request,
    ) -> Result<Reply, StoreError> {
        // An acquire has it compared in its own step. Observers and messages say nothing of the
        // past.
        let says_of_the_past = matches!(
            request,
            Request::Look { .. }
                | Request::Ask { .. }
                | Request::Want { .. }
                | Request::Renew { .. }
                | Request::Release { .. }
        );
        let reply = if says_of_the_past && !live.is_examined.load(Ordering::Relaxed) {
            // Once a connection: in its own box, so that other calls are not as large.
            Box::pin(self.examining(live, self.answer(live, key, request))).await
        } else {
            self.answer(live, key, request).await
        };
        match &reply {
            Ok(_) => live.session.serves(),
            Err(error) => self.note_error(live, error),
        }
        reply
    }

    fn note_error(&self, live: &Arc<Live>, error: &StoreError) {
        // Later replies may be out of step with their requests too. A damaged record concerns its
        // own election.
        if error.kind() == StoreErrorKind::UnexpectedReply {
            live.session.dead.cancel();
        }
        self.requests.failed(live, error);
    }

    /// Has the server compared with the past before the first request over the connection: both are
    /// sent together.
    pub(super) async fn examining<T>(
        &self,
        live: &Arc<Live>,
        request: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        if live.is_examined.load(Ordering::Relaxed) {
            return request.await;
        }
        let examine = &live.statements.examine;
        let server: [&(dyn ToSql + Sync); 2] = [&live.identity, &live.backend];
        let examined = self.ask(live, examine, &server);
        let (examined, reply) = tokio::join!(biased; examined, request);
        examined?;
        live.is_examined.store(true, Ordering::Relaxed);
        reply
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

    pub(super) async fn ask(
        &self,
        live: &Arc<Live>,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.acknowledged(live, self.query(live, statement, parameters).await)
    }

    /// By a statement that is not prepared: to prepare it here would take another round trip.
    pub(super) async fn ask_rarely(
        &self,
        live: &Arc<Live>,
        sql: &str,
        parameters: &[Typed<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let sql = self.config.table.named(sql);
        let rows = live.session.client.query_typed(&sql, parameters);
        self.acknowledged(live, answered(live, rows).await)
    }

    async fn query(
        &self,
        live: &Arc<Live>,
        statement: &Statement,
        parameters: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        answered(live, live.session.client.query(statement, parameters)).await
    }
}

/// Waits for an answer. If the caller gives up before, for reasons of its own, the connection is
/// asked whether it is stuck; see [`progress`](crate::store::progress).
async fn answered(
    live: &Live,
    rows: impl Future<Output = Result<Vec<Row>, Error>>,
) -> Result<Vec<Row>, Error> {
    let unanswered = live.session.progress.expects();
    let rows = rows.await;
    // An error with a code is a reply of the server: the connection is fine.
    if rows.as_ref().is_err_and(is_fatal) {
        unanswered.failed();
    } else {
        unanswered.answered();
    }
    rows
}
