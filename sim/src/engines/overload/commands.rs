//! Bursts of commands: all that handles and work may ask of a candidate, several at a time, and in
//! any order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tenure_driver::{Command, Event as Input, LostWork};

use super::journal::{candidate, id, key, process};
use super::process::reading;
use super::run::{Due, Run};
use crate::plan::draw::Draw;
use crate::trace::{Event, Who};

/// The longest time between two bursts, and that of a pause or a hold.
const PAUSE: Duration = Duration::from_secs(2);
/// The most commands of a burst.
const BURST: u64 = 4;

/// The candidates that get commands.
#[derive(Debug, Default)]
pub(super) struct Commanded {
    bursts: u64,
    /// The life of each election's candidate, unless it is the first.
    lives: BTreeMap<usize, u32>,
    stopping: BTreeSet<Who>,
    /// The elections without a candidate.
    empty: BTreeSet<usize>,
}

impl Commanded {
    /// The present candidate of that place.
    pub(super) fn present(&self, first: Who) -> Who {
        Who { life: self.lives.get(&first.node).copied().unwrap_or_default(), ..first }
    }
}

impl Run<'_> {
    /// A handle sends a burst of commands, or another candidate joins after the last one.
    pub(super) fn commands(&mut self) {
        if self.at >= self.plan.stops_at() {
            return;
        }
        self.commanded.bursts += 1;
        let mut draw = Draw::new(self.plan.seed, "overload commands", self.commanded.bursts);
        self.queue.put(self.at + draw.duration(Duration::ZERO..=PAUSE), Due::Commands);
        let of = draw.within(0..=u64::from(self.plan.commanded.max(1) - 1));
        let of = self.plan.elections + u32::try_from(of).unwrap_or_default();
        let mut who = self.commanded.present(candidate(0, of));
        if self.commanded.empty.remove(&who.node) {
            who.life += 1;
            self.commanded.lives.insert(who.node, who.life);
            return self.joins(who);
        }
        if self.processes[0].driver.candidate(id(who)).is_none() {
            return;
        }
        for _ in 0..draw.within(1..=BURST) {
            let command = self.drawn(who, &mut draw);
            self.happens(0, Input::Command(id(who), command));
        }
    }

    fn drawn(&mut self, who: Who, draw: &mut Draw) -> Command {
        let leads = self.processes[0].leads(id(who), self.at);
        let mut pause = || draw.duration(Duration::ZERO..=PAUSE);
        let (hold_off, until) = (pause(), reading(self.at) + pause());
        match (draw.within(0..=8), leads) {
            (0, _) => Command::Resign(hold_off),
            (1, _) => Command::Offers(draw.chance(1, 2)),
            (2, token) => {
                let any = draw.chance(1, 2);
                Command::WorkLost { token, how: LostWork::Dropped, any, hold_off }
            }
            (3, Some(token)) => Command::Closed(token),
            (4, Some(token)) => Command::Held(token, until),
            (5, Some(token)) => Command::WorkDue { token, due: Some(until), hold_off },
            (6, _) => self.stop(who),
            _ => Command::RenewNow,
        }
    }

    fn stop(&mut self, who: Who) -> Command {
        if self.commanded.stopping.insert(who) {
            self.journal.add(self.at, who, Event::ResignAsked { who, hold_off: None });
        }
        Command::Stop
    }

    /// All candidates stop at once.
    pub(super) fn stop_all(&mut self) {
        let first = (0..self.plan.elections + self.plan.commanded).map(|of| candidate(0, of));
        let all: Vec<Who> = first.chain(self.plan.contested().map(|of| candidate(1, of))).collect();
        for first in all {
            let (who, of) = (self.commanded.present(first), process(first));
            if self.processes[of].driver.candidate(id(who)).is_some() {
                let stop = self.stop(who);
                self.happens(of, Input::Command(id(who), stop));
            }
        }
    }

    pub(super) fn has_left(&mut self, who: Who) {
        self.journal.add(self.at, who, Event::Withdrawn { who, done: true });
    }

    /// Nothing of the candidate is left.
    pub(super) fn has_ended(&mut self, who: Who) {
        self.probe(key(id(who)));
        self.commanded.empty.insert(who.node);
    }
}
