//! A run that failed, made small by `tenure-sim shrink`.

use tenure_sim::engines::Engine;
use tenure_sim::judge::{Judging, Which};
use tenure_sim::plan::Plan;

/// margin-kept: n0 claims token 1767225600001000 until 1.948198018s, its lease ends at 1.667s, and
/// 99.0099ms must lie between
#[test]
fn margin_kept_holds() -> Result<(), Box<dyn std::error::Error>> {
    let plan = Plan::parse(PLAN)?;
    let outcome = Engine::Model.run(&plan, Judging::StopAtFirst(Which::Applicable))?;
    assert_eq!(outcome.judge.violation(), None);
    Ok(())
}

const PLAN: &str = r#"{
  "schema": 1,
  "seed": 0,
  "settings": {
    "ttl_ms": 1000,
    "renew_interval_ms": 333,
    "request_timeout_ms": 100,
    "stop_margin_ms": 100,
    "retry_least_ms": 6,
    "retry_most_ms": 66,
    "poll_bound_ms": 1000,
    "drain_bound_ms": 1000,
    "quarantine_ms": 1000,
    "granularity_ns": 1,
    "drift_ppm": 10000
  },
  "nodes": [
    {
      "clock_offset_ms": 0,
      "clock_rate_ppm": 0
    }
  ],
  "store": {
    "clock_rate_ppm": 0,
    "trust_empty_store": false
  },
  "latency_us": [
    1000,
    1000
  ],
  "work": {
    "every_ms": 100,
    "takes_us": 0
  },
  "faults": [
    {
      "when": {
        "on": {
          "point": "reply",
          "node": 0,
          "of": null,
          "after_ms": 400
        }
      },
      "for_ms": 400,
      "what": {
        "pause": {
          "node": 0
        }
      }
    }
  ],
  "calm_from_ms": 2000,
  "handover": false
}"#;
