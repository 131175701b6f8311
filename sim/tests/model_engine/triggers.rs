//! Faults that begin at a point of the run.

use tenure_sim::plan::{Fault, FaultKind, Point, ProcessFault, RequestKind, Trigger, What, When};
use tenure_sim::trace::{Answer, Entry, Event};

use super::{TTL_MS, held, leads, seen, with};

fn on(point: Point, of: Option<RequestKind>, nth: u32, for_ms: u64, what: What) -> Fault {
    let when = When::On(Trigger { point, node: None, of, nth, after_ms: 0 });
    Fault { when, for_ms, what }
}

fn began(entries: &[Entry]) -> Vec<(u64, (FaultKind, Option<usize>))> {
    seen(entries, |event| match event {
        Event::Fault { kind, node } => Some((*kind, *node)),
        _ => None,
    })
}

#[test]
fn a_pause_begins_at_the_third_reply() {
    let pause = ProcessFault::Pause.at(None);
    let entries = held(&with(&[on(Point::Reply, Some(RequestKind::Renew), 3, 200, pause)]));
    let began = began(&entries);
    let leader = leads(&entries)[0].1;
    assert_eq!(began.len(), 1);
    assert_eq!(began[0].1, (FaultKind::PauseAtReply, Some(leader)));
    let read = seen(&entries, |event| match event {
        Event::Answered { answer: Some(Answer::Renewed { .. }), .. } => Some(()),
        _ => None,
    });
    assert_eq!(read[2].0, began[0].0 + 200, "{read:?}");
}

#[test]
fn a_pause_before_sending_delays_the_message() {
    let pause = ProcessFault::Pause.at(None);
    let entries = held(&with(&[on(Point::Send, Some(RequestKind::Renew), 2, 150, pause)]));
    let (at, (kind, _)) = began(&entries)[0];
    assert_eq!(kind, FaultKind::PauseAtSend);
    let sent = seen(&entries, |event| match event {
        Event::Sent { request: tenure_sim::trace::Asked::Renew { .. }, .. } => Some(()),
        _ => None,
    });
    assert_eq!(sent[1].0, at + 150);
}

#[test]
fn a_write_after_a_pause_is_fenced_off() {
    let pause = ProcessFault::Pause.at(None);
    let fault = Fault {
        when: When::On(Trigger { point: Point::Guard, node: None, of: None, nth: 5, after_ms: 0 }),
        for_ms: 3 * TTL_MS,
        what: pause,
    };
    let entries = held(&with(&[fault]));
    let stale = seen(&entries, |event| match event {
        Event::Wrote { who, checked, accepted_by_fenced: false, .. } => Some((who.node, *checked)),
        _ => None,
    });
    assert_eq!(stale.len(), 1, "{stale:?}");
    assert_eq!(stale[0].1.0, leads(&entries)[0].1);
}

#[test]
fn a_fault_strikes_where_its_trigger_fired() {
    let crash = ProcessFault::Crash { power: false }.at(None);
    for (point, wanted) in [(Point::Leads, 0), (Point::Grant, 0)] {
        let entries = held(&with(&[on(point, None, 1, 100, crash)]));
        let (at, (kind, node)) = began(&entries)[0];
        assert_eq!(kind, FaultKind::Crash);
        if point == Point::Leads {
            assert_eq!((at, node), (leads(&entries)[wanted].0, Some(leads(&entries)[wanted].1)));
        } else {
            let granted = seen(&entries, |event| match event {
                Event::Store(step) => matches!(step.answer, Answer::Granted { .. }).then_some(()),
                _ => None,
            });
            assert!(at == granted[0].0 && node.is_some(), "{at} {granted:?}");
        }
    }
}

#[test]
fn triggers_do_not_fire_in_the_recovery_phase() {
    let crash = ProcessFault::Crash { power: false }.at(None);
    let entries = held(&with(&[on(Point::Leads, None, 2, 100, crash)]));
    assert!(began(&entries).is_empty());
}
