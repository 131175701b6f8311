//! The cost of a store's call, beside one raw upsert of the same row by the same client.
//!
//! Both sides speak to a MariaDB server of this benchmark's own with its default settings: each
//! commit is on disk before it is acknowledged. Besides, the store compares the row, the past and
//! the server's number as it writes, and reads back what it has written.
//!
//! Not measured: a network, which hides the statements' own time better than loopback does.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Statement};
use tenure::store::mysql::{Mysql, MysqlConfig};
use tenure::store::{Request, Store};
use tenure_bench::{
    Comparison, Elections, HOLDER, METADATA, NAME, Operation, Outcome, Session, Side, one_thread,
};
use tenure_servers::MariadbServer;
use tokio::runtime::Runtime;

/// Few, since commits differ much from one to the next.
const TURN: u32 = 4;
const OPERATIONS: [Operation; 3] = [Operation::Acquire, Operation::Renew, Operation::Release];

const TABLE: &str = "CREATE TABLE raw LIKE tenure_leases";
const UPSERT: &str = "INSERT INTO raw (k, version, hint, value) VALUES (?, ?, 0, ?) \
    ON DUPLICATE KEY UPDATE version = VALUES(version), hint = VALUES(hint), value = VALUES(value)";

fn main() -> ExitCode {
    Session::run(Duration::from_millis(500), Duration::from_secs(4), run)
}

fn run(session: &mut Session) -> Outcome<()> {
    let (server, runtime) = (MariadbServer::start()?, one_thread()?);
    let mut subject = runtime.block_on(Subject::new(&server))?;
    for operation in OPERATIONS {
        let comparison = Comparison::new("mariadb", operation.name(), ["store", "upsert"], TURN);
        session.compare(comparison, |side, repetitions| match side {
            Side::Ours => runtime.block_on(subject.elections.measure(operation, repetitions)),
            Side::Bare => subject.bare(&runtime, 0, repetitions as usize),
        });
    }
    let sides = ["upsert", "upsert, again"];
    let control = Comparison::new("mariadb", "control (upsert)", sides, TURN);
    session.compare(control, |side, repetitions| {
        subject.bare(&runtime, usize::from(side == Side::Bare), repetitions as usize)
    });
    Ok(())
}

struct Subject {
    elections: Elections<Mysql>,
    raw: [(Conn, Statement); 2],
    /// Another version for each row: a row that stays as it is is not written.
    version: u128,
}

impl Subject {
    async fn new(server: &MariadbServer) -> Outcome<Self> {
        let config = MysqlConfig::new("127.0.0.1", server.port(), "root", "app");
        let elections = Elections::new(Mysql::new(config.trust_empty_store(true)), TURN);
        for lease in &elections.leases {
            elections.store.call(&lease.key, Request::Observe).await?;
        }
        server.sql(TABLE)?;
        let raw = [connect(server.port()).await?, connect(server.port()).await?];
        Ok(Self { elections, raw, version: 0 })
    }

    fn bare(&mut self, runtime: &Runtime, which: usize, count: usize) -> Duration {
        let (conn, upsert) = &mut self.raw[which];
        let leases = self.elections.leases.iter().take(count);
        // About as long as the store's record.
        let value = format!("{NAME} {METADATA} {:0300}", HOLDER.to_bits());
        runtime.block_on(async {
            let started = Instant::now();
            for lease in leases {
                self.version += 1;
                let row = (lease.key.as_str(), self.version.to_be_bytes().to_vec(), &value);
                conn.exec_drop(&*upsert, row).await.expect("an answer");
            }
            started.elapsed()
        })
    }
}

async fn connect(port: u16) -> Outcome<(Conn, Statement)> {
    let options = OptsBuilder::default().ip_or_hostname("127.0.0.1").tcp_port(port);
    let options = options.user(Some("root")).db_name(Some("app")).prefer_socket(false);
    let mut conn = Conn::new(options).await?;
    let upsert = conn.prep(UPSERT).await?;
    Ok((conn, upsert))
}
