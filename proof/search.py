"""Finds a run that breaks a promise, for each planted change, and carries it out with plain values."""

from fractions import Fraction

import z3

import runs
from logic import Or, Row
from world import (
    ACQUIRE,
    ASK,
    DELIVER,
    DRAIN,
    FLUSH,
    LOOK,
    LOSS,
    OLD,
    PURGE,
    RELEASE,
    RENEW,
    SILENT,
    STORE,
    SUSPEND,
    WANT,  # fmt: skip
)

UNITS = 80_000_000  # of the work of z3 for each search; not seconds, which would depend on the machine
ANY = "any promise is broken"
BASIC = (ACQUIRE, STORE, DELIVER)


class Case:
    """Where a change shows: how the run begins, what may happen in it, in how many steps, and what it comes to.

    `design` has the settings that the design demands, where the change is one of settings.
    """

    def __init__(self, begins, steps, *acts, comes_to="two lead", design=None, **settings):
        self.begins, self.steps, self.acts = begins, steps, BASIC + acts
        self.comes_to, self.settings, self.design = comes_to, settings, {**settings, **(design or {})}


three = dict(candidates=3)
PLANTED = {
    # The store
    "mark-not-compared": Case(runs.led, 6, RENEW),
    "renewal-keeps-mark": Case(runs.led, 6, RENEW),
    "repeat-keeps-mark": Case(runs.granted_unknown, 6),
    "reservation-grants": Case(runs.led, 5, WANT),
    "renew-any": Case(runs.renewed_late, 6, RENEW, **three),
    "release-any": Case(runs.passed_on, 7, LOOK, **three),
    "seen-not-compared": Case(runs.asked, 6, DRAIN, RELEASE, comes_to="a late duplicate is granted"),
    "past-ignored": Case(runs.led_at_once, 4, LOSS, **three),
    "repeat-ignores-past": Case(runs.granted_unknown, 7, LOSS),
    "stamp-keeps-watched": Case(runs.purged_once, 4, LOSS, **three),
    "stamp-repeats": Case(runs.told_early, 5, FLUSH),
    "identity-at-first-only": Case(runs.purged_once, 4, LOSS, **three),
    "lost-not-compared": Case(runs.led, 4, SILENT),
    "longest-forgotten": Case(runs.purged_once, 7, LOSS, ttls=[10, 5, 10], quarantines=[10, 5, 10], oldest=14,
                             **three),
    "purge-unwatched": Case(runs.led, 5, PURGE),
    "purge-forgets-token": Case(runs.led, 7, DRAIN, RELEASE, PURGE, comes_to="a token falls", **three),
    "purged-not-compared": Case(runs.led, 6, DRAIN, RELEASE, PURGE, comes_to="a late duplicate is granted"),
    "ask-any": Case(runs.led, 7, DRAIN, RELEASE, ASK, comes_to="a wish for one tenure reaches another"),
    "want-any": Case(runs.led, 7, DRAIN, RELEASE, WANT, comes_to="a wish for one tenure reaches another"),
    # Candidates
    "no-drift": Case(runs.led, 3),
    "no-margin": Case(runs.led, 3, margin=1),
    "claim-from-receipt": Case(runs.asked, 8, LOOK),
    "late-claim": Case(runs.led, 7, RENEW, LOSS),
    "numbers-start-over": Case(runs.led, 6, RENEW),
    "not-watched": Case(runs.led, 3),
    "watch-from-sending": Case(runs.led, 9, LOOK, RENEW),
    "ttl-of-its-own": Case(runs.led, 3, ttls=[10, 5]),
    "past-not-watched": Case(runs.replaced, 3, **three),
    "past-from-sending": Case(runs.asked_early, 6, LOSS),
    "quarantine-below-ttl": Case(runs.replaced, 3, ttls=[10, 10, 5], quarantines=[10, 10, 5],
                                 design=dict(quarantines=[10, 10, 10]), **three),
    "release-before-drained": Case(runs.led, 5, RELEASE),
    "lost-at-once": Case(runs.lost, 5, keys=[0, 0, 1], **three),
    "lost-by-quarantine-alone": Case(runs.lost, 5, keys=[0, 0, 1], ttls=[10, 5, 10], quarantines=[10, 5, 10], **three),
    "lost-by-older-answer": Case(runs.answered_early, 8, RENEW, SILENT),
    "lost-by-stale-look": Case(runs.looked_stale, 7, RENEW, SILENT),
    "reserve-from-before": Case(runs.led, 8, DRAIN, RELEASE, LOOK, comes_to="a reservation is broken", **three),
    "resume-keeps-marks": Case(runs.led, 4, SUSPEND),
    "resume-keeps-past": Case(runs.replaced, 4, SUSPEND, **three),
    "id-kept": Case(runs.restored_to_a_lost_grant, 4, comes_to="a tenure begins below another"),
    "id-young-if-answered": Case(runs.restored_to_a_late_duplicate, 4, comes_to="a tenure begins below another",
                                 **three),
    # Beyond the assumptions
    "old-server-grants": Case(runs.led, 7, RENEW, LOSS, OLD),
}  # fmt: skip

# Runs that the rule as it is must allow: a search that found none would have looked at nothing.
POSSIBLE = {
    "a take-over by a watch": Case(runs.led, 3, comes_to="c1 leads"),
    "a take-over after a loss": Case(runs.led, 7, LOSS, comes_to="c2 leads by another server", **three),
    "a lease given back is granted": Case(runs.led, 6, DRAIN, RELEASE, comes_to="c1 leads"),
    "a purged election is led again": Case(runs.led, 8, DRAIN, RELEASE, PURGE, comes_to="c1 leads"),
    "a loss that a token proves is watched out": Case(runs.lost_quietly, 3, comes_to="c1 leads"),
}
# No run of these lengths breaks a promise. The induction says it of every length; this says it of this program.
NONE = {
    "requests only": Case(runs.led, 7, LOOK, RENEW, DRAIN, RELEASE, PURGE, comes_to=ANY),
    # A token may fall after a loss: here, the store's wall clock tells nothing.
    "with losses": Case(runs.led, 6, LOSS, FLUSH, SUSPEND, **three),
    "after a store was restored to a lost grant": Case(runs.restored_to_a_lost_grant, 5, LOOK,
                                                       comes_to="a tenure begins below another"),
    "after a store was restored to a late duplicate's grant": Case(runs.restored_to_a_late_duplicate, 5, LOOK,
                                                                   comes_to="a tenure begins below another", **three),
}


def fresh_copy(value, facts):
    """The same value under new names, so that terms stay small."""
    if isinstance(value, Row):
        return Row(**{name: fresh_copy(part, facts) for name, part in value.__dict__.items()})
    if not isinstance(value, z3.ExprRef):
        return value
    value = z3.simplify(value)
    if z3.is_const(value):
        return value
    copy = z3.FreshConst(value.sort())
    facts.append(copy == value)
    return copy


def free_choice(count, step):
    whole, real, truth = z3.FreshInt, lambda name: z3.FreshReal(name), z3.FreshBool
    return Row(act=whole("act"), who=whole("who"), ref=whole("ref"), number=whole("number"), dt=real("dt"),
               dn=[real("dn") for _ in range(count)], knows=truth("knows"), watches=truth("watches"),
               loses=truth("loses"), first=truth("first"), back=whole("back"), jump=real("jump"), name=whole("name"),
               lags=truth("lags"), fresh=runs.fresh(step))  # fmt: skip


def found(case, planted, limit):
    """A run of that length that breaks the promise, if z3 finds one; None if there is none."""
    run = runs.Run(case.settings, planted)
    case.begins(run)
    begun = len(run.choices)
    solver, state = z3.Solver(), run.state
    solver.set("rlimit", limit)
    messages, history, choices = list(run.messages), list(run.history), []
    for step in range(begun, begun + case.steps):
        choice, facts = free_choice(run.world.count, step), []
        solver.add(choice.ref >= 0, choice.ref < len(messages), choice.back >= 0, choice.back < len(history))
        allowed, state, message = run.world.step(state, choice, case.acts, messages, history)
        state, message = fresh_copy(state, facts), fresh_copy(message, facts)
        solver.add(allowed, *facts)
        messages.append(message)
        history.append(runs.snapshot(state))
        choices.append(choice)
    broken = run.world.broken(state)
    solver.add({**broken, **run.world.reached(state), ANY: Or(*broken.values())}[case.comes_to])
    result = solver.check()
    if result != z3.sat:
        return None if result == z3.unsat else result
    return [plain(choice, solver.model()) for choice in choices]


def plain(choice, model):
    def value(term):
        if isinstance(term, list):
            return [value(part) for part in term]
        if not isinstance(term, z3.ExprRef):
            return term
        result = model.eval(term, model_completion=True)
        if z3.is_bool(result):
            return z3.is_true(result)
        return result.as_long() if z3.is_int_value(result) else result.as_fraction()

    given = {name: value(term) for name, term in choice.__dict__.items() if name != "fresh"}
    given["dt"], given["jump"] = Fraction(given["dt"]), Fraction(given["jump"])
    return given


def carried_out(case, settings, planted, choices):
    run = runs.Run(settings, planted)
    case.begins(run)
    for choice in choices:
        run.do(**choice)
    return run


def refute(planted, limit=UNITS):
    """What is wrong, if the run that is found does not happen or proves nothing; and the run."""
    case = PLANTED[planted]
    choices = found(case, planted, limit)
    if not isinstance(choices, list):
        return f"no run of {case.steps} steps" if choices is None else "undecided", None
    run = carried_out(case, case.settings, planted, choices)
    if case.comes_to not in run.broken():
        return f"carried out, the run that was found does not come to: {case.comes_to}", run
    try:
        if case.comes_to in carried_out(case, case.design, "", choices).broken():
            return f"without the change the same run comes to: {case.comes_to}", run
    except runs.Refused:
        pass
    return "", run


if __name__ == "__main__":
    # The run for one planted change, step by step.
    import sys

    for planted in sys.argv[1:]:
        wrong, run = refute(planted)
        print(f"{planted}: {wrong or PLANTED[planted].comes_to}")
        print("\n".join(run.story() if run else []))
