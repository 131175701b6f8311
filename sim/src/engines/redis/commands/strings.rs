//! Commands on strings.

use crate::engines::redis::call::{Answer, Call};
use crate::engines::redis::keyspace::integer;
use crate::engines::redis::refusal::Refusal;
use crate::engines::redis::reply::Reply;

pub(in crate::engines::redis) fn get(call: &mut Call<'_>) -> Answer {
    Ok(Reply::bulk_or_null(call.server.keyspace.text(&call.args[1])?))
}

/// SET without options, because nothing expires here.
pub(in crate::engines::redis) fn set(call: &mut Call<'_>) -> Answer {
    if call.args.len() > 3 {
        return Err(Refusal::Syntax);
    }
    call.server.keyspace.set_text(call.args[1].clone(), call.args[2].clone());
    Ok(Reply::ok())
}

pub(in crate::engines::redis) fn incr(call: &mut Call<'_>) -> Answer {
    let keyspace = &mut call.server.keyspace;
    let number = match keyspace.text(&call.args[1])? {
        Some(text) => integer(text).ok_or(Refusal::NotInteger)?,
        None => 0,
    };
    let sum = number.checked_add(1).ok_or(Refusal::Overflow)?;
    keyspace.set_text(call.args[1].clone(), sum.to_string().into());
    Ok(Reply::Integer(sum))
}
