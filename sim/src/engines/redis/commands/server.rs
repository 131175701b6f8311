//! Commands about the server.

use bytes::Bytes;

use crate::engines::redis::call::{Answer, Call, is};
use crate::engines::redis::keyspace::integer;
use crate::engines::redis::refusal::Refusal;
use crate::engines::redis::reply::Reply;
use crate::engines::redis::{Role, Settings};

/// The release of Redis that is simulated.
pub(in crate::engines::redis) const VERSION: &str = "7.0.15";

/// The port in INFO. Nothing listens there.
const PORT: u16 = 6379;

/// The seconds, and the microseconds of the rest.
pub(in crate::engines::redis) fn time(call: &mut Call<'_>) -> Answer {
    let part = |number: u64| Reply::Bulk(number.to_string().into());
    Ok(Reply::Array(vec![part(call.now / 1_000_000), part(call.now % 1_000_000)]))
}

pub(in crate::engines::redis) fn role(call: &mut Call<'_>) -> Answer {
    Ok(Reply::Array(match call.server.settings.role {
        Role::Master => vec![Reply::word("master"), Reply::Integer(0), Reply::Array(Vec::new())],
        Role::Replica => vec![
            Reply::word("slave"),
            Reply::word("127.0.0.1"),
            Reply::Integer(i64::from(PORT)),
            Reply::word("connect"),
            Reply::Integer(-1),
        ],
    }))
}

/// There are no replicas that could acknowledge: the answer 0 comes at once. Redis would wait for
/// the timeout.
pub(in crate::engines::redis) fn wait(call: &mut Call<'_>) -> Answer {
    if call.server.settings.role == Role::Replica {
        return Err(Refusal::WaitOnReplica);
    }
    integer(&call.args[1]).ok_or(Refusal::NotInteger)?;
    match integer(&call.args[2]) {
        None => Err(Refusal::TimeoutNotInteger),
        Some(timeout) if timeout < 0 => Err(Refusal::TimeoutNegative),
        Some(_) => Ok(Reply::Integer(0)),
    }
}

/// There is one setting, and no patterns. The answer spells its name as in the request.
pub(in crate::engines::redis) fn config_get(call: &mut Call<'_>) -> Answer {
    let asked = call.args[2..].iter().find(|name| is(name, "maxmemory-policy"));
    let policy = Reply::Bulk(call.server.settings.maxmemory_policy.clone().into());
    Ok(Reply::Map(asked.map(|name| (Reply::Bulk(name.clone()), policy)).into_iter().collect()))
}

/// A few lines of three sections, always in Redis's order.
pub(in crate::engines::redis) fn info(call: &mut Call<'_>) -> Answer {
    let asked = &call.args[1..];
    let is_asked = |name: &str| {
        let all = |word: &Bytes| is(word, "default") || is(word, "all") || is(word, "everything");
        asked.is_empty() || asked.iter().any(|word| is(word, name) || all(word))
    };
    let sections =
        [("Server", server(call)), ("Memory", memory(call)), ("Replication", replication(call))];
    let texts: Vec<String> = sections
        .into_iter()
        .filter(|(name, _)| is_asked(name))
        .map(|(name, lines)| format!("# {name}\r\n{}", shown(call, &lines)))
        .collect();
    Ok(Reply::Verbatim(texts.join("\r\n").into()))
}

fn shown(call: &Call<'_>, lines: &str) -> String {
    let shown = |line: &str| {
        let name = line.split(':').next();
        let mut withheld = call.server.settings.withheld.iter();
        match withheld.find(|(field, _)| name == Some(field)) {
            None => line.to_owned(),
            Some((_, None)) => String::new(),
            Some((field, Some(value))) => format!("{field}:{value}\r\n"),
        }
    };
    lines.split_inclusive("\r\n").map(shown).collect()
}

fn server(call: &Call<'_>) -> String {
    let uptime = call.now.saturating_sub(call.server.started_at) / 1_000_000;
    format!(
        "redis_version:{VERSION}\r\nredis_mode:standalone\r\nrun_id:{}\r\ntcp_port:{PORT}\r\n\
         server_time_usec:{}\r\nuptime_in_seconds:{uptime}\r\n",
        call.server.run_id, call.now
    )
}

fn memory(call: &Call<'_>) -> String {
    let Settings { full, maxmemory_policy, .. } = &call.server.settings;
    format!("maxmemory:{}\r\nmaxmemory_policy:{maxmemory_policy}\r\n", u8::from(*full))
}

fn replication(call: &Call<'_>) -> String {
    let role = match call.server.settings.role {
        Role::Master => "role:master\r\n".to_owned(),
        Role::Replica => {
            format!(
                "role:slave\r\nmaster_host:127.0.0.1\r\nmaster_port:{PORT}\r\nmaster_link_status:down\r\n"
            )
        }
    };
    format!("{role}connected_slaves:0\r\nmaster_replid:{}\r\n", call.server.replication_id)
}
