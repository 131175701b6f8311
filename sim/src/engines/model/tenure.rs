//! Tenure itself: the real state machine, over the store contract or a user's own store.

use std::marker::PhantomData;

use tenure_core::contract::Moment;
use tenure_core::{
    Candidate, Config, Event, Input as CoreInput, Instant, NameId, Output as CoreOutput, Reply,
    Request, RequestId, Seed, Stamp, Unknown, Watched, Wish,
};

use super::algorithm::{Algorithm, Ends, Input, Lead, Output, Served, Stored, Timers, Visit};
use super::store::{Contract, Lease, StoreModel};
use crate::engines::calls::{self, in_words};
use crate::trace::{Answer, Asked};

/// One life of a candidate, over a store of that kind.
#[derive(Clone)]
pub(crate) struct Tenure<S = Contract> {
    candidate: Candidate,
    /// The time of the last input.
    now: Instant,
    store: PhantomData<S>,
}

impl<S: StoreModel> Algorithm for Tenure<S> {
    type Id = RequestId;
    type Request = Request;
    type Reply = Reply;
    type Store = S;
    const TIMERS: Timers = Timers::Boot;

    fn new(config: &Config, node: usize, seed: u128) -> Self {
        let candidate = Candidate::new(*config, name(node), Seed::new(seed));
        Self { candidate, now: Instant::ORIGIN, store: PhantomData }
    }

    fn handle(&mut self, now: Instant, input: Input<RequestId, Reply>) {
        let input = match input {
            Input::Campaign => CoreInput::Campaign,
            Input::Resign { again_after } => CoreInput::Resign { again_after },
            Input::Drained => CoreInput::Drained,
            Input::Resumed => CoreInput::Resumed,
            Input::Hint => CoreInput::Hint,
            Input::Wake => CoreInput::Wake,
            Input::Reply { id, reply } => CoreInput::Reply { id, result: reply.ok_or(Unknown) },
        };
        self.now = now;
        self.candidate.handle(now, input);
    }

    fn poll(&mut self) -> Option<Output<RequestId, Request>> {
        loop {
            match self.candidate.poll() {
                Some(CoreOutput::Send { id, request, .. }) => {
                    return Some(Output::Send { id, request });
                }
                Some(CoreOutput::Event(event)) => {
                    if let Some(output) = output(event) {
                        return Some(output);
                    }
                }
                // Each request leaves as soon as it can.
                None if self.candidate.pending().is_some() => {
                    self.candidate.handle(self.now, CoreInput::Admitted);
                }
                None => return None,
            }
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.candidate.deadline()
    }

    fn leads(&self, now: Instant) -> Option<Lead> {
        self.candidate.claim(now).map(lead)
    }

    fn wish(store: &mut S, at: Visit, to: usize) -> bool {
        let Some(Lease { token, released: false, .. }) = store.lease() else { return false };
        let want = Request::Want { token, wish: Some(Wish::Name(name(to))) };
        store.apply(moment(at), want) == Reply::Noted
    }

    fn serve(store: &mut S, at: Visit, request: Request) -> Served<Reply> {
        let before = store.lease().filter(|lease| !lease.released).map(|lease| lease.token);
        let reply = store.apply(moment(at), request);
        let granted = match reply {
            Reply::Granted { token } => before != Some(token),
            _ => false,
        };
        Served { reply, hints: reply == Reply::Released, granted }
    }

    fn kept(store: &S) -> Option<Stored> {
        store.lease().map(|Lease { token, mark, ttl, released }| Stored {
            token: token.get(),
            mark: calls::mark(mark),
            released,
            ends: Ends::Watched(ttl),
        })
    }

    fn number(id: RequestId) -> u64 {
        id.get()
    }

    fn asked(request: Request) -> Option<(u128, Asked)> {
        calls::asked(request)
    }

    fn answered(reply: Reply) -> Option<Answer> {
        Some(calls::answered(reply))
    }
}

pub(super) fn name(node: usize) -> NameId {
    NameId::from_bits(node as u128)
}

fn moment(at: Visit) -> Moment {
    Moment {
        now: at.now,
        identity: at.server.into(),
        fresh: Stamp::from_bits(at.number.into()),
        first: at.first,
        trust_empty_store: at.trust_empty_store,
    }
}

pub(super) fn output(event: Event) -> Option<Output<RequestId, Request>> {
    Some(match event {
        Event::Elected(claim) => Output::Elected(lead(claim)),
        Event::Renewed(claim) => Output::Renewed(lead(claim)),
        Event::SteppedDown { token, reason, drain_until } => {
            Output::SteppedDown { token: token.get(), reason: in_words(reason), drain_until }
        }
        Event::DrainUntil { token, until } => Output::DrainUntil { token: token.get(), until },
        Event::Watching { watched: Watched::Past, .. } => Output::Watches,
        Event::Withdrawn => Output::Withdrawn,
        _ => return None,
    })
}

pub(super) fn lead(claim: tenure_core::Claim) -> Lead {
    Lead { token: claim.token().get(), until: claim.valid_until() }
}
