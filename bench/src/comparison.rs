//! Two things measured in turns.

use std::time::Duration;

use criterion::Criterion;

use crate::Quantiles;

/// With fewer pairs, a ratio says nothing: the run was a smoke test, or a filter left it out.
const LEAST_PAIRS: usize = 30;

/// The side to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side that is judged.
    Ours,
    /// The side that it is judged by.
    Bare,
}

/// Two sides, one of which is judged by the other.
///
/// Both are measured in short batches, in turns: first one, then the other, and the other way round
/// the next time. Whatever else the machine does, it does to both; each pair of batches gives one
/// ratio, and the median of those is the result.
#[derive(Debug)]
pub struct Comparison {
    group: String,
    name: &'static str,
    sides: [&'static str; 2],
    batch: u32,
    most: Option<f64>,
    pairs: Vec<(Duration, Duration)>,
}

impl Comparison {
    /// A comparison of two sides of these names, ours first, in turns of `batch` repetitions each.
    ///
    /// # Panics
    /// If a turn has no repetition.
    pub fn new(
        group: impl Into<String>,
        name: &'static str,
        sides: [&'static str; 2],
        batch: u32,
    ) -> Self {
        assert!(batch > 0, "a turn has at least one repetition");
        Self { group: group.into(), name, sides, batch, most: None, pairs: Vec::new() }
    }

    /// The greatest ratio that is good enough.
    #[must_use]
    pub fn at_most(mut self, ratio: f64) -> Self {
        self.most = Some(ratio);
        self
    }

    /// Measures both sides under criterion, each in turns with the other. `measure` repeats one
    /// side that many times and returns how long that took.
    pub fn run(
        &mut self,
        criterion: &mut Criterion,
        mut measure: impl FnMut(Side, u32) -> Duration,
    ) {
        let mut group = criterion.benchmark_group(&self.group);
        for (side, name) in [Side::Ours, Side::Bare].into_iter().zip(self.sides) {
            group.bench_function(format!("{}/{name}", self.name), |bencher| {
                bencher.iter_custom(|repetitions| {
                    let (ours, bare) = self.take_turns(repetitions, &mut measure);
                    match side {
                        Side::Ours => ours,
                        Side::Bare => bare,
                    }
                });
            });
        }
        group.finish();
    }

    /// The time of that many repetitions of each side.
    fn take_turns(
        &mut self,
        repetitions: u64,
        measure: &mut impl FnMut(Side, u32) -> Duration,
    ) -> (Duration, Duration) {
        let (mut all_ours, mut all_bare) = (Duration::ZERO, Duration::ZERO);
        let mut left = repetitions;
        let mut ours_first = true;
        while left > 0 {
            let turn = u32::try_from(left).unwrap_or(u32::MAX).min(self.batch);
            let (ours, bare) = if ours_first {
                let ours = measure(Side::Ours, turn);
                (ours, measure(Side::Bare, turn))
            } else {
                let bare = measure(Side::Bare, turn);
                (measure(Side::Ours, turn), bare)
            };
            // The rest at the end, and the first repetitions of a warm-up, weigh less.
            if turn == self.batch {
                self.pairs.push((ours, bare));
            }
            (all_ours, all_bare) = (all_ours + ours, all_bare + bare);
            left -= u64::from(turn);
            ours_first = !ours_first;
        }
        (all_ours, all_bare)
    }

    pub(crate) fn title(&self) -> String {
        format!("{}: {}", self.group, self.name)
    }

    pub(crate) fn sides(&self) -> [&'static str; 2] {
        self.sides
    }

    pub(crate) fn most(&self) -> Option<f64> {
        self.most
    }

    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// Our time by the bare one, pair by pair; `None` if there are too few to tell.
    pub fn ratios(&self) -> Option<Quantiles> {
        self.of_pairs(|(ours, bare)| ours.as_secs_f64() / bare.as_secs_f64())
    }

    /// One repetition's time in nanoseconds, ours and the bare one.
    pub(crate) fn nanos(&self) -> Option<[f64; 2]> {
        let one = |time: Duration| time.as_secs_f64() * 1e9 / f64::from(self.batch);
        let ours = self.of_pairs(|(ours, _)| one(*ours))?;
        let bare = self.of_pairs(|(_, bare)| one(*bare))?;
        Some([ours.median, bare.median])
    }

    fn of_pairs(&self, value: impl Fn(&(Duration, Duration)) -> f64) -> Option<Quantiles> {
        let enough = self.pairs.len() >= LEAST_PAIRS;
        enough.then(|| Quantiles::of(self.pairs.iter().map(value).collect())).flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICRO: Duration = Duration::from_micros(1);

    fn comparison() -> Comparison {
        Comparison::new("group", "sleeping", ["double", "single"], 10)
    }

    #[test]
    fn sides_take_turns_and_swap_the_lead() {
        let mut turns = Vec::new();
        let mut compared = comparison();
        let (ours, bare) = compared.take_turns(25, &mut |side, repetitions| {
            turns.push((side, repetitions));
            MICRO * repetitions * if side == Side::Ours { 2 } else { 1 }
        });
        let (ours_turn, bare_turn) = ((Side::Ours, 10), (Side::Bare, 10));
        assert_eq!(turns[..4], [ours_turn, bare_turn, bare_turn, ours_turn]);
        assert_eq!(turns[4..], [(Side::Ours, 5), (Side::Bare, 5)]);
        assert_eq!((ours, bare), (MICRO * 50, MICRO * 25));
        assert_eq!(compared.pairs, [(MICRO * 20, MICRO * 10); 2], "whole turns only");
    }

    #[test]
    fn a_slower_machine_leaves_the_ratio() {
        let mut compared = comparison();
        let mut calls = 0;
        compared.take_turns(1_000, &mut |side, repetitions| {
            calls += 1;
            let load = 1 + calls / 50;
            MICRO * repetitions * load * if side == Side::Ours { 3 } else { 2 }
        });
        let ratios = compared.ratios().unwrap();
        assert!((ratios.median - 1.5).abs() < 1e-9, "{ratios:?}");
    }

    #[test]
    fn few_pairs_give_no_ratio() {
        let mut compared = comparison();
        compared.take_turns(290, &mut |_, _| MICRO);
        assert_eq!(compared.ratios(), None);
        compared.take_turns(10, &mut |_, _| MICRO);
        assert!(compared.ratios().is_some());
    }
}
