//! The properties, checked in every state and every step, in true time and without tolerances.
//!
//! Their names are those of [`properties`](crate::judge::properties), which judge traces. A state has no trace, so the
//! state itself keeps the history that the judge needs: the newest tenure under which a candidate could write, the
//! highest token, the newest tenure that each life has lost, and a server's first grant. `own-lease-only` itself judges
//! the steps of the store.

use std::time::Duration;

use tenure_core::contract::Record;
use tenure_core::{Reply, Request, Token};

use super::bounds::{Bounds, TICK, on_fastest_clock};
use super::met::{Condition, Seen};
use super::state::{Node, State, Store, Written};
use super::subject::Subject;
use crate::engines::model::tenure::{answered, asked, kept};
use crate::judge::properties::{PropertyName, allowed};
use crate::trace::{Answer, StoreStep};

/// Each candidate has an event to wait for. Of a trace, `leader-within` judges that.
pub(super) const NOT_STUCK: PropertyName = PropertyName::new("not-stuck");

/// A violated property, with a description of the violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) property: PropertyName,
    pub(super) what: String,
}

fn ensure(
    holds: bool,
    property: PropertyName,
    what: impl FnOnce() -> String,
) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err(Broken { property, what: what() }) }
}

/// Judges the state after a step.
pub(super) fn judge<S: Subject>(
    bounds: &Bounds,
    before: &State<S>,
    state: &mut State<S>,
    seen: &mut Seen,
) -> Result<(), Broken> {
    let mut leader = None;
    for index in 0..state.nodes.len() {
        let led =
            before.leads(index).filter(|_| before.nodes[index].life == state.nodes[index].life);
        let leads = state.leads(index);
        let node = &mut state.nodes[index];
        if led.is_some() && led != leads {
            node.ended = node.ended.max(led);
        }
        let Some(token) = leads else { continue };
        ensure(leader.is_none(), PropertyName::SINGLE_LEADER, || {
            format!("n{} and n{index} lead at once", leader.unwrap_or_default())
        })?;
        leader = Some(index);
        ensure(Some(token) > node.ended, PropertyName::NO_RESURRECTION, || {
            format!("n{index} leads under token {token} again")
        })?;
        let works = node.work.is_some_and(|work| work.token == token && work.drain_until.is_none());
        ensure(works, PropertyName::ONE_STEP_DOWN_PER_ELECTION, || {
            format!("n{index} leads under token {token}, but has not reported its election")
        })?;
        lease_outlives_claim(bounds, &state.store, index, token)?;
        quarantine_waited_out(bounds, state, index, token, led.is_none(), seen)?;
        writes_in_order(bounds, state, index, token, seen)?;
    }
    leader.map_or(Ok(()), |leader| no_lead_while_work_drains(state, leader))
}

/// A leader's lease is not released, and lasts for longer than the stop margin, whatever rate the store's clock has
/// from now on.
fn lease_outlives_claim(
    bounds: &Bounds,
    store: &Store,
    index: usize,
    token: Token,
) -> Result<(), Broken> {
    let Some(lease) = store.record else { return Ok(()) };
    if lease.token < token || (lease.token > token && Some(token) <= store.before) {
        // An earlier server granted the lease; this server's record is of another one.
        return Ok(());
    }
    ensure(lease.token == token && !lease.released, PropertyName::FAIL_CLOSED, || {
        format!("n{index} leads under token {token}, and the store has {lease:?}")
    })?;
    let remains = Duration::from_nanos(lease.lease_end.as_nanos().saturating_sub(store.clock));
    let margin = bounds.margin.length();
    ensure(remains > margin, PropertyName::MARGIN_KEPT, || {
        format!(
            "n{index} leads under token {token}, and its lease ends in {remains:?}; the stop margin is {margin:?}"
        )
    })
}

/// After another server has taken the store's place, no candidate leads by its grant until `quarantine / (1 + rho)`
/// after the server's first grant, or `(ttl + quarantine) / (1 + rho)` after its first renewal if that is earlier.
fn quarantine_waited_out<S>(
    bounds: &Bounds,
    state: &State<S>,
    index: usize,
    token: Token,
    begins: bool,
    seen: &mut Seen,
) -> Result<(), Broken> {
    let store = &state.store;
    let quarantine = bounds.ttl.length();
    let since_grant = store.first_grant.map(|first| (first, quarantine));
    let since_renewal = store.first_renewal.map(|first| (first, quarantine + quarantine));
    let ends = |(first, lasts): (u32, Duration)| u64::from(first) * TICK + on_fastest_clock(lasts);
    let Some(due) = since_grant.into_iter().chain(since_renewal).map(ends).min() else {
        return Ok(());
    };
    if !begins || store.server == 0 || Some(token) <= store.before {
        return Ok(());
    }
    seen.met(Condition::LedAfterAQuarantine);
    let now = u64::from(state.tick) * TICK;
    ensure(now >= due, PropertyName::STORE_LOSS_QUARANTINE, || {
        let ms = (due - now) / 1_000_000;
        format!(
            "n{index} leads under token {token}, {ms} ms before the quarantine of this server ends"
        )
    })
}

/// No write of an older tenure is in flight when a newer tenure can write, and no older tenure leads after a newer one.
/// A write arrives within `stop margin / (1 + rho)` of its check.
fn writes_in_order<S>(
    bounds: &Bounds,
    state: &mut State<S>,
    index: usize,
    token: Token,
    seen: &mut Seen,
) -> Result<(), Broken> {
    let tick = state.tick;
    if let Some(last) = state.written.filter(|last| last.token != token) {
        seen.met(Condition::LedAfterAnother);
        ensure(last.token < token, PropertyName::FENCED_WRITES, || {
            format!("n{index} leads under token {token}, after {} has led", last.token)
        })?;
        let gap = u64::from(tick - last.checked) * TICK;
        let longest_flight = on_fastest_clock(bounds.margin.length());
        ensure(!last.under_way || gap >= longest_flight, PropertyName::UNFENCED_IN_ORDER, || {
            format!(
                "n{index} leads under token {token}, but a write under {} may still be in flight",
                last.token
            )
        })?;
    }
    state.written = Some(Written { token, checked: tick, under_way: true });
    Ok(())
}

/// No candidate leads while another candidate's work may still run.
fn no_lead_while_work_drains<S: Subject>(state: &State<S>, leader: usize) -> Result<(), Broken> {
    for (index, node) in state.nodes.iter().enumerate() {
        let until = node.work.and_then(|work| work.drain_until);
        let drains = index != leader && until.is_some_and(|until| node.now() < until);
        ensure(!drains, PropertyName::DRAINED_BEFORE_THE_NEXT, || {
            format!("n{leader} leads, but the work of n{index} may run until {until:?}")
        })?;
    }
    Ok(())
}

/// Judges a step of the store, and records its grants.
pub(super) fn store_step(
    store: &mut Store,
    tick: u32,
    before: Option<Record>,
    request: Request,
    reply: Reply,
    seen: &mut Seen,
) -> Result<(), Broken> {
    let (holder, request) = asked(request);
    let step = StoreStep {
        server: store.server.into(),
        now: store.clock,
        holder,
        request,
        answer: answered(reply),
        before: before.map(|record| kept(record.into())),
        after: store.record.map(|record| kept(record.into())),
    };
    allowed(&step).map_err(|rule| Broken {
        property: PropertyName::OWN_LEASE_ONLY,
        what: format!("{rule}: {step:?}"),
    })?;
    match step.answer {
        Answer::Stale => seen.met(Condition::StaleRefused),
        Answer::Renewed if store.server > 0 => {
            store.first_renewal.get_or_insert(tick);
        }
        Answer::Granted { .. } => {
            let Reply::Granted { token, .. } = reply else { return Ok(()) };
            store.first_grant.get_or_insert(tick);
            if before.is_some_and(|record| record.token == token) {
                seen.met(Condition::GrantReportedAgain);
                return Ok(());
            }
            if before.is_some_and(|record| record.lease_end.as_nanos() == store.clock) {
                seen.met(Condition::GrantedAtTheVeryEnd);
            }
            if store.server > 0 {
                seen.met(Condition::GrantedByAnotherServer);
            }
            ensure(Some(token) > store.highest, PropertyName::TOKEN_MONOTONIC, || {
                format!("token {token} is granted after {:?}", store.highest)
            })?;
            store.highest = Some(token);
        }
        _ => {}
    }
    Ok(())
}

/// A candidate does not release a lease while work of that tenure runs.
pub(super) fn no_release_under_work<S>(node: &Node<S>, request: Request) -> Result<(), Broken> {
    let Request::Release { token, .. } = request else { return Ok(()) };
    let works = node.work.is_some_and(|work| work.token == token);
    ensure(!works, PropertyName::NO_RELEASE_UNDER_WORK, || {
        format!("the lease of token {token} is released while its work runs")
    })
}

pub(super) fn elected<S>(node: &Node<S>) -> Result<(), Broken> {
    ensure(node.work.is_none(), PropertyName::ONE_STEP_DOWN_PER_ELECTION, || {
        format!("elected while {:?} is not over", node.work)
    })
}

pub(super) fn stepped_down<S>(node: &Node<S>, token: Token) -> Result<(), Broken> {
    let works = node.work.is_some_and(|work| work.token == token && work.drain_until.is_none());
    ensure(works, PropertyName::ONE_STEP_DOWN_PER_ELECTION, || {
        format!("stepped down from token {token}, but its work is {:?}", node.work)
    })
}

/// A candidate that has joined the election has a deadline in the future, or its work drains.
pub(super) fn not_stuck<S: Subject>(node: &Node<S>) -> Result<(), Broken> {
    let drains = node.work.is_some_and(|work| work.drain_until.is_some());
    let holds = match node.local.machine.deadline() {
        Some(deadline) => deadline > node.now(),
        None => drains,
    };
    ensure(holds, NOT_STUCK, || {
        format!(
            "the deadline is {:?}, but the clock shows {:?}",
            node.local.machine.deadline(),
            node.now()
        )
    })
}
