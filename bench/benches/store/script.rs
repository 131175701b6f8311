//! What is asked of the store, and in which state of the lease.

use std::time::Duration;

use tenure::store::redis::SCRIPTS;
use tenure::store::{Key, Profile, Request};
use tenure::{HolderId, Token};

const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
/// No lease ends by itself while it is measured.
const TTL: Duration = Duration::from_secs(24 * 3_600);
const NAME: &str = "worker-7";
const METADATA: &str = "10.0.0.7:8080";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A grant to the next tenure, after the last one's release.
    Acquire,
    /// The grant again to the same holder, as when the first reply was lost.
    AcquireAgain,
    Renew,
    Release,
}

/// One election as its only candidate sees it.
pub(crate) struct Lease {
    pub(crate) key: Key,
    record: String,
    history: String,
    pub(crate) last: Option<Token>,
    pub(crate) live: bool,
}

impl Lease {
    pub(crate) fn new(prefix: &str, number: usize) -> Self {
        let name = format!("election-{number:03}");
        Self {
            record: format!("{{{prefix}}}:leader:{name}"),
            history: format!("{{{prefix}}}:history"),
            key: Key::new(name).expect("a short key"),
            last: None,
            live: false,
        }
    }
}

impl Operation {
    pub(crate) const ALL: [Self; 4] =
        [Self::Acquire, Self::AcquireAgain, Self::Renew, Self::Release];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Acquire => "acquire (vacant)",
            Self::AcquireAgain => "acquire (own lease)",
            Self::Renew => "renew",
            Self::Release => "release",
        }
    }

    /// The script's text.
    pub(crate) fn script(self) -> &'static str {
        let wanted = match self {
            Self::Acquire | Self::AcquireAgain => "acquire",
            Self::Renew => "renew",
            Self::Release => "release",
        };
        let found = SCRIPTS.into_iter().find(|(name, _)| *name == wanted);
        found.expect("every request has a script").1
    }

    /// Whether it needs a live lease, or a vacant key.
    pub(crate) fn needs_live(self) -> bool {
        match self {
            Self::Acquire => false,
            Self::AcquireAgain | Self::Renew | Self::Release => true,
        }
    }

    pub(crate) fn request(self, lease: &Lease) -> Request {
        let token = lease.last.unwrap_or(Token::FIRST);
        match self {
            Self::Acquire | Self::AcquireAgain => Request::Acquire {
                holder: HOLDER,
                seen: lease.last,
                ttl: TTL,
                quarantine: TTL,
                profile: Profile::new(NAME, METADATA).expect("a short profile"),
            },
            Self::Renew => Request::Renew { holder: HOLDER, token, ttl: TTL },
            Self::Release => Request::Release { holder: HOLDER, token },
        }
    }

    /// The script's keys and arguments for the same request.
    pub(crate) fn words(self, lease: &Lease) -> (Vec<String>, Vec<String>) {
        let token = lease.last.map_or(0, Token::get).to_string();
        let (holder, ttl) = (HOLDER.to_string(), TTL.as_micros().to_string());
        let record = lease.record.clone();
        match self {
            Self::Acquire | Self::AcquireAgain => {
                let (name, metadata, trust) = (NAME.into(), METADATA.into(), "1".into());
                let arguments = vec![holder, token, ttl.clone(), ttl, name, metadata, trust];
                (vec![record, lease.history.clone()], arguments)
            }
            Self::Renew => (vec![record], vec![holder, token, ttl]),
            Self::Release => (vec![record], vec![holder, token]),
        }
    }
}
