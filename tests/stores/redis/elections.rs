//! Elections at a server that does its part.

use std::time::{Duration, Instant};

use tenure::store::StoreErrorKind;
use tenure::{Config, Elections, Event, StepDownReason};

use super::support::{Client, Watch, event, falls, server, soon, start, unix_micros};

fn quick() -> Config {
    Config::builder(Duration::from_secs(3)).build().unwrap()
}

over_both_clients! {
    async fn a_candidate_that_starts_before_its_server_leads_once_it_appears(client: Client) {
        let mut server = server();
        server.kill().unwrap();
        let (candidate, mut events) = start(client.at(server.port()), "early", quick());
        let error = event(&mut events, |event| match event {
            Event::StoreUnavailable { error } => Some(error.clone()),
            _ => None,
        })
        .await;
        assert_eq!(error.kind(), StoreErrorKind::Unreachable, "{error}");
        assert!(!candidate.is_leader());
        assert_eq!(candidate.incumbent().await.unwrap_err().kind(), StoreErrorKind::Unreachable);
        server.restart().unwrap();
        event(&mut events, |event| matches!(event, Event::StoreRecovered).then_some(())).await;
        soon(candidate.elected()).await.unwrap();
        assert_eq!(soon(candidate.incumbent()).await.unwrap().unwrap().name, "early");
    }

    async fn leaders_hand_over_at_once(client: Client) {
        let server = server();
        // Leases of a minute: whoever takes over within seconds has not waited for an end.
        let patient = Config::builder(Duration::from_secs(60)).build().unwrap();
        let one = client.candidate(server.port(), "one", patient);
        let mut token = soon(one.elected()).await.unwrap().token();
        assert!(token.get() <= unix_micros());
        let (two, mut events) = start(client.at(server.port()), "two", patient);
        let known =
            event(&mut events, |event| match event {
                Event::IncumbentChanged { token } => Some(*token),
                _ => None,
            })
            .await;
        assert_eq!(known, token);
        let watch = Watch::over(&[&one, &two]);
        let led = one.tenure().expect("leads");
        soon(one.resign()).await.unwrap();
        assert!(!one.is_leader() && !led.is_current());
        let next = soon(two.elected()).await.unwrap();
        assert!(next.token() > token);
        let three = client.candidate(server.port(), "three", patient);
        token = next.token();
        let incumbent = soon(three.incumbent()).await.unwrap().unwrap();
        assert_eq!((incumbent.token, &*incumbent.name), (token, "two"));
        soon(two.stop()).await.unwrap();
        // The one that resigned first still holds off.
        assert!(soon(three.elected()).await.unwrap().token() > token);
        watch.nobody_overlapped();
    }

    async fn nobody_loses_the_lead_without_a_fault(client: Client) {
        let server = server();
        let config = Config::builder(Duration::from_secs(2)).build().unwrap();
        let one = client.candidate(server.port(), "one", config);
        soon(one.elected()).await.unwrap();
        let two = client.candidate(server.port(), "two", config);
        let (fallen, watch) = (falls(&one), Watch::over(&[&one, &two]));
        tokio::time::sleep(config.ttl() * 3).await;
        assert!(one.is_leader() && !two.is_leader());
        assert_eq!(*fallen.lock().unwrap(), []);
        watch.nobody_overlapped();
    }

    async fn a_leader_that_others_replaced_steps_down_at_its_next_renewal(client: Client) {
        let server = server();
        let one = client.candidate(server.port(), "one", quick());
        soon(one.elected()).await.unwrap();
        // An operator's hand, against all rules.
        server.command(&["HSET", super::support::RECORD, "released", "1"]).unwrap();
        let mut events = one.events();
        let reason = event(&mut events, |event| match event {
            Event::SteppedDown { reason, .. } => Some(*reason),
            _ => None,
        });
        assert_eq!(reason.await, StepDownReason::Superseded);
        soon(one.elected()).await.unwrap();
    }

    async fn many_elections_share_what_one_needs(client: Client) {
        let server = server();
        let elections = Elections::new(client.at(server.port()));
        let config = Config::builder(Duration::from_secs(20)).build().unwrap();
        let all: Vec<_> = (0..200)
            .map(|i| elections.candidate(format!("shard:{i}")).config(config).start().unwrap())
            .collect();
        let began = Instant::now();
        for candidate in &all {
            soon(candidate.elected()).await.unwrap();
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        let tenure_servers::Reply::BulkString(clients) = server.command(&["CLIENT", "LIST"]).unwrap()
        else {
            panic!("CLIENT LIST answers with text");
        };
        // One of them asks for this list; fred has a connection more, for wake-ups.
        let most = if matches!(client, Client::RedisRs) { 2 } else { 3 };
        assert_eq!(String::from_utf8(clients).unwrap().trim().lines().count(), most);
        let (first, rest) = all.split_first().unwrap();
        soon(first.stop()).await.unwrap();
        assert!(!first.is_leader() && rest.iter().all(tenure::Candidate::is_leader));
    }
}
