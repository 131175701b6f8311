//! The calls of one election that are under way, and when they are given up.

use futures_util::FutureExt;
use futures_util::future::{AbortHandle, Abortable};
use tenure_core::RequestId;

use super::{CallResult, World};
use crate::Instant;
use crate::shared::Shared;
use crate::store::Request;

/// Usually one; two while a lease is handed back before its last renewal was answered.
#[derive(Default)]
pub(super) struct Calls(Vec<Call>);

/// A request that leaves now.
pub(super) struct Outgoing {
    pub(super) id: RequestId,
    pub(super) request: Request,
    pub(super) sent_at: Instant,
    pub(super) give_up_at: Instant,
}

struct Call {
    id: RequestId,
    name: &'static str,
    give_up_at: Instant,
    abort: AbortHandle,
}

impl Calls {
    pub(super) fn begin(&mut self, world: &World, of: &Shared, outgoing: Outgoing) {
        let Outgoing { id, request, sent_at, give_up_at } = outgoing;
        let (election, name) = (of.id, request.name());
        let call = world.store.call_owned(of.key.clone(), request);
        let call = async move {
            let result = call.await;
            CallResult { election, id, name, sent_at, result }
        };
        let (abort, registration) = AbortHandle::new_pair();
        world.calls.push(Abortable::new(call.boxed(), registration));
        self.0.push(Call { id, name, give_up_at, abort });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn ended(&mut self, id: RequestId) {
        self.0.retain(|call| call.id != id);
    }

    /// When the first of them is given up.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.0.iter().map(|call| call.give_up_at).min()
    }

    /// Drops the calls whose time is over, and returns their names. The drop tells the connection that it may
    /// be stuck.
    pub(super) fn give_up(&mut self, now: Instant) -> Vec<&'static str> {
        let late = self.0.extract_if(.., |call| call.give_up_at <= now);
        late.map(|call| {
            call.abort.abort();
            call.name
        })
        .collect()
    }
}
