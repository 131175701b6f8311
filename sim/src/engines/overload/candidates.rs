//! The two processes: their candidates join, report, and some resign.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::AnyStore;
use tenure::{Candidate, Elections};

use super::OverloadError;
use super::journal::{Journal, candidate, election, process};
use super::plan::Plan;
use super::runtime::{Clock, PausedRuntime, true_time};
use super::store::{Server, SlowStore, key};
use crate::engines::calls::of_driver::traced;
use crate::plan::draw::Draw;
use crate::plan::{SimTime, nanos};
use crate::trace::{Event, Who};

/// All processes of a run.
pub(super) struct Processes {
    clock: Clock,
    journal: Arc<Journal>,
    each: Vec<(Elections, PausedRuntime)>,
    candidates: Arc<Candidates>,
}

/// The candidates of each election.
#[derive(Default)]
struct Candidates(Mutex<BTreeMap<usize, Vec<Member>>>);

struct Member {
    who: Who,
    candidate: Candidate,
    /// The token under which it led when it was asked last.
    leads: Option<u64>,
}

/// The number of processes.
pub(super) const PROCESSES: u32 = 2;

impl Processes {
    pub(super) fn new(plan: &Plan, clock: Clock, journal: &Arc<Journal>) -> Self {
        let server = Arc::new(Server::new(plan.clone(), clock, Arc::clone(journal)));
        let one = |process| {
            let runtime = PausedRuntime::new(clock, plan.seed, process);
            let store = AnyStore::new(SlowStore { server: Arc::clone(&server), process });
            (Elections::with_runtime(store, Arc::new(runtime.clone())), runtime)
        };
        Self {
            clock,
            journal: Arc::clone(journal),
            each: (0..PROCESSES).map(one).collect(),
            candidates: Arc::default(),
        }
    }

    /// Lets all candidates join: those of the first process within two seconds, the others within
    /// ten.
    pub(super) async fn join_all(&self, plan: &Plan) -> Result<(), OverloadError> {
        let mut draw = Draw::new(plan.seed, "overload joins", 0);
        let mut within =
            |seconds| SimTime::START + draw.duration(Duration::ZERO..=Duration::from_secs(seconds));
        let first = (0..plan.elections).map(|election| candidate(0, election));
        let mut joins: Vec<(SimTime, Who)> = first.map(|who| (within(2), who)).collect();
        let standbys = plan.contested().map(|election| candidate(1, election));
        joins.extend(standbys.map(|who| (within(10), who)));
        joins.sort_unstable();
        for (at, who) in joins {
            self.clock.sleep_until(at).await;
            self.join(plan, who)?;
        }
        Ok(())
    }

    fn join(&self, plan: &Plan, who: Who) -> Result<(), OverloadError> {
        let (journal, clock) = (Arc::clone(&self.journal), self.clock);
        let candidates = Arc::clone(&self.candidates);
        journal.add(clock.now(), who, Event::CampaignAsked { who });
        let (elections, _) = &self.each[process(who)];
        let builder = elections.candidate(key(election(who))).name(name(process(who)));
        let started = builder.config(plan.config()).start();
        let candidate = started.map_err(|why| OverloadError::Start { who, why: Box::new(why) })?;
        let mut events = candidate.events();
        candidates.add(who, candidate);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                let at = clock.now();
                candidates.probe(election(who), |who, event| journal.add(at, who, event));
                if let tenure::Event::Lagged(_) = event {
                    journal.lags(at, who);
                } else if let Some(event) = traced(who, &event, true_time) {
                    journal.add(at, who, event);
                }
            }
        });
        Ok(())
    }

    /// Asks the leaders of some elections with two candidates to resign.
    pub(super) fn resign_some(&self, plan: &Plan) {
        let leaders =
            plan.contested().filter_map(|election| self.candidates.leader(election as usize));
        let resigning = usize::try_from(plan.resignations).unwrap_or(usize::MAX);
        let hold_off = Some(nanos(plan.config().renew_interval()));
        for (who, leader) in leaders.take(resigning) {
            self.journal.add(self.clock.now(), who, Event::ResignAsked { who, hold_off });
            tokio::spawn(async move {
                // Its event says whether it has stepped down.
                let _ = leader.resign().await;
            });
        }
    }

    /// Lets the leaders of other such elections hand over to the candidate of the other process.
    pub(super) fn hand_over_some(&self, plan: &Plan) {
        let contested: Vec<u32> = plan.contested().collect();
        let leaders = contested.iter().rev();
        let leaders = leaders.filter_map(|election| self.candidates.leader(*election as usize));
        for (who, leader) in leaders.take(plan.handovers as usize) {
            tokio::spawn(async move {
                // Its event says whether the other one has asked.
                let _ = leader.hand_over(Some(&name(1 - process(who)))).await;
            });
        }
    }

    /// Ends the simulation: what is dropped from now on must spawn nothing.
    pub(super) fn end(self) {
        for (_, runtime) in &self.each {
            runtime.end();
        }
    }
}

/// The name of a process's candidates.
fn name(process: usize) -> String {
    format!("process-{process}")
}

impl Candidates {
    fn with<T>(&self, election: usize, of: impl FnOnce(&mut Vec<Member>) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of(all.entry(election).or_default())
    }

    fn add(&self, who: Who, candidate: Candidate) {
        self.with(election(who), |all| all.push(Member { who, candidate, leads: None }));
    }

    fn leader(&self, election: usize) -> Option<(Who, Candidate)> {
        let of = |one: &Member| (one.who, one.candidate.clone());
        self.with(election, |all| all.iter().find(|one| one.candidate.is_leader()).map(of))
    }

    /// Asks every candidate of the election whether it leads, and reports each change.
    fn probe(&self, election: usize, mut turned: impl FnMut(Who, Event)) {
        self.with(election, |all| {
            for Member { who, candidate, leads } in all {
                let who = *who;
                let tenure = candidate.is_leader().then(|| candidate.tenure()).flatten();
                let token = tenure.map(|tenure| tenure.token().get());
                let before = std::mem::replace(leads, token);
                if before.is_some() && before != token {
                    turned(who, Event::LeadsNoMore { who });
                }
                if let Some(token) = token.filter(|_| before != token) {
                    turned(who, Event::Leads { who, token });
                }
            }
        });
    }
}
