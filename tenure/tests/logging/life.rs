//! The log of a candidate's life.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tenure::store::{Key, Reply, Request, Store, StoreError, StoreErrorKind, StoreTraits};
use tenure::{Candidate, Elections, StoreHealth};
use tracing::Level;
use tracing::subscriber::set_default;

use super::kept::Kept;
use crate::metrics::support::{Remote, brief, config, soon, steady, until};

#[tokio::test]
async fn a_normal_life_has_four_lines() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let builder = Candidate::builder(Remote::default(), "job").name("one").config(steady());
    let began = Instant::now();
    let candidate = builder.start().unwrap();
    let tenure = soon(candidate.elected()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Renewals are not worth a line.
    until(|| kept.is_answered("renew")).await;
    soon(candidate.stop()).await.unwrap();
    let most = began.elapsed().as_secs_f64();

    let lines = kept.lines();
    let [settings, elected, ended, left] = &lines[..] else { panic!("{lines:#?}") };
    for field in [
        "message=campaigning",
        "key=\"job\"",
        "name=\"one\"",
        "store=\"memory\"",
        "ttl=30s",
        "quarantine=30s",
    ] {
        assert!(settings.contains(field), "{field}: {settings}");
    }
    let token = tenure.token();
    assert!(
        elected.contains(&format!("elected key=\"job\" token={token} name=\"one\"")),
        "{elected}"
    );
    let end = format!("stepped down key=\"job\" token={token} name=\"one\" reason=Resigned led=");
    let (_, led) = ended.split_once(&end).unwrap_or_else(|| panic!("{ended}"));
    let led: f64 = led.trim_end().strip_suffix('s').unwrap().parse().unwrap();
    assert!((1.0..most).contains(&led), "{ended} within {most} s");
    assert!(left.contains("left the election key=\"job\""), "{left}");
    assert!(lines.iter().all(|line| line.starts_with("INFO tenure: ")), "{lines:#?}");
}

#[tokio::test]
async fn an_outage_is_one_line_for_all_elections() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let store = Remote::default();
    let elections = Elections::new(store.clone());
    let start = |number| elections.candidate(format!("job:{number}")).config(brief()).start();
    let candidates: Vec<_> = (0..20).map(|number| start(number).unwrap()).collect();
    for candidate in &candidates {
        soon(candidate.elected()).await.unwrap();
    }
    store.cut();
    until(|| kept.lines().iter().filter(|line| line.contains("reason=Expired")).count() >= 20)
        .await;
    // It is logged again after ten seconds only if nothing was said of it, and else after a minute.
    tokio::time::sleep(Duration::from_secs(11)).await;
    store.heal();
    until(|| kept.has("the store answers again")).await;

    let lines = kept.lines();
    let of_store: Vec<_> = lines.iter().filter(|line| line.contains("message=the store")).collect();
    let [down, back] = of_store[..] else { panic!("{of_store:#?}") };
    assert!(
        down.starts_with("WARN tenure: message=the store is unavailable store=\"memory\""),
        "{down}"
    );
    assert!(back.starts_with("INFO tenure: message=the store answers again"), "{back}");
    let lost = lines.iter().find(|line| line.contains("reason=Expired")).unwrap();
    assert!(lost.starts_with("WARN"), "{lost}");
}

/// A store that can't connect: its requests are given up.
struct Away;

impl Store for Away {
    fn traits(&self) -> StoreTraits {
        Remote::default().traits()
    }

    async fn call(&self, _: &Key, _: Request) -> Result<Reply, StoreError> {
        std::future::pending().await
    }

    fn connect_error(&self) -> Option<StoreError> {
        let refused = std::io::Error::other("connection refused");
        Some(StoreError::new(StoreErrorKind::Unreachable, "h:1").with_source(refused))
    }
}

/// The cause's own words are there too.
#[tokio::test]
async fn an_outage_has_its_cause() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let candidate = Candidate::builder(Away, "job").config(config(2_000)).start().unwrap();
    until(|| kept.has("the store is unavailable")).await;
    let cause = "the store can't be reached: h:1: connection refused";
    assert!(kept.has(&format!("error={cause} ")), "{:#?}", kept.lines());
    let StoreHealth::Unavailable { kind, cause: known, .. } = candidate.health().store else {
        panic!("{:?}", candidate.health());
    };
    assert_eq!((kind, &*known), (StoreErrorKind::Unreachable, cause));
}

/// A reader learns who it is, without asking the store.
#[tokio::test]
async fn the_incumbent_is_named() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let store = Remote::default();
    let start = |name: &str| {
        let builder = Candidate::builder(store.clone(), "job").name(name);
        builder.config(steady()).start().unwrap()
    };
    let first = start("first");
    let tenure = soon(first.elected()).await.unwrap();
    let _second = start("second");
    until(|| kept.has("another candidate has the lease")).await;
    let fields = format!("token={} incumbent=\"first\"", tenure.token());
    assert!(kept.has(&fields), "{:#?}", kept.lines());
}

/// A quarantine above the candidate's own has a cause that no setting of this candidate shows.
#[tokio::test]
async fn a_remembered_longer_ttl_is_named() {
    for (wait, is_longer) in [(Duration::from_secs(2), false), (Duration::from_secs(20), true)] {
        let kept = Kept::default();
        let _guard = set_default(kept.clone());
        let store = Remote::default();
        store.quarantine(wait);
        let _waits = Candidate::builder(store, "job").config(config(2_000)).start().unwrap();
        until(|| kept.has("nobody is granted the lease before")).await;
        let says =
            kept.has("longer than this candidate's quarantine") && kept.has("own_quarantine=2s");
        assert_eq!(says, is_longer, "{:#?}", kept.lines());
    }
}

/// The log does not say that the store answers: nobody knows.
#[tokio::test]
async fn a_candidate_that_leaves_in_an_outage_ends_its_line() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let store = Remote::default();
    let candidate = Candidate::builder(store.clone(), "job").config(config(2_000)).start().unwrap();
    soon(candidate.elected()).await.unwrap();
    store.cut();
    until(|| kept.has("the store is unavailable")).await;
    // The lease can't be handed back.
    let _ = soon(candidate.stop()).await;
    until(|| kept.has("no candidate is left that the store does not answer")).await;
    assert!(!kept.has("the store answers again"));
}

/// No process leads on without work, and without a line in the log.
#[tokio::test]
async fn the_end_of_work_is_one_line() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let builder = Candidate::builder(Remote::default(), "job").config(steady());
    let candidate = builder.start().unwrap();
    for _ in 0..3 {
        // The type shows a mistake: an error that nobody tries again.
        let work = candidate.run_while_leader(async |_| Err::<(), _>("on purpose"));
        assert_eq!(soon(work).await, Ok(Err("on purpose")));
    }
    assert!(candidate.is_leader());
    let lines = kept.lines();
    let done: Vec<_> = lines.iter().filter(|line| line.contains("the work is done")).collect();
    let [line] = done[..] else { panic!("{done:#?}") };
    assert!(line.starts_with("INFO tenure:") && line.contains("leads on"), "{line}");
    assert!(line.contains("result=\"core::result::Result<"), "{line}");
}

#[tokio::test]
async fn the_error_of_work_is_a_warning() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let builder = Candidate::builder(Remote::default(), "job").config(steady());
    let candidate = builder.hold_off(Duration::ZERO).start().unwrap();
    let attempts = AtomicU32::new(0);
    let work = async |_| match attempts.fetch_add(1, Ordering::SeqCst) {
        0 => Err("the database is full"),
        _ => Ok(()),
    };
    soon(candidate.try_run_until(std::future::pending(), work)).await.unwrap();
    let lines = kept.lines();
    let of = |text: &str| lines.iter().filter(|line| line.contains(text)).collect::<Vec<_>>();
    let [failed] = of("error=the database is full")[..] else { panic!("{lines:#?}") };
    assert!(failed.starts_with("WARN tenure: message=the leader's work has failed"), "{failed}");
    let [ended] = of("reason=WorkFailed")[..] else { panic!("{lines:#?}") };
    assert!(ended.starts_with("WARN"), "{ended}");
    assert!(of("leads on").is_empty(), "it stops: {lines:#?}");
}

#[tokio::test]
async fn work_runs_in_the_span_of_its_tenure() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let builder = Candidate::builder(Remote::default(), "job").name("one").config(steady());
    let candidate = builder.start().unwrap();
    candidate.on_stepped_down(async |_, _| tracing::info!(target: "work", "callback"));
    let work = candidate.run_while_leader(async |tenure| {
        tracing::info!(target: "work", "step");
        tenure.token()
    });
    let token = soon(work).await.unwrap();
    soon(candidate.stop()).await.unwrap();
    let span = format!("tenure tenure: key=\"job\" token={token} name=\"one\" ");
    let entries = kept.all();
    for text in ["step", "callback"] {
        let entry = entries.iter().find(|entry| entry.text.contains(text)).unwrap();
        assert_eq!(entry.span.as_ref(), Some(&span), "{text}");
    }
    // The driver's own lines have the fields themselves.
    let elected = entries.iter().find(|entry| entry.text.contains("message=elected")).unwrap();
    assert_eq!(elected.span, None);
}

#[tokio::test]
async fn each_request_has_a_span_and_an_answer() {
    let kept = Kept::default();
    let _guard = set_default(kept.clone());
    let builder = Candidate::builder(Remote::default(), "job").config(steady());
    let candidate = builder.start().unwrap();
    soon(candidate.elected()).await.unwrap();
    until(|| kept.is_answered("renew")).await;
    soon(candidate.stop()).await.unwrap();
    for request in ["acquire", "renew", "release"] {
        let span =
            format!("tenure::request request: key=\"job\" request=\"{request}\" requests=1 ");
        assert!(kept.spans().contains(&span), "{span}");
        let fields = format!("message=answered key=\"job\" request=\"{request}\"");
        let entries = kept.all();
        let answered = entries.iter().find(|entry| entry.text.starts_with(&fields)).unwrap();
        assert_eq!((answered.level, &*answered.target), (Level::DEBUG, "tenure::request"));
    }
}
