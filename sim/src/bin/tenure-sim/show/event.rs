//! What happened, in one line.

use std::time::Duration;

use tenure_sim::trace::{Event, Kept, StoreStep};

use super::milliseconds;

/// Most events say little enough as they are.
pub(super) fn told(event: &Event) -> String {
    match event {
        Event::Store(step) => store_step(step),
        other => format!("{other:?}"),
    }
}

fn store_step(step: &StoreStep) -> String {
    let StoreStep { server, now, holder, request, answer, before, after } = step;
    let now = milliseconds(Duration::from_nanos(*now));
    let holder = short(*holder);
    let kept = if before == after {
        kept(after.as_ref())
    } else {
        format!("{} -> {}", kept(before.as_ref()), kept(after.as_ref()))
    };
    format!("Store {server} at its {now}: {holder} asks {request:?}, {answer:?}; {kept}")
}

fn kept(record: Option<&Kept>) -> String {
    let Some(Kept { token, holder, lease_ends, released, .. }) = record else {
        return "no record".to_owned();
    };
    let (holder, ends) = (short(*holder), milliseconds(Duration::from_nanos(*lease_ends)));
    let released = if *released { ", released" } else { "" };
    format!("{token} of {holder} to {ends}{released}")
}

/// Enough to tell the holders of one run apart.
fn short(holder: u128) -> String {
    format!("{:08x}", holder >> 96)
}
