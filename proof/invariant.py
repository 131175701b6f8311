"""What is true of every state of the model, and so, that no two candidates lead."""

from z3 import And, ForAll, Implies, Int, Not, Or

from state import A, D, Q, a, b, c, clock_ok, d, e, k, l, n, n2, o, r, s, u, w


def invariants(z):
    """By name. Each is shown to hold at the beginning, and after each step if all hold before it."""
    k2 = Int("k2")

    def current(c, n):
        return And(z.exists, z.owner == c, Not(z.released), n <= z.mark)

    def earlier(c, n):
        """From before the last loss."""
        return Or(And(z.at(c, n) <= z.served + D, A(c) <= z.before),
                  And(z.at(c, n) <= z.silent, A(c) <= z.before_silent))  # fmt: skip

    def claimed(c, n):
        return And(z.running(c, n), z.has(c), n == z.by(c))

    def claimable(c, n, k):
        return And(z.running(c, n), z.granted(c, n, k), Implies(z.has(c), z.running(c, z.by(c))))

    last, settled = z.last_known(), z.settled_server()
    return {
        # Requests and their numbers
        "sent": ForAll([c, n], Implies(n <= z.number(c), z.at(c, n) <= z.T)),
        "order": ForAll([c, n, n2], Implies(And(n <= n2, n2 <= z.number(c)), z.at(c, n) <= z.at(c, n2))),
        "numbers": And(
            ForAll([c, n, s], Implies(z.acquire(c, n, s), n <= z.number(c))),
            ForAll([c, n, k], Implies(z.renew(c, n, k), And(n <= z.number(c), z.has(c)))),
            ForAll([c, n, k], Implies(z.granted(c, n, k), And(n <= z.number(c), A(c) <= z.claims))),
            ForAll([c], Implies(z.has(c), And(z.by(c) <= z.number(c), A(c) <= z.claims))),
        ),
        # Marks
        "mark": Implies(z.exists, And(z.mark <= z.number(z.owner), A(z.owner) <= z.claims)),
        "released": Implies(And(z.exists, z.released), z.drained(z.owner)),
        "release": ForAll([c, k], Implies(z.release(c, k), z.drained(c))),
        "told": ForAll([c, n, d, w, r], Implies(z.told(c, n, d, w, r), And(
            n <= z.number(c), w <= z.number(d), z.at(d, w) <= z.T, Implies(r, z.drained(d))))),
        "sees": ForAll([c, d, w, r, o], Implies(z.sees(c, d, w, r, o), And(
            w <= z.number(d), z.at(d, w) <= o, o <= z.T, o >= z.jumped(c), Implies(r, z.drained(d))))),
        "watches": ForAll([c, n, d, w, r, o], Implies(z.watches(c, n, d, w, r, o), And(
            n <= z.number(c), w <= z.number(d), Or(z.drained(d), And(z.at(d, w) <= o, z.at(c, n) >= o + A(d)))))),
        # The past
        "times": And(z.stamped <= z.T, z.served <= z.T, z.silent <= z.T, z.stamp <= z.stamps, z.watched >= 0,
                     z.longest >= 0, z.claims >= 0, z.before <= z.claims, z.before_silent <= z.claims,
                     ForAll([c], z.jumped(c) <= z.T)),
        "stamped": Implies(settled, And(z.stamped >= z.served, z.T >= z.stamped + z.watched)),
        "told stamp": ForAll([c, n, e], Implies(z.told_stamp(c, n, e), And(n <= z.number(c), e <= z.stamps))),
        "sees stamp": ForAll([c, e, o], Implies(z.sees_stamp(c, e, o), And(
            o <= z.T, o >= z.jumped(c), e <= z.stamps, Implies(And(settled, e == z.stamp), o >= z.stamped)))),
        "knows": ForAll([c, n, e, o, u], Implies(z.knows(c, n, e, o, u), And(
            n <= z.number(c), z.at(c, n) >= o + u, u >= 0, e <= z.stamps,
            Implies(And(settled, e == z.stamp), o >= z.stamped)))),
        "remembered": ForAll([c], Or(Q(c) >= z.claims + D, z.claims == 0,
                                     And(D == 0, z.has_past, z.longest >= z.claims))),
        "covered": And(ForAll([c], Or(Q(c) >= z.before + D, And(D == 0, z.has_past, z.longest >= z.before))),
                       ForAll([c], Q(c) >= z.before_silent)),
        # Losses that tokens prove
        "told last": ForAll([c, n, k], Implies(z.told_last(c, n, k), And(n <= z.number(c), Implies(
            And(z.open(c), n == z.number(c), z.seen(c) > k), z.proved(c, k))))),
        "proved": ForAll([c, l], Implies(z.proved(c, l), z.proved_at(c, l) <= z.T)),
        "proved since": Or(Not(settled), z.stamped >= z.silent, ForAll([c], Implies(
            z.proved(c, last), z.proved_at(c, last) >= z.silent))),
        "lost": ForAll([c], Implies(z.knows_lost(c), And(
            z.proved(c, z.lost(c)), z.lost_at(c) >= z.proved_at(c, z.lost(c)), z.lost_at(c) <= z.T,
            z.lost_at(c) >= z.jumped(c)))),
        "loses": ForAll([c, n, l], Implies(z.loses(c, n, l), And(
            n <= z.number(c), z.proved(c, l), z.at(c, n) >= z.proved_at(c, l) + Q(c)))),
        # Claims
        "claims": ForAll([c, n], Implies(claimed(c, n), Or(current(c, n), earlier(c, n)))),
        "answers": ForAll([c, n, k], Implies(claimable(c, n, k), Or(current(c, n), earlier(c, n)))),
        "one claim": ForAll([c, d, n, n2], Implies(And(claimed(c, n), claimed(d, n2)), c == d)),
        "one claim or answer": ForAll([c, d, n, n2, k], Implies(And(claimed(c, n), claimable(d, n2, k)), c == d)),
        "one answer": ForAll([c, d, n, n2, k, k2], Implies(And(claimable(c, n, k), claimable(d, n2, k2)), c == d)),
        "tokens": Implies(And(clock_ok, z.fresh), last >= z.highest),
    }  # fmt: skip


def single_leader(z):
    return ForAll([c, d], Implies(And(z.leads(c), z.leads(d)), c == d))


def beginning():
    """Nobody has asked for anything. Clocks, and what other keys have left in the past, are arbitrary."""
    empty = {a.acquire: [c, n, s], a.watches: [c, n, d, w, r, o], a.knows: [c, n, e, o, u], a.loses: [c, n, l],
             a.renew: [c, n, k], a.release: [c, k], a.granted: [c, n, k], a.told: [c, n, d, w, r],
             a.told_stamp: [c, n, e], a.told_last: [c, n, k], a.sees: [c, d, w, r, o], a.sees_stamp: [c, e, o],
             a.has: [c], a.knows_lost: [c], a.proved: [c, l]}  # fmt: skip
    sent = And(ForAll([c, n], Implies(n <= a.number(c), a.at(c, n) <= a.T)),
               ForAll([c, n, n2], Implies(And(n <= n2, n2 <= a.number(c)), a.at(c, n) <= a.at(c, n2))))  # fmt: skip
    return [ForAll(arguments, Not(relation(*arguments))) for relation, arguments in empty.items()] + [
        sent, ForAll([c], a.jumped(c) <= a.T), Not(a.exists), a.T >= 0, Not(a.has_past), a.watched == 0, a.longest == 0,
        a.stamp <= a.stamps, a.served == a.T, a.stamped == a.T, a.silent == a.T, a.before == -D, a.before_silent == 0,
        a.claims == 0, a.fresh, a.highest == 0,
    ]  # fmt: skip


def rising():
    """G3, of one step: a grant has a token above every other that was ever granted."""
    new = And(b.exists, Or(Not(a.exists), b.last != a.last), b.fresh)
    return Implies(And(clock_ok, new), b.last > a.highest)
