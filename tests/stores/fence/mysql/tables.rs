//! The fence's table: its engine, keys and triggers, who makes it, and who may write there.

use mysql_async::IsolationLevel::RepeatableRead;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use tenure::fence::FenceError;
use tenure::fence::mysql::Fence;
use tenure::store::Key;
use tenure_servers::MariadbServer;

use super::support::{
    NEW, OLD, a_session_waits, begins, client, client_of, create, fence, filled, queue, soon,
    takes_over, token,
};
use crate::stores::mysql::support::server;

/// The number of a server's error, if the outcome of a take-over is unknown for it.
async fn code(fence: &Fence, conn: &mut Conn) -> Option<u16> {
    match soon(fence.take_over(conn, token(OLD))).await {
        Err(FenceError::Unknown { source: Error::Server(error), .. }) => Some(error.code),
        _ => None,
    }
}

/// On one that knows no transactions, or without a key, both leaders would write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_table_is_not_taken_over() {
    let server = queue();
    let mut conn = client(server.port()).await;
    let [_, confirms] = fence().take_over_sql();
    for alters in [
        "ALTER TABLE tenure_fences ENGINE = MyISAM",
        "ALTER TABLE tenure_fences ENGINE = Aria",
        "ALTER TABLE tenure_fences ENGINE = MEMORY",
        "ALTER TABLE tenure_fences DROP PRIMARY KEY",
        "CREATE TABLE copy AS SELECT * FROM tenure_fences; DROP TABLE tenure_fences; RENAME TABLE copy TO tenure_fences",
        "RENAME TABLE tenure_fences TO kept; CREATE VIEW tenure_fences AS SELECT * FROM kept",
    ] {
        let _ = takes_over(&mut conn, OLD).await;
        server.sql(alters).unwrap();
        let error = soon(fence().take_over(&mut conn, token(OLD))).await.unwrap_err();
        assert!(matches!(error, FenceError::Misused { .. }), "{alters}: {error:?}");
        assert!(error.to_string().contains("engine InnoDB"), "{alters}: {error}");
        let confirmed: Option<u64> = conn.query_first(filled(&confirms, OLD)).await.unwrap();
        assert_eq!(confirmed, None, "{alters}");
        server.sql("DROP DATABASE app; CREATE DATABASE app").unwrap();
        create(&server);
    }
    server.sql("DROP TABLE tenure_fences").unwrap();
    assert_eq!(code(&fence(), &mut conn).await, Some(1146));
}

/// Otherwise one election's tenures would supersede another's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn elections_are_compared_byte_by_byte() {
    let server = queue();
    let mut conn = client(server.port()).await;
    // Such sessions cut what is too long, and say nothing.
    conn.query_drop("SET sql_mode = '', NAMES latin1").await.unwrap();
    let long = "a".repeat(Key::MOST - 1);
    let longest = [format!("{long}b"), format!("{long}c")];
    let names = ["job", "Job", "job ", "job\0", "jöb", "job'\\\"`", &longest[0], &longest[1]];
    for (name, number) in names.into_iter().zip((1..9).rev()) {
        let fence = Fence::new(&Key::new(name).unwrap());
        let taken = soon(fence.take_over(&mut conn, token(number))).await.unwrap();
        let mut transaction = begins(&mut conn, RepeatableRead).await;
        soon(taken.check(&mut transaction)).await.unwrap();
        transaction.commit().await.unwrap();
    }
    assert_eq!(server.sql("SELECT COUNT(*) FROM tenure_fences").unwrap(), names.len().to_string());
    // A table of an administrator's, that cuts keys.
    server
        .sql("SET sql_mode = ''; ALTER TABLE tenure_fences MODIFY election VARBINARY(2)")
        .unwrap_err();
    server
        .sql("DELETE FROM tenure_fences; ALTER TABLE tenure_fences MODIFY election VARBINARY(2)")
        .unwrap();
    let cut = soon(fence().take_over(&mut conn, token(OLD))).await.unwrap_err();
    assert!(cut.to_string().contains("does not have what was written"), "{cut:?}");
}

/// The answer is what is stored, and not what was sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_a_trigger_alters_is_refused() {
    let server = queue();
    let mut conn = client(server.port()).await;
    let said = "does not have what was written there: a trigger";
    for (when, body, error) in [
        ("INSERT", "SET NEW.token = 1", said),
        ("INSERT", "SET NEW.election = REVERSE(NEW.election)", said),
        ("INSERT", "SET NEW.token = 9", "holds token 9, which is above"),
        ("INSERT", "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'not here'", "unknown"),
        ("UPDATE", "SET NEW.token = OLD.token", said),
        ("UPDATE", "SET NEW.token = 9", "holds token 9, which is above"),
    ] {
        server.sql("DELETE FROM tenure_fences").unwrap();
        if when == "UPDATE" {
            let _ = takes_over(&mut conn, OLD).await;
        }
        let trigger =
            format!("CREATE TRIGGER alters BEFORE {when} ON tenure_fences FOR EACH ROW {body}");
        server.sql(&trigger).unwrap();
        let refused = soon(fence().take_over(&mut conn, token(NEW))).await.unwrap_err();
        assert!(refused.to_string().contains(error), "{when} {body}: {refused}");
        server.sql("DROP TRIGGER alters").unwrap();
    }
    server.sql("DELETE FROM tenure_fences").unwrap();
    let taken = takes_over(&mut conn, OLD).await;
    for (body, error) in [
        ("SET NEW.checks = OLD.checks", said),
        ("SET NEW.token = 9", "holds token 9, which is above"),
        ("SET NEW.token = 6", "holds token 6, not"),
    ] {
        let trigger =
            format!("CREATE TRIGGER alters BEFORE UPDATE ON tenure_fences FOR EACH ROW {body}");
        server.sql(&trigger).unwrap();
        let mut transaction = begins(&mut conn, RepeatableRead).await;
        let refused = taken.check(&mut transaction).await.unwrap_err();
        assert!(refused.to_string().contains(error), "{body}: {refused}");
        transaction.rollback().await.unwrap();
        server.sql("DROP TRIGGER alters").unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_creations_make_one_table() {
    let server = server();
    for _ in 0..10 {
        let (one, other) = (client(server.port()).await, client(server.port()).await);
        let creations = [one, other].map(|mut conn| {
            tokio::spawn(async move { conn.query_drop(fence().schema_sql()).await })
        });
        for created in creations {
            soon(created).await.unwrap().unwrap();
        }
        server.sql("DROP TABLE tenure_fences").unwrap();
    }
    // Two tenures that have never met: one of them makes the row.
    create(&server);
    let (mut one, mut other) = (client(server.port()).await, client(server.port()).await);
    one.query_drop("START TRANSACTION").await.unwrap();
    let [announces, _] = fence().take_over_sql();
    one.query_drop(filled(&announces, NEW)).await.unwrap();
    let takes = tokio::spawn(async move { fence().take_over(&mut other, token(OLD)).await });
    a_session_waits(&server).await;
    one.query_drop("COMMIT").await.unwrap();
    let refused = soon(takes).await.unwrap().unwrap_err();
    assert!(matches!(refused, FenceError::Superseded { .. }), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_account_needs_exactly_its_grants() {
    let server = queue();
    let fence = fence().in_table("our app", "fences of all").unwrap();
    server.sql(&format!("CREATE DATABASE `our app`; {0}{0}", fence.schema_sql())).unwrap();
    server
        .sql(&format!("CREATE USER `the worker`@`%`; {}", fence.grants_sql("the worker")))
        .unwrap();
    server.sql("GRANT SELECT ON app.jobs TO `the worker`@`%`").unwrap();
    let mut conn = client_of(server.port(), "the worker").await;
    let taken = soon(fence.take_over(&mut conn, token(OLD))).await.unwrap();
    let mut transaction = begins(&mut conn, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    let table = "`our app`.`fences of all`";
    // Also where the table exists: a migration creates it.
    let creates = fence.schema_sql();
    for refused in ["DELETE FROM", "TRUNCATE", "DROP TABLE", &creates] {
        let sql = if refused == creates { creates.clone() } else { format!("{refused} {table}") };
        let error = conn.query_drop(&sql).await.unwrap_err();
        assert!(matches!(&error, Error::Server(error) if error.code == 1142), "{sql}: {error:?}");
    }
    for right in ["SELECT", "INSERT", "UPDATE"] {
        server.sql(&format!("REVOKE {right} ON {table} FROM `the worker`@`%`")).unwrap();
        let code = code(&fence, &mut conn).await;
        assert!(matches!(code, Some(1142 | 1143)), "{right} is not needed: {code:?}");
        server.sql(&format!("GRANT {right} ON {table} TO `the worker`@`%`")).unwrap();
    }
}

#[test]
fn names_of_tables_have_limits() {
    let error = fence().in_table("", "fences").unwrap_err();
    let said = "the database of the fences is \"\": it has 0 bytes, and must have 1 to 64; \
                set the database of the fences to app, for example";
    assert_eq!(error.to_string(), said);
    for name in ["x".repeat(65), "a`b".to_owned(), "a'b".to_owned(), "a.b".to_owned()] {
        fence().in_table("app", &name).unwrap_err();
    }
}

/// Settings of a server or session that would change the meaning of a statement.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_sessions_are_guarded() {
    let odd = [
        "--autocommit=0",
        "--sql-mode=ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,NO_ZERO_DATE",
        "--transaction-isolation=READ-UNCOMMITTED",
        "--character-set-server=utf8mb3",
        "--lower-case-table-names=1",
        "--innodb-snapshot-isolation=1",
    ];
    let server = MariadbServer::start_with(&odd).unwrap();
    create(&server);
    server.sql("COMMIT; SET GLOBAL sql_select_limit = 1; SET GLOBAL sql_safe_updates = 1").unwrap();
    let fence = fence().in_table("app", "Tenure_Fences").unwrap();
    let mut conn = client(server.port()).await;
    let taken = soon(fence.take_over(&mut conn, token(OLD))).await.unwrap();
    let mut transaction = begins(&mut conn, RepeatableRead).await;
    taken.check(&mut transaction).await.unwrap();
    transaction.commit().await.unwrap();
    let mut other = client(server.port()).await;
    let newer = soon(fence.take_over(&mut other, token(NEW))).await.unwrap();
    assert_eq!(newer.token(), token(NEW));
}
