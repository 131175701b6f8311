//! Runs of a situation, and their figures.

use std::time::Duration;

use serde::Serialize;

use super::Situation;
use super::plans::plan;
use crate::engines::Engine;
use crate::judge::turnover::Interval;
use crate::judge::{Judging, Leader, Outcome, State, Which};
use crate::plan::{FaultKind, Plan};
use crate::search::campaign::{Durations, Failure, attempt};
use crate::search::pool;
use crate::trace::{Entry, Event};

/// The figures of all runs of a situation in one engine.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Its name.
    pub situation: &'static str,
    /// The engine.
    pub engine: Engine,
    /// The number of runs.
    pub runs: u64,
    /// The number of runs in which its fault had an effect.
    pub effects: u64,
    /// The times in which two candidates led.
    pub overlaps: Durations,
    /// The interval, and its times.
    pub measured: Option<Measured>,
    /// The number of leaders that were paused for longer than a lease, and of those whose first
    /// answer after that was that they lead; `None` if nothing pauses.
    pub paused: Option<(u64, u64)>,
    /// The first failure of each run that has one.
    pub failures: Vec<String>,
    /// The engine's reason to refuse it.
    pub refused: Option<String>,
}

/// The times that a situation is about.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Their kind.
    pub interval: Interval,
    /// The times.
    pub times: Durations,
}

/// One run.
#[derive(Debug, Default)]
struct One {
    has_effect: bool,
    measured: Vec<(Interval, Duration)>,
    paused: u64,
    led_after: u64,
    failure: Option<String>,
    refused: Option<String>,
}

/// Carries out the situations, each so many times, and judges every run by all properties that
/// apply.
pub fn run(
    engine: Engine,
    situations: &[Situation],
    runs: Option<u64>,
    jobs: usize,
) -> Vec<Figures> {
    // The longest ones first.
    let mut wanted: Vec<(usize, u64)> = situations
        .iter()
        .enumerate()
        .flat_map(|(place, one)| (1..=runs.unwrap_or(one.runs)).map(move |seed| (place, seed)))
        .collect();
    wanted.sort_by_key(|(place, _)| situations[*place].runs);
    let one = |(place, seed): &(usize, u64)| (*place, run_one(engine, &situations[*place], *seed));
    let mut figures: Vec<Figures> =
        situations.iter().map(|situation| Figures::none(engine, situation)).collect();
    for (place, one) in pool::map(jobs, &wanted, one) {
        figures[place].add(one);
    }
    figures
}

fn run_one(engine: Engine, situation: &Situation, seed: u64) -> One {
    let plan = plan(situation, engine.scope(), seed);
    match attempt(engine, &plan, Judging::KeepJudging(Which::Applicable)) {
        Ok(outcome) => One::of(situation, &plan, &outcome),
        Err(Failure::Refused { what }) => One { refused: Some(what), ..One::default() },
        Err(failure) => {
            One { failure: Some(format!("seed {seed}: {failure:?}")), ..One::default() }
        }
    }
}

impl One {
    fn of(situation: &Situation, plan: &Plan, outcome: &Outcome) -> Self {
        let entries = outcome.trace.entries();
        let had = |entry: &Entry| matches!(entry.event, Event::Effect { kind, .. } if kind == situation.kind);
        let (paused, led_after) = after_pauses(entries);
        let violated = outcome
            .judge
            .violation()
            .map(|violation| format!("{} violated: {}", violation.property, violation.finding));
        Self {
            has_effect: entries.iter().any(had),
            measured: outcome.turnover.measured(plan),
            paused,
            led_after,
            failure: violated,
            refused: None,
        }
    }
}

impl Figures {
    fn none(engine: Engine, situation: &Situation) -> Self {
        let measured = |interval| Measured { interval, times: Durations::default() };
        let pauses = FaultKind::PAUSES.contains(&situation.kind);
        Self {
            situation: situation.name,
            engine,
            runs: 0,
            effects: 0,
            overlaps: Durations::default(),
            measured: situation.measures.map(measured),
            paused: pauses.then_some((0, 0)),
            failures: Vec::new(),
            refused: None,
        }
    }

    fn add(&mut self, one: One) {
        if one.refused.is_some() {
            self.refused = one.refused;
            return;
        }
        self.runs += 1;
        self.effects += u64::from(one.has_effect);
        for (interval, duration) in one.measured {
            if interval == Interval::Overlap {
                self.overlaps.add(duration);
            }
            if let Some(measured) = self.measured.as_mut().filter(|one| one.interval == interval) {
                measured.times.add(duration);
            }
        }
        if let Some((paused, led)) = &mut self.paused {
            *paused += one.paused;
            *led += one.led_after;
        }
        self.failures.extend(one.failure);
    }

    /// True if every run did what it was for, no two candidates led, and nothing was violated.
    pub fn is_ok(&self) -> bool {
        let is_measured = self.measured.as_ref().is_none_or(|of| of.times.count() > 0);
        let answered = self.paused.is_none_or(|(paused, led)| paused > 0 && led == 0);
        self.refused.is_some()
            || self.runs > 0
                && self.effects == self.runs
                && self.overlaps.count() == 0
                && is_measured
                && answered
                && self.failures.is_empty()
    }
}

/// The number of leaders that were paused until after their claim, and of those that answered after
/// the pause that they lead.
fn after_pauses(entries: &[Entry]) -> (u64, u64) {
    let is_pause = |kind: FaultKind| FaultKind::PAUSES.contains(&kind);
    let (mut state, mut pause) = (State::default(), None::<(usize, Option<Leader>)>);
    let (mut paused, mut led_after) = (0, 0);
    for Entry { at, event } in entries {
        match *event {
            Event::Effect { kind, node: Some(node) } if is_pause(kind) => {
                pause = Some((node, state.leader_of(node)));
            }
            Event::Healed { kind, node: Some(node) } if is_pause(kind) => {
                if let Some((_, led)) = pause.take_if(|(of, _)| *of == node) {
                    paused += 1;
                    let leads = |leader: Leader| state.leads(leader.who) == Some(leader.token);
                    led_after += u64::from(led.is_some_and(leads));
                }
            }
            _ => {}
        }
        state.observe(*at, event);
    }
    (paused, led_after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::situations::ALL;
    use crate::plan::ms;
    use crate::trace::Who;

    const A: Who = Who { node: 0, life: 0 };

    /// A pause from 20 to 90 ms, and a lead that is last seen at that time.
    fn paused(last_seen: u64) -> (u64, u64) {
        let (kind, node) = (FaultKind::Pause, Some(0));
        let mut entries = vec![
            (10, Event::Leads { who: A, token: 1 }),
            (20, Event::Effect { kind, node }),
            (last_seen, Event::LeadsNoMore { who: A }),
            (90, Event::Healed { kind, node }),
        ];
        entries.sort_by_key(|(at, _)| *at);
        let entries: Vec<Entry> =
            entries.into_iter().map(|(at, event)| Entry { at: ms(at), event }).collect();
        after_pauses(&entries)
    }

    #[test]
    fn the_first_answer_after_a_pause_is_found() {
        assert_eq!(paused(19), (1, 0));
        assert_eq!(paused(25), (1, 0));
        assert_eq!(paused(91), (1, 1));
    }

    #[test]
    fn each_failure_counts() {
        let pause = ALL.iter().find(|one| one.name == "pause").expect("a situation");
        let good = || One {
            has_effect: true,
            measured: vec![(Interval::Takeover, Duration::from_millis(1))],
            paused: 1,
            ..One::default()
        };
        let judged = |runs: Vec<One>| {
            let mut figures = Figures::none(Engine::Model, pause);
            for one in runs {
                figures.add(one);
            }
            figures.is_ok()
        };
        assert!(judged(vec![good(), good()]));
        assert!(!judged(vec![]), "no run");
        assert!(!judged(vec![good(), One { has_effect: false, ..good() }]));
        assert!(!judged(vec![One { measured: Vec::new(), ..good() }]));
        assert!(!judged(vec![One { paused: 0, ..good() }]));
        assert!(!judged(vec![good(), One { led_after: 1, ..good() }]));
        assert!(!judged(vec![good(), One { failure: Some("violated".to_owned()), ..good() }]));
        let overlap = (Interval::Overlap, Duration::from_millis(1));
        let overlapping = [good().measured, vec![overlap]].concat();
        assert!(!judged(vec![good(), One { measured: overlapping, ..good() }]));
    }
}
