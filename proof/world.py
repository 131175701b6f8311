"""One election with its candidates, messages, clocks and faults, as one program for terms and plain values.

A run is a list of choices. `step` says whether a choice is allowed, and what follows. The search leaves the choices
to z3; a run that it finds is then carried out with plain values by the same program.

Each candidate here is one campaign, with one holder id after the other. Any request may be carried out late, twice or never, and any answer
delivered so. A candidate counts an answer only for the request in flight.
"""

from fractions import Fraction

import candidate
from logic import And, If, Implies, Not, Or, Row, most, pick
from rule import NOBODY, Rule

# What happens, and the choices that it depends on (besides `dt` and `dn`: how far true time and each clock run).
ACQUIRE, LOOK, RENEW, RELEASE, ASK, WANT, PURGE, STORE, DELIVER, DRAIN, LOSS, FLUSH, SILENT, SUSPEND, OLD = range(15)
NAMES = {
    ACQUIRE: "asks for the lease", LOOK: "looks", RENEW: "asks to renew", RELEASE: "gives the lease back",
    ASK: "wishes to lead", WANT: "wishes that another leads", PURGE: "asks to purge",
    STORE: "the store carries out", DELIVER: "gets the answer of", DRAIN: "has drained",
    LOSS: "another server, with older data", FLUSH: "the same server, without data",
    SILENT: "the same server loses the grant", SUSPEND: "was suspended", OLD: "the old server carries out",
}  # fmt: skip
REQUESTS = (ACQUIRE, LOOK, RENEW, RELEASE, ASK, WANT, PURGE)
NOTHING, GRANTED, TOLD = 100, 101, 102

RECORD = Row(exists=False, token=0, holder=0, number=0, released=True, reserved=False, reserved_for=NOBODY,
             reserve=Fraction(0), ttl=Fraction(0), quarantine=Fraction(0), wanted=NOBODY, asked=NOBODY,
             defer=0)  # fmt: skip
PAST = Row(exists=False, identity=0, stamp=0, watched=Fraction(0), longest=Fraction(0), purged=0)
MESSAGE = Row(kind=NOTHING, who=0, holder=0, key=0, num=0, x=Fraction(0), token=0, seen=0, watches=False, mark_holder=0,
              mark_number=0, mark_released=False, knows=False, stamp=0, watched=Fraction(0), loses=False, lost=0,
              name=0, new=False, last=0, rec=RECORD, tells=False, past=PAST)  # fmt: skip


def person(index, settings):
    ttl = Fraction(settings.get("ttls", [10, 10, 10])[index])
    quarantine = Fraction(settings.get("quarantines", [10, 10, 10])[index])
    key = settings.get("keys", [0, 0, 0])[index]
    nothing = Fraction(0)
    mark = Row(begun=False, holder=0, number=0, released=False, since=nothing, need=nothing, purge=nothing)
    past = Row(begun=False, stamp=0, since=nothing, need=nothing)
    return Row(id=index + 1, asked=False, asked_at=nothing, asking=False, name=index + 2, key=key, ttl=ttl,
               quarantine=quarantine, clock=nothing, num=0, open=False, seen=0, loses=False, lost=0, lost_at=nothing, longest=nothing, mark=mark, past=past, has=False, token=0,
               base=nothing, drained=False)  # fmt: skip


def beginning(settings):
    people = [person(index, settings) for index in range(settings.get("candidates", 2))]
    return Row(true=Fraction(0), identity=1, rec=RECORD, past=PAST, **{f"c{i}": one for i, one in enumerate(people)},
               high=0, led=0, silent=-1, released_at=Fraction(0), fell=False, below=False, twice=False, foreign=False,
               early=False)  # fmt: skip


class World:
    """The rules of a run. `settings` has the candidates' TTLs, quarantines and keys, the stop margin and the drift."""

    def __init__(self, settings, planted=""):
        self.planted, self.rule = planted, Rule(planted)
        self.count = settings.get("candidates", 2)
        self.rho = Fraction(settings.get("rho", "1/10"))
        self.margin = Fraction(settings.get("margin", 0))
        self.oldest = settings.get("oldest", 0)  # No loss goes further back than to that step.

    def people(self, state):
        return [getattr(state, f"c{i}") for i in range(self.count)]

    def with_me(self, state, choice, me):
        return state.but(**{f"c{i}": If(choice.who == i, me, one) for i, one in enumerate(self.people(state))})

    def validity(self, me):
        return candidate.validity(me.ttl, self.margin, self.rho, self.planted)

    def leads(self, me):
        return And(me.has, Not(me.drained), me.clock < me.base + self.validity(me))

    def works(self, me):
        return And(me.has, Not(me.drained), me.clock < me.base + self.validity(me) + self.margin)

    def step(self, state, choice, acts, messages, history):
        """Whether the choice is allowed, the state after it, and the message that it leaves behind."""
        allowed = And(choice.dt >= 0, choice.who >= 0, choice.who < self.count)
        people = self.people(state)
        for run in choice.dn:
            allowed = And(allowed, run >= (1 - self.rho) * choice.dt, run <= (1 + self.rho) * choice.dt)
        moved = {f"c{i}": one.but(clock=one.clock + run) for i, (one, run) in enumerate(zip(people, choice.dn))}
        state = state.but(true=state.true + choice.dt, **moved)
        me = pick(self.people(state), choice.who)
        allowed = And(allowed, Or(*[choice.act == act for act in acts]))
        after, left = state, MESSAGE
        for act in acts:
            if isinstance(choice.act, int) and act != choice.act:
                continue
            fine, then, message = self.carry_out(act, state, choice, me, acts, messages, history)
            allowed = And(allowed, Implies(choice.act == act, fine))
            after = If(choice.act == act, then, after)
            left = If(choice.act == act, message, left)
        return allowed, after, left

    def carry_out(self, act, state, choice, me, acts, messages, history):
        if act in REQUESTS:
            return self.send(act, state, choice, me)
        if act == STORE:
            return self.store(state, choice, acts, messages, history)
        if act == DELIVER:
            return self.deliver(state, choice, me, pick(messages, choice.ref))
        if act == DRAIN:
            return me.has, self.with_me(state, choice, me.but(drained=True)), MESSAGE
        if act == SUSPEND:
            jumped = me.but(clock=me.clock + choice.jump)
            marks = jumped.mark if self.planted == "resume-keeps-marks" else me.mark.but(since=jumped.clock)
            past = jumped.past if self.planted == "resume-keeps-past" else me.past.but(since=jumped.clock)
            jumped = jumped.but(mark=marks, past=past, lost_at=jumped.clock)
            return choice.jump >= 0, self.with_me(state, choice, jumped), MESSAGE
        if act == OLD:
            return self.old_server(state, choice, pick(messages, choice.ref))
        if act == FLUSH:
            return True, state.but(rec=RECORD, past=PAST), MESSAGE
        older = pick(history, choice.back)
        fine = And(choice.back >= self.oldest, choice.back < len(history))
        if act == SILENT:
            # The grant itself is lost, so that its token proves the loss. Nothing proves the loss of a renewal alone.
            lost = Or(Not(older.rec.exists), older.rec.token < state.rec.token)
            fine = And(fine, state.silent == -1, state.rec.exists, lost)
            return fine, state.but(rec=older.rec, silent=state.past.stamp), MESSAGE
        # All server identities are different.
        return fine, state.but(rec=older.rec, past=older.past, identity=state.identity + 1), MESSAGE

    # A candidate sends

    def send(self, act, state, choice, me):
        now, planted = me.clock, self.planted
        number = choice.number
        message = MESSAGE.but(kind=act, who=choice.who, holder=me.id, key=me.key, num=number, x=now, seen=me.seen, name=me.name)
        waits = And(Not(me.has), Not(me.drained))
        counted = number >= 1 if planted == "numbers-start-over" else number > me.num
        sent = me.but(num=number, open=True, asking=act == ACQUIRE)
        if act == RELEASE:
            work = True if planted == "release-before-drained" else me.drained
            message = message.but(token=me.token, name=choice.name)
            return And(me.has, work, Or(choice.name == NOBODY, choice.name >= 2)), state, message
        if act in (ACQUIRE, RENEW):
            past = me.past
            watched_past = And(past.begun, True if planted == "past-not-watched" else now >= past.since + past.need)
            told = most(past.need, now - past.since) if planted == "past-not-watched" else now - past.since
            message = message.but(knows=choice.knows, stamp=past.stamp, watched=told)
            fine = And(counted, Implies(choice.knows, watched_past))
        if act == RENEW:
            fine = And(fine, me.has, Not(me.drained), now < me.base + self.validity(me))
            return fine, self.with_me(state, choice, sent), message.but(token=me.token)
        if act == ACQUIRE:
            mark = me.mark
            watched = And(mark.begun, True if planted == "not-watched" else now >= mark.since + mark.need)
            lost = candidate.may_tell_loss(me, now, me.longest, planted)
            fine = And(fine, waits, Implies(choice.watches, watched), Implies(choice.loses, lost))
            message = message.but(watches=choice.watches, mark_holder=mark.holder, mark_number=mark.number,
                                  mark_released=mark.released, loses=choice.loses, lost=me.lost)  # fmt: skip
            sent = sent.but(**candidate.asks(me, now, self.validity(me), planted))
            return fine, self.with_me(state, choice, sent), message.but(holder=sent.id)
        if act == ASK:
            return And(waits, counted, me.seen > 0), self.with_me(state, choice, sent), message.but(token=me.seen)
        if act == WANT:
            return And(choice.name >= 2, me.seen > 0), state, message.but(token=me.seen, name=choice.name)
        if act == PURGE:
            watched = now >= me.mark.since + me.mark.purge
            message = message.but(watches=choice.watches, mark_holder=me.mark.holder, mark_number=me.mark.number)
            fine = And(counted, me.mark.begun, Implies(choice.watches, watched))
            return fine, self.with_me(state, choice, sent), message
        return And(waits, counted), self.with_me(state, choice, sent), message

    # The store carries out

    def store(self, state, choice, acts, messages, history):
        message = pick(messages, choice.ref)
        sender = pick(self.people(state), message.who)
        here = message.key == 0
        rec = If(here, state.rec, RECORD)
        fresh = 1000 * message.holder + message.num if self.planted == "stamp-repeats" else choice.fresh
        server = Row(identity=state.identity, fresh=fresh, wall=0)
        q = Row(first=choice.first, trusts=False, forever=0, holder=message.holder, number=message.num, name=message.name,
                token=message.token, seen=message.seen, watches=message.watches, mark_holder=message.mark_holder,
                mark_number=message.mark_number, knows=message.knows, stamp=message.stamp, watched=message.watched,
                loses=message.loses, lost=message.lost, ttl=sender.ttl, quarantine=sender.quarantine, defer=0,
                reserves=message.name != NOBODY, to=message.name, reserve=Fraction(5), wanted=message.name)  # fmt: skip
        # Assumed of a loss that only a token proves: until then, each acquire comes from a candidate that has seen it.
        proves = Or(state.past.stamp != state.silent, message.seen > self.rule.last(rec, state.past))
        fine = And(message.kind >= ACQUIRE, message.kind <= PURGE, Or(message.kind != ACQUIRE, Not(here), proves))
        after, past = rec, state.past
        answer = MESSAGE.but(who=message.who, num=message.num, x=message.x)
        left = answer
        # Terms for requests that nobody can have sent would only cost time.
        known = [m.kind for m in messages if isinstance(m.kind, int)]
        possible = {message.kind} if isinstance(message.kind, int) else {*acts, *known}
        for kind, name in (
            (ACQUIRE, "acquire"), (LOOK, "look"), (RENEW, "renew"), (RELEASE, "release"), (ASK, "ask"), (WANT, "want"),
            (PURGE, "purge"),
        ):  # fmt: skip
            if kind not in possible:
                continue
            then, changed, reply = getattr(self.rule, name)(rec, state.past, server, q)
            mine = message.kind == kind
            after, past = If(mine, then, after), If(mine, changed, past)
            if kind in (ACQUIRE, RENEW):
                granted = reply.granted if kind == ACQUIRE else reply.renewed
                new = reply.new if kind == ACQUIRE else False
                told = answer.but(kind=TOLD, last=reply.last, rec=then, tells=reply.tells, past=changed)
                won = told.but(kind=GRANTED, token=then.token, new=new)
                left = If(mine, If(granted, won, told), left)
            elif kind in (LOOK, ASK):
                told = answer.but(kind=TOLD, last=reply.last, rec=then, tells=reply.tells, past=changed)
                if self.planted == "lost-by-stale-look" and kind == LOOK:
                    stale = pick(history, choice.back).rec
                    told = If(choice.lags, told.but(last=stale.token, rec=stale), told)
                left = If(mine, told, left)
        granted = And(message.kind == ACQUIRE, left.kind == GRANTED, left.new, here)
        again = [And(old.kind == GRANTED, old.new, old.who == message.who, old.num == message.num) for old in messages]
        # A candidate that watched the lease for its TTL before it was given back may still take it.
        knew = And(message.watches, message.mark_released)
        soon = state.true < state.released_at + rec.reserve / (1 + self.rho)
        kept = And(rec.exists, rec.released, rec.reserved, rec.reserved_for != message.name)
        wished = Or(after.asked != rec.asked, after.wanted != rec.wanted)
        wished = And(Or(message.kind == ASK, message.kind == WANT), wished, message.token != rec.token)
        changes = dict(
            fell=Or(state.fell, And(granted, after.token <= state.high)),
            twice=Or(state.twice, And(granted, Or(*again))),
            foreign=Or(state.foreign, And(wished, here)),
            early=Or(state.early, And(granted, kept, soon, knew)),
            high=If(granted, most(state.high, after.token), state.high),
            released_at=If(And(here, after.released, Not(rec.released)), state.true, state.released_at),
        )
        return fine, state.but(rec=If(here, after, state.rec), past=past, **changes), left

    def old_server(self, state, choice, message):
        """Beyond the assumptions: a server that was replaced grants, since the lease has lapsed in its own record."""
        rec = state.rec
        watched = And(message.watches, message.mark_holder == rec.holder, message.mark_number != rec.number)
        answer = MESSAGE.but(who=message.who, num=message.num, x=message.x, kind=GRANTED, token=rec.token + 1, new=True)
        may = And(self.planted == "old-server-grants", state.identity > 1)
        return And(may, message.kind == ACQUIRE, watched), state, answer

    # A candidate gets an answer

    def deliver(self, state, choice, me, message):
        now, planted = me.clock, self.planted
        current = And(message.who == choice.who, me.open, message.num == me.num)
        if planted == "lost-by-older-answer":
            current = message.who == choice.who
        late = True if planted == "late-claim" else now < me.base + self.validity(me)
        claims = And(Not(me.drained), Or(Not(me.has), And(me.token == message.token, late)))
        base = now if planted == "claim-from-receipt" else message.x
        since_sent = planted in ("watch-from-sending", "past-from-sending")
        when = If(message.x < now, message.x, now) if since_sent else now
        from_mark = when if planted == "watch-from-sending" else now
        from_past = when if planted == "past-from-sending" else now
        past = candidate.sees_past(me.past, message.past, message.tells, from_past, me)
        leading = me.but(open=False, has=True, token=message.token, seen=most(me.seen, message.token), past=past,
                         base=If(me.has, most(me.base, base), base))  # fmt: skip
        seen = candidate.learns(me, message.last, now)
        mark = candidate.sees(me.mark, message.rec, from_mark, me, planted)
        age = {name: If(me.asking, value, getattr(me, name)) for name, value in candidate.answered(me, planted).items()}
        waiting = me.but(open=False, mark=mark, past=past, longest=message.past.longest, **seen, **age)
        granted, told = message.kind == GRANTED, message.kind == TOLD
        fine = And(current, Or(granted, And(told, Not(me.has))), Implies(granted, claims))
        begins = And(granted, Not(me.has), me.key == 0, self.leads(leading))
        below = Or(state.below, And(begins, message.token < state.led))
        state = state.but(below=below, led=If(begins, most(state.led, message.token), state.led))
        return fine, self.with_me(state, choice, If(granted, leading, waiting)), MESSAGE

    # What must not happen

    def broken(self, state):
        """Each promise that this state breaks, or may break."""
        pairs = [(one, other) for one in self.people(state) for other in self.people(state) if one is not other]
        ours = [And(one.key == 0, other.key == 0, self.leads(one), self.works(other)) for one, other in pairs]
        return {"two lead": Or(*ours), "a token falls": state.fell, "a tenure begins below another": state.below, "a late duplicate is granted": state.twice,
                "a wish for one tenure reaches another": state.foreign,
                "a reservation is broken": state.early}  # fmt: skip

    def reached(self, state):
        """What a run should be able to come to: without it, that nothing is broken would mean nothing."""
        return {f"c{i} leads": self.leads(one) for i, one in enumerate(self.people(state))} | {
            "c2 leads by another server": And(self.leads(self.people(state)[-1]), state.identity > 1, state.rec.exists)
        }
