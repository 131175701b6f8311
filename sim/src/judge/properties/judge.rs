//! The judge of a run: it passes the events to the properties, and keeps the violations.

use std::time::Duration;

use serde::Serialize;

use super::{About, Found, Property, PropertyName, State, Tally, Terms, all};
use crate::judge::finding::Finding;
use crate::plan::{Assumption, SimTime};
use crate::trace::Event;

/// A property that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The name of the property.
    pub property: PropertyName,
    /// The time at which it was found.
    pub at: SimTime,
    /// A description.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Judges one run. The default judge has no properties.
///
/// The caller passes the state of the election before each event, and folds the event into it
/// afterwards. The judge probes the properties with the leaders of that state at the time of every
/// event and just before it: a trace that was read from a file is judged like the run that wrote
/// it.
#[derive(Default)]
pub struct Judge {
    properties: Vec<Judged>,
    violations: Vec<Violation>,
    tick: Duration,
    /// True if it continues after a violation.
    continues: bool,
    /// A property that the caller judges, and how often it has compared something.
    also: Option<(PropertyName, u64)>,
}

struct Judged {
    property: Box<dyn Property>,
    about: About,
    tally: Tally,
    /// False if the plan breaks what the property rests on, or once it has not held.
    applies: bool,
}

impl Judged {
    fn in_time(&self, at: SimTime, state: &State) -> Found {
        if self.about.has_deadlines { self.property.in_time(at, state) } else { Ok(()) }
    }
}

impl Judge {
    /// For a run that breaks those assumptions: the properties that rest on none of them, and that
    /// are among the named ones, if any are named. It stops at the first violation, because a later
    /// one may be its consequence.
    pub fn new(terms: &Terms, broken: &[Assumption], only: Option<&[PropertyName]>) -> Self {
        let applies = |about: About| {
            let wanted = only.is_none_or(|only| only.contains(&about.name));
            wanted && !about.rests_on.iter().any(|rests| broken.contains(rests))
        };
        Self::of(all(terms).into_iter().filter(|property| applies(property.about())), terms.tick)
    }

    /// For a run of an engine with that tick: these properties.
    pub(crate) fn of(
        properties: impl IntoIterator<Item = Box<dyn Property>>,
        tick: Duration,
    ) -> Self {
        let judged = |property: Box<dyn Property>| {
            let about = property.about();
            Judged { property, about, tally: Tally::default(), applies: true }
        };
        let properties = properties.into_iter().map(judged).collect();
        Self { properties, tick, ..Self::default() }
    }

    /// The same, with each property up to its own first violation.
    #[must_use]
    pub fn continuing(self) -> Self {
        Self { continues: true, ..self }
    }

    /// The same without the named properties: the engine can't show what they compare.
    #[must_use]
    pub fn without(mut self, names: &[PropertyName]) -> Self {
        self.properties.retain(|judged| !names.contains(&judged.about.name));
        self
    }

    /// The caller judges a property of that name with so many comparisons, and reports violations
    /// by [`accuse`](Self::accuse).
    pub fn also(&mut self, property: PropertyName, compared: u64) {
        self.also = Some((property, compared));
    }

    /// Adds a violation of a property that the caller judges. A later violation than the first is
    /// kept only if this judge continues after violations, and only one for each property.
    pub fn accuse(&mut self, at: SimTime, property: PropertyName, finding: Finding) {
        let is_known = self.violations.iter().any(|violation| violation.property == property);
        if self.violations.is_empty() || self.continues && !is_known {
            self.violations.push(Violation { property, at, finding });
        }
    }

    /// Judges the next event, before which the election is in that state.
    pub fn observe(&mut self, at: SimTime, event: &Event, state: &State) {
        if at > state.at() {
            self.advance(at, state);
        }
        if let Event::Stalled { .. } = event {
            self.breaks(Assumption::Processor);
        }
        self.judge(
            at,
            |_| true,
            |judged| {
                judged.in_time(at, state)?;
                judged.property.observe(at, event, state, &mut judged.tally)
            },
        );
    }

    /// Ends the run at that time, in that state.
    pub fn finish(&mut self, at: SimTime, state: &State) {
        self.advance(at, state);
        self.judge(
            at,
            |_| true,
            |judged| {
                judged.in_time(at, state)?;
                judged.property.finish(at, &mut judged.tally)
            },
        );
    }

    /// The first violation.
    pub fn violation(&self) -> Option<&Violation> {
        self.violations.first()
    }

    /// All violations, at most one for each property.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// The judged properties, with the number of comparisons so far.
    pub fn judged(&self) -> impl Iterator<Item = (PropertyName, u64)> + '_ {
        let of = |judged: &Judged| (judged.about.name, judged.tally.compared());
        self.properties.iter().map(of).chain(self.also)
    }

    /// Stops judging what rests on that assumption.
    fn breaks(&mut self, assumption: Assumption) {
        for judged in &mut self.properties {
            judged.applies &= !judged.about.rests_on.contains(&assumption);
        }
    }

    /// Advances the time with the present leaders.
    fn advance(&mut self, at: SimTime, state: &State) {
        let (last, just_before) = (state.at(), at - self.tick);
        let probes = |judged: &Judged| judged.about.probes;
        let mut probe = |at| {
            self.judge(at, probes, |judged| judged.property.probe(at, state, &mut judged.tally));
        };
        probe(last);
        if just_before > last {
            probe(just_before);
        }
    }

    fn judge(
        &mut self,
        at: SimTime,
        wants: impl Fn(&Judged) -> bool,
        mut look: impl FnMut(&mut Judged) -> Found,
    ) {
        if !self.violations.is_empty() && !self.continues {
            return;
        }
        for judged in self.properties.iter_mut().filter(|judged| judged.applies && wants(judged)) {
            if let Err(finding) = look(judged) {
                self.violations.push(Violation { property: judged.about.name, at, finding });
                judged.applies = false;
                if !self.continues {
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
    use super::super::history::{grant, kept, leads, leads_no_more, n, span, stepped_down, terms};
    use super::*;
    use crate::plan::ns;
    use crate::trace::Reason;

    /// A judge, and the state of the election that it judges.
    struct Run(Judge, State);

    impl Run {
        fn new(judge: Judge) -> Self {
            Self(judge, State::default())
        }

        fn observe(&mut self, at: SimTime, event: &Event) {
            self.0.observe(at, event, &self.1);
            self.1.observe(at, event);
        }

        fn finish(&mut self, at: SimTime) {
            self.0.finish(at, &self.1);
        }

        fn violations(&self) -> Vec<(SimTime, PropertyName)> {
            self.0.violations().iter().map(|one| (one.at, one.property)).collect()
        }
    }

    fn judged(judge: &Judge) -> Vec<PropertyName> {
        judge.judged().map(|(name, _)| name).collect()
    }

    /// Two lead from 1 on.
    fn two_lead(judge: &mut Run) {
        judge.observe(ns(1), &leads(n(0), 7));
        judge.observe(ns(1), &leads(n(1), 8));
    }

    #[test]
    fn properties_with_broken_assumptions_are_not_judged() {
        let mut judge = Run::new(Judge::new(&terms(), &[Assumption::CandidateClocks], None));
        two_lead(&mut judge);
        judge.finish(ns(9));
        assert_eq!(judge.violations(), []);
        let names = judged(&judge.0);
        assert!(
            names.contains(&PropertyName::FENCED_WRITES)
                && names.contains(&PropertyName::OWN_LEASE_ONLY)
        );
        let at_stake = [
            PropertyName::SINGLE_LEADER,
            PropertyName::MARGIN_KEPT,
            PropertyName::FAIL_CLOSED,
            PropertyName::NO_RESURRECTION,
        ];
        assert!(at_stake.iter().all(|name| !names.contains(name)));
    }

    /// A stall ends the judgement of what rests on prompt processes, and of nothing else.
    #[test]
    fn a_stalled_process_excuses_from_promptness_alone() {
        let terms = Terms { progress_bound: span(10), ..terms() };
        let mut judge = Run::new(Judge::new(&terms, &[], None).continuing());
        judge.observe(ns(0), &Event::Calm);
        judge.observe(ns(1), &Event::Stalled { node: None });
        judge.observe(ns(99), &Event::Calm);
        judge.finish(ns(99));
        assert_eq!(judge.violations(), []);
        two_lead(&mut judge);
        judge.finish(ns(200));
        let names: Vec<_> = judge.violations().into_iter().map(|(_, name)| name).collect();
        assert!(names.contains(&PropertyName::SINGLE_LEADER), "{names:?}");
        let mut judge = Run::new(Judge::new(&terms, &[], None));
        judge.observe(ns(0), &Event::Calm);
        judge.finish(ns(99));
        let first = judge.violations().first().map(|(_, name)| *name);
        assert_eq!(first, Some(PropertyName::LEADER_WITHIN));
    }

    #[test]
    fn only_the_named_properties_are_judged() {
        let only: PropertyName = PropertyName::FAIL_CLOSED;
        let judge = Judge::new(&terms(), &[], Some(&[only]));
        assert_eq!(judged(&judge), [PropertyName::FAIL_CLOSED]);
        let judge = Judge::new(&terms(), &[Assumption::CandidateClocks], Some(&[only]));
        assert!(judged(&judge).is_empty());
    }

    #[test]
    fn leaders_are_probed_whenever_time_advances() {
        let only = PropertyName::SINGLE_LEADER;
        let mut judge = Run::new(Judge::new(&terms(), &[], Some(&[only])));
        two_lead(&mut judge);
        assert_eq!(judge.violations(), [], "one may end where the other begins");
        judge.observe(ns(1), &leads_no_more(n(0)));
        judge.observe(ns(5), &leads(n(0), 9));
        judge.observe(ns(6), &Event::Calm);
        assert_eq!(judge.violations(), [(ns(5), only)]);
    }

    /// There is no event at the moment at which the lead should have ended, and no leader
    /// afterwards.
    #[test]
    fn the_moment_before_an_event_is_probed() {
        let only: PropertyName = PropertyName::FAIL_CLOSED;
        let lease = kept(1, 7, 100);
        for (ends, violated) in [(90, None), (91, Some((ns(90), only)))] {
            let mut judge = Run::new(Judge::new(&terms(), &[], Some(&[only])));
            judge.observe(ns(0), &grant(None, lease));
            judge.observe(ns(1), &leads(n(0), 7));
            judge.observe(ns(ends), &leads_no_more(n(0)));
            judge.finish(ns(200));
            assert_eq!(judge.violations().first().copied(), violated, "over at {ends}");
        }
    }

    #[test]
    fn the_end_is_judged() {
        let terms = Terms { progress_bound: span(1_000), ..terms() };
        for (end, violated) in [(999, None), (1_000, Some(PropertyName::LEADER_WITHIN))] {
            let mut judge = Run::new(Judge::new(&terms, &[], None));
            judge.observe(ns(0), &Event::Calm);
            judge.finish(ns(end));
            assert_eq!(judge.violations().first().map(|(_, name)| *name), violated);
        }
    }

    #[test]
    fn later_violations_are_kept_if_everything_is_judged() {
        let wrong = stepped_down(n(0), 5, Reason::Expired);
        let violated = |judge| {
            let mut judge = Run::new(judge);
            judge.observe(ns(0), &wrong);
            two_lead(&mut judge);
            judge.finish(ns(9));
            judge.violations().into_iter().map(|(_, name)| name).collect::<Vec<_>>()
        };
        assert_eq!(
            violated(Judge::new(&terms(), &[], None)),
            [PropertyName::ONE_STEP_DOWN_PER_ELECTION]
        );
        let everything = violated(Judge::new(&terms(), &[], None).continuing());
        assert_eq!(
            everything,
            [
                PropertyName::ONE_STEP_DOWN_PER_ELECTION,
                PropertyName::SINGLE_LEADER,
                PropertyName::FAIL_CLOSED
            ]
        );
    }
}
