//! The contract for a store of your own: its records, the parts of its requests, and [`apply`],
//! which the answers of every store equal.

pub use tenure_core::contract::{FOREVER, Moment, Past, Record, apply, server_ends};
pub use tenure_core::{
    Acquire, Asked, Loss, Mark, NameId, Reply, Request, RequestId, Reservation, Sight, Stamp,
    UnwatchedPast, WatchedStamp, Wish,
};
