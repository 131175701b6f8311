//! Elections whose only candidate is the benchmark.

use std::ops::Range;
use std::time::{Duration, Instant};

use tenure::store::contract::{Acquire, RequestId};
use tenure::store::{Key, Profile, Reply, Request, Store};
use tenure::{HolderId, Token};

/// The holder of every lease.
pub const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// No lease ends by itself while it is measured.
pub const TTL: Duration = Duration::from_secs(24 * 3_600);
/// The candidate's name in every record.
pub const NAME: &str = "worker-7";
/// The candidate's metadata in every record.
pub const METADATA: &str = "10.0.0.7:8080";

/// A request, in the state of the lease that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A grant to the next tenure, after the last one's release.
    Acquire,
    /// The grant again to the same holder, as when the first reply was lost.
    AcquireAgain,
    /// A renewal of a live lease.
    Renew,
    /// The end of a live lease.
    Release,
    /// A look at a live lease.
    Observe,
}

impl Operation {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire (vacant)",
            Self::AcquireAgain => "acquire (own lease)",
            Self::Renew => "renew",
            Self::Release => "release",
            Self::Observe => "observe",
        }
    }

    /// True if it needs a live lease, false if a vacant key.
    pub fn needs_live(self) -> bool {
        match self {
            Self::Acquire => false,
            Self::AcquireAgain | Self::Renew | Self::Release | Self::Observe => true,
        }
    }

    /// The operation that brings a lease into the state which this one needs.
    #[must_use]
    pub fn prepared_by(self) -> Self {
        if self.needs_live() { Self::Acquire } else { Self::Release }
    }
}

/// One election as its only candidate sees it.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The election.
    pub key: Key,
    /// The token of the last grant.
    pub last: Option<Token>,
    /// True if the lease was not released since.
    pub live: bool,
    /// The number of the next request. It grows with each: a renewal with an older number would
    /// write nothing.
    pub number: RequestId,
}

impl Lease {
    /// An election that nobody has led yet.
    ///
    /// # Panics
    /// Never: its key is short.
    pub fn new(number: u32) -> Self {
        let key = Key::new(format!("election-{number:03}")).expect("a short key");
        Self { key, last: None, live: false, number: RequestId::new(1).expect("not zero") }
    }

    /// So many leases.
    pub fn numbered(count: u32) -> Vec<Self> {
        (0..count).map(Self::new).collect()
    }

    /// The candidate's profile in the record.
    ///
    /// # Panics
    /// Never: the name and the metadata are short.
    pub fn profile() -> Profile {
        Profile::new(NAME, METADATA).expect("a short profile")
    }

    /// The request of that operation.
    pub fn request(&self, operation: Operation) -> Request {
        let token = self.last.unwrap_or(Token::FIRST);
        match operation {
            Operation::Acquire | Operation::AcquireAgain => {
                let profile = Self::profile();
                let first = Acquire::new(HOLDER, self.number, TTL, profile.name_id());
                let asks = Acquire { seen: self.last, ..first };
                Request::Acquire { asks, profile }
            }
            Operation::Renew => {
                Request::Renew { holder: HOLDER, token, number: self.number, stamp: None }
            }
            Operation::Release => Request::Release { holder: HOLDER, token, reservation: None },
            Operation::Observe => Request::Observe,
        }
    }

    /// Notes the reply to that operation.
    ///
    /// # Panics
    /// If the operation did not do what it was measured for.
    pub fn note(&mut self, operation: Operation, reply: &Reply) {
        match (operation, reply) {
            (Operation::Acquire, Reply::Granted { token }) if Some(*token) > self.last => {
                (self.last, self.live) = (Some(*token), true);
            }
            (Operation::AcquireAgain, Reply::Granted { token }) if Some(*token) == self.last => {}
            (Operation::Renew, Reply::Renewed { .. }) => {}
            (Operation::Observe, Reply::At(shown)) if shown.sight.last == self.last => {}
            (Operation::Release, Reply::Released) => self.live = false,
            _ => panic!("{operation:?} was answered {reply:?}"),
        }
        self.number = RequestId::new(self.number.get() + 1).expect("not zero");
    }
}

/// A store, and elections at it.
#[derive(Debug)]
pub struct Elections<S> {
    /// The store.
    pub store: S,
    /// The elections.
    pub leases: Vec<Lease>,
}

impl<S: Store> Elections<S> {
    /// So many elections, none of which was led yet.
    pub fn new(store: S, count: u32) -> Self {
        Self { store, leases: Lease::numbered(count) }
    }

    /// The time of an operation on the first so many elections, one after the other.
    pub async fn measure(&mut self, operation: Operation, count: u32) -> Duration {
        self.prepare(operation, count).await;
        self.perform(operation, 0..count as usize).await
    }

    /// Brings the first so many leases into the state which the operation needs.
    pub async fn prepare(&mut self, operation: Operation, count: u32) {
        for number in 0..count as usize {
            if self.leases[number].live != operation.needs_live() {
                self.perform(operation.prepared_by(), number..number + 1).await;
            }
        }
    }

    /// The time of an operation on these elections, one after the other.
    ///
    /// # Panics
    /// If a request fails, or is not answered as it should be.
    pub async fn perform(&mut self, operation: Operation, range: Range<usize>) -> Duration {
        let leases = &mut self.leases[range];
        let calls: Vec<_> =
            leases.iter().map(|lease| (&lease.key, lease.request(operation))).collect();
        let mut replies = Vec::with_capacity(calls.len());
        let started = Instant::now();
        for (key, request) in calls {
            replies.push(self.store.call(key, request).await);
        }
        let took = started.elapsed();
        for (lease, reply) in leases.iter_mut().zip(replies) {
            lease.note(operation, &reply.expect("an answer"));
        }
        took
    }
}
