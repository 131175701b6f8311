//! What the scripts show of an election and of the past, and the values in their answers.

use std::time::Duration;

use bytes::Bytes;
use tenure_core::contract::Record;
use tenure_core::{Asked, NameId, RequestId, Reservation, Sight, Stamp, UnwatchedPast, Wish};

use super::field::Field;
use super::refusal::{TEXT_MOST, damaged, unexpected};
use crate::store::error::sanitized;
use crate::store::{Profile, Shown, StoreError};
use crate::{HolderId, Instant, Token};

/// The largest integer that Lua's numbers hold exactly.
pub(super) const EXACT: u64 = 1 << 53;

/// What waiting candidates are told: of the record, what the scripts read of it, in their order.
pub(super) fn shown(fields: &[Field<'_>]) -> Result<Shown, StoreError> {
    use Field::{Number, Text};
    let &[Number(last), Number(now), Text(stamp), Number(longest), ref rest @ ..] = fields else {
        return Err(unexpected(fields));
    };
    let (record, profile) = match rest {
        [] => (None, None),
        [Text(name), Text(metadata), fields @ ..] => {
            // A name that no candidate has written is not shown: decisions do not rest on it.
            let name = String::from_utf8_lossy(name);
            let profile = Profile::new(name, Bytes::copy_from_slice(metadata)).ok();
            (Some(record(fields)?), profile)
        }
        _ => return Err(unexpected(fields)),
    };
    let (last, past) = (Token::new(exact(last)?), past_of(stamp, longest)?);
    Ok(Shown { sight: Sight { last, record, past, now: instant(exact(now)?) }, profile })
}

fn record(fields: &[Field<'_>]) -> Result<Record, StoreError> {
    let mut texts = [&b""[..]; 12];
    if fields.len() != texts.len() {
        return Err(unexpected(fields));
    }
    for (text, field) in texts.iter_mut().zip(fields) {
        let Field::Text(found) = field else { return Err(damaged("it lacks a field")) };
        *text = found;
    }
    let [token, holder, number, released, ttl, quarantine, asked, defer, wanted, to, reserve, at] =
        texts;
    let number = whole(number).map(RequestId::new)?;
    let reservation = match to {
        b"" => None,
        to => Some(Reservation { name: name_of(to)?, reserve: duration(reserve)? }),
    };
    Ok(Record {
        token: whole(token).map(Token::new)?.ok_or_else(|| damaged("its token is 0"))?,
        holder: HolderId::from_bits(bits(holder)?),
        number: number.ok_or_else(|| damaged("its number is 0"))?,
        released: released == b"1",
        reservation,
        ttl: duration(ttl)?,
        quarantine: duration(quarantine)?,
        wanted: wish_of(wanted)?,
        asked: asked_of(asked, defer)?,
        written: instant(whole(at)?),
    })
}

pub(super) fn past_of(stamp: &[u8], longest: i64) -> Result<Option<UnwatchedPast>, StoreError> {
    Ok(match stamp {
        b"" => None,
        stamp => Some(UnwatchedPast {
            stamp: Stamp::from_bits(bits(stamp)?),
            longest: Duration::from_micros(exact(longest)?),
        }),
    })
}

pub(super) fn asked_of(name: &[u8], defer: &[u8]) -> Result<Option<Asked>, StoreError> {
    Ok(match name {
        b"" => None,
        name => Some(Asked { name: name_of(name)?, defer: duration(defer)? }),
    })
}

pub(super) fn wish_of(text: &[u8]) -> Result<Option<Wish>, StoreError> {
    Ok(match text {
        b"" => None,
        b"any" => Some(Wish::Anybody),
        name => Some(Wish::Name(name_of(name)?)),
    })
}

fn name_of(text: &[u8]) -> Result<NameId, StoreError> {
    bits(text).map(NameId::from_bits)
}

/// Reads an identity.
fn bits(text: &[u8]) -> Result<u128, StoreError> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.len() == 32);
    let shown = || sanitized(String::from_utf8_lossy(text), TEXT_MOST);
    digits
        .and_then(|digits| u128::from_str_radix(digits, 16).ok())
        .ok_or_else(|| damaged(format_args!("{:?} in it is no identity", shown())))
}

fn whole(text: &[u8]) -> Result<u64, StoreError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map_or_else(|| Err(damaged("a number of it can't be read")), exact)
}

pub(super) fn exact(number: i64) -> Result<u64, StoreError> {
    let exact = u64::try_from(number).ok().filter(|number| *number < EXACT);
    exact.ok_or_else(|| damaged(format_args!("a number of it is {number}, outside 0 to 2^53")))
}

pub(super) fn token_of(number: i64) -> Result<Token, StoreError> {
    Token::new(exact(number)?).ok_or_else(|| damaged("its token is 0"))
}

fn duration(text: &[u8]) -> Result<Duration, StoreError> {
    whole(text).map(Duration::from_micros)
}

pub(super) fn instant(micros: u64) -> Instant {
    Instant::ORIGIN + Duration::from_micros(micros)
}
