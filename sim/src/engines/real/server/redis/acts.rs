//! Acts of an operator on a Redis server that runs on.

use tenure_servers::{RedisServer, Reply, ServerError};

use crate::engines::real::clock::{TrueTime, WallClock};
use crate::engines::real::login;
use crate::engines::real::server::certificates::{Certificates, Shown};
use crate::engines::real::server::orders::Done;
use crate::engines::real::steps::redis::Monitor;
use crate::plan::Act;

/// A limit that any server has reached, and none.
const FULL: &str = "1";
pub(in super::super) const UNLIMITED: &str = "0";

/// The acts that have begun.
#[derive(Debug, Default)]
pub(in super::super) struct Acts {
    /// The process whose memory is full, and how many requests it had refused before.
    full: Option<(u32, u64)>,
    certificates: Option<Certificates>,
}

impl Acts {
    pub(super) fn with(certificates: Option<Certificates>) -> Self {
        Self { full: None, certificates }
    }

    pub(in super::super) fn begins(
        &mut self,
        act: Act,
        server: &RedisServer,
        monitor: &Monitor,
    ) -> Result<Done, ServerError> {
        match act {
            Act::Disconnect => disconnects(server).map(Done::now),
            Act::FlushScripts => {
                let known = number(server, "memory", "number_of_cached_scripts:")?;
                accepted(server, &["SCRIPT", "FLUSH"])?;
                Ok(Done::now(known > 0))
            }
            Act::FlushData => flushes(server, monitor),
            Act::FillMemory => {
                let refused = refused(server)?;
                self.full = server.pid().map(|pid| (pid, refused));
                accepted(server, &["CONFIG", "SET", "maxmemory", FULL])?;
                Ok(Done::default())
            }
            Act::RotatePassword => {
                has_password(server, login::ANOTHER)?;
                disconnects(server)?;
                // Candidates report whether they are refused.
                Ok(Done::default())
            }
            Act::ExpireCertificate => {
                self.shows(server, Shown::Expired)?;
                disconnects(server)?;
                // Candidates report whether they refuse it.
                Ok(Done::default())
            }
            // Refused before the run, or carried out by a cluster.
            Act::LockRow
            | Act::LockTable
            | Act::Pooler
            | Act::DeleteLog
            | Act::KillMember
            | Act::PauseRaftLeader
            | Act::MoveRaftLeader
            | Act::DisconnectLeader
            | Act::FillDisk
            | Act::RevokeRights => Ok(Done::default()),
            // They concern two servers.
            Act::SplitBrain | Act::MoveSlot => Ok(Done::default()),
        }
    }

    /// Returns whether the act has had an effect at that server.
    pub(in super::super) fn ends(
        &mut self,
        act: Act,
        server: &RedisServer,
    ) -> Result<bool, ServerError> {
        match act {
            Act::FillMemory => {}
            // Candidates report whether they were refused.
            Act::RotatePassword => {
                has_password(server, login::PASSWORD)?;
                return Ok(false);
            }
            Act::ExpireCertificate => {
                self.shows(server, Shown::Valid)?;
                return Ok(false);
            }
            _ => return Ok(false),
        }
        accepted(server, &["CONFIG", "SET", "maxmemory", UNLIMITED])?;
        // A process that was started meanwhile has no limit.
        let Some((_, before)) = self.full.filter(|(pid, _)| server.pid() == Some(*pid)) else {
            return Ok(false);
        };
        self.full = None;
        Ok(refused(server)? > before)
    }

    /// New connections are shown that certificate.
    fn shows(&self, server: &RedisServer, shown: Shown) -> Result<(), ServerError> {
        let Some(certificates) = &self.certificates else { return Ok(()) };
        certificates.writes(shown)?;
        // It reads the file again when it is told its name.
        let file = certificates.file().display().to_string();
        accepted(server, &["CONFIG", "SET", "tls-cert-file", &file])
    }

    /// The server is about to start again, and reads a valid certificate then.
    pub(super) fn renews(&self) -> Result<(), ServerError> {
        self.certificates.as_ref().map_or(Ok(()), |made| made.writes(Shown::Valid))
    }
}

/// The arguments of a server that also listens for encrypted connections.
pub(super) fn encrypts(certificates: Option<&Certificates>) -> Vec<String> {
    let Some(certificates) = certificates else { return Vec::new() };
    let [file, key] = [certificates.file(), certificates.key_file()];
    let (file, key) = (file.display().to_string(), key.display().to_string());
    ["--tls-cert-file", &file, "--tls-key-file", &key, "--tls-auth-clients", "no"]
        .map(str::to_owned)
        .into()
}

/// Lets candidates in, with their own password.
pub(super) fn lets_in(server: &RedisServer) -> Result<(), ServerError> {
    accepted(server, &["ACL", "SETUSER", login::USER, "on", "~*", "&*", "+@all"])?;
    has_password(server, login::PASSWORD)
}

/// Candidates have that password from now on.
fn has_password(server: &RedisServer, password: &str) -> Result<(), ServerError> {
    let password = format!(">{password}");
    accepted(server, &["ACL", "SETUSER", login::USER, "resetpass", &password])
}

/// Ends the connections of candidates: all but those of the observer, of replicas and of sentinels.
/// Returns whether there were any.
fn disconnects(server: &RedisServer) -> Result<bool, ServerError> {
    let clients = text(server, &["CLIENT", "LIST"])?;
    let mut ended = false;
    for client in clients.lines().filter(|client| is_a_candidate(client)) {
        let Some(id) = field(client, "id") else { continue };
        // It may have gone meanwhile.
        ended |= server.command(&["CLIENT", "KILL", "ID", id])? == Reply::Integer(1);
    }
    Ok(ended)
}

fn is_a_candidate(client: &str) -> bool {
    let [name, flags, command] = ["name", "flags", "cmd"].map(|of| field(client, of).unwrap_or(""));
    // O: an observer; M and S: a primary or a replica.
    !flags.contains(['O', 'M', 'S'])
        && !name.starts_with("sentinel-")
        && !command.starts_with("client")
}

/// A field of a line of `CLIENT LIST`.
fn field<'a>(client: &'a str, name: &str) -> Option<&'a str> {
    client.split(' ').find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
}

/// Deletes all data. A record was lost when the server did that, by its own clock.
fn flushes(server: &RedisServer, monitor: &Monitor) -> Result<Done, ServerError> {
    accepted(server, &["FLUSHALL"])?;
    monitor.shows_all(server)?;
    let lost_at = monitor.takes_loss();
    let wall = WallClock::compare(TrueTime::since(0));
    let at = lost_at.map(|at| wall.true_time(at).as_nanos());
    Ok(Done { at, ..Done::now(lost_at.is_some()) })
}

/// The number of requests refused for lack of memory.
fn refused(server: &RedisServer) -> Result<u64, ServerError> {
    number(server, "errorstats", "errorstat_OOM:count=")
}

/// A number in a section of `INFO`; 0 if it is not there.
pub(in super::super) fn number(
    server: &RedisServer,
    section: &str,
    name: &str,
) -> Result<u64, ServerError> {
    let info = text(server, &["INFO", section])?;
    let number = info.lines().find_map(|line| line.trim_end().strip_prefix(name)?.parse().ok());
    Ok(number.unwrap_or(0))
}

pub(in super::super) fn text(
    server: &RedisServer,
    command: &[&str],
) -> Result<String, ServerError> {
    match server.command(command)? {
        Reply::BulkString(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        other => Err(unexpected(server, command, &other)),
    }
}

pub(in super::super) fn accepted(
    server: &RedisServer,
    command: &[&str],
) -> Result<(), ServerError> {
    match server.command(command)? {
        Reply::SimpleString(_) => Ok(()),
        other => Err(unexpected(server, command, &other)),
    }
}

pub(in super::super) fn unexpected(
    server: &RedisServer,
    command: &[&str],
    reply: &Reply,
) -> ServerError {
    let detail = format!("{reply:?} is the answer to {command:?}");
    ServerError::Protocol { port: server.port(), detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_and_servers_are_no_candidates() {
        let is = |name: &str, flags: &str, command: &str| {
            is_a_candidate(&format!("id=9 addr=[::1]:1 name={name} flags={flags} cmd={command}"))
        };
        assert!(is("", "N", "evalsha") && is("", "P", "subscribe") && is("a", "N", "NULL"));
        for (name, flags, command) in [
            ("", "O", "monitor"),
            ("", "S", "replconf"),
            ("", "N", "client|list"),
            ("sentinel-ab-cmd", "N", "ping"),
            ("sentinel-ab-pubsub", "P", "subscribe"),
        ] {
            assert!(!is(name, flags, command), "{name} {flags} {command}");
        }
    }
}
