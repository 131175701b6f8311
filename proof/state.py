"""The state of the model: what is stored, sent, answered, and known to candidates, before and after a step."""

import z3
from z3 import And, BoolSort, Const, Consts, DeclareSort, ForAll, Function, If, Ints, IntSort, Not, Or, Real, Reals
from z3 import RealSort

from logic import Row

Candidates = DeclareSort("Candidate")
c, d = Consts("c d", Candidates)
k, l, n, n2, w, s, e = Ints("k l n n2 w s e")  # token, lost token, numbers, mark's number, seen, stamp
o, u = Reals("o u")  # since when, and for how long, something was watched
r = z3.Bool("r")  # the mark was seen given back

A = Function("claim", Candidates, RealSort())
Q = Function("quarantine", Candidates, RealSort())
NAME = Function("name", Candidates, IntSort())
D = Real("D")
# No quarantine is shorter than another's TTL and D. If D is 0, a past that survives may remember the TTL instead.
ASSUMED = [D >= 0, ForAll([c], And(A(c) > 0, Q(c) > 0)), Or(D == 0, ForAll([c, d], Q(c) >= A(d) + D))]

I, R, B = IntSort(), RealSort(), BoolSort()
SHAPES = {
    # The store: record, past, server
    "exists": ([], B), "last": ([], I), "mark": ([], I), "owner": ([], Candidates), "released": ([], B),
    "reserved": ([], B), "reserved_for": ([], I), "wanted": ([], I),
    "has_past": ([], B), "about": ([], I), "stamp": ([], I), "watched": ([], R), "longest": ([], R), "purged": ([], I),
    "server": ([], I), "stamps": ([], I),
    # What was sent
    "acquire": ([c, n, s], B),
    "watches": ([c, n, d, w, r, o], B),  # that request: has watched the mark (d, w) since o
    "knows": ([c, n, e, o, u], B),       # that request: has watched the stamp e since o, for u
    "loses": ([c, n, l], B),             # that request: has watched since l was all that was left
    "renew": ([c, n, k], B), "release": ([c, k], B), "purge": ([c, n, d, w], B),
    # What was answered
    "granted": ([c, n, k], B), "told": ([c, n, d, w, r], B), "told_stamp": ([c, n, e], B), "told_last": ([c, n, k], B),
    # Candidates
    "number": ([c], I), "at": ([c, n], R), "open": ([c], B),
    "sees": ([c, d, w, r, o], B), "sees_stamp": ([c, e, o], B), "jumped": ([c], R),
    "seen": ([c], I), "lost": ([c], I), "knows_lost": ([c], B), "lost_at": ([c], R),
    "has": ([c], B), "token": ([c], I), "by": ([c], I), "drained": ([c], B),
    # For the proof alone: true time; when the server, the stamp and a loss that only tokens prove began; the longest
    # claims before them; the highest token; whether one was granted since the loss; which answers prove a loss
    "T": ([], R), "served": ([], R), "stamped": ([], R), "silent": ([], R), "before": ([], R), "before_silent": ([], R),
    "claims": ([], R), "highest": ([], I), "fresh": ([], B), "proved": ([c, l], B), "proved_at": ([c, l], R),
}  # fmt: skip


class State:
    def __init__(self, prefix):
        for name, (arguments, result) in SHAPES.items():
            sorts = [argument.sort() for argument in arguments]
            value = Function(prefix + name, *sorts, result) if sorts else Const(prefix + name, result)
            setattr(self, name, value)

    def record(self):
        return Row(exists=self.exists, token=self.last, holder=self.owner, number=self.mark, released=self.released,
                   reserved=self.reserved, reserved_for=self.reserved_for, reserve=0, ttl=A(self.owner),
                   quarantine=Q(self.owner), wanted=self.wanted, asked=0, defer=0)  # fmt: skip

    def past(self):
        return Row(exists=self.has_past, identity=self.about, stamp=self.stamp, watched=self.watched,
                   longest=self.longest, purged=self.purged)  # fmt: skip

    def last_known(self):
        return If(self.exists, self.last, If(self.has_past, self.purged, 0))

    def settled_server(self):
        return And(self.has_past, self.about == self.server)

    def running(self, c, n):
        """A claim by this request, or work after it, is not over."""
        return And(Not(self.drained(c)), self.T < self.at(c, n) + A(c))

    def leads(self, c):
        return And(self.has(c), self.running(c, self.by(c)))


a, b = State("before_"), State("after_")
c0, d0 = Consts("c0 d0", Candidates)
n0, k0, l0, w0, s0, e0, wall0, floor0 = Ints("n0 k0 l0 w0 s0 e0 wall0 floor0")
o0, o1, u0 = Reals("o0 o1 u0")
r0, watches0, knows0, loses0, first0, told0 = z3.Bools("r0 watches0 knows0 loses0 first0 told0")
clock_ok = z3.Bool("clock_ok")  # G3: no granting wall clock is behind the last lost grant


def same(*but):
    facts = []
    for name, (arguments, _) in SHAPES.items():
        if name not in but:
            old, new = getattr(a, name), getattr(b, name)
            facts.append(ForAll(arguments, new(*arguments) == old(*arguments)) if arguments else new == old)
    return facts


def added(name, *values, when=True):
    arguments = SHAPES[name][0]
    this = And(when, *[argument == value for argument, value in zip(arguments, values)])
    return ForAll(arguments, getattr(b, name)(*arguments) == Or(getattr(a, name)(*arguments), this))


def changed(name, place, value):
    arguments = SHAPES[name][0]
    this = And(*[argument == at for argument, at in zip(arguments, place)])
    return ForAll(arguments, getattr(b, name)(*arguments) == If(this, value, getattr(a, name)(*arguments)))


def unchanged(name):
    arguments = SHAPES[name][0]
    return [ForAll(arguments, getattr(b, name)(*arguments) == getattr(a, name)(*arguments))]
