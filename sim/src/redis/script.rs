//! EVAL, EVALSHA and SCRIPT: the cache of compiled scripts in front of the Lua machine.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use mlua::Function;
use sha1_smol::Sha1;

use super::command::{Answer, is};
use super::keyspace::integer;
use super::lua::{Machine, Run};
use super::refusal::Refusal;
use super::reply::Reply;
use super::server::Server;
use super::session::SessionKey;

/// The commands that need the Lua machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptCommand {
    Eval,
    EvalSha,
    Load,
    Exists,
    Flush,
}

pub(super) struct Scripts {
    machine: Machine,
    /// By the lower-case SHA-1 of the text.
    cache: RefCell<BTreeMap<String, Function>>,
}

impl Scripts {
    pub(super) fn new(server: Rc<RefCell<Server>>) -> Self {
        Self { machine: Machine::new(server), cache: RefCell::default() }
    }

    pub(super) fn flush(&self) {
        self.cache.borrow_mut().clear();
    }

    /// Executes a command whose arity was checked.
    pub(super) fn run(
        &self,
        command: ScriptCommand,
        session: SessionKey,
        args: &[Bytes],
        now: u64,
    ) -> Answer {
        match command {
            ScriptCommand::Eval => {
                let (keys, values) = split_keys(args)?;
                let (sha, function) = self.load(&args[1])?;
                Ok(self.machine.run(&function, keys, values, Run { sha, session, now }))
            }
            ScriptCommand::EvalSha => {
                let sha = String::from_utf8_lossy(&args[1]).to_ascii_lowercase();
                if sha.len() != 40 {
                    return Err(Refusal::NoScript);
                }
                let (keys, values) = split_keys(args)?;
                let function = self.cache.borrow().get(&sha).cloned().ok_or(Refusal::NoScript)?;
                Ok(self.machine.run(&function, keys, values, Run { sha, session, now }))
            }
            ScriptCommand::Load => {
                let (sha, _) = self.load(&args[2])?;
                Ok(Reply::Bulk(sha.into()))
            }
            ScriptCommand::Exists => {
                let cache = self.cache.borrow();
                let known =
                    |sha| cache.contains_key(&String::from_utf8_lossy(sha).to_ascii_lowercase());
                Ok(Reply::Array(
                    args[2..].iter().map(|sha| Reply::Integer(known(sha).into())).collect(),
                ))
            }
            ScriptCommand::Flush => match &args[2..] {
                [] => Ok(self.forget()),
                [option] if is(option, "sync") || is(option, "async") => Ok(self.forget()),
                _ => Err(Refusal::ScriptFlush),
            },
        }
    }

    fn forget(&self) -> Reply {
        self.flush();
        Reply::ok()
    }

    /// The compiled script, out of the cache if it is there.
    fn load(&self, text: &[u8]) -> Result<(String, Function), Refusal> {
        let sha = Sha1::from(text).digest().to_string();
        if let Some(function) = self.cache.borrow().get(&sha) {
            return Ok((sha, function.clone()));
        }
        let function = self.machine.compile(text).map_err(Refusal::Compile)?;
        self.cache.borrow_mut().insert(sha.clone(), function.clone());
        Ok((sha, function))
    }
}

/// Splits what follows the script into KEYS and ARGV.
fn split_keys(args: &[Bytes]) -> Result<(&[Bytes], &[Bytes]), Refusal> {
    let count = integer(&args[2]).ok_or(Refusal::NotInteger)?;
    let count = usize::try_from(count).map_err(|_| Refusal::NegativeKeys)?;
    args[3..].split_at_checked(count).ok_or(Refusal::TooManyKeys)
}
