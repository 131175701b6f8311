//! Plans that the engine refuses.

use tenure_sim::engines::EngineError;
use tenure_sim::engines::turmoil::run;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{
    Fault, FaultKind, PlanError, Point, ProcessFault, RequestKind, Scope, StoreFault, Trigger,
    What, When,
};

use super::{at, on, plan};

#[test]
fn unsupported_faults_are_refused_by_name() {
    let has = Scope::Turmoil.kinds();
    let others: Vec<_> = FaultKind::ALL.into_iter().filter(|kind| !has.contains(kind)).collect();
    for kind in &others {
        let what = kind.example().unwrap();
        let stall = at(1, 1, What::Store(StoreFault::StoreStall));
        let refused = match kind {
            FaultKind::PauseAtReply => on(Point::Reply, None, 1, 1, what),
            _ => at(2, u64::from(what.lasts()), what),
        };
        let error = run(&plan(vec![stall, refused]), Judging::default()).unwrap_err();
        let EngineError::Plan(PlanError::Unsupported { index, kind: of, engine, .. }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!((index, of, engine), (1, *kind, "turmoil"));
    }
    assert!(others.len() > 20, "{others:?}");
}

#[test]
fn unsupported_triggers_are_refused() {
    let pause = ProcessFault::Pause.at(None);
    let of_renewals = Trigger {
        point: Point::Sent,
        node: None,
        of: Some(RequestKind::Renew),
        nth: 1,
        after_ms: 0,
    };
    let cases = [
        (on(Point::Reply, None, 1, 1, pause), "pause-at-reply", "a reply arrives"),
        (
            Fault { when: When::On(of_renewals), for_ms: 1, what: pause },
            "pause-after-send",
            "kinds of requests",
        ),
    ];
    for (fault, kind, why) in cases {
        let error = run(&plan(vec![fault]), Judging::default()).unwrap_err().to_string();
        assert!(error.contains(kind) && error.contains(why), "{error}");
    }
    let mut trusting = plan(vec![]);
    trusting.store.trust_empty_store = true;
    let error = run(&trusting, Judging::default()).unwrap_err().to_string();
    assert!(error.contains("store.trust_empty_store"), "{error}");
}
