"""What one request can do to any record and any past, whatever has happened before: G3, G5, and the past for G6."""

from z3 import And, Bool, Const, Implies, Int, Not, Or, Real

import candidate
from logic import Row, equal
from rule import ANYBODY, LARGEST_WALL, NOBODY, Rule
from state import Candidates

KINDS = {"token": Int, "number": Int, "reserved_for": Int, "wanted": Int, "asked": Int, "defer": Int, "identity": Int,
         "stamp": Int, "purged": Int, "mark_number": Int, "name": Int, "seen": Int, "lost": Int, "to": Int,
         "fresh": Int, "wall": Int, "reserve": Real, "ttl": Real, "quarantine": Real, "watched": Real, "longest": Real,
         "since": Real, "need": Real, "purge": Real}  # fmt: skip


def any_row(prefix, names):
    def value(name):
        if name in ("holder", "mark_holder"):
            return Const(prefix + name, Candidates)
        return KINDS.get(name, Bool)(prefix + name)

    return Row(**{name: value(name) for name in names.split()})


rec = any_row("r_", "exists token holder number released reserved reserved_for reserve ttl quarantine wanted asked "
                    "defer")  # fmt: skip
past = any_row("p_", "exists identity stamp watched longest purged")
server = any_row("s_", "identity fresh wall")
q = any_row("q_", "first holder number token name seen watches mark_holder mark_number knows stamp watched loses lost "
                  "ttl quarantine reserves to reserve wanted defer")  # fmt: skip
q.trusts, q.forever = Bool("q_trusts"), Real("q_forever")

POSSIBLE = [past.watched >= 0, past.longest >= 0, past.purged >= 0, rec.token >= 0, q.seen >= 0, server.wall >= 0,
            q.quarantine > 0, q.ttl > 0, q.watched >= 0, q.name > ANYBODY, q.forever >= q.quarantine]  # fmt: skip


def only(after, *fields):
    """Nothing else of the record has changed."""
    return And(*[getattr(after, name) == value for name, value in rec.__dict__.items() if name not in fields])


def lemmas(planted=""):
    rule = Rule(planted)
    last = rule.last(rec, past)
    holder = And(rec.exists, Not(rec.released), rec.holder == q.holder)
    own, mark = And(holder, rec.token == q.token), And(rec.holder == q.mark_holder, rec.number == q.mark_number)
    named = And(rec.exists, Not(rec.released), rec.token == q.token)
    reads = {name: getattr(rule, name)(rec, past, server, q) for name in (
        "acquire", "look", "renew", "release", "ask", "want", "purge")}  # fmt: skip
    got, kept, answer = reads["acquire"]
    found = {
        "G5 a look changes no record": equal(reads["look"][0], rec),
        "G5 a renewal extends its own tenure only": And(
            only(reads["renew"][0], "number", "asked", "defer"), reads["renew"][0].number >= rec.number,
            Or(equal(reads["renew"][0], rec), own)),
        "G5 a late renewal changes nothing": Implies(
            And(q.number <= rec.number, Not(q.first)),
            And(equal(reads["renew"][0], rec), equal(reads["renew"][1], past))),
        "G5 a release ends its own tenure only": And(
            only(reads["release"][0], "released", "reserved", "reserved_for", "reserve"),
            Or(equal(reads["release"][0], rec), own)),
        "G5 a wish reaches the tenure that it names": And(
            only(reads["ask"][0], "asked", "defer"), only(reads["want"][0], "wanted"),
            Or(And(equal(reads["ask"][0], rec), equal(reads["want"][0], rec)), named)),
        "a wish does not displace the wished one": Implies(
            And(rec.asked != NOBODY, rec.asked == rec.wanted), reads["ask"][0].asked == rec.asked),
        "G5 a purge deletes the mark that it names": And(only(reads["purge"][0], "exists"), Or(
            equal(reads["purge"][0], rec), And(mark, Or(rec.released, q.watches)))),
        "a purge keeps the token": Implies(
            reads["purge"][2].purged, And(reads["purge"][1].exists, reads["purge"][1].purged >= rec.token)),
        "G5 an acquire begins a tenure or repeats its own": Or(
            equal(got, rec), And(holder, only(got, "number"), got.number >= rec.number),
            And(Not(holder), answer.new, got.holder == q.holder, got.number == q.number, Not(got.released))),
        "G3 a new tenure has a token above": Implies(
            answer.new, And(got.token > last, got.token > q.seen,
                            Implies(server.wall <= LARGEST_WALL, got.token >= server.wall))),
        # An acquire that was granted a token k has seen less than k: its duplicate finds k or more.
        "G5 a late duplicate is not granted": Implies(
            And(answer.new, q.seen < last), And(rec.exists, mark, q.watches)),
        "G6 a grant finds the past watched": Implies(
            answer.granted, And(kept.exists, kept.identity == server.identity,
                                kept.watched >= q.quarantine,
                                Implies(past.exists, kept.watched >= past.longest))),
        "G6 a loss that is news is not granted": Implies(
            And(q.seen > last, Not(And(q.loses, q.lost == last))), And(Not(answer.granted), equal(got, rec), Implies(
                And(past.exists, past.watched > 0), And(kept.watched == 0, kept.stamp == server.fresh)))),
        "G6 a new stamp has not been watched": And(*[Implies(
            And(after.stamp == server.fresh, past.stamp != server.fresh, Not(And(q.trusts, Not(past.exists)))),
            Or(after.watched == 0, And(q.knows, q.stamp == server.fresh))) for _, after, _ in reads.values()]),
        "G6 the first request of a connection stamps": And(*[Implies(
            q.first, And(after.exists, after.identity == server.identity)) for _, after, _ in reads.values()]),
        "the past forgets no TTL and no purged token": Implies(past.exists, And(
            kept.longest >= past.longest, Implies(answer.new, kept.longest >= q.ttl),
            *[And(after.longest >= past.longest, after.purged >= past.purged) for _, after, _ in reads.values()])),
        "a reserved lease is granted to its name, or by a watch": Implies(
            And(answer.new, rec.reserved, rec.exists, rec.reserved_for != q.name), And(q.watches, mark)),
        "a grant needs the mark, or a lease given back": Implies(answer.new, Or(
            Not(rec.exists), rec.released, And(mark, q.watches))),
    }  # fmt: skip
    found["G3 a holder id asks no longer than its first claim lasts"] = ages(planted)
    found["a reservation is watched from the release on"] = reserved(planted)
    found["a watch begins when its mark or stamp is first told"] = begins(planted)
    found["a loss is told once it was watched for the quarantine and the longest TTL"] = losses(planted)
    return {name: (POSSIBLE, goal) for name, goal in found.items()}


def ages(planted):
    """The age of a holder id counts from its first acquire, whatever was answered."""
    me, now, validity = Row(id=Int("m_id"), asked=Bool("m_asked"), asked_at=Real("m_asked_at")), Real("now"), Real("V")
    after, told = Row(**candidate.asks(me, now, validity, planted)), Row(**candidate.answered(me, planted))
    kept = And(after.id == me.id, after.asked_at == me.asked_at, now < me.asked_at + validity)
    return And(after.asked, Or(after.asked_at == now, kept), told.asked == me.asked,
               Implies(And(me.asked, after.id == me.id), kept))  # fmt: skip


def reserved(planted):
    """`came`: when the told mark was given back, if it was. A watch of a mark given back begins no earlier."""
    watch = any_row("w_", "begun holder number released since need purge")
    me, now, came = any_row("m_", "name ttl quarantine"), Real("now"), Real("came")
    follows = And(watch.begun, watch.released, watch.holder == rec.holder, watch.number == rec.number)
    after = candidate.sees(watch, rec, now, me, planted)
    kept = And(rec.exists, rec.released, rec.reserved, rec.reserved_for != me.name)
    return Implies(And(kept, came <= now, Implies(follows, watch.since >= came)),
                   And(after.since >= came, after.need >= rec.reserve))  # fmt: skip


def losses(planted):
    """The induction counts on the quarantine; a past that remembers a longer TTL covers one that is too short."""
    me = Row(loses=Bool("m_loses"), lost_at=Real("m_lost_at"), quarantine=q.quarantine)
    now, longest = Real("now"), Real("L")
    watched = And(now >= me.lost_at + me.quarantine, now >= me.lost_at + longest)
    return Implies(candidate.may_tell_loss(me, now, longest, planted), And(me.loses, watched))


def begins(planted):
    """What the induction counts on: each watch has the time of an input that told this very mark or stamp."""
    mark, stamp = (
        any_row("w_", "begun holder number released since need purge"),
        any_row("v_", "begun stamp since need"),
    )
    me, now = any_row("m_", "name ttl quarantine"), Real("now")
    seen = candidate.sees(mark, rec, now, me, planted)
    told = candidate.sees_past(stamp, past, Bool("tells"), now, me)
    same = And(mark.begun, mark.holder == rec.holder, mark.number == rec.number, mark.released == rec.released)
    kept = And(same, seen.since == mark.since)
    return And(
        Implies(seen.begun, And(rec.exists, seen.holder == rec.holder, seen.number == rec.number,
                                Or(seen.since == now, kept), Implies(Not(rec.released), seen.need >= rec.ttl))),
        Implies(told.begun, And(told.stamp == past.stamp, told.need >= me.quarantine, told.need >= past.longest, Or(
            told.since == now, And(stamp.begun, stamp.stamp == past.stamp, told.since == stamp.since)))),
    )  # fmt: skip
