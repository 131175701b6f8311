//! A simulated Redis: the wire protocol, the commands that tenure uses, and real Lua.
//!
//! The turmoil engine runs the real Lua scripts and the real client library against this server, in
//! one thread, with a clock and an identity that the simulation controls.
//! `tests/redis_differential` checks that its answers are equal to those of Redis 7.0.15, byte
//! for byte.
//!
//! Guaranteed: one command, or one script, at a time; the same inputs give the same bytes; no
//! clock, randomness or thread but the caller's. Not modelled: expiry, eviction, persistence,
//! replication, transactions, other databases than 0, commands not in `command.rs`, and the hash
//! order of large hashes (fields come in the order of their first writing, as in Redis's small
//! hashes). An unknown command is refused, so no missing command goes unnoticed.

mod call;
mod command;
mod commands;
mod connection;
mod header;
mod keyspace;
mod lua;
mod refusal;
mod reply;
mod script;
mod server;
mod session;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::rc::Rc;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWrite};

use call::Call;
use command::Handler;
use script::Scripts;
use server::Server;
use session::SessionKey;

pub use keyspace::Snapshot;
pub use reply::Reply;

/// The settings of a simulated server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Derives the run id and the replication id. Two servers of one world need different seeds.
    pub seed: u64,
    /// The server's role.
    pub role: Role,
    /// The answer of INFO and CONFIG GET. Nothing is ever evicted.
    pub maxmemory_policy: String,
    /// True if as much memory is used as `maxmemory` allows: a master then refuses commands that
    /// may need more memory.
    pub full: bool,
    /// The fields that INFO leaves out, or shows with another value, as those of some servers that
    /// resemble Redis do.
    pub withheld: Vec<(&'static str, Option<&'static str>)>,
    /// The password of the default user; without one every client is admitted.
    pub password: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 0,
            role: Role::Master,
            maxmemory_policy: "noeviction".to_owned(),
            full: false,
            withheld: Vec::new(),
            password: None,
        }
    }
}

/// A server's role in replication, in Redis's own terms. Nothing is replicated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Takes writes.
    Master,
    /// Refuses writes with READONLY.
    Replica,
}

/// One command as an observer sees it, after its execution and before its reply leaves.
#[derive(Debug)]
pub struct Executed<'a> {
    /// The server. An observer that kept a clone would never be dropped, nor the server.
    pub redis: &'a Redis,
    /// The label that [`Redis::serve`] was given for the connection.
    pub peer: &'a str,
    /// The command's name and arguments.
    pub args: &'a [Bytes],
    /// The answer.
    pub reply: &'a Reply,
}

type Observer = Box<dyn FnMut(&Executed<'_>)>;

/// A handle on one simulated server; clones share it.
#[derive(Clone)]
pub struct Redis {
    server: Rc<RefCell<Server>>,
    scripts: Rc<Scripts>,
    observers: Rc<RefCell<Vec<Observer>>>,
}

impl Redis {
    /// A server without data. `clock` is its wall clock in microseconds since the Unix epoch; it is
    /// asked once for every command or script.
    pub fn new(settings: Settings, clock: impl Fn() -> u64 + 'static) -> Self {
        let server = Rc::new(RefCell::new(Server::new(settings, Box::new(clock))));
        let scripts = Rc::new(Scripts::new(Rc::clone(&server)));
        Self { server, scripts, observers: Rc::default() }
    }

    /// Serves one connection until the peer closes it, sends QUIT or garbage, or the server
    /// restarts. `peer` names the connection to observers. Dropping the future closes the
    /// connection.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn serve<S: AsyncRead + AsyncWrite>(&self, stream: S, peer: &str) -> io::Result<()> {
        connection::serve(self, stream, peer).await
    }

    /// Executes a command for the test itself: without connection, password or observer, and also
    /// while the server is stalled. Maps are answered as maps (RESP3); a subscription gets no
    /// messages.
    pub fn execute(&self, args: &[&[u8]]) -> Reply {
        let args: Vec<Bytes> = args.iter().map(|arg| Bytes::copy_from_slice(arg)).collect();
        let key = self.server.borrow_mut().open_own_session();
        let reply = self.run(key, &args);
        self.server.borrow_mut().close(key);
        reply
    }

    /// Ends the process and starts it again: a new run id and replication id, every connection
    /// closed, scripts and unanswered input gone; the data too, unless kept.
    pub fn restart(&self, keep_data: bool) {
        self.scripts.flush();
        self.server.borrow_mut().restart(keep_data);
    }

    /// Changes the role, as a failover does. A promotion brings a new replication id.
    pub fn set_role(&self, role: Role) {
        self.server.borrow_mut().set_role(role);
    }

    /// Marks the memory as full, or as not full.
    pub fn fill(&self, on: bool) {
        self.server.borrow_mut().settings.full = on;
    }

    /// While on, the commands of connections are neither executed nor answered. Their input, and
    /// the end of a connection, is queued and handled afterwards.
    pub fn stall(&self, on: bool) {
        self.server.borrow_mut().stall(on);
    }

    /// True if a command has arrived while the server was stalled, and still waits.
    pub fn has_waiting_input(&self) -> bool {
        self.server.borrow().has_waiting_input
    }

    /// A copy of the data.
    pub fn snapshot(&self) -> Snapshot {
        self.server.borrow().keyspace.snapshot()
    }

    /// Replaces the data, and only the data: a server rolled back to an older state is a
    /// [`restart`](Self::restart) and a restore.
    pub fn restore(&self, snapshot: &Snapshot) {
        self.server.borrow_mut().keyspace.restore(snapshot);
    }

    /// Calls `observer` after every command of a connection, before anything else is executed. It
    /// may call [`execute`](Self::execute) on the server that it is shown, to read the data.
    pub fn observe(&self, observer: Box<dyn FnMut(&Executed<'_>)>) {
        self.observers.borrow_mut().push(observer);
    }

    /// Executes one command for a session.
    fn run(&self, session: SessionKey, args: &[Bytes]) -> Reply {
        let now = self.server.borrow().now();
        let admitted = command::admit(&self.server.borrow(), session, args);
        let answer = admitted.and_then(|command| match command.handler {
            Handler::Server(run) => {
                run(&mut Call { server: &mut self.server.borrow_mut(), session, args, now })
            }
            Handler::Script(script) => self.scripts.run(script, session, args, now),
        });
        answer.unwrap_or_else(Reply::from)
    }

    fn notify_observers(&self, executed: &Executed<'_>) {
        // Taken out, so that an observer may add another one.
        let mut observers = self.observers.take();
        for observer in &mut observers {
            observer(executed);
        }
        observers.append(&mut self.observers.borrow_mut());
        self.observers.replace(observers);
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("server", &self.server).finish_non_exhaustive()
    }
}
