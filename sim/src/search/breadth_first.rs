//! Breadth-first search over all states, on several threads, with the same result on any number of
//! threads.
//!
//! For a visited state, the search keeps only its fingerprint and the fingerprint of the state from
//! which it was first reached, its parent. The states of the present level and of the next are kept
//! whole, but packed. A level is processed in batches of two phases. First each thread computes the
//! successors of its part of the batch; the set of fingerprints is only read. Then each thread
//! inserts the new fingerprints into its own shards of the set. Within a shard they are inserted in
//! the order of the batch, so the first path to a state does not depend on the speed of the
//! threads.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

use crate::search::pool;

const SHARDS: usize = 16;
const BATCH: usize = 1 << 14;

/// A transition system: states, and the actions that lead from one to another.
pub(super) trait Model: Sync {
    type State;
    /// A state that waits to be examined. It should be small: packed states take most of the
    /// memory.
    type Packed: Send + Sync;
    /// A step from one state to another.
    type Action: Copy + Send;
    /// A violation in a step.
    type Broken: Send;
    /// The conditions that were met on some path.
    type Seen: Default + Send;
    /// Parts that the packed states of one level share.
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

/// The result of a search.
pub(super) struct Found<M: Model> {
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// The number of steps on a shortest path from an initial state to the furthest state.
    pub(super) depth: u32,
    /// The most states in one level.
    pub(super) widest: u64,
    pub(super) end: End<M>,
    pub(super) seen: M::Seen,
}

/// The end of a search.
pub(super) enum End<M: Model> {
    /// Every state was examined.
    Complete,
    /// The limit of states was reached.
    Cut,
    /// A shortest path to a violation: its initial state, and its actions.
    Broken { from: M::State, actions: Vec<M::Action>, broken: M::Broken },
}

/// Examines every state to which so many steps lead, and stops early once there are `limit` states.
pub(super) fn search<M: Model>(model: &M, steps: u32, limit: u64, jobs: usize) -> Found<M> {
    let mut search =
        Search { model, jobs: jobs.max(1), visited: Visited::default(), transitions: 0 };
    let mut seen = M::Seen::default();
    let mut level = search.initial_level();
    let (mut depth, mut widest) = (0, search.visited.len());
    let end = loop {
        let (before, is_last) = (search.visited.len(), depth + 1 >= steps);
        let next = match search.level(level, is_last, limit, &mut seen) {
            Level::Next(next) => next,
            Level::Cut => break End::Cut,
            Level::Broken(parent, action, broken) => break search.path_to(parent, action, broken),
        };
        let new = search.visited.len() - before;
        depth += u32::from(new > 0);
        widest = widest.max(new);
        if is_last || new == 0 {
            break End::Complete;
        }
        level = next;
    };
    let (states, transitions) = (search.visited.len(), search.transitions);
    Found { states, transitions, depth, widest, end, seen }
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

/// The fingerprint of a state, the fingerprint of its parent, and the state.
type Reached<S> = (u64, u64, S);

/// The results of one thread for its part of a batch.
struct Part<M: Model> {
    reached: [Vec<Reached<M::Packed>>; SHARDS],
    transitions: u64,
    seen: M::Seen,
    broken: Option<(u64, M::Action, M::Broken)>,
}

impl<M: Model> Search<'_, M> {
    fn initial_level(&mut self) -> Vec<Batch<M>> {
        let mut common = M::Common::default();
        let level = self.model.initial().into_iter();
        let mut level: Batch<M> = level
            .map(|state| (self.model.fingerprint(&state), M::pack(state, &mut common)))
            .collect();
        level.retain(|(own, _)| self.visited.shard_mut(*own).insert(*own, *own).is_none());
        vec![level]
    }

    /// Examines the states of one level, and keeps those of the next one unless this is the last.
    /// Each batch is dropped once it was examined, because states
    /// take most of the memory.
    fn level(
        &mut self,
        level: Vec<Batch<M>>,
        is_last: bool,
        limit: u64,
        seen: &mut M::Seen,
    ) -> Level<M> {
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
            let new = self.visited.insert(reached, self.jobs);
            for new in new.into_iter().filter(|_| !is_last) {
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

    /// Reconstructs a path: back to an initial state by fingerprints, then forward by states.
    fn path_to(&self, parent: u64, last: M::Action, broken: M::Broken) -> End<M> {
        let mut path = vec![parent];
        while let Some(&first) = path.last()
            && let Some(before) = self.visited.parent(first)
            && before != first
        {
            path.push(before);
        }
        path.reverse();
        let begins = |state: &M::State| Some(&self.model.fingerprint(state)) == path.first();
        let from = || self.model.initial().into_iter().find(begins);
        let mut actions = Vec::with_capacity(path.len());
        let mut state = from();
        for wanted in path.iter().skip(1) {
            let found = state.as_ref().and_then(|state| self.action_to(state, *wanted));
            let Some((action, next)) = found else { break };
            actions.push(action);
            state = Some(next);
        }
        actions.push(last);
        match from() {
            Some(from) => End::Broken { from, actions, broken },
            None => unreachable!("every path begins with an initial state"),
        }
    }

    fn action_to(&self, state: &M::State, wanted: u64) -> Option<(M::Action, M::State)> {
        self.model.actions(state).into_iter().find_map(|action| {
            let next = self.model.step(state, action, &mut M::Seen::default()).ok()?;
            (self.model.fingerprint(&next) == wanted).then_some((action, next))
        })
    }
}

/// The identity: fingerprints are hashes already.
#[derive(Default)]
struct FingerprintHasher(u64);

impl Hasher for FingerprintHasher {
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

type Shard = HashMap<u64, u64, BuildHasherDefault<FingerprintHasher>>;

/// The fingerprint of each visited state, with that of its parent. An initial state is its own
/// parent.
#[derive(Default)]
struct Visited([Shard; SHARDS]);

impl Visited {
    /// The shard of a fingerprint. It depends on bits in the middle, because the hash table uses
    /// the low and the high bits.
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

    /// Inserts the new states, and returns them.
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
            own.into_iter()
                .map(|(shard, reached)| insert_into_shard(shard, reached))
                .collect::<Vec<_>>()
        });
        new.into_iter().flatten().flatten().collect()
    }
}

fn insert_into_shard<S>(shard: &mut Shard, reached: Vec<Vec<Reached<S>>>) -> Vec<(u64, S)> {
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
