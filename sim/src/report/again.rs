//! The commands that carry a run out again, or make its plan smaller. They are built from what the
//! run itself was given, so that they have the same plan and the same properties.

use std::path::Path;

use crate::engines::Engine;
use crate::judge::properties::PropertyName;
use crate::judge::{Judging, Which};
use crate::plan::{FaultKind, Plan, swarm};

/// A run, as the arguments of the command name it.
#[derive(Clone, Copy, Debug)]
pub struct Again<'a> {
    /// The engine's name in reports.
    pub engine: &'a str,
    /// The source of its plan.
    pub plan: PlanFrom<'a>,
    /// The properties that judge it.
    pub judging: Judging<'a>,
}

/// The source of a plan.
#[derive(Clone, Copy, Debug)]
pub enum PlanFrom<'a> {
    /// It is drawn.
    Seed {
        /// The seed.
        seed: u64,
        /// The kinds of faults that it is drawn from.
        faults: &'a [FaultKind],
    },
    /// It is in that file.
    File(&'a Path),
}

impl Again<'_> {
    /// The command that carries the run out again, for a shell.
    pub fn replay(&self) -> String {
        let judged = match self.which() {
            Which::Applicable => String::new(),
            Which::Named(names) => {
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                format!(" --properties {}", names.join(","))
            }
            Which::All => " --beyond".to_owned(),
        };
        format!("tenure-sim replay {}{judged}", self.arguments())
    }

    /// The command that makes its plan smaller, for a shell. `property` is the one that failed, if
    /// one did.
    pub fn shrink(&self, property: Option<&str>) -> String {
        let judged = match (self.which(), property) {
            (Which::All, _) => " --everything".to_owned(),
            (Which::Applicable | Which::Named(_), Some(property)) => {
                format!(" --property {}", quoted(property))
            }
            (Which::Applicable | Which::Named(_), None) => String::new(),
        };
        format!("tenure-sim shrink {}{judged}", self.arguments())
    }

    fn engine(&self) -> Option<Engine> {
        self.engine.parse().ok()
    }

    /// The properties that the command must name: none, if they are all of the engine.
    fn which(&self) -> Which<'_> {
        let (Judging::StopAtFirst(which) | Judging::KeepJudging(which)) = self.judging;
        match which {
            Which::Named(names)
                if names.is_empty()
                    || self.engine().is_some_and(|engine| {
                        engine.properties().all(|name| names.contains(&name))
                    }) =>
            {
                Which::Applicable
            }
            Which::Applicable | Which::Named(_) | Which::All => which,
        }
    }

    fn arguments(&self) -> String {
        let known = self.engine();
        let engine =
            known.map_or_else(|| format!("--engine {}", quoted(self.engine)), Engine::arguments);
        match self.plan {
            PlanFrom::File(path) => {
                format!("{engine} --plan {}", quoted(&path.display().to_string()))
            }
            PlanFrom::Seed { seed, faults }
                if known.is_some_and(|known| known.scope().kinds() == faults) =>
            {
                format!("{engine} --seed {seed}")
            }
            PlanFrom::Seed { seed, faults } => {
                let names: Vec<&str> = faults.iter().map(|kind| kind.name()).collect();
                format!("{engine} --seed {seed} --faults {}", names.join(","))
            }
        }
    }
}

/// The command for the page of a run that those properties have judged. It reads `plan.json`, which
/// the page offers to save, unless the plan is drawn from its seed alone.
pub(super) fn of_page(engine: &str, plan: &Plan, judged: &[PropertyName]) -> String {
    let known = engine.parse::<Engine>().ok();
    let kinds = known.map_or_else(Vec::new, |known| known.scope().kinds());
    let is_drawn = known.is_some_and(|known| swarm(plan.seed, &kinds, known.scope()) == *plan);
    let from = if is_drawn {
        PlanFrom::Seed { seed: plan.seed, faults: &kinds }
    } else {
        PlanFrom::File(Path::new("plan.json"))
    };
    let judging = known.map_or_else(Judging::default, |known| judging(known, plan, judged));
    Again { engine, plan: from, judging }.replay()
}

/// The judging under which those properties judge a plan's run.
fn judging<'a>(engine: Engine, plan: &Plan, judged: &'a [PropertyName]) -> Judging<'a> {
    let Ok(configs) = plan.configs() else { return Judging::default() };
    let judge = Judging::default().judge(plan, &configs, engine.tick());
    let applicable: Vec<PropertyName> = judge.judged().map(|(name, _)| name).collect();
    let is_beyond =
        |name: &PropertyName| PropertyName::ALL.contains(name) && !applicable.contains(name);
    // Of a real run no command gives the same events.
    if judged.iter().any(is_beyond) {
        Judging::KeepJudging(Which::All)
    } else if engine.simulates() && !applicable.iter().all(|name| judged.contains(name)) {
        Judging::StopAtFirst(Which::Named(judged))
    } else {
        Judging::default()
    }
}

/// An argument, so that a shell reads it as it is.
pub fn quoted(argument: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
    if !argument.is_empty() && argument.chars().all(is_plain) {
        argument.to_owned()
    } else {
        format!("'{}'", argument.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::controls::Control;
    use crate::plan::Scope;

    /// The properties that judge a plan's run in the model engine.
    fn judged(plan: &Plan, judging: Judging<'_>) -> Vec<PropertyName> {
        let outcome = Engine::Model.run(plan, judging).expect("a run");
        outcome.judge.judged().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_page_names_plan_and_properties_of_its_run() {
        let (applicable, all) = (Judging::default(), Judging::KeepJudging(Which::All));
        let drawn = swarm(7, &Scope::Model.kinds(), Scope::Model);
        let control: Control = "drift".parse().expect("a control");
        let beyond = control.plan(1);
        let named = [PropertyName::FAIL_CLOSED, PropertyName::FENCED_WRITES];
        let some = Judging::StopAtFirst(Which::Named(&named));
        let of_file = "--plan plan.json";
        for (plan, judging, arguments) in [
            (&drawn, applicable, "--seed 7"),
            (&drawn, some, "--seed 7 --properties fail-closed,fenced-writes"),
            (&beyond, applicable, of_file),
            (&beyond, all, "--plan plan.json --beyond"),
        ] {
            let again = of_page("model", plan, &judged(plan, judging));
            assert_eq!(again, format!("tenure-sim replay --engine model {arguments}"));
        }
        assert_eq!(
            of_page("steam", &drawn, &[]),
            "tenure-sim replay --engine steam --plan plan.json"
        );
    }

    #[test]
    fn a_run_is_shrunk_with_its_plan_and_property() {
        let plan = PlanFrom::Seed { seed: 3, faults: &[FaultKind::Crash, FaultKind::Pause] };
        let again = Again { engine: "model", plan, judging: Judging::default() };
        let shrink = "tenure-sim shrink --engine model --seed 3 --faults crash,pause";
        assert_eq!(again.shrink(None), shrink);
        assert_eq!(again.shrink(Some("luck")), format!("{shrink} --property luck"));
        let plan = PlanFrom::File(Path::new("a plan"));
        let again = Again { plan, judging: Judging::KeepJudging(Which::All), ..again };
        let shrink = "tenure-sim shrink --engine model --plan 'a plan' --everything";
        assert_eq!(again.shrink(Some("luck")), shrink);
    }
}
