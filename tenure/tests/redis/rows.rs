//! Every row of the store contract (DESIGN.md, section 4), one request at a time.

use std::time::Duration;

use tenure::store::{Reply, Request};

use crate::support::{
    Client, TTL, acquire, acquire_for, call, field, granted, held, holder, release, renew, server,
    unix_micros,
};

over_both_clients! {
    async fn a_vacant_lease_is_granted_under_a_token_not_below_the_wall_clock(client: Client) {
        let (server, before) = (server(), unix_micros());
        let store = client.at(server.port());
        let (token, wait) = granted(&store, acquire(1, None)).await;
        assert!((before..=unix_micros()).contains(&token.get()), "{token}");
        assert_eq!(wait, Duration::ZERO);
        assert_eq!(field(&server, "name"), "worker-1");
        assert_eq!(field(&server, "ttl"), TTL.as_micros().to_string());
    }

    async fn a_repeated_acquire_keeps_its_token_and_never_shortens_the_lease(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        let end = field(&server, "lease_end");
        let (same, _) = granted(&store, acquire_for(1, None, Duration::from_secs(1))).await;
        assert_eq!((same, field(&server, "lease_end")), (token, end.clone()));
        let (same, _) = granted(&store, acquire_for(1, None, TTL * 2)).await;
        let later = field(&server, "lease_end").parse::<u64>().unwrap();
        assert_eq!(same, token);
        assert!(later > end.parse::<u64>().unwrap() + 20_000_000);
    }

    async fn a_live_lease_is_held_by_an_incumbent_that_others_can_read(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        let incumbent = held(&store, acquire(2, None)).await;
        assert_eq!((incumbent.token, incumbent.holder), (token, holder(1)));
        assert_eq!((&*incumbent.name, &incumbent.metadata[..]), ("worker-1", &b"host-1"[..]));
        assert!(incumbent.remaining <= TTL && incumbent.remaining > TTL / 2, "{incumbent:?}");
        let seen = held(&store, Request::Observe).await;
        assert_eq!((seen.token, seen.holder, seen.name), (token, holder(1), incumbent.name));

        // The server's clock has stepped back, as it seems.
        server.command(&["HSET", crate::support::RECORD, "lease_end", "9000000000000000"]).unwrap();
        assert_eq!(held(&store, acquire(2, None)).await.remaining, TTL);
        assert_eq!(held(&store, Request::Observe).await.remaining, TTL);
    }

    async fn a_candidate_that_does_not_know_the_last_tenure_is_stale(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (first, _) = granted(&store, acquire(1, None)).await;
        assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::Released);
        // A late duplicate of the first acquire, and another candidate's first try.
        for number in [1, 2] {
            let reply = call(&store, acquire(number, None)).await.unwrap();
            assert_eq!(reply, Reply::Stale { last: first });
        }
        let (second, wait) = granted(&store, acquire(2, Some(first))).await;
        assert!(second > first);
        assert_eq!(wait, Duration::ZERO);
        assert_eq!(call(&store, release(2, second)).await.unwrap(), Reply::Released);
        let reply = call(&store, acquire(2, Some(first))).await.unwrap();
        assert_eq!(reply, Reply::Stale { last: second }, "an old acquire that came twice");
    }

    async fn a_lease_that_has_run_out_is_vacant(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let short = Duration::from_millis(100);
        let (first, _) = granted(&store, acquire_for(1, None, short)).await;
        tokio::time::sleep(short).await;
        assert_eq!(call(&store, Request::Observe).await.unwrap(), Reply::Vacant);
        let reply = call(&store, renew(1, first)).await.unwrap();
        assert_eq!(reply, Reply::Superseded { last: Some(first) }, "an ended lease stays ended");
        assert_eq!(call(&store, release(1, first)).await.unwrap(), Reply::NotHeld);
        // Not even its own holder gets the old tenure back.
        assert_eq!(call(&store, acquire(1, None)).await.unwrap(), Reply::Stale { last: first });
        let (second, _) = granted(&store, acquire(1, Some(first))).await;
        assert!(second > first);
    }

    async fn a_renewal_extends_exactly_its_own_tenure(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire_for(1, None, Duration::from_secs(5))).await;
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        let end = field(&server, "lease_end");
        assert!(held(&store, Request::Observe).await.remaining > Duration::from_secs(5));
        let shorter = Request::Renew { holder: holder(1), token, ttl: Duration::from_millis(100) };
        assert_eq!(call(&store, shorter).await.unwrap(), Reply::Renewed);
        assert_eq!(field(&server, "lease_end"), end, "the end never moves back");
        let superseded = Reply::Superseded { last: Some(token) };
        assert_eq!(call(&store, renew(2, token)).await.unwrap(), superseded);
        assert_eq!(call(&store, renew(1, token.next())).await.unwrap(), superseded);
        assert_eq!(field(&server, "lease_end"), end);
    }

    async fn a_release_ends_exactly_its_own_tenure(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        assert_eq!(call(&store, release(2, token)).await.unwrap(), Reply::NotHeld);
        assert_eq!(call(&store, release(1, token.next())).await.unwrap(), Reply::NotHeld);
        assert_eq!(held(&store, Request::Observe).await.token, token);
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
        assert_eq!(call(&store, Request::Observe).await.unwrap(), Reply::Vacant);
        let reply = call(&store, renew(1, token)).await.unwrap();
        assert_eq!(reply, Reply::Superseded { last: Some(token) });
    }

    async fn an_election_without_a_record_is_vacant(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let token = tenure::Token::new(7).unwrap();
        assert_eq!(call(&store, Request::Observe).await.unwrap(), Reply::Vacant);
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Superseded { last: None });
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::NotHeld);
    }

    async fn names_and_metadata_come_back_byte_for_byte(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let every_byte: Vec<u8> = (0..=255).cycle().take(4096).collect();
        let profile = tenure::store::Profile::new("größer \r\n\0", every_byte.clone()).unwrap();
        let request =
            Request::Acquire { holder: holder(1), seen: None, ttl: TTL, quarantine: TTL, profile };
        granted(&store, request).await;
        let incumbent = held(&store, Request::Observe).await;
        assert_eq!(incumbent.name, "größer \r\n\0");
        assert_eq!(incumbent.metadata, every_byte);
    }

    async fn scripts_that_the_server_forgets_are_sent_again(client: Client) {
        let server = server();
        let store = client.at(server.port());
        let (token, _) = granted(&store, acquire(1, None)).await;
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, renew(1, token)).await.unwrap(), Reply::Renewed);
        server.command(&["SCRIPT", "FLUSH"]).unwrap();
        assert_eq!(call(&store, release(1, token)).await.unwrap(), Reply::Released);
    }
}
