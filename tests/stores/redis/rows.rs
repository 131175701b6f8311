//! Servers for every row of the store contract, by both clients; and rows that only Redis has.

use tenure::store::Reply;
use tenure_servers::RedisServer;
use tenure_sim::conformance::{Data, Mishap, Row};

use super::support::{
    Client, PAST, Place, RECORD, RENEWED, TTL, acquire, after_watching, call, field, granted,
    local, release, renew, server, shown, unix_micros,
};

/// One server, which keeps its data when it is started again.
pub(crate) fn place(client: Client) -> Place {
    let connect = move |server: &RedisServer| client.store(local(server.port()));
    Place::of(keeping(), connect)
        .replaced(replace)
        .suffering(&Mishap::ALL, suffer)
        .slowed(|server, is_slow| slow(server, is_slow))
        .place()
}

/// The rows about servers that are replaced or changed, which a group of servers is not, and about
/// servers that end leases.
pub(crate) const NEED_A_RESTART: [Row; 5] =
    [Row::Restart, Row::Loss, Row::FirstRequest, Row::StampsDiffer, Row::LeastTtl];

/// Pauses the server, or lets it continue.
pub(crate) fn slow(server: &RedisServer, is_slow: bool) {
    if is_slow { server.pause() } else { server.resume() }.unwrap();
}

/// The same, which is trusted when it is empty.
pub(crate) fn trusting() -> Place {
    let connect = |server: &RedisServer| Client::RedisRs.at(server.port());
    Place::of(keeping(), connect).suffering(&Mishap::ALL, suffer).trusting().place()
}

/// A server that keeps its data when it is started again.
pub(crate) fn keeping() -> RedisServer {
    RedisServer::start_with(&KEEPS).unwrap()
}

pub(crate) const KEEPS: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

pub(crate) fn replace(server: &mut RedisServer, data: Data) {
    if data == Data::Lost {
        server.command(&["FLUSHALL"]).unwrap();
    }
    server.restart().unwrap();
}

pub(crate) fn suffer(server: &mut RedisServer, mishap: Mishap) {
    let of_all = "for _, record in ipairs(redis.call('KEYS', '{tenure}:leader:*')) do \
                  redis.call('DEL', record) end";
    let if_known = |field: &str, value: &str| {
        format!(
            "if redis.call('EXISTS', '{PAST}') == 1 then \
             redis.call('HSET', '{PAST}', '{field}', '{value}') end"
        )
    };
    match mishap {
        Mishap::RecordsLost => server.command(&["EVAL", of_all, "0"]),
        Mishap::OtherServer => server.command(&["EVAL", &if_known("identity", "another"), "0"]),
        Mishap::PastLost => server.command(&["DEL", PAST]),
        Mishap::AllLost => server.command(&["FLUSHALL"]),
    }
    .unwrap();
}

over_both_clients! {
    async fn the_record_says_who_leads(client: Client) {
        let (server, before) = (server(), unix_micros());
        let token = granted(&client.at(server.port()), acquire(1, None)).await;
        assert!((before..=unix_micros()).contains(&token.get()), "{token}");
        assert_eq!(field(&server, "name"), "worker-1");
        assert_eq!(field(&server, "ttl"), TTL.as_micros().to_string());
    }

    async fn the_time_in_the_record_decides_nothing(client: Client) {
        let server = server();
        let store = client.at(server.port());
        granted(&store, acquire(1, None)).await;
        for (number, written) in [(2, "0"), (3, "9000000000000000")] {
            server.command(&["HSET", RECORD, "written", written]).unwrap();
            let shown = shown(&store, acquire(number, None)).await;
            assert!(shown.incumbent().is_some());
            let request = after_watching(&acquire(number, None), &shown);
            let token = granted(&store, request).await;
            assert_eq!(call(&store, renew(number, token)).await.unwrap(), RENEWED);
        }
    }

    async fn scripts_that_the_server_forgets_are_sent_again(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let token = granted(&store, acquire(1, None)).await;
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), RENEWED);
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    }
}
