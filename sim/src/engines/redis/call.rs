//! The inputs of a command, and its results.

use bytes::Bytes;

use super::Role;
use super::refusal::Refusal;
use super::reply::Reply;
use super::server::Server;
use super::session::SessionKey;

/// One command being executed.
pub(super) struct Call<'a> {
    pub(super) server: &'a mut Server,
    pub(super) session: SessionKey,
    /// The name and its arguments, as many as the command's arity allows.
    pub(super) args: &'a [Bytes],
    /// The server's wall clock in unix microseconds; within a script, at the script's start.
    pub(super) now: u64,
}

pub(super) type Answer = Result<Reply, Refusal>;

/// The commands that need the Lua machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptCommand {
    Eval,
    EvalSha,
    Load,
    Exists,
    Flush,
}

pub(super) fn refuse_on_replica(server: &Server) -> Result<(), Refusal> {
    match server.settings.role {
        Role::Master => Ok(()),
        Role::Replica => Err(Refusal::ReadOnly),
    }
}

/// A replica accepts all writes of its master, also without memory.
pub(super) fn refuse_without_memory(server: &Server) -> Result<(), Refusal> {
    match server.settings.role {
        Role::Master if server.settings.full => Err(Refusal::OutOfMemory),
        Role::Master | Role::Replica => Ok(()),
    }
}

/// True if a client's word is this one, in any case.
pub(super) fn is(word: &[u8], name: &str) -> bool {
    word.eq_ignore_ascii_case(name.as_bytes())
}
