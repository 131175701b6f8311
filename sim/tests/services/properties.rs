//! What is judged in runs of services.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_sim::Simulation;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::plan::{Assumption, Plan, What};
use tenure_sim::simulation::{Process, Service};
use tokio::time::sleep;

use super::{at, failed, plan, what};

/// Each leader adds its token, and may refuse older ones.
struct Tokens {
    refuses_older: bool,
    assumes: &'static [Assumption],
    added: Arc<Mutex<Vec<u64>>>,
}

impl Tokens {
    fn service(
        refuses_older: bool,
        assumes: &'static [Assumption],
    ) -> impl Fn() -> Self + Sync + 'static {
        move || Self { refuses_older, assumes, added: Arc::default() }
    }
}

impl Service for Tokens {
    fn name(&self) -> &'static str {
        "tokens-in-order"
    }

    fn assumes(&self) -> &'static [Assumption] {
        self.assumes
    }

    async fn serve(self: Arc<Self>, process: Process) {
        let work = async |tenure: tenure::Tenure| {
            let token = tenure.token().get();
            while tenure.is_current() {
                let this = Arc::clone(&self);
                let add = move || {
                    let mut added = this.added.lock().unwrap();
                    if !this.refuses_older || added.last().is_none_or(|last| *last <= token) {
                        added.push(token);
                    }
                };
                process.outside.call(add).await;
                sleep(Duration::from_millis(30)).await;
            }
        };
        let _ = process.candidate.run_while_leader(work).await;
    }

    fn verify(&self) -> Result<(), String> {
        if self.added.lock().unwrap().is_sorted() { Ok(()) } else { Err("out of order".to_owned()) }
    }

    fn finish(&self) -> Result<(), String> {
        if self.added.lock().unwrap().is_empty() { Err("nothing".to_owned()) } else { Ok(()) }
    }
}

const OF_TOKENS: &[Assumption] = &[Assumption::WallClock];

#[test]
fn the_properties_of_tenure_judge_as_well() {
    let simulation = Simulation::new().runs(30).service(Tokens::service(true, OF_TOKENS));
    let report = simulation.run().unwrap();
    let judged = &report.summary.properties;
    assert!(judged["tokens-in-order"].compared > 1_000, "{judged:#?}");
    for name in [
        PropertyName::SINGLE_LEADER,
        PropertyName::MARGIN_KEPT,
        PropertyName::FAIL_CLOSED,
        PropertyName::TOKEN_MONOTONIC,
        PropertyName::OWN_LEASE_ONLY,
        PropertyName::LINEARIZABLE,
        PropertyName::ONE_STEP_DOWN_PER_ELECTION,
        PropertyName::NO_CHURN_WHEN_HEALTHY,
        PropertyName::LEADER_WITHIN,
        PropertyName::RESIGNED_WITHIN,
    ] {
        assert!(judged[name.as_str()].compared > 0, "{name} has compared nothing");
    }
    let unexercised = report.summary.unexercised();
    assert!(unexercised.len() <= 3, "{unexercised:?}");
    assert!(!judged.contains_key(PropertyName::FENCED_WRITES.as_str()));
    assert!(!report.unmet.iter().any(|name| name == "stale-write-fenced"), "{:?}", report.unmet);
}

/// A write that is on its way when its leader crashes, or loses the lead in a pause, arrives.
#[test]
fn a_call_lands_whatever_becomes_of_its_sender() {
    let crash = What::Crash { node: None, power: true };
    let slow = |faults| {
        let mut plan = plan(faults);
        plan.work.takes_us = 2_500_000;
        plan
    };
    let simulation = Simulation::new().service(Tokens::service(false, OF_TOKENS));
    let late = failed(simulation.replay(&slow(vec![at(3_000, 500, crash)])));
    assert_eq!(what(&late), "out of order", "{late}");
    Simulation::new()
        .service(Tokens::service(true, OF_TOKENS))
        .replay(&slow(vec![at(3_000, 500, crash)]))
        .unwrap();
}

#[test]
fn an_unfenced_service_fails_with_a_small_plan_that_replays() {
    let simulation = Simulation::new().service(Tokens::service(false, OF_TOKENS));
    let found = failed(simulation.run());
    assert!(found.plan.faults.len() <= 2, "{found}");
    let told = found.to_string();
    assert!(told.contains(&format!("TENURE_SIM_SEED={} TENURE_SIM_RUNS=1", found.seed)), "{told}");
    let plan = Plan::parse(told.lines().last().unwrap()).unwrap();
    assert_eq!(what(&failed(simulation.replay(&plan))), "out of order");
    Simulation::new().service(Tokens::service(true, OF_TOKENS)).replay(&plan).unwrap();
}

/// The leader checks its tenure before each write, which is enough where nothing is late.
#[test]
fn assumptions_of_a_service_are_respected() {
    let service = Tokens::service(false, &Assumption::ALL);
    let report = Simulation::new().runs(60).service(service).run().unwrap();
    let judged = report.summary.properties["tokens-in-order"];
    assert!((1..60).contains(&judged.checked) && judged.compared > 0, "{judged:?}");
}

#[test]
fn the_end_of_a_run_is_verified() {
    struct Idle;
    impl Service for Idle {
        async fn serve(self: Arc<Self>, process: Process) {
            let _ = process.candidate.run_while_leader(async |_| sleep(Duration::MAX).await).await;
        }
        fn verify(&self) -> Result<(), String> {
            Ok(())
        }
        fn finish(&self) -> Result<(), String> {
            Err("over".to_owned())
        }
    }
    let failed = failed(Simulation::new().service(|| Idle).replay(&plan(vec![])));
    assert_eq!(what(&failed), "over", "{failed}");
}
