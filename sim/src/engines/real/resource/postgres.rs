//! A table in PostgreSQL.

use tenure::Token;
use tenure::fence::FenceError;
use tenure::fence::postgres::{Fence, TakenOver};
use tenure_servers::{PostgresServer, ServerError};
use tokio::net::TcpStream;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, NoTls};

use super::{Landed, NotWritten, parsed};
use crate::engines::real::election::key;

const ADD: &str = "INSERT INTO writes (fenced, text) VALUES ($1, $2)";

pub(in super::super) struct Resource {
    client: Client,
    taken_over: Option<TakenOver>,
}

/// A paused leader keeps the next one waiting for at most that long, as the fence's documentation
/// advises.
pub(super) const SETTINGS: [&str; 1] = ["idle_in_transaction_session_timeout=1s"];

pub(super) fn schema() -> String {
    let writes = "CREATE TABLE writes (id bigserial PRIMARY KEY, fenced boolean NOT NULL, text text NOT NULL, \
                  at timestamptz NOT NULL DEFAULT clock_timestamp());";
    Fence::new(&key()).schema_sql() + writes
}

impl Resource {
    pub(super) async fn connect(port: u16) -> Option<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        stream.set_nodelay(true).ok()?;
        let mut config = tokio_postgres::Config::new();
        config.user("postgres").dbname("postgres");
        let (client, connection) = config.connect_raw(stream, NoTls).await.ok()?;
        tokio::spawn(async move { drop(connection.await) });
        Some(Self { client, taken_over: None })
    }

    pub(super) async fn take_over(&mut self, token: Token) -> Result<(), NotWritten> {
        let taken_over = Fence::new(&key()).take_over(&mut self.client, token).await;
        self.taken_over = Some(taken_over.map_err(|error| known(&error))?);
        Ok(())
    }

    pub(super) async fn write(&mut self, text: &str) -> Result<(), NotWritten> {
        let taken_over = self.taken_over.as_ref().ok_or(NotWritten::Unknown)?;
        let transaction = self.client.transaction().await.map_err(|_| NotWritten::Unknown)?;
        taken_over.check(&transaction).await.map_err(|error| known(&error))?;
        let added = transaction.query_typed(ADD, &[(&true, Type::BOOL), (&text, Type::TEXT)]).await;
        added.map_err(|_| NotWritten::Unknown)?;
        transaction.commit().await.map_err(|_| NotWritten::Unknown)
    }

    pub(super) async fn write_unfenced(&mut self, text: &str) -> Result<(), NotWritten> {
        let added =
            self.client.query_typed(ADD, &[(&false, Type::BOOL), (&text, Type::TEXT)]).await;
        added.map(drop).map_err(|_| NotWritten::Unknown)
    }
}

const fn known(error: &FenceError<tokio_postgres::Error>) -> NotWritten {
    match error {
        FenceError::Superseded { .. } => NotWritten::Refused,
        _ => NotWritten::Unknown,
    }
}

pub(super) fn landed(server: &PostgresServer) -> Result<Vec<Landed>, ServerError> {
    let rows = server.sql(
        "SELECT fenced, (extract(epoch FROM at) * 1000000)::bigint, text FROM writes ORDER BY id",
    )?;
    let landed = |row: &str| {
        let mut columns = row.splitn(3, '|');
        let mut column = || columns.next().unwrap_or_default();
        let (fenced, micros, text) = (column() == "t", column(), column());
        let wrong = |detail| ServerError::Protocol { port: server.port(), detail };
        parsed(text, micros, fenced).map_err(wrong)
    };
    rows.lines().map(landed).collect()
}
