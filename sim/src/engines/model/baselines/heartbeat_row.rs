//! A row of PostgreSQL with a holder, a term and the time of the last heartbeat, as in drift's
//! "leader-election" recipe. A candidate takes the row over if the heartbeat is older than the TTL,
//! and deletes it on stepping down.
//!
//! The row's term is meant for fencing, but can't be used for it: the term of a row that was
//! deleted restarts at 1, and no caller ever sees it.

use tenure_core::{Config, Instant};

use super::super::algorithm::{Stored, Visit};
use super::model::{Ask, Model, StoreAnswer, Want};
use super::ordinal;
use super::pace::{Pace, Timer};

/// The row.
#[derive(Clone, Debug)]
pub(crate) struct HeartbeatRow;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Store {
    row: Option<Row>,
    token: u64,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    holder: u128,
    /// The recipe's own term. It restarts, so callers can't use it.
    term: u64,
    /// The last heartbeat plus a TTL.
    times_out: Instant,
}

impl Model for HeartbeatRow {
    type Store = Store;

    fn pace(config: &Config) -> Pace {
        Pace { leads_until_released: true, ..Pace::steady(Timer::Every(config.renew_interval())) }
    }

    fn serve(store: &mut Store, at: Visit, ask: Ask) -> StoreAnswer {
        let times_out = at.now + ask.ttl;
        match (ask.want, &mut store.row) {
            (Want::Take | Want::Keep, Some(row)) if row.holder == ask.holder => {
                row.times_out = times_out;
                // A candidate that does not know its own row takes it for a new one.
                if ask.want == Want::Take {
                    StoreAnswer::Granted { token: store.token }
                } else {
                    StoreAnswer::Renewed
                }
            }
            (Want::GiveBack, Some(row)) if row.holder == ask.holder => {
                store.row = None;
                StoreAnswer::Done
            }
            (Want::Take, row) if row.is_none_or(|row| row.times_out < at.now) => {
                let term = row.map_or(1, |row| row.term + 1);
                *row = Some(Row { holder: ask.holder, term, times_out });
                store.token = ordinal(store.token, at);
                StoreAnswer::Granted { token: store.token }
            }
            (Want::Take | Want::Keep | Want::GiveBack | Want::Tidy, _) => StoreAnswer::NotHeld,
        }
    }

    fn kept(store: &Store) -> Option<Stored> {
        store.row.map(|row| Stored::until(store.token, row.holder, row.times_out))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::super::algorithm::Session;
    use super::*;

    #[test]
    fn the_term_restarts_but_the_ordinal_does_not() {
        let mut store = Store::default();
        let mut ask = |holder, want, now_s: u64| {
            let at = Visit {
                now: Instant::from_nanos(now_s * 1_000_000_000),
                server: 0,
                trust_empty_store: false,
                session: Session { node: 0, connection: 0 },
                first: true,
                number: 0,
            };
            let ttl = Duration::from_secs(3);
            HeartbeatRow::serve(&mut store, at, Ask { want, holder, ttl, token: 0, server: None });
            (store.row.map(|row| row.term), store.token)
        };
        let (first, ordinal) = ask(1, Want::Take, 10);
        assert_eq!(first, Some(1));
        assert_eq!(ask(2, Want::Take, 20).0, Some(2), "taken over");
        assert_eq!(ask(2, Want::GiveBack, 21).0, None);
        let (again, later) = ask(1, Want::Take, 22);
        assert_eq!(again, Some(1), "the same term for another tenure");
        assert!(later > ordinal);
    }
}
