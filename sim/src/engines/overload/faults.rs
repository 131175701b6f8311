//! Runs of a few elections at a store that is quick enough, with faults of processes and of their
//! ways to the store.

use std::time::Duration;

use super::plan::{Kind, Phase, Plan};
use crate::plan::draw::Draw;
use crate::plan::{SimTime, nanos};
use serde::Serialize;

/// A fault of a process, or of its way to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Fault {
    /// The first or the second process.
    pub process: usize,
    /// Its kind.
    pub kind: FaultKind,
    /// Its beginning.
    pub from: SimTime,
    /// Its end.
    pub until: SimTime,
}

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// It does nothing. What reaches it meanwhile, it takes afterwards.
    Paused,
    /// The same, and its clock was set ahead meanwhile.
    Suspended {
        /// By so much.
        ahead: Duration,
    },
    /// It has crashed. At the end of the fault, another one takes its place, all candidates of which
    /// join at once.
    Crashed,
    /// Requests get lost.
    Unsent,
    /// Answers get lost.
    Unanswered,
    /// Some requests take seconds to the store.
    Slow,
    /// Requests reach the store twice.
    Repeated,
    /// Calls are answered in part, or with what is no answer.
    InPart,
    /// Hints get lost.
    Unhinted,
}

impl FaultKind {
    const OF_WAYS: [Self; 6] =
        [Self::Unsent, Self::Unanswered, Self::Slow, Self::Repeated, Self::InPart, Self::Unhinted];

    /// True if the process does nothing meanwhile.
    pub const fn stops(self) -> bool {
        matches!(self, Self::Paused | Self::Suspended { .. } | Self::Crashed)
    }
}

/// The way in which a process's shell reads its clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shell {
    /// For each event, after it was taken. Suspends go first.
    Right,
    /// Before it takes what is ready: a pause may come between.
    ReadsEarly,
    /// A suspend goes after what was taken after it.
    ResumesLate,
}

/// The time with faults.
const FAULTS: Duration = Duration::from_secs(60);
/// The longest fault, and the longest time from one fault of a kind to the next.
const LONGEST: Duration = Duration::from_secs(7);
/// The store takes no longer for a renewal.
const SERVICE: Duration = Duration::from_millis(1);

impl Plan {
    /// A plan of that seed with faults.
    pub fn faulty(seed: u64) -> Self {
        let mut draw = Draw::new(seed, "faulty", 0);
        let elections = u32::try_from(draw.pick(&[1, 2, 2, 4, 4, 8, 8, 24, 96])).unwrap_or(1);
        let commanded = elections.div_ceil(2);
        let mut plan = Self {
            seed,
            elections,
            // One in each election.
            standbys: elections + commanded,
            resignations: elections.div_ceil(3),
            handovers: elections.div_ceil(3),
            stuck: 0,
            commanded,
            round_trip: draw.duration(Duration::from_millis(1)..=Duration::from_millis(20)),
            in_call: draw.pick(&[1, 1, 2, 4]),
            acquire_costs: draw.pick(&[1, 2]),
            phases: Vec::new(),
            faults: Vec::new(),
            shell: Shell::Right,
        };
        plan.stuck = draw.pick(&[0, 0, elections.div_ceil(4)]);
        let calm = SimTime::START + FAULTS;
        let stops = calm + plan.progress_bound() * 2;
        let service = Some(draw.duration(Duration::from_micros(20)..=SERVICE));
        let phase = |kind, from, until, service| Phase { kind, from, until, service };
        let stopped = draw.pick(&[None, service]);
        let end = stops + plan.longest_stop() + Duration::from_secs(1);
        plan.phases = vec![
            phase(Kind::Faulty, SimTime::START, calm, service),
            phase(Kind::Healthy, calm, stops, service),
            phase(Kind::Stops, stops, end, stopped),
        ];
        for process in 0..2 {
            plan.draw_faults(process);
        }
        plan
    }

    fn draw_faults(&mut self, process: usize) {
        // Those that stop the process, and those of its way, apart: neither overlaps itself.
        for (stream, stop) in [("faulty process", true), ("faulty way", false)] {
            let mut draw = Draw::new(self.seed, stream, process as u64);
            // Some runs have few faults.
            let apart = draw.pick(&[LONGEST / 2, LONGEST, LONGEST * 4]);
            let mut from = SimTime::START + draw.duration(Duration::ZERO..=apart);
            while from < SimTime::START + FAULTS - LONGEST {
                let longest = draw.pick(&[LONGEST / 50, LONGEST]);
                let until = from + draw.duration(Duration::from_millis(1)..=longest);
                let ahead = draw.duration(Duration::ZERO..=LONGEST / 2);
                let kind = if stop {
                    let suspended = FaultKind::Suspended { ahead };
                    draw.pick(&[
                        FaultKind::Paused,
                        FaultKind::Paused,
                        suspended,
                        FaultKind::Crashed,
                    ])
                } else {
                    draw.pick(&FaultKind::OF_WAYS)
                };
                self.faults.push(Fault { process, kind, from, until });
                from = until + draw.duration(Duration::from_millis(1)..=apart);
            }
        }
    }

    /// True if processes and their ways to the store have faults in some phase.
    pub fn is_faulty(&self) -> bool {
        self.calm_at() > SimTime::START
    }

    /// The end of the faults.
    pub fn calm_at(&self) -> SimTime {
        let faulty = self.phases.iter().find(|phase| phase.kind == Kind::Faulty);
        faulty.map_or(SimTime::START, |phase| phase.until)
    }

    /// The faults of the process in that place at that time.
    pub fn faults_at(&self, place: usize, at: SimTime) -> impl Iterator<Item = FaultKind> {
        let hits =
            move |fault: &&Fault| fault.process == place && fault.from <= at && at < fault.until;
        self.faults.iter().filter(hits).map(|fault| fault.kind)
    }

    /// The longest time from the calm to a leader of each election.
    pub fn progress_bound(&self) -> Duration {
        let calm = self.config().explain().worst_case_failover_after_store_loss;
        // A request of before may be under way still.
        calm + self.config().drain_bound() + LONGEST
    }

    /// The longest time that a stop takes, by the slowest clock. Without faults, no clock drifts.
    pub fn longest_stop(&self) -> Duration {
        let longest = self.config().explain().longest_stop;
        let drift = if self.is_faulty() { self.config().drift_ppm() } else { 0 };
        longest + longest * drift / (1_000_000 - drift)
    }

    /// The time by which a stop that was asked for at that time is over.
    pub fn stopped_by(&self, place: usize, asked: SimTime) -> SimTime {
        let stops = self.faults.iter().filter(|one| one.process == place && one.kind.stops());
        stops.fold(asked + self.longest_stop(), |due, stop| {
            let is_stopped = stop.from <= due && stop.until > asked;
            if is_stopped { due + stop.until.since(stop.from.max(asked)) } else { due }
        })
    }

    /// The largest number of processes that have a place one after the other.
    pub(super) fn lives(&self) -> usize {
        let crashes = |place| {
            let of = |one: &&Fault| one.process == place && one.kind == FaultKind::Crashed;
            self.faults.iter().filter(of).count()
        };
        1 + crashes(0).max(crashes(1))
    }

    /// The time that work takes to end.
    pub(super) fn work_ends_after(&self, number: u64) -> Duration {
        let longest = if self.is_faulty() { Duration::from_millis(1_500) } else { Duration::ZERO };
        Draw::new(self.seed, "overload work", number).duration(Duration::ZERO..=longest)
    }

    /// A random time for a call's request on its way.
    pub(super) fn slowness(&self, call: u64) -> Duration {
        let mut draw = Draw::new(self.seed, "slow", call);
        let seconds = draw.pick(&[0, 0, 4]);
        Duration::from_nanos(draw.within(0..=nanos(Duration::from_secs(seconds))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_kind_follow_each_other_until_the_calm() {
        let mut kinds = std::collections::BTreeSet::new();
        for seed in 1..=40 {
            let plan = Plan::faulty(seed);
            assert_eq!(plan, Plan::faulty(seed));
            for (number, one) in plan.faults.iter().enumerate() {
                assert!(one.from < one.until && one.until <= plan.calm_at(), "{one:?}");
                for other in &plan.faults[..number] {
                    let are_apart = other.until < one.from || one.until < other.from;
                    let alike =
                        other.process == one.process && other.kind.stops() == one.kind.stops();
                    assert!(!alike || are_apart, "{one:?} {other:?}");
                }
                kinds.insert(format!("{:?}", one.kind).split(' ').next().map(str::to_owned));
            }
        }
        assert_eq!(kinds.len(), 9, "{kinds:?}");
    }

    #[test]
    fn a_stop_waits_for_the_end_of_a_pause() {
        let mut plan = Plan::faulty(1);
        let at = |seconds| SimTime::START + Duration::from_secs(seconds);
        let fault = |process, kind, from, until| Fault { process, kind, from, until };
        plan.faults = vec![
            fault(0, FaultKind::Paused, at(10), at(15)),
            fault(0, FaultKind::Unsent, at(10), at(18)),
            fault(1, FaultKind::Paused, at(10), at(16)),
        ];
        let longest = plan.longest_stop();
        assert_eq!(plan.stopped_by(0, at(16)), at(16) + longest);
        assert_eq!(plan.stopped_by(0, at(12)), at(15) + longest);
        assert_eq!(plan.stopped_by(0, at(9)), at(14) + longest);
        assert_eq!(plan.stopped_by(1, at(9)), at(15) + longest);
    }
}
