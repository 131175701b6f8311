//! A leader hands over to a certain candidate, or to any.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::{Memory, Profile};
use tenure::{Candidate, Config, Event, HandOverError, StepDownReason, Tenure, Token};

use super::support::{Remote, brief, quick, soon, start, steady};

/// The one that leads, and others that wait.
async fn led(store: &Memory, others: &[&str]) -> (Candidate, Vec<Candidate>) {
    let leader = start(store, "one");
    soon(leader.elected()).await.unwrap();
    (leader, others.iter().map(|name| start(store, name)).collect())
}

fn join(remote: &Remote, name: &str, config: Config) -> Candidate {
    let candidate = Candidate::builder(remote.clone(), "job").name(name).config(config);
    candidate.start().unwrap()
}

async fn token_of(candidate: &Candidate) -> Token {
    soon(candidate.elected()).await.unwrap().token()
}

#[tokio::test]
async fn the_lead_goes_to_the_one_that_is_meant() {
    let store = Memory::new();
    let (one, others) = led(&store, &["two", "three", "four"]).await;
    let (first, mut events) = (token_of(&one).await, one.events());
    soon(one.hand_over(Some("three"))).await.unwrap();
    assert!(!one.is_leader());
    assert!(token_of(&others[1]).await > first);
    let reason = loop {
        if let Event::SteppedDown { reason, .. } = soon(events.next()).await.unwrap() {
            break reason;
        }
    };
    assert_eq!(reason, StepDownReason::HandedOver);
    // It takes part again, and leads again once it is meant.
    soon(others[1].hand_over(Some("one"))).await.unwrap();
    soon(one.elected()).await.unwrap();
}

#[tokio::test]
async fn the_lead_goes_to_any_other() {
    let store = Memory::new();
    let (one, others) = led(&store, &["two"]).await;
    soon(one.hand_over(None)).await.unwrap();
    soon(others[0].elected()).await.unwrap();
}

/// Work ends in its order before the other one leads.
#[tokio::test]
async fn work_ends_before_the_lease_is_given_back() {
    let store = Memory::new();
    let (one, others) = led(&store, &["two"]).await;
    let tenure = soon(one.elected()).await.unwrap();
    let (works, has_ended) = (one.clone(), Arc::new(AtomicBool::new(false)));
    let ends = Arc::clone(&has_ended);
    let work = tokio::spawn(async move {
        let work = |tenure: Tenure| {
            let ends = Arc::clone(&ends);
            async move {
                tenure.ended().await;
                tokio::time::sleep(Duration::from_millis(100)).await;
                ends.store(true, SeqCst);
            }
        };
        works.run_while_leader(work).await
    });
    tokio::task::yield_now().await;
    soon(one.hand_over(Some("two"))).await.unwrap();
    assert!(has_ended.load(SeqCst) && !tenure.is_current());
    soon(others[0].elected()).await.unwrap();
    work.abort();
}

/// Also if it is dropped meanwhile, so that this candidate waits for other work: the lease is still
/// given back for the one that is meant, and that is said as soon as it is.
#[tokio::test]
async fn dropped_work_changes_nothing_of_a_handover() {
    let store = Memory::new();
    let (one, others) = led(&store, &["two", "three", "four"]).await;
    let (works, tenure) = (one.clone(), soon(one.elected()).await.unwrap());
    let work = tokio::spawn(async move {
        works.run_while_leader(async |_| std::future::pending::<()>().await).await
    });
    tokio::task::yield_now().await;
    let handing = tokio::spawn({
        let one = one.clone();
        async move { one.hand_over(Some("three")).await }
    });
    soon(tenure.ended()).await;
    work.abort();
    soon(handing).await.unwrap().unwrap();
    soon(others[1].elected()).await.unwrap();
    assert!(!others[0].is_leader() && !others[2].is_leader());
}

/// Nobody loses the lead for that name, which no other candidate has, and no wish is left behind.
async fn nobody_asks(name: &str) {
    let (store, config) = (Memory::new(), brief());
    let start = |name: &str| {
        Candidate::builder(store.clone(), "job").name(name).config(config).start().unwrap()
    };
    let one = start("one");
    soon(one.elected()).await.unwrap();
    let _two = start("two");
    let error = soon(one.hand_over(Some(name))).await.unwrap_err();
    let HandOverError::NobodyAsked { within } = error else { panic!("{error}") };
    assert_eq!(within, config.ttl());
    assert!(one.is_leader());
    let late = start(name);
    tokio::time::sleep(config.renew_interval() * 6).await;
    assert!(one.is_leader() && !late.is_leader());
}

#[tokio::test]
async fn a_wrong_name_costs_nobody_the_lead() {
    tokio::join!(nobody_asks("nobody"), nobody_asks("one"));
}

#[tokio::test]
async fn only_a_leader_can_hand_over() {
    let store = Memory::new();
    let (one, others) = led(&store, &["two"]).await;
    let error = soon(others[0].hand_over(None)).await.unwrap_err();
    assert!(matches!(error, HandOverError::NotLeading), "{error}");
    let long = "n".repeat(Profile::NAME_MOST + 1);
    for name in ["", &long] {
        let error = soon(one.hand_over(Some(name))).await.unwrap_err();
        assert!(matches!(error, HandOverError::Limit(_)), "{error}");
    }
    assert!(one.is_leader());
}

/// A store that does not answer notes no wish: the leader leads as long as it may.
#[tokio::test]
async fn a_store_that_is_cut_off_notes_no_wish() {
    let remote = Remote::default();
    let config = Config::builder(Duration::from_secs(1)).build().unwrap();
    let one = Candidate::builder(remote.clone(), "job").config(config).start().unwrap();
    let tenure = soon(one.elected()).await.unwrap();
    remote.cut();
    let error = soon(one.hand_over(None)).await.unwrap_err();
    assert!(matches!(error, HandOverError::Store(_) | HandOverError::NotLeading), "{error}");
    remote.heal();
    drop(tenure);
}

/// The store may still have the lease, so this candidate may lead next.
#[tokio::test]
async fn a_release_that_is_not_confirmed_is_no_handover() {
    let remote = Remote::default();
    let one = join(&remote, "one", brief());
    soon(one.elected()).await.unwrap();
    let _two = join(&remote, "two", brief());
    let last = one.run_if_leader(async |tenure| {
        tenure.ended().await;
        remote.cut();
    });
    let (handed_over, _) = soon(async { tokio::join!(one.hand_over(Some("two")), last) }).await;
    assert!(matches!(handed_over, Err(HandOverError::NotGivenBack)), "{handed_over:?}");
}

/// A tenure that ends meanwhile was not handed over, and the wish ends with it: the next one keeps
/// the lead.
#[tokio::test]
async fn an_outage_during_a_wish_is_no_handover() {
    let remote = Remote::default();
    // The claim ends long before the wish does, and outlasts a pause of the machine.
    let config = brief().to_builder().ttl(Duration::from_secs(10));
    let config = config.request_timeout(Duration::from_millis(300));
    let config = config.stop_margin(Duration::from_secs(5)).build().unwrap();
    let one = join(&remote, "one", config);
    let first = soon(one.elected()).await.unwrap();
    let handing = tokio::spawn({
        let one = one.clone();
        async move { one.hand_over(Some("two")).await }
    });
    while remote.wished() == 0 {
        tokio::task::yield_now().await;
    }
    remote.cut();
    let error = soon(handing).await.unwrap().unwrap_err();
    assert!(matches!(error, HandOverError::Ended { reason: StepDownReason::Expired }), "{error}");
    assert!(!one.is_leader());
    tokio::time::sleep(config.ttl()).await;
    remote.heal();
    let second = soon(one.elected()).await.unwrap();
    assert!(second.token() > first.token());
    let two = join(&remote, "two", config);
    tokio::time::sleep(config.renew_interval() * 6).await;
    assert!(second.is_current() && !two.is_leader());
}

/// The caller learns why the tenure ended.
#[tokio::test]
async fn a_resignation_during_a_wish_is_no_handover() {
    let store = Memory::new();
    let (one, _) = led(&store, &[]).await;
    let (handing, resigning) = tokio::join!(one.hand_over(Some("two")), async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        one.resign().await
    });
    resigning.unwrap();
    let error = handing.unwrap_err();
    assert!(matches!(error, HandOverError::Ended { reason: StepDownReason::Resigned }), "{error}");
}

/// All hear of the wish at once. One of them leads then and goes on to, and each asks the store a
/// few times.
#[tokio::test]
async fn a_hundred_that_are_meant_make_one_leader() {
    const OTHERS: usize = 100;
    let remote = Remote::default();
    let one = join(&remote, "one", steady());
    let first = soon(one.elected()).await.unwrap();
    let others = (0..OTHERS).map(|number| join(&remote, &format!("other-{number}"), steady()));
    let others: Vec<_> = others.collect();
    tokio::time::sleep(steady().renew_interval() * 3).await;
    let asked = remote.asked();
    soon(one.hand_over(None)).await.unwrap();
    let leads = others.iter().map(|other| Box::pin(other.elected()));
    let (second, ..) = soon(futures_util::future::select_all(leads)).await;
    let second = second.unwrap();
    assert!(second.token() > first.token());
    tokio::time::sleep(steady().renew_interval() * 3).await;
    let asked = remote.asked() - asked;
    assert!(asked < OTHERS * 30, "{asked}");
    assert!(second.is_current() && !one.is_leader());
    assert_eq!(others.iter().filter(|other| other.is_leader()).count(), 1);
}

/// The wish outlives the future, so the candidate of that name may ask later.
#[tokio::test]
async fn a_dropped_handover_may_happen_all_the_same() {
    let store = Memory::new();
    let (one, _) = led(&store, &[]).await;
    let dropped = tokio::time::timeout(Duration::from_millis(500), one.hand_over(None));
    assert!(dropped.await.is_err());
    assert!(one.is_leader());
    let two = start(&store, "two");
    soon(two.elected()).await.unwrap();
    assert!(!one.is_leader());
}

/// A wish that nobody answers costs a few renewals, on each store: they follow sooner at first, and
/// not at each reply.
#[tokio::test]
async fn a_wrong_name_costs_few_renewals() {
    let remote = Remote::default();
    let one = Candidate::builder(remote.clone(), "job").config(quick()).start().unwrap();
    soon(one.elected()).await.unwrap();
    let before = remote.asked();
    soon(one.hand_over(Some("nobody"))).await.unwrap_err();
    let asked = remote.asked() - before;
    assert!(asked < 25, "{asked}");
}
