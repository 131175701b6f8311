//! The health of a candidate, without a request to its store.

use std::time::Duration;

use tenure::store::contract::{Sight, Stamp, UnwatchedPast};
use tenure::store::{
    Key, Memory, Reply, Request, Shown, Store, StoreError, StoreErrorKind, StoreTraits,
};
use tenure::{Candidate, Config, Health, Instant, Role, StoreHealth};

use super::support::{Remote, brief, quick, soon, start, steady};

const MINUTE: Duration = Duration::from_secs(60);

/// The first health that is chosen.
async fn health(candidate: &Candidate, chosen: impl Fn(&Health) -> bool) -> Health {
    soon(async {
        loop {
            let health = candidate.health();
            if chosen(&health) {
                return health;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
}

fn is_leading(health: &Health) -> bool {
    matches!(health.role, Role::Leading { .. })
}

#[tokio::test]
async fn a_leader_and_a_follower_are_ready() {
    let store = Memory::new();
    let (first, driver) = Candidate::builder(store.clone(), "job")
        .metadata("10.0.0.7:8080")
        .config(steady())
        .build()
        .unwrap();
    let before = first.health();
    assert!(matches!(before.role, Role::Campaigning { .. }), "{before:?}");
    assert_eq!(before.store, StoreHealth::NotAnswered);
    assert!(!before.is_ready(Duration::MAX), "it does not take part yet");

    tokio::spawn(driver.run());
    let tenure = soon(first.elected()).await.unwrap();
    let leads = first.health();
    let Role::Leading { token, remaining, .. } = leads.role else { panic!("{leads:?}") };
    assert!(token == tenure.token() && remaining > Duration::ZERO && remaining <= steady().ttl());
    assert!(is_leading(&leads) && leads.is_ready(Duration::ZERO));

    let second = start(&store, "second");
    let follows = health(&second, |health| matches!(health.role, Role::Following { .. })).await;
    let Role::Following { incumbent, .. } = &follows.role else { unreachable!() };
    assert_eq!((incumbent.token, &incumbent.metadata[..]), (token, &b"10.0.0.7:8080"[..]));
    assert_eq!(follows.store, StoreHealth::Answering);
    assert!(!is_leading(&follows) && follows.is_ready(Duration::ZERO));
}

#[tokio::test]
async fn the_clock_ends_a_lead_without_the_driver() {
    let (candidate, driver) =
        Candidate::builder(Memory::new(), "job").config(brief()).build().unwrap();
    let mut driver = Box::pin(driver.run());
    let elected = async {
        tokio::select! {
            () = &mut driver => unreachable!(),
            tenure = candidate.elected() => tenure.unwrap(),
        }
    };
    let tenure = soon(elected).await;
    assert!(is_leading(&candidate.health()));
    // From here on the driver does not run.
    std::thread::sleep(tenure.remaining());
    let over = candidate.health();
    assert_eq!(over.role, Role::HoldingOff);
    assert!(!candidate.is_leader());
}

#[tokio::test]
async fn the_age_of_an_outage_decides_readiness() {
    let store = Remote::default();
    let candidate = Candidate::builder(store.clone(), "job").config(quick()).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    assert_eq!(candidate.health().store, StoreHealth::Answering);
    store.cut();
    let down = |health: &Health| matches!(health.store, StoreHealth::Unavailable { .. });
    let health = health(&candidate, down).await;
    let StoreHealth::Unavailable { elapsed, kind, has_answered, .. } = health.store else {
        unreachable!()
    };
    assert_eq!(kind, StoreErrorKind::Timeout);
    assert!(has_answered && elapsed >= quick().request_timeout());
    assert!(!health.is_ready(elapsed.saturating_sub(Duration::from_nanos(1))));
    assert!(health.is_ready(elapsed));
    store.heal();
    let up = |health: &Health| health.store == StoreHealth::Answering;
    self::health(&candidate, up).await;
}

#[tokio::test]
async fn a_candidate_that_never_reached_its_store_is_not_ready() {
    let store = Remote::default();
    store.cut();
    let candidate = Candidate::builder(store, "job").config(quick()).start().unwrap();
    let down = |health: &Health| matches!(health.store, StoreHealth::Unavailable { .. });
    let health = health(&candidate, down).await;
    assert!(matches!(health.role, Role::Campaigning { .. }));
    assert!(!health.is_ready(Duration::MAX));
}

#[tokio::test]
async fn a_dead_incumbent_is_overdue() {
    let store = Remote::default();
    let config = brief();
    let (leader, driver) = Candidate::builder(store.clone(), "job").config(config).build().unwrap();
    let mut driver = Box::pin(driver.run());
    let elected = async {
        tokio::select! {
            () = &mut driver => unreachable!(),
            tenure = leader.elected() => tenure.unwrap(),
        }
    };
    soon(elected).await;
    let follower = Candidate::builder(store.clone(), "job").config(config).start().unwrap();
    let follows = |health: &Health| matches!(health.role, Role::Following { .. });
    health(&follower, follows).await;
    store.cut();
    let overdue = |health: &Health| match &health.role {
        Role::Following { incumbent, unchanged, .. } => *unchanged >= incumbent.ttl,
        _ => false,
    };
    let health = health(&follower, overdue).await;
    assert!(!health.is_ready(Duration::MAX), "beside a dead leader");
}

/// A store whose server was restarted just now.
struct Restarted(Memory);

impl Store for Restarted {
    fn traits(&self) -> StoreTraits {
        self.0.traits()
    }

    async fn call(&self, key: &Key, request: Request) -> Result<Reply, StoreError> {
        Ok(match self.0.call(key, request).await? {
            Reply::Granted { .. } => {
                let past = Some(UnwatchedPast { stamp: Stamp::from_bits(1), longest: MINUTE });
                let sight = Sight { last: None, record: None, past, now: Instant::ORIGIN };
                Reply::Not(Shown { sight, profile: None })
            }
            other => other,
        })
    }
}

#[tokio::test]
async fn a_candidate_that_watches_is_ready() {
    let store = Restarted(Memory::new());
    let candidate = Candidate::builder(store, "job").config(quick()).start().unwrap();
    let waits = |health: &Health| matches!(health.role, Role::Watching { .. });
    let health = health(&candidate, waits).await;
    let Role::Watching { remaining } = health.role else { unreachable!() };
    assert!(remaining > MINUTE * 2 / 3 && remaining <= MINUTE);
    assert!(health.is_ready(Duration::ZERO) && !is_leading(&health));
}

#[tokio::test]
async fn stopped_and_abandoned_candidates_are_not_ready() {
    let store = Memory::new();
    let first = start(&store, "first");
    soon(first.elected()).await.unwrap();
    let mut stop = Box::pin(first.stop());
    assert!(futures_util::poll!(&mut stop).is_pending());
    assert_eq!(first.health().role, Role::Stopping, "at once");
    assert!(!first.health().is_ready(Duration::MAX));
    soon(stop).await.unwrap();
    assert_eq!(first.health().role, Role::Stopped);
    assert!(!first.health().is_ready(Duration::MAX));

    let (second, driver) =
        Candidate::builder(store, "job").config(Config::normal()).build().unwrap();
    drop(driver);
    assert_eq!(second.health().role, Role::DriverGone);
    assert!(!second.health().is_ready(Duration::MAX));
}

#[tokio::test]
async fn a_resigned_candidate_holds_off_and_is_ready() {
    let candidate = Candidate::builder(Memory::new(), "job")
        .config(steady())
        .hold_off(Duration::from_secs(60))
        .start()
        .unwrap();
    soon(candidate.elected()).await.unwrap();
    soon(candidate.resign()).await.unwrap();
    let health = candidate.health();
    assert_eq!(health.role, Role::HoldingOff);
    assert!(health.is_ready(Duration::ZERO) && !is_leading(&health));
}

#[cfg(feature = "serde")]
#[tokio::test]
async fn health_is_readable_json() {
    let store = Memory::new();
    let first = start(&store, "first");
    let token = soon(first.elected()).await.unwrap().token().get();
    let json = serde_json::to_value(first.health()).unwrap();
    let leading = &json["role"]["leading"];
    assert_eq!((&leading["token"], &json["store"]), (&token.into(), &"answering".into()));
    assert!(leading["remaining_ms"].as_u64().unwrap() <= 20_000, "{json}");

    let second = start(&store, "second");
    let follows = |health: &Health| matches!(health.role, Role::Following { .. });
    let json = serde_json::to_value(health(&second, follows).await).unwrap();
    let incumbent = &json["role"]["following"]["incumbent"];
    assert_eq!((&incumbent["name"], &incumbent["token"]), (&"first".into(), &token.into()));
    soon(second.stop()).await.unwrap();
    assert_eq!(serde_json::to_value(second.health()).unwrap()["role"], "stopped");
}
