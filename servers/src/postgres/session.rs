//! A session that stays open: for transactions and locks that last.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::PostgresServer;
use crate::ServerError;
use crate::child;
use crate::error::doing;

const USING: &str = "using a session of PostgreSQL";
/// psql prints this line after the rows of each call.
const END: &str = "-- end of rows --";

/// A session of the superuser, in the database `postgres`. What it holds, such as a transaction and
/// its locks, ends on drop.
#[derive(Debug)]
pub struct PostgresSession {
    psql: Child,
    /// `None` once its end has been told to psql.
    orders: Option<ChildStdin>,
    rows: BufReader<ChildStdout>,
}

impl PostgresServer {
    /// Opens a session.
    ///
    /// # Errors
    /// If psql can't be started. A server that can't be reached is an error of the first
    /// [`sql`](PostgresSession::sql).
    pub fn session(&self) -> Result<PostgresSession, ServerError> {
        let mut psql = child::command(&self.programs.join("psql"), None);
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", super::USER])
            .args(["-d", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut psql = child::spawn(psql).map_err(doing("starting psql"))?;
        let pipes = psql.stdin.take().zip(psql.stdout.take());
        let (orders, rows) = pipes.ok_or_else(|| ended("psql has no pipes"))?;
        Ok(PostgresSession { psql, orders: Some(orders), rows: BufReader::new(rows) })
    }
}

impl PostgresSession {
    /// Carries out SQL, and returns its rows as [`PostgresServer::sql`] does. Waits for as long as
    /// the server does, so set its `lock_timeout` before a lock is taken.
    ///
    /// # Errors
    /// If the server refuses it or is gone. The session has ended then.
    pub fn sql(&mut self, sql: &str) -> Result<String, ServerError> {
        let orders = self.orders.as_mut().ok_or_else(|| ended("it has ended"))?;
        writeln!(orders, "{sql};\n\\echo {END}").map_err(doing(USING))?;
        let mut rows = String::new();
        loop {
            let before = rows.len();
            if self.rows.read_line(&mut rows).map_err(doing(USING))? == 0 {
                self.orders = None;
                return Err(ended("the server has refused the SQL, or is gone"));
            }
            if rows[before..].trim_end() == END {
                rows.truncate(before);
                return Ok(rows.trim_end().to_owned());
            }
        }
    }
}

impl Drop for PostgresSession {
    fn drop(&mut self) {
        // The server ends the session when psql is gone. Nothing can be done about a failure here.
        let _ = self.psql.kill();
        let _ = self.psql.wait();
    }
}

fn ended(why: &str) -> ServerError {
    doing(USING)(std::io::Error::other(why))
}
