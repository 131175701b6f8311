"""What a store does with one request: the watching rule, for proof (z3 terms), search and replay (plain values).

The store has no clock in it. A candidate that has to wait does so by its own clock, and says what it has watched; the
store compares that with what it keeps. Times are in any one unit.

record   exists, token, holder, number (with the holder: the mark), released, reserved, reserved_for, reserve, ttl,
         quarantine, wanted, asked, defer
past     exists, identity (of the server that it is about), stamp, watched, longest, purged. Keys share it; a store that
         can't do that keeps one for each key, and it stays when the record is purged
server   identity, fresh (a stamp that was never given before), wall (its clock; only new tokens use it)
request  first (on its connection), and what its kind needs; holder, number, name say whose it is. An acquire may tell
         that its candidate has watched a mark (`watches`: mark_holder, mark_number), a stamp (`knows`: stamp, watched:
         for how long), and the loss of a token that it has seen (`loses`: lost, the token that was left)

`ends_leases`: the rule at a server that ends leases itself, by its own clock, as etcd does. It keeps a lease beside the
record, and a renewal extends that one and writes no mark. So a lease that it keeps can't be taken, however long it was
watched; one that it has ended (`end`) was given back for nobody. What is proved is the rule without it.

`planted` names one change of the rule for the worse; PLANTS has them all.
"""

from logic import And, If, Not, Or, Row, most

NOBODY, ANYBODY = 0, 1  # instead of a name in `wanted`, `asked` and `reserved_for`
LARGEST_WALL = 2**52

PLANTS = {
    "mark-not-compared": "only the holder of the watched mark is compared",
    "renewal-keeps-mark": "a renewal writes no new mark",
    "repeat-keeps-mark": "a repeated grant writes no new mark",
    "reservation-grants": "a wished name is granted a lease that nobody gave back",
    "renew-any": "a renewal does not compare holder and token",
    "release-any": "a release does not compare holder and token",
    "seen-not-compared": "a lease that was given back is granted whatever the candidate has seen",
    "past-ignored": "a grant does not look at the past",
    "repeat-ignores-past": "a repeated grant does not look at the past",
    "stamp-keeps-watched": "a new stamp counts as watched as long as the one before",
    "stamp-repeats": "a stamp is made of holder and number alone (so `fresh` is not)",
    "identity-at-first-only": "the server's identity is not read where a grant would be made",
    "lost-not-compared": "a lost grant that is news is granted on an old watch",
    "longest-forgotten": "the past does not keep the longest TTL",
    "purge-unwatched": "a purge needs no watch",
    "purge-forgets-token": "a purge does not keep the token",
    "purged-not-compared": "an election without a record is granted whatever the candidate has seen",
    "ask-any": "a wish to lead does not name the tenure",
    "want-any": "an operator's wish does not name the tenure",
}


class Rule:
    def __init__(self, planted="", ends_leases=False):
        self.planted, self.ends_leases = planted, ends_leases

    def last(self, rec, past):
        """The last token that is known of; of an election without a record, the highest that was purged."""
        return If(rec.exists, rec.token, If(past.exists, past.purged, 0))

    # The past

    def stamped(self, past, server):
        return past.but(stamp=server.fresh, watched=past.watched if self.planted == "stamp-keeps-watched" else 0)

    def examined(self, past, server, reads, trusted=False, forever=0):
        """A server that the past does not name may have lost grants."""
        strange = Or(Not(past.exists), past.identity != server.identity)
        begun = self.stamped(past, server).but(exists=True, identity=server.identity)
        begun = begun.but(longest=If(past.exists, past.longest, 0), purged=If(past.exists, past.purged, 0))
        if trusted is not False:
            begun = begun.but(watched=If(And(trusted, Not(past.exists)), forever, begun.watched))
        return If(And(reads, strange), begun, past)

    def watched(self, past, q):
        """The past, after a candidate has told for how long it watched this very stamp."""
        same = And(q.knows, past.exists, q.stamp == past.stamp)
        return past.but(watched=If(same, most(past.watched, q.watched), past.watched))

    def unwatched(self, past, quarantine):
        return Or(Not(past.exists), past.watched < most(quarantine, past.longest))

    # Acquire

    def tenure(self, rec, q):
        return And(rec.exists, Not(rec.released), rec.holder == q.holder, rec.token == q.token)

    def vacant(self, rec, past, q):
        known = Or(Not(past.exists), q.seen >= past.purged)
        return And(Not(rec.exists), True if self.planted == "purged-not-compared" else known)

    def free(self, rec, q):
        """Given back to this candidate, by settings that agree. A late duplicate has not seen the last token."""
        agrees = And(q.quarantine >= rec.ttl, rec.quarantine >= q.ttl)
        allowed = Or(Not(rec.reserved), rec.reserved_for == q.name)
        knows = True if self.planted == "seen-not-compared" else q.seen >= rec.token
        free = And(rec.exists, rec.released, allowed, knows, agrees)
        if self.planted == "reservation-grants":
            return Or(free, And(rec.exists, knows, rec.wanted == q.name))
        return free

    def taken(self, rec, q):
        """The candidate has watched this very mark for as long as the record demands."""
        same = q.mark_holder == rec.holder
        if self.planted != "mark-not-compared":
            same = And(same, q.mark_number == rec.number)
        if self.ends_leases:
            same = And(same, rec.released)
        return And(q.watches, rec.exists, same)

    def acquire(self, rec, past, server, q):
        last = self.last(rec, past)
        mine = And(rec.exists, Not(rec.released), rec.holder == q.holder)
        others = And(Not(mine), Or(self.vacant(rec, past, q), self.free(rec, q), self.taken(rec, q)))
        reads = q.first if self.planted == "identity-at-first-only" else Or(q.first, mine, others)
        past = self.examined(past, server, reads, And(q.trusts, q.seen <= last), q.forever)

        news = And(q.seen > last, Not(And(q.loses, q.lost == last)))
        if self.planted == "lost-not-compared":
            news = False
        # Only a past that was watched: otherwise two candidates would stamp each other away for ever.
        past = If(And(news, past.exists, past.watched > 0), self.stamped(past, server), past)
        past = If(news, past, self.watched(past, q))

        settled = And(past.exists, Not(self.unwatched(past, q.quarantine)))
        if self.planted == "past-ignored":
            settled = True
        granted = And(Not(news), settled, others)
        again = And(Not(news), Or(settled, self.planted == "repeat-ignores-past"), mine)

        token = most(most(last, q.seen) + 1, If(server.wall <= LARGEST_WALL, server.wall, 0))
        if self.planted != "longest-forgotten":
            past = past.but(longest=If(granted, most(past.longest, q.ttl), past.longest))
        new = rec.but(
            exists=True, token=token, holder=q.holder, number=q.number, released=False, reserved=False,
            reserved_for=NOBODY, reserve=0, ttl=q.ttl, quarantine=q.quarantine, wanted=NOBODY, asked=NOBODY,
            defer=0,
        )  # fmt: skip
        longer = rec.number if self.planted == "repeat-keeps-mark" else most(rec.number, q.number)
        after = If(granted, new, If(again, rec.but(number=longer), rec))
        return after, past, Row(granted=Or(granted, again), new=granted, **self.told(after, past, q.quarantine))

    # The other requests

    def told(self, rec, past, quarantine):
        """What an answer tells a waiting candidate."""
        return dict(last=self.last(rec, past), tells=self.unwatched(past, quarantine), stamped=past.exists)

    def look(self, rec, past, server, q):
        past = self.examined(past, server, q.first)
        return rec, past, Row(**self.told(rec, past, q.quarantine))

    def renew(self, rec, past, server, q):
        past = self.examined(past, server, q.first)
        renewed = And(rec.exists, Not(rec.released)) if self.planted == "renew-any" else self.tenure(rec, q)
        newer = And(renewed, q.number > rec.number)
        number = rec.number if self.planted == "renewal-keeps-mark" or self.ends_leases else q.number
        after = If(newer, rec.but(number=number, asked=NOBODY, defer=0), rec)
        past = If(newer, self.watched(past, q), past)
        told = self.told(rec, past, rec.quarantine)
        return after, past, Row(renewed=renewed, asked=rec.asked, wanted=rec.wanted, **told)

    def release(self, rec, past, server, q):
        past = self.examined(past, server, q.first)
        done = And(rec.exists, Not(rec.released)) if self.planted == "release-any" else self.tenure(rec, q)
        reserve = If(q.reserves, q.reserve, 0)
        kept = rec.but(released=True, reserved=q.reserves, reserved_for=If(q.reserves, q.to, NOBODY), reserve=reserve)
        return If(done, kept, rec), past, Row(released=done)

    def ask(self, rec, past, server, q):
        past = self.examined(past, server, q.first)
        named = And(rec.exists, Not(rec.released), True if self.planted == "ask-any" else rec.token == q.token)
        wished = And(rec.asked != NOBODY, Or(rec.wanted == ANYBODY, rec.wanted == rec.asked))
        after = If(And(named, Not(wished)), rec.but(asked=q.name, defer=q.defer), rec)
        return after, past, Row(**self.told(after, past, q.quarantine))

    def want(self, rec, past, server, q):
        past = self.examined(past, server, q.first)
        named = And(rec.exists, Not(rec.released), True if self.planted == "want-any" else rec.token == q.token)
        return If(named, rec.but(wanted=q.wanted), rec), past, Row(done=named)

    def purge(self, rec, past, server, q):
        """`watches`: the purger has watched the mark for the longer of TTL and quarantine."""
        past = self.examined(past, server, q.first)
        same = And(rec.exists, q.mark_holder == rec.holder, q.mark_number == rec.number)
        watched = False if self.ends_leases else q.watches
        done = And(same, past.exists, True if self.planted == "purge-unwatched" else Or(rec.released, watched))
        if self.planted != "purge-forgets-token":
            past = past.but(purged=If(done, most(past.purged, rec.token), past.purged))
        return rec.but(exists=And(rec.exists, Not(done))), past, Row(purged=done)

    def end(self, rec, past, server, q):
        """No request: the server has ended the lease."""
        ended = rec.but(released=True, reserved=False, reserved_for=NOBODY, reserve=0)
        return If(And(self.ends_leases, rec.exists, Not(rec.released)), ended, rec), past, Row()
