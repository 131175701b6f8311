"""Logic that means the same for plain values and for z3 terms, so that one program serves for proof, search and replay.

z3 is looked up only once it was imported: a replay runs without it.
"""

import sys
from fractions import Fraction


def is_term(*values):
    z3 = sys.modules.get("z3")
    return z3 is not None and any(isinstance(value, z3.ExprRef) for value in values)


def And(*parts):
    if not is_term(*parts):
        return all(parts)
    if any(part is False for part in parts):
        return False
    return sys.modules["z3"].And(*[part for part in parts if part is not True])


def Or(*parts):
    if not is_term(*parts):
        return any(parts)
    if any(part is True for part in parts):
        return True
    return sys.modules["z3"].Or(*[part for part in parts if part is not False])


def Not(value):
    return sys.modules["z3"].Not(value) if is_term(value) else not value


def Implies(condition, value):
    return Or(Not(condition), value)


def If(condition, yes, no):
    """Also of two rows, field by field."""
    if yes is no:
        return yes
    if not is_term(condition):
        return yes if condition else no
    if isinstance(yes, Row):
        return Row(**{name: If(condition, value, getattr(no, name)) for name, value in yes.__dict__.items()})
    if not is_term(yes, no) and yes == no:
        return yes
    return sys.modules["z3"].If(condition, _term(yes), _term(no))


def _term(value):
    z3 = sys.modules["z3"]
    if isinstance(value, bool):
        return z3.BoolVal(value)
    if isinstance(value, Fraction):
        return z3.RealVal(str(value))
    return z3.IntVal(value) if isinstance(value, int) else value


def most(one, other):
    return If(one > other, one, other)


def equal(one, other):
    """Whether two values or rows are the same, in every field."""
    if isinstance(one, Row):
        return And(*[equal(value, getattr(other, name)) for name, value in one.__dict__.items()])
    return one == other


def pick(items, index):
    """The item at a place that may be a term."""
    if not is_term(index):
        return items[index]
    found = items[0]
    for place, item in enumerate(items[1:], 1):
        found = If(index == place, item, found)
    return found


class Row:
    """Named values."""

    def __init__(self, **fields):
        self.__dict__.update(fields)

    def but(self, **fields):
        unknown = fields.keys() - self.__dict__.keys()
        assert not unknown, unknown
        return Row(**{**self.__dict__, **fields})

    def __repr__(self):
        return "{" + ", ".join(f"{name}: {value}" for name, value in self.__dict__.items()) + "}"
