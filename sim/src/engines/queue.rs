//! A queue of events in order of time; events at the same time keep the order in which they were
//! added.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::plan::SimTime;

pub(crate) struct Queue<T> {
    heap: BinaryHeap<Reverse<Entry<T>>>,
    put: u64,
}

struct Entry<T> {
    at: SimTime,
    order: u64,
    due: T,
}

impl<T> Queue<T> {
    pub(crate) const fn new() -> Self {
        Self { heap: BinaryHeap::new(), put: 0 }
    }

    pub(crate) fn put(&mut self, at: SimTime, due: T) {
        self.put += 1;
        self.heap.push(Reverse(Entry { at, order: self.put, due }));
    }

    /// The time of the next event.
    pub(crate) fn next(&self) -> SimTime {
        self.heap.peek().map_or(SimTime::NEVER, |Reverse(entry)| entry.at)
    }

    pub(crate) fn take(&mut self) -> Option<T> {
        self.heap.pop().map(|Reverse(entry)| entry.due)
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Entry<T> {}
