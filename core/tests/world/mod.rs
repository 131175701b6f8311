//! A world of candidates, one store and a network, in which anything may happen within the
//! assumptions of DESIGN section 1, and every promise is checked after each thing that happens, in
//! true time.

mod checks;
mod clock;
pub(crate) mod lines;
mod network;
mod node;
pub(crate) mod op;
mod recovery;
pub(crate) mod setup;
mod sights;
mod store;

use clock::Clock;
use network::{Answer, Message, Sender};
use node::{Node, Tenure};
use op::{Edge, Op};
use setup::Setup;
pub(crate) use sights::Sights;
use std::time::Duration;
use store::Store;
use tenure_core::{Event, Input, Output, Token};

/// Nanoseconds from 1970 on the store's clock at the start.
const TODAY: u64 = 1_790_000_000_000_000_000;

#[derive(Debug)]
pub(crate) struct World {
    setup: Setup,
    /// True time, in nanoseconds.
    now: u64,
    store: Store,
    nodes: Vec<Node>,
    requests: Vec<Message>,
    replies: Vec<Answer>,
    /// Everything that came out of the nodes since it was last cleared.
    outputs: Vec<Output>,
    /// The token of the last tenure of any node.
    last_elected: Option<Token>,
    /// True if requests are admitted as soon as they are pending.
    admits: bool,
    sights: Sights,
}

/// Carries out all operations, then ends all faults. Panics, with the letter of the property, on a
/// violation.
pub(crate) fn run(setup: &Setup, ops: &[Op]) -> Sights {
    let mut world = World::new(setup.clone());
    for op in ops {
        world.happens(*op);
        world.check();
    }
    world.faults_end();
    world.sights
}

impl World {
    fn new(setup: Setup) -> Self {
        let store = Store::new(Clock::new(TODAY, 0), setup.knows_its_past);
        let node = |(number, node): (usize, &setup::NodeSetup)| {
            let clock = Clock::new(node.clock_shows, setup.off_ppm(node.rate));
            Node::new(clock, setup.config(node), number, 0)
        };
        let nodes: Vec<_> = setup.nodes.iter().enumerate().map(node).collect();
        let mut world = Self {
            now: 0,
            store,
            nodes,
            requests: Vec::new(),
            replies: Vec::new(),
            outputs: Vec::new(),
            last_elected: None,
            admits: !setup.queues,
            sights: Sights::default(),
            setup,
        };
        for node in 0..world.nodes.len() {
            world.handle(node, Input::Campaign);
        }
        world
    }

    fn happens(&mut self, op: Op) {
        match op {
            Op::Pass(permille) => self.pass_to(self.now + self.of_ttl(permille)),
            Op::PassTo { edge, node, just_before } => self.pass_to_edge(edge, node, just_before),
            Op::Healthy(permille) => self.healthy_until(self.now + self.of_ttl(permille), false),
            Op::Wake { node } => self.handle(self.node(node), Input::Wake),
            Op::Admit { node } => self.admit(self.node(node)),
            Op::Hint { node } => self.handle(self.node(node), Input::Hint),
            Op::Campaign { node } => self.handle(self.node(node), Input::Campaign),
            Op::Resign { node, again_after } => {
                let again_after =
                    again_after.map(|permille| Duration::from_nanos(self.of_ttl(permille)));
                self.handle(self.node(node), Input::Resign { again_after });
            }
            Op::Drained { node } => {
                let node = self.node(node);
                if matches!(self.nodes[node].tenure, Tenure::Draining { .. }) {
                    self.handle(node, Input::Drained);
                }
            }
            Op::Request { pick, fate } => self.request_meets(pick, fate),
            Op::Reply { pick, fate } => self.reply_meets(pick, fate),
            Op::Crash { node } => self.crash(self.node(node)),
            Op::Drift { node, rate } => {
                let (node, off) = (self.node(node), self.setup.off_ppm(rate));
                self.nodes[node].clock.set_rate(self.now, off);
            }
            Op::Suspend { node, permille } => self.suspend(self.node(node), permille),
            Op::SetStoreClock { seconds } => {
                self.sights.clock_steps = true;
                self.store.set_clock(self.now, u64::from(seconds) * 1_000_000_000);
            }
            Op::BackUp => self.store.back_up(),
            Op::RollBack => self.store_loses_data(Store::roll_back),
            Op::LoseEverything => self.store_loses_data(Store::lose_everything),
        }
    }

    fn node(&self, pick: u8) -> usize {
        usize::from(pick) % self.nodes.len()
    }

    fn longest_ttl(&self) -> u64 {
        let ttl = |node: &Node| clock::narrow(node.config.ttl().as_nanos());
        self.nodes.iter().map(ttl).max().expect("has nodes")
    }

    fn of_ttl(&self, permille: u16) -> u64 {
        self.longest_ttl() / 1_000 * u64::from(permille)
    }

    fn pass_to(&mut self, time: u64) {
        self.now = self.now.max(time);
        self.check();
    }

    fn deadline(&self, node: usize) -> Option<u64> {
        let node = &self.nodes[node];
        node.candidate.deadline().map(|deadline| node.clock.when(self.now, deadline))
    }

    fn pass_to_edge(&mut self, edge: Edge, node: u8, just_before: bool) {
        let number = self.node(node);
        let edge = match edge {
            Edge::Deadline => self.deadline(number),
            Edge::ClaimEnd => self.nodes[number]
                .claim(self.now)
                .map(|claim| self.nodes[number].clock.when(self.now, claim.valid_until())),
        };
        if let Some(edge) = edge {
            self.pass_to(edge.saturating_sub(u64::from(just_before)));
        }
    }

    fn handle(&mut self, number: usize, input: Input) {
        let node = &mut self.nodes[number];
        let outputs = node.handle(self.now, input);
        let incarnation = node.incarnation;
        for output in outputs {
            match output {
                Output::Send { id, request, .. } => {
                    let from = Sender { node: number, incarnation, id };
                    self.requests.push(Message { from, request });
                }
                Output::Event(Event::Elected(claim)) => self.elected(claim.token()),
                Output::Event(event) => self.sights.note(event),
            }
            self.outputs.push(output);
        }
        self.check();
        if self.admits && self.nodes[number].candidate.pending().is_some() {
            self.handle(number, Input::Admitted);
        }
    }

    fn admit(&mut self, number: usize) {
        let waited = self.nodes[number].candidate.pending().is_some();
        let sent = self.requests.len();
        self.handle(number, Input::Admitted);
        let sends = self.requests.len() > sent;
        self.sights.admitted_late |= sends && waited;
        self.sights.renewed_early |= sends && !waited;
    }

    /// (c) G3.
    fn elected(&mut self, token: Token) {
        assert!(Some(token) > self.last_elected, "(c) {token:?} after {:?}", self.last_elected);
        self.sights.takeovers |= self.last_elected.is_some();
        self.last_elected = Some(token);
    }

    fn crash(&mut self, number: usize) {
        let node = &self.nodes[number];
        let (clock, config) = (node.clock.clone(), node.config);
        self.nodes[number] = Node::new(clock, config, number, node.incarnation + 1);
        self.handle(number, Input::Campaign);
    }

    /// The clock counts on meanwhile, and is ahead of true time afterwards.
    fn suspend(&mut self, number: usize, permille: u16) {
        let ahead = self.of_ttl(permille);
        let clock = &mut self.nodes[number].clock;
        clock.set(self.now, clock.read(self.now).as_nanos() + ahead);
        self.sights.suspends = true;
        self.handle(number, Input::Resumed);
    }

    fn store_loses_data(&mut self, lose: fn(&mut Store, u64)) {
        self.sights.lost_while_led |= self.nodes.iter().any(|node| node.claim(self.now).is_some());
        lose(&mut self.store, self.now);
    }
}
