//! The calls to the store that are under way, and when their requests are given up.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, AbortRegistration, Abortable};
use smallvec::SmallVec;
use tenure_core::RequestId;

use super::admission::{Kind, Lane, Left};
use super::{CallEnd, CallResult, World};
use crate::Instant;
use crate::logging::request_span;
use crate::shared::ElectionId;
use crate::store::{Key, Request, StoreTraits};

/// The requests of one election that are under way. Usually one; two while a lease is handed back
/// before its last renewal was answered.
#[derive(Default)]
pub(super) struct Calls(SmallVec<[Call; 1]>);

struct Call {
    id: RequestId,
    name: &'static str,
    give_up_at: Instant,
    left: Left,
    /// Shared by the requests of its call that have not been given up.
    wanted: Arc<AbortHandle>,
}

/// A request that leaves now.
pub(super) struct Outgoing {
    pub(super) election: ElectionId,
    pub(super) id: RequestId,
    pub(super) key: Key,
    pub(super) request: Request,
    pub(super) sent_at: Instant,
    pub(super) give_up_at: Instant,
}

/// The most requests of one kind in a call.
pub(super) struct InCall {
    pub(super) renewals: usize,
    looks: usize,
    acquires: usize,
}

impl InCall {
    pub(super) fn new(traits: &StoreTraits) -> Self {
        let StoreTraits { renewals_in_call, looks_in_call, acquires_in_call, .. } = *traits;
        Self {
            renewals: renewals_in_call.max(1),
            looks: looks_in_call.max(1),
            acquires: acquires_in_call.max(1),
        }
    }
}

/// The requests that leave with the next call.
pub(super) struct NextCall {
    requests: Vec<Outgoing>,
    /// Once it has a request.
    left: Option<Left>,
    wanted: Arc<AbortHandle>,
    registration: AbortRegistration,
}

impl Default for NextCall {
    fn default() -> Self {
        let (abort, registration) = AbortHandle::new_pair();
        Self { requests: Vec::new(), left: None, wanted: Arc::new(abort), registration }
    }
}

impl NextCall {
    /// True if another request of that kind may join.
    pub(super) fn has_room(&self, kind: Kind, in_call: &InCall) -> bool {
        let most = match kind {
            Kind::Release => 1,
            Kind::Renewal => in_call.renewals,
            Kind::Look => in_call.looks,
            Kind::Acquire => in_call.acquires,
        };
        let is_alike = |one: &Outgoing| match one.request {
            Request::Release { .. } => kind == Kind::Release,
            Request::Renew { .. } => kind == Kind::Renewal,
            Request::Look { .. } => kind == Kind::Look,
            Request::Acquire { .. } => kind == Kind::Acquire,
            Request::Ask { .. }
            | Request::Want { .. }
            | Request::Describe { .. }
            | Request::Observe
            | Request::Notify { .. } => false,
        };
        self.requests.len() < most && self.requests.iter().all(is_alike)
    }
}

impl Calls {
    /// The request leaves with the next call.
    pub(super) fn join(&mut self, world: &mut World, lane: Lane, outgoing: Outgoing) {
        let call = &mut world.next_call;
        let name = outgoing.request.name();
        let leaves = || world.admission.leaves(lane, name, outgoing.sent_at);
        let left = *call.left.get_or_insert_with(leaves);
        self.0.push(Call {
            id: outgoing.id,
            name,
            give_up_at: outgoing.give_up_at,
            left,
            wanted: Arc::clone(&call.wanted),
        });
        call.requests.push(outgoing);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A call has ended. False if its request was given up before.
    pub(super) fn ended(&mut self, id: RequestId) -> bool {
        let before = self.0.len();
        self.0.retain(|call| call.id != id);
        self.0.len() < before
    }

    /// The earliest time to give one up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|call| call.give_up_at).min()
    }

    /// Gives up the requests whose time is over, and returns their names and calls. A call without
    /// a request that is still wanted is dropped, which tells the connection that it may be stuck.
    pub(super) fn give_up(&mut self, now: Instant) -> Vec<(&'static str, Left)> {
        let mut late = Vec::new();
        while let Some(place) = self.0.iter().position(|call| call.give_up_at <= now) {
            let call = self.0.remove(place);
            if let Some(last) = Arc::into_inner(call.wanted) {
                last.abort();
            }
            late.push((call.name, call.left));
        }
        late
    }
}

impl World {
    /// The election whose request leaves in the same call as those that the next call has.
    pub(super) fn next_alike(&mut self, kind: Kind, now: Instant) -> Option<ElectionId> {
        let has_room = self.next_call.has_room(kind, &self.in_call);
        if has_room { self.admission.next_of(kind, now) } else { None }
    }

    /// Carries out the next call, if it has any request.
    pub(super) fn call(&mut self) {
        let next = std::mem::take(&mut self.next_call);
        let NextCall { requests, left, wanted: _, registration } = next;
        let (Some(first), Some(left)) = (requests.first(), left) else { return };
        let span = request_span(&first.key, first.request.name(), requests.len());
        let (asked, answered): (Vec<_>, Vec<_>) = requests
            .into_iter()
            .map(|one| {
                let name = one.request.name();
                ((one.key, one.request), (one.election, one.id, name, one.sent_at))
            })
            .unzip();
        let call = self.store.call_all_owned(asked);
        let call = async move {
            let mut results = call.await.into_iter();
            let result = |(election, id, name, sent_at)| {
                // A store that answers less than it was asked leaves the rest unknown.
                let result = results.next().unwrap_or_else(super::no_answer);
                CallResult { election, id, name, sent_at, result }
            };
            answered.into_iter().map(result).collect::<Vec<_>>()
        };
        let call = Abortable::new(span.instrument(call), registration);
        // The requests of an aborted call were given up before.
        let end =
            move |results: Result<_, _>| CallEnd { left, results: results.unwrap_or_default() };
        self.calls.push(call.map(end).boxed());
    }
}
