//! One run: events in order of time, and the drivers' actions.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tenure_core::{Event as Reported, Reply, Request, Token, Watched};
use tenure_driver::{Action, CallId, Command, Event as Input, News, Outcome, QuestionId};

use super::commands::Commanded;
use super::journal::{Journal, Noted, candidate, id, key, of_id, process};
use super::plan::Plan;
use super::process::{Call, PROCESSES, Process, reading, true_time};
use super::store::Server;
use crate::engines::calls::{answered, asked, in_words};
use crate::engines::panics::{message, quietly};
use crate::engines::queue::Queue;
use crate::plan::draw::Draw;
use crate::plan::{SimTime, nanos};
use crate::trace::{Event, Who};

/// An event of the queue.
pub(super) enum Due {
    Joins(Who),
    /// A handle sends a burst of commands.
    Commands,
    HandsOver,
    Resigns,
    Stops,
    /// An event of a process.
    Input(usize, Input<u32>),
    /// The answer to a call reaches a process.
    Answer(usize, CallId),
    /// Processes learn that an election's lease was given back.
    Hint(u32),
}

pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) at: SimTime,
    pub(super) queue: Queue<Due>,
    pub(super) processes: Vec<Process>,
    server: Server,
    pub(super) journal: Journal,
    pub(super) commanded: Commanded,
    /// The process whose driver has run last.
    runs: usize,
    /// The number of calls so far.
    calls: u64,
    /// The candidates that led when they were asked last, and their tokens.
    leads: BTreeMap<Who, u64>,
}

/// Carries out a plan.
pub(super) fn record(plan: &Plan) -> Vec<Noted> {
    let mut run = Run {
        plan,
        at: SimTime::START,
        queue: Queue::new(),
        processes: (0..PROCESSES).map(|number| Process::new(number, plan)).collect(),
        server: Server::default(),
        journal: Journal::default(),
        commanded: Commanded::default(),
        runs: 0,
        calls: 0,
        leads: BTreeMap::new(),
    };
    run.plan_ahead();
    let ran = quietly(|| catch_unwind(AssertUnwindSafe(|| while run.goes_on() {})));
    if let Err(panic) = ran {
        let (who, what) = (candidate(run.runs, 0), message(&*panic).to_owned());
        run.journal.add(run.at, who, Event::DriverPanicked { who, what });
    }
    run.journal.close(plan.end())
}

impl Run<'_> {
    /// All candidates join: those of the first process within two seconds, the others within ten.
    fn plan_ahead(&mut self) {
        let mut draw = Draw::new(self.plan.seed, "overload joins", 0);
        let mut within =
            |seconds| SimTime::START + draw.duration(Duration::ZERO..=Duration::from_secs(seconds));
        for of in 0..self.plan.elections + self.plan.commanded {
            self.queue.put(within(2), Due::Joins(candidate(0, of)));
        }
        for of in self.plan.contested() {
            self.queue.put(within(10), Due::Joins(candidate(1, of)));
        }
        self.queue.put(self.plan.hands_over_at(), Due::HandsOver);
        self.queue.put(SimTime::START + Duration::from_secs(1), Due::Commands);
        self.queue.put(self.plan.resigns_at(), Due::Resigns);
        self.queue.put(self.plan.resigns_at(), Due::HandsOver);
        self.queue.put(self.plan.stops_at(), Due::Stops);
    }

    /// Does what is next: at one time, first what happens, then what is due. False at the end.
    fn goes_on(&mut self) -> bool {
        let deadlines = self.processes.iter().map(Process::deadline).enumerate();
        let (late, deadline) = deadlines.min_by_key(|(_, at)| *at).unwrap_or((0, SimTime::NEVER));
        let deadline = deadline.max(self.at);
        let next = self.queue.next();
        self.at = next.min(deadline);
        if self.at > self.plan.end() {
            return false;
        }
        if next > deadline {
            self.happens(late, Input::Due);
            return true;
        }
        match self.queue.take() {
            Some(Due::Joins(who)) => self.joins(who),
            Some(Due::Commands) => self.commands(),
            Some(Due::HandsOver) => self.hand_over_some(),
            Some(Due::Resigns) => self.resign_some(),
            Some(Due::Stops) => self.stop_all(),
            Some(Due::Input(process, input)) => self.happens(process, input),
            Some(Due::Answer(process, call)) => self.answer_arrives(process, call),
            Some(Due::Hint(of)) => {
                for process in 0..PROCESSES {
                    if self.processes[process].subscribed.contains(&of) {
                        self.happens(process, Input::Hint(of));
                    }
                }
            }
            None => {}
        }
        true
    }

    pub(super) fn joins(&mut self, who: Who) {
        self.journal.add(self.at, who, Event::Started { who });
        self.journal.add(self.at, who, Event::CampaignAsked { who });
        let join = self.processes[process(who)].join(self.plan, who);
        self.happens(process(who), join);
    }

    /// The leaders of elections with two candidates.
    fn leaders(&self) -> Vec<Who> {
        let leader = |of: u32| {
            let leads =
                |process: &usize| self.processes[*process].leads(of.into(), self.at).is_some();
            (0..PROCESSES).find(leads).map(|process| candidate(process, of))
        };
        self.plan.contested().filter_map(leader).collect()
    }

    fn resign_some(&mut self) {
        let pause = self.plan.config().renew_interval();
        for who in self.leaders().into_iter().take(self.plan.resignations as usize) {
            let asked = Event::ResignAsked { who, hold_off: Some(nanos(pause)) };
            self.journal.add(self.at, who, asked);
            self.happens(process(who), Input::Command(id(who), Command::Resign(pause)));
        }
    }

    /// Leaders of other such elections hand over to the candidate of the other process.
    fn hand_over_some(&mut self) {
        for who in self.leaders().into_iter().rev().take(self.plan.handovers as usize) {
            let leader = &mut self.processes[process(who)];
            if let Some(asks) = leader.hands_over(self.plan, id(who), self.at) {
                self.happens(process(who), asks);
            }
        }
    }

    /// Hands an event to the driver of a process, and carries its actions out.
    pub(super) fn happens(&mut self, process: usize, input: Input<u32>) {
        self.runs = process;
        self.processes[process].driver.handle(reading(self.at), input);
        while let Some(action) = self.processes[process].driver.poll() {
            self.carries_out(process, action);
        }
    }

    fn carries_out(&mut self, process: usize, action: Action<u32>) {
        match action {
            Action::Call(call, requests) => {
                let each = requests.iter().map(|one| (key(one.election), one.request));
                let of = requests.iter().map(|one| of_id(process, one.election));
                self.calls(process, call, None, of.collect(), &each.collect::<Vec<_>>());
            }
            Action::Ask(call, question) => {
                if let Some(request) = self.processes[process].request_of(question) {
                    self.calls(process, call, Some(question), Vec::new(), &[request]);
                }
            }
            Action::Cancel(call) => self.is_cancelled(process, call),
            Action::Drain(election) => {
                self.queue.put(self.at, Due::Input(process, Input::Drained(election)));
            }
            // It is silent.
            Action::LookAtWork(of) => {
                if let Some(token) = self.processes[process].leads(of, self.at) {
                    let (due, hold_off) = (Some(reading(self.at)), Duration::ZERO);
                    let silent = Command::WorkDue { token, due, hold_off };
                    self.queue.put(self.at, Due::Input(process, Input::Command(of, silent)));
                }
            }
            Action::Subscribe(key) => {
                self.processes[process].subscribed.insert(key);
                self.queue.put(self.at, Due::Input(process, Input::Hint(key)));
            }
            Action::Unsubscribe(key) => {
                self.processes[process].subscribed.remove(&key);
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

    fn calls(
        &mut self,
        process: usize,
        call: CallId,
        question: Option<QuestionId>,
        of: Vec<Who>,
        requests: &[(u32, Request)],
    ) {
        self.calls += 1;
        let number = self.calls;
        for (who, (_, request)) in of.iter().zip(requests) {
            if let Some((_, request)) = asked(*request) {
                self.journal.add(self.at, *who, Event::Sent { who: *who, id: number, request });
            }
        }
        let is_stuck = |(of, _): &(u32, Request)| self.plan.is_stuck(*of as usize);
        let mut replies = Vec::new();
        if self.at < self.plan.sticks_at() || !requests.iter().any(is_stuck) {
            let answer = self.server.answer(self.plan, self.at, requests);
            for (of, step) in answer.steps {
                self.journal.will_step(answer.done, of, step);
            }
            for ((of, _), reply) in requests.iter().zip(&answer.replies) {
                if *reply == Reply::Released {
                    self.queue.put(answer.at, Due::Hint(*of));
                }
            }
            self.queue.put(answer.at, Due::Answer(process, call));
            replies = answer.replies;
        }
        self.processes[process].calls.insert(call, Call { number, of, question, replies });
    }

    fn answer_arrives(&mut self, process: usize, call: CallId) {
        // Unless nobody waits for it any more.
        let Some(Call { number, of, question, replies }) =
            self.processes[process].calls.remove(&call)
        else {
            return;
        };
        for (who, reply) in of.into_iter().zip(&replies) {
            let answer = Some(answered(*reply));
            self.journal.add(self.at, who, Event::Answered { who, id: number, answer });
        }
        let is_noted = replies == [Reply::Noted];
        let results = replies.into_iter().map(Outcome::Answered).collect();
        self.happens(process, Input::Called(call, results));
        let wished = question.and_then(|id| self.processes[process].wishes.remove(&id));
        if let Some(wished) = wished.filter(|_| is_noted) {
            self.happens(process, Input::Command(wished.election, Command::RenewNow));
        }
    }

    fn is_cancelled(&mut self, process: usize, call: CallId) {
        let Some(Call { number, of, question, .. }) = self.processes[process].calls.remove(&call)
        else {
            return;
        };
        for who in of {
            self.journal.add(self.at, who, Event::Answered { who, id: number, answer: None });
        }
        if let Some(question) = question
            && let Some(asks) = self.processes[process].wishes_again(self.plan, question, self.at)
        {
            self.queue.put(self.at, Due::Input(process, asks));
        }
    }

    fn reports(&mut self, who: Who, event: Reported) {
        self.probe(key(id(who)));
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
        for process in 0..PROCESSES {
            let who = self.commanded.present(candidate(process, of));
            let token = self.processes[process].leads(id(who), self.at).map(Token::get);
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
