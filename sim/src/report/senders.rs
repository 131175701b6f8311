//! Finds the request behind each step of the store.
//!
//! A trace contains the sender of each request, and the holder id of each step of the store, but
//! not the link between them. Two equal requests of two nodes at the same time can't be
//! distinguished by themselves: they are distinguished by the answers, and by other requests of the
//! same holder id, which a look has not. For drawing, not for judging.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::trace::{Answer, Asked, Entry, Event, StoreStep, Who};

/// The most of a node's latest requests that may still be in flight: a store that stalls serves
/// them all later.
const IN_FLIGHT: usize = 512;
/// The holder of a look.
const NOBODY: u128 = 0;
/// The weight of a request with the answer that the store gave.
const ANSWERED: u64 = 8;
/// The additional weight of a grant under which that process was elected.
const ELECTED: u64 = 1_000;

/// One request, by its entries in the trace.
#[derive(Clone, Debug)]
struct Request {
    asked: Asked,
    sent: usize,
    answered: Option<(usize, Option<Answer>)>,
    is_served: bool,
}

/// The senders of all requests.
#[derive(Debug, Default)]
pub(super) struct Senders {
    requests: BTreeMap<Who, Vec<Request>>,
    holders: BTreeMap<u128, Who>,
    /// The entry of the request by the entry of the store's step.
    sent: BTreeMap<usize, usize>,
}

impl Senders {
    pub(super) fn of(entries: &[Entry]) -> Self {
        let mut senders = Self { requests: requests(entries), ..Self::default() };
        senders.holders = senders.processes(entries);
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

    /// The entry of the request that the store carried out at that entry.
    pub(super) fn sent(&self, step: usize) -> Option<usize> {
        self.sent.get(&step).copied()
    }

    /// Every request that fits a step is a vote for its sender, with more weight if its answer fits
    /// too.
    fn processes(&self, entries: &[Entry]) -> BTreeMap<u128, Who> {
        // Two primaries may grant one token to two processes.
        let mut elected: BTreeSet<(u64, Who)> = BTreeSet::new();
        for entry in entries {
            if let Event::Elected { who, token, .. } = entry.event {
                elected.insert((token, who));
            }
        }
        let mut votes: BTreeMap<u128, BTreeMap<Who, u64>> = BTreeMap::new();
        for (index, step) in steps(entries).filter(|(_, step)| step.holder != NOBODY) {
            let of = votes.entry(step.holder).or_default();
            for (who, requests) in &self.requests {
                let fits = in_flight(requests, index).map(|request| fit(request, index, step));
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
        let of = self.holders.get(&step.holder);
        let asked = self.requests.iter_mut().filter(|(who, _)| match of {
            Some(of) => of == *who,
            None => step.holder == NOBODY,
        });
        let latest = asked.flat_map(|(_, requests)| {
            let end = requests.partition_point(|request| request.sent < index);
            &mut requests[end.saturating_sub(IN_FLIGHT)..end]
        });
        let best = latest
            .filter(|request| is_of(step, request.asked))
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

fn in_flight(requests: &[Request], index: usize) -> impl Iterator<Item = &Request> {
    let end = requests.partition_point(|request| request.sent < index);
    requests[end.saturating_sub(IN_FLIGHT)..end].iter()
}

/// True if a step may be that request. Not every store is told what a candidate knows that looks.
fn is_of(step: &StoreStep, asked: Asked) -> bool {
    asked == step.request || asked.as_told() == step.request
}

/// The weight of a request for a step of the store; zero if it does not fit.
fn fit(request: &Request, index: usize, step: &StoreStep) -> u64 {
    if !is_of(step, request.asked) {
        return 0;
    }
    match request.answered {
        Some((at, Some(answer))) if at > index && answer == step.answer => ANSWERED,
        // Its answer was lost, or the request was given up.
        None | Some((_, None)) => 2,
        Some(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::properties::history::{NOT, asks, granted, n, refuse};
    use crate::plan::ns;

    fn sent(who: Who, id: u64) -> Event {
        Event::Sent { who, id, request: asks(0) }
    }

    fn answered(who: Who, answer: Answer) -> Event {
        Event::Answered { who, id: 1, answer: Some(answer) }
    }

    fn entries(events: Vec<Event>) -> Vec<Entry> {
        (0..).zip(events).map(|(at, event)| Entry { at: ns(at), event }).collect()
    }

    #[test]
    fn answers_distinguish_equal_requests() {
        let asks = asks(0);
        let entries = entries(vec![
            sent(n(0), 1),
            sent(n(1), 1),
            refuse(77, asks, granted(5), None),
            refuse(88, asks, NOT, None),
            answered(n(1), granted(5)),
            answered(n(0), NOT),
        ]);
        let senders = Senders::of(&entries);
        assert_eq!((senders.who(77), senders.who(88)), (Some(n(1)), Some(n(0))));
        assert_eq!((senders.sent(2), senders.sent(3)), (Some(1), Some(0)));
    }

    #[test]
    fn looks_are_told_apart_though_the_store_is_not_told_what_is_known() {
        let (looks, told) = (Asked::Look { seen: 5 }, Answer::At { past_is_watched: true });
        let look = |id| Event::Sent { who: n(0), id, request: looks };
        let served = || refuse(NOBODY, looks.as_told(), told, None);
        let answered = |id| Event::Answered { who: n(0), id, answer: Some(told) };
        let entries = entries(vec![look(1), served(), answered(1), look(2), served(), answered(2)]);
        let senders = Senders::of(&entries);
        assert_eq!((senders.sent(1), senders.sent(4)), (Some(0), Some(3)));
    }

    #[test]
    fn a_step_without_a_request_has_no_sender() {
        let asks = asks(0);
        let entries = entries(vec![refuse(77, asks, NOT, None), sent(n(0), 1)]);
        let senders = Senders::of(&entries);
        assert_eq!((senders.who(77), senders.sent(0)), (None, None));
    }
}
