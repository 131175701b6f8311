//! Commands about the connection itself.

use bytes::Bytes;

use crate::engines::redis::Role;
use crate::engines::redis::call::{Answer, Call, is};
use crate::engines::redis::commands::server::VERSION;
use crate::engines::redis::keyspace::integer;
use crate::engines::redis::refusal::{Refusal, c_string};
use crate::engines::redis::reply::{Protocol, Reply};
use crate::engines::redis::session::Session;

const DEFAULT_USER: &[u8] = b"default";

/// HELLO [version [AUTH user password] [SETNAME name]]. A refusal keeps the effects of the options
/// before it: a good password followed by a bad name leaves the connection authenticated.
pub(in crate::engines::redis) fn hello(call: &mut Call<'_>) -> Answer {
    let protocol = match call.args.get(1).map(|version| integer(version)) {
        None => None,
        Some(None) => return Err(Refusal::ProtocolNotInteger),
        Some(Some(2)) => Some(Protocol::Resp2),
        Some(Some(3)) => Some(Protocol::Resp3),
        Some(Some(_)) => return Err(Refusal::NoProto),
    };
    let mut name = None;
    let mut options = call.args.get(2..).unwrap_or_default();
    while let [option, rest @ ..] = options {
        options = match rest {
            [user, password, rest @ ..] if is(option, "auth") => {
                log_in(call, user, password)?;
                rest
            }
            [value, rest @ ..] if is(option, "setname") => {
                name = Some(value);
                rest
            }
            _ => return Err(Refusal::HelloOption(c_string(option, usize::MAX))),
        };
    }
    if !with_session(call, |session| session.authenticated) {
        return Err(Refusal::HelloNoAuth);
    }
    if let Some(name) = name {
        rename(call, name)?;
    }
    let (protocol, id) = with_session(call, |session| {
        session.protocol = protocol.unwrap_or(session.protocol);
        (session.protocol, session.id)
    });
    let role = match call.server.settings.role {
        Role::Master => "master",
        Role::Replica => "replica",
    };
    let fields = [
        ("server", Reply::word("redis")),
        ("version", Reply::word(VERSION)),
        ("proto", Reply::Integer(if protocol == Protocol::Resp2 { 2 } else { 3 })),
        ("id", Reply::Integer(id)),
        ("mode", Reply::word("standalone")),
        ("role", Reply::word(role)),
        ("modules", Reply::Array(Vec::new())),
    ];
    Ok(Reply::Map(fields.into_iter().map(|(name, value)| (Reply::word(name), value)).collect()))
}

pub(in crate::engines::redis) fn auth(call: &mut Call<'_>) -> Answer {
    match &call.args[1..] {
        [_] if call.server.settings.password.is_none() => return Err(Refusal::NoPasswordSet),
        [password] => log_in(call, DEFAULT_USER, password)?,
        [user, password] => log_in(call, user, password)?,
        _ => return Err(Refusal::Syntax),
    }
    Ok(Reply::ok())
}

pub(in crate::engines::redis) fn quit(call: &mut Call<'_>) -> Answer {
    with_session(call, |session| session.closing = true);
    Ok(Reply::ok())
}

/// To a RESP2 subscriber an answer must look like a message.
pub(in crate::engines::redis) fn ping(call: &mut Call<'_>) -> Answer {
    let subscriber = with_session(call, |session| session.is_resp2_subscriber());
    match &call.args[1..] {
        [] if subscriber => Ok(Reply::Array(vec![Reply::word("pong"), Reply::word("")])),
        [text] if subscriber => {
            Ok(Reply::Array(vec![Reply::word("pong"), Reply::Bulk(text.clone())]))
        }
        [] => Ok(Reply::from("PONG")),
        [text] => Ok(Reply::Bulk(text.clone())),
        _ => Err(Refusal::Arity("ping")),
    }
}

pub(in crate::engines::redis) fn echo(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Bulk(call.args[1].clone()))
}

/// There is one database, as with `--databases 1`.
pub(in crate::engines::redis) fn select(call: &mut Call<'_>) -> Answer {
    let index = integer(&call.args[1]).ok_or(Refusal::NotInteger)?;
    match i32::try_from(index) {
        Ok(0) => Ok(Reply::ok()),
        Ok(_) => Err(Refusal::Database),
        Err(_) => Err(Refusal::NotInt32),
    }
}

pub(in crate::engines::redis) fn id(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Integer(with_session(call, |session| session.id)))
}

pub(in crate::engines::redis) fn getname(call: &mut Call<'_>) -> Answer {
    let name = with_session(call, |session| session.name.clone());
    Ok(if name.is_empty() { Reply::Null } else { Reply::Bulk(name) })
}

pub(in crate::engines::redis) fn setname(call: &mut Call<'_>) -> Answer {
    rename(call, &call.args[2])?;
    Ok(Reply::ok())
}

pub(in crate::engines::redis) fn no_evict(call: &mut Call<'_>) -> Answer {
    let option = &call.args[2];
    if is(option, "on") || is(option, "off") { Ok(Reply::ok()) } else { Err(Refusal::Syntax) }
}

fn log_in(call: &mut Call<'_>, user: &[u8], password: &[u8]) -> Result<(), Refusal> {
    let settings = &call.server.settings;
    let right = settings.password.as_ref().is_none_or(|expected| expected.as_bytes() == password);
    if user != DEFAULT_USER || !right {
        return Err(Refusal::WrongPass);
    }
    with_session(call, |session| session.authenticated = true);
    Ok(())
}

fn rename(call: &mut Call<'_>, name: &Bytes) -> Result<(), Refusal> {
    if !name.iter().all(u8::is_ascii_graphic) {
        return Err(Refusal::ClientName);
    }
    with_session(call, |session| session.name = name.clone());
    Ok(())
}

/// The session of a command exists: the server can't restart while the command runs.
fn with_session<T>(call: &mut Call<'_>, act: impl FnOnce(&mut Session) -> T) -> T {
    act(call.server.session_mut(call.session).expect("a command's session is open"))
}
