//! Shells of databases that have carried out something, and stay open.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tenure_servers::PostgresServer;

/// A shell, killed when the test is over.
pub(super) struct Shell {
    child: Child,
    _input: ChildStdin,
    _output: BufReader<ChildStdout>,
}

impl Shell {
    /// Returns once the shell has carried out these statements.
    pub(super) fn after(command: &mut Command, sql: &str) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{sql}\nSELECT 'carried out';").unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while line.trim_end() != "carried out" {
            line.clear();
            assert!(output.read_line(&mut line).unwrap() > 0, "the shell has ended: {sql}");
        }
        Self { child, _input: input, _output: output }
    }

    /// In a session of that server.
    pub(super) fn at(server: &PostgresServer, sql: &str) -> Self {
        let port = server.port().to_string();
        let mut psql = Command::new("psql");
        Self::after(psql.args(["-h", "127.0.0.1", "-p", &port, "-U", "postgres", "-XAtq"]), sql)
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
