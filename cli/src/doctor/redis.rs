//! Checks of a Redis or Valkey server.

use std::collections::BTreeMap;

use tenure::Config;
use tenure::store::redis::{Caution, Redis};
use tenure::store::{AnyStore, StoreError};

use super::errors;
use super::kind::Kind;
use super::report::Report;

/// So many connections are opened to see whether one server answers all of them.
pub(super) const CONNECTIONS: usize = 4;
/// A part of a limit that is nearly all of it, in percent.
const NEARLY: u64 = 90;
const LAG_MOST: u64 = 10;

/// Checks the configuration, without asking the server.
pub(super) fn check_configuration(redis: &Redis, config: &Config, report: &mut Report) {
    for caution in redis.cautions() {
        let kind = match caution {
            Caution::FewMembers(_) => Kind::FewMembers,
            Caution::ReadablePassword(_) => Kind::PasswordReadable,
        };
        report.add(kind, caution.to_string());
    }
    let (acks, within) = redis.replica_acks();
    if acks > 0 && within >= config.request_timeout() {
        let text = format!(
            "a request waits for replicas for up to {within:?}, and the request timeout is {:?}",
            config.request_timeout()
        );
        report.add(Kind::ReplicaWaitLong, text);
    }
}

/// The rights that a candidate needs, each with a command that changes nothing. The right to write
/// (`+hset`, and `+persist` before Redis 7) has none.
const RIGHTS: [(&str, &[&str]); 7] = [
    ("~{prefix}:* +hmget", &["HMGET", PAST, "stamp"]),
    ("+hstrlen", &["HSTRLEN", PAST, "stamp"]),
    ("+time", &["TIME"]),
    ("+info", &["INFO", "server"]),
    ("&{prefix}:* +publish", &["PUBLISH", PAST, ""]),
    ("+evalsha", &["EVALSHA", "0000000000000000000000000000000000000000", "0"]),
    ("+script|load", &["SCRIPT", "LOAD", "return 0"]),
];
/// Stands for the name of the past, which is also that of a channel without subscribers.
const PAST: &str = "past";

/// Names the rights whose lack a request has shown.
pub(super) async fn missing_rights(redis: &Redis, report: &mut Report) {
    if !report.has(Kind::RightMissing) {
        return;
    }
    let (past, mut is_named) = (redis.past(), false);
    for (right, command) in RIGHTS {
        let words: Vec<_> =
            command.iter().map(|word| if *word == PAST { &*past } else { *word }).collect();
        if let Err(error) = redis.ask_server(&words).await
            && errors::kind(&error) == Kind::RightMissing
        {
            report.add(Kind::RightMissing, format!("{right} is missing: {error}"));
            is_named = true;
        }
    }
    if !is_named {
        let text = "+hset is missing, or +persist before Redis 7: all other rights of candidates are there";
        report.add(Kind::RightMissing, text);
    }
}

/// Asks the server. `again` are other connections to the same address.
pub(super) async fn check(redis: &Redis, again: &[AnyStore], report: &mut Report) {
    let info = match redis.ask_server(&["INFO", "everything"]).await {
        Ok(info) => Info::read(&info.concat()),
        Err(error) => return refused("INFO", &error, report),
    };
    let version = info.text("valkey_version").or(info.text("redis_version"));
    report.add(
        Kind::ServerVersion,
        format!("the server's version is {}", version.unwrap_or("not told")),
    );
    memory(&info, report);
    persistence(&info, report);
    replicas(redis, &info, report);
    connections(&info, report);
    configuration(redis, &info, report).await;
    identities(&info, again, report).await;
}

/// Not being allowed to ask is no fault: candidates need no such right.
fn refused(what: &str, error: &StoreError, report: &mut Report) {
    let kind = errors::kind(error);
    if matches!(kind, Kind::RightMissing | Kind::RequestRefused) {
        report.add(Kind::NotAsked, format!("{what}: {error}"));
    } else if !report.has(kind) {
        report.failed(what, error);
    }
}

/// The fields of `INFO`.
struct Info(BTreeMap<String, String>);

impl Info {
    fn read(text: &str) -> Self {
        let fields = text.lines().filter_map(|line| line.trim().split_once(':'));
        Self(fields.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// True if the server has scripts wait for `min-replicas-to-write`, as Redis 7 and Valkey.
    fn holds_scripts(&self) -> bool {
        let major = self.text("redis_version").and_then(|version| version.split('.').next());
        major.and_then(|major| major.parse::<u32>().ok()).is_none_or(|major| major >= 7)
    }
}

fn memory(info: &Info, report: &mut Report) {
    let policy = info.text("maxmemory_policy").unwrap_or_default();
    // Else a request was refused for it, and the report has the server's words.
    if policy.starts_with("allkeys-") && !report.has(Kind::Evicting) {
        report.add(Kind::Evicting, format!("maxmemory-policy is {policy}"));
    }
    if let (Some(used), Some(most)) = (info.number("used_memory"), info.number("maxmemory"))
        && most > 0
        && used.saturating_mul(100) > most.saturating_mul(NEARLY)
    {
        report.add(Kind::MemoryNearlyFull, format!("{used} of {most} bytes are used"));
    }
}

fn persistence(info: &Info, report: &mut Report) {
    if info.text("aof_last_write_status") == Some("err") {
        report.add(Kind::LogFails, "the last write to the append-only file has failed");
    }
    if info.text("rdb_last_bgsave_status") == Some("err") {
        report.add(Kind::SnapshotsFail, "the last snapshot (BGSAVE) has failed");
    }
}

fn replicas(redis: &Redis, info: &Info, report: &mut Report) {
    let count = info.number("connected_slaves").unwrap_or(0);
    let (acks, _) = redis.replica_acks();
    for number in 0..count {
        // slave0:ip=10.0.0.2,port=6379,state=online,offset=1,lag=0
        let Some(replica) = info.text(&format!("slave{number}")) else { continue };
        let field = |name: &str| {
            replica.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let lag = field("lag").and_then(|lag| lag.parse::<u64>().ok());
        if field("state") != Some("online") || lag.is_some_and(|lag| lag > LAG_MOST) {
            report.add(Kind::ReplicaLags, format!("replica {number}: {replica}"));
        }
    }
    if acks > 0 && count > u64::from(acks) {
        let text = format!("replica_acks is {acks}, and {count} replicas are connected");
        report.add(Kind::ReplicaAcksFew, text);
    }
    let is_set = info.text("min_slaves_good_slaves").is_some();
    let is_guarded = acks > 0 || is_set && info.holds_scripts();
    if (count > 0 || is_set) && redis.is_one_server() && !is_guarded {
        let why = if is_set { "does not hold for scripts before Redis 7" } else { "is 0" };
        let text = format!("{count} replica(s), and min-replicas-to-write {why}");
        report.add(Kind::MinReplicasUnset, text);
    }
}

fn connections(info: &Info, report: &mut Report) {
    if let (Some(open), Some(most)) = (info.number("connected_clients"), info.number("maxclients"))
        && open.saturating_mul(100) > most.saturating_mul(NEARLY)
    {
        report.add(Kind::ConnectionsNearlyUsed, format!("{open} of {most} (maxclients) are open"));
    }
}

/// Checks settings that `INFO` does not have.
async fn configuration(redis: &Redis, info: &Info, report: &mut Report) {
    let mut values: BTreeMap<&str, String> = BTreeMap::new();
    // Before Redis 7, each is a question of its own.
    for name in ["save", "appendfsync", "timeout"] {
        match redis.ask_server(&["CONFIG", "GET", name]).await {
            Ok(answer) => values.extend(answer.into_iter().nth(1).map(|value| (name, value))),
            Err(error) => return refused("CONFIG GET", &error, report),
        }
    }
    let value = |name: &str| values.get(name).map_or("", String::as_str);
    let has_log = info.text("aof_enabled") == Some("1");
    match (has_log, value("save")) {
        (true, _) if value("appendfsync") == "no" => {
            report.add(Kind::LogNotFlushed, "appendfsync is no");
        }
        (true, _) => {}
        (false, "") => {
            report.add(Kind::NotPersistent, "appendonly is no, and no snapshots are made (save)");
        }
        (false, save) => {
            report.add(Kind::SnapshotsOnly, format!("appendonly is no, and save is {save}"));
        }
    }
    if value("timeout") != "0" && !value("timeout").is_empty() {
        report.add(
            Kind::IdleConnectionsEnd,
            format!(
                "the server closes connections that are idle for {} s (timeout)",
                value("timeout")
            ),
        );
    }
}

/// Checks that all connections reach the same server.
async fn identities(info: &Info, again: &[AnyStore], report: &mut Report) {
    let mut found: Vec<String> = info.text("run_id").map(str::to_owned).into_iter().collect();
    for store in again {
        let Some(redis) = store.downcast_ref::<Redis>() else { continue };
        let Ok(answer) = redis.ask_server(&["INFO", "server"]).await else { continue };
        let other = Info::read(&answer.concat());
        found.extend(other.text("run_id").map(str::to_owned));
    }
    found.sort_unstable();
    found.dedup();
    if found.len() > 1 {
        let text = format!(
            "{} connections have reached {} servers, by their run_id: {}",
            again.len() + 1,
            found.len(),
            found.join(", ")
        );
        report.add(Kind::SeveralServers, text);
    }
}
