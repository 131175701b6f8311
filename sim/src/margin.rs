//! The safety margin of a run: the least true time between one tenure's last permitted write and the
//! next tenure's first.

use std::time::Duration;

use crate::clock::True;
use crate::properties::recent::Recent;
use crate::trace::{Event, Who};

/// Watches writes. A write is permitted while `is_leader()` of its node is true.
#[derive(Clone, Debug, Default)]
pub struct Margin {
    leads: Recent<Who, u64>,
    last: Option<(u64, True)>,
    least: Option<Duration>,
}

impl Margin {
    /// Looks at what happened next.
    pub fn observe(&mut self, at: True, event: &Event) {
        match *event {
            Event::Leads { who, token } => {
                self.leads.insert(who, token);
            }
            Event::LeadsNoMore { who } | Event::Crashed { who } => {
                self.leads.remove(who);
            }
            Event::Wrote { who, token, .. } if self.leads.get(who) == Some(&token) => {
                if let Some((before, then)) = self.last
                    && before != token
                {
                    let gap = Duration::from_nanos(at.saturating_sub(then));
                    self.least = Some(self.least.map_or(gap, |least| least.min(gap)));
                }
                self.last = Some((token, at));
            }
            _ => {}
        }
    }

    /// The least one so far; `None` if no tenure followed another.
    pub fn least(&self) -> Option<Duration> {
        self.least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_writes_do_not_count() {
        let (a, b) = (Who { node: 0, life: 0 }, Who { node: 1, life: 0 });
        let wrote = |who, token| Event::Wrote { who, token, checked: 0, accepted_by_fenced: true };
        let mut margin = Margin::default();
        for (at, event) in [
            (1, Event::Leads { who: a, token: 1 }),
            (5, wrote(a, 1)),
            (6, Event::LeadsNoMore { who: a }),
            (9, wrote(a, 1)),
            (10, Event::Leads { who: b, token: 2 }),
            (12, wrote(b, 2)),
        ] {
            margin.observe(at, &event);
        }
        assert_eq!(margin.least(), Some(Duration::from_nanos(7)));
    }
}
