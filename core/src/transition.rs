//! Transitions as lines that `proof/replay` compares with the rule that was proved; with the
//! feature `serde`.

use core::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::contract::{FOREVER, Moment, Past, Record, apply};
use crate::id::{NameId, Token};
use crate::record::{Asked, Mark, Wish};
use crate::request::{Acquire, Reply, Request, Sight, UnwatchedPast, WatchedStamp};

/// One step at a store: what was kept before, what was asked, and what came of it.
/// `proof/REPLAY.md` in the repository describes what it is written as; times are nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Transition {
    /// The circumstances.
    pub at: Moment,
    /// The record and the past before.
    pub before: (Option<Record>, Option<Past>),
    /// The request.
    pub request: Request,
    /// The reply.
    pub reply: Reply,
    /// The record and the past now.
    pub after: (Option<Record>, Option<Past>),
}

impl Transition {
    /// [Carries out](apply) a request.
    pub fn apply(
        record: &mut Option<Record>,
        past: &mut Option<Past>,
        at: Moment,
        request: Request,
    ) -> Self {
        let before = (*record, *past);
        let reply = apply(record, past, at, request);
        Self { at, before, request, reply, after: (*record, *past) }
    }
}

impl Serialize for Transition {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let wall = Value::Number(self.at.now.as_nanos() / 1_000);
        let server = [("identity", Value::Bits(self.at.identity)), ("wall", wall)];
        let (before, after) = (State(self.before), State(self.after));
        let mut line = serializer.serialize_map(None)?;
        line.serialize_entry("before", &Before { server: &server, state: before })?;
        line.serialize_entry("request", &RequestFields { at: self.at, request: self.request })?;
        line.serialize_entry("reply", &ReplyFields(self.reply))?;
        line.serialize_entry("after", &after)?;
        line.end()
    }
}

/// A value in the lines.
#[derive(Clone, Copy)]
enum Value<'a> {
    Null,
    Bool(bool),
    Number(u64),
    Bits(u128),
    Text(&'static str),
    Object(&'a [(&'static str, Self)]),
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_u64(*value),
            Self::Bits(value) => serializer.collect_str(&format_args!("{value:032x}")),
            Self::Text(value) => serializer.serialize_str(value),
            Self::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, value)))
            }
        }
    }
}

fn time<'a>(duration: Duration) -> Value<'a> {
    // The rule's largest number: it knows no unit.
    let forever = duration == FOREVER;
    Value::Number(if forever { 1 << 52 } else { crate::time::nanos(duration) })
}

fn token<'a>(token: Option<Token>) -> Value<'a> {
    Value::Number(token.map_or(0, Token::get))
}

fn name<'a>(name: NameId) -> Value<'a> {
    Value::Bits(name.to_bits())
}

fn wish<'a>(wish: Option<Wish>) -> Value<'a> {
    match wish {
        None => Value::Null,
        Some(Wish::Anybody) => Value::Text("any"),
        Some(Wish::Name(wished)) => name(wished),
    }
}

type Fields<const N: usize> = [(&'static str, Value<'static>); N];

fn mark(mark: Mark) -> Fields<2> {
    [("holder", Value::Bits(mark.holder.to_bits())), ("number", Value::Number(mark.number.get()))]
}

fn asked(asked: Asked) -> Fields<2> {
    [("name", name(asked.name)), ("defer", time(asked.defer))]
}

fn watched(watch: WatchedStamp) -> Fields<2> {
    [("stamp", Value::Bits(watch.stamp.to_bits())), ("watched", time(watch.time))]
}

/// An object, or `null`.
fn object<const N: usize>(fields: Option<&Fields<N>>) -> Value<'_> {
    fields.map_or(Value::Null, |fields| Value::Object(fields))
}

struct State((Option<Record>, Option<Past>));

impl State {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let (record, past) = self.0;
        map.serialize_entry("record", &record.map(Kept))?;
        map.serialize_entry("past", &past.map(Known))
    }
}

impl Serialize for State {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write(&mut map)?;
        map.end()
    }
}

struct Before<'a> {
    server: &'a [(&'static str, Value<'a>)],
    state: State,
}

impl Serialize for Before<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("server", &Value::Object(self.server))?;
        self.state.write(&mut map)?;
        map.end()
    }
}

struct Kept(Record);

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(kept) = self;
        let asked = kept.asked.map(asked);
        let fields = [
            ("token", token(Some(kept.token))),
            ("holder", Value::Bits(kept.holder.to_bits())),
            ("number", Value::Number(kept.number.get())),
            ("released", Value::Bool(kept.released)),
            ("reserved_for", kept.reservation.map_or(Value::Null, |kept| name(kept.name))),
            ("reserve", kept.reservation.map_or(Value::Number(0), |kept| time(kept.reserve))),
            ("ttl", time(kept.ttl)),
            ("quarantine", time(kept.quarantine)),
            ("wanted", wish(kept.wanted)),
            ("asked", object(asked.as_ref())),
        ];
        Value::Object(&fields).serialize(serializer)
    }
}

struct Known(Past);

impl Serialize for Known {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(known) = self;
        let fields = [
            ("identity", Value::Bits(known.identity)),
            ("stamp", Value::Bits(known.stamp.to_bits())),
            ("watched", time(known.watched)),
            ("longest", time(known.longest)),
            ("purged", token(known.purged)),
        ];
        Value::Object(&fields).serialize(serializer)
    }
}

struct RequestFields {
    at: Moment,
    request: Request,
}

impl Serialize for RequestFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let first = ("first", Value::Bool(self.at.first));
        let kind = |kind| ("kind", Value::Text(kind));
        match self.request {
            Request::Acquire(Acquire {
                holder,
                number,
                seen,
                lost,
                mark: told,
                stamp,
                ttl,
                quarantine,
                name: own,
            }) => {
                let (told, stamp) = (told.map(mark), stamp.map(watched));
                let fields = [
                    kind("acquire"),
                    first,
                    ("holder", Value::Bits(holder.to_bits())),
                    ("number", Value::Number(number.get())),
                    ("seen", token(seen)),
                    ("lost", lost.map_or(Value::Null, |lost| token(lost.last))),
                    ("mark", object(told.as_ref())),
                    ("stamp", object(stamp.as_ref())),
                    ("ttl", time(ttl)),
                    ("quarantine", time(quarantine)),
                    ("name", name(own)),
                    ("trust", Value::Bool(self.at.trust_empty_store)),
                ];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Look { seen, quarantine } => {
                let (seen, quarantine) = (token(seen), time(quarantine));
                let fields = [kind("look"), first, ("seen", seen), ("quarantine", quarantine)];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Renew { holder, token: of, number, stamp } => {
                let stamp = stamp.map(watched);
                let fields = [
                    kind("renew"),
                    first,
                    ("holder", Value::Bits(holder.to_bits())),
                    ("token", token(Some(of))),
                    ("number", Value::Number(number.get())),
                    ("stamp", object(stamp.as_ref())),
                ];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Release { holder, token: of, reservation } => {
                let to = reservation
                    .map(|kept| [("name", name(kept.name)), ("reserve", time(kept.reserve))]);
                let fields = [
                    kind("release"),
                    first,
                    ("holder", Value::Bits(holder.to_bits())),
                    ("token", token(Some(of))),
                    ("to", object(to.as_ref())),
                ];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Ask { token: of, asked, seen, quarantine } => {
                let fields = [
                    kind("ask"),
                    first,
                    ("token", token(Some(of))),
                    ("name", name(asked.name)),
                    ("defer", time(asked.defer)),
                    ("seen", token(seen)),
                    ("quarantine", time(quarantine)),
                ];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Want { token: of, wish: wished } => {
                let (of, wished) = (token(Some(of)), wish(wished));
                let fields = [kind("want"), first, ("token", of), ("wanted", wished)];
                Value::Object(&fields).serialize(serializer)
            }
            Request::Purge { mark: told, watched } => {
                let told = mark(told);
                let watched = ("watched", Value::Bool(watched));
                let fields = [kind("purge"), first, ("mark", Value::Object(&told)), watched];
                Value::Object(&fields).serialize(serializer)
            }
        }
    }
}

struct ReplyFields(Reply);

impl Serialize for ReplyFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kind = |kind| ("kind", Value::Text(kind));
        let stamp = |past: Option<UnwatchedPast>| {
            ("stamp", past.map_or(Value::Null, |past| Value::Bits(past.stamp.to_bits())))
        };
        match self.0 {
            Reply::Granted { token: granted } => {
                Value::Object(&[kind("granted"), ("token", token(Some(granted)))])
                    .serialize(serializer)
            }
            Reply::Not(sight) => seen(kind("not"), sight, serializer),
            Reply::At(sight) => seen(kind("at"), sight, serializer),
            Reply::Renewed { asked: asks, wanted, past } => {
                let asks = asks.map(asked);
                let (asks, wanted) = (("asked", object(asks.as_ref())), ("wanted", wish(wanted)));
                Value::Object(&[kind("renewed"), asks, wanted, stamp(past)]).serialize(serializer)
            }
            Reply::Superseded { last } => {
                Value::Object(&[kind("superseded"), ("token", token(last))]).serialize(serializer)
            }
            Reply::Released => Value::Object(&[kind("released")]).serialize(serializer),
            Reply::NotHeld => Value::Object(&[kind("not_held")]).serialize(serializer),
            Reply::Noted => Value::Object(&[kind("done")]).serialize(serializer),
            Reply::NotNoted => Value::Object(&[kind("nothing")]).serialize(serializer),
            Reply::Purged => Value::Object(&[kind("purged")]).serialize(serializer),
            Reply::Kept => Value::Object(&[kind("kept")]).serialize(serializer),
        }
    }
}

fn seen<S: Serializer>(
    kind: (&'static str, Value<'_>),
    sight: Sight,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let Sight { last, record, past, .. } = sight;
    let told = record.map(|record| mark(record.mark()));
    let kept = record.and_then(|record| record.reservation);
    let stamp = past.map_or(Value::Null, |past| Value::Bits(past.stamp.to_bits()));
    let fields = [
        kind,
        ("token", token(last)),
        ("mark", object(told.as_ref())),
        ("released", record.map_or(Value::Null, |record| Value::Bool(record.released))),
        ("reserved_for", kept.map_or(Value::Null, |kept| name(kept.name))),
        (
            "reserve",
            match record {
                None => Value::Null,
                Some(_) => kept.map_or(Value::Number(0), |kept| time(kept.reserve)),
            },
        ),
        ("stamp", stamp),
    ];
    let Some(record) = record else { return Value::Object(&fields).serialize(serializer) };
    let mut all = serializer.serialize_map(None)?;
    for (key, value) in fields {
        all.serialize_entry(key, &value)?;
    }
    let asks = record.asked.map(asked);
    for (key, value) in [
        ("ttl", time(record.ttl)),
        ("quarantine", time(record.quarantine)),
        ("wanted", wish(record.wanted)),
        ("asked", object(asks.as_ref())),
    ] {
        all.serialize_entry(key, &value)?;
    }
    all.end()
}
