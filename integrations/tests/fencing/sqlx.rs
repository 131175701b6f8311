//! sqlx.

use sqlx::{PgPool, Postgres, Transaction};
use tenure::fence::postgres::Fence;
use tenure_servers::PostgresServer;

use super::{Client, ELECTION, Outcome, late_writes_are_refused, url};

impl Client for PgPool {
    type Held = i64;

    async fn connect(server: &PostgresServer) -> Outcome<Self> {
        Ok(Self::connect(&url(server)).await?)
    }

    async fn take_over(&self, fence: &Fence, token: i64) -> Outcome<Option<i64>> {
        let sql = fence.take_over_sql();
        let row = sqlx::query(&sql).bind(ELECTION).bind(token).fetch_optional(self).await?;
        Ok(row.map(|_| token))
    }

    async fn write(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        write(self.begin().await?, fence, *held).await
    }

    async fn write_nested(&self, fence: &Fence, held: &i64) -> Outcome<bool> {
        use sqlx::Acquire as _;
        let mut outer = self.begin().await?;
        write(outer.begin().await?, fence, *held).await
    }
}

async fn write(
    mut transaction: Transaction<'_, Postgres>,
    fence: &Fence,
    token: i64,
) -> Outcome<bool> {
    let sql = fence.check_sql();
    let check = sqlx::query(&sql).bind(ELECTION).bind(token);
    if check.fetch_optional(&mut *transaction).await?.is_none() {
        return Ok(false); // a newer tenure has the resource: the transaction is rolled back
    }
    let insert = sqlx::query("INSERT INTO reports VALUES ($1)").bind(token);
    insert.execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}

#[tokio::test]
async fn late_writes_are_refused_over_sqlx() {
    late_writes_are_refused::<PgPool>().await;
}
