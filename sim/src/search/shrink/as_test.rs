//! A plan as a regression test: it fails until the bug is fixed.

use crate::engines::Engine;
use crate::judge::{Judging, Which};
use crate::plan::Plan;

/// A Rust file with one `#[test]` that replays the plan and asserts that nothing is violated. It
/// belongs in the `tests` folder of a package that has `tenure-sim` among its development
/// dependencies, or in any module of one. `why` is written above the test, in a comment.
///
/// It contains the plan as text, so its meaning does not change if a field gets another default.
pub fn as_test(engine: Engine, plan: &Plan, judging: Judging<'_>, name: &str, why: &str) -> String {
    let engine = match engine {
        Engine::Model => "Engine::Model".to_owned(),
        #[cfg(feature = "turmoil")]
        Engine::Turmoil => "Engine::Turmoil".to_owned(),
        #[cfg(feature = "real")]
        Engine::Real(_) => format!("{:?}.parse::<Engine>()?", engine.name()),
    };
    let (way, which) = match judging {
        Judging::StopAtFirst(which) => ("StopAtFirst", which),
        Judging::KeepJudging(which) => ("KeepJudging", which),
    };
    let which = match which {
        Which::Applicable => "Which::Applicable".to_owned(),
        Which::All => "Which::All".to_owned(),
        Which::Named(names) => {
            let names: Vec<String> =
                names.iter().map(|name| format!("{:?}.parse()?", name.to_string())).collect();
            format!("Which::Named(&[{}])", names.join(", "))
        }
    };
    let judging = format!("Judging::{way}({which})");
    let name = name.replace('-', "_");
    let why: Vec<String> =
        why.lines().map(|line| format!("/// {line}").trim_end().to_owned()).collect();
    let (why, plan) = (why.join("\n"), plan.to_text());
    format!(
        r##"//! A run that failed, made small by `tenure-sim shrink`.

use tenure_sim::engines::Engine;
use tenure_sim::judge::{{Judging, Which}};
use tenure_sim::plan::Plan;

{why}
#[test]
fn {name}_holds() -> Result<(), Box<dyn std::error::Error>> {{
    let plan = Plan::parse(PLAN)?;
    let outcome = {engine}.run(&plan, {judging})?;
    assert_eq!(outcome.judge.violation(), None);
    Ok(())
}}

const PLAN: &str = r#"{plan}"#;
"##
    )
}
