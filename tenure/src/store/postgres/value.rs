//! Values of the contract as the server keeps them.

use std::time::Duration;

use tenure_core::{NameId, RequestId, Stamp, Wish};

use crate::store::{StoreError, StoreErrorKind};
use crate::{HolderId, Token};

/// Sums of a few of them fit a bigint.
const LONGEST: i64 = i64::MAX / 8;

pub(super) fn holder(holder: HolderId) -> Vec<u8> {
    holder.to_bits().to_be_bytes().to_vec()
}

pub(super) fn name(name: NameId) -> Vec<u8> {
    name.to_bits().to_be_bytes().to_vec()
}

pub(super) fn stamp(stamp: Stamp) -> Vec<u8> {
    stamp.to_bits().to_be_bytes().to_vec()
}

/// No bytes stand for anybody.
pub(super) fn wish(wish: Wish) -> Vec<u8> {
    match wish {
        Wish::Anybody => Vec::new(),
        Wish::Name(wished) => name(wished),
    }
}

/// A time to watch, in whole microseconds: not shorter than it is.
pub(super) fn demand(duration: Duration) -> i64 {
    let micros = duration.as_nanos().div_ceil(1_000);
    i64::try_from(micros).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// A watched time, in whole microseconds: not longer than it is.
pub(super) fn watched(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).map_or(LONGEST, |micros| micros.min(LONGEST))
}

/// 0 stands for none.
pub(super) fn seen(token: Option<Token>) -> Result<i64, StoreError> {
    token.map_or(Ok(0), self::token)
}

/// # Errors
/// If it is greater than any that this store grants.
pub(super) fn token(token: Token) -> Result<i64, StoreError> {
    bigint("token", token.get())
}

pub(super) fn number(number: RequestId) -> Result<i64, StoreError> {
    bigint("number of the request", number.get())
}

fn bigint(what: &str, number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| {
        let detail = format!("the {what} {number} is above what a bigint holds");
        StoreError::new(StoreErrorKind::Refused, detail)
    })
}
