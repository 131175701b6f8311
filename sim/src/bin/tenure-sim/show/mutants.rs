//! Mutants, and what has caught them.

use tenure_sim::evidence::mutants::{Caught, Row, Seen, Trial};

/// The columns for each mutant.
pub(crate) const HEAD: [&str; 6] = ["mutant", "engine", "fails", "seed", "after", "built in"];

/// One line for each failure, and one for each missing failure.
pub(crate) fn lines(rows: &[Row]) -> Vec<[String; 6]> {
    let mut lines = Vec::new();
    for (row, trial) in rows.iter().flat_map(|row| row.trials.iter().map(move |trial| (row, trial)))
    {
        let mut line = |fails: &str, seed: String, after: String| {
            let mutant = row.mutant.clone();
            let engine = match &trial.store {
                None => trial.engine.to_string(),
                Some(store) => format!("{} {store}", trial.engine),
            };
            let built = format!("{:.0} s", row.build);
            lines.push([mutant, engine, fails.to_owned(), seed, after, built]);
        };
        for seen in &trial.sightings {
            line(name(&seen.seen), seen.seed.to_string(), format!("{:.1} s", seen.wall));
        }
        for property in &trial.missing {
            line(property, format!("not in {} seeds", trial.seeds), "-".to_owned());
        }
        if trial.sightings.is_empty() && trial.missing.is_empty() {
            line("nothing", format!("not in {} seeds", trial.seeds), "-".to_owned());
        }
    }
    lines
}

const fn name(seen: &Seen) -> &str {
    match seen {
        Seen::Property(name) | Seen::Unmet(name) => name.as_str(),
        Seen::Broke => "(an assertion)",
    }
}

/// A mutant's result.
pub(crate) fn summary(row: &Row) -> String {
    let trials: Vec<_> = row.trials.iter().map(one).collect();
    format!("{}: {} (built in {:.0} s)", row.mutant, trials.join("; "), row.build)
}

fn one(trial: &Trial) -> String {
    let first = trial.sightings.iter().map(|one| match &one.seen {
        Seen::Unmet(name) => format!("{name} was never met in {} seeds", one.seed),
        seen => format!("{} in seed {}", name(seen), one.seed),
    });
    let seen = first.collect::<Vec<_>>().join(", ");
    let missing = trial.missing.join(", ");
    match trial.end {
        Caught::ByProperties => format!("{}: caught: {seen}", trial.engine),
        Caught::ByAssertion => format!("{}: BROKE DOWN: {seen}", trial.engine),
        Caught::ByItsDeath => format!("{}: HUNG OR DIED; {seen}", trial.engine),
        Caught::Survived if missing.is_empty() => {
            format!("{}: SURVIVED {} seeds", trial.engine, trial.seeds)
        }
        Caught::Survived => {
            format!("{}: SURVIVED {} seeds: no {missing}; {seen}", trial.engine, trial.seeds)
        }
    }
}
