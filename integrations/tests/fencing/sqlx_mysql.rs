//! sqlx in MariaDB.

use std::sync::LazyLock;

use sqlx::MySqlPool;

use super::mariadb::{Client, fence, late_writes_are_refused};
use super::{ELECTION, Outcome};

// sqlx 0.9 takes only statements that live as long as the program, unless they are marked.
static TAKE_OVER: LazyLock<[String; 2]> = LazyLock::new(|| fence().take_over_sql());
static CHECK: LazyLock<String> = LazyLock::new(|| fence().check_sql());

impl Client for MySqlPool {
    type Held = i64;

    async fn connect(url: &str) -> Outcome<Self> {
        Ok(Self::connect(url).await?)
    }

    async fn take_over(&self, token: i64) -> Outcome<Option<i64>> {
        let [announces, confirms] = &*TAKE_OVER;
        sqlx::query(announces).bind(ELECTION).bind(token).execute(self).await?;
        let row = sqlx::query(confirms).bind(ELECTION).bind(token).fetch_optional(self).await?;
        Ok(row.map(|_| token))
    }

    async fn write(&self, token: &i64) -> Outcome<bool> {
        let mut transaction = self.begin().await?;
        let check = sqlx::query(CHECK.as_str()).bind(ELECTION).bind(token);
        if check.execute(&mut *transaction).await?.rows_affected() == 0 {
            return Ok(false); // a newer tenure has the resource: the transaction is rolled back
        }
        let insert = sqlx::query("INSERT INTO reports VALUES (?)").bind(token);
        insert.execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(true)
    }
}

#[tokio::test]
async fn late_writes_are_refused_over_sqlx_in_mariadb() {
    late_writes_are_refused::<MySqlPool>().await;
}
