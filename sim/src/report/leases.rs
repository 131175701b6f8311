//! The leases at the store, as spans: from the grant until they are handed back, taken over or
//! lost, or until others may take them by time.

use std::collections::BTreeMap;

use super::item::{Item, Kind, seconds};
use super::senders::Senders;
use super::tokens::Tokens;
use crate::plan::SimTime;
use crate::trace::{Kept, Mark, StoreStep};

/// A lease whose end is not known yet.
#[derive(Debug)]
struct Open {
    token: u64,
    holder: u128,
    ends: SimTime,
    item: Item,
}

/// The leases of every server.
#[derive(Debug, Default)]
pub(super) struct Leases {
    open: BTreeMap<u32, Open>,
    done: Vec<Item>,
    tokens: Tokens,
}

impl Leases {
    pub(super) fn new(tokens: Tokens) -> Self {
        Self { tokens, ..Self::default() }
    }

    /// A server has carried out a request.
    pub(super) fn step(&mut self, at: SimTime, step: &StoreStep, senders: &Senders) {
        self.takes_over(at, step, senders);
        let Some(after) = step.after else {
            self.close(step.server, at, "lost");
            return;
        };
        match self.open.get_mut(&step.server) {
            Some(open) if open.token == after.token && open.holder == after.mark.holder => {
                open.ends = after.lease_ends;
                if after.released {
                    self.close(step.server, at, "handed back");
                }
            }
            Some(_) => {
                self.close(step.server, at, "taken over");
                self.begin(at, step.server, after, senders);
            }
            None => self.begin(at, step.server, after, senders),
        }
    }

    /// A server that replaced another one begins with the record that it was left with.
    fn takes_over(&mut self, at: SimTime, step: &StoreStep, senders: &Senders) {
        if self.open.contains_key(&step.server) {
            return;
        }
        if let Some(before) = step.before {
            self.begin(at, step.server, before, senders);
        }
    }

    fn begin(&mut self, at: SimTime, server: u32, kept: Kept, senders: &Senders) {
        if kept.released {
            return;
        }
        let Kept { token, mark: Mark { holder, .. }, lease_ends: ends, .. } = kept;
        let who = senders.who(holder);
        let name = who.map_or_else(|| "?".to_owned(), |who| format!("{who:?}"));
        let mut item =
            Item::new(Kind::Lease, None, at, format!("{} {name}", self.tokens.name(token)))
                .with("token", token)
                .with("holder", format!("{name}, id {holder:032x}"))
                .with("server", u64::from(server));
        item.holder = who.map(|who| who.node);
        self.open.insert(server, Open { token, holder, ends, item });
    }

    /// The server has crashed; its data is lost, or another server has it now.
    pub(super) fn crash(&mut self, at: SimTime, keeps_data: bool) {
        if let Some(server) = self.open.keys().next_back().copied() {
            self.close(server, at, if keeps_data { "kept by another server" } else { "lost" });
        }
    }

    fn close(&mut self, server: u32, at: SimTime, how: &'static str) {
        let Some(Open { ends, mut item, .. }) = self.open.remove(&server) else { return };
        let (until, how) = if ends <= at { (ends, "may be taken") } else { (at, how) };
        item.until = Some(until.max(item.at));
        item.tone = match how {
            "handed back" => "released",
            "may be taken" => "expired",
            "lost" => "lost",
            _ => "live",
        };
        self.done.push(item.with("ended", format!("{how}, at {}", seconds(until))));
    }

    /// Ends the run at that time.
    pub(super) fn finish(mut self, end: SimTime) -> Vec<Item> {
        let servers: Vec<u32> = self.open.keys().copied().collect();
        for server in servers {
            self.close(server, end, "live when the run ended");
        }
        self.done
    }
}
