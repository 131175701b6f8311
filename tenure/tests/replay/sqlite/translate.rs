//! Requests and replies of the contract as those of a store, and what the file rounds.

use std::time::Duration;

use tenure::store::{Profile, Reply, Request, Shown};
use tenure_core::WatchedStamp;

use crate::replay::answer::{contract_reply, shown};

/// TTLs and what else must be waited for are kept rounded up, the times watched rounded down.
pub(crate) fn whole(mut request: tenure_core::Request) -> tenure_core::Request {
    use tenure_core::Request as To;
    let up = |time: &mut Duration| {
        *time = Duration::from_micros(time.as_nanos().div_ceil(1_000).try_into().unwrap());
    };
    let down = |watch: &mut WatchedStamp| {
        watch.time = Duration::from_micros(watch.time.as_micros().try_into().unwrap());
    };
    match &mut request {
        To::Acquire(asks) => {
            up(&mut asks.ttl);
            up(&mut asks.quarantine);
            asks.stamp.iter_mut().for_each(down);
        }
        To::Renew { stamp, .. } => stamp.iter_mut().for_each(down),
        To::Release { reservation, .. } => {
            if let Some(kept) = reservation {
                up(&mut kept.reserve);
            }
        }
        To::Look { quarantine, .. } => up(quarantine),
        To::Ask { asked, quarantine, .. } => {
            up(&mut asked.defer);
            up(quarantine);
        }
        To::Want { .. } | To::Purge { .. } => {}
    }
    request
}

pub(crate) fn for_store(request: tenure_core::Request) -> Request {
    use tenure_core::Request as Of;
    match request {
        Of::Acquire(asks) => Request::Acquire { asks, profile: Profile::new("a", "").unwrap() },
        Of::Look { seen, quarantine } => Request::Look { seen, quarantine },
        Of::Renew { holder, token, number, stamp } => {
            Request::Renew { holder, token, number, stamp }
        }
        Of::Release { holder, token, reservation } => {
            Request::Release { holder, token, reservation }
        }
        Of::Ask { token, asked, seen, quarantine } => {
            Request::Ask { token, asked, seen, quarantine }
        }
        Of::Want { token, wish } => Request::Want { token, wish },
        Of::Purge { .. } => unreachable!("a purge is no request to a store"),
    }
}

pub(crate) fn contracts(reply: &Reply) -> tenure_core::Reply {
    if let Some(Shown { sight, profile }) = shown(reply) {
        assert_eq!(profile.is_some(), sight.record.is_some());
    }
    contract_reply(reply)
}
