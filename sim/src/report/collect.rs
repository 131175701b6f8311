//! Turns the events of a run into items to draw: spans with two ends, and marks.

use std::collections::BTreeMap;
use std::time::Duration;

use super::item::{Item, Kind, seconds};
use super::leases::Leases;
use super::messages::Messages;
use super::senders::Senders;
use super::tokens::Tokens;
use crate::judge::properties::{PropertyName, Violation};
use crate::plan::{FaultKind, Place, SimTime};
use crate::trace::{Answer, Entry, Event, Reason, Who};

/// All items of a run, unordered.
pub(super) fn items(entries: &[Entry], violations: &[Violation], end: SimTime) -> Vec<Item> {
    let senders = Senders::of(entries);
    let tokens = Tokens::of(entries);
    let (leases, of_texts) = (Leases::new(tokens.clone()), tokens.clone());
    let mut collected = Collected { tokens, leases, ..Collected::default() };
    for (index, Entry { at, event }) in entries.iter().enumerate() {
        collected.see(*at, index, event, &senders);
    }
    let mut items = collected.finish(end);
    for violation in violations {
        blame(&mut items, violation);
    }
    items.extend(violations.iter().map(|violation| {
        let what = violation.finding.to_string();
        let item = Item::new(Kind::Violation, None, violation.at, violation.property.as_str());
        let is_short = of_texts.in_short(&what) == what;
        let item = item.with("what", what.as_str());
        if is_short { item } else { item.with(IN_FULL, what) }
    }));
    for item in &mut items {
        item.label = of_texts.in_short(&item.label);
        for (name, value) in &mut item.facts {
            match *name {
                IN_FULL => {}
                "token" => *value = with_number(&of_texts, value),
                _ => *value = of_texts.in_short(value),
            }
        }
    }
    items
}

/// The label of a call of a service.
const CALL: &str = "call";
/// The delay of the effect's verification after the call: a tick of the engine that runs services.
const VERIFIED_WITHIN: Duration = Duration::from_millis(1);

/// Marks the call after which a user's own property was found not to hold.
fn blame(items: &mut [Item], Violation { property, at, .. }: &Violation) {
    let is_before = |item: &&mut Item| {
        item.label == CALL && item.at <= *at && at.since(item.at) <= VERIFIED_WITHIN
    };
    let last = items.iter_mut().filter(is_before).max_by_key(|item| item.at);
    if let Some(call) = last.filter(|_| !PropertyName::ALL.contains(property)) {
        call.label = format!("call, after which {property} does not hold");
        call.tone = "stale";
    }
}

/// The name of the fact that has numbers with all their digits.
const IN_FULL: &str = "in full";

/// The number of a token, after its short name.
fn with_number(tokens: &Tokens, token: &str) -> String {
    let name = tokens.in_short(token);
    if name == token { name } else { format!("{name}, {token}") }
}

/// A span whose end is not known yet.
#[derive(Debug)]
struct Open {
    item: Item,
    /// The time at which it ends by itself.
    ends: SimTime,
}

#[derive(Debug, Default)]
struct Collected {
    items: Vec<Item>,
    /// The open spans: at most one of a kind at each process.
    open: BTreeMap<(Who, Kind), Open>,
    faults: Vec<(FaultKind, Item)>,
    tokens: Tokens,
    leases: Leases,
    messages: Messages,
    /// The highest token of a write.
    written: u64,
}

impl Collected {
    fn see(&mut self, at: SimTime, entry: usize, event: &Event, senders: &Senders) {
        match *event {
            Event::Started { who } => {
                let label = if who.life == 0 { "starts" } else { "starts again" };
                self.mark(at, who, Kind::Started, label);
            }
            Event::Crashed { who } => {
                self.mark(at, who, Kind::Crashed, "crashes");
                for kind in [Kind::Claim, Kind::Leads, Kind::Work, Kind::Quarantine] {
                    self.close(at, who, kind, "crashed");
                }
            }
            Event::Fault { kind, node } => self.fault(at, kind, node),
            Event::Effect { kind, node } => self.took_effect(at, kind, node),
            Event::Healed { kind, node } => self.healed(at, kind, node),
            Event::Calm => self.items.push(Item::new(Kind::Calm, None, at, "recovery phase")),
            Event::Store(ref step) => {
                self.leases.step(at, step, senders);
                self.messages.served(at, entry, step, senders);
            }
            Event::StoreCrashed { keeps_data } => {
                let label = if keeps_data { "crash, data kept" } else { "crash, data lost" };
                self.items.push(Item::new(Kind::StoreCrash, None, at, label));
                self.leases.crash(at, keeps_data);
            }
            Event::Sent { who, id, request } => {
                self.messages.sent(at, entry, who, id, request);
            }
            Event::Answered { who, id, answer } => {
                if answer.and_then(Answer::past_is_watched) == Some(true) {
                    self.close(at, who, Kind::Quarantine, "the past is watched");
                }
                self.messages.answered(at, who, id, answer);
            }
            Event::Message { who, to_store, fate } => {
                self.items.extend(self.messages.fate(at, who, to_store, fate));
            }
            Event::Hinted { who } => self.mark(at, who, Kind::Hint, "hint"),
            Event::CampaignAsked { .. }
            | Event::Elsewhere { .. }
            | Event::Stalled { .. }
            | Event::WaitsToBeTold { .. }
            | Event::LookBegan { .. }
            | Event::LookEnded { .. }
            | Event::CallbackBegan { .. }
            | Event::CallbackEnded { .. } => {}
            Event::DriverPanicked { who, .. } => {
                self.mark(at, who, Kind::Crashed, "its driver panics");
            }
            Event::ResignAsked { who, .. } => {
                self.mark(at, who, Kind::ResignAsked, "asked to resign");
            }
            Event::Withdrawn { who, done } => {
                self.close(at, who, Kind::Quarantine, "resigned");
                let label = if done { "has resigned" } else { "gave up on its resignation" };
                self.mark(at, who, Kind::ResignAsked, label);
            }
            Event::Elected { .. }
            | Event::Renewed { .. }
            | Event::SteppedDown { .. }
            | Event::DrainMoved { .. } => self.claim(at, event),
            Event::Watches { who } => {
                self.close(at, who, Kind::Quarantine, "begins anew");
                let item = Item::new(Kind::Quarantine, Some(who.node), at, "quarantine");
                self.open(who, item, SimTime::NEVER);
            }
            Event::Leads { who, token } => {
                let item = Item::new(Kind::Leads, Some(who.node), at, self.tokens.name(token));
                self.open(who, item.with("token", token), SimTime::NEVER);
            }
            Event::LeadsNoMore { who } => self.close(at, who, Kind::Leads, "answers no"),
            Event::WorkBegan { who, token } => {
                let label = format!("work of {}", self.tokens.name(token));
                let item = Item::new(Kind::Work, Some(who.node), at, label);
                self.open(who, item.with("token", token), SimTime::NEVER);
            }
            Event::WorkEnded { who, polled, .. } => {
                self.close(
                    at,
                    who,
                    Kind::Work,
                    if polled.is_some() { "ended by itself" } else { "dropped" },
                );
            }
            Event::Called { who, began } => self.called(at, who, began),
            Event::Wrote { who, token, checked, takes_over, accepted_by_fenced } => {
                self.wrote(at, who, token, (checked, takes_over), accepted_by_fenced);
            }
        }
    }

    /// A candidate's reports on its tenure.
    fn claim(&mut self, at: SimTime, event: &Event) {
        match *event {
            Event::Elected { who, token, claim_ends } => {
                self.close(at, who, Kind::Quarantine, "elected");
                let item = Item::new(Kind::Claim, Some(who.node), at, self.tokens.name(token));
                self.open(who, item.with("token", token), claim_ends);
            }
            Event::Renewed { who, token, claim_ends } => {
                if let Some(open) = self.open.get_mut(&(who, Kind::Claim)) {
                    open.ends = claim_ends;
                }
                let label = format!("renewed {}", self.tokens.name(token));
                let item = Item::new(Kind::Renewal, Some(who.node), at, label).with("token", token);
                self.items.push(about(item, who).with("claims until", seconds(claim_ends)));
            }
            Event::SteppedDown { who, token, reason, drain_ends } => {
                let reason = words(reason);
                self.close(at, who, Kind::Claim, reason);
                let item = Item::new(Kind::SteppedDown, Some(who.node), at, reason);
                let item = about(item, who).with("token", token);
                self.items.push(item.with("work may drain until", seconds(drain_ends)));
            }
            Event::DrainMoved { who, token, drain_ends } => {
                let item = Item::new(Kind::SteppedDown, Some(who.node), at, "drain moved");
                let item = about(item, who).with("token", token);
                self.items.push(item.with("work may drain until", seconds(drain_ends)));
            }
            _ => {}
        }
    }

    fn wrote(&mut self, at: SimTime, who: Who, token: u64, meant: (SimTime, bool), accepted: bool) {
        let (checked, takes_over) = meant;
        let is_stale = token < self.written;
        self.written = self.written.max(token);
        let (tone, label) = match (accepted, is_stale) {
            (true, false) if takes_over => ("accepted", "take-over accepted"),
            (true, false) => ("accepted", "write accepted"),
            (true, true) => ("stale", "stale write accepted by both sinks"),
            (false, _) => ("fenced", "stale write: fenced off, but accepted by the unfenced sink"),
        };
        let item = Item::new(Kind::Effect, Some(who.node), at, label).toned(tone);
        let item = about(item, who).with("token", token).with("checked", seconds(checked));
        self.items.push(item);
    }

    fn called(&mut self, at: SimTime, who: Who, began: SimTime) {
        let item = Item::new(Kind::Effect, Some(who.node), at, CALL).toned("accepted");
        self.items.push(about(item, who).with("began", seconds(began)));
    }

    fn fault(&mut self, at: SimTime, kind: FaultKind, node: Option<usize>) {
        let item = Item::new(Kind::Fault, node, at, kind.name()).toned(concerns(kind));
        let item = item.with("fault", kind.about());
        if kind.lasts() {
            self.faults.push((kind, item));
        } else {
            self.items.push(item);
        }
    }

    fn took_effect(&mut self, at: SimTime, kind: FaultKind, node: Option<usize>) {
        let lasting = self.faults.iter_mut().map(|(_, item)| item);
        let known = self.items.iter_mut().chain(lasting);
        let is_it = |item: &&mut Item| {
            item.kind == Kind::Fault && item.node == node && item.label == kind.name()
        };
        if let Some(item) = known.filter(is_it).last() {
            item.facts.push(("first effect", seconds(at)));
        }
    }

    /// Ends a fault. If several of one kind are active at one place, the trace does not show which
    /// one ends. The sum of their durations is right.
    fn healed(&mut self, at: SimTime, kind: FaultKind, node: Option<usize>) {
        let place = self.faults.iter().position(|(of, item)| *of == kind && item.node == node);
        if let Some(place) = place {
            let (_, item) = self.faults.remove(place);
            self.items.push(Item { until: Some(at), ..item });
        }
    }

    fn mark(&mut self, at: SimTime, who: Who, kind: Kind, label: &str) {
        self.items.push(about(Item::new(kind, Some(who.node), at, label), who));
    }

    fn open(&mut self, who: Who, item: Item, ends: SimTime) {
        let (at, kind) = (item.at, item.kind);
        self.close(at, who, kind, "another one began");
        self.open.insert((who, kind), Open { item: about(item, who), ends });
    }

    fn close(&mut self, at: SimTime, who: Who, kind: Kind, how: &str) {
        let Some(Open { item, ends }) = self.open.remove(&(who, kind)) else { return };
        let (until, how) = if ends < at { (ends, "over") } else { (at, how) };
        let item = item.with("ended", format!("{how}, at {}", seconds(until)));
        self.items.push(Item { until: Some(until), ..item });
    }

    fn finish(mut self, end: SimTime) -> Vec<Item> {
        let open: Vec<(Who, Kind)> = self.open.keys().copied().collect();
        for (who, kind) in open {
            self.close(end, who, kind, "the run ended");
        }
        let faults = self.faults.into_iter();
        self.items.extend(faults.map(|(_, item)| Item { until: Some(end), ..item }));
        self.items.extend(self.leases.finish(end));
        self.items.extend(self.messages.finish());
        self.items
    }
}

/// Adds the process and its life.
fn about(item: Item, who: Who) -> Item {
    item.with("process", format!("{who:?}"))
}

fn words(reason: Reason) -> &'static str {
    match reason {
        Reason::Expired => "expired",
        Reason::Superseded => "superseded",
        Reason::Resigned => "resigned",
        Reason::RenewFailed => "renewing failed",
        Reason::HandedOver => "handed over",
        Reason::Other => "another reason",
    }
}

/// The component that a fault strikes: a link, a process, or the store.
const fn concerns(kind: FaultKind) -> &'static str {
    match kind.place() {
        Place::Link => "link",
        Place::Process | Place::Clock => "process",
        Place::Store | Place::Operator => "store",
    }
}
