//! Reads the replies of the functions.

use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::store::{Incumbent, Profile, Reply, Request, StoreError, StoreErrorKind};
use crate::{HolderId, Token};

/// The answer about a live lease whose profile is longer than any candidate's.
pub(super) const TOO_LONG: &str = "too_long";

/// The columns of an answer. Those that an answer does not need are missing or NULL.
#[derive(Clone, Copy, Debug, Default)]
struct Answer<'a> {
    word: &'a str,
    last: Option<i64>,
    micros: Option<i64>,
    holder: Option<&'a [u8]>,
    name: Option<&'a [u8]>,
    metadata: Option<&'a [u8]>,
    ttl: Option<i64>,
    quarantine: Option<i64>,
}

/// Reads a function's answer to a request.
///
/// An answer to another kind of request is an error: replies may be out of step with their requests.
pub(super) fn read(request: &Request, rows: &[Row]) -> Result<Reply, StoreError> {
    let [row] = rows else { return Err(unexpected(format!("{} rows", rows.len()))) };
    decode(request, answer(row).map_err(|error| unexpected(error.to_string()))?)
}

/// Which of so many renewals were carried out. A row names its renewal by the place in the list of requests, from 1 on:
/// rivals of one process renew the same key, and only one of them leads.
pub(super) fn renewed(rows: &[Row], requests: usize) -> Result<Vec<bool>, StoreError> {
    let mut renewed = vec![false; requests];
    for row in rows {
        let place = match row.try_get(0) {
            Ok("renewed") => row.try_get(1).map_err(|error| unexpected(error.to_string()))?,
            Ok(word) => return Err(unexpected(word)),
            Err(error) => return Err(unexpected(error.to_string())),
        };
        let index = number(place).and_then(|place| usize::try_from(place.checked_sub(1)?).ok());
        let is_renewed = index.and_then(|index| renewed.get_mut(index));
        *is_renewed.ok_or_else(|| unexpected(format!("the place {place:?} of {requests}")))? = true;
    }
    Ok(renewed)
}

fn answer(row: &Row) -> Result<Answer<'_>, tokio_postgres::Error> {
    fn column<'a, T: FromSql<'a>>(
        row: &'a Row,
        index: usize,
    ) -> Result<Option<T>, tokio_postgres::Error> {
        if index < row.len() { row.try_get(index) } else { Ok(None) }
    }
    Ok(Answer {
        word: column(row, 0)?.unwrap_or_default(),
        last: column(row, 1)?,
        micros: column(row, 2)?,
        holder: column(row, 3)?,
        name: column(row, 4)?,
        metadata: column(row, 5)?,
        ttl: column(row, 6)?,
        quarantine: column(row, 7)?,
    })
}

/// Any answer that is not exactly one of these is an error, and so *unknown*. An answer with an impossible value is in step
/// with its request: a damaged row is that election's trouble alone.
fn decode(request: &Request, answer: Answer<'_>) -> Result<Reply, StoreError> {
    let reply = match answer.word {
        "granted" => token(answer.last)
            .zip(duration(answer.micros))
            .map(|(token, wait)| Reply::Granted { token, wait }),
        // The columns are those of such an answer, so it is not out of step: the record is damaged.
        "held" => Some(Reply::Held(incumbent(answer).ok_or_else(|| damaged(&answer))?)),
        TOO_LONG => return Err(too_long()),
        "refused" => duration(answer.ttl)
            .zip(duration(answer.quarantine))
            .map(|(ttl, declared)| Reply::Refused { ttl, quarantine: Some(declared) }),
        "stale" => token(answer.last).map(|last| Reply::Stale { last }),
        "renewed" => Some(Reply::Renewed),
        // 0 is no token, and stands for none.
        "superseded" => {
            number(answer.last).map(|last| Reply::Superseded { last: Token::new(last) })
        }
        "released" => Some(Reply::Released),
        "not_held" => Some(Reply::NotHeld),
        "described" => Some(Reply::Described),
        "vacant" => Some(Reply::Vacant),
        "notified" => token(answer.last).map(|token| Reply::Notified { token }),
        _ => return Err(unexpected(format!("{answer:?}"))),
    };
    match reply {
        Some(reply) if reply.answers(request) => Ok(reply),
        Some(_) => Err(unexpected(format!("{answer:?}"))),
        None => Err(StoreError::showing(StoreErrorKind::BadRecord, format_args!("{answer:?}"))),
    }
}

fn incumbent(answer: Answer<'_>) -> Option<Incumbent> {
    let holder = HolderId::from_bits(u128::from_be_bytes(answer.holder?.try_into().ok()?));
    let name = String::from_utf8_lossy(answer.name?);
    let metadata = Bytes::copy_from_slice(answer.metadata?);
    let remaining = duration(answer.micros)?;
    let incumbent = Incumbent::new(token(answer.last)?, holder, name, metadata, remaining);
    Some(incumbent.with_ttl(duration(answer.ttl)?))
}

fn number(number: Option<i64>) -> Option<u64> {
    number.and_then(|number| u64::try_from(number).ok())
}

fn token(value: Option<i64>) -> Option<Token> {
    value.and_then(|value| Token::try_from(value).ok())
}

fn duration(micros: Option<i64>) -> Option<Duration> {
    number(micros).map(Duration::from_micros)
}

fn damaged(answer: &Answer<'_>) -> StoreError {
    let Answer { last, micros, holder, ttl, .. } = answer;
    let detail = format!(
        "of a live lease it holds the token {last:?}, the holder {holder:?}, the TTL {ttl:?}, and {micros:?} remaining"
    );
    StoreError::new(StoreErrorKind::BadRecord, detail)
}

fn too_long() -> StoreError {
    let detail = format!(
        "its name is longer than {} bytes, or its metadata longer than {}; the next grant after the lease replaces both",
        Profile::NAME_MOST,
        Profile::METADATA_MOST
    );
    StoreError::new(StoreErrorKind::BadRecord, detail)
}

fn unexpected(detail: impl Into<String>) -> StoreError {
    let detail: String = detail.into().chars().take(200).collect();
    StoreError::new(StoreErrorKind::UnexpectedReply, detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLDER: HolderId = HolderId::from_bits(0x0123_4567_89ab_cdef);

    fn renew() -> Request {
        Request::Renew { holder: HOLDER, token: Token::FIRST, ttl: Duration::from_secs(1) }
    }

    fn named(word: &str) -> Answer<'_> {
        Answer { word, ..Answer::default() }
    }

    #[test]
    fn reads_what_the_functions_return() {
        let holder = HOLDER.to_bits().to_be_bytes();
        let held = Answer {
            word: "held",
            last: Some(7),
            micros: Some(9),
            holder: Some(&holder),
            name: Some(b"worker"),
            metadata: Some(b""),
            ttl: Some(30),
            quarantine: None,
        };
        let Reply::Held(incumbent) = decode(&Request::Observe, held).unwrap() else {
            panic!("held")
        };
        assert_eq!((incumbent.token.get(), incumbent.holder), (7, HOLDER));
        assert_eq!((&*incumbent.name, incumbent.remaining), ("worker", Duration::from_micros(9)));
        assert_eq!(incumbent.ttl, Duration::from_micros(30));
        let superseded = Answer { last: Some(0), ..named("superseded") };
        assert_eq!(decode(&renew(), superseded).unwrap(), Reply::Superseded { last: None });
        for (field, damaged) in [
            ("holder", Answer { holder: Some(&holder[1..]), ..held }),
            ("holder", Answer { holder: None, ..held }),
            ("last", Answer { last: Some(0), ..held }),
            ("micros", Answer { micros: Some(-1), ..held }),
            ("micros", Answer { micros: None, ..held }),
            ("ttl", Answer { ttl: None, ..held }),
        ] {
            let error = decode(&Request::Observe, damaged).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{field}");
        }
    }

    #[test]
    fn an_answer_to_another_request_is_unknown() {
        assert_eq!(decode(&renew(), named("renewed")).unwrap(), Reply::Renewed);
        for word in ["released", "vacant", "", "RENEWED"] {
            let error = decode(&renew(), named(word)).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{word}");
        }
    }
}
