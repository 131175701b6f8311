//! The parts of a run of the overload engine: its elections, and the store's rate over time.

use std::time::Duration;

use serde::Serialize;
use tenure_core::Config;

use super::faults::{Fault, Shell};
use crate::plan::draw::Draw;
use crate::plan::{RequestKind, SimTime};

/// A run of many elections at one store whose rate changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// The seed of holder ids and of the moments at which candidates join.
    pub seed: u64,
    /// The number of elections of the first process.
    pub elections: u32,
    /// In how many of them the second process is a candidate too.
    pub standbys: u32,
    /// The number of leaders asked to resign, of elections with two candidates, two intervals
    /// before all stop.
    pub resignations: u32,
    /// The number of leaders that hand over to the other of two candidates: each while the store is
    /// too slow for renewals on time, and two intervals before all stop.
    pub handovers: u32,
    /// The number of elections that the store stops answering in the middle of the first healthy
    /// phase, as if their records were locked; with faults, in the middle of them, until the calm.
    pub stuck: u32,
    /// The number of further elections of the first process to whose candidates handles send bursts
    /// of commands, and which stop and join again.
    pub commanded: u32,
    /// The time from a process to the store and back.
    pub round_trip: Duration,
    /// The number of renewals, looks, or acquires that one call takes.
    pub in_call: u32,
    /// The cost of an acquire to the store, in renewals.
    pub acquire_costs: u32,
    /// The parts of the run, one after the other.
    pub phases: Vec<Phase>,
    /// The faults of processes and of their ways to the store.
    pub faults: Vec<Fault>,
    /// The way in which the processes read their clocks.
    pub shell: Shell,
}

/// A part of a run in which the store has one rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// The store's capacity.
    pub kind: Kind,
    /// Its beginning.
    pub from: SimTime,
    /// Its end.
    pub until: SimTime,
    /// The store's time for one renewal in a call of its own; `None` if it does not run.
    pub service: Option<Duration>,
}

/// The store's capacity in a phase, compared with what all elections need if all have a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Several times as much.
    Healthy,
    /// The same, while processes and their ways to the store have faults.
    Faulty,
    /// A third: two of three elections can't have a leader.
    Third,
    /// At least half: each leader is renewed later than it should, and yet before its claim ends.
    Half,
    /// Nothing.
    Paused,
    /// Several times as much, or nothing: all candidates stop.
    Stops,
}

/// Parts of the work that a renewal in a call of its own is for the store.
const WHOLE: u64 = 1_000_000;

impl Plan {
    /// The plan of that seed, with so many elections.
    pub fn drawn(seed: u64, elections: u32) -> Self {
        let mut draw = Draw::new(seed, "overload", 0);
        let seconds = |draw: &mut Draw, least, most| {
            draw.duration(Duration::from_secs(least)..=Duration::from_secs(most))
        };
        let third = draw.within(300..=350);
        let phases = [
            (Kind::Third, seconds(&mut draw, 40, 60), third),
            (Kind::Paused, seconds(&mut draw, 2, 4), 0),
            (Kind::Third, seconds(&mut draw, 30, 40), third),
            (Kind::Healthy, seconds(&mut draw, 25, 35), draw.within(8_000..=12_000)),
            (Kind::Half, seconds(&mut draw, 40, 60), draw.within(500..=600)),
            (Kind::Healthy, seconds(&mut draw, 25, 35), draw.within(8_000..=12_000)),
            (Kind::Paused, seconds(&mut draw, 3, 5), 0),
            (Kind::Healthy, seconds(&mut draw, 30, 40), draw.within(8_000..=12_000)),
        ];
        let mut stops = Draw::new(seed, "overload stops", 0);
        let healthy = stops.within(8_000..=12_000);
        let lasts = Config::normal().explain().longest_stop + Duration::from_secs(1);
        let stops = (Kind::Stops, lasts, stops.pick(&[0, healthy]));
        let mut plan = Self {
            seed,
            elections,
            standbys: (elections / 20).max(1),
            resignations: (elections / 60).max(1),
            handovers: (elections / 60).max(1),
            stuck: 0,
            commanded: (elections / 100).max(1),
            round_trip: draw.duration(Duration::from_millis(1)..=Duration::from_millis(20)),
            in_call: draw.pick(&[1, 4]),
            acquire_costs: draw.pick(&[1, 2]),
            phases: Vec::new(),
            faults: Vec::new(),
            shell: Shell::Right,
        };
        let mut from = SimTime::START;
        for (kind, lasts, per_mille) in phases.into_iter().chain([stops]) {
            let until = from + lasts;
            let renewals = u64::from(elections) * per_mille;
            let interval = plan.config().renew_interval() * 1_000;
            let service = interval.as_nanos().checked_div(u128::from(renewals));
            let service = service.and_then(|nanos| u64::try_from(nanos).ok());
            let service = service.map(Duration::from_nanos);
            plan.phases.push(Phase { kind, from, until, service });
            from = until;
        }
        // A call of several requests is answered as a whole.
        if plan.in_call == 1 {
            plan.stuck = draw.pick(&[0, elections / 4]);
        }
        plan
    }

    /// The settings of all candidates.
    pub fn config(&self) -> Config {
        if self.is_faulty() { Config::fast_failover() } else { Config::normal() }
    }

    /// The run's end.
    pub fn end(&self) -> SimTime {
        self.phases.last().map_or(SimTime::START, |phase| phase.until)
    }

    /// The time at which all candidates stop.
    pub fn stops_at(&self) -> SimTime {
        self.phases.last().map_or(SimTime::START, |phase| phase.from)
    }

    /// The time of the requests to resign.
    pub fn resigns_at(&self) -> SimTime {
        self.stops_at() - self.config().renew_interval() * 2
    }

    /// The time of handovers while the store is too slow for renewals on time.
    pub fn hands_over_at(&self) -> SimTime {
        self.middle_of_first(Kind::Half)
    }

    /// The time the store stops answering some elections.
    pub fn sticks_at(&self) -> SimTime {
        self.middle_of_first(if self.is_faulty() { Kind::Faulty } else { Kind::Healthy })
    }

    fn middle_of_first(&self, kind: Kind) -> SimTime {
        let first = self.phases.iter().find(|phase| phase.kind == kind);
        first.map_or(self.end(), |phase| phase.from + phase.until.since(phase.from) / 2)
    }

    /// True if the store stops answering that election.
    pub fn is_stuck(&self, election: usize) -> bool {
        let apart = self.elections.checked_div(self.stuck);
        apart.is_some_and(|apart| election % (apart as usize) == 1)
    }

    /// True if the store does not answer that election at that time.
    pub fn is_silent(&self, election: usize, at: SimTime) -> bool {
        let is_over = self.is_faulty() && at >= self.calm_at();
        self.is_stuck(election) && at >= self.sticks_at() && !is_over
    }

    /// True if the candidate of that election gets bursts of commands.
    pub fn is_commanded(&self, election: usize) -> bool {
        election >= self.elections as usize
    }

    /// The elections in which both processes have a candidate.
    pub fn contested(&self) -> impl Iterator<Item = u32> + use<> {
        let apart = (self.elections / self.standbys.max(1)).max(1);
        (0..self.standbys).map(move |number| number * apart)
    }

    /// The elections in which the process in that place has a candidate.
    pub fn of_place(&self, place: usize) -> Vec<u32> {
        if place == 0 {
            (0..self.elections + self.commanded).collect()
        } else {
            self.contested().collect()
        }
    }

    /// The end of the store's work on a call of so many such requests, which it begins at that
    /// time.
    pub fn call_done(&self, begin: SimTime, asks: RequestKind, requests: u32) -> SimTime {
        let each = match asks {
            RequestKind::Acquire => self.acquire_costs,
            RequestKind::Look | RequestKind::Renew | RequestKind::Release => 1,
        };
        self.done(begin, WHOLE * u64::from(each) * (u64::from(requests) + 1) / 2)
    }

    fn done(&self, begin: SimTime, mut work: u64) -> SimTime {
        let mut at = begin;
        for phase in self.phases.iter().filter(|phase| phase.until > begin) {
            at = at.max(phase.from);
            let Some(service) = phase.service else { continue };
            let needs = of_whole(service, work);
            if at + needs <= phase.until {
                return at + needs;
            }
            work = work.saturating_sub(part(phase.until.since(at), service));
        }
        // The store does not outlive the plan.
        SimTime::NEVER
    }

    /// The most renewals, each in a call of its own, that the store completes between these times.
    pub fn capacity(&self, from: SimTime, until: SimTime) -> u64 {
        let of = |phase: &Phase| {
            let lasts = phase.until.min(until).since(phase.from.max(from));
            phase.service.map_or(0, |service| part(lasts, service))
        };
        self.phases.iter().map(of).sum::<u64>() / WHOLE
    }

    /// The phase at that time.
    pub fn phase(&self, at: SimTime) -> Option<&Phase> {
        self.phases.iter().find(|phase| phase.from <= at && at < phase.until)
    }
}

/// The work that is done in that time.
fn part(lasts: Duration, service: Duration) -> u64 {
    let done = lasts.as_nanos() * u128::from(WHOLE) / service.as_nanos().max(1);
    u64::try_from(done).unwrap_or(u64::MAX)
}

/// The time that the work takes.
fn of_whole(service: Duration, work: u64) -> Duration {
    let nanos = service.as_nanos() * u128::from(work) / u128::from(WHOLE);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::ms;

    fn two_phases() -> Plan {
        let mut plan = Plan::drawn(1, 100);
        let phase = |from, until, service| Phase {
            kind: Kind::Healthy,
            from: ms(from),
            until: ms(until),
            service,
        };
        plan.acquire_costs = 2;
        plan.phases = vec![
            phase(0, 1_000, Some(Duration::from_millis(10))),
            phase(1_000, 3_000, None),
            phase(3_000, 4_000, Some(Duration::from_millis(100))),
        ];
        plan
    }

    #[test]
    fn work_continues_after_a_pause_at_the_new_rate() {
        let plan = two_phases();
        assert_eq!(plan.call_done(ms(100), RequestKind::Renew, 1), ms(110));
        assert_eq!(plan.call_done(ms(100), RequestKind::Renew, 3), ms(120));
        assert_eq!(plan.call_done(ms(100), RequestKind::Acquire, 1), ms(120));
        assert_eq!(plan.call_done(ms(100), RequestKind::Acquire, 3), ms(140));
        assert_eq!(plan.call_done(ms(100), RequestKind::Release, 1), ms(110));
        // Half of it is done before the pause.
        assert_eq!(plan.call_done(ms(995), RequestKind::Renew, 1), ms(3_050));
        assert_eq!(plan.call_done(ms(3_950), RequestKind::Renew, 1), SimTime::NEVER);
    }

    #[test]
    fn a_pause_has_no_capacity() {
        let plan = two_phases();
        assert_eq!(plan.capacity(ms(0), ms(4_000)), 110);
        assert_eq!(plan.capacity(ms(500), ms(3_500)), 55);
        assert_eq!(plan.capacity(ms(1_000), ms(3_000)), 0);
    }

    #[test]
    fn phases_follow_each_other() {
        let plan = Plan::drawn(7, 600);
        assert!(plan.phases.windows(2).all(|two| two[0].until == two[1].from));
        let need = Duration::from_secs(5) / 600;
        for phase in &plan.phases {
            let service = phase.service;
            let (least, most) = match phase.kind {
                Kind::Healthy => (need / 12, need / 8),
                Kind::Half => (need * 100 / 60, need * 2),
                Kind::Third => (need * 100 / 35, need * 100 / 29),
                Kind::Stops if service.is_some() => (need / 12, need / 8),
                Kind::Paused | Kind::Stops | Kind::Faulty => {
                    assert_eq!(service, None);
                    continue;
                }
            };
            assert!(
                service.is_some_and(|service| least <= service && service <= most),
                "{phase:?}"
            );
        }
        assert_ne!(plan, Plan::drawn(8, 600));
        assert_eq!(plan, Plan::drawn(7, 600));
    }
}
