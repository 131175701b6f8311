//! Reads the replies of the scripts. Both clients use this module, so that they can't differ.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;

use crate::store::error::sanitized;
use crate::store::{Incumbent, Key, Profile, Reply, Request, StoreError, StoreErrorKind};
use crate::{HolderId, Token};

/// One element of a script's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Text(&'a [u8]),
    Number(i64),
    /// Anything that no script returns.
    Other,
}

/// The largest integer that Lua's numbers hold exactly.
const EXACT: u64 = 1 << 53;

/// The most fields that a script returns.
const MOST: usize = 7;

/// A reply of the server, as a client holds it.
pub(super) trait ReplyValue: Sized {
    /// The elements of an array.
    fn elements(&self) -> Option<&[Self]>;

    /// The element of a script's answer.
    fn field(&self) -> Field<'_>;
}

/// The reply to each request of one call. Scripts for more than one request answer with an array of answers.
pub(super) fn read_all<V: ReplyValue>(
    requests: &[(Key, Request)],
    value: &V,
) -> Vec<Result<Reply, StoreError>> {
    let each = requests.iter().enumerate();
    each.map(|(place, (_, request))| {
        let answer = match request {
            Request::Acquire { .. } | Request::Renew { .. } => {
                let all = value.elements().filter(|all| all.len() == requests.len());
                all.map(|all| &all[place])
            }
            Request::Release { .. } | Request::Describe { .. } => Some(value),
            Request::Observe | Request::Notify { .. } => Some(value),
        };
        match answer.and_then(V::elements) {
            Some(fields) => read(request, fields.iter().map(V::field)),
            None => read(request, [Field::Other]),
        }
    })
    .collect()
}

/// Reads a script's answer to a request from its fields.
///
/// An answer to another kind of request is an error: replies may be out of step with their requests.
fn read<'a>(
    request: &Request,
    values: impl IntoIterator<Item = Field<'a>>,
) -> Result<Reply, StoreError> {
    // One more than fits any reply, so that a longer answer is not taken for a shorter one.
    let mut fields = [Field::Other; MOST + 1];
    let mut length = 0;
    for (field, value) in fields.iter_mut().zip(values) {
        *field = value;
        length += 1;
    }
    let fields = &fields[..length];
    decode(fields)
        .and_then(|reply| if reply.answers(request) { Ok(reply) } else { Err(unexpected(fields)) })
}

/// Any answer that is not exactly one of these is an error, and so *unknown*. An answer of the right form that has an
/// impossible value is in step with its request: a damaged record is that election's trouble alone.
fn decode(fields: &[Field<'_>]) -> Result<Reply, StoreError> {
    use Field::{Number, Text};
    let [Text(word), rest @ ..] = fields else { return Err(unexpected(fields)) };
    Ok(match (*word, rest) {
        (b"granted", &[Number(token), Number(wait)]) => {
            Reply::Granted { token: token_of(token)?, wait: duration(wait)? }
        }
        (
            b"held",
            &[
                Number(token),
                Number(remaining),
                Text(holder),
                Text(name),
                Text(metadata),
                Number(ttl),
            ],
        ) => {
            let (token, remaining) = (token_of(token)?, duration(remaining)?);
            let name = String::from_utf8_lossy(fits("name", name, Profile::NAME_MOST)?);
            let metadata = fits("metadata", metadata, Profile::METADATA_MOST)?;
            let metadata = Bytes::copy_from_slice(metadata);
            let incumbent = Incumbent::new(token, holder_of(holder)?, name, metadata, remaining);
            Reply::Held(incumbent.with_ttl(duration(ttl)?))
        }
        (b"contradicted", &[Number(ttl), Number(quarantine)]) => Reply::Refused {
            ttl: duration(ttl)?,
            // 0 stands for none.
            quarantine: Some(duration(quarantine)?).filter(|quarantine| !quarantine.is_zero()),
        },
        (b"stale", &[Number(last)]) => Reply::Stale { last: token_of(last)? },
        (b"renewed", []) => Reply::Renewed,
        (b"superseded", &[Number(last)]) => Reply::Superseded { last: Token::new(exact(last)?) },
        (b"released", []) => Reply::Released,
        (b"not_held", []) => Reply::NotHeld,
        (b"described", []) => Reply::Described,
        (b"vacant", []) => Reply::Vacant,
        (b"notified", &[Number(to)]) => Reply::Notified { token: token_of(to)? },
        (b"refused", [Text(why), detail @ ..]) => return Err(refused(why, detail)),
        _ => return Err(unexpected(fields)),
    })
}

/// The result of a request that a call has no answer to.
pub(super) fn missing() -> Result<Reply, StoreError> {
    Err(StoreError::new(StoreErrorKind::UnexpectedReply, "no answer"))
}

/// The store's error for an error reply of the server.
pub(super) fn server_error(code: &str, text: &str) -> StoreError {
    let kind = match code {
        "WRONGTYPE" => StoreErrorKind::BadRecord,
        "NOAUTH" | "WRONGPASS" | "NOPERM" => StoreErrorKind::Authentication,
        // UNBLOCKED is from a primary that was demoted while it waited for its replicas.
        "READONLY" | "MASTERDOWN" | "UNBLOCKED" => StoreErrorKind::NotPrimary,
        "CLUSTERDOWN" => StoreErrorKind::NoLeader,
        // A server that can't write its data to disk accepts no more writes.
        "NOREPLICAS" | "MISCONF" => StoreErrorKind::NotDurable,
        "OOM" => {
            let text = sanitized(text, TEXT_MOST);
            let detail = format!(
                "{code} {text}; no lease is granted until there is memory (raise maxmemory, or remove \
                 keys); leaders can still renew"
            );
            return StoreError::new(StoreErrorKind::Full, detail);
        }
        "MOVED" | "ASK" => {
            let text = sanitized(text, TEXT_MOST);
            let detail = format!("{code} {text}; a node of a cluster needs redis+cluster://");
            return StoreError::new(StoreErrorKind::Refused, detail);
        }
        // An error that `redis.call` raises inside a script has its code in the text.
        _ if text.contains("WRONGTYPE") => StoreErrorKind::BadRecord,
        _ if text.contains("NOPERM") => StoreErrorKind::Authentication,
        _ if text.contains("READONLY") || text.contains("read only replica") => {
            StoreErrorKind::NotPrimary
        }
        _ => StoreErrorKind::Refused,
    };
    match text {
        "" => StoreError::new(kind, code),
        _ => StoreError::showing(kind, format_args!("{code} {text}")),
    }
}

/// The most bytes that are kept of a server's text in front of our own.
const TEXT_MOST: usize = 200;

fn refused(why: &[u8], detail: &[Field<'_>]) -> StoreError {
    let (kind, setting) = match why {
        b"role" => (StoreErrorKind::NotPrimary, "its role is "),
        b"eviction" => (StoreErrorKind::Evicting, "its maxmemory-policy is "),
        b"error" => {
            let [Field::Text(text), ..] = detail else { return unexpected(detail) };
            let text = String::from_utf8_lossy(text);
            let (code, text) = text.split_once(' ').unwrap_or((&text, ""));
            return server_error(code, text);
        }
        b"record" => (StoreErrorKind::BadRecord, "its fields do not hold what they should"),
        b"withheld" => return withheld(detail),
        _ => (StoreErrorKind::Refused, ""),
    };
    let value = match detail {
        [Field::Text(value), ..] => String::from_utf8_lossy(value),
        _ => "".into(),
    };
    StoreError::showing(kind, format_args!("{setting}{value}"))
}

fn unexpected(fields: &[Field<'_>]) -> StoreError {
    StoreError::showing(
        StoreErrorKind::UnexpectedReply,
        sanitized(format_args!("{fields:?}"), TEXT_MOST),
    )
}

/// A server that does not report what a grant depends on, as some that only resemble Redis.
fn withheld(detail: &[Field<'_>]) -> StoreError {
    let [Field::Text(field), Field::Text(value), Field::Text(version)] = detail else {
        return unexpected(detail);
    };
    let [field, value, version] = [field, value, version].map(|text| String::from_utf8_lossy(text));
    let detail = format_args!(
        "INFO has {field}:{value:?} ({version}); use Redis 7 or Valkey, and no proxy that hides it"
    );
    StoreError::showing(StoreErrorKind::Withheld, detail)
}

/// The error of an answer of the right form with a value that no candidate has written.
fn damaged(detail: impl Display) -> StoreError {
    StoreError::showing(StoreErrorKind::BadRecord, detail)
}

/// Checks a length: no candidate has written a longer name or longer metadata.
fn fits<'a>(what: &str, text: &'a [u8], most: usize) -> Result<&'a [u8], StoreError> {
    if text.len() <= most {
        return Ok(text);
    }
    let length = text.len();
    Err(damaged(format_args!("the incumbent's {what} has {length} bytes; it may have {most}")))
}

fn holder_of(text: &[u8]) -> Result<HolderId, StoreError> {
    let bits = std::str::from_utf8(text).ok().and_then(|text| u128::from_str_radix(text, 16).ok());
    let shown = || sanitized(String::from_utf8_lossy(text), TEXT_MOST);
    bits.map(HolderId::from_bits)
        .ok_or_else(|| damaged(format_args!("its holder is {:?}, and no identity", shown())))
}

fn exact(number: i64) -> Result<u64, StoreError> {
    let exact = u64::try_from(number).ok().filter(|number| *number < EXACT);
    exact.ok_or_else(|| damaged(format_args!("a number of it is {number}, outside 0 to 2^53")))
}

fn token_of(number: i64) -> Result<Token, StoreError> {
    Token::new(exact(number)?).ok_or_else(|| damaged("its token is 0"))
}

fn duration(micros: i64) -> Result<Duration, StoreError> {
    exact(micros).map(Duration::from_micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> Field<'static> {
        Field::Text(text.as_bytes())
    }

    #[test]
    fn reads_what_the_scripts_return() {
        let token = Token::new(7).unwrap();
        assert_eq!(
            decode(&[text("granted"), Field::Number(7), Field::Number(1_500)]).unwrap(),
            Reply::Granted { token, wait: Duration::from_micros(1_500) }
        );
        assert_eq!(
            decode(&[text("superseded"), Field::Number(0)]).unwrap(),
            Reply::Superseded { last: None }
        );
        let held = [
            text("held"),
            Field::Number(7),
            Field::Number(9),
            text("00ff"),
            text("worker"),
            text(""),
            Field::Number(15_000_000),
        ];
        let Reply::Held(incumbent) = decode(&held).unwrap() else { panic!("held") };
        assert_eq!((incumbent.token, incumbent.name.as_str()), (token, "worker"));
        assert_eq!(incumbent.ttl, Duration::from_secs(15));
        for (declared, quarantine) in [(0, None), (2_000_000, Some(Duration::from_secs(2)))] {
            assert_eq!(
                decode(&[text("contradicted"), Field::Number(9), Field::Number(declared)]).unwrap(),
                Reply::Refused { ttl: Duration::from_micros(9), quarantine }
            );
        }
    }

    #[test]
    fn anything_else_is_unknown() {
        for fields in [
            &[][..],
            &[text("granted")],
            &[text("granted"), text("7"), Field::Number(0)],
            &[text("renewed"), Field::Number(1)],
            &[Field::Number(1)],
            &[Field::Other],
            &[text("hello")],
        ] {
            let error = decode(fields).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{fields:?}");
        }
    }

    #[test]
    fn impossible_values_are_a_damaged_record() {
        fn held<'a>(holder: &'a str, name: &'a str) -> [Field<'a>; 7] {
            let [holder, name] = [holder, name].map(|text| Field::Text(text.as_bytes()));
            let (a, b) = (Field::Number(7), Field::Number(9));
            [Field::Text(b"held"), a, b, holder, name, Field::Text(b""), b]
        }
        let long = "x".repeat(Profile::NAME_MOST + 1);
        for fields in [
            &[text("granted"), Field::Number(0), Field::Number(0)][..],
            &[text("granted"), Field::Number(-7), Field::Number(0)],
            &[text("granted"), Field::Number(7), Field::Number(-1)],
            &[text("granted"), Field::Number(1 << 53), Field::Number(0)],
            &[text("stale"), Field::Number(0)],
            &[text("superseded"), Field::Number(i64::MIN)],
            &held("worker", "w"),
            &held("00ff", &long),
        ] {
            let error = decode(fields).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{fields:?}");
        }
    }

    #[test]
    fn an_answer_to_another_request_is_unknown() {
        let (holder, token) = (HolderId::from_bits(1), Token::FIRST);
        let release = Request::Release { holder, token };
        assert_eq!(read(&release, [text("released")]).unwrap(), Reply::Released);
        for fields in
            [&[text("renewed")][..], &[text("vacant")], &[text("stale"), Field::Number(7)]]
        {
            let error = read(&release, fields.iter().copied()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{fields:?}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let error = decode(&[text("refused"), text("eviction"), text("allkeys-lru")]).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Evicting);
        assert!(error.to_string().contains("its maxmemory-policy is allkeys-lru"), "{error}");
        let withheld = ["refused", "withheld", "run_id", "", "other_version:1.2"].map(text);
        let error = decode(&withheld).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Withheld);
        assert!(error.to_string().contains("INFO has run_id:\"\" (other_version:1.2)"), "{error}");
        let error = server_error("NOAUTH", "Authentication required.");
        assert_eq!(error.kind(), StoreErrorKind::Authentication);
        let error = server_error("MOVED", "3999 127.0.0.1:6381");
        assert!(
            error
                .to_string()
                .ends_with("127.0.0.1:6381; a node of a cluster needs redis+cluster://")
        );
    }
}
