//! EVAL, EVALSHA and SCRIPT: the cache of compiled scripts in front of the Lua machine.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use mlua::Function;
use sha1_smol::Sha1;

use super::call::{Answer, ScriptCommand, is, refuse_on_replica, refuse_without_memory};
use super::header::Header;
use super::keyspace::integer;
use super::lua::{Machine, Run};
use super::refusal::Refusal;
use super::reply::Reply;
use super::server::Server;
use super::session::SessionKey;

pub(super) struct Scripts {
    server: Rc<RefCell<Server>>,
    machine: Machine,
    /// By the lower-case SHA-1 of the text.
    cache: RefCell<BTreeMap<String, Script>>,
}

#[derive(Clone)]
struct Script {
    header: Header,
    function: Function,
}

impl Scripts {
    pub(super) fn new(server: Rc<RefCell<Server>>) -> Self {
        Self {
            server: Rc::clone(&server),
            machine: Machine::new(server),
            cache: RefCell::default(),
        }
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
                let (sha, script) = self.load(&args[1])?;
                self.call(&script, keys, values, Run { sha, session, now, is_exempt: false })
            }
            ScriptCommand::EvalSha => {
                let sha = String::from_utf8_lossy(&args[1]).to_ascii_lowercase();
                if sha.len() != 40 {
                    return Err(Refusal::NoScript);
                }
                let (keys, values) = split_keys(args)?;
                let script = self.cache.borrow().get(&sha).cloned().ok_or(Refusal::NoScript)?;
                self.call(&script, keys, values, Run { sha, session, now, is_exempt: false })
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

    /// Runs a script, unless its first line forbids that now.
    fn call(&self, script: &Script, keys: &[Bytes], values: &[Bytes], mut run: Run) -> Answer {
        if let Header::Writes { is_exempt } = script.header {
            let server = self.server.borrow();
            if !is_exempt {
                refuse_without_memory(&server)?;
            }
            refuse_on_replica(&server)?;
            run.is_exempt = is_exempt;
        }
        Ok(self.machine.run(&script.function, keys, values, run))
    }

    fn forget(&self) -> Reply {
        self.flush();
        Reply::ok()
    }

    /// The compiled script, from the cache if it is there.
    fn load(&self, text: &[u8]) -> Result<(String, Script), Refusal> {
        let sha = Sha1::from(text).digest().to_string();
        if let Some(script) = self.cache.borrow().get(&sha) {
            return Ok((sha, script.clone()));
        }
        let (header, body) = Header::split(text)?;
        let function = self.machine.compile(body).map_err(Refusal::Compile)?;
        let script = Script { header, function };
        self.cache.borrow_mut().insert(sha.clone(), script.clone());
        Ok((sha, script))
    }
}

/// Splits the arguments after the script into KEYS and ARGV.
fn split_keys(args: &[Bytes]) -> Result<(&[Bytes], &[Bytes]), Refusal> {
    let count = integer(&args[2]).ok_or(Refusal::NotInteger)?;
    let count = usize::try_from(count).map_err(|_| Refusal::NegativeKeys)?;
    args[3..].split_at_checked(count).ok_or(Refusal::TooManyKeys)
}
