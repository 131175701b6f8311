//! One state of the whole: candidates, messages on their way, the store, and what is needed to judge.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use tenure_core::contract::{History, Record};
use tenure_core::{Config, Input, Instant, Reply, Request, RequestId, Seed, Token};

use super::bounds::{Bounds, Faults, Rate};
use super::fingerprint::fingerprint;
use super::subject::Subject;

/// Long enough ago that the store's history is whole when the search begins.
const STORE_BEGINS: u64 = 1_000_000_000;

#[derive(Clone, Debug)]
pub(super) struct State<S> {
    /// True time.
    pub(super) tick: u8,
    pub(super) nodes: Vec<Node<S>>,
    pub(super) store: Store,
    /// On their way, in any order.
    pub(super) messages: Vec<Message>,
    /// What may still happen.
    pub(super) left: Faults,
    pub(super) written: Option<Written>,
}

#[derive(Clone, Debug)]
pub(super) struct Node<S> {
    pub(super) local: Arc<Local<S>>,
    pub(super) clock: u64,
    pub(super) rate: Rate,
    pub(super) life: u8,
    pub(super) paused: bool,
    /// Word is on its way that the lease may be vacant.
    pub(super) hinted: bool,
    /// The last request, and until when its answer is waited for.
    pub(super) asked: Option<(RequestId, Instant)>,
    pub(super) work: Option<Work>,
    /// The last tenure of this life whose lead has been seen to be over.
    pub(super) ended: Option<Token>,
}

/// A candidate's machine. It is large, and most steps leave most of them as they are.
#[derive(Debug)]
pub(super) struct Local<S> {
    pub(super) machine: S,
    fingerprint: u64,
}

/// Leader-only work, from `Elected` until its end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) token: Token,
    /// It was told to end, and may go on until then.
    pub(super) drains: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Store {
    /// Counted up whenever another server takes its place.
    pub(super) server: u8,
    pub(super) clock: u64,
    pub(super) rate: Rate,
    pub(super) record: Option<Record>,
    pub(super) history: Option<History>,
    /// The highest token ever granted.
    pub(super) highest: Option<Token>,
    /// The highest one that an earlier server granted.
    pub(super) before: Option<Token>,
    /// When this server first granted anything.
    pub(super) first_grant: Option<u8>,
}

/// The newest tenure under which anybody could write.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Written {
    pub(super) token: Token,
    /// The last tick at which a check of leadership was true.
    pub(super) checked: u8,
    /// What was written then may still be under way.
    pub(super) under_way: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub(super) node: usize,
    pub(super) life: u8,
    pub(super) id: RequestId,
    pub(super) body: Body,
    fingerprint: u64,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) enum Body {
    Request(Request),
    Reply(Reply),
}

impl<S: Subject> State<S> {
    /// All beginnings: every choice of rates. Candidates differ in nothing but their seeds, so which of
    /// them has which rate makes no difference.
    pub(super) fn initial(bounds: &Bounds, config: Config) -> Vec<Self> {
        let mut beginnings: Vec<Vec<Rate>> = vec![Vec::new()];
        for _ in 0..bounds.candidates {
            beginnings = beginnings
                .iter()
                .flat_map(|rates| {
                    let least = rates.last().copied();
                    let more =
                        bounds.rates.choices().iter().filter(move |rate| Some(**rate) >= least);
                    more.map(|rate| [rates.clone(), vec![*rate]].concat())
                })
                .collect();
        }
        let store = bounds.rates.choices().iter();
        store
            .flat_map(|store| {
                beginnings.iter().map(|nodes| Self::begins(bounds, config, *store, nodes))
            })
            .collect()
    }

    fn begins(bounds: &Bounds, config: Config, store: Rate, nodes: &[Rate]) -> Self {
        let nodes = nodes.iter().enumerate().map(|(index, rate)| Node {
            local: Arc::new(Local::new(S::new(config, seed(index, 0)))),
            clock: 0,
            rate: *rate,
            life: 0,
            paused: false,
            hinted: false,
            asked: None,
            work: None,
            ended: None,
        });
        Self {
            tick: 0,
            nodes: nodes.collect(),
            store: Store {
                server: 0,
                clock: STORE_BEGINS,
                rate: store,
                record: None,
                history: Some(History { identity: 0, known_since: Instant::ORIGIN }),
                highest: None,
                before: None,
                first_grant: None,
            },
            messages: Vec::new(),
            left: bounds.faults,
            written: None,
        }
    }

    /// Who leads, and under which token.
    pub(super) fn leads(&self, node: usize) -> Option<Token> {
        let node = &self.nodes[node];
        node.local.machine.claim(node.now()).map(|claim| claim.token())
    }
}

impl<S: Subject> Node<S> {
    pub(super) fn now(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    /// Its process has something to do now.
    pub(super) fn is_due(&self) -> bool {
        let deadline = self.local.machine.deadline();
        !self.paused && deadline.is_some_and(|deadline| deadline <= self.now())
    }

    /// The process is gone; another begins, and campaigns when it is told to.
    pub(super) fn restart(&mut self, index: usize, config: Config) {
        self.life += 1;
        self.local = Arc::new(Local::new(S::new(config, seed(index, self.life))));
        self.paused = false;
        self.hinted = false;
        self.asked = None;
        self.work = None;
        self.ended = None;
    }

    pub(super) fn handle(&mut self, input: Input) -> S {
        let mut machine = self.local.machine.clone();
        machine.handle(self.now(), input);
        machine
    }
}

impl<S: Subject> Local<S> {
    pub(super) fn new(machine: S) -> Self {
        let fingerprint = fingerprint(&machine);
        Self { machine, fingerprint }
    }
}

impl Store {
    /// Every token that it grants from now on is above all that were granted before, whatever it has lost:
    /// its clock shows a later microsecond than that of the last grant.
    pub(super) fn may_lose_data(&self) -> bool {
        self.highest.is_none_or(|highest| self.clock / 1_000 > highest.get())
    }
}

impl Message {
    pub(super) fn new(node: usize, life: u8, id: RequestId, body: Body) -> Self {
        let fingerprint = fingerprint(&(node, life, id, body));
        Self { node, life, id, body, fingerprint }
    }
}

impl<S> Hash for State<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.tick, self.left, self.store, self.written).hash(state);
        for node in &self.nodes {
            let Node { local, clock, rate, life, paused, hinted, asked, work, ended } = node;
            (local.fingerprint, clock, rate, life, paused, hinted, asked, work, ended).hash(state);
        }
        // A sum: the order of messages on their way means nothing.
        let sum = self.messages.iter().fold(0, |sum: u64, of| sum.wrapping_add(of.fingerprint));
        (self.messages.len(), sum).hash(state);
    }
}

/// No two lives share one.
const fn seed(node: usize, life: u8) -> Seed {
    let own = ((node as u128 + 1) << 8) | life as u128;
    // Both halves differ: people see the first one of a holder id.
    Seed::new((own << 64) | own)
}
