//! A session that stays open: for transactions and locks that last.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::ServerError;
use crate::child;
use crate::error::doing;

const USING: &str = "using a session of a server";
/// The server answers this line after the rows of each call.
const END: &str = "-- end of rows --";

/// A session of the superuser at a PostgreSQL or MariaDB server. What it holds, such as a
/// transaction and its locks, ends on drop.
#[derive(Debug)]
pub struct SqlSession {
    client: Child,
    /// `None` once its end has been told to the client.
    orders: Option<ChildStdin>,
    rows: BufReader<ChildStdout>,
}

impl SqlSession {
    /// The session of a client that reads statements from its standard input, and ends at the first
    /// error.
    pub(crate) fn open(mut client: Command) -> Result<Self, ServerError> {
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut client = child::spawn(client).map_err(doing("starting a client of a server"))?;
        let pipes = client.stdin.take().zip(client.stdout.take());
        let (orders, rows) = pipes.ok_or_else(|| ended("the client has no pipes"))?;
        Ok(Self { client, orders: Some(orders), rows: BufReader::new(rows) })
    }

    /// Carries out SQL, and returns its rows as `sql` of the server does. Waits for as long as the
    /// server does, so bound its waits for locks before one is taken.
    ///
    /// # Errors
    /// If the server refuses it or is gone. The session has ended then.
    pub fn sql(&mut self, sql: &str) -> Result<String, ServerError> {
        let orders = self.orders.as_mut().ok_or_else(|| ended("it has ended"))?;
        writeln!(orders, "{sql};\nSELECT '{END}';").map_err(doing(USING))?;
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

impl Drop for SqlSession {
    fn drop(&mut self) {
        // The server ends the session when its client is gone. Nothing can be done about a failure
        // here.
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

fn ended(why: &str) -> ServerError {
    doing(USING)(std::io::Error::other(why))
}
