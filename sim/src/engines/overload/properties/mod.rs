//! What must hold when a store is slower than its elections need.

mod bounded_window;
mod fair_within_a_class;
mod no_lead_lost;
mod renewals;
mod renewals_before_acquires;
mod spread;
mod tenures;
#[cfg(test)]
mod tests;

use super::journal::{Event, digest};
use super::plan::Plan;
use super::{Outcome, OverloadError, Violation};
use crate::judge::finding::Finding;
use crate::judge::properties::{Found, PropertyName, Tally};
use crate::plan::SimTime;

/// A statement that must hold in every run.
trait Property {
    fn name(&self) -> PropertyName;

    fn observe(&mut self, plan: &Plan, at: SimTime, event: &Event, tally: &mut Tally) -> Found;

    /// Judges the end of the run.
    fn finish(&mut self, plan: &Plan, tally: &mut Tally) -> Found {
        let _ = (plan, tally);
        Ok(())
    }
}

/// The names of all properties, in the order in which they judge.
pub fn names() -> impl Iterator<Item = PropertyName> {
    all().into_iter().map(|property| property.name())
}

fn all() -> Vec<Box<dyn Property>> {
    vec![
        Box::new(no_lead_lost::NoLeadLost::default()),
        Box::new(renewals_before_acquires::RenewalsBeforeAcquires::default()),
        Box::new(fair_within_a_class::FairWithinAClass::default()),
        Box::new(tenures::SingleLeader),
        Box::new(tenures::TokensIncrease::default()),
        Box::new(tenures::OneStepDown::default()),
        Box::new(spread::Spread::default()),
        Box::new(bounded_window::BoundedWindow::default()),
    ]
}

/// Judges a run by all properties.
///
/// # Errors
/// If the journal has a gap.
pub(super) fn judge(plan: &Plan, entries: &[(SimTime, Event)]) -> Result<Outcome, OverloadError> {
    let mut outcome = Outcome {
        compared: Vec::new(),
        violations: Vec::new(),
        hash: digest(entries),
        events: entries.len(),
        leaders: 0,
        in_flight: 0,
    };
    for mut property in all() {
        let (name, mut tally) = (property.name(), Tally::default());
        let (mut at, mut found) = (SimTime::START, Ok(()));
        for (time, event) in entries {
            if let Event::Lagged(who) = event {
                return Err(OverloadError::Lagged { who: *who, at: *time });
            }
            at = *time;
            found = property.observe(plan, at, event, &mut tally);
            if found.is_err() {
                break;
            }
        }
        let found = found.and_then(|()| {
            at = plan.end();
            property.finish(plan, &mut tally)
        });
        if let Err(finding) = found {
            outcome.violations.push(Violation { property: name, at, finding });
        }
        outcome.compared.push((name, tally.compared()));
    }
    outcome.leaders = most(entries.iter().map(|(_, event)| match event {
        Event::Elected { .. } => 1,
        Event::SteppedDown { .. } => -1,
        _ => 0,
    }));
    outcome.in_flight = most(entries.iter().map(|(_, event)| match event {
        Event::CallBegan { process: 0 } => 1,
        Event::CallEnded { process: 0 } => -1,
        _ => 0,
    }));
    Ok(outcome)
}

/// The largest sum on the way.
fn most(steps: impl Iterator<Item = isize>) -> usize {
    let sums = steps.scan(0_isize, |sum, step| {
        *sum += step;
        Some(*sum)
    });
    usize::try_from(sums.max().unwrap_or(0)).unwrap_or(0)
}
