//! The succession of leads in a run: the times between them, whatever faults there were.
//!
//! These are figures, not judgements: `takeover-within` and `handover-within` judge them where they
//! are promised.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judge::State;
use crate::judge::properties::single_leader;
use crate::judge::recent::Recent;
use crate::plan::{Plan, SimTime};
use crate::trace::{Answer, Asked, Event, Reason, StoreStep, Who};

/// A kind of time between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interval {
    /// From a release at the store to the next lead, without a quarantine.
    Handover,
    /// From the end of a lease that lapsed to the next lead, without a quarantine.
    Takeover,
    /// From the first renewal that got no answer to the end of the lead, if that ended by the
    /// clock.
    CutOff,
    /// Between two leads, whatever the reason.
    Leaderless,
    /// In which two candidates lead.
    Overlap,
    /// The same in a run whose plan breaks an assumption of the promise of a single leader.
    OverlapBeyond,
}

impl Interval {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Handover,
        Self::Takeover,
        Self::CutOff,
        Self::Leaderless,
        Self::Overlap,
        Self::OverlapBeyond,
    ];

    /// Its description.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Handover => "release to next lead",
            Self::Takeover => "end of a lease to next lead",
            Self::CutOff => "first unanswered renewal to end of lead",
            Self::Leaderless => "no candidate leads",
            Self::Overlap => "two candidates lead",
            Self::OverlapBeyond => "two candidates lead, beyond an assumption",
        }
    }
}

/// The present time without a leader, or with several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gaps {
    nobody_since: Option<SimTime>,
    several_since: Option<SimTime>,
}

impl Gaps {
    /// From then on there are so many leaders: the time that this ends.
    pub(crate) fn count(&mut self, at: SimTime, leaders: usize) -> Option<(Interval, Duration)> {
        let ended = |of: Interval, since: &mut Option<SimTime>, holds: bool| {
            if holds {
                since.get_or_insert(at);
                return None;
            }
            since.take().map(|since| (of, at.since(since)))
        };
        let vacancy = ended(Interval::Leaderless, &mut self.nobody_since, leaders == 0);
        vacancy.or(ended(Interval::Overlap, &mut self.several_since, leaders > 1))
    }
}

/// Measures the times between the leads of one election.
#[derive(Clone, Debug, Default)]
pub struct Turnover {
    gaps: Gaps,
    released_at: Option<SimTime>,
    /// The last tenure that was granted without a quarantine, and what it has to be measured from.
    next: Option<(u64, Interval, SimTime)>,
    candidates: Recent<Who, Renewing>,
    measured: Vec<(Interval, Duration)>,
}

/// The state of a candidate that renews a lease.
#[derive(Clone, Copy, Debug, Default)]
struct Renewing {
    /// The first renewal since the last answer.
    unanswered: Option<SimTime>,
    /// Its further time as leader.
    went_on: Option<Duration>,
    has_expired: bool,
}

impl Turnover {
    /// Takes the next event into account, before which the election is in that state.
    pub fn observe(&mut self, at: SimTime, event: &Event, state: &State) {
        match *event {
            Event::Leads { who, token } => self.leads(at, (who, token), state),
            Event::LeadsNoMore { who } => {
                let candidate = self.candidates.of(who);
                candidate.went_on = candidate.unanswered.map(|since| at.since(since));
                self.cut_off(who);
                self.leads_no_more(at, who, state);
            }
            Event::Crashed { who } => {
                self.candidates.remove(who);
                self.leads_no_more(at, who, state);
            }
            Event::Elected { who, .. } => *self.candidates.of(who) = Renewing::default(),
            Event::Sent { who, request: Asked::Renew { .. }, .. } => {
                self.candidates.of(who).unanswered.get_or_insert(at);
            }
            Event::Answered { who, answer: Some(Answer::Renewed { .. }), .. } => {
                self.candidates.of(who).unanswered = None;
            }
            Event::SteppedDown { who, reason: Reason::Expired, .. } => {
                self.candidates.of(who).has_expired = true;
                self.cut_off(who);
            }
            Event::Store(ref step) => self.stepped(at, step),
            _ => {}
        }
    }

    /// The times that were measured so far in a run of that plan.
    pub fn measured(&self, plan: &Plan) -> Vec<(Interval, Duration)> {
        let mut measured = self.measured.clone();
        if plan.broken().iter().any(|broken| single_leader::RESTS_ON.contains(broken)) {
            let overlaps = measured.iter_mut().filter(|(of, _)| *of == Interval::Overlap);
            overlaps.for_each(|(of, _)| *of = Interval::OverlapBeyond);
        }
        measured
    }

    fn leads(&mut self, at: SimTime, (who, token): (Who, u64), state: &State) {
        let others = state.leaders().iter().filter(|leader| leader.who != who).count();
        self.measured.extend(self.gaps.count(at, others + 1));
        if let Some((_, interval, from)) = self.next.take_if(|(next, ..)| *next == token) {
            self.measured.push((interval, at.since(from)));
        }
    }

    fn leads_no_more(&mut self, at: SimTime, who: Who, state: &State) {
        if state.leads(who).is_some() {
            self.measured.extend(self.gaps.count(at, state.leaders().len() - 1));
        }
    }

    /// A lead has ended, or its end by the clock is reported: a paused candidate reports that
    /// later.
    fn cut_off(&mut self, who: Who) {
        let candidate = self.candidates.of(who);
        if candidate.has_expired
            && let Some(went_on) = candidate.went_on.take()
        {
            self.measured.push((Interval::CutOff, went_on));
        }
    }

    fn stepped(&mut self, at: SimTime, step: &StoreStep) {
        if step.answer == Answer::Released {
            self.released_at = Some(at);
        }
        let Some(token) = step.new_tenure() else { return };
        let from = step.before.and_then(|before| {
            if before.released {
                self.released_at.map(|at| (Interval::Handover, at))
            } else {
                Some((Interval::Takeover, before.lease_ends))
            }
        });
        self.next = from.map(|(interval, from)| (token, interval, from));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::properties::history::{self, RENEWED, back, grant};
    use crate::plan::ms;
    use crate::trace::Kept;

    const A: Who = Who { node: 0, life: 0 };
    const B: Who = Who { node: 1, life: 0 };

    /// The lease of another holder for each token.
    fn kept(token: u64, lease_ends: u64) -> Kept {
        history::kept(token.into(), token, history::millis(lease_ends))
    }

    fn granted(token: u64, before: Option<Kept>) -> Event {
        grant(before, kept(token, 900))
    }

    fn measured(history: &[(u64, Event)]) -> Vec<(Interval, u64)> {
        let (mut turnover, mut state) = (Turnover::default(), State::default());
        for (at, event) in history {
            turnover.observe(ms(*at), event, &state);
            state.observe(ms(*at), event);
        }
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        turnover.measured.iter().map(|(interval, time)| (*interval, millis(*time))).collect()
    }

    #[test]
    fn handovers_and_takeovers_are_measured() {
        let live = kept(1, 100);
        let history = [
            (10, granted(1, None)),
            (10, Event::Leads { who: A, token: 1 }),
            (20, Event::LeadsNoMore { who: A }),
            (22, history::release(live)),
            (25, granted(2, Some(back(live)))),
            (26, Event::Leads { who: B, token: 2 }),
            (50, Event::Crashed { who: B }),
            (103, granted(3, Some(kept(2, 100)))),
            (104, Event::Leads { who: A, token: 3 }),
        ];
        assert_eq!(
            measured(&history),
            [
                (Interval::Leaderless, 6),
                (Interval::Handover, 4),
                (Interval::Leaderless, 54),
                (Interval::Takeover, 4),
            ]
        );
    }

    #[test]
    fn a_leader_that_is_cut_off_and_an_overlap_are_measured() {
        let renew = |id| Event::Sent { who: A, id, request: Asked::Renew { token: 1 } };
        let expired =
            Event::SteppedDown { who: A, token: 1, reason: Reason::Expired, drain_ends: ms(60) };
        let history = [
            (10, Event::Leads { who: A, token: 1 }),
            (12, renew(1)),
            (13, Event::Answered { who: A, id: 1, answer: Some(RENEWED) }),
            (20, renew(2)),
            (30, renew(3)),
            (45, Event::Leads { who: B, token: 2 }),
            (50, Event::LeadsNoMore { who: A }),
            (51, expired),
        ];
        let expected = [(Interval::Overlap, 5), (Interval::CutOff, 30)];
        assert_eq!(measured(&history), expected);
    }
}
