//! What is measured of one run, from its trace.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::FaultKind;
use crate::plan::clock::True;
use crate::trace::{Answer, Entry, Event, StoreStep, Who};

/// What is measured of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The longest true time for which two running nodes said at once that they lead. A process that
    /// stands still says nothing.
    pub overlap: Duration,
    /// The longest true time, once everything had settled, for which no running node said that it leads.
    pub vacancy: Duration,
    /// Writes of an older tenure that arrived after one of a newer: a sink that checks no tokens takes
    /// them.
    pub stale: u64,
    /// Those of them that a sink that checks tokens has taken all the same.
    pub stale_fenced: u64,
    /// From the request to leave, or to hand over, to the next lead.
    pub handover: Option<Takeover>,
    /// From the lease's end, or the crash if that is later, to the next lead.
    pub takeover: Option<Takeover>,
}

/// How long it took until the next one led.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// That long.
    After(Duration),
    /// Nobody did before the old one was back, or the run over.
    Never,
}

impl Measured {
    /// Measures a run that had begun and settled by then.
    pub fn of(entries: &[Entry], settled: True) -> Self {
        let mut watch = Watch { settled, ..Watch::default() };
        for Entry { at, event } in entries {
            watch.observe(*at, event);
        }
        watch.settle(entries.last().map_or(0, |entry| entry.at));
        watch.measured
    }
}

#[derive(Default)]
struct Watch {
    measured: Measured,
    /// Who says that it leads.
    leading: BTreeMap<Who, u64>,
    /// How many faults keep a node from saying anything.
    standing: BTreeMap<usize, u32>,
    overlaps_since: Option<True>,
    settled: True,
    vacant_since: Option<True>,
    last: True,
    /// The newest tenure of which a write has arrived, at either sink.
    newest: [u64; 2],
    /// When the present holder's lease ends.
    lease: Option<(u128, True)>,
    /// Who was asked to leave, or crashed, and when.
    left: Option<(Who, True)>,
    crashed: Option<(Who, True)>,
}

impl Watch {
    fn observe(&mut self, at: True, event: &Event) {
        if at > self.last {
            self.settle(self.last);
            self.last = at;
        }
        match *event {
            Event::Leads { who, token } => {
                self.leading.insert(who, token);
                self.takes_over(at, who);
            }
            Event::LeadsNoMore { who } => {
                self.leading.remove(&who);
            }
            Event::Crashed { who } => {
                let led = self.leading.remove(&who).is_some();
                if led && self.crashed.is_none() && self.measured.takeover.is_none() {
                    self.crashed = Some((who, at));
                    self.measured.takeover = Some(Takeover::Never);
                }
            }
            Event::ResignAsked { who, .. }
                if self.leading.contains_key(&who) && self.measured.handover.is_none() =>
            {
                self.left = Some((who, at));
                self.measured.handover = Some(Takeover::Never);
            }
            Event::Fault { kind, node: Some(node) } if stands_still(kind) => {
                *self.standing.entry(node).or_default() += 1;
            }
            Event::Healed { kind, node: Some(node) } if stands_still(kind) => {
                *self.standing.entry(node).or_default() -= 1;
            }
            Event::Healed { kind: FaultKind::Crash | FaultKind::Leave, .. } => {
                (self.left, self.crashed) = (None, None);
            }
            Event::Store(StoreStep { holder, answer, after: Some(after), .. }) => {
                // A renewal that the crashed leader had sent still counts.
                let is_others = self.crashed.is_some()
                    && matches!(answer, Answer::Granted { .. })
                    && self.lease.is_some_and(|(of, _)| of != holder);
                if !is_others && after.holder == holder {
                    self.lease = Some((holder, after.lease_ends));
                }
            }
            Event::Wrote { token, accepted_by_fenced, .. } => self.wrote(token, accepted_by_fenced),
            _ => {}
        }
    }

    /// All that happened at one moment has: whether two lead.
    fn settle(&mut self, at: True) {
        let runs = |who: &Who| self.standing.get(&who.node).is_none_or(|faults| *faults == 0);
        let leading = self.leading.keys().filter(|who| runs(who)).count();
        let Measured { overlap, vacancy, .. } = &mut self.measured;
        lasts(&mut self.overlaps_since, leading > 1, at, overlap);
        // A run begins without a leader, and that is nobody's fault.
        let is_vacant = at >= self.settled && leading == 0;
        lasts(&mut self.vacant_since, is_vacant, at, vacancy);
    }

    fn takes_over(&mut self, at: True, by: Who) {
        if let Some((who, since)) = self.left
            && who != by
        {
            let took = Duration::from_nanos(at - since);
            self.measured.handover = Some(Takeover::After(took));
            self.left = None;
        }
        if let Some((who, since)) = self.crashed
            && who != by
        {
            let ended = self.lease.map_or(since, |(_, ends)| ends.max(since));
            let took = Duration::from_nanos(at.saturating_sub(ended));
            self.measured.takeover = Some(Takeover::After(took));
            self.crashed = None;
        }
    }

    fn wrote(&mut self, token: u64, accepted_by_fenced: bool) {
        let [newest, newest_fenced] = &mut self.newest;
        self.measured.stale += u64::from(token < *newest);
        *newest = token.max(*newest);
        if accepted_by_fenced {
            self.measured.stale_fenced += u64::from(token < *newest_fenced);
            *newest_fenced = token.max(*newest_fenced);
        }
    }
}

/// How long a state has lasted at the longest, if it holds from that moment on or no longer.
fn lasts(since: &mut Option<True>, holds: bool, at: True, longest: &mut Duration) {
    if let Some(since) = *since {
        *longest = Duration::from_nanos(at - since).max(*longest);
    }
    *since = if holds { since.or(Some(at)) } else { None };
}

const fn stands_still(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::Pause
            | FaultKind::PauseAtGuard
            | FaultKind::PauseAtSend
            | FaultKind::PauseAfterSend
            | FaultKind::PauseAtReply
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Who = Who { node: 0, life: 0 };
    const B: Who = Who { node: 1, life: 0 };

    fn measured(events: &[(True, Event)]) -> Measured {
        let entries: Vec<Entry> =
            events.iter().map(|(at, event)| Entry { at: *at, event: event.clone() }).collect();
        Measured::of(&entries, 0)
    }

    #[test]
    fn two_that_lead_at_once_overlap_unless_one_stands_still() {
        let pause = FaultKind::Pause;
        let run = measured(&[
            (0, Event::Leads { who: A, token: 1 }),
            (10, Event::Fault { kind: pause, node: Some(0) }),
            (20, Event::Leads { who: B, token: 2 }),
            (50, Event::Healed { kind: pause, node: Some(0) }),
            (57, Event::LeadsNoMore { who: A }),
            (99, Event::Calm),
        ]);
        assert_eq!(run.overlap, Duration::from_nanos(7));
        assert_eq!(run.vacancy, Duration::from_nanos(10));
    }

    #[test]
    fn a_lead_that_passes_on_at_one_moment_does_not_overlap() {
        let run = measured(&[
            (0, Event::Leads { who: A, token: 1 }),
            (10, Event::Leads { who: B, token: 2 }),
            (10, Event::LeadsNoMore { who: A }),
            (20, Event::Calm),
        ]);
        assert_eq!(run.overlap, Duration::ZERO);
    }

    #[test]
    fn an_overlap_that_lasts_to_the_end_counts() {
        let run = measured(&[
            (0, Event::Leads { who: A, token: 1 }),
            (10, Event::Leads { who: B, token: 2 }),
            (25, Event::Calm),
        ]);
        assert_eq!(run.overlap, Duration::from_nanos(15));
    }

    #[test]
    fn handovers_and_takeovers_are_by_another() {
        let run = measured(&[
            (0, Event::Leads { who: A, token: 1 }),
            (10, Event::ResignAsked { who: A, hold_off: None }),
            (11, Event::LeadsNoMore { who: A }),
            (30, Event::Leads { who: B, token: 2 }),
            (40, Event::Crashed { who: B }),
            (90, Event::Calm),
        ]);
        assert_eq!(run.handover, Some(Takeover::After(Duration::from_nanos(20))));
        assert_eq!(run.takeover, Some(Takeover::Never));
    }

    #[test]
    fn a_stale_write_is_one_of_an_older_tenure_after_one_of_a_newer() {
        let wrote = |token, accepted_by_fenced| Event::Wrote {
            who: A,
            token,
            checked: 0,
            takes_over: false,
            accepted_by_fenced,
        };
        let events = [wrote(1, true), wrote(2, true), wrote(1, false), wrote(1, true)];
        let run = measured(&events.map(|event| (0, event)));
        assert_eq!((run.stale, run.stale_fenced), (2, 1));
    }
}
