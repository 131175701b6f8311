//! The points of a run at which a process can be stopped, found in its trace.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::plan::{Plan, Point, RequestKind, SimTime, Trigger, When};
use crate::trace::{Answer, Entry, Event, Who};

/// A point of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot {
    /// The point as a plan names it.
    pub when: When,
    /// The node, if `when` does not name it.
    pub node: Option<usize>,
    /// The time at which the run reaches it.
    pub at: SimTime,
}

/// All points before the recovery phase, in the order of time: just before and just after each
/// request is sent; each reply; between each check and its write; each grant; each beginning of a
/// lead; and the milliseconds before and after a lead ends.
///
/// Points at the end of a pause are omitted: the process catches up then, and the trace does not
/// show whether it reached a point at that moment or before the pause.
pub fn points(plan: &Plan, entries: &[Entry]) -> Vec<Spot> {
    let mut seen = Seen::default();
    for Entry { at, event } in entries {
        seen.observe(*at, event);
    }
    let calm_from = plan.calm_from();
    let mut spots = seen.spots;
    spots.retain(|spot| spot.at + Duration::from_millis(1) <= calm_from);
    spots.sort_by_key(|spot| spot.at);
    spots
}

/// The occurrences that a trigger counts.
type What = (Point, Option<usize>, Option<RequestKind>);

#[derive(Default)]
struct Seen {
    spots: Vec<Spot>,
    counts: BTreeMap<(u8, Option<usize>, Option<u8>), u32>,
    /// By process and number.
    asked: BTreeMap<(Who, u64), RequestKind>,
    healed: BTreeMap<usize, SimTime>,
    /// The time of each process's last check, as its writes report it.
    checks: BTreeMap<Who, SimTime>,
}

impl Seen {
    fn observe(&mut self, at: SimTime, event: &Event) {
        match *event {
            Event::Healed { node: Some(node), .. } => {
                self.healed.insert(node, at);
            }
            Event::Sent { who, id, request } => {
                let of = request.kind();
                self.asked.insert((who, id), of);
                self.reach((Point::Send, Some(who.node), Some(of)), who.node, at);
                self.reach((Point::Sent, Some(who.node), Some(of)), who.node, at);
            }
            Event::Answered { who, id, answer: Some(answer) } if answer != Answer::Other => {
                if let Some(of) = self.asked.get(&(who, id)).copied()
                    && !self.has_just_resumed(who.node, at)
                {
                    self.reach((Point::Reply, Some(who.node), Some(of)), who.node, at);
                }
            }
            Event::Wrote { who, checked, .. } if self.checks.get(&who) < Some(&checked) => {
                self.checks.insert(who, checked);
                self.reach((Point::Guard, Some(who.node), None), who.node, checked);
            }
            Event::Store(ref step) if step.new_tenure().is_some() => self.granted(at),
            Event::Leads { who, .. } => {
                self.reach((Point::Leads, Some(who.node), None), who.node, at);
            }
            Event::LeadsNoMore { who } => {
                let before = at.as_millis();
                for at_ms in [before, before + 1] {
                    let (when, node) = (When::AtMs(at_ms), Some(who.node));
                    self.spots.push(Spot { when, node, at: SimTime::from_millis(at_ms) });
                }
            }
            _ => {}
        }
    }

    /// A grant to any node: the store does not know the node.
    fn granted(&mut self, at: SimTime) {
        let nth = self.count((Point::Grant, None, None));
        self.push((Point::Grant, None, None), nth, at);
    }

    /// Counts the point, and adds it unless its process is catching up.
    fn reach(&mut self, what: What, node: usize, at: SimTime) {
        let nth = self.count(what);
        if !self.has_just_resumed(node, at) {
            self.push(what, nth, at);
        }
    }

    fn has_just_resumed(&self, node: usize, at: SimTime) -> bool {
        self.healed.get(&node) == Some(&at)
    }

    fn count(&mut self, (point, node, of): What) -> u32 {
        let count = self.counts.entry((point as u8, node, of.map(|of| of as u8))).or_default();
        *count += 1;
        *count
    }

    fn push(&mut self, (point, node, of): What, nth: u32, at: SimTime) {
        let when = When::On(Trigger { point, node, of, nth, after_ms: 0 });
        self.spots.push(Spot { when, node: None, at });
    }
}
