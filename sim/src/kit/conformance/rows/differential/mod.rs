//! Random requests, answered by the store and by the contract's own code.
//!
//! No answer rests on the time that passes, so the contract's code has to give the same answers,
//! but for what is the store's own choice: a token that its clock is above, a stamp, and the times
//! that it tells as hints. These are taken over from its answers.
//!
//! With `TENURE_TRANSITIONS`, a folder, each step is written there as a line for `proof/replay`.
//! What was kept before and after it is what the contract keeps: the store's answers do not show
//! all of it.

mod model;
mod requests;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use tenure::store::{Key, Promise, Request};
use tenure_core::Transition;

use super::Stop;
use crate::conformance::Mishap;
use crate::conformance::probe::{Found, Probe, broken, key};
use crate::plan::draw::Draw;
use model::Model;
use requests::Requests;

const REQUESTS: u32 = 2_000;
/// The most requests in a call.
const TOGETHER: u64 = 5;

/// Two readings of a store's clock that are so far apart differ.
const CLOCK_MOVES: Duration = Duration::from_millis(2);

pub(crate) async fn random_requests_are_answered_as_by_the_contract(
    probe: &mut Probe<'_>,
) -> Found<()> {
    let elections = [key("a")?, key("b")?, key("c")?];
    let mut model = Model::new(&probe.traits, probe.harness.trusts_an_empty_store());
    let mut requests = Requests::new(Draw::new(1, "differential", 0), &probe.traits);
    // A store that gives up G1 may let a lease go with the connection.
    let keeps_leases = !probe.traits.gives_up.contains(&Promise::SingleLeader);
    let mut purges = true;
    for _ in 0..REQUESTS {
        if purges && requests.draw.chance(1, 16) && !model.at.first {
            purges = purge(probe, &mut model).await?;
        }
        if let Some(mishap) = mishap(&mut requests.draw)
            && (keeps_leases || mishap == Mishap::RecordsLost)
            && probe.suffers(mishap).await
        {
            model.suffers(mishap);
            if keeps_leases {
                // The next request is the first one over its connection.
                probe.reconnect().await;
                model.at.first = true;
            }
        }
        ask(probe, &mut model, &mut requests, &elections).await?;
    }
    write(&model.lines).map_err(|error| Stop::Broken(format!("TENURE_TRANSITIONS: {error}")))
}

/// A mishap in about every twentieth step.
fn mishap(draw: &mut Draw) -> Option<Mishap> {
    match draw.within(0..=99) {
        0 => Some(Mishap::RecordsLost),
        1 => Some(Mishap::OtherServer),
        2 => Some(Mishap::PastLost),
        3 | 4 => Some(Mishap::AllLost),
        _ => None,
    }
}

/// One request, or some of one kind in one call.
async fn ask(
    probe: &mut Probe<'_>,
    model: &mut Model,
    requests: &mut Requests,
    elections: &[Key; 3],
) -> Found<()> {
    let kind = requests.kind(model.at.first);
    let in_call = u64::try_from(kind.in_call(&probe.traits)).unwrap_or(TOGETHER).min(TOGETHER);
    let is_alone = in_call < 2 || model.at.first || requests.draw.chance(3, 4);
    let many = if is_alone { 1 } else { requests.draw.within(2..=in_call) };
    let asked: Vec<(usize, Request)> = (0..many)
        .map(|_| {
            let election = requests.draw.pick(&[0, 1, 2]);
            (election, requests.draw(probe, model, (election, kind)))
        })
        .collect();
    let calls = asked.iter().map(|(election, asked)| (elections[*election].clone(), asked.clone()));
    let replies = if is_alone {
        let mut replies = Vec::new();
        for (key, request) in calls {
            replies.push(probe.ask_about(&key, request).await?);
        }
        replies
    } else {
        probe.ask_together(calls.collect(), asked.len()).await?
    };
    let steps: Vec<_> = asked.into_iter().zip(replies).collect();
    let mut wrong = None;
    for order in orders(steps.len()) {
        let mut tried = model.clone();
        let answered = order.iter().try_for_each(|&place| {
            let ((election, request), reply) = &steps[place];
            match request.to_contract() {
                Some(request) => tried.answers(*election, request, reply),
                None => tried.shows(*election, reply),
            }
        });
        match answered {
            Ok(()) => {
                *model = tried;
                return Ok(());
            }
            Err(stop) => wrong = wrong.or(Some(stop)),
        }
    }
    wrong.map_or(Ok(()), Err)
}

/// All orders of so many steps, that in which they were asked first: the steps of one call have no
/// order.
fn orders(of: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..of {
        let longer = |order: Vec<usize>| {
            let left: Vec<usize> = (0..of).filter(|place| !order.contains(place)).collect();
            left.into_iter().map(move |place| [&order[..], &[place]].concat())
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    orders
}

/// Purges the store and the model; whether the store has a purge. No lease that is held was watched
/// for long enough.
///
/// A store may leave all records to a later purge: etcd has no clock for clients, and counts the
/// age from a purge.
async fn purge(probe: &mut Probe<'_>, model: &mut Model) -> Found<bool> {
    // The clock has to be above the last token, also one that counts in milliseconds.
    probe.harness.wait(CLOCK_MOVES).await;
    match probe.purged().await {
        Ok(0) if probe.traits.ends_leases => {}
        Ok(deleted) => {
            let due = model.purges();
            if deleted != due {
                return broken(format!("{deleted} records were deleted instead of {due}"));
            }
        }
        Err(Stop::Skipped(_)) => return Ok(false),
        Err(stop) => return Err(stop),
    }
    Ok(true)
}

/// Appends the steps to a file of this test.
fn write(lines: &[Transition]) -> std::io::Result<()> {
    let Some(folder) = std::env::var_os("TENURE_TRANSITIONS") else { return Ok(()) };
    let test = std::thread::current().name().unwrap_or("conformance").replace("::", ".");
    let path = PathBuf::from(folder).join(format!("{test}.jsonl"));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let mut steps = String::new();
    for line in lines {
        steps.push_str(&serde_json::to_string(line)?);
        steps.push('\n');
    }
    file.write_all(steps.as_bytes())
}
