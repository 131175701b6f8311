//! Diesel, with the pool of diesel-async; without it, `execute` is called in the same way.

use diesel::QueryResult;
use diesel::sql_types::{BigInt, Text};
use diesel_async::pooled_connection::AsyncDieselConnectionManager;
use diesel_async::pooled_connection::deadpool::Pool;
use diesel_async::{AsyncConnection as _, AsyncPgConnection, RunQueryDsl as _};
use tenure::fence::postgres::Fence;
use tenure_servers::PostgresServer;

use super::{Client, ELECTION, Outcome, late_writes_are_refused, url};

type Connections = Pool<AsyncPgConnection>;

/// The number of rows that the statement answers.
async fn rows(sql: String, token: i64, connection: &mut AsyncPgConnection) -> QueryResult<usize> {
    let statement = diesel::sql_query(sql).bind::<Text, _>(ELECTION).bind::<BigInt, _>(token);
    statement.execute(connection).await
}

impl Client for Connections {
    type Held = i64;

    async fn connect(server: &PostgresServer) -> Outcome<Self> {
        let manager = AsyncDieselConnectionManager::new(url(server));
        Ok(Self::builder(manager).build()?)
    }

    async fn take_over(&self, fence: &Fence, token: i64) -> Outcome<Option<i64>> {
        let mut connection = self.get().await?;
        let accepted = rows(fence.take_over_sql(), token, &mut connection).await?;
        Ok((accepted == 1).then_some(token))
    }

    async fn write(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        Ok(write(&mut *self.get().await?, fence, *held).await?)
    }

    async fn write_nested(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        let mut connection = self.get().await?;
        Ok(connection.transaction(async |outer| write(outer, fence, *held).await).await?)
    }
}

async fn write(connection: &mut AsyncPgConnection, fence: &Fence, token: i64) -> QueryResult<bool> {
    let work = async |transaction: &mut AsyncPgConnection| {
        if rows(fence.check_sql(), token, transaction).await? == 0 {
            return Ok(false); // a newer tenure has the resource: nothing is written
        }
        let insert = diesel::sql_query("INSERT INTO reports VALUES ($1)");
        insert.bind::<BigInt, _>(token).execute(transaction).await?;
        Ok(true)
    };
    connection.transaction(work).await
}

#[tokio::test]
async fn late_writes_are_refused_over_diesel() {
    late_writes_are_refused::<Connections>().await;
}
