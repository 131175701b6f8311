//! Reads the replies of the scripts. Both clients use this module, so that they can't differ.

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

/// Any answer that is not exactly one of these is an error, and so *unknown*.
fn decode(fields: &[Field<'_>]) -> Result<Reply, StoreError> {
    let [Field::Text(word), rest @ ..] = fields else { return Err(unexpected(fields)) };
    let reply = match (*word, rest) {
        (b"granted", [token, wait]) => both(positive(token), duration(wait))
            .map(|(token, wait)| Reply::Granted { token, wait }),
        (b"held", [token, remaining, holder, name, metadata, ttl]) => {
            fits("name", name, Profile::NAME_MOST)?;
            fits("metadata", metadata, Profile::METADATA_MOST)?;
            incumbent(token, remaining, holder, name, metadata)
                .zip(duration(ttl))
                .map(|(incumbent, ttl)| Reply::Held(incumbent.with_ttl(ttl)))
        }
        (b"contradicted", [ttl, quarantine]) => {
            both(duration(ttl), duration(quarantine)).map(|(ttl, quarantine)| Reply::Refused {
                ttl,
                // 0 stands for none.
                quarantine: Some(quarantine).filter(|quarantine| !quarantine.is_zero()),
            })
        }
        (b"stale", [last]) => positive(last).map(|last| Reply::Stale { last }),
        (b"renewed", []) => Some(Reply::Renewed),
        (b"superseded", [last]) => {
            number(last).map(|last| Reply::Superseded { last: Token::new(last) })
        }
        (b"released", []) => Some(Reply::Released),
        (b"not_held", []) => Some(Reply::NotHeld),
        (b"described", []) => Some(Reply::Described),
        (b"vacant", []) => Some(Reply::Vacant),
        (b"notified", [to]) => positive(to).map(|token| Reply::Notified { token }),
        (b"refused", [Field::Text(why), detail @ ..]) => return Err(refused(why, detail)),
        _ => None,
    };
    reply.ok_or_else(|| unexpected(fields))
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

/// Checks a length: no candidate has written a longer name or longer metadata.
fn fits(what: &str, field: &Field<'_>, most: usize) -> Result<(), StoreError> {
    match field {
        Field::Text(text) if text.len() > most => {
            let length = text.len();
            let detail = format!("the incumbent's {what} has {length} bytes; it may have {most}");
            Err(StoreError::new(StoreErrorKind::UnexpectedReply, detail))
        }
        Field::Text(_) | Field::Number(_) | Field::Other => Ok(()),
    }
}

fn incumbent(
    token: &Field<'_>,
    remaining: &Field<'_>,
    holder: &Field<'_>,
    name: &Field<'_>,
    metadata: &Field<'_>,
) -> Option<Incumbent> {
    let (Field::Text(holder), Field::Text(name), Field::Text(metadata)) = (holder, name, metadata)
    else {
        return None;
    };
    let holder = std::str::from_utf8(holder).ok()?;
    let holder = HolderId::from_bits(u128::from_str_radix(holder, 16).ok()?);
    let name = String::from_utf8_lossy(name);
    Some(Incumbent::new(
        positive(token)?,
        holder,
        name,
        Bytes::copy_from_slice(metadata),
        duration(remaining)?,
    ))
}

fn number(field: &Field<'_>) -> Option<u64> {
    match field {
        Field::Number(number) => u64::try_from(*number).ok().filter(|number| *number < EXACT),
        Field::Text(_) | Field::Other => None,
    }
}

fn positive(field: &Field<'_>) -> Option<Token> {
    number(field).and_then(Token::new)
}

fn duration(field: &Field<'_>) -> Option<Duration> {
    number(field).map(Duration::from_micros)
}

fn both<A, B>(a: Option<A>, b: Option<B>) -> Option<(A, B)> {
    a.zip(b)
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
            &[text("granted"), Field::Number(0), Field::Number(0)],
            &[text("granted"), Field::Number(-7), Field::Number(0)],
            &[text("granted"), Field::Number(7), Field::Number(-1)],
            &[text("granted"), Field::Number(1 << 53), Field::Number(0)],
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
