//! The shared state of the engine and all processes of a run: the trace, the sinks, and the
//! elections.

use std::sync::Arc;
use std::time::Duration;

use tenure::{Candidate, Config};

use super::contest::{Contest, Order, Participant};
use super::journal::{Journal, Of};
use super::landings::Landings;
use super::node::Node;
use super::schedule::SharedSchedule;
use super::service::Hosting;
use super::sinks::Sinks;
use crate::engines::node::NodeProcess;
use crate::judge::Outcome;
use crate::judge::properties::Leader;
use crate::plan::{Ending, Plan, Point, Program, SimTime};
use crate::trace::Event;

pub(super) struct World {
    pub(super) configs: Vec<Config>,
    pub(super) work_every: Duration,
    pub(super) program: Program,
    pub(super) sinks: Arc<Sinks>,
    pub(super) landings: Arc<Landings>,
    /// The user's service, if it takes the place of the engine's own work.
    pub(super) hosting: Option<Hosting>,
    journal: Arc<Journal>,
    schedule: Arc<SharedSchedule>,
    elections: Vec<Contest>,
}

impl World {
    /// With one election for each outcome.
    pub(super) fn new(
        plan: &Plan,
        configs: Vec<Config>,
        (journal, schedule): (Arc<Journal>, Arc<SharedSchedule>),
        outcomes: Vec<Outcome>,
        hosting: Option<Hosting>,
    ) -> Self {
        let landings = Arc::new(Landings::new(Arc::clone(&journal)));
        let sinks =
            Sinks::new(&plan.work, outcomes.len(), Arc::clone(&journal), Arc::clone(&landings));
        let contest = |outcome| Contest::new(plan.nodes.len(), outcome);
        Self {
            configs,
            work_every: Duration::from_millis(plan.work.every_ms),
            program: plan.program,
            sinks: Arc::new(sinks),
            landings,
            hosting,
            journal,
            schedule,
            elections: outcomes.into_iter().map(contest).collect(),
        }
    }

    pub(super) fn elections(&self) -> usize {
        self.elections.len()
    }

    pub(super) fn true_now(&self) -> SimTime {
        self.journal.now()
    }

    pub(super) fn record(&self, of: Of, event: Event) {
        self.journal.record(of, event);
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The tick has ended: its events are judged.
    pub(super) fn write_up(&self) {
        let at = self.true_now();
        for (of, event) in self.journal.take() {
            if let Of::One(election) = of {
                self.elections[election].record(at, event);
                continue;
            }
            let all = self.elections.iter().enumerate();
            for (_, contest) in all.filter(|(election, _)| of.is_of(*election)) {
                contest.record(at, event.clone());
            }
        }
    }

    pub(super) fn is_violated(&self) -> bool {
        self.elections.iter().any(Contest::is_violated)
    }

    pub(super) fn finish(&self) -> Outcome {
        let finish = |contest: &Contest| contest.finish(self.true_now());
        let mut outcome = Outcome::of_elections(self.elections.iter().map(finish).collect());
        if let Some(hosting) = &self.hosting {
            hosting.finish(self.true_now(), &mut outcome);
        }
        outcome
    }

    /// The user's services run up to now, and what they have done is verified.
    pub(super) fn serve(&self) {
        if let Some(hosting) = &self.hosting {
            hosting.advance(self.true_now());
            self.elections[0].judge(|outcome| hosting.verify(self.true_now(), outcome));
        }
    }

    /// The run has ended, and the user's services with it.
    pub(super) fn end_services(&self) {
        if let Some(hosting) = &self.hosting {
            hosting.ends();
        }
    }

    /// A process of that node takes part in an election.
    pub(super) fn joins(&self, election: usize, participant: Participant) {
        self.elections[election].joins(participant);
    }

    /// The process has ended, and its handles with it.
    pub(super) fn left(&self, node: &Node) {
        self.record(Of::All, Event::Crashed { who: node.who() });
        if let Some(hosting) = &self.hosting {
            hosting.left(node.index);
        }
        self.elections.iter().for_each(|contest| contest.left(node.index));
    }

    /// A node is asked to hand over every lease that it holds.
    pub(super) fn resign(&self, node: usize) {
        self.order(node, Order::Resign);
    }

    /// A node is asked to hand every lease that it holds over to another one.
    pub(super) fn hand_over(&self, node: usize, to: usize) {
        self.order(node, Order::HandOver { to });
    }

    /// A node is asked to leave all elections.
    pub(super) fn leave(&self, node: usize) {
        self.order(node, Order::Leave);
    }

    /// A node is asked to take part in all elections again.
    pub(super) fn rejoin(&self, node: usize) {
        self.order(node, Order::Rejoin);
    }

    fn order(&self, node: usize, order: Order) {
        self.elections.iter().for_each(|contest| contest.order(node, order));
    }

    /// A process has another candidate in an election, or none.
    pub(super) fn replaces(&self, election: usize, node: usize, candidate: Option<Candidate>) {
        self.elections[election].replaces(node, candidate);
    }

    /// A node that leads an election at this moment, if there is one.
    pub(super) fn leader(&self) -> Option<usize> {
        self.elections.iter().find_map(Contest::leader)
    }

    /// Evaluates `is_leader()` of every candidate, paused ones included, at this moment.
    pub(super) fn probe(&self, leaders: &mut [Vec<Leader>]) {
        for (election, (contest, leaders)) in self.elections.iter().zip(leaders).enumerate() {
            let was_elected = |node| self.journal.has_elected(election, node);
            contest.probe(leaders, was_elected, |node, event| {
                let leads = matches!(event, Event::Leads { .. });
                self.record(Of::One(election), event);
                if leads {
                    // At the end of a tick no process runs that would have to wait.
                    self.schedule.reached(self.true_now(), Point::Leads, Some(node));
                }
            });
        }
    }
    /// Asks a leader of the recovery phase to hand over, if the plan requires that.
    pub(super) fn check_end(&self, ending: &mut Ending, leaders: &[Vec<Leader>]) {
        for (election, (contest, leaders)) in self.elections.iter().zip(leaders).enumerate() {
            let leaders = leaders.iter().map(|leader| (leader.who.node, leader.token));
            if let Some(leader) = ending.observe(self.true_now(), election, leaders) {
                contest.order(leader, Order::Resign);
            }
        }
    }
}
