//! A pool of tokio-postgres' connections, which the fence's own functions take.

use deadpool_postgres::{Config, Pool, Runtime, Transaction};
use tenure::Token;
use tenure::fence::FenceError;
use tenure::fence::postgres::{Fence, TakenOver};
use tenure_servers::PostgresServer;
use tokio_postgres::{Error, NoTls};

use super::{Client, Outcome, late_writes_are_refused, url};

impl Client for Pool {
    type Held = TakenOver;

    async fn connect(server: &PostgresServer) -> Outcome<Self> {
        let config = Config { url: Some(url(server)), ..Config::default() };
        Ok(config.create_pool(Some(Runtime::Tokio1), NoTls)?)
    }

    async fn take_over(&self, fence: &Fence, token: i64) -> Outcome<Option<TakenOver>> {
        let mut client = self.get().await?;
        unless_superseded(fence.take_over(&mut client, Token::try_from(token)?).await)
    }

    async fn write(&self, _fence: &Fence, held: &TakenOver) -> Outcome<bool> {
        let mut client = self.get().await?;
        write(client.transaction().await?, held).await
    }

    async fn write_nested(&self, _fence: &Fence, held: &TakenOver) -> Outcome<bool> {
        let mut client = self.get().await?;
        let mut outer = client.transaction().await?;
        write(outer.transaction().await?, held).await
    }
}

async fn write(transaction: Transaction<'_>, held: &TakenOver) -> Outcome<bool> {
    if unless_superseded(held.check(&transaction).await)?.is_none() {
        return Ok(false); // a newer tenure has the resource: the transaction is rolled back
    }
    let token = i64::try_from(held.token().get())?;
    transaction.execute("INSERT INTO reports VALUES ($1)", &[&token]).await?;
    transaction.commit().await?;
    Ok(true)
}

fn unless_superseded<T>(done: Result<T, FenceError<Error>>) -> Outcome<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(FenceError::Superseded { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[tokio::test]
async fn late_writes_are_refused_over_deadpool() {
    late_writes_are_refused::<Pool>().await;
}
