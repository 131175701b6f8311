"""The model of the induction: any number of candidates, requests, repetitions and losses, one key under a shared past.

What it lets candidates do is no less than what candidate.py lets them: the lemmas on watches and losses say so.

True time only. Rates of clocks enter by the lemmas of drift.py, in these units: a TTL, a quarantine and a time watched
are divided by 1 + rho. So a claim by request n of candidate c, and work that drains after it, is over A(c) after the
request was sent, and a candidate that has watched for u has begun at least u before.

Messages are relations that only grow: what was sent may be carried out or delivered at any later time, any number of
times, or never. A server that replaces another may have any record that was ever written.
"""

import z3
from z3 import And, ForAll, If, Implies, Not, Or

import candidate
from logic import Row
from rule import LARGEST_WALL, Rule
from state import (A, D, NAME, Q, SHAPES, State, a, added, b, c, c0, changed, clock_ok, d0, e0, first0, k0,
                   knows0, l, l0, loses0, n, n0, o0, o1, r0, s0, same, told0, u0, unchanged, w0, wall0,
                   watches0)  # fmt: skip

STORE = ("exists", "last", "mark", "owner", "released", "reserved", "reserved_for", "wanted", "has_past", "about",
         "stamp", "watched", "longest", "purged", "stamps", "stamped")  # fmt: skip


class Model:
    """The steps, each with its name and its facts about the states `a` and `b` before and after it."""

    def __init__(self, planted=""):
        self.planted = planted
        self.rule = Rule(planted)

    def planted_is(self, *names):
        return z3.BoolVal(self.planted in names)

    # The store

    def request(self):
        return Row(first=first0, trusts=False, forever=0, holder=c0, number=n0, name=NAME(c0), token=k0, seen=s0,
                   watches=watches0, mark_holder=d0, mark_number=w0, knows=knows0, stamp=e0, watched=u0, loses=loses0,
                   lost=l0, ttl=A(c0), quarantine=Q(c0), reserves=z3.Bool("reserves0"), to=z3.Int("to0"), reserve=0,
                   defer=0, wanted=0)  # fmt: skip

    def honest(self):
        """What the request c0, n0 says was sent so."""
        return [Implies(watches0, a.watches(c0, n0, d0, w0, r0, o0)), Implies(knows0, a.knows(c0, n0, e0, o1, u0)),
                Implies(loses0, a.loses(c0, n0, l0))]  # fmt: skip

    def server(self):
        stamp = z3.Int("stamp0") if self.planted == "stamp-repeats" else a.stamps + 1
        return Row(identity=a.server, fresh=stamp, wall=wall0)

    def past_becomes(self, past):
        stamp = self.server().fresh
        fresh = And(past.stamp == stamp, Or(a.stamp != stamp, self.planted_is("stamp-repeats")))
        return [b.has_past == past.exists, b.about == past.identity, b.stamp == past.stamp, b.watched == past.watched,
                b.longest == past.longest, b.purged == past.purged, b.stamps == a.stamps + 1,
                stamp <= a.stamps + 1, b.stamped == If(fresh, a.T, a.stamped)]  # fmt: skip

    def carried_out(self, after, past, *more):
        """The store after a request, and what was assumed of a loss that only tokens prove (see README.md)."""
        record = [b.exists == after.exists, b.last == after.token, b.owner == after.holder, b.mark == after.number,
                  b.released == after.released, b.reserved == after.reserved, b.reserved_for == after.reserved_for,
                  b.wanted == after.wanted]  # fmt: skip
        once = Implies(And(a.stamped < a.silent, b.last_known() != a.last_known()),
                       ForAll([c], Not(a.proved(c, b.last_known()))))  # fmt: skip
        return record + self.past_becomes(past) + [once] + same(*STORE, *more)

    def tells(self, record, reply):
        """The answer to a request that was not granted: the record, the stamp, and whether they prove a loss."""
        last = b.last_known()
        news = And(a.seen(c0) > last, Not(a.proved(c0, last)))
        return [added("told", c0, n0, record.holder, record.number, record.released, when=record.exists),
                added("told_stamp", c0, n0, b.stamp, when=And(b.has_past, reply.tells)),
                added("told_last", c0, n0, last),
                added("proved", c0, last, when=a.seen(c0) > last),
                changed("proved_at", [c0, last], If(news, a.T, a.proved_at(c0, last)))]  # fmt: skip

    TELLS = ("told", "told_stamp", "told_last", "proved", "proved_at")

    def acquires(self):
        after, past, reply = self.rule.acquire(a.record(), a.past(), self.server(), self.request())
        arrives = [a.acquire(c0, n0, s0), *self.honest()]
        # Assumed of a loss that only tokens prove: whoever is granted anything soon has seen one of them.
        seen = Or(a.stamped >= a.silent, a.T >= a.silent + a.before_silent, s0 > a.last_known())
        behind = Implies(And(clock_ok, Not(a.fresh)), And(wall0 > a.highest, wall0 <= LARGEST_WALL))
        ghosts = ("granted", "highest", "fresh", "claims")
        granted = [added("granted", c0, n0, after.token), b.claims == If(a.claims >= A(c0), a.claims, A(c0))]
        new = [b.highest == If(a.highest >= after.token, a.highest, after.token), b.fresh]
        return {
            "store grants": arrives + [seen, behind, reply.new, *granted, *new]
                            + self.carried_out(after, past, *ghosts),
            "store grants again": arrives + [seen, reply.granted, Not(reply.new), *granted,
                                             *self.carried_out(after, past, "granted", "claims")],
            "store refuses": arrives + [Not(reply.granted)] + self.tells(after, reply)
                             + self.carried_out(after, past, *self.TELLS),
        }  # fmt: skip

    def other_requests(self):
        rec, past0, server, q = a.record(), a.past(), self.server(), self.request()
        after, past, reply = self.rule.renew(rec, past0, server, q)
        tells = [added("told_stamp", c0, n0, b.stamp, when=And(b.has_past, reply.tells))]
        renewed = [a.renew(c0, n0, k0), *self.honest(), reply.renewed, added("granted", c0, n0, k0), *tells]
        steps = {"store renews": renewed + self.carried_out(after, past, "granted", "told_stamp")}
        # A renewal that is refused tells only the last token; more than that does no harm.
        superseded = [a.renew(c0, n0, k0), *self.honest(), Not(reply.renewed), *self.tells(after, reply)]
        steps["store supersedes"] = superseded + self.carried_out(after, past, *self.TELLS)
        after, past, reply = self.rule.look(rec, past0, server, q)
        looked = [n0 <= a.number(c0), *self.tells(after, reply)]
        steps["store answers a look"] = looked + self.carried_out(after, past, *self.TELLS)
        if self.planted == "lost-by-stale-look":
            steps["a replica answers a look"] = [n0 <= a.number(c0), added("told_last", c0, n0, l0), *same("told_last")]
        after, past, reply = self.rule.release(rec, past0, server, q)
        steps["store releases"] = [a.release(c0, k0)] + self.carried_out(after, past)
        after, past, reply = self.rule.purge(rec, past0, server, q)
        steps["store purges"] = [a.purge(c0, n0, d0, w0), *self.honest()] + self.carried_out(after, past)
        steps["an operator wishes"] = same("wanted")
        return steps

    def another_key(self):
        """A request for another key of the prefix, whatever its record is: only the past is shared."""
        other = State("other_")
        q, server, record = self.request(), self.server(), other.record()
        steps = {}
        for name in ("acquire", "renew", "look", "purge"):
            _, past, reply = getattr(self.rule, name)(record, a.past(), server, q)
            after = a.record()
            facts = [Implies(knows0, a.knows(c0, n0, e0, o1, u0)), n0 <= a.number(c0)]
            tells = [added("told_stamp", c0, n0, b.stamp, when=And(b.has_past, told0))]
            steps[f"another key: {name}"] = facts + tells + self.carried_out(after, past, "told_stamp")
        return steps

    # Candidates

    def sends(self, *names):
        number = n0 if self.planted == "numbers-start-over" else a.number(c0) + 1
        return number, [changed("number", [c0], number), changed("at", [c0, number], a.T), changed("open", [c0], True),
                        *same("number", "at", "open", *names)]  # fmt: skip

    def candidates(self):
        number, sent = self.sends("acquire", "watches", "knows", "loses", "renew", "purge")
        marked = self.planted_is("not-watched", "watch-short")
        need = A(c0) if self.planted == "ttl-of-its-own" else A(d0)
        watched = Or(r0, marked, a.T >= o0 + need, o0 < a.jumped(c0))
        knows = Or(self.planted_is("past-not-watched"), a.T >= o1 + u0, o1 < a.jumped(c0))
        waited = Or(self.planted_is("lost-at-once"), a.T >= a.lost_at(c0) + Q(c0), a.lost_at(c0) < a.jumped(c0))
        lost = And(a.knows_lost(c0), l0 == a.lost(c0), waited)
        says = [Implies(watches0, And(a.sees(c0, d0, w0, r0, o0), watched)),
                Implies(knows0, And(a.sees_stamp(c0, e0, o1), u0 >= 0, knows)), Implies(loses0, lost),
                added("watches", c0, number, d0, w0, r0, o0, when=watches0),
                added("knows", c0, number, e0, o1, u0, when=knows0),
                added("loses", c0, number, l0, when=loses0)]  # fmt: skip

        def sending(*changes, but):
            kept = [name for name in ("acquire", "renew", "purge") if name != but]
            return [*changes, *says, *sent] + [fact for name in kept for fact in unchanged(name)]

        drained = Or(self.planted_is("release-before-drained"), a.drained(c0))
        return {
            "send acquire": sending(added("acquire", c0, number, s0), but="acquire"),
            "send renew": sending(a.has(c0), added("renew", c0, number, a.token(c0)), but="renew"),
            "send purge": sending(added("purge", c0, number, d0, w0), but="purge"),
            "send look": sent + [fact for name in ("acquire", "watches", "knows", "loses", "renew", "purge")
                                 for fact in unchanged(name)],
            "send release": [drained, added("release", c0, k0), *same("release")],
            "drained": [changed("drained", [c0], True), *same("drained")],
            "time passes": [b.T >= a.T, *same("T")],
            "suspended": self.suspended(),
            "campaign begins": self.begins(),
            "receive record": [a.told(c0, n0, d0, w0, r0),
                               added("sees", c0, d0, w0, r0, self.since("watch-from-sending")), *same("sees")],
            "receive stamp": [a.told_stamp(c0, n0, e0),
                              added("sees_stamp", c0, e0, self.since("past-from-sending")), *same("sees_stamp")],
            "receive token": self.receives_token(),
            "receive grant": self.receives_grant(),
        }  # fmt: skip

    def since(self, planted):
        return a.at(c0, n0) if self.planted == planted else a.T

    def suspended(self):
        """The clock runs too far, by any time; core's input Resumed begins every watch anew."""
        keeps, keeps_past = self.planted == "resume-keeps-marks", self.planted == "resume-keeps-past"
        marks, stamps = SHAPES["sees"][0], SHAPES["sees_stamp"][0]
        keeps, keeps_past = (Or(c != c0, z3.BoolVal(kept)) for kept in (keeps, keeps_past))
        return [changed("jumped", [c0], a.T), changed("lost_at", [c0], a.T),
                ForAll(marks, b.sees(*marks) == And(a.sees(*marks), keeps)),
                ForAll(stamps, b.sees_stamp(*stamps) == And(a.sees_stamp(*stamps), keeps_past)),
                *same("jumped", "lost_at", "sees", "sees_stamp")]  # fmt: skip

    def begins(self):
        """The next campaign c0 of a process knows what its campaign d0 knew."""
        new = [Not(a.open(c0)), ForAll([n, l], Not(a.loses(c0, n, l)))]
        plain = [
            changed(name, [c0], getattr(a, name)(d0)) for name in ("seen", "knows_lost", "lost", "lost_at", "jumped")
        ]
        known = []
        for name in ("sees", "sees_stamp", "proved", "proved_at"):
            arguments = SHAPES[name][0]
            old, now = getattr(a, name), getattr(b, name)
            known.append(ForAll(arguments, now(*arguments) == old(If(c == c0, d0, c), *arguments[1:])))
        return new + plain + known + same("seen", "knows_lost", "lost", "lost_at", "jumped", "sees", "sees_stamp",
                                          "proved", "proved_at")  # fmt: skip

    def receives_token(self):
        me = Row(seen=a.seen(c0), loses=a.knows_lost(c0), lost=a.lost(c0), lost_at=a.lost_at(c0))
        learned = candidate.learns(me, k0, a.T)
        current = Or(self.planted_is("lost-by-older-answer"), And(a.open(c0), n0 == a.number(c0)))
        return [a.told_last(c0, n0, k0), current, changed("open", [c0], False), changed("seen", [c0], learned["seen"]),
                changed("knows_lost", [c0], learned["loses"]), changed("lost", [c0], learned["lost"]),
                changed("lost_at", [c0], learned["lost_at"]),
                *same("open", "seen", "knows_lost", "lost", "lost_at")]  # fmt: skip

    def receives_grant(self):
        late = Or(self.planted_is("late-claim"), a.running(c0, a.by(c0)))
        current = And(a.open(c0), n0 == a.number(c0))
        seen = If(And(current, k0 > a.seen(c0)), k0, a.seen(c0))
        facts = [a.granted(c0, n0, k0), Not(a.drained(c0)), Or(Not(a.has(c0)), And(a.token(c0) == k0, late)),
                 changed("has", [c0], True), changed("token", [c0], k0), changed("seen", [c0], seen)]  # fmt: skip
        names = ("has", "token", "seen", "by", "open")
        if self.planted == "claim-from-receipt":  # As if the request had left when its answer came.
            number = a.number(c0) + 1
            late_at = [changed("number", [c0], number), changed("at", [c0, number], a.T), changed("by", [c0], number)]
            return facts + late_at + [changed("open", [c0], False)] + same(*names, "number", "at")
        by = If(And(a.has(c0), a.by(c0) > n0), a.by(c0), n0)
        opened = And(a.open(c0), Not(current))
        return facts + [changed("by", [c0], by), changed("open", [c0], opened)] + same(*names)

    # Losses

    def losses(self):
        kept = ("exists", "last", "mark", "owner", "released", "reserved", "reserved_for", "wanted")
        written = [Implies(b.exists, And(b.mark <= a.number(b.owner), A(b.owner) <= a.claims)),
                   Implies(And(b.exists, b.released), a.drained(b.owner)), Not(b.fresh)]  # fmt: skip
        # A quarantine covers what was granted; or the past has survived, which remembers it, and D is 0.
        survives = And(D == 0, a.has_past, b.has_past, b.longest >= a.longest)
        covers = ForAll([c], Or(self.planted_is("quarantine-below-ttl"), Q(c) >= a.claims + D, survives))
        visible = [Or(Not(b.has_past), b.about != b.server), b.stamp <= a.stamps, b.watched >= 0, b.longest >= 0,
                   covers, b.served == a.T, b.before == a.claims]  # fmt: skip
        past = ("has_past", "about", "stamp", "watched", "longest", "purged")
        proved = [b.silent == a.T, b.before_silent == a.claims, ForAll([c], Q(c) >= a.claims),
                  ForAll([c], Not(a.proved(c, b.last_known()))), clock_ok]  # fmt: skip
        old = [a.renew(c0, n0, k0), a.T <= a.served + D, A(c0) <= a.before, added("granted", c0, n0, k0)]
        return {
            "another server": written + visible + same(*kept, *past, "server", "served", "before", "fresh"),
            "a loss that tokens prove": written + proved + same(*kept, "silent", "before_silent", "fresh"),
            "the old server renews": old + same("granted"),
            "the old server tells": [n0 <= a.number(c0), w0 <= a.number(d0), Implies(r0, a.drained(d0)),
                                     e0 <= a.stamps, added("told", c0, n0, d0, w0, r0),
                                     added("told_stamp", c0, n0, e0), *same("told", "told_stamp")],
        }  # fmt: skip

    def steps(self):
        return {**self.acquires(), **self.other_requests(), **self.another_key(), **self.candidates(), **self.losses()}
