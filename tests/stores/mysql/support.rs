//! Servers and stores.

use std::time::Duration;

use tenure::store::mysql::{Mysql, MysqlConfig, MysqlTables};
use tenure_servers::MariadbServer;

pub(crate) use crate::stores::support::*;

/// Commits are written when they are acknowledged, and reach the disk later: they survive the end
/// of the process, and the store needs no more.
pub(crate) fn server() -> MariadbServer {
    let written = ["--innodb-flush-log-at-trx-commit=2"];
    MariadbServer::start_with(&written).expect("a MariaDB server")
}

/// A server that has the tables already.
pub(crate) fn with_tables() -> MariadbServer {
    let server = server();
    server.sql(&MysqlTables::default().schema_sql()).unwrap();
    server
}

/// The superuser at that port of this machine.
pub(crate) fn local(port: u16) -> MysqlConfig {
    MysqlConfig::new("127.0.0.1", port, "root", "app")
}

/// A store at that port, which trusts an empty server.
pub(crate) fn at(port: u16) -> Mysql {
    Mysql::new(local(port).trust_empty_store(true))
}

/// The number of the session that is in that state, as soon as there is one.
pub(crate) async fn session(server: &MariadbServer, state: &str) -> String {
    let find = format!("SELECT id FROM information_schema.PROCESSLIST WHERE state = '{state}'");
    soon(async {
        loop {
            let session = server.sql(&find).unwrap();
            if !session.is_empty() {
                return session;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}
