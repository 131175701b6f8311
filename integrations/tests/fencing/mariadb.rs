//! The story of the fences in MariaDB.

use tenure::fence::mysql::Fence;
use tenure::store::Key;
use tenure_servers::MariadbServer;

use super::{ELECTION, Outcome};

pub(super) fn fence() -> Fence {
    Fence::new(&Key::new(ELECTION).unwrap())
}

/// A program's client, and how it writes under a fence.
pub(super) trait Client: Sized {
    /// The state of a tenure that has taken over.
    type Held;

    async fn connect(url: &str) -> Outcome<Self>;

    /// `None` if a newer tenure has the resource.
    async fn take_over(&self, token: i64) -> Outcome<Option<Self::Held>>;

    /// True if the token was written, as a row.
    async fn write(&self, held: &Self::Held) -> Outcome<bool>;
}

pub(super) async fn late_writes_are_refused<C: Client>() {
    let server = MariadbServer::start().unwrap();
    server.sql(&fence().schema_sql()).unwrap();
    server.sql("CREATE TABLE reports (token BIGINT) ENGINE=InnoDB").unwrap();

    let client =
        C::connect(&format!("mysql://root@127.0.0.1:{}/app", server.port())).await.unwrap();
    let first = client.take_over(1).await.unwrap().unwrap();
    assert!(client.write(&first).await.unwrap());
    let second = client.take_over(2).await.unwrap().unwrap();
    assert!(!client.write(&first).await.unwrap());
    assert!(client.take_over(1).await.unwrap().is_none());
    assert!(client.write(&second).await.unwrap());
    assert_eq!(server.sql("SELECT GROUP_CONCAT(token SEPARATOR ' ') FROM reports").unwrap(), "1 2");
}
