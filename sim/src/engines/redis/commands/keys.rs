//! Commands on keys of any kind, and on all keys.

use crate::engines::redis::call::{Answer, Call, is};
use crate::engines::redis::keyspace::Value;
use crate::engines::redis::refusal::Refusal;
use crate::engines::redis::reply::Reply;

pub(in crate::engines::redis) fn del(call: &mut Call<'_>) -> Answer {
    let keyspace = &mut call.server.keyspace;
    Ok(Reply::count(call.args[1..].iter().filter(|key| keyspace.remove(key)).count()))
}

/// A key that occurs twice counts twice.
pub(in crate::engines::redis) fn exists(call: &mut Call<'_>) -> Answer {
    let keyspace = &call.server.keyspace;
    Ok(Reply::count(call.args[1..].iter().filter(|key| keyspace.value(key).is_some()).count()))
}

pub(in crate::engines::redis) fn type_of(call: &mut Call<'_>) -> Answer {
    Ok(Reply::from(match call.server.keyspace.value(&call.args[1]) {
        None => "none",
        Some(Value::Text(_)) => "string",
        Some(Value::Hash(_)) => "hash",
    }))
}

pub(in crate::engines::redis) fn dbsize(call: &mut Call<'_>) -> Answer {
    Ok(Reply::count(call.server.keyspace.len()))
}

/// FLUSHALL and FLUSHDB: there is one database.
pub(in crate::engines::redis) fn flush(call: &mut Call<'_>) -> Answer {
    match &call.args[1..] {
        [] => {}
        [option] if is(option, "sync") || is(option, "async") => {}
        _ => return Err(Refusal::Syntax),
    }
    call.server.keyspace.clear();
    Ok(Reply::ok())
}
