"""Recorded transitions of a store, compared with the rule. REPLAY.md has the format.

What is read is a line of JSON; what is compared: the reply, the record and the past after it. A field that the format
does not know is an error, since a comparison that leaves something out would say nothing about it.
"""

import json

from logic import Row
from rule import ANYBODY, LARGEST_WALL, NOBODY, Rule

FOREVER = LARGEST_WALL  # `watched` of a past that was trusted from the beginning
NEW = "(a new stamp)"
FOR_PEOPLE = {"name", "metadata", "written"}  # of a record; no decision rests on them

RECORD = {"token", "holder", "number", "released", "reserved_for", "reserve", "ttl", "quarantine", "wanted", "asked"}
PAST = {"identity", "stamp", "watched", "longest", "purged"}
REQUESTS = {
    "acquire": {"holder", "number", "seen", "lost", "mark", "stamp", "ttl", "quarantine", "name", "trust"},
    "look": {"seen", "quarantine"},
    "renew": {"holder", "token", "number", "stamp"},
    "release": {"holder", "token", "to"},
    "ask": {"token", "name", "defer", "seen", "quarantine"},
    "want": {"token", "wanted"},
    "purge": {"mark", "watched"},
    "end": set(),
}
ALWAYS_TOLD = {"token", "mark", "released", "reserved_for", "reserve", "stamp"}
IF_TOLD = {"ttl", "quarantine", "wanted", "asked", "longest"}


class Malformed(Exception):
    """The line is not in the format."""


def fields(value, needed, what, others=frozenset()):
    if not isinstance(value, dict):
        raise Malformed(f"{what} is {value!r}, not an object")
    missing, unknown = needed - value.keys(), value.keys() - needed - others
    if missing or unknown:
        raise Malformed(f"{what}: missing {sorted(missing)}, unknown {sorted(unknown)}")
    return value


def name(value):
    return {None: NOBODY, "any": ANYBODY}.get(value, value)


def record(value):
    if value is None:
        return Row(exists=False, token=0, holder=None, number=0, released=True, reserved=False, reserved_for=NOBODY,
                   reserve=0, ttl=0, quarantine=0, wanted=NOBODY, asked=NOBODY, defer=0)  # fmt: skip
    fields(value, RECORD, "record", FOR_PEOPLE)
    asked = value["asked"] and fields(value["asked"], {"name", "defer"}, "asked")
    return Row(exists=True, token=value["token"], holder=value["holder"], number=value["number"],
               released=value["released"], reserved=value["reserved_for"] is not None,
               reserved_for=name(value["reserved_for"]), reserve=value["reserve"], ttl=value["ttl"],
               quarantine=value["quarantine"], wanted=name(value["wanted"]),
               asked=asked["name"] if asked else NOBODY, defer=asked["defer"] if asked else 0)  # fmt: skip


def past(value):
    if value is None:
        return Row(exists=False, identity=None, stamp=None, watched=0, longest=0, purged=0)
    fields(value, PAST, "past")
    return Row(exists=True, **value)


def request(value):
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind not in REQUESTS:
        raise Malformed(f"request of the unknown kind {kind!r}")
    fields(value, REQUESTS[kind] | {"kind", "first"}, kind)
    mark = value.get("mark") and fields(value["mark"], {"holder", "number"}, "mark")
    stamp = value.get("stamp") and fields(value["stamp"], {"stamp", "watched"}, "stamp")
    to = value.get("to") and fields(value["to"], {"name", "reserve"}, "to")
    plain = {key: value.get(key) for key in ("first", "holder", "number", "token", "name", "seen", "ttl", "quarantine",
                                             "defer", "lost")}  # fmt: skip
    return kind, Row(
        **plain, loses=plain["lost"] is not None,
        watches=value.get("watched", False) if kind == "purge" else bool(mark),
        mark_holder=mark["holder"] if mark else None, mark_number=mark["number"] if mark else None,
        knows=bool(stamp), stamp=stamp["stamp"] if stamp else None, watched=stamp["watched"] if stamp else 0,
        reserves=bool(to), to=to["name"] if to else NOBODY, reserve=to["reserve"] if to else 0,
        wanted=name(value.get("wanted")), trusts=value.get("trust", False), forever=FOREVER,
    )  # fmt: skip


def written_record(rec):
    """The record as a line has it."""
    if not rec.exists:
        return None
    outside = {NOBODY: None, ANYBODY: "any"}
    asked = None if rec.asked == NOBODY else {"name": rec.asked, "defer": rec.defer}
    return {"token": rec.token, "holder": rec.holder, "number": rec.number, "released": rec.released,
            "reserved_for": outside.get(rec.reserved_for, rec.reserved_for), "reserve": rec.reserve, "ttl": rec.ttl,
            "quarantine": rec.quarantine, "wanted": outside.get(rec.wanted, rec.wanted), "asked": asked}  # fmt: skip


def written_past(after):
    return {key: getattr(after, key) for key in sorted(PAST)} if after.exists else None


def written_reply(kind, before, rec, after, reply):
    """The answer as a line has it, with everything that may be told."""
    if kind == "acquire" and reply.granted:
        return {"kind": "granted", "token": rec.token}
    if kind == "release":
        return {"kind": "released" if reply.released else "not_held"}
    if kind == "want":
        return {"kind": "done" if reply.done else "nothing"}
    if kind == "purge":
        return {"kind": "purged" if reply.purged else "kept"}
    if kind == "end":
        return {"kind": "ended"}
    stamp = after.stamp if reply.tells and reply.stamped else None
    if kind == "renew":
        if not reply.renewed:
            return {"kind": "superseded", "token": reply.last}
        asked = written_record(before) or {}
        return {"kind": "renewed", "asked": asked["asked"], "wanted": asked["wanted"], "stamp": stamp}
    told = written_record(rec) or dict.fromkeys(RECORD)
    mark = {"holder": rec.holder, "number": rec.number} if rec.exists else None
    return {"kind": "not" if kind == "acquire" else "at", "token": reply.last, "mark": mark, "stamp": stamp,
            "longest": after.longest, **{key: told[key] for key in ("released", "reserved_for", "reserve", "ttl",
                                                                     "quarantine", "wanted", "asked")}}  # fmt: skip


def carried_out(rule, before, asked, fresh, wall):
    """What the rule says of a request: the record and the past after it, and the reply, as a line has them."""
    server = Row(identity=before["server"]["identity"], fresh=fresh, wall=wall)
    kind, q = request(asked)
    rec, known = record(before["record"]), past(before["past"])
    then, after, reply = getattr(rule, kind)(rec, known, server, q)
    told = written_reply(kind, rec, then, after, reply)
    return {"record": written_record(then), "past": written_past(after)}, told


def without_people(value):
    return value and {key: part for key, part in value.items() if key not in FOR_PEOPLE}


def compare(line, rule=None):
    """The differences of one line from the rule, and the stamp that was given with it, if any."""
    fields(line, {"before", "request", "reply", "after"}, "line", {"store"})
    before = fields(line["before"], {"server", "record", "past"}, "before")
    after = fields(line["after"], {"record", "past"}, "after")
    fields(before["server"], {"identity", "wall"}, "server", {"ends_leases"})
    if line["request"].get("kind") == "end" and not before["server"].get("ends_leases"):
        raise Malformed("this server ends no leases")
    record(after["record"]), past(after["past"])  # in the format?
    had, has = (state["past"]["stamp"] if state["past"] else None for state in (before, after))
    fresh = has if has not in (None, had) else NEW
    wall = before["server"]["wall"]
    if wall is None:  # Not known: then the token tells it.
        wall = after["record"]["token"] if after["record"] else 0
    rule = rule or Rule(ends_leases=before["server"].get("ends_leases", False))
    expected, reply = carried_out(rule, before, line["request"], fresh, wall)
    found = {"record": without_people(after["record"]), "past": after["past"]}
    differs = [key for key in found if not exactly(found[key], expected[key])]
    wrong = [f"{key} after: {found[key]}, by the rule {expected[key]}" for key in differs]
    told = line["reply"]
    if not isinstance(told, dict):
        raise Malformed(f"reply is {told!r}, not an object")
    needed = {"kind"} | (ALWAYS_TOLD if reply["kind"] in ("not", "at") else reply.keys())
    if needed - told.keys() or not exactly(told, {key: reply.get(key, NEW) for key in told}):
        wrong.append(f"reply: {told}, by the rule {reply}")
    return wrong, fresh if has == fresh else None


def exactly(one, other):
    """Equal, and of the same types: JSON has 1, 1.0 and true."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def replayed(lines):
    """What is wrong with these lines, as (number, what), and how many there were of each request and reply."""
    wrong, counts, given = [], {}, {}
    for number, text in enumerate(lines, 1):
        try:
            line = json.loads(text)
            found, stamp = compare(line)
            kind = f"{line['request']['kind']}: {line['reply'].get('kind')}"
        except (Malformed, ValueError, TypeError, KeyError) as error:
            wrong.append((number, f"not a transition: {error}"))
            continue
        counts[kind] = counts.get(kind, 0) + 1
        wrong += [(number, difference) for difference in found]
        if stamp is not None and given.setdefault(stamp, number) != number:
            wrong.append((number, f"the stamp {stamp} was given before, in line {given[stamp]}"))
    if not counts:
        wrong.append((0, "no transitions"))
    return wrong, counts
