//! Errors in scripts: how they are raised, their value inside the script, and their text for the
//! client.

use bytes::{BufMut, Bytes, BytesMut};
use mlua::{Lua, LuaString, Value};

use super::convert::bytes;

/// An error that a Rust function raises in a script, where Redis raises a table `{err = text}`.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", String::from_utf8_lossy(.0))]
pub(super) struct Raised(pub(super) Bytes);

impl From<Raised> for mlua::Error {
    fn from(raised: Raised) -> Self {
        Self::external(raised)
    }
}

/// The text of an error value; None if it is not one of Redis's own and lacks a code.
fn own_text(error: &Value) -> Option<Bytes> {
    match error {
        Value::Error(error) => {
            let raised = error.chain().find_map(|cause| cause.downcast_ref::<Raised>());
            raised.map(|Raised(text)| text.clone())
        }
        Value::Table(table) => {
            table.raw_get::<Option<LuaString>>("err").ok().flatten().map(|text| bytes(&text))
        }
        _ => None,
    }
}

fn any_text(error: &Value) -> Bytes {
    match error {
        Value::String(text) => bytes(text),
        other => other.to_string().unwrap_or_else(|failure| failure.to_string()).into(),
    }
}

/// The value that `pcall` returns after `false`.
pub(super) fn message_of(lua: &Lua, error: &Value) -> mlua::Result<Value> {
    match error {
        Value::Error(_) => {
            lua.create_string(own_text(error).unwrap_or_else(|| any_text(error))).map(Value::String)
        }
        Value::Table(table) => table.raw_get("err"),
        other => Ok(other.clone()),
    }
}

/// The text that the client gets when a script fails: the error, the script, and the line. Must be
/// called by `xpcall` itself, while the stack of the failure still exists.
pub(super) fn explain(lua: &Lua, error: &Value, sha: &str) -> Bytes {
    let mut message = BytesMut::new();
    if let Some(text) = own_text(error) {
        message.put(text);
    } else {
        message.put_slice(b"ERR ");
        message.put(any_text(error));
    }
    let place =
        place(lua).map(|(source, line)| format!(", on {source}:{line}")).unwrap_or_default();
    message.put_slice(format!(" script: {sha}{place}.").as_bytes());
    message.freeze()
}

/// The innermost function of the script. Level 0 is the handler; between it and the script are the
/// function that raised the error and the wrappers of the prelude.
fn place(lua: &Lua) -> Option<(String, usize)> {
    for level in 1.. {
        let seen = lua.inspect_stack(level, |frame| {
            let source = frame.source();
            let in_script = source.what != "C" && source.source.as_deref() != Some("=prelude");
            in_script.then(|| Some((source.source?.into_owned(), frame.current_line()?)))
        })?;
        if let Some(place) = seen {
            return place;
        }
    }
    None
}
