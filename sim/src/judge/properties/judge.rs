//! The judge of a run: it tells the properties what happened, and keeps what did not hold.

use serde::Serialize;

use super::{Leader, Property, PropertyName, Terms, all};
use crate::plan::Assumption;
use crate::plan::clock::True;
use crate::trace::Event;

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Which one.
    pub property: &'static str,
    /// When it was seen.
    pub at: True,
    /// What is wrong.
    pub what: String,
}

/// Judges one run. The default one judges nothing.
///
/// It works out from the events who leads, and asks the properties about it at every instant at which
/// something happened and just before: a trace read back is judged like the run that wrote it.
#[derive(Default)]
pub struct Judge {
    properties: Vec<Judged>,
    violations: Vec<Violation>,
    leaders: Vec<Leader>,
    /// When the last event happened.
    at: True,
    tick: u64,
    /// Judge on beyond a violation.
    goes_on: bool,
    /// A property that is judged elsewhere, and how often it has compared something.
    also: Option<(&'static str, u64)>,
}

struct Judged {
    property: Box<dyn Property>,
    probes: bool,
    /// False if the plan breaks what the property rests on, or once it has not held.
    applies: bool,
}

impl Judge {
    /// For a run that breaks those assumptions: all properties, or only those named. It stops at the
    /// first violation: what follows may be its consequence.
    pub fn new(terms: &Terms, broken: &[Assumption], only: Option<&[PropertyName]>) -> Self {
        let properties = all(terms).into_iter().filter_map(|property| {
            let wanted = only.is_none_or(|only| only.contains(&PropertyName(property.name())));
            let applies = wanted && !property.assumes().iter().any(|rests| broken.contains(rests));
            applies.then(|| Judged { probes: property.probes(), property, applies })
        });
        Self { properties: properties.collect(), tick: terms.tick, ..Self::default() }
    }

    /// All properties, whatever the plan breaks, each up to its own first violation: for runs that are
    /// meant to show which promises rest on what.
    pub fn of_everything(terms: &Terms) -> Self {
        Self::of_each(terms, &[])
    }

    /// All properties that rest on nothing the plan breaks, each up to its own first violation: for runs
    /// that are meant to show which properties see a bug.
    pub fn of_each(terms: &Terms, broken: &[Assumption]) -> Self {
        Self { goes_on: true, ..Self::new(terms, broken, None) }
    }

    /// A property of that name is judged elsewhere, with so many comparisons; a violation is an
    /// [accusation](Self::accuse).
    pub fn also(&mut self, property: &'static str, compared: u64) {
        self.also = Some((property, compared));
    }

    /// A property that is judged elsewhere does not hold. Nothing more is kept after a first violation,
    /// unless everything is wanted.
    pub fn accuse(&mut self, at: True, property: &'static str, what: String) {
        let is_known = self.violations.iter().any(|violation| violation.property == property);
        if self.violations.is_empty() || self.goes_on && !is_known {
            self.violations.push(Violation { property, at, what });
        }
    }

    /// Looks at what happened next.
    pub fn observe(&mut self, at: True, event: &Event) {
        if at > self.at {
            self.go_by(at);
        }
        match *event {
            Event::Leads { who, token } => {
                self.leaders.retain(|leader| leader.who != who);
                self.leaders.push(Leader { who, token });
            }
            Event::LeadsNoMore { who } | Event::Crashed { who } => {
                self.leaders.retain(|leader| leader.who != who);
            }
            _ => {}
        }
        self.judge(at, |_| true, |property| property.observe(at, event));
    }

    /// The run is over.
    pub fn finish(&mut self, at: True) {
        self.go_by(at);
        self.judge(at, |_| true, |property| property.finish(at));
    }

    /// The first violation.
    pub fn violation(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// All violations, at most one for each property.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Which properties are judged, and how often each has compared something so far.
    pub fn judged(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let of = |judged: &Judged| (judged.property.name(), judged.property.compared());
        self.properties.iter().map(of).chain(self.also)
    }

    /// Time goes by, with the leaders that there are.
    fn go_by(&mut self, at: True) {
        let leaders = std::mem::take(&mut self.leaders);
        let (then, just_before) = (self.at, at.saturating_sub(self.tick));
        let probes = |judged: &Judged| judged.probes;
        self.judge(then, probes, |property| property.probe(then, &leaders));
        if just_before > then {
            self.judge(just_before, probes, |property| property.probe(just_before, &leaders));
        }
        self.leaders = leaders;
        self.at = at;
    }

    fn judge(
        &mut self,
        at: True,
        wants: impl Fn(&Judged) -> bool,
        mut look: impl FnMut(&mut dyn Property) -> Result<(), String>,
    ) {
        if !self.violations.is_empty() && !self.goes_on {
            return;
        }
        for judged in self.properties.iter_mut().filter(|judged| judged.applies && wants(judged)) {
            if let Err(what) = look(&mut *judged.property) {
                self.violations.push(Violation { property: judged.property.name(), at, what });
                judged.applies = false;
                if !self.goes_on {
                    return;
                }
            }
        }
    }
}

impl std::fmt::Debug for Judge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Judge").field("violations", &self.violations).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::history::{grant, kept, leads, leads_no_more, n, stepped_down, terms};
    use super::*;
    use crate::trace::Reason;

    fn judged(judge: &Judge) -> Vec<&'static str> {
        judge.judged().map(|(name, _)| name).collect()
    }

    /// Two lead from 1 on.
    fn two_lead(judge: &mut Judge) {
        judge.observe(1, &leads(n(0), 7));
        judge.observe(1, &leads(n(1), 8));
    }

    #[test]
    fn what_rests_on_a_broken_assumption_is_not_judged() {
        let mut judge = Judge::new(&terms(), &[Assumption::CandidateClocks], None);
        two_lead(&mut judge);
        judge.finish(9);
        assert_eq!(judge.violation(), None);
        let names = judged(&judge);
        assert!(names.contains(&"fenced-writes") && names.contains(&"own-lease-only"));
        let at_stake = ["single-leader", "margin-kept", "fail-closed", "no-resurrection"];
        assert!(at_stake.iter().all(|name| !names.contains(name)));
    }

    #[test]
    fn only_what_was_asked_for_is_judged() {
        let only: PropertyName = "fail-closed".parse().expect("a name");
        let judge = Judge::new(&terms(), &[], Some(&[only]));
        assert_eq!(judged(&judge), ["fail-closed"]);
        let judge = Judge::new(&terms(), &[Assumption::StoreClock], Some(&[only]));
        assert!(judged(&judge).is_empty());
    }

    #[test]
    fn leaders_are_probed_whenever_time_goes_by() {
        let mut judge =
            Judge::new(&terms(), &[], Some(&["single-leader".parse().expect("a name")]));
        two_lead(&mut judge);
        assert_eq!(judge.violation(), None, "one may end where the other begins");
        judge.observe(1, &leads_no_more(n(0)));
        judge.observe(5, &leads(n(0), 9));
        judge.observe(6, &Event::Calm);
        assert_eq!(judge.violation().map(|first| first.at), Some(5));
    }

    /// Nothing happened at the moment at which the lead should have been over, and afterwards nobody leads.
    #[test]
    fn the_moment_before_an_event_is_probed() {
        let only: PropertyName = "fail-closed".parse().expect("a name");
        let lease = kept(1, 7, 100);
        for (ends, violated) in [(90, None), (91, Some(90))] {
            let mut judge = Judge::new(&terms(), &[], Some(&[only]));
            judge.observe(0, &grant(None, lease));
            judge.observe(1, &leads(n(0), 7));
            judge.observe(ends, &leads_no_more(n(0)));
            judge.finish(200);
            assert_eq!(judge.violation().map(|first| first.at), violated, "over at {ends}");
        }
    }

    #[test]
    fn the_end_is_judged() {
        let terms = Terms { progress_bound: 1_000, ..terms() };
        for (end, violated) in [(999, None), (1_000, Some("leader-within"))] {
            let mut judge = Judge::new(&terms, &[], None);
            judge.observe(0, &Event::Calm);
            judge.finish(end);
            assert_eq!(judge.violation().map(|first| first.property), violated);
        }
    }

    #[test]
    fn only_the_first_violation_is_told_unless_everything_is_wanted() {
        let wrong = stepped_down(n(0), 5, Reason::Expired);
        let told = |mut judge: Judge| {
            judge.observe(0, &wrong);
            two_lead(&mut judge);
            judge.finish(9);
            judge.violations().iter().map(|one| one.property).collect::<Vec<_>>()
        };
        assert_eq!(told(Judge::new(&terms(), &[], None)), ["one-step-down-per-election"]);
        let everything = told(Judge::of_everything(&terms()));
        assert_eq!(everything, ["one-step-down-per-election", "single-leader", "fail-closed"]);
    }
}
