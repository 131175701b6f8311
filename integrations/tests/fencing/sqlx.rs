//! sqlx.

use std::sync::LazyLock;

use sqlx::{PgPool, Postgres, Transaction};
use tenure::fence::postgres::Fence;
use tenure_servers::PostgresServer;

use super::{Client, ELECTION, Outcome, fence, late_writes_are_refused, url};

// sqlx 0.9 takes only statements that live as long as the program, unless they are marked.
static TAKE_OVER: LazyLock<String> = LazyLock::new(|| fence().take_over_sql());
static CHECK: LazyLock<String> = LazyLock::new(|| fence().check_sql());

impl Client for PgPool {
    type Held = i64;

    async fn connect(server: &PostgresServer) -> Outcome<Self> {
        Ok(Self::connect(&url(server)).await?)
    }

    async fn take_over(&self, _: &Fence, token: i64) -> Outcome<Option<i64>> {
        let take_over = sqlx::query(TAKE_OVER.as_str()).bind(ELECTION).bind(token);
        let row = take_over.fetch_optional(self).await?;
        Ok(row.map(|_| token))
    }

    async fn write(&self, _: &Fence, held: &i64) -> Outcome<bool> {
        write(self.begin().await?, *held).await
    }

    async fn write_nested(&self, _: &Fence, held: &i64) -> Outcome<bool> {
        use sqlx::Acquire as _;
        let mut outer = self.begin().await?;
        write(outer.begin().await?, *held).await
    }
}

async fn write(mut transaction: Transaction<'_, Postgres>, token: i64) -> Outcome<bool> {
    let check = sqlx::query(CHECK.as_str()).bind(ELECTION).bind(token);
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
