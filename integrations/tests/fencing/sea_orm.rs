//! The object-relational mapper on sqlx.

use sea_orm::{
    ConnectionTrait as _, Database, DatabaseConnection, DatabaseTransaction, DbBackend, Statement,
    TransactionTrait as _,
};
use tenure::fence::postgres::Fence;
use tenure_servers::PostgresServer;

use super::{Client, ELECTION, Outcome, late_writes_are_refused, url};

fn statement(sql: String, token: i64) -> Statement {
    Statement::from_sql_and_values(DbBackend::Postgres, sql, [ELECTION.into(), token.into()])
}

impl Client for DatabaseConnection {
    type Held = i64;

    async fn connect(server: &PostgresServer) -> Outcome<Self> {
        Ok(Database::connect(url(server)).await?)
    }

    async fn take_over(&self, fence: &Fence, token: i64) -> Outcome<Option<i64>> {
        Ok(self.query_one(statement(fence.take_over_sql(), token)).await?.map(|_| token))
    }

    async fn write(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        write(self.begin().await?, fence, *held).await
    }

    async fn write_nested(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        let outer = self.begin().await?;
        write(outer.begin().await?, fence, *held).await
    }
}

async fn write(transaction: DatabaseTransaction, fence: &Fence, token: i64) -> Outcome<bool> {
    if transaction.query_one(statement(fence.check_sql(), token)).await?.is_none() {
        return Ok(false); // a newer tenure has the resource: the transaction is rolled back
    }
    let insert = "INSERT INTO reports VALUES ($1)";
    let insert = Statement::from_sql_and_values(DbBackend::Postgres, insert, [token.into()]);
    transaction.execute(insert).await?;
    transaction.commit().await?;
    Ok(true)
}

#[tokio::test]
async fn late_writes_are_refused_over_sea_orm() {
    late_writes_are_refused::<DatabaseConnection>().await;
}
