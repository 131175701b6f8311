//! The two processes: their candidates join, report, and some resign.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use tenure::store::AnyStore;
use tenure::{Candidate, Elections, Event as Reported};

use super::OverloadError;
use super::journal::{Event, Journal, Who};
use super::plan::Plan;
use super::runtime::{Clock, PausedRuntime};
use super::store::{Server, SlowStore, key};
use crate::plan::SimTime;
use crate::plan::draw::Draw;

/// All processes of a run.
pub(super) struct Processes {
    clock: Clock,
    journal: Arc<Journal>,
    each: Vec<(Elections, PausedRuntime)>,
    candidates: Arc<Candidates>,
}

/// The candidates of each election.
#[derive(Default)]
struct Candidates(Mutex<BTreeMap<u32, Vec<(Who, Candidate)>>>);

/// How many processes there are.
const PROCESSES: u32 = 2;

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

    /// Lets all candidates join: those of the first process within two seconds, the others within ten.
    pub(super) async fn join_all(&self, plan: &Plan) -> Result<(), OverloadError> {
        let mut draw = Draw::new(plan.seed, "overload joins", 0);
        let mut within =
            |seconds| SimTime::START + draw.duration(Duration::ZERO..=Duration::from_secs(seconds));
        let first = (0..plan.elections).map(|election| Who { process: 0, election });
        let mut joins: Vec<(SimTime, Who)> = first.map(|who| (within(2), who)).collect();
        let standbys = plan.contested().map(|election| Who { process: 1, election });
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
        journal.add(clock.now(), Event::Joined(who));
        let (elections, _) = &self.each[usize::from(who.process != 0)];
        let builder = elections.candidate(key(who.election)).name("simulated");
        let candidate = builder.config(plan.config()).start();
        let candidate =
            candidate.map_err(|why| OverloadError::Start { who, why: Box::new(why) })?;
        let mut events = candidate.events();
        candidates.add(who, candidate);
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let Some(event) = reported(who, &event, &candidates) {
                    journal.add(clock.now(), event);
                }
            }
        });
        Ok(())
    }

    /// Asks the leaders of some elections with two candidates to resign.
    pub(super) fn resign_some(&self, plan: &Plan) {
        let leaders = plan.contested().filter_map(|election| self.candidates.leader(election));
        let resigning = usize::try_from(plan.resignations).unwrap_or(usize::MAX);
        for (who, leader) in leaders.take(resigning) {
            self.journal.add(self.clock.now(), Event::AskedToResign(who));
            tokio::spawn(async move {
                // Its event says whether it has stepped down.
                let _ = leader.resign().await;
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

/// What a candidate has reported, if it matters here.
fn reported(who: Who, event: &Reported, candidates: &Candidates) -> Option<Event> {
    match event {
        Reported::Elected(tenure) => {
            let beside = candidates.leader_beside(who);
            Some(Event::Elected { who, token: tenure.token().get(), beside })
        }
        Reported::SteppedDown { tenure, reason } => {
            Some(Event::SteppedDown { who, token: tenure.token().get(), why: (*reason).into() })
        }
        Reported::Lagged(_) => Some(Event::Lagged(who)),
        _ => None,
    }
}

impl Candidates {
    fn with<T>(&self, election: u32, of: impl FnOnce(&mut Vec<(Who, Candidate)>) -> T) -> T {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        of(all.entry(election).or_default())
    }

    fn add(&self, who: Who, candidate: Candidate) {
        self.with(who.election, |all| all.push((who, candidate)));
    }

    fn leader(&self, election: u32) -> Option<(Who, Candidate)> {
        self.with(election, |all| all.iter().find(|(_, one)| one.is_leader()).cloned())
    }

    fn leader_beside(&self, who: Who) -> Option<Who> {
        let leads = |(other, one): &&(Who, Candidate)| *other != who && one.is_leader();
        self.with(who.election, |all| all.iter().find(leads).map(|(other, _)| *other))
    }
}
