//! Values between Lua and Redis, by Redis's rules.

use bytes::Bytes;
use mlua::{Lua, LuaString, Table, Value};

use crate::engines::redis::refusal::Refusal;
use crate::engines::redis::reply::Reply;

/// The deepest table that a script can return; Redis's limit is that of Lua's stack.
const DEEPEST: usize = 1000;

pub(super) fn bytes(text: &LuaString) -> Bytes {
    Bytes::copy_from_slice(&text.as_bytes())
}

/// A reply as a script sees it. Errors become `{err = text}`; the caller decides whether to raise
/// them. Scripts use RESP2: maps are flat, and null is false.
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

/// A script's return value as a reply. Tables within tables are walked with an explicit stack: a
/// thread's own stack does not suffice for the deepest ones in a build without optimisation.
pub(super) fn to_reply(value: &Value) -> mlua::Result<Reply> {
    let mut open: Vec<(Table, Vec<Reply>)> = Vec::new();
    let mut next = value.clone();
    loop {
        let mut done = match next {
            Value::Table(table) => {
                let reply = unless_list(&table, open.len())?;
                if reply.is_none() {
                    open.push((table, Vec::new()));
                }
                reply
            }
            Value::String(text) => Some(Reply::Bulk(bytes(&text))),
            Value::Integer(number) => Some(Reply::Integer(number)),
            Value::Number(number) => Some(Reply::Integer(truncated(number))),
            Value::Boolean(true) => Some(Reply::Integer(1)),
            // nil, false, functions
            _ => Some(Reply::Null),
        };
        next = loop {
            let Some((table, items)) = open.last_mut() else {
                return Ok(done.unwrap_or(Reply::Null));
            };
            items.extend(done);
            match table.raw_get(items.len() + 1)? {
                Value::Nil => done = open.pop().map(|(_, items)| Reply::Array(items)),
                item => break item,
            }
        };
    }
}

/// The reply to a table that is not a list, or a list that is too deep.
fn unless_list(table: &Table, depth: usize) -> mlua::Result<Option<Reply>> {
    if depth >= DEEPEST {
        return Ok(Some(Reply::Error(Bytes::from_static(b"ERR reached lua stack limit"))));
    }
    if let Value::String(text) = table.raw_get("err")? {
        return Ok(Some(Reply::Error(bytes(&text))));
    }
    if let Value::String(text) = table.raw_get("ok")? {
        return Ok(Some(Reply::Status(bytes(&text))));
    }
    Ok(None)
}

/// A C cast on x86-64: towards zero, and the least number for all numbers that do not fit.
#[allow(clippy::cast_possible_truncation)]
fn truncated(number: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0; // 2^63
    if (-LIMIT..LIMIT).contains(&number) { number as i64 } else { i64::MIN }
}

/// The arguments of redis.call: strings, and numbers as C's `%.17g` writes them, for which `format`
/// is needed.
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
