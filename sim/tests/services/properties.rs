//! Judgement of runs of services.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tenure_sim::Simulation;
use tenure_sim::judge::properties::PropertyName;
use tenure_sim::plan::{Assumption, FaultKind, Plan};
use tenure_sim::simulation::{Outside, Process, Service};
use tokio::time::sleep;

use super::{failed, plan, what};
use crate::report::data;

/// Each leader adds its token, and may refuse older ones.
struct Tokens {
    refuses_older: bool,
    runs: Runs,
    assumes: &'static [Assumption],
    added: Arc<Mutex<Vec<u64>>>,
}

/// The work's place.
#[derive(Clone, Copy, Debug)]
enum Runs {
    /// In `run_while_leader` itself: the library drops it with its tenure.
    InPlace,
    /// In a task that is not dropped with the work.
    Spawned,
}

impl Tokens {
    async fn adds(self: Arc<Self>, tenure: tenure::Tenure, outside: Outside) {
        let token = tenure.token().get();
        while tenure.is_current() {
            let this = Arc::clone(&self);
            let add = move || {
                let mut added = this.added.lock().unwrap();
                if !this.refuses_older || added.last().is_none_or(|last| *last <= token) {
                    added.push(token);
                }
            };
            outside.call(add).await;
            sleep(Duration::from_millis(30)).await;
        }
    }

    fn service(
        refuses_older: bool,
        assumes: &'static [Assumption],
    ) -> impl Fn() -> Self + Sync + 'static {
        Self::that_runs(Runs::Spawned, refuses_older, assumes)
    }

    fn that_runs(
        runs: Runs,
        refuses_older: bool,
        assumes: &'static [Assumption],
    ) -> impl Fn() -> Self + Sync + 'static {
        move || Self { refuses_older, runs, assumes, added: Arc::default() }
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
        let (candidate, outside) = (process.candidate, process.outside);
        let work = async |tenure: tenure::Tenure| {
            let adds = Arc::clone(&self).adds(tenure.clone(), outside.clone());
            match self.runs {
                Runs::InPlace => adds.await,
                Runs::Spawned => {
                    tokio::spawn(adds);
                    tenure.ended().await;
                }
            }
        };
        let _ = candidate.run_while_leader(work).await;
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
    let simulation = Simulation::new().runs(20).service(Tokens::service(true, OF_TOKENS));
    let report = simulation.run().unwrap();
    let judged = &report.summary.properties;
    assert!(judged["tokens-in-order"].compared > 500, "{judged:#?}");
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
    assert!(unexercised.len() <= 4, "{unexercised:?}");
    assert!(!judged.contains_key(PropertyName::FENCED_WRITES.as_str()));
    assert!(!report.unmet.iter().any(|name| name == "stale-write-fenced"), "{:?}", report.unmet);
}

#[test]
fn an_unfenced_service_fails_with_a_small_plan_that_replays() {
    let faults = [FaultKind::PauseAtGuard];
    let simulation = Simulation::new().faults(faults).runs(50);
    let simulation = simulation.service(Tokens::service(false, OF_TOKENS));
    let found = failed(simulation.run());
    assert_eq!(found.plan.faults.len(), 1, "{found}");
    let told = found.to_string();
    assert!(told.contains(&format!("TENURE_SIM_SEED={} TENURE_SIM_RUNS=1", found.seed)), "{told}");
    let plan = Plan::parse(told.lines().last().unwrap()).unwrap();
    assert_eq!(what(&failed(simulation.replay(&plan))), "out of order");
    Simulation::new().service(Tokens::service(true, OF_TOKENS)).replay(&plan).unwrap();

    let run = &data(found.page.as_ref().unwrap().html())["run"];
    assert_eq!(run["seed"], found.seed.to_string());
    let items = run["items"].as_array().unwrap();
    let calls: Vec<_> = items.iter().filter(|item| item["kind"] == "effect").collect();
    let last = calls.iter().max_by_key(|call| call["at"].as_u64()).unwrap();
    assert_eq!(last["label"], "call, after which tokens-in-order does not hold");
    assert_eq!(calls.iter().filter(|call| call["tone"] == "stale").count(), 1, "{calls:?}");
    // Each look once: no request is duplicated in this engine.
    let is_look = |item: &&Value| item["label"].as_str().unwrap().starts_with("look, knowing");
    let looks: Vec<_> = items.iter().filter(is_look).collect();
    assert!(looks.len() > 1, "{items:?}");
    assert!(looks.iter().all(|look| look["way"]["store"].as_array().unwrap().len() <= 1));
}

/// A process is paused inside of a poll, after the check and before the write. The write goes out,
/// though the library drops the work of a tenure that has ended. The test above has work that is
/// not dropped.
#[test]
fn an_unfenced_loop_in_place_is_found() {
    let simulation = |runs| Simulation::new().faults([FaultKind::PauseAtGuard]).runs(runs);
    let unfenced = Tokens::that_runs(Runs::InPlace, false, OF_TOKENS);
    let found = failed(simulation(50).service(unfenced).run());
    assert_eq!(what(&found), "out of order", "{found}");
    for runs in [Runs::InPlace, Runs::Spawned] {
        let report = simulation(20).service(Tokens::that_runs(runs, true, OF_TOKENS)).run();
        let judged = report.unwrap().summary.properties["tokens-in-order"];
        assert!(judged.compared > 500, "{runs:?}: {judged:?}");
    }
}

/// The leader checks its tenure before each write, which is enough where nothing is late.
#[test]
fn assumptions_of_a_service_are_respected() {
    let service = Tokens::service(false, &Assumption::ALL);
    let report = Simulation::new().runs(24).service(service).run().unwrap();
    let judged = report.summary.properties["tokens-in-order"];
    assert!((1..24).contains(&judged.checked) && judged.compared > 0, "{judged:?}");
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
