//! Code of docs/audit.md, docs/report.md and docs/simulation/searches.md.

use redis::aio::MultiplexedConnection;
use tenure::fence::redis::TakenOver;
use tenure::store::Memory;
use tenure::{Candidate, Elections, Tenure};
use tenure_sim::engines::Engine;
use tenure_sim::judge::Judging;
use tenure_sim::plan::Plan;
use tenure_sim::report::{RunPage, run_page};
use tenure_sim::search::shrink::Budget;

use super::Outcome;

#[expect(dead_code, reason = "it writes to a folder of the system")]
fn with_a_log(store: Memory) -> Result<Candidate, Box<dyn std::error::Error>> {
    let log = tenure::trace::Log::create_in("/var/log/worker")?; // one new file for this process
    let elections = Elections::new(store).trace(log.clone());
    let candidate = elections.candidate("nightly-report").start()?;
    before_the_end(&log);
    Ok(candidate)
}

#[expect(dead_code, reason = "it needs a server")]
async fn write(
    tenure: &Tenure,
    taken_over: &TakenOver,
    connection: &mut MultiplexedConnection,
    report: &[u8],
) {
    let write = tenure.trace_write("reports"); // just before a fenced write
    let result = taken_over.set(connection, "reports:last", report).await;
    write.ended(&result); // accepted, refused or unknown
}

fn before_the_end(log: &tenure::trace::Log) {
    log.flush(); // at the end of the program
}

/// A plan of a control, which breaks an assumption and so is not judged by what rests on it.
fn plan() -> Plan {
    tenure_sim::evidence::controls::ALL[0].plan(1)
}

#[expect(dead_code, reason = "it writes to the current folder")]
fn write_a_page() -> Outcome {
    let plan = plan();
    let outcome = Engine::Model.run(&plan, Judging::default())?;
    std::fs::write("failed.html", run_page(&RunPage::of("model", &plan, &outcome)))?;
    Ok(())
}

fn shrink() -> Outcome {
    let plan = plan();
    let budget = Budget::default_for(Engine::Model);
    let shrunk =
        tenure_sim::search::shrink::shrink(Engine::Model, &plan, Judging::default(), budget)?;
    panic!("{}: {}", shrunk.symptom, shrunk.plan.to_text());
}

#[test]
fn a_plan_that_holds_is_not_shrunk() {
    let error = shrink().unwrap_err().to_string();
    assert!(error.contains("does not fail in the model engine"), "{error}");
}
