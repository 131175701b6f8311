//! Rows about requests that the driver hands in together.

use tenure::Token;
use tenure::store::contract::Mark;
use tenure::store::{Key, Reply, Request};

use crate::conformance::probe::{
    Found, LOOK, Probe, RENEWED, as_grant, broken, key, must, release, request,
    requests_in_two_calls,
};

/// Groups of five leases: one has never been held, one is held by another candidate, one by the
/// same, one was given back, which every other candidate knows, and one is held by another
/// candidate and was watched.
pub(crate) async fn acquires_of_one_call_are_judged_alone(probe: &mut Probe<'_>) -> Found<()> {
    let in_call = probe.traits.acquires_in_call;
    let mut calls = Vec::new();
    let mut wanted: Vec<(Option<Token>, bool)> = Vec::new();
    for election in 0..requests_in_two_calls(in_call) {
        let key = probe.settled(&format!("job-{election}")).await?;
        let held_by = if election % 5 == 2 { 1 } else { 2 };
        let mut asks = probe.acquire(1, None);
        let (mut last, mut is_granted) = (None, true);
        if election % 5 > 0 {
            let before = probe.acquire(held_by, None);
            let token = probe.granted_about(&key, before).await?;
            (last, is_granted) = (Some(token), election % 5 == 2);
            if election % 5 == 3 {
                let released = probe.ask_about(&key, release(2, token)).await?;
                must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
                is_granted = election % 10 == 3;
                asks.seen = is_granted.then_some(token);
            } else if election % 5 == 4 && !probe.traits.ends_leases {
                is_granted = true;
                asks.mark = Some(Mark { holder: before.holder, number: before.number });
            }
        }
        calls.push((key, request(asks)));
        wanted.push((last, is_granted));
    }
    let replies = probe.ask_together(calls.clone(), in_call).await?;
    for (election, (reply, (last, is_granted))) in replies.into_iter().zip(wanted).enumerate() {
        let is_as_wanted = match reply {
            Reply::Granted { token } if election % 5 == 2 => is_granted && Some(token) == last,
            Reply::Granted { token } => is_granted && Some(token) > last,
            Reply::Not(ref shown) => !is_granted && shown.sight.last == last,
            _ => false,
        };
        must(is_as_wanted, || format!("acquire {election}: {reply:?} after {last:?}"))?;
        if let Reply::Granted { token } = reply {
            probe.is_held_about(&calls[election].0, (1, token)).await?;
        }
    }
    Ok(())
}

/// Rivals of one process ask in the same call.
pub(crate) async fn rivals_acquires_in_one_call_are_told_apart(probe: &mut Probe<'_>) -> Found<()> {
    let job = key("job")?;
    let rivals = [1, 2].map(|candidate| (job.clone(), request(probe.acquire(candidate, None))));
    let replies = probe.ask_together(rivals.to_vec(), probe.traits.acquires_in_call).await?;
    match &replies[..] {
        [Reply::Granted { token }, Reply::Not(shown)] if shown.sight.last == Some(*token) => {
            probe.is_held_by(1, *token).await?;
            Ok(())
        }
        _ => broken(format!("two candidates of one lease: {replies:?}")),
    }
}

/// Every fourth lease was given back, is asked for under another token, is asked for by another
/// holder, or is held.
pub(crate) async fn renewals_of_one_call_are_judged_alone(probe: &mut Probe<'_>) -> Found<()> {
    let in_call = probe.traits.renewals_in_call;
    let mut elections = Vec::new();
    for election in 0..requests_in_two_calls(in_call) {
        let key = probe.settled(&format!("job-{election}")).await?;
        let token = probe.granted_about(&key, probe.acquire(1, None)).await?;
        if election % 4 == 0 {
            let released = probe.ask_about(&key, release(1, token)).await?;
            must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
        }
        elections.push((key, token));
    }
    // The first renewal over a connection may take another way than later ones.
    for _ in 0..2 {
        let renewal = |(election, (key, token)): (usize, &(Key, Token))| {
            let (candidate, token) = match election % 4 {
                1 => (1, token.next()),
                2 => (2, *token),
                _ => (1, *token),
            };
            (key.clone(), probe.renew(candidate, token))
        };
        let calls: Vec<_> = elections.iter().enumerate().map(renewal).collect();
        let replies = probe.ask_together(calls.clone(), in_call).await?;
        for (election, (reply, (key, token))) in replies.into_iter().zip(&elections).enumerate() {
            let superseded = Reply::Superseded { last: Some(*token) };
            let wanted = if election % 4 == 3 { RENEWED } else { superseded };
            must(reply == wanted, || format!("renewal {election}: {reply:?}, not {wanted:?}"))?;
            let Request::Renew { number, .. } = calls[election].1 else { continue };
            let record = probe.look_about(key).await?.sight.record;
            let is_renewed = record.is_some_and(|record| record.number == number);
            must(probe.traits.ends_leases || is_renewed == (election % 4 == 3), || {
                format!("after {:?} election {election} is {record:?}", calls[election].1)
            })?;
        }
    }
    Ok(())
}

/// Rivals of one process may renew in the same call. An earlier tenure of the same holder is a
/// rival too.
pub(crate) async fn rivals_renewals_in_one_call_are_told_apart(probe: &mut Probe<'_>) -> Found<()> {
    let (job, first) = (key("job")?, probe.past_tenure(2).await?);
    let second = probe.granted(probe.acquire(1, Some(first))).await?;
    probe.expect(release(1, second), Reply::Released).await?;
    let last = probe.granted(probe.acquire(2, Some(second))).await?;
    // Of the other holder, of the tenure that holds the lease, and of an earlier one of the same
    // holder.
    let tenures = [(1, second), (2, last), (2, first)];
    // The first renewal over a connection may take another way than later ones.
    for order in [[0, 1], [0, 1], [1, 0], [1, 2], [2, 1], [1, 1]] {
        let asked = order.map(|place| {
            let (candidate, token) = tenures[place];
            (job.clone(), probe.renew(candidate, token))
        });
        let replies = probe.ask_together(asked.to_vec(), probe.traits.renewals_in_call).await?;
        for (place, reply) in order.into_iter().zip(replies) {
            let superseded = Reply::Superseded { last: Some(last) };
            let wanted = if place == 1 { RENEWED } else { superseded };
            must(reply == wanted, || {
                format!("{:?} with its rival: {reply:?} instead of {wanted:?}", tenures[place])
            })?;
        }
    }
    probe.is_held_by(2, last).await?;
    Ok(())
}

/// Groups of three leases: one has never been held, one is held, and one was given back.
pub(crate) async fn looks_of_one_call_are_judged_alone(probe: &mut Probe<'_>) -> Found<()> {
    let in_call = probe.traits.looks_in_call;
    let (mut calls, mut wanted) = (Vec::new(), Vec::new());
    for election in 0..requests_in_two_calls(in_call) {
        let key = probe.settled(&format!("job-{election}")).await?;
        let (mut token, is_released) = (None, election % 3 == 2);
        if election % 3 > 0 {
            let granted = as_grant(&probe.ask_about(&key, request(probe.acquire(1, None))).await?)?;
            token = Some(granted);
            if is_released {
                let released = probe.ask_about(&key, release(1, granted)).await?;
                must(released == Reply::Released, || format!("{released:?} instead of a release"))?;
            }
        }
        wanted.push(token.map(|token| (token, is_released)));
        calls.push((key, LOOK));
    }
    let replies = probe.ask_together(calls, in_call).await?;
    for (election, (reply, wanted)) in replies.into_iter().zip(wanted).enumerate() {
        let Reply::At(shown) = reply else {
            return broken(format!("the answer to look {election} was {reply:?}"));
        };
        let told = shown.sight.record.map(|record| (record.token, record.released));
        must(told == wanted, || format!("look {election}: {shown:?}, not {wanted:?}"))?;
    }
    Ok(())
}
