//! A way through states, for people.

use super::action::Action;
use super::judge::Broken;
use super::met::Seen;
use super::search::Model;
use super::state::{Body, Message, State};
use super::subject::Subject;
use super::{Election, TraceStep, Violation};

/// Goes the way again, and says what happens.
pub(super) fn tell<S: Subject>(
    election: &Election<S>,
    from: State<S>,
    actions: &[Action],
    broken: Broken,
) -> Violation {
    let rates: Vec<_> = from.nodes.iter().map(|node| node.rate).collect();
    let begins = format!("clocks: candidates {rates:?}, store {:?}", from.store.rate);
    let mut state = from;
    let mut steps = Vec::with_capacity(actions.len());
    for action in actions {
        let mut seen = Seen::noting();
        let what = in_words(&state, *action);
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
    Violation { property: property.to_owned(), what, from: begins, steps }
}

/// Who has begun to lead, and who leads no more.
fn leads<S: Subject>(before: &State<S>, after: &State<S>) -> Vec<String> {
    let changes =
        (0..after.nodes.len()).filter_map(|node| match (before.leads(node), after.leads(node)) {
            (None, Some(token)) => Some(format!("n{node} leads under token {token}")),
            (Some(token), None) => Some(format!("n{node} leads no more under token {token}")),
            _ => None,
        });
    changes.collect()
}

fn in_words<S: Subject>(state: &State<S>, action: Action) -> String {
    match action {
        Action::Campaign(node) => format!("n{node} begins to campaign"),
        Action::Tick => "a tick goes by".to_owned(),
        Action::Wake(node) => format!("n{node} wakes at its deadline"),
        Action::Deliver { message, again } => {
            let again = if again { ", and will arrive again" } else { "" };
            format!("{} arrives{again}", named(&state.messages[message]))
        }
        Action::Lose { message } => format!("{} is lost", named(&state.messages[message])),
        Action::Hint(node) => format!("n{node} is told that the lease may be vacant"),
        Action::EndWork(node) => format!("n{node}'s work has ended"),
        Action::Break(node) => format!("n{node}'s connection breaks"),
        Action::Pause(node) => format!("n{node} stands still"),
        Action::GoOn(node) => format!("n{node} goes on"),
        Action::Crash(node) => format!("n{node} crashes, and starts again"),
        Action::ReplaceStore { keeps_data: true } => {
            "another server takes the store's place, with its data".to_owned()
        }
        Action::ReplaceStore { keeps_data: false } => {
            "another server takes the store's place, and has no data".to_owned()
        }
        Action::Resign(node) => format!("n{node} is asked to hand over"),
        Action::ChangeRate { node: Some(node), rate } => {
            format!("the rate of n{node}'s clock is now {rate:?}")
        }
        Action::ChangeRate { node: None, rate } => {
            format!("the rate of the store's clock is now {rate:?}")
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
