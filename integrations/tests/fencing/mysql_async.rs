//! The pool of `mysql_async`, whose connections the fence's own functions take.

use mysql_async::prelude::Queryable as _;
use mysql_async::{Error, Pool, TxOpts};
use tenure::Token;
use tenure::fence::FenceError;
use tenure::fence::mysql::TakenOver;

use super::Outcome;
use super::mariadb::{Client, fence, late_writes_are_refused};

impl Client for Pool {
    type Held = TakenOver;

    async fn connect(url: &str) -> Outcome<Self> {
        Ok(Self::from_url(url)?)
    }

    async fn take_over(&self, token: i64) -> Outcome<Option<TakenOver>> {
        let mut conn = self.get_conn().await?;
        unless_superseded(fence().take_over(&mut conn, Token::try_from(token)?).await)
    }

    async fn write(&self, held: &TakenOver) -> Outcome<bool> {
        let mut conn = self.get_conn().await?;
        let mut transaction = conn.start_transaction(TxOpts::new()).await?;
        let token = held.token().get();
        transaction.exec_drop("INSERT INTO reports VALUES (?)", (token,)).await?;
        let checked = held.check(&mut transaction).await; // last, so that others wait for the commit alone
        if checked.is_err() {
            transaction.rollback().await?; // a transaction that is only dropped keeps its locks for a while
            return Ok(unless_superseded(checked)?.is_some());
        }
        transaction.commit().await?;
        Ok(true)
    }
}

fn unless_superseded<T>(done: Result<T, FenceError<Error>>) -> Outcome<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(FenceError::Superseded { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn late_writes_are_refused_over_mysql_async() {
    late_writes_are_refused::<Pool>().await;
}
