"""Carries a run out with plain values: the rule, the candidates and the faults as they are, without z3."""

from fractions import Fraction

from candidate import NEXT_ID
from logic import Row
from world import (
    ACQUIRE,
    DELIVER,
    DRAIN,
    LOOK,
    LOSS,
    MESSAGE,
    NAMES,
    PURGE,
    RELEASE,
    RENEW,
    SILENT,
    STORE,
    World,
    beginning,
)

STILL = dict(who=0, ref=0, number=0, dt=Fraction(0), dn=None, knows=False, watches=False, loses=False, first=False,
             back=0, jump=Fraction(0), name=0, lags=False)  # fmt: skip


class Refused(Exception):
    """The rules of the run do not allow this choice."""


class Run:
    """A run so far: its states, the messages that its steps left behind, and the stores as they were."""

    def __init__(self, settings, planted=""):
        self.settings, self.world = settings, World(settings, planted)
        self.states, self.messages, self.choices = [beginning(settings)], [MESSAGE], []
        self.history = [snapshot(self.states[0])]

    @property
    def state(self):
        return self.states[-1]

    def do(self, act, **given):
        choice = Row(**{**STILL, **given}, act=act, fresh=fresh(len(self.choices)))
        if choice.dn is None:
            choice.dn = [choice.dt] * self.world.count
        allowed, state, message = self.world.step(self.state, choice, [act], self.messages, self.history)
        if not allowed:
            raise Refused(f"step {len(self.choices) + 1}: {told(choice, self.messages)}")
        self.states.append(state)
        self.messages.append(message)
        self.history.append(snapshot(state))
        self.choices.append(choice)

    def broken(self):
        return {name for name, is_broken in self.world.broken(self.state).items() if is_broken}

    def story(self):
        """A line for each step."""
        for number, (choice, state) in enumerate(zip(self.choices, self.states[1:]), 1):
            rec, past = state.rec, state.past
            clocks = " ".join(f"{float(one.clock):6.2f}" for one in self.world.people(state))
            kept = f"c{(rec.holder - 1) % NEXT_ID} number {rec.number} token {rec.token}" if rec.exists else "no record"
            kept += " given back" * (rec.exists and rec.released)
            yield (
                f"{number:3} t={float(state.true):6.2f} clocks {clocks} | {told(choice, self.messages):48} | {kept}, "
                f"stamp {past.stamp if past.exists else 'none'} watched {float(past.watched):.2f}"
            )


def snapshot(state):
    return Row(rec=state.rec, past=state.past)


def fresh(step):
    """A stamp that was never given before."""
    return 100_000 + step


def told(choice, messages):
    text = NAMES[choice.act]
    if text.startswith(("the store ", "the old ")):
        asked = NAMES.get(messages[choice.ref].kind, "nothing")
        return f"{text} step {choice.ref} ({asked}, c{messages[choice.ref].who})"
    if text.startswith("gets"):
        return f"c{choice.who} {text} step {choice.ref}"
    watched = [name for name in ("watches", "knows", "loses") if getattr(choice, name)]
    who = f"c{choice.who} " if choice.act < STORE or text.startswith(("has", "was")) else ""
    return f"{who}{text}" + (f" ({', '.join(watched)})" if watched else "")


# How runs begin. After each, the search goes on. Numbers are those of the steps.


def asked(run):
    """c0 was told a stamp, has watched it, and has asked for the lease; nobody leads."""
    run.do(LOOK, who=0, number=1)
    run.do(STORE, ref=1, first=True)
    run.do(DELIVER, who=0, ref=2)
    run.do(ACQUIRE, who=0, number=2, knows=True, dt=Fraction(10))


def led(run):
    """c0 leads, and c1 has just been told so."""
    asked(run)
    leads(run, who=0)
    sees(run, who=1)


def led_at_once(run):
    """The same where no watch of the past is asked for."""
    run.do(ACQUIRE, who=0, number=1)
    leads(run, who=0)
    sees(run, who=1)


def leads(run, who):
    """The request of the last step is granted, and its sender leads."""
    run.do(STORE, ref=len(run.choices))
    run.do(DELIVER, who=who, ref=len(run.choices))


def sees(run, who, **given):
    run.do(LOOK, who=who, number=run.world.people(run.state)[who].num + 1)
    run.do(STORE, ref=len(run.choices), **given)
    run.do(DELIVER, who=who, ref=len(run.choices))


def gives_back(run, who):
    run.do(DRAIN, who=who)
    run.do(RELEASE, who=who)
    run.do(STORE, ref=len(run.choices))


def passed_on(run):
    """c0 led, and gave the lease back while its renewal was under way; now c1 leads."""
    led(run)
    run.do(RENEW, who=0, number=3)
    gives_back(run, who=0)
    run.do(ACQUIRE, who=1, number=2)
    leads(run, who=1)


def renewed_late(run):
    """Besides, that renewal was carried out late, and c2 has been told what the record is."""
    passed_on(run)
    run.do(STORE, ref=10)
    sees(run, who=2)


def granted_unknown(run):
    """c0 was granted the lease and does not know it yet; c1 has been told so."""
    asked(run)
    run.do(STORE, ref=4)
    sees(run, who=1)


def told_early(run):
    """c1 was told the stamp before c0 led."""
    run.do(LOOK, who=0, number=1)
    run.do(STORE, ref=1, first=True)
    run.do(DELIVER, who=0, ref=2)
    sees(run, who=1)
    run.do(ACQUIRE, who=0, number=2, knows=True, dt=Fraction(10))
    leads(run, who=0)


def asked_early(run):
    """c1 looks before c0 leads, and its request is still under way."""
    run.do(LOOK, who=1, number=1)
    run.do(LOOK, who=0, number=1)
    run.do(STORE, ref=2, first=True)
    run.do(DELIVER, who=0, ref=3)
    run.do(ACQUIRE, who=0, number=2, knows=True, dt=Fraction(10))
    leads(run, who=0)


def answered_early(run):
    """c1 looked before c0 led, and that answer is still under way when a later one tells it so."""
    run.do(LOOK, who=0, number=1)
    run.do(STORE, ref=1, first=True)
    run.do(DELIVER, who=0, ref=2)
    run.do(LOOK, who=1, number=1)
    run.do(STORE, ref=4)
    run.do(ACQUIRE, who=0, number=2, knows=True, dt=Fraction(10))
    leads(run, who=0)
    sees(run, who=1)


def purged_once(run):
    """c0 led, gave the lease back, and was purged; now c2 leads."""
    led(run)
    gives_back(run, who=0)
    run.do(PURGE, who=1, number=2)
    run.do(STORE, ref=len(run.choices))
    sees(run, who=2)
    run.do(ACQUIRE, who=2, number=2)
    leads(run, who=2)


def looked_stale(run):
    """c0 leads; c1 has just been told so, and then looks at a replica that is behind, if looks may do that."""
    led(run)
    sees(run, who=1, lags=True, back=0)


def restarted(run):
    """c0 leads. Its server was started again; c2, of another key, was told the stamp; and then c0 renewed."""
    led(run)
    run.do(LOSS, back=len(run.history) - 1)
    sees(run, who=2, first=True)
    run.do(RENEW, who=0, number=3, dt=Fraction(7))
    leads(run, who=0)


def lost(run):
    """Besides, c0's grant was lost, and c1 has been told so."""
    restarted(run)
    run.do(SILENT, back=0)
    sees(run, who=1)


def replaced(run):
    """c0 leads; another server, without data, took the place of its server, and c2 was told its stamp."""
    led(run)
    run.do(LOSS, back=0)
    sees(run, who=2, first=True)


def lost_quietly(run):
    """c0 led; its grant was lost, which its token proves to c1, and to no other candidate."""
    led(run)
    run.do(SILENT, back=0)
    run.do(ACQUIRE, who=1, number=2)
    run.do(STORE, ref=len(run.choices))
    run.do(DELIVER, who=1, ref=len(run.choices))


def restored(run, who, ref):
    """Another server has the data from after that step."""
    run.do(LOSS, back=ref)
    run.do(LOOK, who=who, number=run.world.people(run.state)[who].num + 1)
    run.do(STORE, ref=len(run.choices), first=True)


def restored_to_a_lost_grant(run):
    """The answer to c0's grant was lost; c1 has led since; another server has c0's record, and c0 asks it."""
    granted_unknown(run)
    run.do(ACQUIRE, who=1, number=2, watches=True, dt=Fraction(13))
    leads(run, who=1)
    restored(run, who=0, ref=5)


def restored_to_a_late_duplicate(run):
    """The same of c1, whose answered acquire was carried out a second time after c0 gave the lease back."""
    led(run)
    run.do(ACQUIRE, who=1, number=2)
    run.do(STORE, ref=len(run.choices))
    run.do(DELIVER, who=1, ref=len(run.choices))
    asked = len(run.choices) - 2
    gives_back(run, who=0)
    run.do(STORE, ref=asked)
    granted = len(run.choices)
    sees(run, who=2, first=True)
    run.do(ACQUIRE, who=2, number=2, watches=True, dt=Fraction(13))
    leads(run, who=2)
    restored(run, who=1, ref=granted)
