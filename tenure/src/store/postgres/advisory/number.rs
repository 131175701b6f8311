//! The number of an advisory lock.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::store::Key;
use crate::store::postgres::table::LeaseTable;

/// The argument of `pg_advisory_lock`: a bigint, or two integers, which are different locks. All programs share
/// the locks of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockNumber {
    /// Of a pair, the first is the upper half.
    pub(in crate::store::postgres) number: i64,
    pub(in crate::store::postgres) is_pair: bool,
}

impl LockNumber {
    /// The number of an election for which none was given: the first eight bytes, the highest first, of the
    /// SHA-256 of `schema.table/key`. In SQL:
    ///
    /// ```sql
    /// SELECT ('x' || left(encode(sha256('tenure.leases/nightly-report'), 'hex'), 16))::bit(64)::bigint
    /// ```
    ///
    /// Two elections whose names have the same hash exclude each other. That is safe, and unlikely: among a
    /// million names the chance of any such pair is one in thirty million.
    pub fn of(table: &LeaseTable, key: &Key) -> Self {
        let hash = Sha256::new()
            .chain_update(table.plain_name())
            .chain_update("/")
            .chain_update(key.as_str())
            .finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        i64::from_be_bytes(first).into()
    }
}

impl From<i64> for LockNumber {
    fn from(number: i64) -> Self {
        Self { number, is_pair: false }
    }
}

impl From<(i32, i32)> for LockNumber {
    fn from((first, second): (i32, i32)) -> Self {
        let number = (i64::from(first) << 32) | i64::from(second.cast_unsigned());
        Self { number, is_pair: true }
    }
}

/// As the arguments of `pg_advisory_lock`.
impl fmt::Display for LockNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_pair {
            // The cast cuts off the other half.
            #[allow(clippy::cast_possible_truncation, reason = "a half at a time")]
            let (first, second) = ((self.number >> 32) as i32, self.number as i32);
            write!(f, "({first}, {second})")
        } else {
            write!(f, "({})", self.number)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_differs_from_its_bigint() {
        for (pair, number) in [
            ((0, 42), 42),
            ((1, 2), (1 << 32) + 2),
            ((-1, -3), -3),
            ((i32::MIN, i32::MAX), i64::MIN + i64::from(i32::MAX)),
        ] {
            let lock = LockNumber::from(pair);
            assert_eq!(lock.number, number);
            assert_ne!(lock, LockNumber::from(number));
            assert_eq!(lock.to_string(), format!("{pair:?}"));
        }
        assert_eq!(LockNumber::from(-7).to_string(), "(-7)");
    }

    #[test]
    fn default_numbers_never_change() {
        let key = Key::new("nightly-report").unwrap();
        let default = LockNumber::of(&LeaseTable::default(), &key);
        // By sha256sum.
        assert_eq!(default, LockNumber::from(NIGHTLY_REPORT));
        let elsewhere = LeaseTable::new("tenure", "other").unwrap();
        assert_ne!(default, LockNumber::of(&elsewhere, &key));
    }

    const NIGHTLY_REPORT: i64 = 3_746_253_698_630_382_713;
}
