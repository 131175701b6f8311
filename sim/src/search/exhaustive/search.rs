//! Breadth-first search over all states, on several threads, with the same result on any number of them.
//!
//! Of a state that was seen only its fingerprint is kept, and that of the state it was first reached from;
//! states themselves are kept for the present level and the next, packed. A level is worked off in batches: threads
//! look for successors, each in a part of the batch, while nobody writes; then each puts what is new into
//! its own shards of the set. Within a shard the order is that of the batch, so that which state comes
//! first, and from where, does not depend on who was faster.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use crate::search::pool;

const SHARDS: usize = 16;
const BATCH: usize = 1 << 14;

/// Something that has states.
pub(super) trait Model: Sync {
    type State;
    /// A state while it waits to be looked at: small, as most of the memory is theirs.
    type Packed: Send + Sync;
    /// What leads from one state to another.
    type Action: Copy + Send;
    /// What is wrong with a step.
    type Broken: Send;
    /// What was seen on the way.
    type Seen: Default + Send;
    /// Parts of the packed states of one level, so that what several have in common is kept once.
    type Common: Default + Send;

    fn initial(&self) -> Vec<Self::State>;
    fn fingerprint(&self, state: &Self::State) -> u64;
    fn actions(&self, state: &Self::State) -> Vec<Self::Action>;
    fn step(
        &self,
        state: &Self::State,
        action: Self::Action,
        seen: &mut Self::Seen,
    ) -> Result<Self::State, Self::Broken>;
    fn add(all: &mut Self::Seen, more: Self::Seen);
    fn pack(state: Self::State, common: &mut Self::Common) -> Self::Packed;
    fn unpack(packed: &Self::Packed) -> Self::State;
}

/// What came of a search.
pub(super) struct Found<M: Model> {
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// Steps from the beginning to the furthest state, on the shortest way.
    pub(super) depth: u32,
    /// The most states in one level.
    pub(super) widest: u64,
    pub(super) end: End<M>,
    pub(super) seen: M::Seen,
}

/// How a search ended.
pub(super) enum End<M: Model> {
    /// There is no other state.
    Complete,
    /// There are more states than were allowed.
    Cut,
    /// A shortest way to something wrong: the state at its beginning, and what happened.
    Broken { from: M::State, actions: Vec<M::Action>, broken: M::Broken },
}

/// Looks at every state, or at the first ones until there are `limit` of them.
pub(super) fn search<M: Model>(model: &M, limit: u64, jobs: usize) -> Found<M> {
    let mut search =
        Search { model, jobs: jobs.max(1), visited: Visited::default(), transitions: 0 };
    let mut seen = M::Seen::default();
    let mut level = search.begin();
    let len = |level: &[Batch<M>]| level.iter().map(Vec::len).sum::<usize>();
    let (mut depth, mut widest) = (0, len(&level));
    let end = loop {
        let next = match search.level(level, limit, &mut seen) {
            Level::Next(next) => next,
            Level::Cut => break End::Cut,
            Level::Broken(parent, action, broken) => break search.way(parent, action, broken),
        };
        if next.is_empty() {
            break End::Complete;
        }
        depth += 1;
        widest = widest.max(len(&next));
        level = next;
    };
    let (states, transitions) = (search.visited.len(), search.transitions);
    Found { states, transitions, depth, widest: widest as u64, end, seen }
}

struct Search<'a, M> {
    model: &'a M,
    jobs: usize,
    visited: Visited,
    transitions: u64,
}

/// States of one level, each with its fingerprint.
type Batch<M> = Vec<(u64, <M as Model>::Packed)>;

enum Level<M: Model> {
    Next(Vec<Batch<M>>),
    Cut,
    Broken(u64, M::Action, M::Broken),
}

/// A state with its fingerprint and that of the one before.
type Reached<S> = (u64, u64, S);

/// What one thread found in its part of a batch.
struct Part<M: Model> {
    reached: [Vec<Reached<M::Packed>>; SHARDS],
    transitions: u64,
    seen: M::Seen,
    broken: Option<(u64, M::Action, M::Broken)>,
}

impl<M: Model> Search<'_, M> {
    fn begin(&mut self) -> Vec<Batch<M>> {
        let mut common = M::Common::default();
        let level = self.model.initial().into_iter();
        let mut level: Batch<M> = level
            .map(|state| (self.model.fingerprint(&state), M::pack(state, &mut common)))
            .collect();
        level.retain(|(own, _)| self.visited.shard_mut(*own).insert(*own, *own).is_none());
        vec![level]
    }

    /// Each batch is given up as soon as it was looked at: states are what takes the room.
    fn level(&mut self, level: Vec<Batch<M>>, limit: u64, seen: &mut M::Seen) -> Level<M> {
        let mut next: Vec<Batch<M>> = Vec::new();
        let mut common: Vec<M::Common> = Vec::new();
        common.resize_with(self.jobs, M::Common::default);
        for batch in level {
            let parts = self.expand(&batch, &mut common);
            drop(batch);
            let mut reached = Vec::with_capacity(parts.len());
            for part in parts {
                self.transitions += part.transitions;
                M::add(seen, part.seen);
                if let Some((parent, action, broken)) = part.broken {
                    return Level::Broken(parent, action, broken);
                }
                reached.push(part.reached);
            }
            for new in self.visited.insert(reached, self.jobs) {
                match next.last_mut() {
                    Some(last) if last.len() < BATCH => last.push(new),
                    _ => next.push(vec![new]),
                }
            }
            if self.visited.len() >= limit {
                return Level::Cut;
            }
        }
        Level::Next(next)
    }

    fn expand(&self, batch: &[(u64, M::Packed)], common: &mut [M::Common]) -> Vec<Part<M>> {
        let size = batch.len().div_ceil(self.jobs).max(1);
        let parts = batch.chunks(size).zip(common);
        pool::each(parts, |(part, common)| self.part(part, common))
    }

    fn part(&self, states: &[(u64, M::Packed)], common: &mut M::Common) -> Part<M> {
        let mut part = Part {
            reached: std::array::from_fn(|_| Vec::new()),
            transitions: 0,
            seen: M::Seen::default(),
            broken: None,
        };
        for (parent, packed) in states {
            let (parent, state) = (*parent, M::unpack(packed));
            for action in self.model.actions(&state) {
                part.transitions += 1;
                match self.model.step(&state, action, &mut part.seen) {
                    Ok(next) => {
                        let own = self.model.fingerprint(&next);
                        if self.visited.parent(own).is_none() {
                            let packed = M::pack(next, common);
                            part.reached[Visited::index(own)].push((own, parent, packed));
                        }
                    }
                    Err(broken) => {
                        part.broken = Some((parent, action, broken));
                        return part;
                    }
                }
            }
        }
        part
    }

    /// Walks back by fingerprints, then forward again by states.
    fn way(&self, parent: u64, last: M::Action, broken: M::Broken) -> End<M> {
        let mut way = vec![parent];
        while let Some(&first) = way.last()
            && let Some(before) = self.visited.parent(first)
            && before != first
        {
            way.push(before);
        }
        way.reverse();
        let begins = |state: &M::State| Some(&self.model.fingerprint(state)) == way.first();
        let from = || self.model.initial().into_iter().find(begins);
        let mut actions = Vec::with_capacity(way.len());
        let mut state = from();
        for wanted in way.iter().skip(1) {
            let found = state.as_ref().and_then(|state| self.towards(state, *wanted));
            let Some((action, next)) = found else { break };
            actions.push(action);
            state = Some(next);
        }
        actions.push(last);
        match from() {
            Some(from) => End::Broken { from, actions, broken },
            None => unreachable!("every way begins with an initial state"),
        }
    }

    fn towards(&self, state: &M::State, wanted: u64) -> Option<(M::Action, M::State)> {
        self.model.actions(state).into_iter().find_map(|action| {
            let next = self.model.step(state, action, &mut M::Seen::default()).ok()?;
            (self.model.fingerprint(&next) == wanted).then_some((action, next))
        })
    }
}

/// Fingerprints are hashes already.
#[derive(Default)]
struct AsItIs(u64);

impl Hasher for AsItIs {
    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are hashed")
    }

    fn write_u64(&mut self, bits: u64) {
        self.0 = bits;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type Shard = HashMap<u64, u64, BuildHasherDefault<AsItIs>>;

/// The states seen so far, each with the one it was reached from; initial ones with themselves.
#[derive(Default)]
struct Visited([Shard; SHARDS]);

impl Visited {
    /// By bits in the middle: the table takes the low ones, and the high ones again.
    #[allow(clippy::cast_possible_truncation, reason = "the remainder is small")]
    const fn index(own: u64) -> usize {
        ((own >> 40) % SHARDS as u64) as usize
    }

    fn shard_mut(&mut self, own: u64) -> &mut Shard {
        &mut self.0[Self::index(own)]
    }

    fn parent(&self, own: u64) -> Option<u64> {
        self.0[Self::index(own)].get(&own).copied()
    }

    fn len(&self) -> u64 {
        self.0.iter().map(|shard| shard.len() as u64).sum()
    }

    /// Puts in what is new, and says what it was.
    fn insert<S: Send>(
        &mut self,
        parts: Vec<[Vec<Reached<S>>; SHARDS]>,
        jobs: usize,
    ) -> Vec<(u64, S)> {
        let mut of_shards: [Vec<Vec<Reached<S>>>; SHARDS] = std::array::from_fn(|_| Vec::new());
        for part in parts {
            for (of_shard, reached) in of_shards.iter_mut().zip(part) {
                of_shard.push(reached);
            }
        }
        let mut work = self.0.iter_mut().zip(of_shards);
        let size = SHARDS.div_ceil(jobs);
        let of_threads = std::iter::from_fn(|| {
            let own: Vec<_> = work.by_ref().take(size).collect();
            (!own.is_empty()).then_some(own)
        });
        let new = pool::each(of_threads, |own| {
            own.into_iter().map(|(shard, reached)| fresh(shard, reached)).collect::<Vec<_>>()
        });
        new.into_iter().flatten().flatten().collect()
    }
}

fn fresh<S>(shard: &mut Shard, reached: Vec<Vec<Reached<S>>>) -> Vec<(u64, S)> {
    let mut new = Vec::new();
    for (own, parent, state) in reached.into_iter().flatten() {
        if let Entry::Vacant(entry) = shard.entry(own) {
            entry.insert(parent);
            new.push((own, state));
        }
    }
    new
}

#[cfg(test)]
mod tests;
