//! Plans from anywhere: what is read is carried out, and holds; what is not read is said clearly.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use tenure_sim::engines::{Engine, EngineError};
use tenure_sim::judge::Judging;
use tenure_sim::plan::Plan;

/// Longer plans than that only take longer.
const MOST_MS: u64 = 120_000;

fuzz_target!(|text: &str| -> Corpus {
    let plan = match Plan::parse(text) {
        Ok(plan) => plan,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Corpus::Keep;
        }
    };
    assert_eq!(Plan::parse(&plan.to_text()).ok().as_ref(), Some(&plan), "written and read again");
    if !is_short(&plan) {
        return Corpus::Keep;
    }
    match Engine::Model.run(&plan, Judging::default()) {
        Ok(outcome) => {
            let violation = outcome.judge.violation();
            assert!(violation.is_none(), "{violation:?}");
        }
        Err(EngineError::Plan(_)) => {}
        Err(error) => panic!("{error}"),
    }
    Corpus::Keep
});

/// True if it takes milliseconds to carry out.
fn is_short(plan: &Plan) -> bool {
    let Ok(configs) = plan.configs() else { return true };
    let longest = plan.settings.ttl_ms.max(plan.progress_bound(&configs).as_millis() as u64);
    plan.calm_from_ms.saturating_add(longest) <= MOST_MS
        && plan.work.every_ms >= 100
        && plan.nodes.len() <= 9
        && plan.faults.len() <= 32
        && configs.iter().all(|config| config.ttl().as_millis() >= 300)
}
