//! The actions that are possible in a state.

use tenure_core::Wish;

use super::bounds::{Bounds, Rate};
use super::state::{Body, Node, State};
use super::subject::{Subject, name};

/// One event of the election, its network or its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A candidate joins the election.
    Campaign(usize),
    /// A tick of true time elapses.
    Tick,
    /// A process acts on its deadline.
    Wake(usize),
    /// A message arrives. With `again`, a duplicate of it stays in flight.
    Deliver { message: usize, again: bool },
    /// Too many messages are in flight, and this one is lost.
    Lose { message: usize },
    /// A candidate receives a hint that the lease may be vacant.
    Hint(usize),
    /// The work of a tenure that is over has ended.
    EndWork(usize),
    /// A connection breaks: the candidate learns that the outcome of its last request is unknown.
    BreakConnection(usize),
    /// A process is paused.
    Pause(usize),
    /// A paused process resumes.
    Resume(usize),
    /// A process crashes, and another starts in its place.
    Crash(usize),
    /// Another server takes the store's place.
    ReplaceStore { keeps_data: bool },
    /// A candidate is asked to resign.
    Resign(usize),
    /// The rate of a node's clock changes.
    ChangeRate { node: usize, rate: Rate },
    /// An operator's wish arrives at the store, or the withdrawal of one.
    Want(Option<Wish>),
}

/// Every action that is possible in a state.
pub(super) fn all<S: Subject>(bounds: &Bounds, state: &State<S>) -> Vec<Action> {
    let nodes = 0..state.nodes.len();
    let of =
        |node: usize| state.messages.iter().filter(move |message| message.node == node).count();
    if let Some(crowded) = nodes.clone().find(|node| of(*node) > usize::from(bounds.in_flight)) {
        let messages = state.messages.iter().enumerate();
        let own = messages.filter(|(_, message)| message.node == crowded);
        return own.map(|(message, _)| Action::Lose { message }).collect();
    }
    // All candidates start at once: a crash covers later starts.
    if let Some(node) = nodes.clone().find(|node| state.nodes[*node].is_idle()) {
        return vec![Action::Campaign(node)];
    }
    let mut actions = Vec::with_capacity(24);
    // A running process acts on its deadline before time advances.
    if bounds.horizon.is_none_or(|most| state.tick < most.into())
        && !state.nodes.iter().any(Node::is_due)
    {
        actions.push(Action::Tick);
    }
    delivery_actions(state, &mut actions);
    for node in nodes {
        node_actions(state, node, &mut actions);
    }
    environment_actions(bounds, state, &mut actions);
    actions
}

fn delivery_actions<S: Subject>(state: &State<S>, actions: &mut Vec<Action>) {
    for (message, sent) in state.messages.iter().enumerate() {
        let arrives = match sent.body {
            Body::Request(_) => true,
            // A paused process reads its replies after it resumes.
            Body::Reply(_) => !state.nodes[sent.node].paused,
        };
        if arrives {
            actions.push(Action::Deliver { message, again: false });
            if state.left.duplicates > 0 {
                actions.push(Action::Deliver { message, again: true });
            }
        }
    }
}

fn node_actions<S: Subject>(state: &State<S>, index: usize, actions: &mut Vec<Action>) {
    let (node, left) = (&state.nodes[index], &state.left);
    if left.crashes > 0 {
        actions.push(Action::Crash(index));
    }
    if node.paused {
        return actions.push(Action::Resume(index));
    }
    if node.is_due() {
        actions.push(Action::Wake(index));
    }
    if node.hinted {
        actions.push(Action::Hint(index));
    }
    if node.work.is_some_and(|work| work.drain_until.is_some()) {
        actions.push(Action::EndWork(index));
    }
    if left.breaks > 0 && node.pending.is_some_and(|(_, until)| node.now() < until) {
        actions.push(Action::BreakConnection(index));
    }
    if left.pauses > 0 {
        actions.push(Action::Pause(index));
    }
    if left.resigns > 0 {
        actions.push(Action::Resign(index));
    }
}

fn environment_actions<S: Subject>(bounds: &Bounds, state: &State<S>, actions: &mut Vec<Action>) {
    if state.left.store_losses > 0 {
        actions.push(Action::ReplaceStore { keeps_data: true });
        // Promise G3 assumes a clock that is ahead of the last grant.
        if state.may_lose_data() {
            actions.push(Action::ReplaceStore { keeps_data: false });
        }
    }
    if state.left.rate_changes > 0 {
        for (index, node) in state.nodes.iter().enumerate() {
            let others = bounds.rates.choices().iter().filter(|rate| **rate != node.rate);
            actions.extend(others.map(|rate| Action::ChangeRate { node: index, rate: *rate }));
        }
    }
    // Of a lease that is vacant, or of another tenure, the store notes no wish.
    if let Some(lease) = state.store.record.filter(|lease| !lease.released)
        && state.left.wishes > 0
    {
        let names = (0..state.nodes.len()).map(|node| Some(Wish::Name(name(node))));
        let wishes = names.chain([Some(Wish::Anybody), None]);
        actions.extend(wishes.filter(|wish| *wish != lease.wanted).map(Action::Want));
    }
}
