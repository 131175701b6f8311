//! Packed states, which wait to be examined. States have most of their parts in common with others,
//! so each part is kept once, and states share it.

use std::array;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use super::bounds::Faults;
use super::state::{Local, Message, Node, State, Store, Written};
use super::subject::Subject;

/// A state that shares its parts with others.
pub(super) struct Packed<S> {
    tick: u32,
    faults_left: u8,
    left: Faults,
    written: Option<Written>,
    store: Arc<Store>,
    nodes: [Option<Arc<Node<S>>>; 3],
    messages: SmallVec<[Arc<Message>; 4]>,
}

/// The shared parts of the packed states of one level.
pub(super) struct Parts<S> {
    stores: Known<Store>,
    nodes: Known<Node<S>>,
    /// The machines. Nodes that differ in other parts may share one.
    locals: Known<Local<S>>,
    messages: Known<Message>,
}

type Known<T> = HashSet<Arc<T>, FxBuildHasher>;

impl<S> Default for Parts<S> {
    fn default() -> Self {
        Self {
            stores: Known::default(),
            nodes: Known::default(),
            locals: Known::default(),
            messages: Known::default(),
        }
    }
}

impl<S: Subject> Packed<S> {
    pub(super) fn new(state: State<S>, parts: &mut Parts<S>) -> Self {
        let State { tick, nodes, store, messages, faults_left, left, written } = state;
        let mut all = nodes.into_iter().map(|node| parts.node(node));
        let nodes = array::from_fn(|_| all.next());
        assert!(all.next().is_none(), "a search has three candidates at most");
        Self {
            tick,
            faults_left,
            left,
            written,
            store: shared(&mut parts.stores, store),
            nodes,
            messages: messages.into_iter().map(|one| shared(&mut parts.messages, one)).collect(),
        }
    }

    pub(super) fn unpack(&self) -> State<S> {
        let Self { tick, faults_left, left, written, store, nodes, messages } = self;
        State {
            tick: *tick,
            nodes: nodes.iter().flatten().map(|node| Node::clone(node)).collect(),
            store: **store,
            messages: messages.iter().map(|message| **message).collect(),
            faults_left: *faults_left,
            left: *left,
            written: *written,
        }
    }
}

impl<S: Subject> Parts<S> {
    fn node(&mut self, mut node: Node<S>) -> Arc<Node<S>> {
        if let Some(known) = self.nodes.get(&node) {
            return Arc::clone(known);
        }
        if let Some(known) = self.locals.get(&node.local) {
            node.local = Arc::clone(known);
        } else {
            self.locals.insert(Arc::clone(&node.local));
        }
        shared(&mut self.nodes, node)
    }
}

fn shared<T: Eq + Hash>(known: &mut Known<T>, part: T) -> Arc<T> {
    if let Some(known) = known.get(&part) {
        return Arc::clone(known);
    }
    let part = Arc::new(part);
    known.insert(Arc::clone(&part));
    part
}
