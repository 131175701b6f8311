//! Equivalence of states. States with the same future share a fingerprint, and the search examines
//! only the first of them.
//!
//! - Candidates have no order: each becomes one number, and the numbers are sorted. If operators
//!   have wishes, candidates know others' names: only the order of the first one counts for nothing
//!   then.
//! - Holder ids, marks and stamps count only by which are equal, tokens and request ids also by
//!   which is higher. A token that the store's clock has not passed yet keeps its distance from
//!   that clock, because the next token may have to be above it.
//! - An instant counts by its distance from the reading of its clock. All clocks show multiples of
//!   5 ms, so an instant is rounded up to such a multiple; this also removes the jitter. Instants
//!   that are further in the past than the longest duration count as equal.
//! - Of the time for which a past was watched, the store only distinguishes nothing, a part and
//!   all.
//! - What is in a reply does not count if the candidate no longer acts on it.
//! - A candidate's past random draws and the time of its last input do not count. Nor does its
//!   number of failures in a row, because there is only one retry delay ([`Bounds::config`]).
//!
//! A test compares the futures of states that share a fingerprint
//! (`equal_fingerprints_have_equal_futures`).

use std::cmp::Ordering;
use std::time::Duration;

use smallvec::{Array, SmallVec, smallvec};
use tenure_core::contract::{Past, Record};
use tenure_core::{
    Acquire, HolderId, Instant, Mark, NameId, Reply, Request, RequestId, Sight, Token,
    UnwatchedPast, WatchedStamp, Wish,
};

use super::bounds::{Bounds, TICK, on_fastest_clock};
use super::state::{Body, Message, Node, State, Written};
use super::subject::{Subject, node_of};
use super::words::{Encoded, GRID, Word, short_holder};

/// The fingerprint of a state. Among `n` different states, the probability that two share a
/// fingerprint by chance is about `n^2 / 2^65`.
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
    for count in [left.store_losses, left.resigns, left.rate_changes, left.wishes] {
        all.add(count.into());
    }
    view.store(&mut all);
    view.written(&mut all, state.written);
    let mut nodes: SmallVec<[u64; 3]> =
        (0..state.nodes.len()).map(|node| view.node(node)).collect();
    if bounds.allowed().wishes == 0 {
        nodes.sort_unstable();
    } else {
        nodes = first_rotation(&nodes);
    }
    for node in nodes {
        all.add(node);
    }
    all.fingerprint()
}

/// The least of the orders that keep each node's next one: of a name, a node's number says how many
/// nodes further on that candidate is.
fn first_rotation(nodes: &[u64]) -> SmallVec<[u64; 3]> {
    let rotated = |first: usize| nodes[first..].iter().chain(&nodes[..first]).copied().collect();
    (0..nodes.len()).map(rotated).min().unwrap_or_default()
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
        let messages = state.messages.iter().filter(|one| !is_stray(&state.nodes[one.node], one));
        messages.flat_map(tokens_of).for_each(add);
        for node in &state.nodes {
            tokens.extend(node.local.words.0.iter().filter_map(|word| match word {
                Word::Token(token) => Some(*token),
                _ => None,
            }));
        }
        tokens.sort_unstable();
        tokens.dedup();
        let longest = as_nanos(bounds.ttl.length());
        Self { bounds, state, tokens, now: state.store_clock() / 1_000, longest }
    }

    /// `None` becomes 0. Tokens behind the store's clock become their rank, from 1; the others
    /// become their distance ahead of the clock, from 2^32.
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

    /// The distance of an instant from a clock's reading, in multiples of the grid, with 2^32 as
    /// zero.
    fn distance(&self, instant: u64, clock: u64) -> u64 {
        let behind = clock.saturating_sub(instant).min(self.longest) / GRID;
        let ahead = instant.saturating_sub(clock).div_ceil(GRID);
        (1 << 32) + ahead - behind
    }

    fn store(&self, all: &mut Encoded) {
        let store = &self.state.store;
        all.add(self.token(store.highest));
        all.add(self.token(store.before));
        match store.record {
            None => all.add(0),
            Some(lease) => {
                all.add(1 + u64::from(lease.released));
                all.add(self.token(Some(lease.token)));
                all.add_hash(&(lease.ttl, lease.quarantine));
                // A lease that was given back has no leader. Its end matters while it is kept for
                // another candidate.
                let ends = !lease.released || lease.reservation.is_some();
                all.add(if ends { self.ticks_since(store.marked) } else { 0 });
                all.add(self.age_from_now_on(lease.written));
            }
        }
        match store.past {
            None => all.add(0),
            // No step of the search purges a record.
            Some(Past { identity, stamp: _, watched, longest, purged: _ }) => {
                all.add(1 + u64::from(identity == store.server.into()));
                all.add(self.part_of_a_watch(watched));
                all.add_hash(&longest);
            }
        }
        all.add(u64::from(store.server > 0));
        if store.server > 0 {
            all.add(store.first_step.map_or(u64::MAX, |first| self.ticks_since(first)));
        }
    }

    /// The ticks since then; all those that are enough for a watch count as equal.
    fn ticks_since(&self, tick: u32) -> u64 {
        let enough = self.bounds.shortest_watch().div_ceil(TICK);
        u64::from(self.state.tick - tick).min(enough)
    }

    /// Nothing, a part, or all of the time for which a past is watched: the store distinguishes no
    /// more.
    fn part_of_a_watch(&self, watched: Duration) -> u64 {
        u64::from(!watched.is_zero()) + u64::from(watched >= self.bounds.ttl.length())
    }

    /// The age of a lease's mark, as an answer hints at it. A candidate counts an age above the
    /// renew interval as zero.
    fn age(&self, now: Instant, written: Instant) -> u64 {
        let (interval, _) = self.bounds.renewals();
        let age = now.since(written);
        if age <= interval { as_nanos(age) } else { 0 }
    }

    /// The ages that later answers hint at.
    fn age_from_now_on(&self, written: Instant) -> u64 {
        let (interval, _) = self.bounds.renewals();
        let age = Instant::from_nanos(self.state.store_clock()).since(written);
        let counts_later = age <= interval && age + Duration::from_nanos(TICK) <= interval;
        if age <= interval && (counts_later || !age.is_zero()) { as_nanos(age) } else { u64::MAX }
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
                Word::Mark(holder, number) => names.mark(state, (holder, number)),
                Word::Stamp(stamp) => names.stamp(stamp.into()),
                Word::Name(other) => self.further(index, other),
            });
        }
        if let Some(lease) = state.store.record {
            self.wishes(index, lease, &mut all);
            all.add(lease.asked.map_or(0, |asked| 1 + self.named(index, asked.name)));
            if lease.reservation.is_some() {
                all.add(self.ticks_since(state.store.kept_since));
            }
        }
        if state.left.breaks > 0 {
            let waits = node.pending.filter(|(_, until)| node.now() < *until);
            all.add(waits.map_or(0, |(id, _)| names.request(id.get())));
        }
        let mut messages: SmallVec<[u64; 8]> =
            sent.iter().map(|message| self.message(node, message, &sent, &mut names)).collect();
        messages.sort_unstable();
        for message in messages {
            all.add(message);
        }
        all.fingerprint()
    }

    /// A node's cyclic distance to another.
    fn further(&self, index: usize, other: usize) -> u64 {
        let nodes = self.state.nodes.len();
        ((other + nodes - index) % nodes) as u64
    }

    fn named(&self, index: usize, name: NameId) -> u64 {
        node_of(name.to_bits()).map_or(u64::MAX, |other| self.further(index, other))
    }

    fn wish(&self, index: usize, wanted: Option<Wish>) -> u64 {
        match wanted {
            None => 0,
            Some(Wish::Anybody) => 1,
            Some(Wish::Name(name)) => 2 + self.named(index, name),
        }
    }

    /// For whom a lease is kept, and who is wished for.
    fn wishes(&self, index: usize, lease: Record, all: &mut Encoded) {
        all.add(lease.reservation.map_or(0, |kept| 1 + self.named(index, kept.name)));
        all.add(self.wish(index, lease.wanted));
    }

    fn message(
        &self,
        node: &Node<S>,
        message: &Message,
        sent: &[&Message],
        names: &mut Names,
    ) -> u64 {
        if is_stray(node, message) {
            return 0;
        }
        let mut all = Encoded::default();
        if message.life < node.life {
            // No process waits for the reply, but the store compares the numbers of one holder's
            // requests.
            let is_older = |one: &&&Message| one.life == message.life && one.id < message.id;
            all.add(1 + sent.iter().filter(is_older).count() as u64);
        } else {
            all.add(0);
            all.add(if has_relevant_id(node, message) {
                names.request(message.id.get())
            } else {
                0
            });
        }
        match message.body {
            Body::Request(request) => self.request(message.node, request, names, &mut all),
            Body::Reply(reply) => self.reply(message.node, reply, names, &mut all),
        }
        for token in tokens_of(message) {
            all.add(self.token(token));
        }
        all.fingerprint()
    }

    fn request(&self, node: usize, request: Request, names: &mut Names, all: &mut Encoded) {
        match request {
            Request::Acquire(Acquire {
                holder,
                number,
                seen: _,
                lost,
                mark,
                stamp,
                ttl,
                quarantine,
                name: _,
            }) => {
                all.add(1);
                self.holder_and_number(holder, number, names, all);
                all.add(lost.is_some().into());
                all.add(mark.map_or(0, |mark| self.mark_at_the_store(mark)));
                all.add(self.watched_stamp(stamp));
                all.add_hash(&(ttl, quarantine));
            }
            // The store does not need to know what the candidate has seen.
            Request::Look { seen: _, quarantine } => {
                all.add(2);
                all.add_hash(&quarantine);
            }
            Request::Renew { holder, token: _, number, stamp } => {
                all.add(3);
                self.holder_and_number(holder, number, names, all);
                all.add(self.watched_stamp(stamp));
            }
            Request::Release { holder, token: _, reservation } => {
                all.add(4);
                all.add(reservation.map_or(0, |kept| 1 + self.named(node, kept.name)));
                all.add(names.holder(short_holder(holder.to_bits())));
            }
            // It asks for itself.
            Request::Ask { token: _, asked: _, seen: _, quarantine } => {
                all.add(5);
                all.add_hash(&quarantine);
            }
            Request::Want { .. } | Request::Purge { .. } => {
                unreachable!("no candidate sends {request:?}")
            }
        }
    }

    /// A number counts by the order of its holder's requests, and the lease's mark is one of them.
    fn holder_and_number(
        &self,
        holder: HolderId,
        number: RequestId,
        names: &mut Names,
        all: &mut Encoded,
    ) {
        all.add(names.holder(short_holder(holder.to_bits())));
        let lease = self.state.store.record.filter(|lease| !lease.released);
        let own = lease.filter(|lease| lease.holder == holder);
        all.add(own.map_or(0, |lease| match number.cmp(&lease.number) {
            Ordering::Less => 1,
            Ordering::Equal => 2,
            Ordering::Greater => 3,
        }));
    }

    /// 1 if a mark is the lease's, plus 2 if it may be again.
    fn mark_at_the_store(&self, mark: Mark) -> u64 {
        let is_current = self.state.store.record.is_some_and(|lease| lease.mark() == mark);
        let number = (short_holder(mark.holder.to_bits()), mark.number.get());
        u64::from(is_current) + 2 * u64::from(may_return(self.state, number))
    }

    /// A stamp that is not the store's never is again.
    fn watched_stamp(&self, watched: Option<WatchedStamp>) -> u64 {
        let past = self.state.store.past;
        watched
            .filter(|watched| past.is_some_and(|past| past.stamp == watched.stamp))
            .map_or(0, |watched| 1 + self.part_of_a_watch(watched.time))
    }

    fn reply(&self, node: usize, reply: Reply, names: &mut Names, all: &mut Encoded) {
        all.add(6);
        all.add_hash(&std::mem::discriminant(&reply));
        match reply {
            Reply::Not(sight) | Reply::At(sight) => self.sight(node, sight, names, all),
            Reply::Renewed { asked, wanted, past } => {
                all.add(asked.map_or(0, |asked| 1 + self.named(node, asked.name)));
                all.add(self.wish(node, wanted));
                unwatched(past, names, all);
            }
            Reply::Granted { token: _ }
            | Reply::Superseded { last: _ }
            | Reply::Released
            | Reply::NotHeld => {}
            Reply::Noted | Reply::NotNoted | Reply::Purged | Reply::Kept => {
                unreachable!("no candidate is told {reply:?}")
            }
        }
    }

    fn sight(&self, node: usize, sight: Sight, names: &mut Names, all: &mut Encoded) {
        let Sight { last: _, record, past, now } = sight;
        match record {
            None => all.add(0),
            Some(lease) => {
                all.add(1 + u64::from(lease.released));
                let holder = short_holder(lease.holder.to_bits());
                all.add(names.holder(holder));
                all.add(names.mark(self.state, (holder, lease.number.get())));
                all.add_hash(&(lease.ttl, lease.quarantine));
                self.wishes(node, lease, all);
                all.add(self.age(now, lease.written));
            }
        }
        unwatched(past, names, all);
    }
}

fn unwatched(past: Option<UnwatchedPast>, names: &mut Names, all: &mut Encoded) {
    match past {
        None => all.add(0),
        Some(UnwatchedPast { stamp, longest }) => {
            all.add(1 + names.stamp(stamp.to_bits()));
            all.add_hash(&longest);
        }
    }
}

fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The tokens in a message that influence a later step.
fn tokens_of(message: &Message) -> SmallVec<[Option<Token>; 2]> {
    match message.body {
        Body::Request(request) => match request {
            Request::Acquire(asks) => smallvec![asks.seen, asks.lost.and_then(|lost| lost.last)],
            Request::Renew { token, .. }
            | Request::Release { token, .. }
            | Request::Ask { token, .. } => smallvec![Some(token)],
            Request::Look { .. } | Request::Want { .. } | Request::Purge { .. } => smallvec![],
        },
        Body::Reply(reply) => match reply {
            Reply::Granted { token } => smallvec![Some(token)],
            Reply::Not(Sight { last, record, .. }) | Reply::At(Sight { last, record, .. }) => {
                smallvec![last, record.map(|lease| lease.token)]
            }
            Reply::Superseded { last } => smallvec![last],
            Reply::Renewed { .. }
            | Reply::Released
            | Reply::NotHeld
            | Reply::Noted
            | Reply::NotNoted
            | Reply::Purged
            | Reply::Kept => smallvec![],
        },
    }
}

/// True if a candidate acts on a reply to that request. Its machine keeps the ids of such requests,
/// besides the id of its last request of all.
fn is_awaited<S>(node: &Node<S>, message: &Message) -> bool {
    let ids = || {
        node.local.words.0.iter().filter_map(|word| match word {
            Word::Request(id) => Some(*id),
            _ => None,
        })
    };
    let own = message.id.get();
    let last = ids().max() == Some(own);
    message.life == node.life && ids().filter(|id| *id == own).count() > usize::from(last)
}

/// True if nothing comes of a message but its arrival. The answer to a release is a hint, whenever
/// it arrives.
fn is_stray<S>(node: &Node<S>, message: &Message) -> bool {
    match message.body {
        Body::Request(_) | Body::Reply(Reply::Released) => false,
        Body::Reply(_) => !is_awaited(node, message),
    }
}

/// True if the candidate or the store compares a message's id with others.
fn has_relevant_id<S>(node: &Node<S>, message: &Message) -> bool {
    let is_number = match message.body {
        Body::Request(Request::Acquire(_) | Request::Renew { .. }) => true,
        Body::Request(_) | Body::Reply(_) => false,
    };
    message.life == node.life && (is_number || is_awaited(node, message))
}

/// True if a lease may get that mark again: by a duplicate of the acquire that won it, after a loss
/// of data.
fn may_return<S>(state: &State<S>, (holder, number): (u64, u64)) -> bool {
    state.messages.iter().any(|message| match message.body {
        Body::Request(Request::Acquire(asks)) => {
            asks.number.get() == number && short_holder(asks.holder.to_bits()) == holder
        }
        Body::Request(_) | Body::Reply(_) => false,
    })
}

/// The short names of one candidate's ids: their positions in these lists.
struct Names {
    /// The holder in the store's record comes first: it is the only one that other candidates can
    /// refer to.
    holders: SmallVec<[u64; 8]>,
    /// The newest request comes first.
    requests: SmallVec<[u64; 16]>,
    /// The mark in the store's record comes first.
    marks: SmallVec<[(u64, u64); 4]>,
    /// The stamp of the store's past comes first.
    stamps: SmallVec<[u128; 4]>,
}

impl Names {
    fn of<S>(state: &State<S>, node: &Node<S>, sent: &[&Message]) -> Self {
        let mut requests = SmallVec::<[u64; 16]>::new();
        requests.extend(node.local.words.0.iter().filter_map(|word| match word {
            Word::Request(id) => Some(*id),
            _ => None,
        }));
        requests
            .extend(sent.iter().filter(|one| has_relevant_id(node, one)).map(|one| one.id.get()));
        requests.sort_unstable_by(|one, other| other.cmp(one));
        requests.dedup();
        let mark = state
            .store
            .record
            .map_or((0, 0), |lease| (short_holder(lease.holder.to_bits()), lease.number.get()));
        let stamp = state.store.past.map_or(u128::MAX, |past| past.stamp.to_bits());
        Self {
            holders: smallvec![mark.0],
            requests,
            marks: smallvec![mark],
            stamps: smallvec![stamp],
        }
    }

    fn request(&self, id: u64) -> u64 {
        let place = self.requests.iter().position(|known| *known == id);
        1 + place.unwrap_or(self.requests.len()) as u64
    }

    fn holder(&mut self, holder: u64) -> u64 {
        name(&mut self.holders, holder)
    }

    fn mark<S>(&mut self, state: &State<S>, mark: (u64, u64)) -> u64 {
        2 * name(&mut self.marks, mark) + u64::from(may_return(state, mark))
    }

    fn stamp(&mut self, stamp: u128) -> u64 {
        name(&mut self.stamps, stamp)
    }
}

/// The position of a value in a list, which gets it if it is new.
fn name<T: PartialEq, const N: usize>(known: &mut SmallVec<[T; N]>, value: T) -> u64
where
    [T; N]: Array<Item = T>,
{
    let place = known.iter().position(|one| *one == value).unwrap_or_else(|| {
        known.push(value);
        known.len() - 1
    });
    place as u64
}
