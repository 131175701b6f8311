//! The path of each message: sent, carried out by the store, answered; lost, duplicated, overtaken.

use std::collections::BTreeMap;

use super::item::{Item, Kind, Way, seconds};
use super::senders::Senders;
use crate::plan::SimTime;
use crate::trace::{Answer, Asked, Fate, Kept, Mark, StoreStep, Who};

/// All messages of a run.
#[derive(Debug, Default)]
pub(super) struct Messages {
    items: Vec<Item>,
    /// The message by the entry at which it was sent.
    by_entry: BTreeMap<usize, usize>,
    by_id: BTreeMap<(Who, u64), usize>,
    /// Each node's last message (`true`), and the last of its messages that the store carried out
    /// (`false`).
    latest: BTreeMap<(Who, bool), usize>,
}

impl Messages {
    pub(super) fn sent(&mut self, at: SimTime, entry: usize, who: Who, id: u64, asked: Asked) {
        let number = self.items.len();
        let mut item = Item::new(Kind::Message, Some(who.node), at, words(asked))
            .toned(match asked {
                Asked::Acquire { .. } => "acquire",
                Asked::Look { .. } => "look",
                Asked::Renew { .. } => "renew",
                Asked::Release { .. } => "release",
            })
            .with("from", format!("{who:?}"))
            .with("request", id);
        item.way = Some(Way::default());
        self.items.push(item);
        self.by_entry.insert(entry, number);
        self.by_id.insert((who, id), number);
        self.latest.insert((who, true), number);
    }

    pub(super) fn served(
        &mut self,
        at: SimTime,
        entry: usize,
        step: &StoreStep,
        senders: &Senders,
    ) {
        let sent = senders.sent(entry).and_then(|sent| self.by_entry.get(&sent)).copied();
        let number = sent.unwrap_or_else(|| self.without_sender(at, step.request));
        let item = &mut self.items[number];
        item.until = item.until.max(Some(at));
        let way = item.way.get_or_insert_default();
        way.store.push(at);
        let answer = answer_in_words(step.answer);
        if let [_] = way.store[..] {
            item.label = format!("{}: {answer}", words(step.request));
        }
        item.facts.extend([
            ("store", format!("{}, server {}", seconds(at), step.server)),
            ("holder id", format!("{:032x}", step.holder)),
            ("answer", answer),
            ("record before", kept(step.before.as_ref())),
            ("record after", kept(step.after.as_ref())),
        ]);
        if let Some(who) = senders.who(step.holder) {
            self.latest.insert((who, false), number);
        }
    }

    /// A request whose sender is not known: it is drawn at the store alone.
    fn without_sender(&mut self, at: SimTime, asked: Asked) -> usize {
        let mut item = Item::new(Kind::Message, None, at, words(asked));
        item.way = Some(Way::default());
        self.items.push(item);
        self.items.len() - 1
    }

    pub(super) fn answered(&mut self, at: SimTime, who: Who, id: u64, answer: Option<Answer>) {
        let Some(number) = self.by_id.get(&(who, id)) else { return };
        let item = &mut self.items[*number];
        item.until = item.until.max(Some(at));
        let how = answer.map_or_else(|| "no answer will arrive".to_owned(), answer_in_words);
        item.facts.push(("answered", format!("{}: {how}", seconds(at))));
        if answer.is_some() {
            item.way.get_or_insert_default().back = Some(at);
        }
    }

    /// Adds the fate to the message that the node sent last, or that the store last sent to it.
    /// Without such a message at that moment, the message was a hint.
    pub(super) fn fate(
        &mut self,
        at: SimTime,
        who: Who,
        to_store: bool,
        fate: Fate,
    ) -> Option<Item> {
        let leg = if to_store { "to-store" } else { "to-node" };
        let word = match fate {
            Fate::Lost => "lost",
            Fate::Duplicated => "duplicated",
            Fate::Overtaken => "overtaken",
        };
        let number = self.latest.get(&(who, to_store)).copied();
        let is_sent_now = |item: &Item| {
            let way = item.way.as_ref();
            if to_store { item.at == at } else { way.is_some_and(|way| way.store.contains(&at)) }
        };
        let item = number.and_then(|number| self.items.get_mut(number));
        let Some(item) = item.filter(|item| is_sent_now(item)) else {
            let label = format!("a message {leg} is {word}");
            return Some(Item::new(Kind::Message, Some(who.node), at, label).toned("fate"));
        };
        let way = item.way.get_or_insert_default();
        match fate {
            Fate::Lost => way.lost = Some(leg),
            Fate::Duplicated => way.duplicated = true,
            Fate::Overtaken => way.overtaken = true,
        }
        item.facts.push(("on its way", format!("{word}, {leg}")));
        None
    }

    pub(super) fn finish(self) -> Vec<Item> {
        self.items
    }
}

fn words(asked: Asked) -> String {
    match asked {
        Asked::Acquire { seen, watched } => {
            let watched = if watched.is_some() { ", having watched the lease" } else { "" };
            format!("acquire, {}{watched}", knowing(seen))
        }
        Asked::Look { seen } => format!("look, {}", knowing(seen)),
        Asked::Renew { token } => format!("renew {token}"),
        Asked::Release { token } => format!("release {token}"),
    }
}

fn answer_in_words(answer: Answer) -> String {
    match answer {
        Answer::Granted { token } => format!("granted {token}"),
        Answer::Not { past_is_watched } => format!("not granted{}", and_past(past_is_watched)),
        Answer::At { past_is_watched } => format!("told{}", and_past(past_is_watched)),
        Answer::Renewed { past_is_watched } => format!("renewed{}", and_past(past_is_watched)),
        Answer::Superseded => "superseded".to_owned(),
        Answer::Released => "released".to_owned(),
        Answer::NotHeld => "not held".to_owned(),
        Answer::Other => "an error".to_owned(),
    }
}

fn knowing(seen: u64) -> String {
    if seen == 0 { "knowing no token".to_owned() } else { format!("knowing {seen}") }
}

const fn and_past(is_watched: bool) -> &'static str {
    if is_watched { "" } else { ", and to watch the past" }
}

fn kept(record: Option<&Kept>) -> String {
    let Some(Kept { token, mark: Mark { holder, .. }, lease_ends, released }) = record else {
        return "none".to_owned();
    };
    let released = if *released { ", handed back" } else { "" };
    let (holder, ends) = (format!("{:08x}", holder >> 96), seconds(*lease_ends));
    format!("{token} of {holder}\u{2026}, until {ends}{released}")
}
