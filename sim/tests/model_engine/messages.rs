//! Faults of messages.

use tenure_sim::plan::{FaultKind, LinkFault, LinksFault, ProcessFault, What};
use tenure_sim::trace::{Answer, Asked, Event, Fate, StoreStep};

use super::{TTL_MS, at, ends, held, leads, seen, with};

/// A time at which the first tenure is well established: it begins at about 3,000 ms.
const LATER: u64 = 2 * TTL_MS;

#[test]
fn a_partitioned_lead_ends_before_the_next() {
    let entries = held(&with(&[at(LATER, 2 * TTL_MS, LinkFault::Partition.at(None))]));
    let (leads, ends) = (leads(&entries), ends(&entries));
    assert_eq!(leads.len(), 2, "{leads:?}");
    assert_ne!(leads[0].1, leads[1].1);
    // A stop margin of a tenth of the TTL, and the time that drift may take.
    assert!(ends[0].0 + TTL_MS / 10 <= leads[1].0, "{ends:?} {leads:?}");
}

#[test]
fn a_one_way_partition_blocks_one_direction() {
    let renewals = |to_store| {
        let entries = held(&with(&[at(LATER, TTL_MS, LinkFault::OneWay { to_store }.at(None))]));
        seen(&entries, |event| match event {
            Event::Store(step) => {
                matches!(step.request, Asked::Renew { .. }).then_some(step.answer)
            }
            _ => None,
        })
        .into_iter()
        .filter(|(at, _)| (LATER..LATER + TTL_MS).contains(at))
        .count()
    };
    assert_eq!(renewals(true), 0);
    assert!(renewals(false) > 0);
}

#[test]
fn held_messages_arrive_when_the_hold_is_over() {
    let entries = held(&with(&[at(LATER, TTL_MS / 2, LinkFault::Hold.at(None))]));
    let steps = seen(&entries, |event| match event {
        Event::Store(step) => matches!(step.request, Asked::Renew { .. }).then_some(()),
        _ => None,
    });
    let during = |(at, ()): &&(u64, ())| (LATER + 2..LATER + TTL_MS / 2).contains(at);
    let after = |(at, ()): &&(u64, ())| (LATER + TTL_MS / 2..LATER + TTL_MS / 2 + 3).contains(at);
    assert_eq!(steps.iter().filter(during).count(), 0, "{steps:?}");
    assert!(steps.iter().filter(after).count() > 0, "{steps:?}");
}

#[test]
fn message_faults_have_the_planned_rates() {
    let fates = |what| {
        let entries = held(&with(&[at(1, 7 * TTL_MS, what)]));
        seen(&entries, |event| match event {
            Event::Message { fate, who, .. } => Some((*fate, who.node)),
            _ => None,
        })
    };
    let node = Some(1);
    for (what, wanted) in [
        (LinkFault::Loss { permille: 500 }.at(node), Fate::Lost),
        (LinkFault::Duplicate { permille: 500, most_ms: 50 }.at(node), Fate::Duplicated),
        (LinkFault::Reorder { permille: 500, most_ms: 50 }.at(node), Fate::Overtaken),
    ] {
        let fates = fates(what);
        assert!(fates.len() > 2, "{what:?}: {fates:?}");
        assert!(fates.iter().all(|(_, fate)| *fate == (wanted, 1)), "{what:?}: {fates:?}");
    }
}

#[test]
fn latency_reaches_its_bound_and_no_further() {
    let entries = held(&with(&[at(1, 7 * TTL_MS, LinkFault::Latency { most_ms: 40 }.at(Some(1)))]));
    let sent = seen(&entries, |event| match event {
        Event::Sent { who, id, .. } if who.node == 1 => Some(*id),
        _ => None,
    });
    let answered = seen(&entries, |event| match event {
        Event::Answered { who, id, .. } if who.node == 1 => Some(*id),
        _ => None,
    });
    let took: Vec<u64> = answered
        .iter()
        .map(|(at, id)| at - sent.iter().find(|(_, of)| of == id).expect("asked before").0)
        .collect();
    assert!(took.iter().any(|took| *took > 20) && took.iter().all(|took| *took <= 81), "{took:?}");
}

#[test]
fn a_cut_drops_requests_and_reconnects() {
    let entries = held(&with(&[
        at(LATER - 1, 40, LinkFault::Latency { most_ms: 1_000 }.at(None)),
        at(LATER + 10, 0, LinkFault::Cut.at(None)),
    ]));
    // The leader keeps leading.
    assert_eq!(leads(&entries).len(), 1);
}

#[test]
fn a_swizzle_partitions_and_heals_each_node() {
    let entries = held(&with(&[at(
        LATER,
        TTL_MS,
        What::Links(LinksFault::Swizzle { step_ms: 100, shift: 1 }),
    )]));
    let edges = |began: bool| {
        seen(&entries, |event| match event {
            Event::Fault { kind: FaultKind::Swizzle, node } if began => *node,
            Event::Healed { kind: FaultKind::Swizzle, node } if !began => *node,
            _ => None,
        })
        .into_iter()
        .map(|(_, node)| node)
        .collect::<Vec<_>>()
    };
    assert_eq!(edges(true), [0, 1, 2]);
    assert_eq!(edges(false), [1, 2, 0]);
}

#[test]
fn a_late_duplicate_acquire_is_not_granted() {
    let long = 7 * TTL_MS;
    let faults: Vec<_> = (0..3)
        .flat_map(|node| {
            let node = Some(node);
            let what = LinkFault::Duplicate { permille: 1_000, most_ms: long }.at(node);
            [at(0, long, what), at(LATER, 5 * TTL_MS, ProcessFault::Leave.at(node))]
        })
        .collect();
    let entries = held(&with(&faults));
    let stale = seen(&entries, |event| match event {
        Event::Store(StoreStep {
            request: Asked::Acquire { seen, .. }, answer, before, ..
        }) => {
            let is_free = before.is_some_and(|before| before.released && *seen < before.token);
            (is_free && matches!(answer, Answer::Not { .. })).then_some(())
        }
        _ => None,
    });
    assert!(!stale.is_empty());
}

/// A duplicate of a dead leader's renewal once arrived 45 s after the recovery phase began, just
/// before the lease's end. The other candidates had to wait for another TTL (seed 642868 of a
/// campaign, shrunk).
#[test]
fn no_duplicate_arrives_late_in_the_recovery_phase() {
    let what = LinkFault::Duplicate { permille: 1_000, most_ms: 60_000 }.at(None);
    let entries = held(&with(&[at(LATER, 6 * TTL_MS - 1, what)]));
    let sent = seen(&entries, |event| matches!(event, Event::Sent { .. }).then_some(()));
    let steps = seen(&entries, |event| matches!(event, Event::Store(_)).then_some(()));
    // By then all messages that were in flight when the recovery phase began have arrived, and no
    // others are in flight.
    let calm = 8 * TTL_MS + 4;
    let (sent, steps) = (count(&sent, calm), count(&steps, calm));
    assert!(steps.0 > sent.0, "{steps:?} {sent:?}");
    assert_eq!(steps.1, sent.1);
}

/// The number of moments before that one, and the number of the others.
fn count(moments: &[(u64, ())], moment: u64) -> (usize, usize) {
    let before = moments.iter().filter(|(at, ())| *at < moment).count();
    (before, moments.len() - before)
}
