//! The seeds of a campaign: a range, or one machine's share of it.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The i-th of n equal shares, written `i/n`. Shares are interleaved: each has seeds from all parts
/// of the range, and takes about the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    index: u32,
    of: u32,
}

/// An error in a share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardError {
    /// There is no slash.
    #[error("{text:?} is not a shard; the second of five is 2/5")]
    Shape {
        /// The text.
        text: String,
    },
    /// One side is not a number.
    #[error("{text:?} in a shard is not a number from 1 to {}", u32::MAX)]
    Number {
        /// The side.
        text: String,
        /// The reason.
        #[source]
        why: ParseIntError,
    },
    /// There is no such share.
    #[error("shard {index} of {of} does not exist; the first is 1/{of}, the last {of}/{of}")]
    Beyond {
        /// Its number.
        index: u32,
        /// The number of shares.
        of: u32,
    },
}

impl Shard {
    /// The whole range.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// The share of that number, counted from one, out of `of`.
    ///
    /// # Errors
    /// If there is no share of that number.
    pub const fn new(index: u32, of: u32) -> Result<Self, ShardError> {
        if 1 <= index && index <= of {
            Ok(Self { index, of })
        } else {
            Err(ShardError::Beyond { index, of })
        }
    }

    /// True if it is the whole range.
    pub const fn is_whole(self) -> bool {
        self.of == 1
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let shape = || ShardError::Shape { text: text.to_owned() };
        let (index, of) = text.split_once('/').ok_or_else(shape)?;
        let number = |text: &str| {
            text.parse().map_err(|why| ShardError::Number { text: text.to_owned(), why })
        };
        Self::new(number(index)?, number(of)?)
    }
}

impl Serialize for Shard {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Shard {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        std::borrow::Cow::<str>::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

/// Some seeds. The last one must be at most `u64::MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seeds {
    /// The first of the range.
    pub first: u64,
    /// The length of the range.
    pub count: u64,
    /// The share of the range that is taken.
    pub shard: Shard,
}

impl Seeds {
    /// A whole range.
    pub const fn range(first: u64, count: u64) -> Self {
        Self { first, count, shard: Shard::WHOLE }
    }

    /// The number of seeds in the share.
    pub fn len(&self) -> u64 {
        let skipped = u64::from(self.shard.index - 1);
        self.count.saturating_sub(skipped).div_ceil(u64::from(self.shard.of))
    }

    /// True if the share is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The seed of that number in the share, counted from zero.
    pub fn nth(&self, number: u64) -> Option<u64> {
        let skipped = u64::from(self.shard.index - 1);
        let offset = || number * u64::from(self.shard.of) + skipped;
        (number < self.len()).then(|| self.first.saturating_add(offset()))
    }

    /// The lowest seed that both contain.
    pub fn shared(&self, other: &Self) -> Option<u64> {
        let (mine, others) = (self.ends()?, other.ends()?);
        let (from, to) = (mine.0.max(others.0), mine.1.min(others.1));
        let (step, their_step) = (u64::from(self.shard.of), u64::from(other.shard.of));
        // After `their_step` of my seeds, their remainders by `their_step` repeat.
        let begin = mine.0 + (from - mine.0).div_ceil(step) * step;
        (0..their_step)
            .map_while(|number| begin.checked_add(number * step).filter(|seed| *seed <= to))
            .find(|seed| (seed - others.0).is_multiple_of(their_step))
    }

    fn ends(&self) -> Option<(u64, u64)> {
        Some((self.nth(0)?, self.nth(self.len().checked_sub(1)?)?))
    }
}

/// The same seeds, with complete sets of shares replaced by their range.
pub(super) fn joined(all: &[Seeds]) -> Vec<Seeds> {
    let mut joined: Vec<Seeds> = Vec::new();
    for seeds in all {
        let of_same_range = |other: &&Seeds| {
            (other.first, other.count, other.shard.of) == (seeds.first, seeds.count, seeds.shard.of)
        };
        let is_complete = all.iter().filter(of_same_range).count() == seeds.shard.of as usize;
        let part = if is_complete { Seeds { shard: Shard::WHOLE, ..*seeds } } else { *seeds };
        if !joined.contains(&part) {
            joined.push(part);
        }
    }
    joined.sort_by_key(|seeds| (seeds.first, seeds.count, seeds.shard.of, seeds.shard.index));
    joined
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn seeds(first: u64, count: u64, index: u32, of: u32) -> Seeds {
        Seeds { first, count, shard: Shard { index, of } }
    }

    fn all(of: &Seeds) -> BTreeSet<u64> {
        (0..).map_while(|number| of.nth(number)).collect()
    }

    #[test]
    fn shares_are_disjoint_and_make_up_the_range() {
        for (count, of) in [(10, 3), (3, 3), (2, 5), (1, 1), (0, 2)] {
            let shares: Vec<Seeds> = (1..=of).map(|index| seeds(7, count, index, of)).collect();
            let together: Vec<u64> = shares.iter().flat_map(all).collect();
            assert_eq!(together.len() as u64, count);
            assert_eq!(together.into_iter().collect::<BTreeSet<_>>(), (7..7 + count).collect());
            assert_eq!(shares.iter().map(Seeds::len).sum::<u64>(), count);
            assert_eq!(all(&joined(&shares)[0]), (7..7 + count).collect());
        }
    }

    #[test]
    fn the_lowest_shared_seed_is_found() {
        let mut some = Vec::new();
        for first in [0, 1, 5] {
            for count in [0, 1, 9, 23] {
                for of in [1, 2, 4, 6] {
                    some.extend((1..=of).map(|index| seeds(first, count, index, of)));
                }
            }
        }
        for one in &some {
            for other in &some {
                let expected = all(one).intersection(&all(other)).next().copied();
                assert_eq!(one.shared(other), expected, "{one:?} {other:?}");
            }
        }
    }

    #[test]
    fn the_largest_seed_is_valid() {
        let last = seeds(u64::MAX, 1, 1, 1);
        assert_eq!((last.nth(0), last.shared(&last)), (Some(u64::MAX), Some(u64::MAX)));
    }

    #[test]
    fn invalid_shares_are_refused() {
        assert_eq!("2/5".parse(), Ok(Shard { index: 2, of: 5 }));
        for text in ["", "2", "0/5", "6/5", "a/5", "1/0", "1/5/9", "-1/5"] {
            text.parse::<Shard>().expect_err(text);
        }
    }
}
