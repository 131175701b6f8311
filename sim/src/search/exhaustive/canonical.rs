//! Which states count as the same? Those with the same future share a fingerprint, and the search examines only the
//! first of them.
//!
//! - Candidates have no order: each becomes one number, and the numbers are sorted.
//! - Holder ids, tokens and request ids count only by which are equal and which is higher. A token that the store's
//!   clock has not passed yet keeps its distance from that clock, because the next token may have to be above it.
//! - An instant counts by its distance from the reading of its clock. All clocks show multiples of 5 ms, so an instant
//!   is rounded up to such a multiple; this also removes the jitter. Instants that are further in the past than the
//!   longest duration count as equal.
//! - A candidate's past random draws and the time of its last input do not count. Nor does its number of failures in a
//!   row, because there is only one retry delay ([`Bounds::config`]).
//!
//! A test compares the futures of states that share a fingerprint (`equal_fingerprints_have_equal_futures`).

use smallvec::SmallVec;
use tenure_core::contract::{History, Record};
use tenure_core::{Reply, Request, Token};

use super::bounds::{Bounds, TICK, on_fastest_clock};
use super::state::{Body, Message, Node, State, Written};
use super::subject::Subject;
use super::words::{Encoded, GRID, Word, short_holder};

/// The fingerprint of a state. Among `n` different states, the probability that two share a fingerprint by chance is
/// about `n^2 / 2^65`.
pub(super) fn fingerprint<S: Subject>(bounds: &Bounds, state: &State<S>) -> u64 {
    let view = View::of(bounds, state);
    let mut all = Encoded::default();
    if bounds.horizon.is_some() {
        all.add(state.tick.into());
    }
    let left = state.left;
    all.add(state.faults_left.into());
    for count in [left.duplicates, left.breaks, left.pauses, left.crashes] {
        all.add(count.into());
    }
    for count in [left.store_losses, left.resigns, left.rate_changes] {
        all.add(count.into());
    }
    view.store(&mut all);
    view.written(&mut all, state.written);
    let mut nodes: SmallVec<[u64; 3]> =
        (0..state.nodes.len()).map(|node| view.node(node)).collect();
    nodes.sort_unstable();
    for node in nodes {
        all.add(node);
    }
    all.fingerprint()
}

/// A state, with the order of its tokens.
struct View<'a, S> {
    bounds: &'a Bounds,
    state: &'a State<S>,
    /// Every token in the state, in ascending order.
    tokens: SmallVec<[u64; 32]>,
    /// The reading of the store's clock in microseconds, the unit of tokens.
    now: u64,
    /// The longest duration that influences a later step, in nanoseconds.
    longest: u64,
}

impl<'a, S: Subject> View<'a, S> {
    fn of(bounds: &'a Bounds, state: &'a State<S>) -> Self {
        let mut tokens = SmallVec::<[u64; 32]>::new();
        let mut add = |token: Option<Token>| tokens.extend(token.map(Token::get));
        let store = &state.store;
        add(store.highest);
        add(store.before);
        add(store.record.map(|record| record.token));
        add(state.written.map(|written| written.token));
        for node in &state.nodes {
            add(node.ended);
            add(node.work.map(|work| work.token));
        }
        state.messages.iter().map(token_of).for_each(add);
        for node in &state.nodes {
            tokens.extend(node.local.words.0.iter().filter_map(|word| match word {
                Word::Token(token) => Some(*token),
                _ => None,
            }));
        }
        tokens.sort_unstable();
        tokens.dedup();
        let longest = 2 * u64::try_from(bounds.ttl.length().as_nanos()).unwrap_or(u64::MAX);
        Self { bounds, state, tokens, now: store.clock / 1_000, longest }
    }

    /// `None` becomes 0. Tokens behind the store's clock become their rank, from 1; the others become their distance
    /// ahead of the clock, from 2^32.
    fn token(&self, token: Option<Token>) -> u64 {
        self.number(token.map_or(0, Token::get))
    }

    fn number(&self, token: u64) -> u64 {
        match token.checked_sub(self.now) {
            Some(ahead) => (1 << 32) + ahead,
            None if token == 0 => 0,
            None => 1 + self.tokens.partition_point(|known| *known < token) as u64,
        }
    }

    /// The distance of an instant from a clock's reading, in multiples of the grid, with 2^32 as zero.
    fn distance(&self, instant: u64, clock: u64) -> u64 {
        let behind = clock.saturating_sub(instant).min(self.longest) / GRID;
        let ahead = instant.saturating_sub(clock).div_ceil(GRID);
        (1 << 32) + ahead - behind
    }

    fn store(&self, all: &mut Encoded) {
        let store = &self.state.store;
        all.add(store.rate as u64);
        all.add(self.token(store.highest));
        all.add(self.token(store.before));
        match store.record {
            None => all.add(0),
            Some(Record { token, holder: _, lease_end, ttl, quarantine, released }) => {
                all.add(1 + u64::from(released));
                all.add(self.token(Some(token)));
                // The time since the end of a lease does not count. Its very end does: a condition asks for it.
                let (end, now) = (lease_end.as_nanos(), store.clock);
                all.add((end + 1).saturating_sub(now));
                all.add_hash(&(ttl, quarantine));
            }
        }
        match store.history {
            None => all.add(0),
            // No step of the search purges a record.
            Some(History { identity, known_since, longest_ttl, purged: _ }) => {
                all.add(1 + u64::from(identity == store.server.into()));
                all.add(self.distance(known_since.as_nanos(), store.clock));
                all.add_hash(&longest_ttl);
            }
        }
        all.add(u64::from(store.server > 0));
        if store.server > 0 {
            let most = u32::try_from(self.longest.div_ceil(TICK)).unwrap_or(u32::MAX);
            for first in [store.first_grant, store.first_renewal] {
                all.add(first.map_or(u64::MAX, |first| (self.state.tick - first).min(most).into()));
            }
        }
    }

    fn written(&self, all: &mut Encoded, written: Option<Written>) {
        let Some(Written { token, checked, under_way }) = written else { return all.add(0) };
        all.add(self.token(Some(token)));
        let longest_flight = on_fastest_clock(self.bounds.margin.length());
        let gap = u64::from(self.state.tick - checked) * TICK;
        all.add(if under_way && gap < longest_flight { gap } else { u64::MAX });
    }

    fn node(&self, index: usize) -> u64 {
        let state = self.state;
        let node = &state.nodes[index];
        let mut all = Encoded::default();
        all.add(node.rate as u64);
        all.add(u64::from(node.paused) + 2 * u64::from(node.hinted));
        all.add(self.token(node.ended));
        match node.work {
            None => all.add(0),
            Some(work) => {
                all.add(self.token(Some(work.token)));
                let drains = work.drain_until.map(|until| until.as_nanos().max(node.clock));
                all.add(drains.map_or(0, |until| self.distance(until, node.clock)));
            }
        }
        let sent: SmallVec<[&Message; 8]> =
            state.messages.iter().filter(|message| message.node == index).collect();
        let mut names = Names::of(state, node, &sent);
        for word in &node.local.words.0 {
            all.add(match *word {
                Word::Plain(value) => value,
                Word::Request(id) => names.request(id),
                Word::Token(token) => self.number(token),
                Word::Instant(instant) => self.distance(instant, node.clock),
                Word::Holder(holder) => names.holder(holder),
            });
        }
        if state.left.breaks > 0 {
            let waits = node.pending.filter(|(_, until)| node.now() < *until);
            all.add(waits.map_or(0, |(id, _)| names.request(id.get())));
        }
        let mut messages: SmallVec<[u64; 8]> =
            sent.into_iter().map(|message| self.message(node, message, &mut names)).collect();
        messages.sort_unstable();
        for message in messages {
            all.add(message);
        }
        all.fingerprint()
    }

    fn message(&self, node: &Node<S>, message: &Message, names: &mut Names) -> u64 {
        let mut all = Encoded::default();
        // No process waits for a reply to an earlier life.
        let is_alive = message.life == node.life;
        all.add(if is_alive { names.request(message.id.get()) } else { 0 });
        all.add(self.token(token_of(message)));
        match message.body {
            Body::Request(request) => match request {
                Request::Acquire { holder, ttl, quarantine, seen: _ } => {
                    all.add(1);
                    all.add(names.holder(short_holder(holder.to_bits())));
                    all.add_hash(&(ttl, quarantine));
                }
                Request::Renew { holder, ttl, token: _ } => {
                    all.add(2);
                    all.add(names.holder(short_holder(holder.to_bits())));
                    all.add_hash(&ttl);
                }
                Request::Release { holder, token: _ } => {
                    all.add(3);
                    all.add(names.holder(short_holder(holder.to_bits())));
                }
            },
            Body::Reply(reply) => {
                all.add(4);
                all.add_hash(&std::mem::discriminant(&reply));
                match reply {
                    Reply::Granted { wait, token: _ } => all.add_hash(&wait),
                    Reply::Held { remaining, ttl, token: _ } => all.add_hash(&(remaining, ttl)),
                    Reply::Refused { ttl, quarantine } => all.add_hash(&(ttl, quarantine)),
                    Reply::Superseded { last } => all.add(last.is_some().into()),
                    Reply::Stale { last: _ }
                    | Reply::Renewed
                    | Reply::Released
                    | Reply::NotHeld => {}
                }
            }
        }
        all.fingerprint()
    }
}

/// The token in a message, if it has one.
fn token_of(message: &Message) -> Option<Token> {
    match message.body {
        Body::Request(request) => match request {
            Request::Acquire { seen, .. } => seen,
            Request::Renew { token, .. } | Request::Release { token, .. } => Some(token),
        },
        Body::Reply(reply) => match reply {
            Reply::Granted { token, .. } | Reply::Held { token, .. } => Some(token),
            Reply::Stale { last } => Some(last),
            Reply::Superseded { last } => last,
            Reply::Refused { .. } | Reply::Renewed | Reply::Released | Reply::NotHeld => None,
        },
    }
}

/// The short names of one candidate's holder ids and request ids: their positions in these lists.
struct Names {
    /// The holder in the store's record comes first: it is the only one that other candidates can refer to.
    holders: SmallVec<[u64; 8]>,
    /// The newest request comes first.
    requests: SmallVec<[u64; 16]>,
}

impl Names {
    fn of<S>(state: &State<S>, node: &Node<S>, sent: &[&Message]) -> Self {
        let mut requests = SmallVec::<[u64; 16]>::new();
        requests.extend(node.local.words.0.iter().filter_map(|word| match word {
            Word::Request(id) => Some(*id),
            _ => None,
        }));
        requests.extend(sent.iter().filter(|one| one.life == node.life).map(|one| one.id.get()));
        requests.sort_unstable_by(|one, other| other.cmp(one));
        requests.dedup();
        let mut holders = SmallVec::new();
        holders.push(state.store.record.map_or(0, |record| short_holder(record.holder.to_bits())));
        Self { holders, requests }
    }

    fn request(&self, id: u64) -> u64 {
        let place = self.requests.iter().position(|known| *known == id);
        1 + place.unwrap_or(self.requests.len()) as u64
    }

    fn holder(&mut self, holder: u64) -> u64 {
        let place = self.holders.iter().position(|known| *known == holder).unwrap_or_else(|| {
            self.holders.push(holder);
            self.holders.len() - 1
        });
        place as u64
    }
}
