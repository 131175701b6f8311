//! Reads the replies of the scripts. Both clients use this module, so that they can't differ.

use super::field::Field;
use super::refusal::{refused, unexpected};
use super::shown::{asked_of, exact, past_of, shown, token_of, wish_of};
use crate::Token;
use crate::store::{Key, Reply, Request, StoreError, StoreErrorKind};

/// The most fields that a script returns.
const MOST: usize = 19;

/// A reply of the server, as a client holds it.
pub(super) trait ReplyValue: Sized {
    /// The elements of an array.
    fn elements(&self) -> Option<&[Self]>;

    /// The element of a script's answer.
    fn field(&self) -> Field<'_>;
}

/// The reply to each request of one call. Scripts for more than one request answer with an array of
/// answers, or with one refusal of all.
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
/// An answer to another kind of request is an error: replies may be out of step with their
/// requests.
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

/// Any answer that is not exactly one of these is an error, and so *unknown*. An answer of the
/// right form that has an impossible value is in step with its request: a damaged record is that
/// election's trouble alone.
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
        (b"superseded", &[Number(last)]) => {
            Reply::Superseded { last: Token::new(exact("token", last)?) }
        }
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

/// The result of a request that a call has no answer to.
pub(super) fn missing() -> Result<Reply, StoreError> {
    Err(StoreError::new(StoreErrorKind::UnexpectedReply, "no answer"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tenure_core::{Asked, HolderId, NameId, Reservation, Stamp, Wish};

    use super::super::shown::instant;
    use super::*;
    use crate::store::Shown;

    fn text(text: &'static str) -> Field<'static> {
        Field::Text(text.as_bytes())
    }

    const ID: &str = "000000000000000000000000000000ff";

    /// A script's answer for an election with that holder and name.
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
}
