//! Many elections, one store: which event reaches which election, and which request leaves next.

mod commands;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use tenure_core::{Candidate, Input, Instant};

use crate::admission::{Admission, Next};
use crate::alphabet::{Action, CallId, ElectionId, Event, InCall, News};
use crate::calls::{Carries, End};
use crate::election::Election;
use crate::subscriptions::Subscriptions;
use crate::timers::Timers;
use crate::turn::Turn;
use crate::world::World;

/// The state machine of many elections over one store.
///
/// What a shell must do:
///
/// - take an event, **then** read the clock, **then** look whether the machine was suspended, and
///   hand the event in with that reading. After a suspend, [`Event::Resumed`] goes first;
/// - after each event, poll until `None`, and carry the actions out in their order, before it takes
///   the next event;
/// - poll the future of a call for the first time after it has taken the action that begins it;
/// - hand in [`Event::Due`] once [`deadline`](Self::deadline) has come and no event is ready, or
///   after a bounded number of events: none may hold the deadlines back for ever;
/// - report the end of each call that is not [cancelled](Action::Cancel), and each drain, once.
///
/// A shell that is late costs progress, never safety. One that reads the clock before it takes an
/// event can make two candidates lead: a watch would begin before its answer has arrived.
///
/// `K` is the name of an election at the store.
#[derive(Clone, Debug)]
pub struct Driver<K> {
    elections: Elections<K>,
    timers: Timers,
    subscriptions: Subscriptions<K>,
    turn: Turn,
    world: World<K>,
    /// The latest time seen.
    now: Instant,
    progress: Progress,
}

/// Looked up several times for each request: a search tree of a hundred thousand would take a
/// quarter of a renewal's processor time. Boxed, since the table has free places. Without random
/// keys: a simulated run repeats the order of elections.
type Elections<K> = HashMap<ElectionId, Box<Election<K>>, BuildHasherDefault<DefaultHasher>>;

/// The nearness of a driver to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    HasHandles,
    /// It ends with its last election and its last question.
    HasNoHandles,
    Stopped,
}

/// The most elections that one [`Event::Due`] wakes: later ones are woken at a later reading of the
/// clock, and the actions of all are not kept at a time.
const WAKES: usize = 64;

impl<K: Clone + Ord> Driver<K> {
    /// A driver without elections, over a store of which one call takes so many requests.
    pub fn new(in_call: InCall) -> Self {
        Self {
            elections: Elections::default(),
            timers: Timers::default(),
            subscriptions: Subscriptions::default(),
            turn: Turn::default(),
            world: World::new(in_call),
            now: Instant::ORIGIN,
            progress: Progress::HasHandles,
        }
    }

    /// The same, over a store that answers many calls together: while none fails, so many may be in
    /// flight, instead of [`LEAST_CALLS`](crate::LEAST_CALLS), however long their answers take.
    #[must_use]
    pub fn with_calls(mut self, calls: u16) -> Self {
        self.world.admission = Admission::with_calls(calls);
        self
    }

    /// Takes in what happened, at that time. A `now` that is older than an earlier one counts as
    /// that earlier one.
    ///
    /// # Panics
    /// If actions of the event before have not been polled: they would be lost. With debug
    /// assertions, if the driver does not come to rest, which is a bug.
    pub fn handle(&mut self, now: Instant, event: Event<K>) {
        assert!(self.world.actions.is_empty(), "poll() until None before the next handle()");
        self.now = self.now.max(now);
        let now = self.now;
        let waiting = self.elections.len() + self.world.waiting();
        if matches!(event, Event::Due) {
            self.turn.looks(waiting);
        } else {
            self.turn.takes_an_event(waiting);
        }
        match event {
            Event::Join(join) => self.joins(now, *join),
            Event::Command(election, command) => self.command(now, election, command),
            Event::Drained(election) => self.step(now, election, Input::Drained),
            Event::Called(call, results) => self.call_ended(now, call, &End::Results(results)),
            Event::Described(call, version, outcome) => {
                self.call_ended(now, call, &End::Described { version, outcome });
            }
            Event::Ask(question) => self.world.admission.ask(question),
            Event::GiveUp(question) => self.world.admission.give_up(question),
            Event::Watch(key, observer) => {
                if self.subscriptions.watch(&key, observer) {
                    self.world.acts(Action::Subscribe(key));
                }
            }
            Event::Unwatch(key, observer) => {
                if self.subscriptions.unwatch(&key, observer) {
                    self.world.acts(Action::Unsubscribe(key));
                }
            }
            Event::Hint(key) => self.hinted(now, &key),
            Event::Resumed => self.resumed(now),
            Event::HandlesGone => {
                if self.progress == Progress::HasHandles {
                    self.progress = Progress::HasNoHandles;
                }
            }
            Event::Due => self.due(now),
        }
        self.stop_if_done();
    }

    /// The next action of the last event, until there is none.
    pub fn poll(&mut self) -> Option<Action<K>> {
        self.world.actions.pop_front()
    }

    /// The time of the next [`Event::Due`]; `None` if only another event can change anything. After
    /// each other event that is at once, as a time that is over: a request may leave.
    pub fn deadline(&self) -> Option<Instant> {
        if self.progress == Progress::Stopped {
            return None;
        }
        self.turn.deadline().or_else(|| {
            let others = self.world.calls.deadline().into_iter().chain(self.timers.first());
            others.chain(self.world.admission.resumes_at()).min()
        })
    }

    /// The candidate of that election, to look at: its claim, its settings.
    pub fn candidate(&self, election: ElectionId) -> Option<&Candidate> {
        Some(self.elections.get(&election)?.machine())
    }

    /// The number of elections.
    pub fn len(&self) -> usize {
        self.elections.len()
    }

    /// True if there is no election.
    pub fn is_empty(&self) -> bool {
        self.elections.is_empty()
    }

    /// The entries of its maps, for tests of shells: of the elections, the timers, the subscriptions,
    /// and of all that waits or is under way.
    pub fn remembers(&self) -> [usize; 4] {
        let subscriptions = self.subscriptions.remembers();
        [self.elections.len(), self.timers.remembers(), subscriptions, self.world.waiting()]
    }

    /// Does what is due by now, in steps: first what was given up and the elections whose deadlines
    /// have come; once there are none, a call that may leave; once there is none, the turn ends.
    fn due(&mut self, now: Instant) {
        if self.turn.rests(now) {
            return;
        }
        if let Some((steps, most)) = self.turn.has_to_end(now) {
            self.world.acts(Action::TurnEnded { steps, most });
            return;
        }
        if self.give_up_late(now) || self.wake_due(now) || self.admit(now) {
            return;
        }
        self.turn.ends();
    }

    /// Gives up a question or a description whose time is over. False if there is none.
    fn give_up_late(&mut self, now: Instant) -> bool {
        let Some(call) = self.world.calls.late(now) else { return false };
        self.world.acts(Action::Cancel(call));
        self.call_ended(now, call, &End::GivenUp);
        true
    }

    /// Wakes elections whose deadlines have come. False if there is none.
    fn wake_due(&mut self, now: Instant) -> bool {
        let Some((_, by)) = self.timers.due(now) else { return false };
        if self.turn.is_first_deadline() {
            self.world.acts(Action::Late(by));
        }
        for _ in 0..WAKES {
            let Some((id, _)) = self.timers.due(now) else { break };
            self.step(now, id, Input::Wake);
        }
        true
    }

    /// Lets one call leave, if there is room for one. Renewals that wait together leave in one
    /// call, and so do acquires, as far as the store takes them. False if there is none.
    fn admit(&mut self, now: Instant) -> bool {
        let Some(next) = self.world.admission.next(now) else { return false };
        match next {
            Next::Question(question) => self.world.asks(question, now),
            Next::Description(id) => {
                self.with(id, |election, world| election.tell(world, now));
            }
            Next::Request { election, alone: true, .. } => self.admitted(now, election),
            Next::Request { election, pending, alone: false } => {
                let mut next = Some(election);
                while let Some(id) = next {
                    let before = self.world.in_next_call();
                    self.admitted(now, id);
                    // One that sends nothing ends the call: an id that stays would be met for ever.
                    let has_grown = self.world.in_next_call() > before;
                    next = if has_grown { self.world.next_alike(pending, now) } else { None };
                }
            }
        }
        self.world.calls_now();
        true
    }

    fn admitted(&mut self, now: Instant, id: ElectionId) {
        if !self.elections.contains_key(&id) {
            self.world.admission.forget(id);
        }
        self.step(now, id, Input::Admitted);
    }

    fn resumed(&mut self, now: Instant) {
        let mut all: Vec<ElectionId> = self.elections.keys().copied().collect();
        // Not in the order of the table, which depends on what was in it before.
        all.sort_unstable();
        self.turn.concerns(all.len());
        for id in all {
            self.step(now, id, Input::Resumed);
        }
    }

    fn hinted(&mut self, now: Instant, key: &K) {
        for observer in self.subscriptions.observers(key) {
            self.world.acts(Action::WakeObserver(observer));
        }
        let of: Vec<ElectionId> = self.subscriptions.of(key).collect();
        self.turn.concerns(of.len());
        for id in of {
            self.step(now, id, Input::Hint);
        }
    }

    /// A call has ended: its window learns it first, then what it was for.
    fn call_ended(&mut self, now: Instant, call: CallId, end: &End) {
        let Some(flying) = self.world.calls.ended(call) else { return };
        let left_at = flying.left_at;
        let took = flying.carries.was_answered(end).then(|| now.since(left_at));
        self.world.admission.ended(call, flying.lane, now, took);
        match flying.carries {
            Carries::Question { .. } => {}
            Carries::Description { about, .. } => {
                self.world.admission.described();
                self.with(about.election, |election, world| {
                    election.was_described(world, now, about, end);
                });
            }
            Carries::Requests { each, .. } => {
                for (index, (election, id)) in each.into_iter().enumerate() {
                    let outcome = end.of_request(index);
                    self.with(election, |election, world| {
                        election.request_ended(world, now, id, left_at, outcome);
                    });
                }
            }
        }
    }

    fn step(&mut self, now: Instant, id: ElectionId, input: Input) {
        self.with(id, |election, world| election.handle(world, now, input));
    }

    /// Something happens to an election. Then its deadline is set anew, or it has ended.
    fn with(&mut self, id: ElectionId, happens: impl FnOnce(&mut Election<K>, &mut World<K>)) {
        self.turn.takes_a_step();
        let Some(election) = self.elections.get_mut(&id) else { return };
        happens(election, &mut self.world);
        let has_stopped = election.has_stopped();
        let deadline = if has_stopped { None } else { election.deadline() };
        self.timers.set(id, &mut election.alarm, deadline);
        if has_stopped {
            self.ended(id);
        }
    }

    /// Nothing names it afterwards: an id that is left in a queue would be met again and again.
    fn ended(&mut self, id: ElectionId) {
        let Some(mut election) = self.elections.remove(&id) else { return };
        election.leave_queue(&mut self.world);
        if self.subscriptions.leave(election.key(), id) {
            self.world.acts(Action::Unsubscribe(election.key().clone()));
        }
        self.world.acts(Action::Publish(id, News::Ended));
    }

    fn stop_if_done(&mut self) {
        let is_done = self.elections.is_empty() && !self.world.has_questions();
        if self.progress == Progress::HasNoHandles && is_done {
            self.progress = Progress::Stopped;
            self.world.acts(Action::Stopped);
        }
    }
}

#[cfg(test)]
mod tests;
