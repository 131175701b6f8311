//! Every event reaches the page.

use super::collect::items;
use super::item::{Item, Kind};
use super::senders::Senders;
use super::{RunPage, run_page};
use crate::engines::Engine;
use crate::judge::properties::history::{
    answered, asks, crashed, elected, grant, granted, kept, leads, leads_no_more, n, release,
    renew, renewed, sent, stepped_down, wrote,
};
use crate::judge::{Judging, Outcome};
use crate::plan::{FaultKind, Plan, Scope, SimTime, ns, swarm};
use crate::trace::{Answer, Asked, Entry, Event, Fate, Reason};

fn outcome(seed: u64) -> (Plan, Outcome) {
    let plan = swarm(seed, &FaultKind::ALL, Scope::Model);
    let outcome = Engine::Model.run(&plan, Judging::default()).expect("a run");
    (plan, outcome)
}

fn of(history: impl IntoIterator<Item = (u64, Event)>) -> Vec<Item> {
    let history = history.into_iter().map(|(at, event)| Entry { at: ns(at), event });
    items(&history.collect::<Vec<_>>(), &[], ns(1_000))
}

/// The beginnings and ends of the items of a kind, in nanoseconds.
fn spans(items: &[Item], kind: Kind) -> Vec<(u64, Option<u64>)> {
    let span = |item: &Item| (item.at.as_nanos(), item.until.map(SimTime::as_nanos));
    items.iter().filter(|item| item.kind == kind).map(span).collect()
}

#[test]
fn every_event_is_drawn_once() {
    for seed in 1..=60 {
        let (_, outcome) = outcome(seed);
        let entries = outcome.trace.entries();
        let items = items(entries, &[], SimTime::START + outcome.simulated);
        let happened = |is: fn(&Event) -> bool| entries.iter().filter(|of| is(&of.event)).count();
        let drawn = |kind| items.iter().filter(|item| item.kind == kind).count();
        let same = [
            (Kind::Claim, happened(|event| matches!(event, Event::Elected { .. }))),
            (Kind::Renewal, happened(|event| matches!(event, Event::Renewed { .. }))),
            (Kind::Leads, happened(|event| matches!(event, Event::Leads { .. }))),
            (Kind::Fault, happened(|event| matches!(event, Event::Fault { .. }))),
            (Kind::Effect, happened(|event| matches!(event, Event::Wrote { .. }))),
            (Kind::Crashed, happened(|event| matches!(event, Event::Crashed { .. }))),
            (Kind::Quarantine, happened(|event| matches!(event, Event::Watches { .. }))),
        ];
        for (kind, count) in same {
            assert_eq!(drawn(kind), count, "seed {seed}: {kind:?}");
        }
        let served = items.iter().filter_map(|item| item.way.as_ref()).map(|way| way.store.len());
        let steps = happened(|event| matches!(event, Event::Store(_)));
        assert_eq!(served.sum::<usize>(), steps, "seed {seed}");
        let is_in_order = |item: &Item| item.until.is_none_or(|until| until >= item.at);
        assert!(items.iter().all(is_in_order), "seed {seed}");
    }
}

#[test]
fn every_step_has_its_sender() {
    for seed in 1..=60 {
        let (_, outcome) = outcome(seed);
        let entries = outcome.trace.entries();
        let senders = Senders::of(entries);
        for (index, entry) in entries.iter().enumerate() {
            if let Event::Store(step) = &entry.event {
                let sent = senders.sent(index).unwrap_or_else(|| panic!("seed {seed}: {step:?}"));
                let Event::Sent { who, request, .. } = entries[sent].event else { panic!() };
                assert!(
                    [request, request.as_told()].contains(&step.request),
                    "seed {seed}: {request:?}"
                );
                if !matches!(request, Asked::Look { .. }) {
                    assert_eq!(Some(who), senders.who(step.holder));
                }
            }
        }
    }
}

#[test]
fn a_claim_ends_by_itself_or_sooner() {
    let history = [
        (10, elected(n(0), 5, 100)),
        (50, renewed(n(0), 5, 140)),
        (200, stepped_down(n(0), 5, Reason::Expired)),
        (300, elected(n(1), 6, 400)),
        (350, crashed(n(1))),
    ];
    assert_eq!(spans(&of(history), Kind::Claim), [(10, Some(140)), (300, Some(350))]);
}

#[test]
fn a_quarantine_ends_without_an_election() {
    let waits = |at| (at, Event::Watches { who: n(0) });
    let told = |at, past_is_watched| (at, answered(n(0), 9, Answer::Not { past_is_watched }));
    let spans_of = |history: Vec<(u64, Event)>| spans(&of(history), Kind::Quarantine);
    assert_eq!(spans_of(vec![waits(10), told(20, false), told(30, true)]), [(10, Some(30))]);
    assert_eq!(
        spans_of(vec![waits(10), (40, Event::Withdrawn { who: n(0), done: true })]),
        [(10, Some(40))]
    );
    assert_eq!(spans_of(vec![waits(10), told(20, false)]), [(10, Some(1_000))]);
}

#[test]
fn tokens_have_numbers_and_full_values() {
    let (low, high) = (1_700_000_000_000_001, 1_700_000_000_000_002);
    let items = of([(1, leads(n(1), high)), (9, leads_no_more(n(1))), (20, leads(n(0), low))]);
    let tokens: Vec<_> = items.iter().map(|item| (&*item.label, &*item.facts[0].1)).collect();
    let [low, high] = [format!("#1, {low}"), format!("#2, {high}")];
    assert_eq!(tokens, [("#2", &*high), ("#1", &*low)]);
}

#[test]
fn leads_end_with_the_answer_or_the_run() {
    let items = of([(1, leads(n(0), 5)), (9, leads_no_more(n(0))), (20, leads(n(1), 6))]);
    assert_eq!(spans(&items, Kind::Leads), [(1, Some(9)), (20, Some(1_000))]);
}

#[test]
fn a_lease_runs_out_or_is_handed_back() {
    let (first, second) = (kept(7, 5, 100), kept(8, 6, 300));
    let longer = kept(7, 5, 150);
    let items = of([
        (10, grant(None, first)),
        (60, renew(first, 150)),
        (200, grant(Some(longer), second)),
        (250, release(second)),
    ]);
    assert_eq!(spans(&items, Kind::Lease), [(10, Some(150)), (200, Some(250))]);
    let tones: Vec<_> =
        items.iter().filter(|item| item.kind == Kind::Lease).map(|of| of.tone).collect();
    assert_eq!(tones, ["expired", "released"]);
}

#[test]
fn a_lost_message_has_its_leg() {
    let fate = |to_store| Event::Message { who: n(0), to_store, fate: Fate::Lost };
    let asks = asks(0);
    let items = of([
        (10, sent(n(0), 1, asks)),
        (10, fate(true)),
        (20, sent(n(0), 2, asks)),
        (25, grant(None, kept(7, 5, 100))),
        (25, fate(false)),
        (40, sent(n(0), 3, Asked::Renew { token: 5 })),
        (45, fate(false)),
    ]);
    let lost: Vec<_> = items.iter().filter_map(|item| item.way.as_ref()?.lost).collect();
    assert_eq!(lost, ["to-store", "to-node"]);
    assert_eq!(items.iter().filter(|item| item.tone == "fate").count(), 1, "a hint is lost too");
}

#[test]
fn an_answer_ends_its_message() {
    let asks = asks(0);
    let items = of([
        (10, sent(n(0), 1, asks)),
        (15, grant(None, kept(7, 5, 100))),
        (30, answered(n(0), 1, granted(5))),
    ]);
    assert_eq!(spans(&items, Kind::Message), [(10, Some(30))]);
}

#[test]
fn stale_writes_are_marked() {
    let items = of([
        (1, wrote(n(0), 5, true)),
        (2, wrote(n(1), 6, true)),
        (3, wrote(n(0), 5, false)),
        (4, wrote(n(0), 5, true)),
    ]);
    let tones: Vec<_> = items.iter().map(|item| item.tone).collect();
    assert_eq!(tones, ["accepted", "accepted", "fenced", "stale"]);
}

#[test]
fn the_same_run_gives_the_same_page() {
    let page = || {
        let (plan, outcome) = outcome(9);
        run_page(&RunPage::of("model", &plan, &outcome))
    };
    assert_eq!(page(), page());
}
