//! Requests and replies of the contract as those of a store, and what the file rounds.

use std::time::Duration;

use tenure::store::{Profile, Reply, Request, Shown};
use tenure_core::WatchedStamp;

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

pub(crate) fn contracts(reply: Reply) -> tenure_core::Reply {
    use tenure_core::Reply as To;
    let sight = |shown: Shown| {
        assert_eq!(shown.profile.is_some(), shown.sight.record.is_some());
        shown.sight
    };
    match reply {
        Reply::Granted { token } => To::Granted { token },
        Reply::Not(shown) => To::Not(sight(shown)),
        Reply::At(shown) => To::At(sight(shown)),
        Reply::Renewed { asked, wanted, past } => To::Renewed { asked, wanted, past },
        Reply::Superseded { last } => To::Superseded { last },
        Reply::Released => To::Released,
        Reply::NotHeld => To::NotHeld,
        Reply::Noted => To::Noted,
        Reply::NotNoted => To::NotNoted,
        other => panic!("no reply to a request of the contract: {other:?}"),
    }
}
