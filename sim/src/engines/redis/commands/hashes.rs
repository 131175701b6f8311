//! Commands on hashes.

use bytes::Bytes;

use crate::engines::redis::call::{Answer, Call};
use crate::engines::redis::keyspace::{Hash, integer};
use crate::engines::redis::refusal::Refusal;
use crate::engines::redis::reply::Reply;

pub(in crate::engines::redis) fn hget(call: &mut Call<'_>) -> Answer {
    let hash = call.server.keyspace.hash(&call.args[1])?;
    Ok(Reply::bulk_or_null(hash.and_then(|hash| hash.get(&call.args[2]))))
}

pub(in crate::engines::redis) fn hmget(call: &mut Call<'_>) -> Answer {
    let hash = call.server.keyspace.hash(&call.args[1])?;
    let value = |field| Reply::bulk_or_null(hash.and_then(|hash| hash.get(field)));
    Ok(Reply::Array(call.args[2..].iter().map(|field| value(field)).collect()))
}

pub(in crate::engines::redis) fn hgetall(call: &mut Call<'_>) -> Answer {
    let hash = call.server.keyspace.hash(&call.args[1])?;
    let pairs = hash.into_iter().flat_map(Hash::iter);
    Ok(Reply::Map(
        pairs
            .map(|(field, value)| (Reply::Bulk(field.clone()), Reply::Bulk(value.clone())))
            .collect(),
    ))
}

pub(in crate::engines::redis) fn hlen(call: &mut Call<'_>) -> Answer {
    Ok(Reply::count(call.server.keyspace.hash(&call.args[1])?.map_or(0, Hash::len)))
}

pub(in crate::engines::redis) fn hstrlen(call: &mut Call<'_>) -> Answer {
    let hash = call.server.keyspace.hash(&call.args[1])?;
    let value = hash.and_then(|hash| hash.get(&call.args[2]));
    Ok(Reply::count(value.map_or(0, Bytes::len)))
}

pub(in crate::engines::redis) fn hset(call: &mut Call<'_>) -> Answer {
    let (pairs, odd) = call.args[2..].as_chunks::<2>();
    if !odd.is_empty() {
        return Err(Refusal::Arity("hset"));
    }
    let hash = call.server.keyspace.hash_to_write(&call.args[1])?;
    let mut new = 0;
    for [field, value] in pairs {
        new += usize::from(hash.set(field.clone(), value.clone()));
    }
    Ok(Reply::count(new))
}

pub(in crate::engines::redis) fn hdel(call: &mut Call<'_>) -> Answer {
    let key = &call.args[1];
    if call.server.keyspace.hash(key)?.is_none() {
        return Ok(Reply::Integer(0));
    }
    let hash = call.server.keyspace.hash_to_write(key)?;
    let removed = call.args[2..].iter().filter(|field| hash.remove(field)).count();
    if hash.len() == 0 {
        call.server.keyspace.remove(key);
    }
    Ok(Reply::count(removed))
}

pub(in crate::engines::redis) fn hincrby(call: &mut Call<'_>) -> Answer {
    let (key, field) = (&call.args[1], &call.args[2]);
    let by = integer(&call.args[3]).ok_or(Refusal::NotInteger)?;
    let number = match call.server.keyspace.hash(key)?.and_then(|hash| hash.get(field)) {
        Some(value) => integer(value).ok_or(Refusal::HashNotInteger)?,
        None => 0,
    };
    let sum = number.checked_add(by).ok_or(Refusal::Overflow)?;
    call.server.keyspace.hash_to_write(key)?.set(field.clone(), sum.to_string().into());
    Ok(Reply::Integer(sum))
}
