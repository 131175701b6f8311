//! A real pgbouncer of a test's own.

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::chown;

use rustix::process::geteuid;

use crate::child::{Account, find};
use crate::error::doing;
use crate::process::{Process, Program};
use crate::{PostgresServer, ServerError};

const PROGRAM: Program = Program { name: "pgbouncer", install: "apt-get install pgbouncer" };
/// Debian keeps it where only root's path leads.
const FOLDER: &str = "/usr/sbin";
/// For clients that ask for it.
const ENCRYPTED: &str = "client_tls_sslmode = allow\n\
    client_tls_cert_file = client.crt\n\
    client_tls_key_file = client.key\n";

/// A pgbouncer on a loopback port, which hands the sessions of a [`PostgresServer`] to the client
/// that needs one for a transaction. It lets everybody in as the superuser. Stopped on drop.
#[derive(Debug)]
pub struct PgBouncer {
    port: u16,
    _process: Process,
}

impl PgBouncer {
    /// Starts one in front of that server, for its database `postgres`, with at most so many
    /// sessions.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if it is not installed, [`ServerError::NotReady`] if it does not
    /// answer within 60 s.
    pub fn start(server: &PostgresServer, sessions: u32) -> Result<Self, ServerError> {
        Self::start_with(server, sessions, None)
    }

    /// The same, and with a certificate and its key, in PEM, for clients that encrypt their
    /// connections.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub fn start_with(
        server: &PostgresServer,
        sessions: u32,
        certificate: Option<(&str, &str)>,
    ) -> Result<Self, ServerError> {
        let Some(path) = find(PROGRAM.name, vec![FOLDER.into()]) else {
            let Program { name: program, install } = PROGRAM;
            return Err(ServerError::Missing { program, install });
        };
        // It refuses to run as root, too.
        let account = if geteuid().is_root() { Some(Account::named("postgres")?) } else { None };
        let mut process = Process::of(PROGRAM, path, account.clone())?;
        let port = process.port()?;
        let mut settings = settings(server.port(), port, sessions);
        let mut files = Vec::new();
        if let Some((certificate, key)) = certificate {
            settings.push_str(ENCRYPTED);
            files.extend([("client.crt", certificate), ("client.key", key)]);
        }
        files.push(("pgbouncer.ini", &settings));
        let mut paths = vec![process.folder().to_path_buf()];
        for (name, text) in files {
            let path = process.folder().join(name);
            fs::write(&path, text).map_err(doing("writing a file for pgbouncer"))?;
            paths.push(path);
        }
        if let Some(Account { user, group }) = &account {
            for path in paths {
                chown(path, Some(*user), Some(*group))
                    .map_err(doing("handing a folder to the user postgres"))?;
            }
        }
        let configure = |command: &mut std::process::Command| {
            command.arg("pgbouncer.ini");
        };
        let listens = |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        process.launch(port, configure, listens)?;
        Ok(Self { port, _process: process })
    }

    /// The TCP port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }
}

fn settings(server: u16, port: u16, sessions: u32) -> String {
    format!(
        "[databases]\n\
         postgres = host=127.0.0.1 port={server} user=postgres\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = {sessions}\n"
    )
}
