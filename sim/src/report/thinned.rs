//! A page holds a limited number of items. Of a longer run, some are omitted, evenly over time.
//!
//! Items that are necessary to understand a run, and items near a violation, are never omitted.

use std::collections::BTreeMap;

use super::item::{Item, Kind};

/// The number of items that are kept before each violation, and after it.
const NEAR: usize = 300;

/// The items that are shown, and the number of others of each kind.
#[derive(Debug)]
pub(super) struct Thinned {
    pub(super) items: Vec<Item>,
    pub(super) left_out: BTreeMap<Kind, usize>,
}

/// Omits items beyond `most`, evenly over time. Essential items stay, even if they alone are more
/// than `most`.
pub(super) fn thinned(mut items: Vec<Item>, most: usize) -> Thinned {
    items.sort_by_key(|item| item.at);
    if items.len() <= most {
        return Thinned { items, left_out: BTreeMap::new() };
    }
    let keeps = kept(&items);
    let room = most.saturating_sub(keeps.iter().filter(|keeps| **keeps).count());
    let rest = keeps.iter().filter(|keeps| !**keeps).count();
    let mut left_out: BTreeMap<Kind, usize> = BTreeMap::new();
    let mut seen: BTreeMap<Kind, usize> = BTreeMap::new();
    let items = items.into_iter().zip(keeps).filter_map(|(item, keeps)| {
        let number = seen.entry(item.kind).or_default();
        if keeps {
            return Some(item);
        }
        // The same share of each kind, at equal distances.
        let is_shown = (*number + 1) * room / rest > *number * room / rest;
        *number += 1;
        if is_shown {
            return Some(item);
        }
        *left_out.entry(item.kind).or_default() += 1;
        None
    });
    Thinned { items: items.collect(), left_out }
}

fn kept(items: &[Item]) -> Vec<bool> {
    let mut keeps: Vec<bool> = items.iter().map(|item| item.kind.is_essential()).collect();
    let violations = items.iter().enumerate().filter(|(_, item)| item.kind == Kind::Violation);
    for (index, _) in violations {
        let last = items.len().min(index + NEAR + 1);
        keeps[index.saturating_sub(NEAR)..last].fill(true);
    }
    keeps
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::ns;

    fn items(of: Kind, count: u64) -> impl Iterator<Item = Item> {
        (0..count).map(move |at| Item::new(of, None, ns(at * 10), ""))
    }

    fn count(thinned: &Thinned, kind: Kind) -> usize {
        thinned.items.iter().filter(|item| item.kind == kind).count()
    }

    #[test]
    fn a_short_run_is_shown_completely() {
        let thinned = thinned(items(Kind::Message, 50).collect(), 50);
        assert_eq!((thinned.items.len(), thinned.left_out.len()), (50, 0));
    }

    #[test]
    fn essential_items_stay_and_others_are_thinned() {
        let all = items(Kind::Message, 6_000).chain(items(Kind::Effect, 3_000));
        let all: Vec<Item> = all.chain(items(Kind::Fault, 400)).collect();
        let thinned = thinned(all, 1_000);
        assert_eq!(count(&thinned, Kind::Fault), 400);
        assert!(thinned.items.len() <= 1_000, "{}", thinned.items.len());
        assert!((395..=400).contains(&count(&thinned, Kind::Message)), "{thinned:?}");
        let shown: Vec<_> =
            thinned.items.iter().filter(|item| item.kind == Kind::Message).collect();
        let widest = shown.windows(2).map(|pair| pair[1].at.since(pair[0].at)).max();
        assert_eq!(widest, Some(Duration::from_nanos(150)), "one of fifteen, without holes");
        assert_eq!(thinned.left_out[&Kind::Message] + shown.len(), 6_000);
        assert!(!thinned.left_out.contains_key(&Kind::Fault));
    }

    #[test]
    fn items_near_a_violation_stay() {
        let mut all: Vec<Item> = items(Kind::Message, 9_000).collect();
        all.push(Item::new(Kind::Violation, None, ns(45_005), ""));
        let thinned = thinned(all, 1_000);
        let near = |item: &&Item| {
            (ns(43_000)..ns(47_000)).contains(&item.at) && item.kind == Kind::Message
        };
        assert_eq!(thinned.items.iter().filter(near).count(), 400);
        assert!(thinned.items.len() <= 1_000);
    }

    #[test]
    fn essential_items_may_exceed_the_limit() {
        let all = items(Kind::Leads, 70).chain(items(Kind::Message, 70)).collect();
        let thinned = thinned(all, 50);
        assert_eq!((thinned.items.len(), thinned.left_out[&Kind::Message]), (70, 70));
    }
}
