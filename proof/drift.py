"""The only place where rates of clocks enter: what a claim and a watch mean in true time.

For every drift bound, TTL, stop margin and granularity, and clocks whose rates are anywhere within 1 - rho and 1 + rho:
a claim of a request sent at t0, and the work that drains after it, is over (ttl - g) / (1 + rho) later; a watch of ttl
takes at least that long. A leader's clock matters only where it is slow, a watcher's only where it is fast.
"""

from z3 import Reals

import candidate

rho, ttl, margin, g, t, shown, needed, D = Reals("rho ttl margin g t shown needed D")
VALID = [rho > 0, rho < 1, ttl > 0, margin >= 0, g >= 0, g < ttl, D >= 0, t >= 0]
SLOW = shown >= (1 - rho) * t  # since t0, the leader's clock has counted `shown` in t of true time
FAST = shown <= (1 + rho) * t  # the same of a watcher's, since its watch began


def lemmas(planted=""):
    valid = candidate.validity(ttl - g, margin, rho, planted)
    live = (ttl - g) / (1 + rho)
    return {
        "a claim and its work end in time": ([SLOW, valid >= 0, shown < valid + margin], t < live),
        "a claim ends a margin earlier": ([SLOW, valid >= 0, shown < valid], t < live - margin / (1 - rho)),
        # G3: of the first acquire under a holder id, another may leave for as long, and its answer count for as long again.
        "what one holder id is granted ends within two watches": ([SLOW, valid >= 0, shown < 2 * valid], t < 2 * live),
        "a watch takes as long": ([FAST, shown >= ttl], t >= ttl / (1 + rho)),
        "a quarantine covers D": ([FAST, needed >= ttl + D * (1 + rho), shown >= needed], t >= ttl / (1 + rho) + D),
        # The same with formulas that others use: what must not be provable.
        "wrong: one clock's factor": (
            [SLOW, shown < ttl * (1 - rho)], t < ttl / (1 + rho)),
        "wrong: a watch short by the drift": ([FAST, shown >= ttl * (1 - rho)], t >= ttl / (1 + rho)),
        "wrong: a quarantine of TTL and D, without drift": (
            [FAST, needed >= ttl + D, shown >= needed], t >= ttl / (1 + rho) + D),
        "wrong: a leader slower than the bound": (
            [shown * 2 >= (1 - rho) * t, valid >= 0, shown < valid + margin], t < live),
    }  # fmt: skip
