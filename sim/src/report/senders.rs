//! Which request it was that the store carried out.
//!
//! A trace says who sent what, and what the store was asked by which holder id, but not which request
//! was which. What two nodes asked in the same words at the same time can't be told apart by the words:
//! it is told by the answers, and by what else the same holder id asked. For drawing, not for judging.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::trace::{Answer, Asked, Entry, Event, StoreStep, Who};

/// So many of a node's latest requests may still be on their way: a store that stalls serves them all later.
const UNDER_WAY: usize = 512;
/// What a request weighs whose answer was the one that the store gave.
const ANSWERED: u64 = 8;
/// What a grant weighs besides, under which that process was elected.
const ELECTED: u64 = 1_000;

/// One request, by the entries that tell of it.
#[derive(Clone, Debug)]
struct Request {
    asked: Asked,
    sent: usize,
    answered: Option<(usize, Option<Answer>)>,
    is_served: bool,
}

/// Who sent what.
#[derive(Debug, Default)]
pub(super) struct Senders {
    requests: BTreeMap<Who, Vec<Request>>,
    holders: BTreeMap<u128, Who>,
    /// Entry of the store's step to entry of the request.
    sent: BTreeMap<usize, usize>,
}

impl Senders {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut senders = Self { requests: requests(entries), ..Self::default() };
        senders.holders = senders.told_apart(entries);
        for (index, step) in steps(entries) {
            if let Some(sent) = senders.serve(index, step) {
                senders.sent.insert(index, sent);
            }
        }
        senders
    }

    /// The process behind a holder id.
    pub(super) fn who(&self, holder: u128) -> Option<Who> {
        self.holders.get(&holder).copied()
    }

    /// The entry at which the request was sent that the store carried out at that entry.
    pub(super) fn sent(&self, step: usize) -> Option<usize> {
        self.sent.get(&step).copied()
    }

    /// Every request that fits a step speaks for its sender, and the more so if its answer fits too.
    fn told_apart(&self, entries: &[Entry]) -> BTreeMap<u128, Who> {
        // Two primaries may grant one token to two.
        let mut elected: BTreeSet<(u64, Who)> = BTreeSet::new();
        for entry in entries {
            if let Event::Elected { who, token, .. } = entry.event {
                elected.insert((token, who));
            }
        }
        let mut votes: BTreeMap<u128, BTreeMap<Who, u64>> = BTreeMap::new();
        for (index, step) in steps(entries) {
            let of = votes.entry(step.holder).or_default();
            for (who, requests) in &self.requests {
                let fits = under_way(requests, index).map(|request| fit(request, index, step));
                let fits = fits.max().unwrap_or(0);
                let of = of.entry(*who).or_default();
                *of += fits;
                if let Answer::Granted { token, .. } = step.answer
                    && fits == ANSWERED
                    && elected.contains(&(token, *who))
                {
                    *of += ELECTED;
                }
            }
        }
        let most = |votes: BTreeMap<Who, u64>| {
            let asked = votes.into_iter().filter(|(_, votes)| *votes > 0);
            asked.max_by_key(|(who, votes)| (*votes, Reverse(*who))).map(|(who, _)| who)
        };
        votes.into_iter().filter_map(|(holder, votes)| Some((holder, most(votes)?))).collect()
    }

    fn serve(&mut self, index: usize, step: &StoreStep) -> Option<usize> {
        let requests = self.requests.get_mut(self.holders.get(&step.holder)?)?;
        let end = requests.partition_point(|request| request.sent < index);
        let start = end.saturating_sub(UNDER_WAY);
        let best = requests[start..end]
            .iter_mut()
            .filter(|request| request.asked == step.request)
            .max_by_key(|request| (!request.is_served, fit(request, index, step), request.sent))?;
        best.is_served = true;
        Some(best.sent)
    }
}

fn steps(entries: &[Entry]) -> impl Iterator<Item = (usize, &StoreStep)> {
    entries.iter().enumerate().filter_map(|(index, entry)| match &entry.event {
        Event::Store(step) => Some((index, step)),
        _ => None,
    })
}

fn requests(entries: &[Entry]) -> BTreeMap<Who, Vec<Request>> {
    let mut requests: BTreeMap<Who, Vec<Request>> = BTreeMap::new();
    let mut numbers = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry.event {
            Event::Sent { who, id, request: asked } => {
                let of = requests.entry(who).or_default();
                numbers.insert((who, id), of.len());
                of.push(Request { asked, sent: index, answered: None, is_served: false });
            }
            Event::Answered { who, id, answer } => {
                let number = numbers.get(&(who, id)).copied();
                let request = number.and_then(|number| requests.get_mut(&who)?.get_mut(number));
                if let Some(request) = request {
                    request.answered = Some((index, answer));
                }
            }
            _ => {}
        }
    }
    requests
}

fn under_way(requests: &[Request], index: usize) -> impl Iterator<Item = &Request> {
    let end = requests.partition_point(|request| request.sent < index);
    requests[end.saturating_sub(UNDER_WAY)..end].iter()
}

/// How well a request fits a step of the store; zero if it can't be it.
fn fit(request: &Request, index: usize, step: &StoreStep) -> u64 {
    if request.asked != step.request {
        return 0;
    }
    match request.answered {
        Some((at, Some(answer))) if at > index && answer == step.answer => ANSWERED,
        // Its answer is lost, or it has been given up.
        None | Some((_, None)) => 2,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::properties::history::{granted, n, refuse};

    fn sent(who: Who, id: u64) -> Event {
        Event::Sent { who, id, request: Asked::Acquire { seen: 0 } }
    }

    fn answered(who: Who, answer: Answer) -> Event {
        Event::Answered { who, id: 1, answer: Some(answer) }
    }

    fn entries(events: Vec<Event>) -> Vec<Entry> {
        (0..).zip(events).map(|(at, event)| Entry { at, event }).collect()
    }

    #[test]
    fn the_answers_tell_apart_who_asked_in_the_same_words() {
        let asks = Asked::Acquire { seen: 0 };
        let entries = entries(vec![
            sent(n(0), 1),
            sent(n(1), 1),
            refuse(77, asks, granted(5), None),
            refuse(88, asks, Answer::Held, None),
            answered(n(1), granted(5)),
            answered(n(0), Answer::Held),
        ]);
        let senders = Senders::of(&entries);
        assert_eq!((senders.who(77), senders.who(88)), (Some(n(1)), Some(n(0))));
        assert_eq!((senders.sent(2), senders.sent(3)), (Some(1), Some(0)));
    }

    #[test]
    fn what_nobody_sent_is_nobodys() {
        let asks = Asked::Acquire { seen: 0 };
        let entries = entries(vec![refuse(77, asks, Answer::Held, None), sent(n(0), 1)]);
        let senders = Senders::of(&entries);
        assert_eq!((senders.who(77), senders.sent(0)), (None, None));
    }
}
