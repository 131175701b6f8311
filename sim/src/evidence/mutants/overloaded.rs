//! The hunt of the overload engine, whose plans are drawn from a seed and a number of elections
//! alone.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Instant;

use super::{Seen, Sighting};
use crate::engines::overload::{Plan, run};

/// So many that a renewal takes the slow store 40 ms.
const ELECTIONS: u32 = 400;

/// So many runs with faults for each one at a slow store.
const FAULTY: u64 = 16;

/// Runs seeds from 1 on until those properties have failed, or any if none is named, and writes the
/// first failure of each at once. A property that compared nothing has not failed.
///
/// # Errors
/// If a sighting can't be written.
pub fn hunt(mut out: impl Write, seeds: u64, until: &[String]) -> io::Result<()> {
    let (mut seen, began) = (BTreeSet::new(), Instant::now());
    for seed in 1..=seeds {
        // The runs with faults are the quick ones.
        let faulty = (0..FAULTY).map(|number| Plan::faulty((seed - 1) * FAULTY + number + 1));
        let plans = std::iter::once(Plan::drawn(seed, ELECTIONS)).chain(faulty);
        for violation in plans.flat_map(|plan| run(&plan).violations) {
            let what_failed = Seen::Property(violation.property.to_string());
            let what = violation.finding.to_string();
            if seen.insert(what_failed.clone()) {
                let wall = began.elapsed().as_secs_f64();
                serde_json::to_writer(&mut out, &Sighting { seen: what_failed, seed, what, wall })?;
                writeln!(out)?;
                out.flush()?;
            }
        }
        let has = |name: &String| seen.iter().any(|one| one.guard() == Some(name));
        if if until.is_empty() { !seen.is_empty() } else { until.iter().all(has) } {
            break;
        }
    }
    Ok(())
}
