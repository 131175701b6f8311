//! Renewals that were bunched are spread again.
//!
//! **Theorem.** In a healthy phase, from two intervals after its beginning on, no second has more
//! than twice the mean number of renewals. Right after a pause no second has more than that and the
//! few that may leave at once, without those whose claims end before two slow attempts could.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::plan::{Kind, Phase, Plan};
use crate::judge::State;
use crate::judge::finding::Finding;
use crate::judge::properties::{About, Found, Property, PropertyName, Tally};
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Event, Who};

const SECOND: Duration = Duration::from_secs(1);

/// The most overdue renewals sent at once.
const AT_ONCE: usize = 40;

pub(super) struct Spread {
    plan: Plan,
    /// The times of renewals.
    sent: Vec<SimTime>,
    /// Those of them that could have waited.
    patient: Vec<SimTime>,
    /// The time of each candidate's last request.
    asked: BTreeMap<Who, SimTime>,
    /// The end of each claim.
    claims: BTreeMap<Who, SimTime>,
}

impl Property for Spread {
    fn about(&self) -> About {
        About::of(PropertyName::SPREAD_OVER_THE_INTERVAL)
    }

    fn observe(&mut self, at: SimTime, event: &Event, _: &State, _: &mut Tally) -> Found {
        let config = self.plan.config();
        match *event {
            Event::Sent { who, request, .. } => {
                self.asked.insert(who, at);
                if let Asked::Renew { .. } = request {
                    self.sent.push(at);
                    let two_slow_attempts = config.request_timeout() * 3 + config.retry().1;
                    let claim = self.claims.get(&who);
                    if claim.is_none_or(|until| until.since(at) > two_slow_attempts) {
                        self.patient.push(at);
                    }
                }
            }
            Event::Answered {
                who,
                answer: Some(Answer::Granted { .. } | Answer::Renewed { .. }),
                ..
            } => {
                let sent = self.asked.get(&who).copied().unwrap_or(at);
                self.claims.insert(who, sent + config.validity());
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(&mut self, _: SimTime, tally: &mut Tally) -> Found {
        let mut is_after_pause = false;
        for phase in &self.plan.phases {
            if phase.kind == Kind::Healthy {
                self.judge(phase, is_after_pause, tally)?;
            }
            is_after_pause = phase.kind == Kind::Paused;
        }
        Ok(())
    }
}

impl Spread {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            plan: plan.clone(),
            sent: Vec::new(),
            patient: Vec::new(),
            asked: BTreeMap::new(),
            claims: BTreeMap::new(),
        }
    }

    fn judge(&self, phase: &Phase, is_after_pause: bool, tally: &mut Tally) -> Found {
        let settled = phase.from + self.plan.config().renew_interval() * 2;
        let usual = seconds(&self.sent, settled, phase.until);
        let all: usize = usual.iter().map(|(_, sent)| sent).sum();
        let first =
            if is_after_pause { seconds(&self.patient, phase.from, settled) } else { Vec::new() };
        let bounds = usual.iter().map(|one| (one, 0)).chain(first.iter().map(|one| (one, AT_ONCE)));
        for ((at, sent), more) in bounds {
            tally.count(all > 0);
            if sent.saturating_sub(more) * usual.len() > 2 * all {
                let mean = all / usual.len();
                return Err(Finding::RenewalsBunched { from: *at, sent: *sent, mean });
            }
        }
        Ok(())
    }
}

/// The whole seconds of that time, and how many of these are in each.
fn seconds(sent: &[SimTime], mut from: SimTime, until: SimTime) -> Vec<(SimTime, usize)> {
    let before = |time| sent.partition_point(|sent| *sent < time);
    let mut seconds = Vec::new();
    while from + SECOND <= until {
        seconds.push((from, before(from + SECOND) - before(from)));
        from = from + SECOND;
    }
    seconds
}
