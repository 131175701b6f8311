//! Reads the replies of the scripts. Both clients use this module, so that they can't differ.

use std::fmt::Display;
use std::time::Duration;

use bytes::Bytes;
use tenure_core::contract::Record;
use tenure_core::{Asked, NameId, RequestId, Reservation, Sight, Stamp, UnwatchedPast, Wish};

use crate::store::error::sanitized;
use crate::store::{Key, Profile, Reply, Request, Shown, StoreError, StoreErrorKind};
use crate::{HolderId, Instant, Token};

/// One element of a script's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Text(&'a [u8]),
    Number(i64),
    /// Anything that no script returns.
    Other,
}

/// The largest integer that Lua's numbers hold exactly.
pub(super) const EXACT: u64 = 1 << 53;

/// The most fields that a script returns.
const MOST: usize = 19;

/// A reply of the server, as a client holds it.
pub(super) trait ReplyValue: Sized {
    /// The elements of an array.
    fn elements(&self) -> Option<&[Self]>;

    /// The element of a script's answer.
    fn field(&self) -> Field<'_>;
}

/// The reply to each request of one call. Scripts for more than one request answer with an array of answers, or with
/// one refusal of all.
pub(super) fn read_all<V: ReplyValue>(
    requests: &[(Key, Request)],
    value: &V,
) -> Vec<Result<Reply, StoreError>> {
    let all = value.elements().unwrap_or_default();
    let each = requests.iter().enumerate();
    each.map(|(place, (_, request))| {
        let answer = match request {
            _ if matches!(all.first().map(V::field), Some(Field::Text(_))) => Some(value),
            Request::Acquire { .. }
            | Request::Look { .. }
            | Request::Ask { .. }
            | Request::Observe
            | Request::Renew { .. } => all.get(place).filter(|_| all.len() == requests.len()),
            Request::Release { .. }
            | Request::Want { .. }
            | Request::Describe { .. }
            | Request::Notify { .. } => Some(value),
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
        (b"granted", &[Number(token)]) => Reply::Granted { token: token_of(token)? },
        (b"not", rest) => Reply::Not(shown(rest)?),
        (b"at", rest) => Reply::At(shown(rest)?),
        (b"renewed", []) => Reply::Renewed { asked: None, wanted: None, past: None },
        (b"renewed", &[Text(asked), Text(defer), Text(wanted), Text(stamp), Number(longest)]) => {
            Reply::Renewed {
                asked: asked_of(asked, defer)?,
                wanted: wish_of(wanted)?,
                past: past_of(stamp, longest)?,
            }
        }
        (b"superseded", &[Number(last)]) => Reply::Superseded { last: Token::new(exact(last)?) },
        (b"released", []) => Reply::Released,
        (b"not_held", []) => Reply::NotHeld,
        (b"described", []) => Reply::Described,
        (b"noted", []) => Reply::Noted,
        (b"not_noted", []) => Reply::NotNoted,
        (b"vacant", []) => Reply::Vacant,
        (b"notified", &[Number(to)]) => Reply::Notified { token: token_of(to)? },
        (b"refused", [Text(why), detail @ ..]) => return Err(refused(why, detail)),
        _ => return Err(unexpected(fields)),
    })
}

/// What waiting candidates are told: of the record, what the scripts read of it, in their order.
fn shown(fields: &[Field<'_>]) -> Result<Shown, StoreError> {
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
        b"older" => {
            let key = match detail {
                [Field::Text(key)] => String::from_utf8_lossy(key),
                _ => "".into(),
            };
            let detail = format_args!(
                "it is of an earlier version of tenure: stop all candidates of that version, and remove it by DEL {key}"
            );
            return StoreError::showing(StoreErrorKind::BadRecord, detail);
        }
        b"record" => return damaged("its fields do not hold what they should"),
        b"token" => return damaged("a candidate knows a token of 2^53 or more"),
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

fn past_of(stamp: &[u8], longest: i64) -> Result<Option<UnwatchedPast>, StoreError> {
    Ok(match stamp {
        b"" => None,
        stamp => Some(UnwatchedPast {
            stamp: Stamp::from_bits(bits(stamp)?),
            longest: Duration::from_micros(exact(longest)?),
        }),
    })
}

fn asked_of(name: &[u8], defer: &[u8]) -> Result<Option<Asked>, StoreError> {
    Ok(match name {
        b"" => None,
        name => Some(Asked { name: name_of(name)?, defer: duration(defer)? }),
    })
}

fn wish_of(text: &[u8]) -> Result<Option<Wish>, StoreError> {
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

fn exact(number: i64) -> Result<u64, StoreError> {
    let exact = u64::try_from(number).ok().filter(|number| *number < EXACT);
    exact.ok_or_else(|| damaged(format_args!("a number of it is {number}, outside 0 to 2^53")))
}

fn token_of(number: i64) -> Result<Token, StoreError> {
    Token::new(exact(number)?).ok_or_else(|| damaged("its token is 0"))
}

fn duration(text: &[u8]) -> Result<Duration, StoreError> {
    whole(text).map(Duration::from_micros)
}

fn instant(micros: u64) -> Instant {
    Instant::ORIGIN + Duration::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &'static str) -> Field<'static> {
        Field::Text(text.as_bytes())
    }

    const ID: &str = "000000000000000000000000000000ff";

    /// What a script shows of an election with that holder and name.
    fn at(holder: &'static str, name: &'static str) -> Vec<Field<'static>> {
        let numbers = [Field::Number(7), Field::Number(9), text(ID), Field::Number(1_500)];
        let record = ["7", holder, "3", "1", "15", "16", "", "0", "any", ID, "5", "8"].map(text);
        let people = [text(name), text("meta")];
        [&[text("at")][..], &numbers, &people, &record].concat()
    }

    #[test]
    fn reads_what_the_scripts_return() {
        let token = Token::new(7).unwrap();
        let granted = decode(&[text("granted"), Field::Number(7)]).unwrap();
        assert_eq!(granted, Reply::Granted { token });
        let superseded = decode(&[text("superseded"), Field::Number(0)]).unwrap();
        assert_eq!(superseded, Reply::Superseded { last: None });
        let renewed = [text("renewed"), text(ID), text("4"), text(""), text(""), Field::Number(0)];
        let asked = Asked { name: NameId::from_bits(255), defer: Duration::from_micros(4) };
        let renewed = decode(&renewed).unwrap();
        assert_eq!(renewed, Reply::Renewed { asked: Some(asked), wanted: None, past: None });

        let Reply::At(Shown { sight, profile }) = decode(&at(ID, "worker")).unwrap() else {
            panic!("an election is shown")
        };
        let past = sight.past.unwrap();
        assert_eq!((past.stamp, past.longest.as_micros()), (Stamp::from_bits(255), 1_500));
        assert_eq!((sight.last, sight.now), (Some(token), instant(9)));
        let record = sight.record.unwrap();
        let reserve = Duration::from_micros(5);
        let kept = Reservation { name: NameId::from_bits(255), reserve };
        assert_eq!((record.released, record.reservation), (true, Some(kept)));
        assert_eq!((record.wanted, record.asked), (Some(Wish::Anybody), None));
        assert_eq!(profile.unwrap().name(), "worker");

        let vacant = [text("at"), Field::Number(0), Field::Number(9), text(""), Field::Number(0)];
        let Reply::At(Shown { sight, profile: None }) = decode(&vacant).unwrap() else {
            panic!("nobody is shown")
        };
        assert_eq!((sight.last, sight.record, sight.past), (None, None, None));
    }

    #[test]
    fn names_that_no_candidate_wrote_are_not_shown() {
        let Reply::At(Shown { sight, profile: None }) = decode(&at(ID, "")).unwrap() else {
            panic!("no name")
        };
        assert!(sight.record.is_some());
    }

    #[test]
    fn anything_else_is_unknown() {
        let mut longer = at(ID, "worker");
        longer.push(text(""));
        for fields in [
            &[][..],
            &[text("granted")],
            &[text("granted"), text("7")],
            &[text("renewed"), Field::Number(1)],
            &[Field::Number(1)],
            &[Field::Other],
            &[text("hello")],
            &longer,
        ] {
            let error = decode(fields).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{fields:?}");
        }
    }

    #[test]
    fn impossible_values_are_a_damaged_record() {
        let mut lacking = at(ID, "worker");
        lacking[8] = Field::Other;
        for fields in [
            &[text("granted"), Field::Number(0)][..],
            &[text("granted"), Field::Number(-7)],
            &[text("granted"), Field::Number(1 << 53)],
            &[text("superseded"), Field::Number(i64::MIN)],
            &at("worker", "w"),
            &lacking,
        ] {
            let error = decode(fields).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::BadRecord, "{fields:?}");
        }
    }

    #[test]
    fn an_answer_to_another_request_is_unknown() {
        let (holder, token) = (HolderId::from_bits(1), Token::FIRST);
        let release = Request::Release { holder, token, reservation: None };
        assert_eq!(read(&release, [text("released")]).unwrap(), Reply::Released);
        for fields in [&[text("noted")][..], &[text("vacant")], &at(ID, "worker")] {
            let error = read(&release, fields.iter().copied()).unwrap_err();
            assert_eq!(error.kind(), StoreErrorKind::UnexpectedReply, "{fields:?}");
        }
    }

    #[test]
    fn refusals_say_what_to_do() {
        let error = decode(&[text("refused"), text("eviction"), text("allkeys-lru")]).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Evicting);
        assert!(error.to_string().contains("its maxmemory-policy is allkeys-lru"), "{error}");
        let error = decode(&["refused", "older", "{app}:leader:a"].map(text)).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::BadRecord);
        assert!(error.to_string().ends_with("remove it by DEL {app}:leader:a"), "{error}");
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
