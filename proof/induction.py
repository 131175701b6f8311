"""Proves by induction that no two candidates lead, whatever is sent, repeated, lost or forgotten."""

import time

import z3

import invariant
from model import Model
from state import ASSUMED, a, b

UNITS = 4_000_000  # of z3's work for each claim; not seconds, which would depend on the machine


def decided(facts, goal, units=UNITS):
    solver = z3.Solver()
    solver.set("rlimit", units)
    solver.add(*ASSUMED, *facts, z3.Not(goal))
    return solver.check()


def claims(planted=""):
    """Each claim: its name, its facts, and what follows. Of a planted change, only those that it touches."""
    before, after = invariant.invariants(a), invariant.invariants(b)
    held, design = list(before.values()), Model().steps()
    if not planted:
        for name, goal in before.items():
            yield f"beginning: {name}", invariant.beginning(), goal
        yield "single leader", held, invariant.single_leader(a)
    for step, facts in Model(planted).steps().items():
        if planted and step in design and same(facts, design[step]):
            continue
        for name, goal in after.items():
            yield f"{step}: {name}", held + facts, goal
        if step == "store grants":
            yield f"{step}: tokens rise", held + facts, invariant.rising()


def same(facts, others):
    return len(facts) == len(others) and all(map(z3.eq, facts, others))


def contradictions():
    """Steps that could never be taken, of which everything would be proved."""
    held = list(invariant.invariants(a).values())
    ways = {"beginning": invariant.beginning(), **{name: held + facts for name, facts in Model().steps().items()}}
    return [name for name, facts in ways.items() if decided(facts, z3.BoolVal(False), 300_000) == z3.unsat]


if __name__ == "__main__":
    import sys

    planted = sys.argv[1] if len(sys.argv) > 1 else ""
    began, count = time.process_time(), 0
    for name, facts, goal in claims(planted):
        t = time.process_time()
        result = decided(facts, goal)
        count += 1
        spent = time.process_time() - t
        if result != z3.unsat or spent > 0.5:
            print(result, name, f"{spent:.2f}", flush=True)
    print("contradictions:", contradictions())
    print(count, "claims", f"{time.process_time() - began:.1f} s")
