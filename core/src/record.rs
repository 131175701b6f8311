//! The record of one election.

use core::time::Duration;

use crate::id::{HolderId, NameId, RequestId, Token};
use crate::time::Instant;

/// A store's record of one election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    /// The last tenure's token.
    pub token: Token,
    /// The last tenure's holder.
    pub holder: HolderId,
    /// The request that last won or extended the lease.
    pub number: RequestId,
    /// The holder has given the lease back.
    pub released: bool,
    /// For whom the lease is kept that was given back.
    pub reservation: Option<Reservation>,
    /// The time that another candidate must watch the mark before it may take the lease.
    pub ttl: Duration,
    /// The quarantine that the last tenure's candidate declared.
    pub quarantine: Duration,
    /// Whom an operator wishes to lead.
    pub wanted: Option<Wish>,
    /// The candidate that asked for the lead since the last renewal.
    pub asked: Option<Asked>,
    /// The time of the mark's writing, on the store's clock: for people, and as a hint.
    pub written: Instant,
}

impl Record {
    /// The lease's mark.
    pub const fn mark(&self) -> Mark {
        Mark { holder: self.holder, number: self.number }
    }

    /// The time that a candidate of that name and these settings must watch the mark before it may
    /// take the lease.
    ///
    /// Where the settings of two candidates contradict each other, one of them would not wait for
    /// the other's leases after a loss of data: then neither takes over from the other before that
    /// wait.
    pub fn demands(&self, name: NameId, ttl: Duration, quarantine: Duration) -> Duration {
        let kept = match self.reservation {
            _ if !self.released => self.ttl,
            Some(kept) if kept.name != name => kept.reserve,
            Some(_) | None => Duration::ZERO,
        };
        if self.agrees(ttl, quarantine) { kept } else { kept.max(self.ttl).max(self.quarantine) }
    }

    /// True if the lease was given back for the candidates of that name.
    pub fn is_kept_for(&self, name: NameId) -> bool {
        self.released && self.reservation.is_some_and(|kept| kept.name == name)
    }

    /// True if these settings and the record's cover each other's leases.
    pub fn agrees(&self, ttl: Duration, quarantine: Duration) -> bool {
        quarantine >= self.ttl && self.quarantine >= ttl
    }
}

/// The request that last won or extended a lease. A lease whose mark stays the same is not renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The campaign.
    pub holder: HolderId,
    /// Its request.
    pub number: RequestId,
}

/// A lease that was given back for one candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// The name that may have it at once.
    pub name: NameId,
    /// The time that others must watch it.
    pub reserve: Duration,
}

/// Whom an operator wishes to lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Wish {
    /// Any candidate but the leader.
    Anybody,
    /// The candidates of that name.
    Name(NameId),
}

/// A candidate that asks for the lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Asked {
    /// Its name.
    pub name: NameId,
    /// The time in which others go first.
    pub defer: Duration,
}

impl Asked {
    /// True if this is the requested successor.
    pub fn is_wished(&self, wish: Wish) -> bool {
        wish == Wish::Anybody || wish == Wish::Name(self.name)
    }
}
