//! One state of the whole: candidates, messages on their way, the store, and what is needed to judge.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use tenure_core::contract::{History, Record};
use tenure_core::{Config, Input, Instant, Reply, Request, RequestId, Seed, Token};

use super::bounds::{Bounds, Faults, Rate};
use super::subject::Subject;
use super::words::{Anatomy, CLOCKS_BEGIN, STORE_BEGINS, Words};

#[derive(Clone, Debug)]
pub(super) struct State<S> {
    /// True time.
    pub(super) tick: u32,
    pub(super) nodes: SmallVec<[Node<S>; 3]>,
    pub(super) store: Store,
    /// On their way, in any order.
    pub(super) messages: SmallVec<[Message; 4]>,
    /// How many faults may still happen, and how often each.
    pub(super) most_left: u8,
    pub(super) left: Faults,
    pub(super) written: Option<Written>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Local<S> {
    pub(super) machine: S,
    pub(super) words: Words,
    /// Of the words.
    hash: u64,
}

/// Leader-only work, from `Elected` until its end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) token: Token,
    /// It was told to end, and may go on until then.
    pub(super) drains: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    pub(super) first_grant: Option<u32>,
    /// When it first extended a lease that an earlier server had granted.
    pub(super) first_renewal: Option<u32>,
}

/// The newest tenure under which anybody could write.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Written {
    pub(super) token: Token,
    /// The last tick at which a check of leadership was true.
    pub(super) checked: u32,
    /// What was written then may still be under way.
    pub(super) under_way: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Message {
    pub(super) node: usize,
    pub(super) life: u8,
    pub(super) id: RequestId,
    pub(super) body: Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Body {
    Request(Request),
    Reply(Reply),
}

impl<S: Subject> State<S> {
    /// All beginnings: every choice of rates. Candidates differ in nothing but their seeds, so which of
    /// them has which rate makes no difference.
    pub(super) fn initial(bounds: &Bounds, config: Config, anatomy: &Anatomy) -> Vec<Self> {
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
        let store = bounds.rates.of_the_store().iter();
        store
            .flat_map(|store| {
                beginnings
                    .iter()
                    .map(|nodes| Self::begins(bounds, (config, anatomy), *store, nodes))
            })
            .collect()
    }

    fn begins(
        bounds: &Bounds,
        (config, anatomy): (Config, &Anatomy),
        store: Rate,
        nodes: &[Rate],
    ) -> Self {
        let nodes = nodes.iter().enumerate().map(|(index, rate)| Node {
            local: Arc::new(Local::new(S::new(config, seed(index, 0)), anatomy)),
            clock: CLOCKS_BEGIN,
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
                history: Some(History {
                    identity: 0,
                    known_since: Instant::ORIGIN,
                    longest_ttl: Duration::ZERO,
                }),
                highest: None,
                before: None,
                first_grant: None,
                first_renewal: None,
            },
            messages: SmallVec::new(),
            most_left: bounds.most_faults,
            left: if bounds.most_faults == 0 { Faults::default() } else { bounds.faults },
            written: None,
        }
    }

    /// One fault of that kind less may happen.
    pub(super) fn spend(&mut self, kind: impl FnOnce(&mut Faults) -> &mut u8) {
        *kind(&mut self.left) -= 1;
        self.most_left -= 1;
        if self.most_left == 0 {
            self.left = Faults::default();
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

    /// It takes no part yet. One whose work drains waits for nothing else either.
    pub(super) fn is_idle(&self) -> bool {
        self.local.machine.deadline().is_none() && self.work.is_none()
    }

    /// Its process has something to do now.
    pub(super) fn is_due(&self) -> bool {
        let deadline = self.local.machine.deadline();
        !self.paused && deadline.is_some_and(|deadline| deadline <= self.now())
    }

    /// The process is gone; another begins, and campaigns when it is told to.
    pub(super) fn restart(&mut self, index: usize, config: Config, anatomy: &Anatomy) {
        self.life += 1;
        self.local = Arc::new(Local::new(S::new(config, seed(index, self.life)), anatomy));
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
    pub(super) fn new(machine: S, anatomy: &Anatomy) -> Self {
        let words = anatomy.words(&machine);
        let hash = FxBuildHasher.hash_one(&words);
        Self { machine, words, hash }
    }
}

impl<S> Hash for Local<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
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
        Self { node, life, id, body }
    }
}

/// No two lives share one.
const fn seed(node: usize, life: u8) -> Seed {
    let own = ((node as u128 + 1) << 8) | life as u128;
    // Both halves differ: people see the first one of a holder id.
    Seed::new((own << 64) | own)
}
