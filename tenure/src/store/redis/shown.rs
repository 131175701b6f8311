//! Reads the scripts' view of an election and of the past, and the values in their answers.

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

/// The fields of a record that the scripts read, in their order.
pub(super) const FIELDS: [&str; 12] = [
    "token",
    "holder",
    "number",
    "released",
    "ttl",
    "quarantine",
    "asked",
    "defer",
    "wanted",
    "reserved_for",
    "reserve",
    "written",
];

/// The view of waiting candidates: of the record, what the scripts read of it, in their order.
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
    let (last, past) = (Token::new(exact("token", last)?), past_of(stamp, longest)?);
    let now = instant(exact("server's clock", now)?);
    Ok(Shown { sight: Sight { last, record, past, now }, profile })
}

fn record(fields: &[Field<'_>]) -> Result<Record, StoreError> {
    let mut texts = [&b""[..]; FIELDS.len()];
    if fields.len() != texts.len() {
        return Err(unexpected(fields));
    }
    for ((text, field), name) in texts.iter_mut().zip(fields).zip(FIELDS) {
        let Field::Text(found) = field else {
            return Err(damaged(format_args!("it lacks the field {name}")));
        };
        *text = found;
    }
    let [token, holder, number, released, ttl, quarantine, asked, defer, wanted, to, reserve, at] =
        texts;
    let number = whole("number", number).map(RequestId::new)?;
    let reservation = match to {
        b"" => None,
        to => Some(Reservation {
            name: name_of("reserved_for", to)?,
            reserve: duration("reserve", reserve)?,
        }),
    };
    Ok(Record {
        token: whole("token", token).map(Token::new)?.ok_or_else(|| damaged("its token is 0"))?,
        holder: HolderId::from_bits(bits("holder", holder)?),
        number: number.ok_or_else(|| damaged("its number is 0"))?,
        released: released == b"1",
        reservation,
        ttl: duration("ttl", ttl)?,
        quarantine: duration("quarantine", quarantine)?,
        wanted: wish_of(wanted)?,
        asked: asked_of(asked, defer)?,
        written: instant(whole("written", at)?),
    })
}

pub(super) fn past_of(stamp: &[u8], longest: i64) -> Result<Option<UnwatchedPast>, StoreError> {
    Ok(match stamp {
        b"" => None,
        stamp => Some(UnwatchedPast {
            stamp: Stamp::from_bits(bits("past's stamp", stamp)?),
            longest: Duration::from_micros(exact("past's longest", longest)?),
        }),
    })
}

pub(super) fn asked_of(name: &[u8], defer: &[u8]) -> Result<Option<Asked>, StoreError> {
    Ok(match name {
        b"" => None,
        name => Some(Asked { name: name_of("asked", name)?, defer: duration("defer", defer)? }),
    })
}

pub(super) fn wish_of(text: &[u8]) -> Result<Option<Wish>, StoreError> {
    Ok(match text {
        b"" => None,
        b"any" => Some(Wish::Anybody),
        name => Some(Wish::Name(name_of("wanted", name)?)),
    })
}

fn name_of(what: &str, text: &[u8]) -> Result<NameId, StoreError> {
    bits(what, text).map(NameId::from_bits)
}

/// Reads an identity.
fn bits(what: &str, text: &[u8]) -> Result<u128, StoreError> {
    let digits = std::str::from_utf8(text).ok().filter(|text| text.len() == 32);
    let bits = digits.and_then(|digits| u128::from_str_radix(digits, 16).ok());
    bits.ok_or_else(|| unreadable(what, text))
}

fn whole(what: &str, text: &[u8]) -> Result<u64, StoreError> {
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map_or_else(|| Err(unreadable(what, text)), |number| exact(what, number))
}

fn unreadable(what: &str, text: &[u8]) -> StoreError {
    let shown = sanitized(String::from_utf8_lossy(text), TEXT_MOST);
    damaged(format_args!("its {what} is {shown:?}"))
}

pub(super) fn exact(what: &str, number: i64) -> Result<u64, StoreError> {
    let exact = u64::try_from(number).ok().filter(|number| *number < EXACT);
    exact.ok_or_else(|| damaged(format_args!("its {what} is {number}, outside 0 to 2^53")))
}

pub(super) fn token_of(number: i64) -> Result<Token, StoreError> {
    Token::new(exact("token", number)?).ok_or_else(|| damaged("its token is 0"))
}

fn duration(what: &str, text: &[u8]) -> Result<Duration, StoreError> {
    whole(what, text).map(Duration::from_micros)
}

pub(super) fn instant(micros: u64) -> Instant {
    Instant::ORIGIN + Duration::from_micros(micros)
}
