"""What a candidate may claim, ask for and send: the guards that the proof rests on, for terms and plain values.

The proof knows nothing else of the state machine, so a machine is proved with the rest if it keeps them:
  1. a claim counts from when the request left that the answer answers (`base`), only of the request in flight;
  2. no number is used twice;
  3. a watch is used only after it took as long as it must, and begins with the input that first told what is watched;
     a mark that was newly released, a loss and a suspended machine begin it anew;
  4. a release is sent only once the work has drained;
  5. no claim after one has passed;
  6. only its own tenure is renewed;
  7. an acquire leaves under a new holder id once the claim of the first one under the old id would be over.
"""

from logic import And, If, Not, Or, Row, most

NEXT_ID = 100  # from one holder id of a candidate to its next

PLANTS = {
    "no-drift": "a claim lasts for the whole TTL",
    "no-margin": "a claim lasts for the stop margin longer",
    "claim-from-receipt": "a claim counts from the receipt of the answer",
    "late-claim": "a late answer begins a claim after the last one has passed",
    "numbers-start-over": "numbers are used twice",
    "not-watched": "a mark is used at once",
    "watch-from-sending": "a mark is watched from the sending of the request",
    "ttl-of-its-own": "a mark is watched for the candidate's TTL, not for the record's",
    "past-not-watched": "a stamp is used at once",
    "past-from-sending": "a stamp is watched from the sending of the request",
    "quarantine-below-ttl": "the quarantine is shorter than another's TTL, and nothing remembers that TTL",
    "release-before-drained": "a release is sent while work drains",
    "lost-at-once": "a loss is told before the candidate has watched since",
    "lost-by-quarantine-alone": "a loss is watched for the candidate's quarantine, not for the longest TTL of the past",
    "lost-by-older-answer": "a loss is taken from an answer to an earlier request",
    "lost-by-stale-look": "looks are answered by a replica that is behind",
    "reserve-from-before": "a mark that was newly released is watched from before",
    "resume-keeps-marks": "a suspended machine keeps its watch of a mark",
    "resume-keeps-past": "a suspended machine keeps its watch of the past",
    "id-kept": "a campaign keeps its holder id",
    "id-young-if-answered": "an answer to an acquire makes the holder id young again",
}


def validity(ttl, margin, rho, planted=""):
    """How long a claim lasts. Work under it drains for the stop margin after that."""
    if planted == "no-drift":
        return ttl - margin
    whole = ttl * (1 - rho) / (1 + rho)
    return whole if planted == "no-margin" else whole - margin


def demand(rec, me, planted=""):
    """How long this record's mark has to be watched."""
    mine = Or(Not(rec.reserved), rec.reserved_for == me.name)
    kept = If(rec.released, If(mine, 0, rec.reserve), me.ttl if planted == "ttl-of-its-own" else rec.ttl)
    agrees = And(me.quarantine >= rec.ttl, rec.quarantine >= me.ttl)
    return most(kept, If(agrees, 0, most(rec.ttl, rec.quarantine)))


def sees(watch, rec, now, me, planted=""):
    """The watch of a mark, after an answer that told the record."""
    same = And(watch.holder == rec.holder, watch.number == rec.number)
    if planted != "reserve-from-before":
        same = And(same, watch.released == rec.released)
    since = If(And(watch.begun, same), watch.since, now)
    seen = Row(begun=True, holder=rec.holder, number=rec.number, released=rec.released, since=since,
               need=demand(rec, me, planted), purge=most(rec.ttl, rec.quarantine))  # fmt: skip
    return If(rec.exists, seen, watch.but(begun=False))


def sees_past(watch, past, tells, now, me):
    """The watch of a stamp, after an answer that told it, or that it was watched."""
    since = If(And(watch.begun, watch.stamp == past.stamp), watch.since, now)
    seen = Row(begun=True, stamp=past.stamp, since=since, need=most(me.quarantine, past.longest))
    return If(tells, seen, watch.but(begun=False))


def learns(me, last, now):
    """The highest token seen, and the loss of it: an answer below it, other than the one that told the loss already."""
    below = last < me.seen
    news = And(below, Not(And(me.loses, me.lost == last)))
    return dict(seen=most(me.seen, last), loses=below, lost=If(below, last, me.lost), lost_at=If(news, now, me.lost_at))


def may_tell_loss(me, now, longest, planted=""):
    """Watched out: by the candidate itself, since it was told, whatever others have watched."""
    need = me.quarantine if planted == "lost-by-quarantine-alone" else most(me.quarantine, longest)
    waited = True if planted == "lost-at-once" else now >= me.lost_at + need
    return And(me.loses, waited)


def asks(me, now, validity, planted=""):
    """The holder id that an acquire leaves under, and its age: it counts from the first acquire, answered or not."""
    late = False if planted == "id-kept" else And(me.asked, now >= me.asked_at + validity)
    begins = Or(Not(me.asked), late)
    return dict(id=If(late, me.id + NEXT_ID, me.id), asked=True, asked_at=If(begins, now, me.asked_at))


def answered(me, planted=""):
    """The age of the holder id after an answer to an acquire that was not granted."""
    return dict(asked=And(me.asked, planted != "id-young-if-answered"))
