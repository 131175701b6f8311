//! The safety margin of a run: the least true time between one tenure's last permitted write and
//! the next tenure's first.
//!
//! A write is permitted while `is_leader()` of its node is true. How near the next tenure may come
//! depends on how the first one ended. A lease that lapsed kept all others out for a stop margin
//! and more after the last permitted write. A lease that was handed back is free as soon as its
//! work has ended, so only the latency of messages lies between. The two are counted separately.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::judge::State;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Event};

/// A tenure's end before the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// Its lease ended by time, or was lost with the store's data.
    Lapsed,
    /// It was handed back.
    HandedBack,
}

/// Measures the time between the writes of one tenure and the next.
#[derive(Clone, Debug, Default)]
pub struct Margin {
    /// The last tenure that was handed back.
    handed_back: Option<u64>,
    last: Option<(u64, SimTime)>,
    lapsed: Option<Duration>,
    after_handover: Option<Duration>,
}

impl Margin {
    /// Takes the next event into account, before which the election is in that state.
    pub fn observe(&mut self, at: SimTime, event: &Event, state: &State) {
        match event {
            Event::Store(step) => {
                if let (Asked::Release { token }, Answer::Released) = (step.request, step.answer) {
                    self.handed_back = Some(token);
                }
            }
            Event::Wrote { who, token, .. } if state.leads(*who) == Some(*token) => {
                self.wrote(at, *token);
            }
            _ => {}
        }
    }

    fn wrote(&mut self, at: SimTime, token: u64) {
        if let Some((before, last_write)) = self.last
            && before != token
        {
            let gap = at.since(last_write);
            let least = match self.handed_back {
                Some(released) if released == before => &mut self.after_handover,
                _ => &mut self.lapsed,
            };
            *least = Some(least.map_or(gap, |least| least.min(gap)));
        }
        self.last = Some((token, at));
    }

    /// The least margin so far; `None` if no tenure followed another.
    pub fn least(&self) -> Option<Duration> {
        self.lapsed.into_iter().chain(self.after_handover).min()
    }

    /// The least margin so far after tenures that ended in that way.
    pub fn least_after(&self, ending: Ending) -> Option<Duration> {
        match ending {
            Ending::Lapsed => self.lapsed,
            Ending::HandedBack => self.after_handover,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::properties::history::{kept, release};
    use crate::plan::ns;
    use crate::trace::Who;

    const A: Who = Who { node: 0, life: 0 };
    const B: Who = Who { node: 1, life: 0 };

    fn wrote(who: Who, token: u64) -> Event {
        Event::Wrote {
            who,
            token,
            checked: SimTime::START,
            takes_over: false,
            accepted_by_fenced: true,
        }
    }

    fn watched(events: impl IntoIterator<Item = (u64, Event)>) -> Margin {
        let (mut margin, mut state) = (Margin::default(), State::default());
        for (at, event) in events {
            margin.observe(ns(at), &event, &state);
            state.observe(ns(at), &event);
        }
        margin
    }

    #[test]
    fn stale_writes_do_not_count() {
        let margin = watched([
            (1, Event::Leads { who: A, token: 1 }),
            (5, wrote(A, 1)),
            (6, Event::LeadsNoMore { who: A }),
            (9, wrote(A, 1)),
            (10, Event::Leads { who: B, token: 2 }),
            (12, wrote(B, 2)),
        ]);
        assert_eq!(margin.least(), Some(Duration::from_nanos(7)));
        assert_eq!(margin.least_after(Ending::Lapsed), Some(Duration::from_nanos(7)));
        assert_eq!(margin.least_after(Ending::HandedBack), None);
    }

    #[test]
    fn a_handed_back_lease_counts_separately() {
        let margin = watched([
            (1, Event::Leads { who: A, token: 1 }),
            (5, wrote(A, 1)),
            (6, Event::LeadsNoMore { who: A }),
            (7, release(kept(1, 1, 100))),
            (8, Event::Leads { who: B, token: 2 }),
            (8, wrote(B, 2)),
            (9, Event::LeadsNoMore { who: B }),
            (50, Event::Leads { who: A, token: 3 }),
            (60, wrote(A, 3)),
        ]);
        assert_eq!(margin.least_after(Ending::HandedBack), Some(Duration::from_nanos(3)));
        assert_eq!(margin.least_after(Ending::Lapsed), Some(Duration::from_nanos(52)));
        assert_eq!(margin.least(), Some(Duration::from_nanos(3)));
    }
}
