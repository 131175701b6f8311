//! Bursts of commands: all that handles and work may ask of a driver, several at a time, and in any
//! order.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_driver::{Command, Event as Input, LostWork};

use super::journal::{id, key, process};
use super::process::PLACES;
use super::run::{Due, Run};
use crate::plan::SimTime;
use crate::plan::draw::Draw;
use crate::trace::{Event, Who};

/// The longest time between two bursts, and that of a pause or a hold.
const PAUSE: Duration = Duration::from_secs(2);
/// The longest time from one resignation of some leaders to the next, among faults.
const AGAIN: Duration = Duration::from_secs(9);
/// The most commands of a burst.
const BURST: u64 = 4;
/// The number of an observer.
const OBSERVER: u64 = 1;

/// The commands so far.
#[derive(Debug, Default)]
pub(super) struct Commanded {
    bursts: u64,
    stopping: BTreeSet<Who>,
}

impl Run<'_> {
    /// A handle sends a burst of commands, or another candidate joins after the last one.
    pub(super) fn commands(&mut self) {
        let plan = self.plan;
        let until = if plan.is_faulty() { plan.calm_at() } else { plan.stops_at() };
        if self.at >= until {
            return;
        }
        self.commanded.bursts += 1;
        let mut draw = Draw::new(plan.seed, "overload commands", self.commanded.bursts);
        self.queue.put(self.at + draw.duration(Duration::ZERO..=PAUSE), Due::Commands);
        let place = if plan.is_faulty() { draw.within(0..=PLACES as u64 - 1) } else { 0 };
        let process = self.places[usize::try_from(place).unwrap_or_default()];
        let of = draw.within(0..=u64::from(plan.commanded.max(1) - 1));
        let of = plan.elections + u32::try_from(of).unwrap_or_default();
        let Some(who) = self.processes[process].candidate(of) else {
            return self.joins(process, of);
        };
        for _ in 0..draw.within(1..=BURST) {
            let input = self.drawn(who, &mut draw);
            self.reaches(process, input);
        }
        // Before its last candidate has ended.
        if self.plan.is_faulty() && self.commanded.stopping.contains(&who) && draw.chance(1, 2) {
            self.joins(process, of);
        }
    }

    fn drawn(&mut self, who: Who, draw: &mut Draw) -> Input<u32> {
        let process = &mut self.processes[process(who)];
        let (leads, now, of) = (process.leads(who, self.at), process.reading(self.at), id(who));
        let [hold_off, pause] = [(); 2].map(|()| draw.duration(Duration::ZERO..=PAUSE));
        let until = now + pause;
        // What a slow store carries out beside renewals is not counted by its properties.
        let kinds = if self.plan.is_faulty() { 13 } else { 8 };
        let command = match (draw.within(0..=kinds), leads) {
            (0, _) => Command::Resign(hold_off),
            (1, _) => Command::Offers(draw.chance(1, 2)),
            (2, token) => {
                let failed = LostWork::Failed { before: 2, thousandths: 500 };
                let how = draw.pick(&[LostWork::Dropped, LostWork::Panicked, failed]);
                let any = draw.chance(1, 2);
                Command::WorkLost { token, how, any, hold_off }
            }
            (3, Some(token)) => Command::Closed(token),
            (4, Some(token)) => Command::Held(token, until),
            (5, Some(token)) => Command::WorkDue { token, due: Some(until), hold_off },
            (6, _) => self.stop(who),
            (9, _) => {
                let profile = process.profiles.entry(of).or_default();
                *profile += 1;
                Command::Describe(*profile)
            }
            (10, _) => return process.asks("observe", pause),
            (11, _) => return Input::GiveUp(process.asked),
            (12, _) => return Input::Watch(key(of), OBSERVER),
            (13, _) => return Input::Unwatch(key(of), OBSERVER),
            _ => Command::RenewNow,
        };
        Input::Command(of, command)
    }

    fn stop(&mut self, who: Who) -> Command {
        if self.commanded.stopping.insert(who) {
            self.journal.add(self.at, who, Event::ResignAsked { who, hold_off: None });
        }
        Command::Stop
    }

    /// Faults have ended: each election has candidates that want to lead.
    pub(super) fn calms(&mut self) {
        for place in 0..PLACES {
            let process = self.places[place];
            for of in self.plan.of_place(place) {
                match self.processes[process].candidate(of) {
                    Some(who) if !self.commanded.stopping.contains(&who) => {
                        self.reaches(process, Input::Command(id(who), Command::Offers(true)));
                    }
                    Some(_) | None => self.joins(process, of),
                }
            }
        }
        for of in 0..self.plan.elections + self.plan.commanded {
            self.journal.calms(self.at, of);
        }
    }

    /// All candidates stop at once, and all handles are dropped.
    pub(super) fn stop_all(&mut self) {
        for process in self.places {
            let all: Vec<Who> =
                self.processes[process].candidates.values().flatten().copied().collect();
            for who in all {
                let stop = self.stop(who);
                self.reaches(process, Input::Command(id(who), stop));
            }
            for of in self.plan.elections..self.plan.elections + self.plan.commanded {
                self.reaches(process, Input::Unwatch(of, OBSERVER));
            }
            // The driver outlives the last question.
            let asks = self.processes[process].asks("observe", PAUSE);
            self.reaches(process, asks);
            self.reaches(process, Input::HandlesGone);
        }
    }

    /// The leaders of some elections with two candidates resign.
    pub(super) fn resign_some(&mut self) {
        let pause = self.plan.config().renew_interval();
        for who in self.leaders().into_iter().take(self.plan.resignations as usize) {
            let asked = Event::ResignAsked { who, hold_off: Some(crate::plan::nanos(pause)) };
            self.journal.add(self.at, who, asked);
            self.reaches(process(who), Input::Command(id(who), Command::Resign(pause)));
        }
        self.again(Due::Resigns);
    }

    /// Leaders of other such elections hand over to the candidate of the other process.
    pub(super) fn hand_over_some(&mut self) {
        for who in self.leaders().into_iter().rev().take(self.plan.handovers as usize) {
            let leader = &mut self.processes[process(who)];
            if let Some(asks) = leader.hands_over(self.plan, who, self.at) {
                self.reaches(process(who), asks);
            }
        }
        self.again(Due::HandsOver);
    }

    /// Some time later, as long as there are faults.
    fn again(&mut self, due: Due) {
        let next: SimTime = self.at + AGAIN;
        if next < self.plan.calm_at() {
            self.queue.put(next, due);
        }
    }

    /// The leaders of elections with two candidates.
    fn leaders(&self) -> Vec<Who> {
        let leader = |of: u32| {
            let leads = |process: usize| {
                let who = self.processes[process].candidate(of)?;
                self.processes[process].leads(who, self.at).map(|_| who)
            };
            self.places.into_iter().find_map(leads)
        };
        self.plan.contested().filter_map(leader).collect()
    }

    pub(super) fn has_left(&mut self, who: Who) {
        self.journal.add(self.at, who, Event::Withdrawn { who, done: true });
    }

    /// Nothing of the candidate is left.
    pub(super) fn has_ended(&mut self, who: Who) {
        self.probe(key(id(who)));
        self.processes[process(who)].has_ended(who);
    }
}
