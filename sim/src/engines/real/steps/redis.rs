//! The steps of a Redis server, from its MONITOR stream: each script with its arguments, and the commands that the
//! script ran.
//!
//! The stream has no replies. A script that changes something writes it down; one that writes nothing has refused, and
//! which refusal it was follows from the record before. A refusal that depends on the microsecond in which a lease ends
//! is left out: its script has read the clock a moment later than the stream's time.

mod line;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use sha1_smol::Sha1;
use tenure::store::redis::SCRIPTS;
use tenure_servers::{RedisServer, Reply, ServerError};

use super::{History, Record, Step, Steps};
use crate::trace::{Answer, Asked};
use line::Line;

pub(in super::super) const RECORD: &str = "{tenure}:leader:job";
const HISTORY: &str = "{tenure}:history";
const FIELDS: [&str; 6] = ["token", "holder", "lease_end", "ttl", "quarantine", "released"];
/// The least time, in microseconds, between a reading of the clock and the end of a lease that it is compared with.
const CLEAR: u64 = 1_000;
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

    /// Begins to read the stream of a server that has just started: no candidate can reach it before this returns.
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

    /// The killed server's data is there again, and will be kept or lost. Its last change may have been answered, and not
    /// shown: the record tells. Returns whether a record is lost.
    pub(in super::super) fn is_replaced(
        &mut self,
        server: &RedisServer,
        killed_at: u64,
        keeps_data: bool,
    ) -> Result<bool, ServerError> {
        let record = read(server)?;
        let mut state = lock(&self.state);
        state.recovers(record, killed_at);
        state.server += 1;
        if keeps_data {
            return Ok(false);
        }
        (state.history, state.identity) = (History::default(), None);
        Ok(state.kept.take().is_some())
    }

    /// Sets the number of the server in the steps to come.
    pub(in super::super) fn has_number(&mut self, number: u32) {
        lock(&self.state).server = number;
    }

    /// Takes over the record and the history of a server that no candidate can reach yet.
    pub(in super::super) fn adopts(&mut self, server: &RedisServer) -> Result<(), ServerError> {
        let (record, history) = (read(server)?, read_history(server)?);
        let identity = fields(server, HISTORY, &["identity"])?.and_then(|mut values| values.pop());
        let mut state = lock(&self.state);
        (state.kept, state.history, state.identity) = (record, history, identity);
        Ok(())
    }

    /// Takes over the record and the history from a server that has handed both on to this one, as its observer knows
    /// them: no candidate can reach either server.
    pub(in super::super) fn takes_over(&mut self, from: &Self) {
        let mut before = lock(&from.state);
        let (kept, history) = (before.kept.take(), std::mem::take(&mut before.history));
        let identity = before.identity.take();
        drop(before);
        let mut state = lock(&self.state);
        (state.kept, state.history, state.identity) = (kept, history, identity);
    }

    /// Since when all leases are known, in microseconds of the wall clock, if the server of that identity has begun the
    /// history.
    pub(in super::super) fn known_since(&self, identity: &str) -> Option<u64> {
        let state = lock(&self.state);
        (state.identity.as_deref() == Some(identity)).then_some(state.history.known_since)
    }

    /// Whether it reads a stream.
    pub(in super::super) fn is_attached(&self) -> bool {
        self.reader.is_some()
    }

    /// When a command has deleted a record, in microseconds of the wall clock, since this was last asked.
    pub(in super::super) fn takes_loss(&self) -> Option<u64> {
        lock(&self.state).lost_at.take()
    }

    /// Whether it has shown a request of a candidate since then, in microseconds of the wall clock.
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
        Steps { all: std::mem::take(&mut state.steps), has_gaps: state.has_gaps }
    }
}

/// The record that the server has now.
fn read(server: &RedisServer) -> Result<Option<Record>, ServerError> {
    let mut record = Record::default();
    // An election without a tenure has no record.
    let Some(texts) = fields(server, RECORD, &FIELDS)? else { return Ok(None) };
    for (field, value) in FIELDS.iter().zip(&texts) {
        let wrong = || unexpected(server, format!("{field} is {value:?}"));
        record.set(field, value).ok_or_else(wrong)?;
    }
    Ok(Some(record))
}

/// The history that the server has now.
fn read_history(server: &RedisServer) -> Result<History, ServerError> {
    let names = ["known_since", "longest_ttl"];
    let mut history = History::default();
    for (field, value) in names.iter().zip(fields(server, HISTORY, &names)?.unwrap_or_default()) {
        history.set(field, &value);
    }
    Ok(history)
}

/// Fields of a hash; `None` if one is missing.
fn fields(
    server: &RedisServer,
    hash: &str,
    names: &[&str],
) -> Result<Option<Vec<String>>, ServerError> {
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

impl History {
    /// Sets a field as the scripts write it. Others are of no interest.
    fn set(&mut self, field: &str, value: &str) {
        match (field, value.parse()) {
            ("known_since", Ok(micros)) => self.known_since = micros,
            ("longest_ttl", Ok(micros)) => self.longest_ttl = micros,
            _ => {}
        }
    }
}

impl Record {
    /// Sets a field as the scripts write it; `None` if that is not a value of such a field.
    fn set(&mut self, field: &str, value: &str) -> Option<()> {
        match field {
            "token" => self.token = value.parse().ok()?,
            "holder" => self.holder = u128::from_str_radix(value, 16).ok()?,
            "lease_end" => self.lease_end = value.parse().ok()?,
            "ttl" => self.ttl = value.parse().ok()?,
            "quarantine" => self.quarantine = value.parse().ok()?,
            "released" => self.released = value == "1",
            _ => {}
        }
        Some(())
    }
}

/// What the stream has shown so far.
#[derive(Debug, Default)]
struct State {
    /// The name of each script, by its digest.
    scripts: BTreeMap<String, &'static str>,
    kept: Option<Record>,
    history: History,
    /// The server that has begun the history, as the scripts name it.
    identity: Option<String>,
    server: u32,
    script: Option<Script>,
    steps: Vec<Step>,
    /// Whether the answer of some script can't be known.
    has_gaps: bool,
    /// The number of marks that it has shown.
    marks: u32,
    /// When a command has deleted the record.
    lost_at: Option<u64>,
}

/// A script that runs, and what it has written so far.
#[derive(Debug)]
struct Script {
    at: u64,
    holder: u128,
    request: Asked,
    ttl: u64,
    quarantine: u64,
    /// Whether it has read the clock, as each script does first: a script that the server does not know does nothing.
    runs: bool,
    /// The record with its changes, if it has changed it.
    wrote: Option<Record>,
}

impl State {
    fn of(scripts: BTreeMap<String, &'static str>) -> Self {
        Self { scripts, ..Self::default() }
    }

    /// A server that was killed then has that record.
    fn recovers(&mut self, record: Option<Record>, killed_at: u64) {
        let before = self.kept;
        let Some(after) = record.filter(|after| before != Some(*after)) else { return };
        self.kept = record;
        let Some((now, request, answer)) = Record::changed(before, after, self.history, killed_at)
        else {
            return;
        };
        let (at, holder, server) = (now, after.holder, self.server);
        self.steps.push(Step { at, now, holder, request, answer, before, after: record, server });
    }

    fn shown(&mut self, line: &str) {
        let Some(Line { at, in_script, words }) = Line::parse(line) else { return };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        if in_script {
            self.ran(&words);
            return;
        }
        self.script_ended();
        match words[..] {
            ["ECHO", MARK] => self.marks += 1,
            ["FLUSHALL"] => self.flushed(at),
            ["EVALSHA", sha, keys, ref rest @ ..] => self.script = self.called(at, sha, keys, rest),
            _ => {}
        }
    }

    /// All data is deleted. What the server knows from now on is as little as another one would know.
    fn flushed(&mut self, at: u64) {
        (self.history, self.identity) = (History::default(), None);
        if self.kept.take().is_some() {
            self.server += 1;
            self.lost_at = Some(at);
        }
    }

    /// A script is called, for the one election of a run.
    fn called(&self, at: u64, sha: &str, keys: &str, rest: &[&str]) -> Option<Script> {
        let name = *self.scripts.get(sha)?;
        let (keys, arguments) = rest.split_at_checked(keys.parse().ok()?)?;
        if keys.first() != Some(&RECORD) {
            return None;
        }
        let number = |place: usize| arguments.get(place)?.parse::<u64>().ok();
        let holder = u128::from_str_radix(arguments.first()?, 16).ok()?;
        let token = number(1)?;
        let (request, ttl, quarantine) = match name {
            "acquire" => (Asked::Acquire { seen: token }, number(2)?, number(3)?),
            "renew" | "renew_and_compare" => (Asked::Renew { token }, number(2)?, 0),
            "release" => (Asked::Release { token }, 0, 0),
            _ => return None,
        };
        Some(Script { at, holder, request, ttl, quarantine, runs: false, wrote: None })
    }

    /// A script ran a command.
    fn ran(&mut self, words: &[&str]) {
        if self.script.is_none() {
            return;
        }
        match *words {
            ["TIME"] => self.script_changed(|script| script.runs = true),
            ["HSET", RECORD, ref fields @ ..] => {
                let record = self.written(fields);
                self.script_changed(|script| script.wrote = Some(record));
            }
            ["HSET", _, ref fields @ ..] => self.history_written(fields),
            _ => {}
        }
    }

    fn script_changed(&mut self, change: impl FnOnce(&mut Script)) {
        if let Some(script) = &mut self.script {
            change(script);
        }
    }

    /// The record with these changes.
    fn written(&self, fields: &[&str]) -> Record {
        let mut record = self.kept.unwrap_or_default();
        for field in fields.chunks_exact(2) {
            record.set(field[0], field[1]);
        }
        record
    }

    fn history_written(&mut self, fields: &[&str]) {
        for field in fields.chunks_exact(2) {
            self.history.set(field[0], field[1]);
            if field[0] == "identity" {
                self.identity = Some(field[1].to_owned());
            }
        }
    }

    /// The script has run to its end: everything that it wrote is known.
    fn script_ended(&mut self) {
        let Some(script) = self.script.take().filter(|script| script.runs) else { return };
        let before = self.kept;
        let Some((now, answer)) = script.answer(before, self.history) else {
            self.has_gaps = true;
            return;
        };
        if script.wrote.is_some() {
            self.kept = script.wrote;
        }
        let Script { at, holder, request, .. } = script;
        let (after, server) = (self.kept, self.server);
        self.steps.push(Step { at, now, holder, request, answer, before, after, server });
    }
}

impl Script {
    /// The reading of the clock by which it judged, and its answer; `None` if that can't be known.
    fn answer(&self, before: Option<Record>, history: History) -> Option<(u64, Answer)> {
        // A lease lasts a TTL from the reading on, unless its end had to stay where it was.
        let read = |record: &Record| record.lease_end.saturating_sub(record.ttl).max(self.at);
        match (self.request, &self.wrote) {
            (Asked::Acquire { .. }, Some(record)) => {
                let now = read(record);
                let waits = history.waits(self.quarantine, now);
                Some((now, Answer::Granted { token: record.token, waits }))
            }
            (Asked::Renew { .. }, Some(record)) => Some((read(record), Answer::Renewed)),
            (Asked::Release { .. }, Some(_)) => Some((self.at, Answer::Released)),
            (Asked::Acquire { seen }, None) => self.refused(before?, seen),
            (Asked::Renew { .. }, None) => {
                self.is_clear_of(before).then_some((self.at, Answer::Superseded))
            }
            (Asked::Release { .. }, None) => {
                self.is_clear_of(before).then_some((self.at, Answer::NotHeld))
            }
        }
    }

    /// Whether the script can't have seen another side of the lease's end than the stream's time shows.
    fn is_clear_of(&self, before: Option<Record>) -> bool {
        before.is_none_or(|before| self.at.abs_diff(before.lease_end) > CLEAR)
    }

    /// Why an acquire was refused, as its script decides.
    fn refused(&self, before: Record, seen: u64) -> Option<(u64, Answer)> {
        let now = self.at;
        let asks_until = before.lease_end + before.ttl.max(before.quarantine);
        if !self.is_clear_of(Some(before)) || now.abs_diff(asks_until) <= CLEAR {
            return None;
        }
        // Its own lease is granted again, or there is no memory for that: the stream does not show an error.
        if before.is_live(now) && before.holder == self.holder {
            return None;
        }
        let contradicts = self.quarantine < before.ttl || before.quarantine < self.ttl;
        let answer = if now < asks_until && contradicts {
            Answer::Refused
        } else if before.is_live(now) {
            Answer::Held
        } else if seen < before.token {
            Answer::Stale
        } else {
            return None;
        };
        Some((now, answer))
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
