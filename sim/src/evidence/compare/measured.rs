//! Measures one run by its trace.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::judge::turnover::{Gaps, Interval};
use crate::judge::{Leader, State};
use crate::plan::{FaultKind, SimTime};
use crate::trace::{Answer, Entry, Event, StoreStep, Who};

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The longest true time for which two running nodes answered at once that they lead. A paused
    /// process does not answer.
    pub overlap: Duration,
    /// The longest true time, after the start of the run had settled, for which no running node
    /// answered that it leads.
    pub vacancy: Duration,
    /// Writes of an older tenure that arrived after one of a newer: a sink that checks no tokens
    /// accepts them.
    pub stale: u64,
    /// Those of these writes that a sink that checks tokens has accepted.
    pub stale_fenced: u64,
    /// The time from the request to leave, or to hand over, to the next lead.
    pub handover: Option<Takeover>,
    /// The time from the lease's end, or the crash if that is later, to the next lead.
    pub takeover: Option<Takeover>,
}

/// The time until the next lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takeover {
    /// The next lead began after that time.
    After(Duration),
    /// There was no other lead before the old leader was back, or the run ended.
    Never,
}

/// A time during which two running nodes answered at once that they lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Its beginning.
    pub from: SimTime,
    /// Its end.
    pub until: SimTime,
    /// Two of its leaders.
    pub leaders: [Leader; 2],
}

impl Measured {
    /// Measures a run whose start has settled at that time.
    pub fn of(entries: &[Entry], settled: SimTime) -> Self {
        Watch::of(entries, settled).measured
    }
}

/// The times of a run during which two running nodes answered at once that they lead.
pub fn overlaps(entries: &[Entry]) -> Vec<Overlap> {
    Watch::of(entries, SimTime::START).overlaps
}

#[derive(Default)]
struct Watch {
    measured: Measured,
    overlaps: Vec<Overlap>,
    /// Two leaders of the present overlap.
    both: Option<[Leader; 2]>,
    /// The state before the event that is observed.
    state: State,
    /// The number of faults that pause each node.
    pauses: BTreeMap<usize, u32>,
    gaps: Gaps,
    settled: SimTime,
    /// The newest tenure whose write has arrived, at each sink.
    newest: [u64; 2],
    /// The present holder, and the end of its lease.
    lease: Option<(u128, SimTime)>,
    /// The leader that was asked to leave, or that crashed, and the time of that.
    left: Option<(Who, SimTime)>,
    crashed: Option<(Who, SimTime)>,
}

impl Watch {
    fn of(entries: &[Entry], settled: SimTime) -> Self {
        let mut watch = Self { settled, ..Self::default() };
        for Entry { at, event } in entries {
            watch.observe(*at, event);
        }
        let end = entries.last().map_or(SimTime::START, |entry| entry.at);
        watch.settle(end);
        // What lasts until then counts.
        watch.count(end, 1);
        watch
    }

    fn observe(&mut self, at: SimTime, event: &Event) {
        if at > self.state.at() {
            self.settle(self.state.at());
        }
        match *event {
            Event::Leads { who, .. } => self.takes_over(at, who),
            Event::Crashed { who } => {
                let led = self.state.leads(who).is_some();
                if led && self.crashed.is_none() && self.measured.takeover.is_none() {
                    self.crashed = Some((who, at));
                    self.measured.takeover = Some(Takeover::Never);
                }
            }
            Event::ResignAsked { who, .. }
                if self.state.leads(who).is_some() && self.measured.handover.is_none() =>
            {
                self.left = Some((who, at));
                self.measured.handover = Some(Takeover::Never);
            }
            Event::Fault { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                *self.pauses.entry(node).or_default() += 1;
            }
            Event::Healed { kind, node: Some(node) } if FaultKind::PAUSES.contains(&kind) => {
                *self.pauses.entry(node).or_default() -= 1;
            }
            Event::Healed { kind: FaultKind::Crash | FaultKind::Leave, .. } => {
                (self.left, self.crashed) = (None, None);
            }
            Event::Store(StoreStep { holder, answer, after: Some(after), .. }) => {
                // A renewal that the crashed leader had sent still counts.
                let is_others = self.crashed.is_some()
                    && matches!(answer, Answer::Granted { .. })
                    && self.lease.is_some_and(|(of, _)| of != holder);
                if !is_others && after.mark.holder == holder {
                    self.lease = Some((holder, after.lease_ends));
                }
            }
            Event::Wrote { token, accepted_by_fenced, .. } => self.wrote(token, accepted_by_fenced),
            _ => {}
        }
        self.state.observe(at, event);
    }

    /// All events of that moment are known: counts the leaders.
    fn settle(&mut self, at: SimTime) {
        let runs = |who: &Who| self.pauses.get(&who.node).is_none_or(|faults| *faults == 0);
        let mut leaders = self.state.leaders().iter().filter(|leader| runs(&leader.who));
        let leading = leaders.clone().count();
        if let (Some(one), Some(other)) = (leaders.next(), leaders.next()) {
            self.both.get_or_insert([*one, *other]);
        }
        // A run begins without a leader, which does not count.
        self.count(at, if at < self.settled { leading.max(1) } else { leading });
    }

    fn count(&mut self, at: SimTime, leading: usize) {
        let Some((of, time)) = self.gaps.count(at, leading) else { return };
        let Measured { overlap, vacancy, .. } = &mut self.measured;
        let longest = if of == Interval::Overlap { overlap } else { vacancy };
        *longest = time.max(*longest);
        if let Some(leaders) = self.both.take_if(|_| of == Interval::Overlap) {
            self.overlaps.push(Overlap { from: at - time, until: at, leaders });
        }
    }

    fn takes_over(&mut self, at: SimTime, by: Who) {
        if let Some((who, since)) = self.left
            && who != by
        {
            let took = at.since(since);
            self.measured.handover = Some(Takeover::After(took));
            self.left = None;
        }
        if let Some((who, since)) = self.crashed
            && who != by
        {
            let ended = self.lease.map_or(since, |(_, ends)| ends.max(since));
            let took = at.since(ended);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ns;

    const A: Who = Who { node: 0, life: 0 };
    const B: Who = Who { node: 1, life: 0 };

    fn measured(events: &[(u64, Event)]) -> Measured {
        let entries: Vec<Entry> =
            events.iter().map(|(at, event)| Entry { at: ns(*at), event: event.clone() }).collect();
        Measured::of(&entries, SimTime::START)
    }

    #[test]
    fn two_leaders_overlap_unless_one_is_paused() {
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
    fn adjacent_leads_do_not_overlap() {
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
    fn overlaps_have_their_times_and_leaders() {
        let events = [
            (0, Event::Leads { who: A, token: 1 }),
            (10, Event::Leads { who: B, token: 2 }),
            (17, Event::LeadsNoMore { who: A }),
            (20, Event::Leads { who: A, token: 3 }),
            (25, Event::Calm),
        ];
        let entries = events.map(|(at, event)| Entry { at: ns(at), event });
        let lead = |who, token| Leader { who, token };
        let [first, second] = overlaps(&entries).try_into().expect("two overlaps");
        let leaders = [lead(A, 1), lead(B, 2)];
        assert_eq!(first, Overlap { from: ns(10), until: ns(17), leaders });
        assert_eq!((second.from, second.until), (ns(20), ns(25)));
        assert!(second.leaders.contains(&lead(A, 3)) && second.leaders.contains(&lead(B, 2)));
    }

    #[test]
    fn handovers_and_takeovers_need_another_leader() {
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
    fn older_writes_after_newer_ones_are_stale() {
        let wrote = |token, accepted_by_fenced| Event::Wrote {
            who: A,
            token,
            checked: SimTime::START,
            takes_over: false,
            accepted_by_fenced,
        };
        let events = [wrote(1, true), wrote(2, true), wrote(1, false), wrote(1, true)];
        let run = measured(&events.map(|event| (0, event)));
        assert_eq!((run.stale, run.stale_fenced), (2, 1));
    }
}
