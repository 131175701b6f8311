//! The properties, checked in every state and every step, in true time and without tolerances.
//!
//! Their names are those of [`properties`](crate::judge::properties), which judge traces. A state
//! has no trace, so the state itself keeps the history that the judge needs: the newest tenure
//! under which a candidate could write, the highest token, the newest tenure that each life has
//! lost, and the ticks of the lease's mark and of a server's first step. `own-lease-only` itself
//! judges the steps of the store.

use tenure_core::contract::Record;
use tenure_core::{Acquire, Reply, Request, Sight, Token};

use super::bounds::{Bounds, TICK, on_fastest_clock};
use super::met::{Condition, Seen};
use super::state::{Node, State, Store, Written};
use super::subject::Subject;
use crate::engines::calls::{answered, asked, mark};
use crate::judge::properties::{PropertyName, allowed};
use crate::plan::SimTime;
use crate::trace::{Kept, StoreStep};

/// Each candidate has an event to wait for. Of a trace, `leader-within` judges that.
pub(super) const NOT_STUCK: PropertyName = PropertyName::new("not-stuck");

/// A lease that is given back for one candidate is kept for it. Of a trace, `handover-within`
/// judges what it is for.
pub(super) const RESERVED: PropertyName = PropertyName::new("reserved");

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
        lease_outlives_claim(bounds, state, index, token)?;
        if led.is_none() && state.store.server > 0 && Some(token) > state.store.before {
            seen.met(Condition::LedByAnotherServer);
        }
        writes_in_order(bounds, state, index, token, seen)?;
    }
    leader.map_or(Ok(()), |leader| no_lead_while_work_drains(state, leader))
}

/// A leader's lease is not released, and no other candidate can have watched it in full until the
/// stop margin is over, whenever that candidate saw its mark, and whatever the rate of its clock.
fn lease_outlives_claim<S>(
    bounds: &Bounds,
    state: &State<S>,
    index: usize,
    token: Token,
) -> Result<(), Broken> {
    let store = &state.store;
    let Some(lease) = store.record else { return Ok(()) };
    if lease.token < token || (lease.token > token && Some(token) <= store.before) {
        // An earlier server granted the lease; this server's record is of another one.
        return Ok(());
    }
    ensure(lease.token == token && !lease.released, PropertyName::FAIL_CLOSED, || {
        format!("n{index} leads under token {token}, and the store has {lease:?}")
    })?;
    let watched = u64::from(state.tick - store.marked) * TICK;
    let remains = bounds.shortest_watch().saturating_sub(watched);
    let margin = on_fastest_clock(bounds.margin.length());
    ensure(remains > margin, PropertyName::MARGIN_KEPT, || {
        let [remains, margin] = [remains, margin].map(|nanos| nanos / 1_000_000);
        let leads = format!("n{index} leads under token {token}");
        format!(
            "{leads}; its lease may be taken in {remains} ms, the stop margin takes {margin} ms"
        )
    })
}

/// No write of an older tenure is in flight when a newer tenure can write, and no older tenure
/// leads after a newer one. A write arrives within `stop margin / (1 + rho)` of its check.
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
        ensure(last.token < token, PropertyName::LEADS_IN_ORDER, || {
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

/// A step of the store: its circumstances, and the election's record before it.
pub(super) struct Served {
    pub(super) tick: u32,
    pub(super) record: Option<Record>,
    /// The tick at which that record's mark was written.
    pub(super) marked: u32,
    pub(super) request: Request,
    pub(super) reply: Reply,
}

impl Served {
    fn was_asked(&self) -> bool {
        self.record.is_some_and(|lease| lease.asked.is_some())
    }
}

/// Judges a step of the store, and records its grants.
pub(super) fn store_step(
    bounds: &Bounds,
    store: &mut Store,
    served: &Served,
    seen: &mut Seen,
) -> Result<(), Broken> {
    own_lease_only(bounds, store, served)?;
    kept_for_the_wished(bounds, store, served, seen)?;
    match (served.request, served.reply) {
        (_, Reply::Granted { token }) => return granted(bounds, store, served, token, seen),
        (_, Reply::Not(Sight { past: Some(_), .. })) => seen.met(Condition::RefusedByThePast),
        (_, Reply::Not(Sight { past: None, .. })) => seen.met(Condition::StaleRefused),
        (_, Reply::At(Sight { record: Some(lease), .. })) if !lease.released => {
            seen.met(Condition::Looked);
        }
        (_, Reply::Renewed { past: Some(_), .. }) => seen.met(Condition::LeaderToldOfAPast),
        (Request::Renew { stamp: Some(_), .. }, Reply::Renewed { past: None, .. }) => {
            seen.met(Condition::LeaderWatchedThePast);
        }
        _ => {}
    }
    Ok(())
}

/// A lease that is given back for one candidate is granted to no other before
/// `reserve / (1 + rho)`, unless its time is over: a release may come so late that others have
/// watched the lease as long as they must.
fn kept_for_the_wished(
    bounds: &Bounds,
    store: &Store,
    served: &Served,
    seen: &mut Seen,
) -> Result<(), Broken> {
    if let (Some(asked), false) = (store.record.and_then(|lease| lease.asked), served.was_asked()) {
        seen.note(|| format!("{asked:?} is noted"));
        seen.met(Condition::AskedByTheWished);
    }
    let kept = served.record.and_then(|lease| lease.reservation);
    let (Request::Acquire(acquire), Some(kept)) = (served.request, kept) else { return Ok(()) };
    match served.reply {
        Reply::Granted { .. } if kept.name == acquire.name => {
            seen.met(Condition::TakenByTheWished);
        }
        Reply::Granted { token } => {
            let since = |tick: u32| u64::from(served.tick - tick) * TICK;
            let is_over = since(served.marked) >= bounds.shortest_watch();
            let lasted = since(store.kept_since) >= on_fastest_clock(kept.reserve);
            ensure(is_over || lasted, RESERVED, || {
                format!("token {token} is granted while the lease is kept for another candidate")
            })?;
        }
        _ if kept.name != acquire.name => seen.met(Condition::RefusedForTheWished),
        _ => {}
    }
    Ok(())
}

fn own_lease_only(bounds: &Bounds, store: &Store, served: &Served) -> Result<(), Broken> {
    let Some((holder, request)) = asked(served.request) else { return Ok(()) };
    let step = StoreStep {
        server: store.server.into(),
        holder,
        request,
        answer: answered(served.reply),
        before: served.record.map(|record| kept(bounds, record, served.marked)),
        after: store.record.map(|record| kept(bounds, record, store.marked)),
    };
    allowed(&step).map_err(|rule| Broken {
        property: PropertyName::OWN_LEASE_ONLY,
        what: format!("{rule}: {step:?}"),
    })
}

/// A record whose mark was written at that tick, as a trace has it.
fn kept(bounds: &Bounds, record: Record, marked: u32) -> Kept {
    Kept {
        token: record.token.get(),
        mark: mark(record.mark()),
        lease_ends: SimTime::from_nanos(u64::from(marked) * TICK + bounds.shortest_watch()),
        released: record.released,
    }
}

/// A server that has taken the store's place grants nothing before `quarantine / (1 + rho)` after
/// its first step, since nobody has watched its past for longer. Tokens rise from tenure to tenure.
fn granted(
    bounds: &Bounds,
    store: &mut Store,
    served: &Served,
    token: Token,
    seen: &mut Seen,
) -> Result<(), Broken> {
    let since = |tick: u32| u64::from(served.tick - tick) * TICK;
    if store.server > 0 {
        let lasted = store.first_step.map_or(0, since);
        ensure(lasted >= bounds.shortest_watch(), PropertyName::STORE_LOSS_QUARANTINE, || {
            let ms = (bounds.shortest_watch() - lasted) / 1_000_000;
            format!("token {token} is granted {ms} ms before the quarantine of this server can end")
        })?;
    }
    let before = served.record;
    if before.is_some_and(|record| !record.released && record.token == token) {
        seen.met(Condition::GrantReportedAgain);
        return Ok(());
    }
    if let (Request::Acquire(Acquire { mark: Some(_), .. }), Some(lease)) = (served.request, before)
        && !lease.released
    {
        seen.met(Condition::Taken);
        if since(served.marked) == bounds.shortest_watch() {
            seen.met(Condition::TakenAtTheVeryEnd);
        }
    }
    ensure(Some(token) > store.highest, PropertyName::TOKEN_MONOTONIC, || {
        format!("token {token} is granted after {:?}", store.highest)
    })?;
    store.highest = Some(token);
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
