//! One run: events in order of time, and the drivers' actions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tenure_core::{Event as Reported, Instant, Token, Watched};
use tenure_driver::{Action, CallId, Command, Event as Input, News, Outcome};

use super::commands::Commanded;
use super::faults::{FaultKind, Shell};
use super::flights::Flight;
use super::journal::{Journal, Noted, candidate, id, key, of_id, process};
use super::plan::Plan;
use super::process::{PLACES, Process, place};
use super::store::Server;
use crate::engines::calls::in_words;
use crate::engines::panics::{message, quietly};
use crate::engines::queue::Queue;
use crate::plan::draw::Draw;
use crate::plan::{NANOSECOND, SimTime};
use crate::trace::{Event, Who};

/// An event of the queue.
pub(super) enum Due {
    /// A candidate of the process in that place joins an election.
    Joins(usize, u32),
    /// A handle sends a burst of commands.
    Commands,
    HandsOver,
    Resigns,
    Calms,
    Stops,
    /// The process in that place stops until then.
    Fault(usize, FaultKind, SimTime),
    /// A process takes the place of one that has crashed.
    Starts(usize),
    /// An event reaches a process.
    Input(usize, Input<u32>),
    /// A call reaches the store.
    Arrives(Box<Flight>),
    /// The answer to a call reaches a process.
    Answer(usize, CallId, Vec<Outcome>),
    /// Processes learn that an election's lease was given back.
    Hint(u32),
}

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) at: SimTime,
    pub(super) queue: Queue<Due>,
    pub(super) processes: Vec<Process>,
    /// The process in each place.
    pub(super) places: [usize; PLACES],
    pub(super) server: Server,
    pub(super) journal: Journal,
    pub(super) commanded: Commanded,
    /// The process whose driver has run last.
    runs: usize,
    /// The number of calls so far.
    pub(super) calls: u64,
    /// The candidates that led when they were asked last, and their tokens.
    leads: BTreeMap<Who, u64>,
}

/// Carries out a plan.
pub(super) fn record(plan: &Plan) -> Vec<Noted> {
    let mut run = Run {
        plan,
        at: SimTime::START,
        queue: Queue::new(),
        processes: (0..PLACES * plan.lives()).map(|number| Process::new(number, plan)).collect(),
        places: std::array::from_fn(|place| place),
        server: Server::default(),
        journal: Journal::default(),
        commanded: Commanded::default(),
        runs: 0,
        calls: 0,
        leads: BTreeMap::new(),
    };
    run.plan_ahead();
    let ran = quietly(|| catch_unwind(AssertUnwindSafe(|| run.goes_on())));
    if let Err(panic) = ran {
        let (who, what) = (candidate(run.runs, 0), message(&*panic).to_owned());
        run.journal.add(run.at, who, Event::DriverPanicked { who, what });
    }
    run.journal.close(plan.end())
}

impl Run<'_> {
    /// All candidates join: those of the first process within two seconds, the others within ten.
    fn plan_ahead(&mut self) {
        let plan = self.plan;
        let mut draw = Draw::new(plan.seed, "overload joins", 0);
        for (place, seconds) in [(0, 2), (1, 10)] {
            for of in plan.of_place(place) {
                let at = draw.duration(Duration::ZERO..=Duration::from_secs(seconds));
                self.queue.put(SimTime::START + at, Due::Joins(place, of));
            }
        }
        self.queue.put(plan.hands_over_at(), Due::HandsOver);
        self.queue.put(SimTime::START + Duration::from_secs(1), Due::Commands);
        self.queue.put(plan.resigns_at(), Due::Resigns);
        self.queue.put(plan.resigns_at(), Due::HandsOver);
        for fault in plan.faults.iter().filter(|fault| fault.kind.stops()) {
            self.queue.put(fault.from, Due::Fault(fault.process, fault.kind, fault.until));
        }
        if plan.is_faulty() {
            let among_faults = SimTime::START + plan.calm_at().since(SimTime::START) / 4;
            self.queue.put(among_faults, Due::Resigns);
            self.queue.put(among_faults, Due::HandsOver);
            self.queue.put(plan.calm_at(), Due::Calms);
        }
        self.queue.put(plan.stops_at(), Due::Stops);
    }

    /// Does what is next, to the end: at one time, first what happens, then what is due.
    fn goes_on(&mut self) {
        loop {
            let deadlines =
                self.places.map(|process| (self.processes[process].deadline(), process));
            let (deadline, late) = deadlines.into_iter().min().unwrap_or((SimTime::NEVER, 0));
            let deadline = deadline.max(self.at);
            let next = self.queue.next();
            self.at = next.min(deadline);
            if self.at > self.plan.end() {
                break;
            }
            if next > deadline {
                self.is_due(late);
            } else if let Some(due) = self.queue.take() {
                self.happens(due);
            }
        }
        for process in self.places {
            self.runs = process;
            self.processes[process].ledger.ends();
        }
    }

    fn happens(&mut self, due: Due) {
        match due {
            Due::Joins(place, of) => self.joins(self.places[place], of),
            Due::Commands => self.commands(),
            Due::HandsOver => self.hand_over_some(),
            Due::Resigns => self.resign_some(),
            Due::Calms => self.calms(),
            Due::Stops => self.stop_all(),
            Due::Fault(place, kind, until) => self.stops(place, kind, until),
            Due::Starts(place) => self.starts(place),
            Due::Input(process, input) => self.reaches(process, input),
            Due::Arrives(flight) => self.arrives(*flight),
            Due::Answer(process, call, results) => self.answer_arrives(process, call, results),
            Due::Hint(of) => {
                for process in self.places {
                    let is_wanted = self.processes[process].ledger.is_subscribed(of);
                    if is_wanted && !self.has(process, FaultKind::Unhinted) {
                        self.reaches(process, Input::Hint(of));
                    }
                }
            }
        }
    }

    /// True if the process has that fault now.
    pub(super) fn has(&self, process: usize, kind: FaultKind) -> bool {
        self.plan.faults_at(place(process), self.at).any(|fault| fault == kind)
    }

    /// A process stops for a while.
    fn stops(&mut self, place: usize, kind: FaultKind, until: SimTime) {
        let number = self.places[place];
        let process = &mut self.processes[number];
        if kind == FaultKind::Crashed {
            process.is_gone = true;
            let all: Vec<Who> =
                std::mem::take(&mut process.candidates).into_values().flatten().collect();
            for who in all {
                self.leads.remove(&who);
                self.journal.add(self.at, who, Event::Crashed { who });
            }
            return self.queue.put(until, Due::Starts(place));
        }
        process.stops(kind, self.at, until);
        if let FaultKind::Suspended { .. } = kind {
            let is_late = self.plan.shell == Shell::ResumesLate;
            let at = if is_late { until + NANOSECOND } else { until };
            self.queue.put(at, Due::Input(number, Input::Resumed));
        }
    }

    /// A new process, all candidates of which join at once.
    fn starts(&mut self, place: usize) {
        self.places[place] += PLACES;
        let number = self.places[place];
        self.processes[number].is_gone = false;
        for of in self.plan.of_place(place) {
            self.joins(number, of);
        }
    }

    pub(super) fn joins(&mut self, process: usize, of: u32) {
        if self.processes[process].is_gone {
            return;
        }
        let (who, join) = self.processes[process].joins(self.plan, of);
        self.journal.add(self.at, who, Event::Started { who });
        self.journal.add(self.at, who, Event::CampaignAsked { who });
        self.reaches(process, join);
    }

    /// An event reaches a process: it is handed to the driver, once the process runs.
    pub(super) fn reaches(&mut self, process: usize, input: Input<u32>) {
        let one = &self.processes[process];
        let takes_at = one.takes_at(self.at);
        if takes_at > self.at {
            self.queue.put(takes_at, Due::Input(process, input));
        } else if !one.is_gone {
            let now = one.reads(self.at, self.plan.shell);
            self.hands_in(process, now, input);
        }
    }

    fn is_due(&mut self, process: usize) {
        let now = self.processes[process].reading(self.at);
        self.hands_in(process, now, Input::Due);
        let Process { driver, ledger, .. } = &mut self.processes[process];
        if self.plan.is_faulty() && driver.deadline().is_none_or(|at| at > now) {
            ledger.rests(now, driver);
        }
    }

    /// Hands an event to the driver of a process, and carries its actions out.
    fn hands_in(&mut self, process: usize, now: Instant, input: Input<u32>) {
        self.runs = process;
        let Process { driver, ledger, .. } = &mut self.processes[process];
        ledger.takes(&input);
        driver.handle(now, input);
        let actions: Vec<Action<u32>> = std::iter::from_fn(|| driver.poll()).collect();
        ledger.sees(now, &actions);
        for action in actions {
            self.carries_out(process, action);
        }
    }

    fn carries_out(&mut self, process: usize, action: Action<u32>) {
        match action {
            Action::Call(call, requests) => self.calls(process, call, &requests),
            Action::Ask(call, question) => self.asks(process, call, question),
            Action::Describe { call, election, .. } => self.describes(process, call, election),
            Action::Cancel(call) => self.is_cancelled(process, call),
            Action::Drain(election) => {
                let at = self.at + self.plan.work_ends_after(self.calls);
                self.queue.put(at, Due::Input(process, Input::Drained(election)));
            }
            // It is silent.
            Action::LookAtWork(of) => {
                if let Some(token) = self.processes[process].leads(of_id(process, of), self.at) {
                    let due = Some(self.processes[process].reading(self.at));
                    let silent = Command::WorkDue { token, due, hold_off: Duration::ZERO };
                    self.queue.put(self.at, Due::Input(process, Input::Command(of, silent)));
                }
            }
            Action::Subscribe(key) => {
                self.queue.put(self.at, Due::Input(process, Input::Hint(key)));
            }
            Action::Publish(election, News::Event(event)) => {
                self.reports(of_id(process, election), event);
            }
            Action::Publish(election, News::Left) => self.has_left(of_id(process, election)),
            Action::Publish(election, News::Ended) => self.has_ended(of_id(process, election)),
            // For handles and their work.
            _ => {}
        }
    }

    fn reports(&mut self, who: Who, event: Reported) {
        self.probe(key(id(who)));
        let true_time = |reading| self.processes[process(who)].true_time(reading);
        let event = match event {
            Reported::Elected(claim) => {
                let (token, claim_ends) = (claim.token().get(), true_time(claim.valid_until()));
                Event::Elected { who, token, claim_ends }
            }
            Reported::Renewed(claim) => {
                let (token, claim_ends) = (claim.token().get(), true_time(claim.valid_until()));
                Event::Renewed { who, token, claim_ends }
            }
            Reported::SteppedDown { token, reason, drain_until } => {
                let (token, drain_ends) = (token.get(), true_time(drain_until));
                Event::SteppedDown { who, token, reason: in_words(reason), drain_ends }
            }
            Reported::Watching { watched: Watched::Past, .. } => Event::Watches { who },
            _ => return,
        };
        self.journal.add(self.at, who, event);
    }

    /// Asks every candidate of the election whether it leads, and notes each change.
    pub(super) fn probe(&mut self, of: u32) {
        for process in self.places {
            let all = self.processes[process].candidates.get(&of).into_iter().flatten();
            for who in all.copied() {
                let token = self.processes[process].leads(who, self.at).map(Token::get);
                let before = match token {
                    Some(token) => self.leads.insert(who, token),
                    None => self.leads.remove(&who),
                };
                if before == token {
                    continue;
                }
                if before.is_some() {
                    self.journal.add(self.at, who, Event::LeadsNoMore { who });
                }
                if let Some(token) = token {
                    self.journal.add(self.at, who, Event::Leads { who, token });
                }
            }
        }
    }
}
