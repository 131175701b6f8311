//! Keeping an etcd lease alive, and confirming that.
//!
//! A keepalive does not go through the log: it is answered by the member that considers itself
//! etcd's leader. A member that was paused and replaced meanwhile still does so: its answer extends
//! nothing at the new leader, and a candidate that trusts it leads for too long. Newer versions of
//! etcd close that gap in part.
//!
//! So each keepalive is followed by a read that a majority confirms, and the terms of the two
//! answers are compared. etcd fills the header of a keepalive's answer *before* it carries it out;
//! a header's term is that of the last entry that the member has applied.
//! 1. The read's term is not below that of the leader which a majority confirmed after the
//!    keepalive was answered. So until then no leader of a higher term had been elected.
//! 2. If the keepalive's term is the same, its member had applied an entry of that very leader
//!    before, so it was that leader, or forwarded the keepalive to it.
//!
//! Then the lease was extended by the only leader. Each later leader starts with the whole TTL
//! again. If the terms differ, the outcome is unknown, and the next attempt decides.

use etcd_client::{Client, Error, LeaseKeepAliveStream, LeaseKeeper};

use crate::{HolderId, Token};

/// A stream of keepalives, for one lease after the other: each stream takes 18 KiB here, and more
/// at the server.
pub(super) struct Stream {
    keeper: LeaseKeeper,
    answers: LeaseKeepAliveStream,
}

/// A tenure and its etcd lease.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tenure {
    pub(super) holder: HolderId,
    pub(super) token: Token,
    pub(super) lease: i64,
}

/// The outcome of a keepalive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Carried out, by a member that had applied an entry of this term before.
    Done { term: u64 },
    /// There is no such lease.
    Gone,
}

impl Stream {
    /// Begins with a keepalive of that lease; `None` if there is no such lease.
    pub(super) async fn open(client: &Client, lease: i64) -> Result<Option<Self>, Error> {
        match client.lease_client().keep_alive(lease).await {
            Ok((keeper, answers)) => Ok(Some(Self { keeper, answers })),
            Err(Error::LeaseKeepAliveError(_)) => Ok(None),
            // So the client calls a stream that has ended before its first answer.
            Err(Error::WatchError(why)) => Err(Error::LeaseKeepAliveError(why)),
            Err(error) => Err(error),
        }
    }

    /// One keepalive and its answer. A stream whose answer was not awaited must not be used again.
    pub(super) async fn beat(&mut self, lease: i64) -> Result<Beat, Error> {
        self.keeper.id = lease;
        self.keeper.keep_alive().await?;
        let Some(answer) = self.answers.message().await? else {
            let why = "the member has ended the stream of keepalives";
            return Err(Error::LeaseKeepAliveError(why.to_owned()));
        };
        match (answer.ttl(), answer.header().filter(|_| answer.id() == lease)) {
            (1.., Some(header)) => Ok(Beat::Done { term: header.raft_term() }),
            (..=0, Some(_)) => Ok(Beat::Gone),
            (_, None) => Err(Error::WatchError("no answer to a keepalive".to_owned())),
        }
    }
}
