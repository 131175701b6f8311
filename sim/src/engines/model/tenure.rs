//! Tenure itself: the real state machine, over the store contract or a user's own store.

use std::marker::PhantomData;

use tenure_core::contract::Moment;
use tenure_core::{
    Candidate, Config, Event, Input as CoreInput, Instant, Output as CoreOutput, Reply, Request,
    RequestId, Seed, StepDownReason, Token, Unknown,
};

use super::algorithm::{Algorithm, Input, Lead, Output, Served, Timers, Visit};
use super::store::{Contract, Lease, StoreModel};
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Kept, Reason};

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

    fn new(config: &Config, seed: u128) -> Self {
        let candidate = Candidate::new(*config, Seed::new(seed));
        Self { candidate, now: Instant::ORIGIN, store: PhantomData }
    }

    fn handle(&mut self, now: Instant, input: Input<RequestId, Reply>) {
        let input = match input {
            Input::Campaign => CoreInput::Campaign,
            Input::Resign { again_after } => CoreInput::Resign { again_after },
            Input::Drained => CoreInput::Drained,
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

    fn serve(store: &mut S, at: Visit, request: Request) -> Served<Reply> {
        let moment = Moment {
            now: at.now,
            identity: at.server.into(),
            trust_empty_store: at.trust_empty_store,
            compares_identity: true,
        };
        let is_live = |lease: &Lease| !lease.released && at.now < lease.ends;
        let before = store.lease().filter(is_live).map(|lease| lease.token);
        let reply = store.apply(moment, request);
        let granted = match reply {
            Reply::Granted { token, .. } => before != Some(token),
            _ => false,
        };
        Served { reply, hints: reply == Reply::Released, granted }
    }

    fn kept(store: &S) -> Option<Kept> {
        store.lease().map(kept)
    }

    fn number(id: RequestId) -> u64 {
        id.get()
    }

    fn asked(request: Request) -> Option<(u128, Asked)> {
        Some(asked(request))
    }

    fn answered(reply: Reply) -> Option<Answer> {
        Some(answered(reply))
    }
}

/// A lease in the terms of the trace; its end in true time is left open.
pub(crate) fn kept(lease: Lease) -> Kept {
    Kept {
        token: lease.token.get(),
        holder: lease.holder.to_bits(),
        lease_end: lease.ends.as_nanos(),
        lease_ends: SimTime::START,
        released: lease.released,
    }
}

/// The holder and the request in the terms of the trace.
pub(crate) fn asked(request: Request) -> (u128, Asked) {
    let (holder, asked) = match request {
        Request::Acquire { holder, seen, .. } => {
            (holder, Asked::Acquire { seen: seen.map_or(0, Token::get) })
        }
        Request::Renew { holder, token, .. } => (holder, Asked::Renew { token: token.get() }),
        Request::Release { holder, token } => (holder, Asked::Release { token: token.get() }),
    };
    (holder.to_bits(), asked)
}

/// An answer in the terms of the trace.
pub(crate) fn answered(reply: Reply) -> Answer {
    match reply {
        Reply::Granted { token, wait } => {
            Answer::Granted { token: token.get(), waits: !wait.is_zero() }
        }
        Reply::Held { .. } => Answer::Held,
        Reply::Refused { .. } => Answer::Refused,
        Reply::Stale { .. } => Answer::Stale,
        Reply::Renewed => Answer::Renewed,
        Reply::Superseded { .. } => Answer::Superseded,
        Reply::Released => Answer::Released,
        Reply::NotHeld => Answer::NotHeld,
    }
}

fn output(event: Event) -> Option<Output<RequestId, Request>> {
    Some(match event {
        Event::Elected(claim) => Output::Elected(lead(claim)),
        Event::Renewed(claim) => Output::Renewed(lead(claim)),
        Event::SteppedDown { token, reason, drain_until } => {
            Output::SteppedDown { token: token.get(), reason: in_words(reason), drain_until }
        }
        Event::DrainUntil { token, until } => Output::DrainUntil { token: token.get(), until },
        Event::Quarantined { .. } => Output::Quarantined,
        Event::Withdrawn => Output::Withdrawn,
        _ => return None,
    })
}

fn lead(claim: tenure_core::Claim) -> Lead {
    Lead { token: claim.token().get(), until: claim.valid_until() }
}

fn in_words(reason: StepDownReason) -> Reason {
    match reason {
        StepDownReason::Expired => Reason::Expired,
        StepDownReason::Superseded => Reason::Superseded,
        StepDownReason::Resigned => Reason::Resigned,
        StepDownReason::RenewFailed => Reason::RenewFailed,
        _ => Reason::Other,
    }
}
