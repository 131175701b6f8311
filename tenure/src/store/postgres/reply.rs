//! From what the functions return to a reply.

use std::time::Duration;

use bytes::Bytes;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::store::{Incumbent, Reply, Request, StoreError, StoreErrorKind};
use crate::{HolderId, Token};

/// The columns of an answer. Those that an answer does not need are missing or NULL.
#[derive(Clone, Copy, Debug, Default)]
struct Answer<'a> {
    word: &'a str,
    last: Option<i64>,
    micros: Option<i64>,
    who: Option<&'a [u8]>,
    called: Option<&'a [u8]>,
    tells: Option<&'a [u8]>,
    lasts: Option<i64>,
    declared: Option<i64>,
}

/// Reads a function's answer to a request.
///
/// What answers another kind of request is no answer: replies may be out of step with their requests.
pub(super) fn read(request: &Request, rows: &[Row]) -> Result<Reply, StoreError> {
    let [row] = rows else { return Err(unexpected(format!("{} rows", rows.len()))) };
    decode(request, answer(row).map_err(|error| unexpected(error.to_string()))?)
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
        who: column(row, 3)?,
        called: column(row, 4)?,
        tells: column(row, 5)?,
        lasts: column(row, 6)?,
        declared: column(row, 7)?,
    })
}

/// Everything that it can't be sure of is an error, and so *unknown*.
fn decode(request: &Request, answer: Answer<'_>) -> Result<Reply, StoreError> {
    let reply = match answer.word {
        "granted" => token(answer.last)
            .zip(duration(answer.micros))
            .map(|(token, wait)| Reply::Granted { token, wait }),
        "held" => incumbent(answer).map(Reply::Held),
        "refused" => duration(answer.lasts)
            .zip(duration(answer.declared))
            .map(|(ttl, declared)| Reply::Refused { ttl, quarantine: Some(declared) }),
        "stale" => token(answer.last).map(|last| Reply::Stale { last }),
        "renewed" => Some(Reply::Renewed),
        // 0 is no token, and stands for none.
        "superseded" => {
            number(answer.last).map(|last| Reply::Superseded { last: Token::new(last) })
        }
        "released" => Some(Reply::Released),
        "not_held" => Some(Reply::NotHeld),
        "vacant" => Some(Reply::Vacant),
        "notified" => token(answer.last).map(|token| Reply::Notified { token }),
        _ => None,
    };
    reply.filter(|reply| reply.answers(request)).ok_or_else(|| unexpected(format!("{answer:?}")))
}

fn incumbent(answer: Answer<'_>) -> Option<Incumbent> {
    let holder = HolderId::from_bits(u128::from_be_bytes(answer.who?.try_into().ok()?));
    let name = String::from_utf8_lossy(answer.called?);
    let metadata = Bytes::copy_from_slice(answer.tells?);
    let remaining = duration(answer.micros)?;
    let incumbent = Incumbent::new(token(answer.last)?, holder, name, metadata, remaining);
    Some(incumbent.with_ttl(duration(answer.lasts)?))
}

fn number(number: Option<i64>) -> Option<u64> {
    number.and_then(|number| u64::try_from(number).ok())
}

fn token(value: Option<i64>) -> Option<Token> {
    number(value).and_then(Token::new)
}

fn duration(micros: Option<i64>) -> Option<Duration> {
    number(micros).map(Duration::from_micros)
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
        let who = HOLDER.to_bits().to_be_bytes();
        let held = Answer {
            word: "held",
            last: Some(7),
            micros: Some(9),
            who: Some(&who),
            called: Some(b"worker"),
            tells: Some(b""),
            lasts: Some(30),
            declared: None,
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
            ("who", Answer { who: Some(&who[1..]), ..held }),
            ("who", Answer { who: None, ..held }),
            ("last", Answer { last: Some(0), ..held }),
            ("micros", Answer { micros: Some(-1), ..held }),
            ("micros", Answer { micros: None, ..held }),
            ("lasts", Answer { lasts: None, ..held }),
        ] {
            let error = decode(&Request::Observe, damaged).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{field}");
        }
    }

    #[test]
    fn an_answer_to_another_request_is_unknown() {
        assert_eq!(decode(&renew(), named("renewed")).unwrap(), Reply::Renewed);
        for word in ["released", "vacant", "", "RENEWED", "superseded"] {
            let error = decode(&renew(), named(word)).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{word}");
        }
    }
}
