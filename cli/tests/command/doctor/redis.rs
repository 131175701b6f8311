//! Faults of Redis servers, and of the way to them.

use std::time::Duration;

use serde_json::Value;
use tenure_servers::{Authority, RedisCluster, RedisServer, Reply, ServerClock, undisturbed};

use super::fakes::{balances, delays, replaces, says};
use super::{Fault, Planted, each_is_found, idle};

/// A server as it should be, with other settings.
fn server(args: &[&str]) -> RedisServer {
    RedisServer::start_with(&[&["--appendonly", "yes"], args].concat()).unwrap()
}

fn with(args: &[&str]) -> Planted {
    let server = server(args);
    Planted::at(server.url()).keeps(server)
}

/// A server to which these commands were sent.
fn after(args: &[&str], commands: &[&[&str]]) -> Planted {
    let server = server(args);
    for command in commands {
        let answer = server.command(command).unwrap();
        assert!(!matches!(answer, Reply::Error(_)), "{command:?}: {answer:?}");
    }
    Planted::at(server.url()).keeps(server)
}

/// A server with a user who lacks that right of a candidate.
fn lacking(lacks: &str) -> Planted {
    let server = server(&[]);
    let rights = "~{tenure}:* &{tenure}:* +evalsha +script|load +hmget +hstrlen +hset +time +info +publish +subscribe \
                  +unsubscribe +ping";
    let rights: Vec<_> = rights.split(' ').filter(|right| *right != lacks).collect();
    let user = ["ACL", "SETUSER", "app", "reset", "on", ">secret"];
    server.command(&[&user[..], &rights].concat()).unwrap();
    Planted::at(format!("redis://app:secret@127.0.0.1:{}", server.port())).keeps(server)
}

/// A primary with so many replicas that follow it.
fn with_replicas(count: usize, args: &[&str], parameters: &str) -> Planted {
    let primary = server(args);
    let mut planted = Planted::at(format!("{}{parameters}", primary.url()));
    for _ in 0..count {
        let replica = server(&["--replicaof", "127.0.0.1", &primary.port().to_string()]);
        planted = planted.keeps(replica);
    }
    super::super::hosts::wait_until("the replicas", || {
        let Reply::BulkString(info) = primary.command(&["INFO", "replication"]).unwrap() else {
            return false;
        };
        let info = String::from_utf8_lossy(&info).into_owned();
        info.matches("state=").count() == count
            && (args.contains(&"60") || info.matches("state=online").count() == count)
    });
    planted.keeps(primary)
}

/// The same, at a server that says that it is a Redis 6.
fn of_redis_6(mut planted: Planted) -> Planted {
    let port = planted.url.rsplit_once(':').unwrap().1.parse().unwrap();
    let port = replaces(port, "redis_version:7", "redis_version:6");
    planted.url = format!("redis://127.0.0.1:{port}");
    planted
}

/// A server whose snapshots fail, and what that means for writes.
fn without_snapshots(stops: &str) -> Planted {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap().to_owned();
    let args = ["--appendonly", "no", "--save", "3600 1", "--dir", &path];
    let server = server(&[&args[..], &["--stop-writes-on-bgsave-error", stops]].concat());
    drop(folder);
    server.command(&["BGSAVE"]).unwrap();
    super::super::hosts::wait_until("a failed snapshot", || {
        let Reply::BulkString(info) = server.command(&["INFO", "persistence"]).unwrap() else {
            return false;
        };
        String::from_utf8_lossy(&info).contains("rdb_last_bgsave_status:err")
    });
    Planted::at(server.url()).keeps(server)
}

/// One node of a cluster that does not keep the elections.
fn other_node() -> Planted {
    let cluster = RedisCluster::start(3, 0).unwrap();
    let owner = cluster.owner("{tenure}:past", 0).unwrap();
    Planted::at(cluster.node((owner + 1) % 3).url()).keeps(cluster)
}

fn cluster_with_two_dead_nodes() -> Planted {
    let mut cluster = RedisCluster::start(3, 0).unwrap();
    let ports: Vec<_> = cluster.ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    cluster.node_mut(1).kill().unwrap();
    cluster.node_mut(2).kill().unwrap();
    Planted::at(format!("redis+cluster://{}", ports.join(","))).keeps(cluster)
}

fn cluster_of_one_node() -> Planted {
    let cluster = RedisCluster::start(1, 0).unwrap();
    Planted::at(format!("redis+cluster://127.0.0.1:{}", cluster.ports()[0])).keeps(cluster)
}

fn with_connections(count: usize) -> Planted {
    let planted = with(&["--maxclients", "10"]);
    let port = planted.url.rsplit_once(':').unwrap().1.parse().unwrap();
    let idle: Vec<_> = (0..count).map(|_| idle(port)).collect();
    planted.keeps(idle)
}

fn with_clock(by_ms: i64) -> Planted {
    let mut clock = ServerClock::start(0).unwrap();
    clock.step(by_ms).unwrap();
    let server = RedisServer::start_with_clock(&["--appendonly", "yes"], &clock).unwrap();
    Planted::at(server.url()).keeps(server).keeps(clock)
}

/// Another program deletes the past, again and again.
fn without_a_past() -> Planted {
    let server = server(&[]);
    let url = server.url();
    std::thread::spawn(move || {
        while server.command(&["DEL", "{tenure}:past"]).is_ok() {
            std::thread::sleep(Duration::from_millis(300));
        }
    });
    Planted::at(url)
}

fn behind_a_balancer() -> Planted {
    let servers = [server(&[]), server(&[])];
    let port = balances(servers.iter().map(RedisServer::port).collect());
    Planted::at(format!("redis://127.0.0.1:{port}")).keeps(servers)
}

fn far_away() -> Planted {
    let server = server(&[]);
    let port = delays(server.port(), Duration::from_millis(75));
    Planted::at(format!("redis://127.0.0.1:{port}")).keeps(server).set("TENURE_TTL", "2s")
}

fn a_port_without_server() -> Planted {
    let mut server = server(&[]);
    server.kill().unwrap();
    Planted::at(server.url()).keeps(server)
}

/// A server whose certificate an unknown authority has signed.
fn with_unknown_certificate() -> Planted {
    let authority = Authority::new().unwrap();
    let certificate = authority.certificate(&["127.0.0.1"]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut args = vec!["--tls-auth-clients".to_owned(), "no".to_owned()];
    let files =
        [("cert", &certificate.valid), ("key", &certificate.key), ("ca-cert", &authority.pem())];
    for (what, text) in files {
        let path = folder.path().join(what);
        std::fs::write(&path, text).unwrap();
        args.extend([format!("--tls-{what}-file"), path.to_str().unwrap().to_owned()]);
    }
    let server = server(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let port = server.tls_port().unwrap();
    Planted::at(format!("rediss://127.0.0.1:{port}")).keeps((server, folder))
}

fn with_password(given: &str) -> Planted {
    let server = server(&["--requirepass", "secret"]);
    Planted::at(format!("redis://{given}127.0.0.1:{}", server.port())).keeps(server)
}

fn a_replica() -> Planted {
    let primary = server(&[]);
    let replica = server(&["--replicaof", "127.0.0.1", &primary.port().to_string()]);
    Planted::at(replica.url()).keeps((replica, primary))
}

fn fake(words: &'static str) -> Planted {
    Planted::at(format!("redis://127.0.0.1:{}", says(words)))
}

pub(super) const FAULTS: &[Fault] = &[
    ("no server at the port", "unreachable", a_port_without_server),
    ("a name that no server has", "unreachable", || Planted::at("redis://redis.invalid")),
    ("a certificate of an unknown authority", "tls-refused", with_unknown_certificate),
    ("no password", "credentials-refused", || with_password("")),
    ("a wrong password", "credentials-refused", || with_password(":wrong@")),
    ("a password to another machine", "password-readable", || {
        Planted::at("redis://:a@redis.invalid")
    }),
    ("no right to the keys", "right-missing", || lacking("~{tenure}:*")),
    ("no right to scripts", "right-missing", || lacking("+evalsha")),
    ("no right to load scripts", "right-missing", || lacking("+script|load")),
    ("no right to write", "right-missing", || lacking("+hset")),
    ("no right to read", "right-missing", || lacking("+hmget")),
    ("no right to the time", "right-missing", || lacking("+time")),
    ("no right to INFO", "right-missing", || lacking("+info")),
    ("no right to publish", "right-missing", || lacking("+publish")),
    ("no right to subscribe", "wake-ups-missing", || lacking("+subscribe")),
    ("no right to subscribe: messages", "messages-lost", || lacking("+subscribe")),
    ("no right to the channels", "wake-ups-missing", || lacking("&{tenure}:*")),
    ("no right to the configuration", "not-asked", || lacking("")),
    ("a replica", "not-primary", a_replica),
    ("replicas are demanded, and there is none", "replicas-missing", || {
        with(&["--min-replicas-to-write", "1"])
    }),
    ("replicas must acknowledge, and there is none", "replicas-missing", || {
        let server = server(&[]);
        Planted::at(format!("{}?replica_acks=1", server.url())).keeps(server)
    }),
    ("fewer acknowledge than may be promoted", "replica-acks-few", || {
        with_replicas(2, &[], "?replica_acks=1")
    }),
    ("replicas are waited for too long", "replica-wait-long", || {
        with_replicas(1, &[], "?replica_acks=1&replica_wait_ms=2000")
    }),
    ("a primary that may be cut off", "min-replicas-unset", || with_replicas(1, &[], "")),
    ("replicas that scripts do not need", "min-replicas-unset", || {
        of_redis_6(with_replicas(1, &["--min-replicas-to-write", "1"], ""))
    }),
    ("a replica that has no data", "replica-lags", || {
        with_replicas(1, &["--repl-diskless-sync-delay", "60"], "")
    }),
    ("records may be evicted", "evicting", || with(&["--maxmemory-policy", "allkeys-lru"])),
    ("no memory", "storage-full", || with(&["--maxmemory", "1mb"])),
    ("hardly any memory", "memory-nearly-full", || with(&["--maxmemory", "1mb"])),
    ("snapshots fail, and stop writes", "disk-writes-fail", || without_snapshots("yes")),
    ("snapshots fail", "snapshots-fail", || without_snapshots("no")),
    ("nothing is on disk", "not-persistent", || with(&["--appendonly", "no"])),
    ("snapshots alone", "snapshots-only", || with(&["--appendonly", "no", "--save", "3600 1"])),
    ("the log is not flushed", "log-not-flushed", || with(&["--appendfsync", "no"])),
    ("idle connections are closed", "idle-connections-end", || with(&["--timeout", "100"])),
    ("nearly all connections are used", "connections-nearly-used", || with_connections(9)),
    ("all connections are used", "connections-used-up", || with_connections(10)),
    ("two servers at one address", "several-servers", behind_a_balancer),
    ("one node of a cluster", "cluster-by-one-node", other_node),
    ("a cluster without a majority", "cluster-without-leader", cluster_with_two_dead_nodes),
    ("a list of one node", "few-members", cluster_of_one_node),
    ("another thing is stored there", "record-damaged", || {
        after(&[], &[&["SET", "{tenure}:past", "x"]])
    }),
    ("the past is deleted all the time", "past-changes", without_a_past),
    ("a clock behind", "clocks-apart", || with_clock(-60_000)),
    ("a clock ahead", "clocks-apart", || with_clock(60_000)),
    ("a long way", "round-trips-slow", far_away),
    ("scripts are disabled", "request-refused", || with(&["--rename-command", "EVALSHA", ""])),
    ("an old server", "version-unsupported", || fake("-ERR unknown command 'HELLO'\r\n")),
    ("a web server", "reply-unexpected", || fake("HTTP/1.1 400 Bad Request\r\n\r\n")),
    ("a server that closes each connection", "connection-broken", || fake("")),
];

#[test]
fn faults_of_redis_are_found() {
    each_is_found(FAULTS);
}

/// It shows in the request that was refused, and in the settings.
#[test]
fn a_fault_seen_twice_is_reported_once() {
    let found = with(&["--maxmemory-policy", "allkeys-lru"]).examine();
    let count = found.findings.iter().filter(|finding| finding["id"] == "evicting").count();
    assert_eq!(count, 1, "{found:#?}");
}

/// A script's refusal does not say which right it was.
#[test]
fn missing_rights_of_redis_are_named() {
    for right in ["+hset", "+hmget", "+hstrlen", "+time", "+info", "+publish", "+evalsha"] {
        let found = lacking(right).examine();
        let names = |finding: &Value| {
            let text = finding["found"].as_str().unwrap();
            finding["id"] == "right-missing" && text.contains(&format!("{right} is missing"))
        };
        assert!(found.findings.iter().any(names), "{right}: {found:#?}");
    }
}

#[test]
fn a_healthy_redis_has_no_problem() {
    undisturbed(|| {
        let found = with(&["--appendonly", "yes"]).examine();
        assert!(found.has_only_notes(), "{found:#?}");
        assert_eq!(found.level("quarantine"), Some("note"), "the store is new");
    });
}

#[test]
fn a_healthy_redis_cluster_has_no_problem() {
    let cluster = RedisCluster::start_with(3, 0, &["--appendonly", "yes"]).unwrap();
    let ports: Vec<_> = cluster.ports().iter().map(|port| format!("127.0.0.1:{port}")).collect();
    Planted::at(format!("redis+cluster://{}", ports.join(","))).is_healthy();
}

/// The password is in no line.
#[test]
fn secrets_of_redis_are_not_shown() {
    let planted = with_password(":hunter2@");
    let found = planted.examine();
    assert_eq!(found.status, 69);
    assert!(!format!("{found:?}").contains("hunter2"), "{found:#?}");
}
