//! Fences over other clients, each with a pool: in PostgreSQL, and those of `mariadb` in MariaDB.

mod deadpool;
mod diesel;
mod mariadb;
mod mysql_async;
mod sea_orm;
mod sqlx;
mod sqlx_mysql;

use std::error::Error;

use tenure::fence::postgres::Fence;
use tenure::store::Key;
use tenure_servers::PostgresServer;

const ELECTION: &str = "reports";

fn fence() -> Fence {
    Fence::new(&Key::new(ELECTION).unwrap())
}

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn url(server: &PostgresServer) -> String {
    format!("postgres://postgres@127.0.0.1:{}/postgres", server.port())
}

/// A program's client, and how it writes under a fence.
trait Client: Sized {
    /// The state of a tenure that has taken over.
    type Held;

    async fn connect(server: &PostgresServer) -> Outcome<Self>;

    /// `None` if a newer tenure has the resource.
    async fn take_over(&self, fence: &Fence, token: i64) -> Outcome<Option<Self::Held>>;

    /// True if the token was written, as a row.
    async fn write(&self, fence: &Fence, held: &Self::Held) -> Outcome<bool>;

    /// The same in a nested transaction.
    async fn write_nested(&self, fence: &Fence, held: &Self::Held) -> Outcome<bool>;
}

async fn late_writes_are_refused<C: Client>() {
    let server = PostgresServer::start().unwrap();
    let fence = fence();
    server.sql(&fence.schema_sql()).unwrap();
    server.sql("CREATE TABLE reports (token bigint)").unwrap();

    let client = C::connect(&server).await.unwrap();
    let first = client.take_over(&fence, 1).await.unwrap().unwrap();
    assert!(client.write(&fence, &first).await.unwrap());
    let second = client.take_over(&fence, 2).await.unwrap().unwrap();
    assert!(!client.write(&fence, &first).await.unwrap());
    assert!(client.take_over(&fence, 1).await.unwrap().is_none());
    assert!(client.write(&fence, &second).await.unwrap());
    let nested = client.write_nested(&fence, &second).await.unwrap_err().to_string();
    assert!(nested.contains("savepoint") || nested.contains("subtransaction"), "{nested}");
    assert_eq!(server.sql("SELECT string_agg(token::text, ' ') FROM reports").unwrap(), "1 2");
}
