//! The Lua machine that scripts run in: Lua 5.1 with the library that Redis gives to scripts.
//!
//! One machine serves all scripts of a server. `prelude.lua` removes everything that a script must
//! not use; the rest is deterministic. Missing here, so that a script which uses it fails: cjson,
//! cmsgpack, bit, struct, xpcall, coroutine, load and loadstring, math.random and redis.setresp.

mod convert;
mod library;
mod raised;

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use mlua::chunk::ChunkMode;
use mlua::{Error, Function, Lua, LuaOptions, StdLib, Table, Value};

use super::call::Call;
use super::command::run_from_script;
use super::reply::Reply;
use super::server::Server;
use super::session::SessionKey;

const PRELUDE: &str = include_str!("prelude.lua");

/// One script's execution.
#[derive(Debug, Clone)]
pub(super) struct Run {
    /// The script's name in error messages.
    pub(super) sha: String,
    /// The session of its caller.
    pub(super) session: SessionKey,
    /// The time that all its commands see.
    pub(super) now: u64,
    /// True if it may use memory when the memory is full.
    pub(super) is_exempt: bool,
}

/// The part of the server that the functions of scripts use.
struct Host {
    server: Rc<RefCell<Server>>,
    /// None between scripts.
    run: RefCell<Option<Run>>,
}

pub(super) struct Machine {
    lua: Lua,
    host: Rc<Host>,
    /// The `_G` of scripts: empty, read through, closed to writes.
    environment: Table,
    /// The table behind it.
    globals: Table,
    /// Calls a script and catches its errors.
    guard: Function,
}

impl Machine {
    pub(super) fn new(server: Rc<RefCell<Server>>) -> Self {
        let host = Rc::new(Host { server, run: RefCell::new(None) });
        // A panic is a bug of this crate: if Lua caught it, it would look like a script's error.
        let options = LuaOptions::new().catch_rust_panics(false);
        let built = Lua::new_with(StdLib::STRING | StdLib::TABLE | StdLib::MATH, options)
            .and_then(|lua| Self::build(lua, host));
        built.expect("the Lua machine starts: it depends on nothing but its own source")
    }

    fn build(lua: Lua, host: Rc<Host>) -> mlua::Result<Self> {
        let library = library::build(&lua, &host)?;
        let prelude = lua.load(PRELUDE).set_name("=prelude");
        let (environment, globals, guard) = prelude.call(library)?;
        Ok(Self { lua, host, environment, globals, guard })
    }

    /// Compiles a script, or describes its error.
    pub(super) fn compile(&self, text: &[u8]) -> Result<Function, String> {
        let chunk = self.lua.load(text).set_name("@user_script").set_mode(ChunkMode::Text);
        chunk.set_environment(self.environment.clone()).into_function().map_err(|error| match error
        {
            Error::SyntaxError { message, .. } => message,
            other => other.to_string(),
        })
    }

    /// Runs a compiled script to its end.
    pub(super) fn run(&self, script: &Function, keys: &[Bytes], argv: &[Bytes], run: Run) -> Reply {
        self.host.run.replace(Some(run));
        let outcome = self.run_prepared(script, keys, argv);
        self.host.run.replace(None);
        outcome.unwrap_or_else(|error| Reply::Error(format!("ERR {error}").into()))
    }

    fn run_prepared(
        &self,
        script: &Function,
        keys: &[Bytes],
        argv: &[Bytes],
    ) -> mlua::Result<Reply> {
        self.globals.raw_set("KEYS", self.strings(keys)?)?;
        self.globals.raw_set("ARGV", self.strings(argv)?)?;
        let (completed, result): (bool, Value) = self.guard.call(script)?;
        match result {
            Value::String(message) if !completed => Ok(Reply::Error(convert::bytes(&message))),
            result => convert::to_reply(&result),
        }
    }

    fn strings(&self, items: &[Bytes]) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(items.len(), 0)?;
        for item in items {
            table.raw_push(self.lua.create_string(item)?)?;
        }
        Ok(table)
    }
}

impl Host {
    /// Executes a command for the script that runs.
    fn call(&self, args: &[Bytes]) -> Reply {
        let mut run = self.run.borrow_mut();
        let Some(Run { session, now, is_exempt, .. }) = &mut *run else {
            return Reply::Error(Bytes::from_static(b"ERR no script is running"));
        };
        let mut server = self.server.borrow_mut();
        let mut call = Call { server: &mut server, session: *session, args, now: *now };
        run_from_script(&mut call, is_exempt).unwrap_or_else(Reply::from)
    }
}
