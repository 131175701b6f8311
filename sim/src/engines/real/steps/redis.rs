//! The steps of a Redis server, from its MONITOR stream: each script with its arguments, and the
//! commands that the script ran.
//!
//! The stream has no replies. A script that changes something writes it down; what one that writes
//! nothing has answered follows from its arguments, the record and the past. One that should have
//! granted the lease and has not has met an error, which the stream does not show: its answer is
//! left out.

mod line;
mod script;
mod shown;

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sha1_smol::Sha1;
use tenure::store::redis::SCRIPTS;
use tenure_servers::{RedisServer, Reply, ServerError};

use super::{Past, Record, ServerTime, Steps};
use shown::State;

pub(in super::super) const RECORD: &str = "{tenure}:leader:job";
const PAST: &str = "{tenure}:past";
const FIELDS: [&str; 8] =
    ["token", "holder", "number", "ttl", "quarantine", "released", "reserved_for", "written"];
const MARK: &str = "all-was-shown";
/// The stream shows a command that was just carried out well within this time.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

/// The observer of a server's stream.
#[derive(Debug)]
pub(in super::super) struct Monitor {
    state: Arc<Mutex<State>>,
    reader: Option<JoinHandle<()>>,
}

impl Monitor {
    pub(in super::super) fn new() -> Self {
        let digest = |text: &str| Sha1::from(text).digest().to_string();
        let scripts = SCRIPTS.iter().map(|(name, text)| (digest(text), *name)).collect();
        Self { state: Arc::new(Mutex::new(State::of(scripts))), reader: None }
    }

    /// Begins to read the stream of a server that has just started: no candidate can reach it
    /// before this returns.
    pub(in super::super) fn attach(&mut self, server: &RedisServer) -> Result<(), ServerError> {
        let failed =
            |source| ServerError::Io { doing: "reading the MONITOR stream of Redis", source };
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).map_err(failed)?;
        stream.write_all(b"MONITOR\r\n").map_err(failed)?;
        let mut lines = BufReader::new(stream);
        let mut first = String::new();
        lines.read_line(&mut first).map_err(failed)?;
        if !first.starts_with("+OK") {
            return Err(failed(io::Error::other(format!("the answer to MONITOR is {first:?}"))));
        }
        let state = Arc::clone(&self.state);
        self.reader = Some(thread::spawn(move || {
            for line in lines.split(b'\n') {
                let Ok(line) = line else { break };
                lock(&state).shown(&String::from_utf8_lossy(&line));
            }
            lock(&state).script_ended();
        }));
        Ok(())
    }

    /// The server has that clock from now on. Everything that it has carried out before was shown.
    pub(in super::super) fn has_clock(&mut self, clock: ServerTime) {
        lock(&self.state).clock = clock;
    }

    /// The server has ended its stream: takes in what that still has.
    pub(in super::super) fn ends(&mut self) {
        if let Some(reader) = self.reader.take() {
            // A panic of the reader has been printed.
            let _ = reader.join();
        }
    }

    /// The server has been killed: takes in what its stream still has.
    pub(in super::super) fn detach(&mut self) {
        self.ends();
        // A refusal may have been answered, and not shown.
        lock(&self.state).has_gaps = true;
    }

    /// The server was killed when its clock has shown that. Its data is there again, and will be
    /// kept or lost. Its last change may have been answered, and not shown: the record tells.
    /// Returns whether a record is to be lost.
    pub(in super::super) fn is_replaced(
        &mut self,
        server: &RedisServer,
        killed_at: u64,
        keeps_data: bool,
    ) -> Result<bool, ServerError> {
        let (record, past) = (read(server)?, read_past(server)?);
        let mut state = lock(&self.state);
        state.recovers(record, past, killed_at);
        state.server += 1;
        if keeps_data {
            return Ok(false);
        }
        state.past = Past::default();
        Ok(state.kept.take().is_some())
    }

    /// Sets the number of the server in the steps to come.
    pub(in super::super) fn has_number(&mut self, number: u32) {
        lock(&self.state).server = number;
    }

    /// Takes over the record and the past of a server that no candidate can reach yet.
    pub(in super::super) fn adopts(&mut self, server: &RedisServer) -> Result<(), ServerError> {
        let (record, past) = (read(server)?, read_past(server)?);
        let mut state = lock(&self.state);
        (state.kept, state.past) = (record.map(|record| state.in_time(record)), past);
        Ok(())
    }

    /// Takes over the record and the past from a server that has handed both on to this one, as its
    /// observer knows them: no candidate can reach either server.
    pub(in super::super) fn takes_over(&mut self, from: &Self) {
        let mut before = lock(&from.state);
        let (kept, past) = (before.kept.take(), std::mem::take(&mut before.past));
        drop(before);
        let mut state = lock(&self.state);
        (state.kept, state.past) = (kept, past);
    }

    /// Since when the past is that of the server of that identity, in microseconds of the wall
    /// clock, if it is.
    pub(in super::super) fn stamped_at(&self, identity: &str) -> Option<u64> {
        let past = &lock(&self.state).past;
        let is_its_own = past.stamp.is_some() && past.identity.as_deref() == Some(identity);
        is_its_own.then_some(past.stamped_at)
    }

    /// True if it reads a stream.
    pub(in super::super) fn is_attached(&self) -> bool {
        self.reader.is_some()
    }

    /// The time a command deleted a record or a past, in microseconds of the machine's wall clock,
    /// since the last call.
    pub(in super::super) fn takes_loss(&self) -> Option<u64> {
        lock(&self.state).lost_at.take()
    }

    /// True if it has shown a request of a candidate since then, in microseconds of the wall clock.
    pub(in super::super) fn has_shown_since(&self, at: u64) -> bool {
        lock(&self.state).steps.iter().any(|step| step.at >= at)
    }

    /// Waits until the stream has shown everything that the server has carried out.
    pub(in super::super) fn shows_all(&self, server: &RedisServer) -> Result<(), ServerError> {
        let marks = lock(&self.state).marks;
        server.command(&["ECHO", MARK])?;
        let began = Instant::now();
        while lock(&self.state).marks == marks {
            if began.elapsed() > SHOWN_WITHIN {
                let detail = "the MONITOR stream has ended, or is far behind".to_owned();
                return Err(ServerError::Protocol { port: server.port(), detail });
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// The steps that it has shown.
    pub(in super::super) fn steps(&self) -> Steps {
        let mut state = lock(&self.state);
        let all = std::mem::take(&mut state.steps);
        Steps { all, stamped: Vec::new(), has_gaps: state.has_gaps }
    }
}

/// The record that the server has now. Its mark has the time of the server's clock.
fn read(server: &RedisServer) -> Result<Option<Record>, ServerError> {
    let mut record = Record::default();
    // An election without a tenure has no record.
    let texts: Option<Vec<_>> = fields(server, RECORD, &FIELDS)?.into_iter().collect();
    let Some(texts) = texts else { return Ok(None) };
    for (field, value) in FIELDS.iter().zip(&texts) {
        let wrong = || unexpected(server, format!("{field} is {value:?}"));
        record.set(field, value).ok_or_else(wrong)?;
    }
    Ok(Some(record))
}

/// True if the server has a record of the election now.
pub(in super::super) fn has_a_record(server: &RedisServer) -> Result<bool, ServerError> {
    read(server).map(|record| record.is_some())
}

/// The past that the server has now; when it was stamped is not known.
fn read_past(server: &RedisServer) -> Result<Past, ServerError> {
    let names = ["identity", "stamp", "watched", "longest"];
    let mut past = Past::default();
    for (field, value) in names.iter().zip(fields(server, PAST, &names)?) {
        if let Some(value) = value {
            past.set(field, &value);
        }
    }
    Ok(past)
}

/// Fields of a hash; `None` for one that is missing.
fn fields(
    server: &RedisServer,
    hash: &str,
    names: &[&str],
) -> Result<Vec<Option<String>>, ServerError> {
    let command = [&["HMGET", hash], names].concat();
    let reply = server.command(&command)?;
    let Reply::Array(values) = &reply else {
        return Err(unexpected(server, format!("{reply:?} is no record")));
    };
    let text = |value: &Reply| match value {
        Reply::BulkString(text) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    Ok(values.iter().map(text).collect())
}

fn unexpected(server: &RedisServer, detail: String) -> ServerError {
    ServerError::Protocol { port: server.port(), detail }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
