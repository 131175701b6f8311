//! One state of the model: the candidates, the messages in flight, the store, and the history that
//! the judge needs.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;
use tenure_core::contract::{FOREVER, Past, Record};
use tenure_core::{Config, Input, Instant, Reply, Request, RequestId, Seed, Stamp, Token};

use super::bounds::{Bounds, Faults, Rate, TICK};
use super::subject::{Subject, name};
use super::words::{CLOCKS_BEGIN, Layout, STORE_BEGINS, Words};

#[derive(Clone, Debug)]
pub(super) struct State<S> {
    /// True time, in ticks.
    pub(super) tick: u32,
    pub(super) nodes: SmallVec<[Node<S>; 3]>,
    pub(super) store: Store,
    /// The messages in flight, in any order.
    pub(super) messages: SmallVec<[Message; 4]>,
    /// The remaining number of faults of all kinds.
    pub(super) faults_left: u8,
    /// The remaining number of faults of each kind.
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
    /// A hint that the lease may be vacant is in flight.
    pub(super) hinted: bool,
    /// The last request, if it has no reply yet, and the time at which the candidate gives it up.
    pub(super) pending: Option<(RequestId, Instant)>,
    pub(super) work: Option<Work>,
    /// The newest tenure of this life that no longer leads.
    pub(super) ended: Option<Token>,
}

/// A candidate's machine. States share it, because it is large and most steps change at most one
/// machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Local<S> {
    pub(super) machine: S,
    pub(super) words: Words,
    /// The hash of the words.
    hash: u64,
}

/// Leader-only work, from `Elected` until the machine receives `Drained`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) token: Token,
    /// The time at which it must have ended, once its tenure is over.
    pub(super) drain_until: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Store {
    /// The number of servers that came before this one.
    pub(super) server: u8,
    pub(super) record: Option<Record>,
    /// The tick at which the record's mark was written.
    pub(super) marked: u32,
    /// The tick at which the record was given back for another candidate, if it was.
    pub(super) kept_since: u32,
    pub(super) past: Option<Past>,
    /// The number of stamps given by all servers: the next one has this number.
    pub(super) stamps: u64,
    /// The highest token that any server granted.
    pub(super) highest: Option<Token>,
    /// The highest token that an earlier server granted.
    pub(super) before: Option<Token>,
    /// The tick of this server's first step.
    pub(super) first_step: Option<u32>,
}

/// The newest tenure under which a candidate could write.
#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Written {
    pub(super) token: Token,
    /// The last tick at which a check of leadership was true.
    pub(super) checked: u32,
    /// True if a write after that check may still be in flight.
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
    /// All initial states: one for each choice of rates. Candidates differ only in their seeds, so
    /// choices that differ only in the order of candidates count once.
    pub(super) fn initial(bounds: &Bounds, config: Config, layout: &Layout) -> Vec<Self> {
        let beginnings = bounds.rates.beginnings(bounds.candidates);
        beginnings.iter().map(|rates| Self::begins(bounds, (config, layout), rates)).collect()
    }

    fn begins(bounds: &Bounds, (config, layout): (Config, &Layout), nodes: &[Rate]) -> Self {
        let nodes = nodes.iter().enumerate().map(|(index, rate)| Node {
            local: Arc::new(Local::new(S::new(config, name(index), seed(index, 0)), layout)),
            clock: CLOCKS_BEGIN,
            rate: *rate,
            life: 0,
            paused: false,
            hinted: false,
            pending: None,
            work: None,
            ended: None,
        });
        Self {
            tick: 0,
            nodes: nodes.collect(),
            store: Store {
                server: 0,
                record: None,
                marked: 0,
                kept_since: 0,
                // The first server has lost nothing.
                past: Some(Past {
                    identity: 0,
                    stamp: Stamp::from_bits(0),
                    watched: FOREVER,
                    longest: Duration::ZERO,
                    purged: None,
                }),
                stamps: 1,
                highest: None,
                before: None,
                first_step: None,
            },
            messages: SmallVec::new(),
            faults_left: bounds.most_faults,
            left: bounds.allowed(),
            written: None,
        }
    }

    /// Uses up one fault of that kind.
    pub(super) fn spend(&mut self, kind: impl FnOnce(&mut Faults) -> &mut u8) {
        *kind(&mut self.left) -= 1;
        self.faults_left -= 1;
        if self.faults_left == 0 {
            self.left = Faults::default();
        }
    }

    /// The store's clock. It is exact: only tokens, and hints at renewals, depend on it.
    pub(super) fn store_clock(&self) -> u64 {
        store_clock(self.tick)
    }

    /// True if the store's clock shows a later microsecond than that of the last grant. Then every
    /// token that the store grants from now on is above all earlier ones, even after a loss of all
    /// data.
    pub(super) fn may_lose_data(&self) -> bool {
        self.store.highest.is_none_or(|highest| self.store_clock() / 1_000 > highest.get())
    }

    /// The token under which a node leads, if it does.
    pub(super) fn leads(&self, node: usize) -> Option<Token> {
        let node = &self.nodes[node];
        node.local.machine.claim(node.now()).map(|claim| claim.token())
    }
}

impl<S: Subject> Node<S> {
    pub(super) fn now(&self) -> Instant {
        Instant::from_nanos(self.clock)
    }

    /// True if the candidate has not joined the election yet. A candidate whose work drains has no
    /// deadline either.
    pub(super) fn is_idle(&self) -> bool {
        self.local.machine.deadline().is_none() && self.work.is_none()
    }

    /// True if its deadline has come, and it is not paused.
    pub(super) fn is_due(&self) -> bool {
        let deadline = self.local.machine.deadline();
        !self.paused && deadline.is_some_and(|deadline| deadline <= self.now())
    }

    /// Replaces the process by a new one, which has not joined the election yet.
    pub(super) fn restart(&mut self, index: usize, config: Config, layout: &Layout) {
        self.life += 1;
        self.local =
            Arc::new(Local::new(S::new(config, name(index), seed(index, self.life)), layout));
        self.paused = false;
        self.hinted = false;
        self.pending = None;
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
    pub(super) fn new(machine: S, layout: &Layout) -> Self {
        let words = layout.words(&machine);
        let hash = FxBuildHasher.hash_one(&words);
        Self { machine, words, hash }
    }
}

impl<S> Hash for Local<S> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// The store's clock at a tick.
pub(super) fn store_clock(tick: u32) -> u64 {
    STORE_BEGINS + u64::from(tick) * TICK
}

impl Message {
    pub(super) fn new(node: usize, life: u8, id: RequestId, body: Body) -> Self {
        Self { node, life, id, body }
    }
}

/// The seed of one life of a node; no two lives share it.
const fn seed(node: usize, life: u8) -> Seed {
    let own = ((node as u128 + 1) << 8) | life as u128;
    // Both halves differ, because descriptions show only the first half of a holder id.
    Seed::new((own << 64) | own)
}
