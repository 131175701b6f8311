//! Plans that the engine refuses.

use tenure_sim::engines::EngineError;
use tenure_sim::engines::turmoil::run;
use tenure_sim::judge::Judging;
use tenure_sim::plan::{
    Act, Asking, Fault, LinkFault, PlanError, Point, ProcessFault, Scope, StoreFault, Trigger,
    What, When,
};

use super::{at, on, plan};

#[test]
fn unsupported_faults_are_refused_by_name() {
    let node = Some(0);
    let whats = [
        LinkFault::Loss { permille: 1 }.at(node),
        LinkFault::Duplicate { permille: 1, most_ms: 1 }.at(node),
        LinkFault::Reorder { permille: 1, most_ms: 1 }.at(node),
        ProcessFault::Suspend.at(node),
        ProcessFault::VmStop.at(node),
        ProcessFault::VmRestore.at(node),
        What::Store(StoreFault::StoreRollback { back_ms: 1 }),
        What::Store(StoreFault::Failover { lag_ms: 1, clock_ahead_ms: 0 }),
        LinkFault::OldPrimary.at(node),
        LinkFault::Reset.at(node),
        LinkFault::HalfOpen.at(node),
        LinkFault::Throttle { bytes_per_second: 1 }.at(node),
        ProcessFault::NoDescriptors.at(node),
        What::Operator(Act::FlushScripts),
        What::Operator(Act::LockRow),
    ];
    for what in whats {
        let for_ms = u64::from(what.lasts());
        let (good, bad) = (at(1, 1, What::Store(StoreFault::StoreStall)), at(2, for_ms, what));
        let error = run(&plan(vec![good, bad]), Judging::default()).unwrap_err();
        let EngineError::Plan(PlanError::Unsupported { index, kind, engine, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((index, kind, engine), (1, bad.kind(), "turmoil"));
    }
    let kinds = Scope::Turmoil.kinds();
    assert!(whats.iter().all(|what| !kinds.contains(&at(1, 1, *what).kind())));
}

#[test]
fn unsupported_triggers_are_refused() {
    let pause = ProcessFault::Pause.at(None);
    let of_renewals =
        Trigger { point: Point::Sent, node: None, of: Some(Asking::Renew), nth: 1, after_ms: 0 };
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
