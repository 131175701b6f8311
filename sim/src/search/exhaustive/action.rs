//! What can happen in a state.

use super::bounds::{Bounds, Rate};
use super::state::{Body, Node, State};
use super::subject::Subject;

/// One thing that can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// A candidate begins to take part.
    Campaign(usize),
    /// A tick of true time goes by.
    Tick,
    /// A process finds that its deadline has come.
    Wake(usize),
    /// A message arrives. With `again` it will arrive once more.
    Deliver { message: usize, again: bool },
    /// Too many messages are on their way, and this one is lost.
    Lose { message: usize },
    /// Word arrives that the lease may be vacant.
    Hint(usize),
    /// Work that was told to end has ended.
    EndWork(usize),
    /// The candidate is told that nobody knows what became of its last request.
    Break(usize),
    /// A process stands still.
    Pause(usize),
    /// It goes on.
    GoOn(usize),
    /// A process is gone, and another begins in its place.
    Crash(usize),
    /// Another server takes the store's place.
    ReplaceStore { keeps_data: bool },
    /// A candidate is asked to hand over.
    Resign(usize),
    /// The rate of a clock changes: of a node, or of the store.
    ChangeRate { node: Option<usize>, rate: Rate },
}

/// All that can happen.
pub(super) fn all<S: Subject>(bounds: &Bounds, state: &State<S>) -> Vec<Action> {
    let nodes = 0..state.nodes.len();
    let of =
        |node: usize| state.messages.iter().filter(move |message| message.node == node).count();
    if let Some(crowded) = nodes.clone().find(|node| of(*node) > usize::from(bounds.in_flight)) {
        let messages = state.messages.iter().enumerate();
        let own = messages.filter(|(_, message)| message.node == crowded);
        return own.map(|(message, _)| Action::Lose { message }).collect();
    }
    // All begin at once: later beginnings are restarts.
    if let Some(node) = nodes.clone().find(|node| state.nodes[*node].is_idle()) {
        return vec![Action::Campaign(node)];
    }
    let mut actions = Vec::with_capacity(24);
    // A process that runs does what is due before time goes by.
    if bounds.horizon.is_none_or(|most| state.tick < most.into())
        && !state.nodes.iter().any(Node::is_due)
    {
        actions.push(Action::Tick);
    }
    deliveries(state, &mut actions);
    for node in nodes {
        of_node(state, node, &mut actions);
    }
    of_surroundings(bounds, state, &mut actions);
    actions
}

fn deliveries<S: Subject>(state: &State<S>, actions: &mut Vec<Action>) {
    for (message, sent) in state.messages.iter().enumerate() {
        let arrives = match sent.body {
            Body::Request(_) => true,
            // What comes while a process stands still is read when it goes on.
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

fn of_node<S: Subject>(state: &State<S>, index: usize, actions: &mut Vec<Action>) {
    let (node, left) = (&state.nodes[index], &state.left);
    if left.crashes > 0 {
        actions.push(Action::Crash(index));
    }
    if node.paused {
        return actions.push(Action::GoOn(index));
    }
    if node.is_due() {
        actions.push(Action::Wake(index));
    }
    if node.hinted {
        actions.push(Action::Hint(index));
    }
    if node.work.is_some_and(|work| work.drains.is_some()) {
        actions.push(Action::EndWork(index));
    }
    if left.breaks > 0 && node.asked.is_some_and(|(_, until)| node.now() < until) {
        actions.push(Action::Break(index));
    }
    if left.pauses > 0 {
        actions.push(Action::Pause(index));
    }
    if left.resigns > 0 {
        actions.push(Action::Resign(index));
    }
}

fn of_surroundings<S: Subject>(bounds: &Bounds, state: &State<S>, actions: &mut Vec<Action>) {
    if state.left.store_losses > 0 {
        actions.push(Action::ReplaceStore { keeps_data: true });
        // Promise G3 rests on a clock that is ahead of the last grant.
        if state.store.may_lose_data() {
            actions.push(Action::ReplaceStore { keeps_data: false });
        }
    }
    if state.left.rate_changes > 0 {
        let clocks = (0..state.nodes.len()).map(Some).chain([None]);
        for node in clocks {
            let now = node.map_or(state.store.rate, |node| state.nodes[node].rate);
            let choices = node.map_or(bounds.rates.of_the_store(), |_| bounds.rates.choices());
            let others = choices.iter().filter(|rate| **rate != now);
            actions.extend(others.map(|rate| Action::ChangeRate { node, rate: *rate }));
        }
    }
}
