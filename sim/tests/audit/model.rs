//! Logs that processes of the model engine would have written.

use tenure_sim::engines::Engine;
use tenure_sim::evidence::audited::{Audits, audited, is_within_assumptions, logs, plan};
use tenure_sim::judge::Judging;

#[test]
fn runs_within_the_assumptions_are_innocent() {
    let audits = Audits::of_seeds(600, 2);
    assert!(audits.violated.is_empty(), "{:#?}", audits.violated);
    assert_eq!(audits.broke, 0);
    assert!(audits.runs == 600 && audits.tenures > 2 * audits.runs, "{audits:#?}");
    for (property, counts) in &audits.properties {
        assert!(counts.compared > 1_000, "{property}: {counts:?}");
    }
}

/// A run with two tenures of different nodes.
fn seed() -> u64 {
    let compares = |seed: &u64| {
        let plan = plan(*seed);
        is_within_assumptions(&plan)
            && audited(&plan).is_ok_and(|report| report.properties["single-leader"].compared > 2)
    };
    (1..1_000).find(compares).unwrap()
}

#[test]
fn a_claim_that_is_put_into_the_next_one_is_found() {
    let plan = plan(seed());
    let outcome = Engine::Model.run(&plan, Judging::default()).unwrap();
    let mut found = 0;
    let logs = logs(&plan, &outcome.trace);
    for (name, _) in &logs {
        let mut audit =
            tenure_sim::audit::Audit::new(super::support::within(super::support::ms(1)));
        for (of, text) in &logs {
            // The process believes in each claim for an hour, and reports no end.
            let text = if of == name { longer(text) } else { text.clone() };
            audit.read(of, text.as_bytes()).unwrap();
        }
        let report = audit.judge().unwrap();
        found += report.violations.iter().filter(|one| one.property == "single-leader").count();
    }
    assert!(found > 0);
}

/// Each step-down comes an hour later, and each claim lasts two.
fn longer(text: &str) -> String {
    let hour = 3_600_000_000_000_u64;
    let mut out = String::new();
    for line in text.lines() {
        let mut line: serde_json::Value = serde_json::from_str(line).unwrap();
        if let Some(end) = line.get_mut("stepped-down") {
            end["at"] = (end["at"].as_u64().unwrap() + hour).into();
        }
        for kind in ["elected", "renewed"] {
            if let Some(claim) = line.get_mut(kind) {
                claim["left"] = (2 * hour).into();
            }
        }
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out
}
