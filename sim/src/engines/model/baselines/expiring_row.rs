//! A row of PostgreSQL with a holder and an expiry that only a cleanup job deletes, as in
//! nest-leader-election.
//!
//! One statement inserts the row or, if the caller holds it, moves its expiry. An expired row
//! blocks every other candidate until a candidate's cleanup job deletes it, five seconds after its
//! expiry at the earliest. The expiry is fixed at 15 s, whatever lease is configured.

use std::time::Duration;

use tenure_core::{Config, Instant};

use super::super::algorithm::{Stored, Visit};
use super::model::{Ask, Model, StoreAnswer, Want};
use super::ordinal;
use super::pace::{Pace, Timer};

const LEASE: Duration = Duration::from_secs(15);
/// The time after a row's expiry until the job deletes it.
const LEFT_FOR: Duration = Duration::from_secs(5);

/// The row.
#[derive(Clone, Debug)]
pub(crate) struct ExpiringRow;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Store {
    row: Option<(u128, Instant)>,
    token: u64,
}

impl Model for ExpiringRow {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        let interval = config.renew_interval();
        Pace {
            // By default two seconds of ten, in either direction.
            jitter: interval / 10,
            tidies: Some(2 * config.ttl()),
            ..Pace::steady(Timer::AfterReply(interval))
        }
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> StoreAnswer {
        let is_ours = store.row.map(|(holder, _)| holder == ask.holder);
        match (ask.want, is_ours) {
            (Want::Take | Want::Keep, None) => {
                store.token = ordinal(store.token, at);
                store.row = Some((ask.holder, at.now + LEASE));
                StoreAnswer::Granted { token: store.token }
            }
            (Want::Take | Want::Keep, Some(true)) => {
                store.row = Some((ask.holder, at.now + LEASE));
                if ask.want == Want::Keep {
                    StoreAnswer::Renewed
                } else {
                    StoreAnswer::Granted { token: store.token }
                }
            }
            (Want::GiveBack, Some(true)) => {
                store.row = None;
                StoreAnswer::Done
            }
            (Want::Tidy, _) => {
                store.row = store.row.filter(|(_, expires)| at.now <= *expires + LEFT_FOR);
                StoreAnswer::Done
            }
            (Want::Take | Want::Keep, Some(false)) | (Want::GiveBack, _) => StoreAnswer::NotHeld,
        }
    }

    fn kept(store: &Store) -> Option<Stored> {
        store.row.map(|(holder, expires)| Stored::until(store.token, holder, expires))
    }
}
