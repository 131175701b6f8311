//! Drivers of several processes over one store, with a shell that does what a shell must do, and
//! the checks of each action.

mod draw;
mod process;
mod shell;
mod store;

use std::collections::BTreeMap;
use std::time::Duration;

use tenure_core::Instant;
use tenure_driver::{CallId, ElectionId, Event, InCall, Outcome};

pub(crate) use draw::Draw;
use process::Process;
pub(crate) use shell::Shell;
use store::Store;

/// A key at the store.
pub(crate) type Key = u8;

/// The parts of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) processes: usize,
    pub(crate) keys: u8,
    pub(crate) elections: u64,
    pub(crate) in_call: InCall,
    /// The number of pauses and cuts of each process.
    pub(crate) faults: u64,
    /// The longest pause of a process.
    pub(crate) pauses_ms: u64,
    /// By how much a clock is set ahead at most after a suspend.
    pub(crate) ahead_ms: u64,
    /// One of so many requests takes up to four seconds to the store.
    pub(crate) slow_one_in: u64,
    pub(crate) shell: Shell,
    /// True if its actions are hashed.
    pub(crate) hashes: bool,
}

/// The end of the faults, and the stop of all candidates.
pub(crate) const FAULTS_END: Duration = Duration::from_secs(60);
pub(crate) const STOPS: Duration = Duration::from_secs(75);
/// By then every driver has ended.
const ENDS: Duration = Duration::from_secs(95);

/// An event of the world.
pub(crate) enum Due {
    /// Requests reach the store.
    Arrives {
        process: usize,
        call: CallId,
    },
    /// Something reaches a process.
    Reaches {
        process: usize,
        event: Event<Key>,
    },
    /// A process is paused until then, or cut off.
    Pause {
        process: usize,
        until: Instant,
    },
    Cut {
        process: usize,
        until: Instant,
    },
    /// A suspend has ended: the clock has run on, and was set ahead by that.
    Wakes {
        process: usize,
        ahead: Duration,
    },
    /// A handle acts.
    Acts {
        process: usize,
    },
    /// A paused process goes on, or a deadline may have come.
    GoesOn {
        process: usize,
    },
    Stop {
        process: usize,
    },
}

/// A run.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: Instant,
    queue: BTreeMap<(Instant, u64), Due>,
    put: u64,
    pub(crate) draw: Draw,
    store: Store,
    processes: Vec<Process>,
    /// Two candidates led at a time.
    pub(crate) two_led: bool,
    /// A hash of all actions.
    pub(crate) hash: u64,
}

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) elected: u32,
    pub(crate) cancelled: u32,
    pub(crate) answered_in_part: u32,
    pub(crate) batches: u32,
    pub(crate) described: u32,
    pub(crate) unanswered_questions: u32,
    pub(crate) silent: u32,
    pub(crate) work_lost: u32,
    pub(crate) ran_out: u32,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Self) {
        self.elected += other.elected;
        self.cancelled += other.cancelled;
        self.answered_in_part += other.answered_in_part;
        self.batches += other.batches;
        self.described += other.described;
        self.unanswered_questions += other.unanswered_questions;
        self.silent += other.silent;
        self.work_lost += other.work_lost;
        self.ran_out += other.ran_out;
    }
}

const START: Instant = Instant::from_nanos(1_000_000_000_000);

impl World {
    /// Runs a plan to its end. Returns what was seen, whether two have led, and a hash.
    pub(crate) fn run(plan: Plan) -> (Seen, bool, u64) {
        let mut world = Self {
            plan,
            now: START,
            queue: BTreeMap::new(),
            put: 0,
            draw: Draw::new(plan.seed),
            store: Store::new(plan.seed),
            processes: (0..plan.processes).map(|index| Process::new(index, plan)).collect(),
            two_led: false,
            hash: 0,
        };
        world.draw_all();
        while let Some(((at, _), due)) = world.queue.pop_first() {
            world.now = at;
            assert!(at < START + ENDS, "no driver ends: {plan:?}");
            world.happens(due);
            world.check_leaders();
            if world.processes.iter().all(|process| process.has_stopped) {
                break;
            }
        }
        let mut seen = Seen::default();
        for process in &world.processes {
            process.check_end();
            seen.add(process.seen);
        }
        (seen, world.two_led, world.hash)
    }

    fn put(&mut self, at: Instant, due: Due) {
        self.put += 1;
        self.queue.insert((at, self.put), due);
    }

    fn put_in(&mut self, after: Duration, due: Due) {
        self.put(self.now + after, due);
    }

    /// Faults, and what handles do.
    fn draw_all(&mut self) {
        for process in 0..self.plan.processes {
            for number in 0..self.plan.elections {
                let election = process as ElectionId * 1_000 + number;
                let key = Key::try_from(self.draw.below(self.plan.keys.into())).unwrap();
                let at = START + self.draw.duration(0, 3_000);
                let join = self.processes[process].join(election, key, &mut self.draw);
                self.put(at, Due::Reaches { process, event: join });
            }
            for _ in 0..60 {
                let at = START + self.draw.duration(3_000, 70_000);
                self.put(at, Due::Acts { process });
            }
            for _ in 0..self.plan.faults {
                let from = START + self.draw.duration(0, 50_000);
                let pauses = self.plan.pauses_ms;
                let until = from + self.draw.duration(1, pauses.max(2));
                self.put(from, Due::Pause { process, until });
                if self.draw.one_in(2) {
                    let ahead = self.draw.duration(100, self.plan.ahead_ms);
                    self.put(until, Due::Wakes { process, ahead });
                } else {
                    self.put(until, Due::GoesOn { process });
                }
                // Its leader's process, or its own.
                let process = (process + usize::from(self.draw.one_in(2))) % self.plan.processes;
                let from = from + self.draw.duration(0, 4_000);
                let until = from + self.draw.duration(1, 8_000);
                self.put(from, Due::Cut { process, until });
            }
            self.put(START + STOPS, Due::Stop { process });
        }
    }

    fn is_calm(&self) -> bool {
        self.now >= START + FAULTS_END
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::Arrives { process, call } => self.arrives(process, call),
            Due::Reaches { process, event } => {
                self.processes[process].inbox.push_back(event);
                self.goes_on(process);
            }
            Due::Pause { process, until } => {
                self.processes[process].paused_until = until;
                self.processes[process].paused_from = self.local(process);
            }
            Due::Wakes { process, ahead } => {
                self.processes[process].ahead += ahead;
                self.processes[process].was_suspended = true;
                self.goes_on(process);
            }
            Due::Cut { process, until } => self.processes[process].cut_until = until,
            Due::Acts { process } => {
                let now = self.local(process);
                for event in self.processes[process].acts(now, &mut self.draw) {
                    self.processes[process].inbox.push_back(event);
                }
                self.goes_on(process);
            }
            Due::GoesOn { process } => {
                self.processes[process].wakes_at = Instant::FAR_FUTURE;
                self.goes_on(process);
            }
            Due::Stop { process } => {
                let stops = self.processes[process].stop_all();
                self.processes[process].inbox.extend(stops);
                self.goes_on(process);
            }
        }
    }

    /// A call reaches the store, and its answer may come back.
    fn arrives(&mut self, process: usize, call: CallId) {
        let Some(sent) = self.processes[process].sent.get(&call) else { return };
        let (requests, quiet) = (sent.requests.clone(), self.is_calm());
        if self.now < self.processes[process].cut_until && !quiet {
            return;
        }
        let mut results = Vec::new();
        for (key, request) in requests {
            if self.store.is_stuck(key) && !quiet {
                return;
            }
            let (reply, hints) = self.store.serve(self.now, key, request);
            if hints {
                for other in 0..self.plan.processes {
                    let after = self.draw.duration(0, 3);
                    let event = Event::Hint(key);
                    self.put_in(after, Due::Reaches { process: other, event });
                }
            }
            results.push(Outcome::Answered(reply));
        }
        let mut after = self.draw.duration(0, 5);
        if !quiet {
            match self.draw.below(40) {
                0 => return,
                1 => after += self.draw.duration(0, 3_000),
                2 => results = vec![Outcome::Unanswered; results.len()],
                3 => results.iter_mut().for_each(|result| *result = Outcome::Unexpected),
                4 => {
                    results.pop();
                    self.processes[process].seen.answered_in_part += 1;
                }
                _ => {}
            }
        }
        let event = Event::Called(call, results);
        self.put_in(after, Due::Reaches { process, event });
    }

    /// Checks that of the candidates of one key, one leads at most.
    fn check_leaders(&mut self) {
        let mut leaders: BTreeMap<Key, u32> = BTreeMap::new();
        for (index, process) in self.processes.iter().enumerate() {
            for key in process.leads_at(self.local(index)) {
                *leaders.entry(key).or_default() += 1;
            }
        }
        self.two_led |= leaders.values().any(|leaders| *leaders > 1);
    }
}
