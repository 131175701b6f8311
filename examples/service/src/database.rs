//! The orders in PostgreSQL, through sqlx.

use std::sync::LazyLock;

use anyhow::bail;
use sqlx::postgres::PgConnectOptions;
use sqlx::{PgPool, Postgres, Transaction};
use tenure::Token;
use tenure::fence::postgres::Fence;
use tenure::store::Key;

use crate::{ELECTION, Orders};

fn fence() -> Fence {
    Fence::new(&Key::new(ELECTION).expect("a short name"))
}

// sqlx 0.9 takes only statements that live as long as the program, unless they are marked.
static TAKE_OVER: LazyLock<String> = LazyLock::new(|| fence().take_over_sql());
static CHECK: LazyLock<String> = LazyLock::new(|| fence().check_sql());
// No constraint refuses a second shipment: none could refuse a second parcel.
static TABLES: LazyLock<String> = LazyLock::new(|| {
    let orders = "CREATE TABLE IF NOT EXISTS orders (
            id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
        );
        CREATE TABLE IF NOT EXISTS shipments (
            order_id bigint NOT NULL REFERENCES orders,
            token bigint NOT NULL
        );";
    // The fence's part has a lock, so that processes can start together.
    fence().schema_sql() + orders
});

/// The database, as one process reaches it.
#[derive(Clone, Debug)]
pub struct Database(PgPool);

impl Database {
    /// Connects, and creates the tables if they do not exist.
    pub async fn connect(url: &str) -> anyhow::Result<Self> {
        let options: PgConnectOptions = url.parse()?;
        // About the TTL: a leader that is cut off within a transaction holds up the next take-over.
        let options = options.options([("idle_in_transaction_session_timeout", "5s")]);
        let pool = PgPool::connect_with(options).await?;
        sqlx::raw_sql(TABLES.as_str()).execute(&pool).await?;
        Ok(Self(pool))
    }

    /// Stores an order, unless a later leader has the orders, or this one has not taken them over
    /// yet: that is an error.
    pub async fn accept(&self, token: Token) -> anyhow::Result<i64> {
        let mut transaction = self.guarded(token).await?;
        let insert = sqlx::query_scalar("INSERT INTO orders DEFAULT VALUES RETURNING id");
        let order = insert.fetch_one(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(order)
    }

    /// The number of shipments, and of orders that were shipped.
    pub async fn shipped(&self) -> anyhow::Result<(i64, i64)> {
        let count = "SELECT count(*), count(DISTINCT order_id) FROM shipments";
        Ok(sqlx::query_as(count).fetch_one(&self.0).await?)
    }

    /// A transaction that commits only before a later leader takes the orders over.
    async fn guarded(&self, token: Token) -> anyhow::Result<Transaction<'_, Postgres>> {
        let mut transaction = self.0.begin().await?;
        let check = sqlx::query(CHECK.as_str()).bind(ELECTION).bind(i64::try_from(token)?);
        if check.fetch_optional(&mut *transaction).await?.is_none() {
            bail!("the tenure {token} does not have the orders"); // which rolls back
        }
        Ok(transaction)
    }
}

impl Orders for Database {
    async fn take_over(&self, token: Token) -> anyhow::Result<()> {
        let take_over = sqlx::query(TAKE_OVER.as_str()).bind(ELECTION).bind(i64::try_from(token)?);
        if take_over.fetch_optional(&self.0).await?.is_none() {
            bail!("a tenure after {token} has the orders");
        }
        Ok(())
    }

    async fn next(&self) -> anyhow::Result<Option<i64>> {
        let next = "SELECT min(id) FROM orders WHERE id NOT IN (SELECT order_id FROM shipments)";
        Ok(sqlx::query_scalar(next).fetch_one(&self.0).await?)
    }

    async fn ship(&self, order: i64, token: Token) -> anyhow::Result<()> {
        let mut transaction = self.guarded(token).await?;
        let insert = sqlx::query("INSERT INTO shipments VALUES ($1, $2)");
        insert.bind(order).bind(i64::try_from(token)?).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(())
    }
}
