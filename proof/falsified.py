"""Whether the replay notices what it is for: lines of planted rules, and lines with one value changed."""

import json
import os
import random

from rule import PLANTS, Rule
from transitions import carried_out, replayed

HOLDERS, NAMES = ["a", "b", "c"], ["x", "y"]


def transitions(count, seed, planted="", ends_leases=False):
    """Lines of a store that follows that rule, under random requests, restarts, losses and repetitions."""
    rng, rule = random.Random(seed), Rule(planted, ends_leases)
    state, identity, sent, marks, stamps = {"record": None, "past": None}, "one", [], [], []
    for number in range(1, count + 1):
        if rng.random() < 0.02:
            identity = f"server {number}"
        if rng.random() < 0.01:
            state = {"record": None, "past": rng.choice([None, state["past"]])}
        token = state["record"]["token"] if state["record"] else 0
        late = sent and rng.random() < 0.1
        asked = rng.choice(sent[-8:]) if late else a_request(rng, number, state, token, marks, stamps)
        sent.append(asked)
        if ends_leases and rng.random() < 0.05:
            asked = {"kind": "end", "first": False}
        server = {"identity": identity, "wall": rng.choice([0, number, 2**60]), "ends_leases": ends_leases}
        before = {"server": server, **state}
        fresh = f"{asked.get('holder')}/{asked.get('number')}" if planted == "stamp-repeats" else f"stamp {number}"
        state, reply = carried_out(rule, before, asked, fresh, before["server"]["wall"])
        if state["record"]:
            marks.append({"holder": state["record"]["holder"], "number": state["record"]["number"]})
        if state["past"]:
            stamps.append(state["past"]["stamp"])
        yield {"before": before, "request": asked, "reply": reply, "after": state}


def a_request(rng, number, state, token, marks, stamps):
    kind = rng.choices(["acquire", "look", "renew", "release", "ask", "want", "purge"], [9, 1, 4, 1, 1, 2, 1])[0]
    owner = state["record"]["holder"] if state["record"] and rng.random() < 0.7 else rng.choice(HOLDERS)
    watched = {"stamp": rng.choice(stamps[-2:] or [""]), "watched": rng.choice([5, 10, 15])}
    stamp = watched if stamps and rng.random() < 0.7 else None
    mark = rng.choice(marks[-2:]) if marks and rng.random() < 0.5 else None
    seen, name = rng.choice([token, token, token + 3, 0, max(0, token - 1)]), rng.choice(NAMES)
    named, quarantine = rng.choice([token] * 5 + [0]), rng.choice([10, 10, 15])
    wished, to = rng.choice([None, "any", "x", "x", "y"]), rng.choice([None, {"name": "x", "reserve": 3}])
    shapes = {
        "acquire": {"holder": rng.choice(HOLDERS), "number": number, "seen": seen, "mark": mark, "stamp": stamp,
                    "lost": rng.choice([None, None, token]), "ttl": rng.choice([10, 10, 12]), "quarantine": quarantine,
                    "name": name, "trust": rng.random() < 0.05},
        "look": {"seen": seen, "quarantine": quarantine},
        "renew": {"holder": owner, "token": named, "number": rng.choice([number, number, number // 2]), "stamp": stamp},
        "release": {"holder": owner, "token": named, "to": to},
        "ask": {"token": named, "name": name, "defer": 0, "seen": seen, "quarantine": quarantine},
        "want": {"token": named, "wanted": wished},
        "purge": {"mark": mark or {"holder": "nobody", "number": 0}, "watched": rng.random() < 0.5},
    }  # fmt: skip
    return {"kind": kind, "first": rng.random() < 0.1, **shapes[kind]}


def changed(value):
    """Every way to change one value of a line's part."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from ({**value, key: other} for other in changed(part))
    else:
        yield (
            {None: "something", True: False, False: True}.get(value)
            if value in (None, True, False)
            else (value + 1 if isinstance(value, int) else value + "!")
        )


def checked(count=3000):
    """How many lines were compared, and what the replay did not notice, if anything."""
    lines = list(transitions(count, 7))
    wrong, counts = replayed(map(json.dumps, lines))
    if wrong:
        return count, f"the plain rule differs from itself: line {wrong[0]}"
    if len(counts) < 12:
        return count, f"only these came up: {sorted(counts)}"
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "REPLAY.md")) as page:
        example = json.loads(page.read().split("```json\n")[1].split("```")[0])
    if replayed([json.dumps(example)])[0]:
        return count, f"the example of REPLAY.md is wrong: {replayed([json.dumps(example)])[0]}"
    if not replayed([])[0] or not replayed(["{}"])[0]:
        return count, "no lines, or an empty one, went unnoticed"
    for line in lines[::60]:
        for part in ("reply", "after"):
            for other in changed(line[part]):
                if not differs({**line, part: other}):
                    return count, f"went unnoticed: {part} {other} in place of {line[part]}"
    for planted in PLANTS:
        if not replayed(map(json.dumps, transitions(2000, 7, planted)))[0]:
            return count, f"lines of a store with {planted} went unnoticed"
    return count, wrong_where_leases_are_ended(count)


def wrong_where_leases_are_ended(count):
    """The same of a server that ends leases itself."""
    lines = list(transitions(count, 7, ends_leases=True))
    wrong, counts = replayed(map(json.dumps, lines))
    if wrong or not counts.get("end: ended"):
        return f"the rule of a server that ends leases differs from itself: {wrong[:1]}, {sorted(counts)}"
    for said in (True, False):
        others = [dict(line) for line in transitions(count, 7, ends_leases=not said)]
        for line in others:
            line["before"] = {**line["before"], "server": {**line["before"]["server"], "ends_leases": said}}
        kinds = ("acquire", "renew", "purge")
        of_each = {kind: [json.dumps(line) for line in others if line["request"]["kind"] == kind] for kind in kinds}
        for kind, some in of_each.items():
            if not replayed(some)[0]:
                return f"{kind} of a server that says wrongly whether it ends leases went unnoticed"
    return None


def differs(line):
    return bool(replayed([json.dumps(line)])[0])
