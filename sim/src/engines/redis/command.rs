//! The commands that exist, and the sessions that may run them.

use bytes::Bytes;

use super::call::{Answer, Call, ScriptCommand, is, refuse_on_replica, refuse_without_memory};
use super::commands::{connection, hashes, keys, pubsub, server as admin, strings};
use super::refusal::{Refusal, c_string};
use super::server::Server;
use super::session::{Session, SessionKey};

#[derive(Debug)]
pub(super) struct Command {
    /// Lower case; a subcommand's has its container in front, as `script|load`.
    pub(super) name: &'static str,
    /// The number of arguments with the name and the subcommand's; negative means at least.
    arity: i64,
    flags: &'static [Flag],
    pub(super) handler: Handler,
}

#[derive(Debug)]
pub(super) enum Handler {
    Server(fn(&mut Call<'_>) -> Answer),
    /// Runs Lua, which calls other commands: it must not hold the server meanwhile.
    Script(ScriptCommand),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Flag {
    /// Refused by a replica.
    Write,
    /// Refused by a master whose memory is used up.
    DenyOom,
    /// Refused within a script.
    NoScript,
    /// Allowed before authentication.
    NoAuth,
    /// Allowed to a RESP2 connection with subscriptions.
    Subscriber,
}

use Flag::{DenyOom, NoAuth, NoScript, Subscriber, Write};

const CONTAINERS: [&str; 3] = ["client", "config", "script"];

const COMMANDS: &[Command] = &[
    on_server("hmget", -3, &[], hashes::hmget),
    on_server("hset", -4, &[Write, DenyOom], hashes::hset),
    on_server("hget", 3, &[], hashes::hget),
    on_server("hgetall", 2, &[], hashes::hgetall),
    on_server("hdel", -3, &[Write], hashes::hdel),
    on_server("hlen", 2, &[], hashes::hlen),
    on_server("hstrlen", 3, &[], hashes::hstrlen),
    on_server("hincrby", 4, &[Write, DenyOom], hashes::hincrby),
    on_server("get", 2, &[], strings::get),
    on_server("set", -3, &[Write, DenyOom], strings::set),
    on_server("incr", 2, &[Write, DenyOom], strings::incr),
    on_server("del", -2, &[Write], keys::del),
    on_server("exists", -2, &[], keys::exists),
    on_server("type", 2, &[], keys::type_of),
    on_server("dbsize", 1, &[], keys::dbsize),
    on_server("flushall", -1, &[Write], keys::flush),
    on_server("flushdb", -1, &[Write], keys::flush),
    on_server("time", 1, &[], admin::time),
    on_server("info", -1, &[], admin::info),
    on_server("role", 1, &[NoScript], admin::role),
    on_server("wait", 3, &[NoScript], admin::wait),
    on_server("config|get", -3, &[NoScript], admin::config_get),
    on_server("publish", 3, &[], pubsub::publish),
    on_server("subscribe", -2, &[NoScript, Subscriber], pubsub::subscribe),
    on_server("unsubscribe", -1, &[NoScript, Subscriber], pubsub::unsubscribe),
    on_server("hello", -1, &[NoScript, NoAuth], connection::hello),
    on_server("auth", -2, &[NoScript, NoAuth], connection::auth),
    on_server("quit", -1, &[NoScript, NoAuth, Subscriber], connection::quit),
    on_server("ping", -1, &[Subscriber], connection::ping),
    on_server("echo", 2, &[], connection::echo),
    on_server("select", 2, &[], connection::select),
    on_server("client|id", 2, &[NoScript], connection::id),
    on_server("client|getname", 2, &[NoScript], connection::getname),
    on_server("client|setname", 3, &[NoScript], connection::setname),
    on_server("client|no-evict", 3, &[NoScript], connection::no_evict),
    on_scripts("evalsha", -3, ScriptCommand::EvalSha),
    on_scripts("eval", -3, ScriptCommand::Eval),
    on_scripts("script|load", 3, ScriptCommand::Load),
    on_scripts("script|exists", -3, ScriptCommand::Exists),
    on_scripts("script|flush", -2, ScriptCommand::Flush),
];

const fn on_server(
    name: &'static str,
    arity: i64,
    flags: &'static [Flag],
    run: fn(&mut Call<'_>) -> Answer,
) -> Command {
    Command { name, arity, flags, handler: Handler::Server(run) }
}

const fn on_scripts(name: &'static str, arity: i64, command: ScriptCommand) -> Command {
    Command { name, arity, flags: &[NoScript], handler: Handler::Script(command) }
}

impl Command {
    fn has(&self, flag: Flag) -> bool {
        self.flags.contains(&flag)
    }
}

/// The command that a session may run now; the order of the checks is Redis's.
pub(super) fn admit(
    server: &Server,
    session: SessionKey,
    args: &[Bytes],
) -> Result<&'static Command, Refusal> {
    let command = look_up(args)?;
    let session = server.session(session);
    if !command.has(NoAuth) && session.is_some_and(|session| !session.authenticated) {
        return Err(Refusal::NoAuth);
    }
    if command.has(DenyOom) {
        refuse_without_memory(server)?;
    }
    refuse_write_on_replica(server, command)?;
    if !command.has(Subscriber) && session.is_some_and(Session::is_resp2_subscriber) {
        return Err(Refusal::Subscriber(command.name));
    }
    Ok(command)
}

/// Runs a command for a script. The script's own admission replaces the session's checks. A script
/// that has written may complete, also without memory.
pub(super) fn run_from_script(call: &mut Call<'_>, is_exempt: &mut bool) -> Answer {
    let command = look_up(call.args).map_err(|refusal| match refusal {
        Refusal::Arity(_) => Refusal::ArityFromScript,
        _ => Refusal::UnknownFromScript,
    })?;
    if command.has(NoScript) {
        return Err(Refusal::NotFromScript);
    }
    refuse_write_on_replica(call.server, command)?;
    if command.has(DenyOom) && !*is_exempt {
        refuse_without_memory(call.server)?;
    }
    *is_exempt |= command.has(Write);
    match command.handler {
        Handler::Server(run) => run(call),
        Handler::Script(_) => Err(Refusal::NotFromScript),
    }
}

fn refuse_write_on_replica(server: &Server, command: &Command) -> Result<(), Refusal> {
    if command.has(Write) { refuse_on_replica(server) } else { Ok(()) }
}

fn look_up(args: &[Bytes]) -> Result<&'static Command, Refusal> {
    let command = match CONTAINERS.iter().find(|name| is(&args[0], name)) {
        None => COMMANDS
            .iter()
            .find(|command| is(&args[0], command.name))
            .ok_or_else(|| Refusal::unknown_command(args)),
        Some(container) => {
            let subcommand = args.get(1).ok_or(Refusal::Arity(container))?;
            let named = |command: &&Command| {
                let names = command.name.split_once('|');
                names.is_some_and(|(first, second)| first == *container && is(subcommand, second))
            };
            COMMANDS.iter().find(named).ok_or_else(|| Refusal::UnknownSubcommand {
                container: container.to_uppercase(),
                name: c_string(subcommand, 128),
            })
        }
    }?;
    let given = i64::try_from(args.len()).unwrap_or(i64::MAX);
    let fits = if command.arity < 0 { given >= -command.arity } else { given == command.arity };
    if fits { Ok(command) } else { Err(Refusal::Arity(command.name)) }
}
