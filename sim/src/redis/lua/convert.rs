//! Values between Lua and Redis, by Redis's rules.

use bytes::Bytes;
use mlua::{Lua, LuaString, Table, Value};

use crate::redis::refusal::Refusal;
use crate::redis::reply::Reply;

/// Deeper tables than this a script cannot answer; Redis's limit is that of Lua's stack.
const DEEPEST: usize = 1000;

pub(super) fn bytes(text: &LuaString) -> Bytes {
    Bytes::copy_from_slice(&text.as_bytes())
}

/// A reply as a script sees it. Errors become `{err = text}`; whether to raise them is the caller's
/// choice. Scripts speak RESP2: maps are flat, and null is false.
pub(super) fn to_lua(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    let tagged = |tag: &str, text: &Bytes| {
        let table = lua.create_table_with_capacity(0, 1)?;
        table.raw_set(tag, lua.create_string(text)?)?;
        Ok(Value::Table(table))
    };
    match reply {
        Reply::Status(text) => tagged("ok", text),
        Reply::Error(text) => tagged("err", text),
        // Lua's numbers are floats: beyond 2^53 they lose digits, in Redis too.
        #[allow(clippy::cast_precision_loss)]
        Reply::Integer(number) => Ok(Value::Number(*number as f64)),
        Reply::Bulk(text) | Reply::Verbatim(text) => lua.create_string(text).map(Value::String),
        Reply::Null => Ok(Value::Boolean(false)),
        Reply::Array(items) | Reply::Push(items) | Reply::Several(items) => {
            list(lua, items.len(), items.iter())
        }
        Reply::Map(pairs) => {
            list(lua, pairs.len() * 2, pairs.iter().flat_map(|(key, value)| [key, value]))
        }
    }
}

fn list<'a>(
    lua: &Lua,
    length: usize,
    items: impl Iterator<Item = &'a Reply>,
) -> mlua::Result<Value> {
    let table = lua.create_table_with_capacity(length, 0)?;
    for item in items {
        table.raw_push(to_lua(lua, item)?)?;
    }
    Ok(Value::Table(table))
}

/// What a script returned, as a reply.
pub(super) fn to_reply(value: &Value) -> mlua::Result<Reply> {
    nested_to_reply(value, 0)
}

fn nested_to_reply(value: &Value, depth: usize) -> mlua::Result<Reply> {
    match value {
        Value::String(text) => Ok(Reply::Bulk(bytes(text))),
        Value::Integer(number) => Ok(Reply::Integer(*number)),
        Value::Number(number) => Ok(Reply::Integer(truncated(*number))),
        Value::Boolean(true) => Ok(Reply::Integer(1)),
        Value::Table(table) => table_to_reply(table, depth),
        // nil, false, functions
        _ => Ok(Reply::Null),
    }
}

fn table_to_reply(table: &Table, depth: usize) -> mlua::Result<Reply> {
    if depth >= DEEPEST {
        return Ok(Reply::Error(Bytes::from_static(b"ERR reached lua stack limit")));
    }
    if let Value::String(text) = table.raw_get("err")? {
        return Ok(Reply::Error(bytes(&text)));
    }
    if let Value::String(text) = table.raw_get("ok")? {
        return Ok(Reply::Status(bytes(&text)));
    }
    let mut items = Vec::new();
    loop {
        match table.raw_get(items.len() + 1)? {
            Value::Nil => return Ok(Reply::Array(items)),
            item => items.push(nested_to_reply(&item, depth + 1)?),
        }
    }
}

/// A C cast on x86-64: towards zero, and the least number for all that do not fit.
#[allow(clippy::cast_possible_truncation)]
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// The arguments of redis.call: strings, and numbers as C's `%.17g` writes them, which is what
/// `format` is for.
pub(super) fn to_args(
    values: &[Value],
    format: &mlua::Function,
) -> mlua::Result<Result<Vec<Bytes>, Refusal>> {
    /// The least number that `%.17g` writes with an exponent.
    const EXPONENT_FROM: i64 = 100_000_000_000_000_000;
    if values.is_empty() {
        return Ok(Err(Refusal::NoArgument));
    }
    let mut args = Vec::with_capacity(values.len());
    for value in values {
        args.push(match value {
            Value::String(text) => bytes(text),
            Value::Integer(number) if number.abs() < EXPONENT_FROM => number.to_string().into(),
            Value::Integer(_) | Value::Number(_) => {
                bytes(&format.call::<LuaString>(("%.17g", value))?)
            }
            _ => return Ok(Err(Refusal::ArgumentType)),
        });
    }
    Ok(Ok(args))
}
