//! Times as the file keeps them.

use std::time::Duration;

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
