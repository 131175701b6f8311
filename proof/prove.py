"""Proves the watching rule, and refutes each planted change of it. Prints a table; ends with 0 if all came out so.

Each planted change must do three things: break the proof somewhere, have a run that breaks a promise (found by search
and carried out with plain values), and have a run that the rule as it is does not let come to the same.
"""

import sys
import time

import z3

import candidate
import drift
import falsified
import induction
import lemmas
import rule
import search


class Table:
    """What was claimed, what came out, and the seconds of processor time."""

    def __init__(self):
        self.rows, self.wrong, self.began = 0, [], time.process_time()

    def row(self, claim, verdict, expected, note=""):
        now = time.process_time()
        self.rows += 1
        if verdict != expected:
            self.wrong.append(claim)
        failed = "" if verdict == expected else f"   EXPECTED: {expected}"
        print(f"{claim:58} {verdict:9} {now - self.began:6.1f} s  {note}{failed}", flush=True)
        self.began = now


def verdict_on(facts, goal, assumed):
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*assumed, *facts, z3.Not(goal))
    return {"unsat": "proved", "sat": "refuted"}.get(str(solver.check()), "undecided")


def by_rule(table):
    for name, (facts, goal) in drift.lemmas().items():
        table.row(f"drift: {name}", verdict_on(facts, goal, drift.VALID), "refuted" if "wrong" in name else "proved")
    for name, (facts, goal) in lemmas.lemmas().items():
        table.row(f"one request: {name}", verdict_on(facts, goal, []), "proved")


def by_induction(table):
    steps = {}
    for name, facts, goal in induction.claims():
        step = name.split(":")[0] if not name.startswith("another key") else ":".join(name.split(":")[:2])
        began = time.process_time()
        failed = induction.decided(facts, goal) != z3.unsat
        count, seconds, bad = steps.get(step, (0, 0, []))
        steps[step] = (count + 1, seconds + time.process_time() - began, bad + [name] * failed)
    for step, (count, seconds, bad) in steps.items():
        note = f"{count} claims, {seconds:.1f} s" + "".join(f"; not {name}" for name in bad)
        table.row(f"induction: {step}", "refuted" if bad else "proved", "proved", note)
    empty = induction.contradictions()
    table.row("no step contradicts itself", "refuted" if empty else "proved", "proved", ", ".join(empty))
    return sum(count for count, _, _ in steps.values())


def not_proved(planted):
    """The first claim that a planted change breaks."""
    for name, (facts, goal) in lemmas.lemmas(planted).items():
        if verdict_on(facts, goal, []) != "proved":
            return name
    for name, (facts, goal) in drift.lemmas(planted).items():
        if "wrong" not in name and verdict_on(facts, goal, drift.VALID) != "proved":
            return name
    for name, facts, goal in induction.claims(planted):
        if induction.decided(facts, goal, 1_000_000) != z3.unsat:
            return name
    return None


def by_search(table):
    for name, case in search.POSSIBLE.items():
        found = search.found(case, "", search.UNITS)
        run = search.carried_out(case, case.settings, "", found) if isinstance(found, list) else None
        happens = run is not None and run.world.reached(run.state)[case.comes_to]
        table.row(f"happens: {name}", "proved" if happens else "refuted", "proved", f"a run of {case.steps} steps")
    for name, case in search.NONE.items():
        found = search.found(case, "", search.UNITS)
        verdict = "refuted" if found is not None else "proved"
        table.row(f"no run of {case.steps} steps breaks a promise, {name}", verdict, "proved")
    for planted in {**rule.PLANTS, **candidate.PLANTS, "old-server-grants": ""}:
        broken = not_proved(planted) if planted != "old-server-grants" else "beyond the assumptions"
        wrong, run = search.refute(planted)
        verdict = "proved" if broken is None else "undecided" if wrong else "refuted"
        steps = f"{search.PLANTED[planted].comes_to}, in {len(run.choices)} steps" if run else ""
        table.row(f"planted: {planted}", verdict, "refuted", f"{wrong or steps}; breaks: {broken}")


def main():
    began = time.process_time()
    table = Table()
    by_rule(table)
    count = by_induction(table)
    by_search(table)
    lines, problem = falsified.checked()
    table.row("replay: transitions of the plain rule, and falsified ones", "refuted" if problem else "proved", "proved",
              problem or f"{lines} lines")  # fmt: skip
    unplanted = (rule.PLANTS.keys() | candidate.PLANTS.keys()) - search.PLANTED.keys()
    print(f"{table.rows} rows, {count} claims of the induction, {time.process_time() - began:.0f} s of processor time")
    if unplanted or not count or table.wrong:
        print("NOT AS IT MUST BE:", ", ".join([*table.wrong, *unplanted]) or "nothing was claimed")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
