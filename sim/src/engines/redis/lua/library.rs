//! The functions written in Rust: the `redis` table, and the functions that the prelude needs.

use std::rc::Rc;

use bytes::{BufMut, Bytes, BytesMut};
use mlua::{Function, IntoLuaMulti, Lua, LuaString, MultiValue, Table, Value, Variadic};
use sha1_smol::Sha1;

use super::Host;
use super::convert::{bytes, to_args, to_lua};
use super::raised::{Raised, explain, message_of};
use crate::engines::redis::reply::Reply;

/// The prelude's arguments.
pub(super) fn build(lua: &Lua, host: &Rc<Host>) -> mlua::Result<MultiValue> {
    let redis = lua.create_table()?;
    redis.raw_set("call", command(lua, host, Errors::Raise)?)?;
    redis.raw_set("pcall", command(lua, host, Errors::Return)?)?;
    redis.raw_set(
        "error_reply",
        lua.create_function(|lua, args| tagged(lua, &args, "err", error_text))?,
    )?;
    redis.raw_set(
        "status_reply",
        lua.create_function(|lua, args| tagged(lua, &args, "ok", Clone::clone))?,
    )?;
    redis.raw_set("sha1hex", lua.create_function(|lua, args| sha1hex(lua, &args))?)?;
    redis.raw_set("log", lua.create_function(|_, args| log(&args))?)?;
    for (level, name) in
        ["LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING"].into_iter().enumerate()
    {
        redis.raw_set(name, level)?;
    }

    let running = Rc::clone(host);
    let explain = lua.create_function(move |lua, error: Value| {
        let run = running.run.borrow();
        lua.create_string(explain(lua, &error, run.as_ref().map_or("", |run| &run.sha)))
    })?;
    let message_of = lua.create_function(|lua, error: Value| message_of(lua, &error))?;
    (redis, explain, message_of).into_lua_multi(lua)
}

/// The handling of a command's error reply in the script: the difference between call and pcall.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    Raise,
    Return,
}

fn command(lua: &Lua, host: &Rc<Host>, errors: Errors) -> mlua::Result<Function> {
    let host = Rc::clone(host);
    let format: Function = lua.globals().get::<Table>("string")?.get("format")?;
    lua.create_function(move |lua, args: Variadic<Value>| {
        let reply = match to_args(&args, &format)? {
            Ok(args) => host.call(&args),
            Err(refusal) => Reply::from(refusal),
        };
        match reply {
            Reply::Error(text) if errors == Errors::Raise => Err(Raised(text).into()),
            reply => to_lua(lua, &reply),
        }
    })
}

/// `{tag = text}` of the one argument, which must be a string; otherwise an error, returned.
fn tagged(
    lua: &Lua,
    args: &Variadic<Value>,
    tag: &str,
    text: fn(&Bytes) -> Bytes,
) -> mlua::Result<Table> {
    let (tag, text) = match args.as_slice() {
        [Value::String(given)] => (tag, text(&bytes(given))),
        _ => ("err", Bytes::from_static(b"ERR wrong number or type of arguments")),
    };
    let table = lua.create_table()?;
    table.raw_set(tag, lua.create_string(text)?)?;
    Ok(table)
}

/// An error starts with its code, which may be marked by a dash; a single word without a code gets
/// `ERR`.
fn error_text(given: &Bytes) -> Bytes {
    match given.strip_prefix(b"-") {
        Some(marked) => with_code(marked),
        None => with_code(given),
    }
}

fn with_code(text: &[u8]) -> Bytes {
    let mut coded = BytesMut::new();
    if !text.contains(&b' ') {
        coded.put_slice(b"ERR ");
    }
    coded.put_slice(text);
    coded.freeze()
}

fn sha1hex(lua: &Lua, args: &Variadic<Value>) -> mlua::Result<LuaString> {
    let [text] = args.as_slice() else {
        return Err(Raised(Bytes::from_static(b"ERR wrong number of arguments")).into());
    };
    let text = lua.coerce_string(text.clone())?;
    let digest = Sha1::from(text.map(|text| bytes(&text)).unwrap_or_default()).digest().to_string();
    lua.create_string(digest)
}

/// Checks its arguments and writes nothing.
fn log(args: &Variadic<Value>) -> mlua::Result<()> {
    let refusal: &'static [u8] = match args.as_slice() {
        [] | [_] => b"ERR redis.log() requires two arguments or more.",
        [Value::Integer(_) | Value::Number(_), ..] => return Ok(()),
        _ => b"ERR First argument must be a number (log level).",
    };
    Err(Raised(Bytes::from_static(refusal)).into())
}
