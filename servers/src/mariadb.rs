//! A real MariaDB server of a test's own.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Signal, geteuid};

use crate::ServerError;
use crate::child::{self, find};
use crate::error::doing;
use crate::process::{Process, Program, process_methods};
use crate::session::SqlSession;

const PROGRAM: Program = Program { name: "mariadbd", install: "apt-get install mariadb-server" };
/// Debian keeps it in a folder that is not on every user's path.
const FOLDER: &str = "/usr/sbin";
/// It starts slowly on a loaded machine.
const READY_WITHIN: Duration = Duration::from_secs(60);
const ENDS_WITHIN: Duration = Duration::from_secs(60);
const FOLLOWS_WITHIN: Duration = Duration::from_secs(60);
/// Debian's place of the library by which nodes replicate.
const GALERA: &str = "/usr/lib/galera/libgalera_smm.so";
/// The user that rsync takes.
const NOBODY: u32 = 65_534;
/// The database of tests.
const DATABASE: &str = "app";
const READ_ONLY: &str = "--read-only=1";
/// Small, since each server is started with a copy of them.
const SIZES: [&str; 3] = [
    "--innodb-log-file-size=4M",
    "--innodb-data-file-path=ibdata1:12M:autoextend",
    "--innodb-autoextend-increment=1",
];

/// A MariaDB server on a loopback port, with data of its own, stopped and removed on drop.
///
/// It has the database `app` and the superuser `root`, who needs no password. It writes to disk as
/// servers in production do.
#[derive(Debug)]
pub struct MariadbServer {
    port: u16,
    args: Vec<String>,
    process: Process,
}

impl MariadbServer {
    /// Starts a server with default settings.
    ///
    /// # Errors
    /// As for [`start_with`](Self::start_with).
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// Starts a server with more arguments, such as `["--log-bin"]`.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if MariaDB is not installed, [`ServerError::NotReady`] if it does
    /// not answer within a minute.
    pub fn start_with(args: &[&str]) -> Result<Self, ServerError> {
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        let mut server = Self::new(args)?;
        server.unpack_data()?;
        server.launch()?;
        Ok(server)
    }

    /// Starts the two nodes of a Galera cluster, each of which accepts writes.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if MariaDB, Galera or rsync is not installed,
    /// [`ServerError::NotReady`] if a node does not answer within a minute.
    pub fn cluster() -> Result<[Self; 2], ServerError> {
        if !Path::new(GALERA).exists() || find("rsync", Vec::new()).is_none() {
            let (program, install) = ("galera", "apt-get install galera-4 rsync");
            return Err(ServerError::Missing { program, install });
        }
        let (first, group) = Self::node("")?;
        let (second, _) = Self::node(&format!("127.0.0.1:{group}"))?;
        Ok([first, second])
    }

    /// A node that joins those of an address, or begins a cluster, and the port of its group.
    fn node(joins: &str) -> Result<(Self, u16), ServerError> {
        let mut node = Self::new(Vec::new())?;
        let [group, events, state] =
            [node.process.port()?, node.process.port()?, node.process.port()?];
        node.args = vec![
            "--wsrep-on=ON".into(),
            format!("--wsrep-provider={GALERA}"),
            format!("--wsrep-cluster-address=gcomm://{joins}"),
            "--wsrep-node-address=127.0.0.1".into(),
            "--wsrep-sst-method=rsync".into(),
            format!("--wsrep-sst-receive-address=127.0.0.1:{state}"),
            format!(
                "--wsrep-provider-options=base_host=127.0.0.1;base_port={group};gmcast.listen_addr=tcp://127.0.0.1:{group};\
                 ist.recv_addr=127.0.0.1:{events};gcache.size=8M"
            ),
            "--binlog-format=ROW".into(),
            "--innodb-autoinc-lock-mode=2".into(),
        ];
        if joins.is_empty() {
            node.unpack_data()?;
        } else {
            // The other node sends its data, by an rsync that gives up its rights if it has them.
            fs::create_dir(node.data()).map_err(doing("making the folder of a node"))?;
            let owner = geteuid().is_root().then_some(NOBODY);
            chown(node.data(), owner, owner).map_err(doing("handing over the folder of a node"))?;
        }
        node.launch()?;
        Ok((node, group))
    }

    /// One that is not started, and has no data.
    fn new(args: Vec<String>) -> Result<Self, ServerError> {
        let Some(path) = find(PROGRAM.name, vec![FOLDER.into()]) else {
            let Program { name: program, install } = PROGRAM;
            return Err(ServerError::Missing { program, install });
        };
        let mut process = Process::of(PROGRAM, path, None)?;
        Ok(Self { port: process.port()?, args, process })
    }

    /// Starts another server that follows this one, which must have been started with `--log-bin`
    /// and `--server-id`, until it is [promoted](Self::promote). It has what this one has by now, and
    /// accepts no writes of clients.
    ///
    /// # Errors
    /// If it does not start, or does not follow within a minute.
    pub fn replica(&self, args: &[&str]) -> Result<Self, ServerError> {
        let args: Vec<_> = [&[READ_ONLY], args].concat();
        let replica = Self::start_with(&args)?;
        let first = self.sql("SHOW BINARY LOGS")?;
        let first = first.split_whitespace().next().unwrap_or_default().to_owned();
        replica.sql(&format!(
            "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {}, MASTER_USER = 'root', MASTER_LOG_FILE = \
             '{first}', MASTER_LOG_POS = 4, MASTER_CONNECT_RETRY = 1; START SLAVE",
            self.port
        ))?;
        let has = self.sql("SELECT @@gtid_binlog_pos")?;
        let within = FOLLOWS_WITHIN.as_secs();
        let follows = replica.sql(&format!("SELECT MASTER_GTID_WAIT('{has}', {within})"))?;
        if follows != "0" {
            let detail = format!("it has not received {has} within {FOLLOWS_WITHIN:?}");
            return Err(ServerError::Protocol { port: replica.port, detail });
        }
        Ok(replica)
    }

    /// Makes a primary of a replica, also for when it is started again.
    pub fn promote(&mut self) -> Result<(), ServerError> {
        self.args.retain(|arg| arg != READ_ONLY);
        self.sql("STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0").map(drop)
    }

    /// The TCP port on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    process_methods!();

    /// Kills the server if it runs, and starts it again on the same port: it recovers what was
    /// committed.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.launch()
    }

    /// Puts another server in this one's place, on the same port, without its data.
    pub fn replace(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        fs::remove_dir_all(self.data()).map_err(doing("removing the data of a MariaDB server"))?;
        self.unpack_data()?;
        self.launch()
    }

    /// Restarts the server, with a copy of its data made while it is down.
    pub fn back_up(&mut self) -> Result<(), ServerError> {
        self.end()?;
        copy(&self.data(), &self.backup())?;
        self.launch()
    }

    /// Restarts the server with the data of the last [backup](Self::back_up) instead of its own.
    pub fn restore(&mut self) -> Result<(), ServerError> {
        self.end()?;
        fs::remove_dir_all(self.data()).map_err(doing("removing the data of a MariaDB server"))?;
        copy(&self.backup(), &self.data())?;
        self.launch()
    }

    /// Carries out SQL as the superuser, over a connection of its own, in the database `app`; what
    /// it returns, a row on each line, columns separated by tabs.
    ///
    /// # Errors
    /// If the server refuses it, or can't be reached.
    pub fn sql(&self, sql: &str) -> Result<String, ServerError> {
        let mut client = self.client("mariadb");
        client.args(["--skip-column-names", "--batch", DATABASE]);
        self.output(client, sql)
    }

    /// Opens a session of the superuser, in the database `app`.
    ///
    /// # Errors
    /// If the client can't be started. A server that can't be reached is an error of the first
    /// [`sql`](SqlSession::sql).
    pub fn session(&self) -> Result<SqlSession, ServerError> {
        let mut client = self.client("mariadb");
        client.args(["--skip-column-names", "--batch", "--unbuffered", "--skip-reconnect"]);
        client.arg(DATABASE);
        SqlSession::open(client)
    }

    /// The tables of the database `app` as statements that create them again, rows included.
    ///
    /// # Errors
    /// If the server refuses it, or can't be reached.
    pub fn dump(&self) -> Result<String, ServerError> {
        let mut client = self.client("mariadb-dump");
        client.args(["--hex-blob", DATABASE]);
        self.output(client, "")
    }

    /// The server's log since it was started.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn log(&self) -> Result<String, ServerError> {
        self.process.log()
    }

    /// The errors of statements, a line for each, of a server that was started with
    /// `--plugin-load-add=sql_errlog`.
    ///
    /// # Errors
    /// If they can't be read.
    pub fn errors(&self) -> Result<String, ServerError> {
        match fs::read(self.data().join("sql_errors.log")) {
            Ok(errors) => Ok(String::from_utf8_lossy(&errors).into_owned()),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(doing("reading the errors of a MariaDB server")(error)),
        }
    }

    fn client(&self, program: &str) -> Command {
        let mut client = child::command(Path::new(program), None);
        client.args(["--no-defaults", "--user=root", "--host=127.0.0.1"]);
        client.arg(format!("--port={}", self.port));
        client
    }

    fn output(&self, mut client: Command, input: &str) -> Result<String, ServerError> {
        let asking = || doing("carrying out SQL");
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut client = client.spawn().map_err(asking())?;
        // A client that has ended says why.
        let _ = client.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let Output { status, stdout, stderr } = client.wait_with_output().map_err(asking())?;
        if !status.success() {
            let detail = String::from_utf8_lossy(&stderr).into_owned();
            return Err(ServerError::Protocol { port: self.port, detail });
        }
        Ok(String::from_utf8_lossy(&stdout).trim_end().to_owned())
    }

    /// Ends the server in an orderly way.
    fn end(&mut self) -> Result<(), ServerError> {
        if self.pid().is_some() {
            self.process.signal(Signal::TERM)?;
            self.process.has_ended_within(ENDS_WITHIN)?;
        }
        self.kill()
    }

    /// Servers that start at the same time remove each other's temporary files.
    fn own_files(&self) -> String {
        format!("--tmpdir={}", self.process.folder().display())
    }

    fn data(&self) -> PathBuf {
        self.process.folder().join("data")
    }

    fn backup(&self) -> PathBuf {
        self.process.folder().join("backup")
    }

    /// The data of a new server: made once on a machine, since that takes much longer than a copy.
    fn unpack_data(&self) -> Result<(), ServerError> {
        let template = std::env::temp_dir().join(format!(
            "tenure-mariadb-{}-{}",
            geteuid().as_raw(),
            version()?
        ));
        if !template.is_dir() {
            let own = self.process.folder().join("template");
            let mut make = Command::new("mariadb-install-db");
            make.args(["--no-defaults", "--auth-root-authentication-method=normal"]);
            make.args(["--skip-test-db"]).args(SIZES).args(as_root());
            make.arg(format!("--datadir={}", own.display())).arg(self.own_files());
            run("making the data of a MariaDB server", &mut make)?;
            // A folder is a database.
            fs::create_dir(own.join(DATABASE)).map_err(doing("making a database"))?;
            // It appears with all that is in it, unless another process was first.
            let _ = fs::rename(&own, &template);
        }
        copy(&template, &self.data())
    }

    /// Spawns the process and waits until it is ready.
    fn launch(&mut self) -> Result<(), ServerError> {
        let (data, port) = (self.data(), self.port);
        let folder = self.process.folder().to_owned();
        let (args, own_files) = (&self.args, self.own_files());
        let configure = |command: &mut Command| {
            command.args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"]);
            command.args(["--innodb-buffer-pool-size=16M", "--performance-schema=OFF"]);
            command.args(SIZES).args(as_root());
            command.arg(format!("--port={port}")).arg(format!("--datadir={}", data.display()));
            command.arg(format!("--socket={}", folder.join("socket").display()));
            command.arg(format!("--pid-file={}", folder.join("pid").display()));
            command.arg(&own_files).args(args);
        };
        let log = folder.join("log");
        // The log begins anew with each process.
        let is_ready = |_| {
            fs::read_to_string(&log)
                .is_ok_and(|log| log.contains("mariadbd: ready for connections"))
        };
        self.process.launch_within(READY_WITHIN, port, configure, is_ready)
    }
}

/// It refuses to run as root unless it is told to.
fn as_root() -> Option<&'static str> {
    geteuid().is_root().then_some("--user=root")
}

fn version() -> Result<String, ServerError> {
    let path = find(PROGRAM.name, vec![FOLDER.into()]).unwrap_or_default();
    let asked = Command::new(path).arg("--version").output();
    let said = asked.map_err(doing("asking for a version"))?.stdout;
    // "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)"
    let said = String::from_utf8_lossy(&said).into_owned();
    Ok(said.split_whitespace().nth(2).unwrap_or("unknown").to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<(), ServerError> {
    run("copying the data of a MariaDB server", Command::new("cp").arg("-a").arg(from).arg(to))
}

fn run(what: &'static str, command: &mut Command) -> Result<(), ServerError> {
    let Output { status, stderr, .. } = command.output().map_err(doing(what))?;
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&stderr).into_owned();
    Err(doing(what)(std::io::Error::other(said)))
}
