//! A violation as text: each step of the path that leads to it.

use tenure_core::Wish;

use super::action::Action;
use super::judge::Broken;
use super::met::Seen;
use super::state::{Body, Message, State};
use super::subject::{Subject, node_of};
use super::{Election, TraceStep, Violation};
use crate::search::breadth_first::Model;

/// Takes the steps of the path again, and describes each.
pub(super) fn describe<S: Subject>(
    election: &Election<S>,
    from: State<S>,
    actions: &[Action],
    broken: Broken,
) -> Violation {
    let rates: Vec<_> = from.nodes.iter().map(|node| node.rate).collect();
    let begins = format!("the candidates' clocks: {rates:?}");
    let mut state = from;
    let mut steps = Vec::with_capacity(actions.len());
    for action in actions {
        let mut seen = Seen::noting();
        let what = description(&state, *action);
        let next = election.step(&state, *action, &mut seen);
        let tick = next.as_ref().map_or(state.tick, |next| next.tick);
        let mut notes = seen.notes.unwrap_or_default();
        if let Ok(next) = next {
            notes.extend(leads(&state, &next));
            state = next;
        }
        steps.push(TraceStep { tick, what, notes });
    }
    let Broken { property, what } = broken;
    Violation { property, what, from: begins, steps }
}

/// The candidates that start or stop leading in a step.
fn leads<S: Subject>(before: &State<S>, after: &State<S>) -> Vec<String> {
    let changes =
        (0..after.nodes.len()).filter_map(|node| match (before.leads(node), after.leads(node)) {
            (None, Some(token)) => Some(format!("n{node} leads under token {token}")),
            (Some(token), None) => Some(format!("n{node} no longer leads under token {token}")),
            _ => None,
        });
    changes.collect()
}

fn description<S: Subject>(state: &State<S>, action: Action) -> String {
    match action {
        Action::Campaign(node) => format!("n{node} starts to campaign"),
        Action::Tick => "a tick elapses".to_owned(),
        Action::Wake(node) => format!("n{node} wakes at its deadline"),
        Action::Deliver { message, again } => {
            let again = if again { ", and a duplicate stays in flight" } else { "" };
            format!("{} arrives{again}", named(&state.messages[message]))
        }
        Action::Lose { message } => format!("{} is lost", named(&state.messages[message])),
        Action::Hint(node) => format!("n{node} receives a hint that the lease may be vacant"),
        Action::EndWork(node) => format!("n{node}'s work has ended"),
        Action::BreakConnection(node) => format!("n{node}'s connection breaks"),
        Action::Pause(node) => format!("n{node} is paused"),
        Action::Resume(node) => format!("n{node} resumes"),
        Action::Crash(node) => format!("n{node} crashes and restarts"),
        Action::ReplaceStore { keeps_data: true } => {
            "another server takes the store's place, with its data".to_owned()
        }
        Action::ReplaceStore { keeps_data: false } => {
            "another server takes the store's place, without its data".to_owned()
        }
        Action::Resign(node) => format!("n{node} is asked to resign"),
        Action::ChangeRate { node, rate } => format!("the rate of n{node}'s clock is now {rate:?}"),
        Action::Want(None) => "an operator withdraws a wish".to_owned(),
        Action::Want(Some(Wish::Anybody)) => {
            "an operator wishes for anybody but the leader".to_owned()
        }
        Action::Want(Some(Wish::Name(name))) => {
            let node = node_of(name.to_bits()).unwrap_or_default();
            format!("an operator wishes that n{node} leads")
        }
    }
}

fn named(message: &Message) -> String {
    let (node, id) = (message.node, message.id.get());
    match message.body {
        Body::Request(request) => format!("n{node}'s request {id}, {request:?},"),
        Body::Reply(reply) => format!("n{node}'s answer to {id}, {reply:?},"),
    }
}
