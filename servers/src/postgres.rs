//! A real PostgreSQL server of a test's own.

mod sessions;
mod template;

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, geteuid, kill_process};

use crate::ServerError;
use crate::child::{Account, find};
use crate::clock::{Preload, ServerClock};
use crate::error::doing;
use crate::preload;
use crate::process::{Process, Program};
use crate::session::SqlSession;

const PROGRAM: Program = Program { name: "postgres", install: "apt-get install postgresql" };
/// Debian keeps the programs of each version in a folder of its own, which is on nobody's path.
const FOLDERS: &str = "/usr/lib/postgresql";
/// The superuser.
const USER: &str = "postgres";
/// Bounds for a loaded machine.
const STOPS_WITHIN: Duration = Duration::from_secs(60);
const RELOADS_WITHIN: Duration = Duration::from_secs(60);

/// A PostgreSQL server on a loopback port, with a cluster of its own, stopped and removed on drop.
///
/// Its superuser is `postgres`, and connections from this machine need no password unless
/// [`authenticate`](Self::authenticate) says so. It writes to disk as servers in production do.
/// Never runs as root: there it becomes Debian's user `postgres`.
#[derive(Debug)]
pub struct PostgresServer {
    port: u16,
    settings: Vec<String>,
    programs: PathBuf,
    account: Option<Account>,
    clock: Option<Preload>,
    process: Process,
}

impl PostgresServer {
    /// Makes a cluster and starts a server with default settings.
    ///
    /// # Errors
    /// As for [`start_with`](Self::start_with).
    pub fn start() -> Result<Self, ServerError> {
        Self::start_with(&[])
    }

    /// Makes a cluster and starts a server with more settings, such as `["fsync=off"]`.
    ///
    /// # Errors
    /// [`ServerError::Missing`] if PostgreSQL is not installed, [`ServerError::NotReady`] if it
    /// does not answer within 60 s.
    pub fn start_with(settings: &[&str]) -> Result<Self, ServerError> {
        Self::start_by(None, settings)
    }

    /// The same with a clock of its own, which also its [replicas](Self::replica) have.
    ///
    /// # Errors
    /// As for [`start_with`](Self::start_with).
    pub fn start_with_clock(settings: &[&str], clock: &ServerClock) -> Result<Self, ServerError> {
        Self::start_by(Some(clock.preload()), settings)
    }

    fn start_by(clock: Option<Preload>, settings: &[&str]) -> Result<Self, ServerError> {
        let mut server = Self::stopped(clock, settings)?;
        server.unpack_cluster()?;
        server.launch()?;
        Ok(server)
    }

    /// Copies this server as a hot standby, which follows it until it is [promoted](Self::promote).
    ///
    /// # Errors
    /// If the copy fails, or the standby does not answer within 60 s.
    pub fn replica(&self, settings: &[&str]) -> Result<Self, ServerError> {
        let mut replica = Self::stopped(self.clock.clone(), settings)?;
        let port = self.port.to_string();
        let mut copy = replica.program("pg_basebackup");
        copy.args(["-h", "127.0.0.1", "-p", &port, "-U", USER, "-X", "stream", "-R", "-c", "fast"]);
        copy.arg("-D").arg(replica.data());
        run("copying a PostgreSQL cluster", &mut copy)?;
        replica.launch()?;
        Ok(replica)
    }

    fn stopped(clock: Option<Preload>, settings: &[&str]) -> Result<Self, ServerError> {
        let found = find(PROGRAM.name, versions());
        let Some(path) = found else {
            let Program { name: program, install } = PROGRAM;
            return Err(ServerError::Missing { program, install });
        };
        let account = if geteuid().is_root() { Some(Account::named(USER)?) } else { None };
        let programs = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let mut process = Process::of(PROGRAM, path, account.clone())?;
        if let Some(account) = &account {
            chown(process.folder(), Some(account.user), Some(account.group))
                .map_err(doing("handing a folder to the user postgres"))?;
        }
        let settings = settings.iter().map(|&setting| setting.to_owned()).collect();
        Ok(Self { port: process.port()?, settings, programs, account, clock, process })
    }

    fn make_cluster(&self) -> Result<(), ServerError> {
        let mut make = self.program("initdb");
        make.arg("-D").arg(self.data());
        make.args(["-U", USER, "--auth=trust", "--no-sync", "--no-locale", "-E", "UTF8"]);
        run("making a PostgreSQL cluster", &mut make)
    }

    /// The TCP port on 127.0.0.1; the same after a [`restart`](Self::restart).
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The id of the server's first process, the parent of all others, or none while it is stopped.
    pub fn pid(&self) -> Option<u32> {
        self.process.pid()
    }

    /// Stops the server as if the machine had lost power, but for what the system has not yet
    /// written to disk. Stopping twice is harmless.
    pub fn stop(&mut self) -> Result<(), ServerError> {
        let Some(pid) = self.process.pid() else { return Ok(()) };
        let family = self.family();
        // Stopped processes don't react.
        signal(&family, Signal::CONT)?;
        signal(&[pid], Signal::QUIT)?;
        if !self.process.has_ended_within(STOPS_WITHIN)? {
            self.process.kill()?;
        }
        // Processes that remain would keep its shared memory and its folder.
        let started = Instant::now();
        while family.iter().any(|pid| Path::new(&format!("/proc/{pid}")).exists())
            && started.elapsed() < STOPS_WITHIN
        {
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// [Stops](Self::stop) the server if it runs, and starts it again on the same port: it recovers
    /// what was committed.
    pub fn restart(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        self.launch()
    }

    /// Puts another server in this one's place, on the same port, with an empty cluster.
    pub fn replace(&mut self) -> Result<(), ServerError> {
        self.stop()?;
        fs::remove_dir_all(self.data()).map_err(doing("removing a PostgreSQL cluster"))?;
        self.make_cluster()?;
        self.launch()
    }

    /// Pauses all processes of the server (SIGSTOP): connections stay open, requests queue
    /// in the kernel.
    ///
    /// # Errors
    /// If they can't be signalled, or one is still running after 60 s.
    pub fn pause(&self) -> Result<(), ServerError> {
        let began = Instant::now();
        while began.elapsed() < STOPS_WITHIN {
            signal(&self.family(), Signal::STOP)?;
            // A signal takes effect later than it is sent: the first process may just be starting
            // another one, which does not get it.
            if stands_still(self.family().first())
                && self.family().iter().all(|pid| stands_still(Some(pid)))
            {
                return Ok(());
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err(doing("stopping a server where it is")(std::io::ErrorKind::TimedOut.into()))
    }

    /// Lets a paused server continue (SIGCONT): it then executes the queued requests.
    pub fn resume(&self) -> Result<(), ServerError> {
        signal(&self.family(), Signal::CONT)
    }

    /// The server's log since it was started.
    ///
    /// # Errors
    /// If it can't be read.
    pub fn log(&self) -> Result<String, ServerError> {
        self.process.log()
    }

    /// Makes a primary of a standby.
    pub fn promote(&self) -> Result<(), ServerError> {
        self.sql("SELECT pg_promote()").map(drop)
    }

    /// Carries out SQL as the superuser, over a connection of its own, in the database `postgres`;
    /// what it returns, a row on each line, columns separated by `|`.
    ///
    /// # Errors
    /// If the server refuses it, or can't be reached.
    pub fn sql(&self, sql: &str) -> Result<String, ServerError> {
        self.sql_as(USER, "postgres", sql)
    }

    /// The same as another user, or in another database.
    ///
    /// # Errors
    /// As for [`sql`](Self::sql).
    pub fn sql_as(&self, user: &str, database: &str, sql: &str) -> Result<String, ServerError> {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", user, "-d", database])
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        let output = output("carrying out SQL", &mut psql)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    /// Opens a session, in the database `postgres`.
    ///
    /// # Errors
    /// If psql can't be started. A server that can't be reached is an error of the first
    /// [`sql`](SqlSession::sql).
    pub fn session(&self) -> Result<SqlSession, ServerError> {
        let mut psql = crate::child::command(&self.programs.join("psql"), None);
        psql.args(["-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", USER]);
        psql.args(["-d", "postgres", "-XAtq", "-v", "ON_ERROR_STOP=1"]);
        SqlSession::open(psql)
    }

    /// Replaces the rules by which connections from this machine are let in (`pg_hba.conf`), such
    /// as `host all all 127.0.0.1/32 scram-sha-256`. The superuser `postgres` still needs no
    /// password, nor do replicas.
    ///
    /// # Errors
    /// If the server does not take them.
    pub fn authenticate(&self, rules: &str) -> Result<(), ServerError> {
        let rules = format!("host all,replication {USER} 127.0.0.1/32 trust\n{rules}\n");
        fs::write(self.data().join("pg_hba.conf"), rules).map_err(doing("writing pg_hba.conf"))?;
        self.sql("SELECT pg_reload_conf()").map(drop)
    }

    /// Shows that certificate to clients that encrypt their connections from now on; PEM, with its
    /// key.
    ///
    /// # Errors
    /// If the server does not take it.
    pub fn certify(&self, certificate: &str, key: &str) -> Result<(), ServerError> {
        self.put("server.crt", certificate)?;
        self.put("server.key", key)?;
        self.sql("ALTER SYSTEM SET ssl = on")?;
        // A session that begins later than a reload has the new certificate, and the new time.
        let loaded = || self.sql("SELECT pg_conf_load_time()");
        let (before, began) = (loaded()?, Instant::now());
        self.sql("SELECT pg_reload_conf()")?;
        while loaded()? == before {
            if began.elapsed() > RELOADS_WITHIN {
                return Err(doing("loading a certificate")(std::io::ErrorKind::TimedOut.into()));
            }
        }
        Ok(())
    }

    /// Puts a file next to the server's own, readable by it alone, such as a certificate's key.
    /// Settings name it without a folder.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn put(&self, name: &str, content: &str) -> Result<(), ServerError> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.data().join(name);
        let writing = || doing("writing a file for PostgreSQL");
        fs::write(&path, content).map_err(writing())?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(writing())?;
        if let Some(account) = &self.account {
            chown(&path, Some(account.user), Some(account.group)).map_err(writing())?;
        }
        Ok(())
    }

    fn data(&self) -> PathBuf {
        self.process.folder().join("data")
    }

    /// One of PostgreSQL's programs, run as the server is.
    fn program(&self, name: &str) -> Command {
        let mut command = crate::child::command(&self.programs.join(name), self.account.as_ref());
        command.current_dir(self.process.folder());
        command
    }

    fn launch(&mut self) -> Result<(), ServerError> {
        let (data, port) = (self.data(), self.port);
        let (settings, clock) = (&self.settings, &self.clock);
        let sessions = sessions::library()?;
        let configure = |command: &mut Command| {
            command.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
            // No sockets but that port.
            command.args(["-k", ""]);
            for setting in settings {
                command.args(["-c", setting]);
            }
            preload::load(command, &sessions);
            if let Some(clock) = clock {
                clock.sets(command);
            }
        };
        self.process.launch(port, configure, |pid| is_ready(&data, pid))
    }

    /// The server's first process, and all that it has started.
    fn family(&self) -> Vec<u32> {
        let Some(first) = self.process.pid() else { return Vec::new() };
        let children = fs::read_to_string(format!("/proc/{first}/task/{first}/children"));
        let children = children.unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        std::iter::once(first).chain(children).collect()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Before the folder goes: its processes would still write to it.
        let _ = self.stop();
    }
}

/// The server's lock file has its process id and its state.
fn is_ready(data: &Path, pid: u32) -> bool {
    let lock = fs::read_to_string(data.join("postmaster.pid")).unwrap_or_default();
    let mut lines = lock.lines().map(str::trim);
    lines.next() == Some(&pid.to_string()) && matches!(lines.next_back(), Some("ready" | "standby"))
}

/// True if a process is stopped, or gone. Its state is the first word after its name.
fn stands_still(pid: Option<&u32>) -> bool {
    let stat = pid.and_then(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok());
    stat.is_none_or(|stat| {
        stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
    })
}

/// The folders of all installed versions, the newest first.
fn versions() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(FOLDERS) else { return Vec::new() };
    let mut versions: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    versions.sort_by_key(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        std::cmp::Reverse(name.and_then(|name| name.parse::<u32>().ok()))
    });
    versions.into_iter().map(|version| version.join("bin")).collect()
}

fn signal(pids: &[u32], signal: Signal) -> Result<(), ServerError> {
    for (index, &pid) in pids.iter().enumerate() {
        let known = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let sent = known.map_or(Err(rustix::io::Errno::SRCH), |pid| kill_process(pid, signal));
        // All but the first may have ended meanwhile.
        if index == 0 {
            sent.map_err(|errno| doing("signalling a server")(errno.into()))?;
        }
    }
    Ok(())
}

fn run(what: &'static str, command: &mut Command) -> Result<(), ServerError> {
    output(what, command).map(drop)
}

fn output(what: &'static str, command: &mut Command) -> Result<Output, ServerError> {
    let output = command.output().map_err(doing(what))?;
    if output.status.success() {
        Ok(output)
    } else {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(doing(what)(std::io::Error::other(said)))
    }
}
