//! Identities: fencing tokens, holders, requests, and the seed that makes holders distinct.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::num::NonZeroU64;

/// A fencing token: one number for each tenure of an election, strictly increasing from tenure to
/// tenure.
///
/// Each resource that the leader writes to is fenced by it, in this order: the tenure takes the
/// resource over (which accepts a token that is at least the stored one, and stores it), and
/// repeats that until it knows the outcome; then it reads; then it writes, and a write is accepted
/// only if the stored token *equals* the tenure's. To refuse lower tokens is not enough, since an
/// old leader's last write may land after the new one has read. Tokens of two elections can't be
/// compared.
///
/// A token converts to `u64`, to `i64` where it fits (columns are signed), and to text, and back:
///
/// ```
/// use tenure_core::{Token, TokenError};
///
/// let token: Token = "1700000000000000".parse()?;
/// let column = i64::try_from(token)?;
/// assert_eq!(Token::try_from(column)?, token);
/// assert_eq!(Token::try_from(-1_i64).unwrap_err().to_string(), "-1 is no token; tokens begin at 1");
/// # Ok::<(), TokenError>(())
/// ```
///
/// "No token yet" is `Option::<Token>::None`, which orders below every token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(NonZeroU64);

impl Token {
    /// The lowest token.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The token of that number; `None` for zero, which stands for "no tenure yet" at the stores.
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The number, as a resource stores and compares it.
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    /// The next higher token; saturates.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// An identity of 128 bits, in two halves: a `u128` would align, and so widen, all that contains
/// it.
macro_rules! identity {
    ($(#[$about:meta])* $name:ident) => {
        $(#[$about])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name {
            high: u64,
            low: u64,
        }

        impl $name {
            /// The one of these bits, as read from a store's record.
            #[allow(clippy::cast_possible_truncation, reason = "each half is cut out on purpose")]
            pub const fn from_bits(bits: u128) -> Self {
                Self { high: (bits >> 64) as u64, low: bits as u64 }
            }

            /// The bits, as written into a store's record.
            pub const fn to_bits(self) -> u128 {
                (self.high as u128) << 64 | self.low as u128
            }
        }

        /// Hashes one number: a reader of a state through its hash (the exhaustive search) can tell
        /// an identity from a time.
        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                state.write_u128(self.to_bits());
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.to_bits())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:08x}", self.high >> 32)
            }
        }
    };
}

identity! {
    /// The random identity of one campaign. Never reused: a tenure's requests can't be mistaken for
    /// another's, even if they come from the same process.
    HolderId
}

identity! {
    /// The identity of a store's past: a new one whenever grants may have been lost. No two are
    /// ever the same.
    Stamp
}

identity! {
    /// A candidate's name, as a digest: a handover to a name is for all candidates that have
    /// it.
    NameId
}

/// Names one [`Output::Send`](crate::Output::Send) of one candidate, so that its reply is not
/// taken for the reply to an earlier attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(NonZeroU64);

impl RequestId {
    /// The first one of a candidate.
    pub const FIRST: Self = Self(NonZeroU64::MIN);

    /// The id of that number, as read from a store's record; `None` for zero.
    pub const fn new(number: u64) -> Option<Self> {
        match NonZeroU64::new(number) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }

    /// The next one of a candidate whose last one that was.
    pub(crate) const fn after(last: Option<Self>) -> Self {
        match last {
            None => Self::FIRST,
            Some(Self(last)) => Self(last.saturating_add(1)),
        }
    }

    /// The id as a number, for logs; ids of one candidate count up from 1.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

/// 128 random bits from which a candidate draws holder ids and jitter.
///
/// Two candidates must never be given the same seed: holder ids would collide, and the store would
/// take the second for a retry of the first. Draw it from the operating system, anew in every
/// process and after every fork.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed(pub(crate) u128);

impl Seed {
    /// A seed of these bits.
    pub const fn new(bits: u128) -> Self {
        Self(bits)
    }
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(..)")
    }
}
