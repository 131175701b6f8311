//! The end of a run: each election has had one leader for a while in the recovery phase.
//!
//! An election waits for a leader, at most for the progress bound. Its tenure then has to lead for
//! [`RENEWALS`] renew intervals without a break, so that renewals are seen. If the plan hands over,
//! the leader is then asked to resign, and the same begins again with another tenure. A leader from
//! before the recovery phase may still lose its lead: then the election waits for the next one,
//! within the same bound.

use std::time::Duration;

use tenure_core::Config;

use super::{Plan, SimTime};

/// The number of renew intervals of the slowest candidate. Two renewals fit, at every permitted
/// rate of the leader's clock.
const RENEWALS: u32 = 3;

/// The end of a run.
#[derive(Debug)]
pub(crate) struct Ending {
    calm_from: SimTime,
    /// The longest time for which an election waits for a leader.
    bound: Duration,
    /// The time for which a tenure has to lead.
    lasts: Duration,
    elections: Vec<Election>,
}

#[derive(Clone, Copy, Debug)]
struct Election {
    state: State,
    /// True if its leader has yet to be asked to hand over.
    hands_over: bool,
    /// The token of the tenure whose leader was asked.
    resigned: Option<u64>,
    /// The election waits for a leader until then.
    waits_until: SimTime,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Waits,
    /// The tenure with that token leads, and has to lead until then.
    Leads {
        token: u64,
        until: SimTime,
    },
    Over(SimTime),
}

impl Ending {
    /// The end of a run of `plan`, whose candidates have those settings.
    pub(crate) fn of(plan: &Plan, configs: &[Config], elections: usize) -> Self {
        let calm_from = plan.calm_from();
        let bound = plan.progress_bound(configs) + Duration::from_millis(1);
        let interval = configs.iter().map(Config::renew_interval).max().unwrap_or_default();
        let election = Election {
            state: State::Waits,
            hands_over: plan.handover,
            resigned: None,
            waits_until: calm_from,
        };
        let elections = vec![election; elections];
        let mut ending = Self { calm_from, bound, lasts: interval * RENEWALS, elections };
        ending.begins_at(calm_from);
        ending
    }

    /// The end of the run, if the same tenures lead until then.
    pub(crate) fn at(&self) -> SimTime {
        let ends = self.elections.iter().map(|election| election.ends(self.bound));
        ends.max().unwrap_or(self.calm_from)
    }

    /// The recovery phase begins then: at the time of the plan, or later if a real server takes
    /// longer to come back.
    pub(crate) fn begins_at(&mut self, now: SimTime) {
        self.calm_from = now;
        for election in &mut self.elections {
            election.waits_until = now + self.bound;
        }
    }

    /// Takes the nodes and tokens that lead an election now. Returns the node that has to be asked
    /// to hand over, if there is one.
    pub(crate) fn observe(
        &mut self,
        now: SimTime,
        election: usize,
        mut leaders: impl Iterator<Item = (usize, u64)> + Clone,
    ) -> Option<usize> {
        if now <= self.calm_from {
            return None;
        }
        let election = &mut self.elections[election];
        if let State::Leads { token, until } = election.state
            && (now < until || election.hands_over)
        {
            match leaders.clone().find(|(_, other)| *other == token) {
                None => election.state = State::Waits,
                Some((node, _)) if now >= until => {
                    election.hands_over = false;
                    election.resigned = Some(token);
                    election.waits_until = now + self.bound;
                    election.state = State::Waits;
                    return Some(node);
                }
                Some(_) => return None,
            }
        }
        if now >= election.ends(self.bound) {
            election.state = State::Over(election.ends(self.bound));
        }
        let State::Waits = election.state else { return None };
        let (_, token) = leaders.find(|(_, token)| election.resigned != Some(*token))?;
        election.state = State::Leads { token, until: now + self.lasts };
        None
    }
}

impl Election {
    fn ends(&self, bound: Duration) -> SimTime {
        match self.state {
            State::Waits => self.waits_until,
            // Then the election waits for a successor.
            State::Leads { until, .. } if self.hands_over => until + bound,
            State::Leads { until, .. } => until,
            State::Over(at) => at,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FaultKind, NANOSECOND as NS, Scope, swarm};
    use super::*;

    const NO_LEADER: [(usize, u64); 0] = [];

    /// The end of a run with that many elections; the beginning of the recovery phase, the bound,
    /// and the time for which a tenure has to lead.
    fn ending(hands_over: bool, elections: usize) -> (Ending, SimTime, Duration, Duration) {
        let plan = Plan { handover: hands_over, ..swarm(1, &FaultKind::ALL, Scope::Model) };
        let ending = Ending::of(&plan, &plan.configs().unwrap(), elections);
        let (calm, bound, lasts) = (ending.calm_from, ending.bound, ending.lasts);
        (ending, calm, bound, lasts)
    }

    fn observe<const N: usize>(
        ending: &mut Ending,
        now: SimTime,
        leaders: [(usize, u64); N],
    ) -> Option<usize> {
        ending.observe(now, 0, leaders.into_iter())
    }

    #[test]
    fn a_tenure_leads_for_three_longest_renew_intervals() {
        let mut plan = swarm(1, &FaultKind::ALL, Scope::Model);
        let shorter = plan.settings.renew_interval_ms / 2;
        for node in &mut plan.nodes {
            node.settings =
                Some(super::super::Settings { renew_interval_ms: shorter, ..plan.settings });
        }
        plan.nodes[1].settings = None;
        let ending = Ending::of(&plan, &plan.configs().unwrap(), 1);
        assert_eq!(ending.lasts, 3 * Duration::from_millis(plan.settings.renew_interval_ms));
    }

    #[test]
    fn a_run_without_leader_ends_at_the_bound() {
        let (mut ending, calm, bound, _) = ending(true, 1);
        for now in [calm, calm + NS, calm + bound, calm + bound + NS] {
            assert_eq!(observe(&mut ending, now, NO_LEADER), None);
            assert_eq!(ending.at(), calm + bound);
        }
        assert_eq!(observe(&mut ending, calm + bound + 2 * NS, [(1, 7)]), None, "too late");
        assert_eq!(ending.at(), calm + bound);
    }

    #[test]
    fn a_lead_counts_from_the_recovery_phase() {
        let (mut ending, calm, bound, lasts) = ending(false, 1);
        observe(&mut ending, calm - NS, [(1, 7)]);
        observe(&mut ending, calm, [(1, 7)]);
        assert_eq!(ending.at(), calm + bound);
        observe(&mut ending, calm + NS, [(1, 7)]);
        observe(&mut ending, calm + 9 * NS, [(1, 7)]);
        assert_eq!(ending.at(), calm + NS + lasts);
    }

    #[test]
    fn a_recovery_phase_that_begins_late_is_as_long() {
        let (mut ending, calm, bound, lasts) = ending(true, 1);
        let late = calm + 2 * bound;
        ending.begins_at(late);
        assert_eq!(observe(&mut ending, late, [(1, 7)]), None);
        assert_eq!(ending.at(), late + bound);
        observe(&mut ending, late + NS, [(1, 7)]);
        assert_eq!(observe(&mut ending, late + NS + lasts, [(1, 7)]), Some(1));
        assert_eq!(ending.at(), late + NS + lasts + bound);
    }

    #[test]
    fn a_late_leader_leads_for_the_full_time() {
        let (mut ending, calm, bound, lasts) = ending(false, 1);
        observe(&mut ending, calm + bound - NS, [(1, 7)]);
        assert_eq!(ending.at(), calm + bound - NS + lasts);
    }

    #[test]
    fn a_successor_is_awaited_within_the_same_bound() {
        let (mut ending, calm, bound, lasts) = ending(false, 1);
        observe(&mut ending, calm + NS, [(1, 7)]);
        observe(&mut ending, calm + 2 * NS, NO_LEADER);
        assert_eq!(ending.at(), calm + bound);
        observe(&mut ending, calm + 3 * NS, [(0, 8)]);
        assert_eq!(ending.at(), calm + 3 * NS + lasts);
        observe(&mut ending, calm + 4 * NS, [(1, 9), (0, 8)]);
        assert_eq!(ending.at(), calm + 3 * NS + lasts, "it still leads");
        observe(&mut ending, calm + 5 * NS, [(1, 9)]);
        assert_eq!(ending.at(), calm + 5 * NS + lasts);
    }

    #[test]
    fn losing_the_lead_late_ends_the_run() {
        let (mut ending, calm, bound, _) = ending(false, 1);
        observe(&mut ending, calm + bound - NS, [(1, 7)]);
        observe(&mut ending, calm + bound + NS, [(0, 8)]);
        assert_eq!(ending.at(), calm + bound);
    }

    #[test]
    fn one_handover_and_then_another_tenure() {
        let (mut ending, calm, bound, lasts) = ending(true, 1);
        assert_eq!(observe(&mut ending, calm + NS, [(1, 7)]), None);
        assert_eq!(observe(&mut ending, calm + lasts, [(1, 7)]), None, "too early");
        assert_eq!(ending.at(), calm + NS + lasts + bound, "the run does not end yet");
        let asked = calm + NS + lasts;
        assert_eq!(observe(&mut ending, asked, [(1, 7)]), Some(1));
        assert_eq!(ending.at(), asked + bound);
        assert_eq!(observe(&mut ending, asked + 2 * NS, [(1, 7)]), None, "asked once");
        assert_eq!(ending.at(), asked + bound, "its own tenure does not count");
        assert_eq!(observe(&mut ending, asked + 3 * NS, [(1, 7), (0, 8)]), None);
        assert_eq!(ending.at(), asked + 3 * NS + lasts);
        assert_eq!(observe(&mut ending, asked + 3 * NS + lasts, [(0, 8)]), None, "asked once");
        assert_eq!(ending.at(), asked + 3 * NS + lasts);
    }

    #[test]
    fn a_lead_lost_before_the_handover_is_ignored() {
        let (mut ending, calm, bound, lasts) = ending(true, 1);
        observe(&mut ending, calm + NS, [(1, 7)]);
        assert_eq!(observe(&mut ending, calm + NS + lasts, NO_LEADER), None);
        assert_eq!(ending.at(), calm + bound);
        assert_eq!(observe(&mut ending, calm + 2 * NS + lasts, [(0, 8)]), None);
        assert_eq!(observe(&mut ending, calm + 2 * NS + 2 * lasts, [(0, 8)]), Some(0));
    }

    #[test]
    fn each_election_has_its_own_end() {
        let (mut ending, calm, _, lasts) = ending(false, 2);
        ending.observe(calm + NS, 0, [(0, 7)].into_iter());
        ending.observe(calm + 9 * NS, 1, [(1, 3)].into_iter());
        assert_eq!(ending.at(), calm + 9 * NS + lasts);
        ending.observe(calm + NS + lasts, 0, NO_LEADER.into_iter());
        ending.observe(calm + 2 * NS + lasts, 0, NO_LEADER.into_iter());
        assert_eq!(ending.at(), calm + 9 * NS + lasts, "the first one is over");
    }
}
