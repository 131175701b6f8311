//! The clocks as constraints: each reading is a node, and its neighbours and the wall clock bound
//! its true time.
//!
//! In `d` nanoseconds of true time a clock counts from `d * (1 - rho)` to `d * (1 + rho)`, where
//! `rho` is its drift bound. So between two readings with difference `c` there are from
//! `c / (1 + rho)` to `c / (1 - rho)` of true time.

use super::facts::{Anchor, Clock, Facts, Index, Moment};
use super::log::{DRIFT_MOST, READING_MOST};
use super::placement::{Contradiction, Edge, ORIGIN, Placement, Why};
use super::{ClocksError, Settings};
use std::time::Duration;

/// Parts per million.
const PPM: u128 = 1_000_000;

/// A reading is rounded down to a nanosecond, on each side of a comparison, and an end of a claim
/// once more.
pub(super) const RESOLUTION: i128 = 4;

/// The earliest and the latest true time.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    earliest: Option<i128>,
    latest: Option<i128>,
}

/// One clock's readings that matter.
#[derive(Debug, Default)]
struct Timeline {
    readings: Vec<u64>,
    first: Index,
    bounds: Vec<Bounds>,
}

/// All clocks, and the constraints among their readings.
#[derive(Debug)]
pub(super) struct Timelines {
    pub(super) placement: Placement,
    of: Vec<Timeline>,
}

/// The most true time in which a clock counts so much.
fn at_most(counted: u64, drift_ppm: u128) -> i128 {
    i128::try_from((u128::from(counted) * PPM).div_ceil(PPM - drift_ppm)).unwrap_or(i128::MAX)
}

/// The least.
fn at_least(counted: u64, drift_ppm: u128) -> i128 {
    i128::try_from(u128::from(counted) * PPM / (PPM + drift_ppm)).unwrap_or(i128::MAX)
}

impl Timelines {
    /// Places the clocks of all files by themselves, with those moments as nodes.
    pub(super) fn new(
        facts: &Facts,
        settings: &Settings,
        moments: impl Iterator<Item = Moment>,
    ) -> Result<Self, ClocksError> {
        let mut readings: Vec<Vec<u64>> = vec![Vec::new(); facts.clocks.len()];
        for moment in moments {
            readings[facts.clock_at(moment)].push(moment.reading);
        }
        let mut placement = Placement::new();
        let mut of = Vec::new();
        for (clock, mut readings) in facts.clocks.iter().zip(readings) {
            readings.extend(clock.anchors.iter().map(|anchor| anchor.at.reading));
            readings.sort_unstable();
            readings.dedup();
            let line = Line { facts, settings, clock, readings };
            of.push(line.place(&mut placement));
        }
        match placement.contradiction() {
            None => {
                placement.settle();
                Ok(Self { placement, of })
            }
            Some(contradiction) => Err(clocks_error(facts, &contradiction)),
        }
    }

    /// The place of a moment that was given to [`new`](Self::new).
    fn place(&self, (clock, reading): (Index, u64)) -> (&Timeline, usize) {
        let of = &self.of[clock];
        let place = of.readings.partition_point(|other| *other < reading);
        assert_eq!(
            of.readings.get(place),
            Some(&reading),
            "every moment that is asked for is a node"
        );
        (of, place)
    }

    /// The node of a moment that was given to [`new`](Self::new).
    pub(super) fn node(&self, clock: Index, reading: u64) -> Index {
        let (of, place) = self.place((clock, reading));
        of.first + place
    }

    /// By how much the first moment may come after the second in true time, by the bounds of each
    /// clock alone; `None` if they don't say.
    pub(super) fn widest(&self, first: (Index, u64), second: (Index, u64)) -> Option<i128> {
        if first.0 == second.0 {
            return Some(i128::from(first.1) - i128::from(second.1));
        }
        let bounds = |moment| {
            let (of, place) = self.place(moment);
            of.bounds[place]
        };
        Some(bounds(first).latest? - bounds(second).earliest?)
    }
}

/// The clock lines contradict each other.
fn clocks_error(facts: &Facts, contradiction: &Contradiction) -> ClocksError {
    let walls = contradiction.edges.iter().filter_map(|edge| match edge.why {
        Why::Wall(moment) => Some(facts.shown(moment.place)),
        Why::Rate | Why::Order(_) => None,
    });
    let lines: Vec<String> = walls.collect();
    let each = contradiction.excess / i128::try_from(lines.len().max(1)).unwrap_or(1) + 1;
    let short = Duration::from_nanos(u64::try_from(each).unwrap_or(u64::MAX));
    ClocksError { lines: lines.join(" and "), short }
}

/// The data for the timeline of one clock.
struct Line<'a> {
    facts: &'a Facts,
    settings: &'a Settings,
    clock: &'a Clock,
    readings: Vec<u64>,
}

impl Line<'_> {
    fn place(self, placement: &mut Placement) -> Timeline {
        let drift = self.drift();
        let guesses = self.guesses();
        let first = guesses.into_iter().map(|guess| placement.node(guess)).min().unwrap_or(0);
        for (place, pair) in self.readings.windows(2).enumerate() {
            let (one, next, counted) = (first + place, first + place + 1, pair[1] - pair[0]);
            let most = at_most(counted, drift);
            placement.edge(Edge { from: one, to: next, most, why: Why::Rate });
            let most = -at_least(counted, drift);
            placement.edge(Edge { from: next, to: one, most, why: Why::Rate });
        }
        let mut bounds = vec![Bounds { earliest: None, latest: None }; self.readings.len()];
        for anchor in &self.clock.anchors {
            let Some((earliest, latest)) = self.true_time(anchor) else { continue };
            let Ok(place) = self.readings.binary_search(&anchor.at.reading) else { continue };
            let (node, why) = (first + place, Why::Wall(anchor.at));
            placement.edge(Edge { from: ORIGIN, to: node, most: latest, why });
            placement.edge(Edge { from: node, to: ORIGIN, most: -earliest, why });
            let bounds = &mut bounds[place];
            bounds.earliest = bounds.earliest.max(Some(earliest));
            bounds.latest = lower(bounds.latest, Some(latest));
        }
        self.spread(&mut bounds);
        Timeline { readings: self.readings, first, bounds }
    }

    fn drift(&self) -> u128 {
        self.settings.drift_ppm.or(self.clock.drift_ppm).unwrap_or(DRIFT_MOST).into()
    }

    /// The true time of the clock line, by the uncertainty of its file.
    fn true_time(&self, anchor: &Anchor) -> Option<(i128, i128)> {
        let file = &self.facts.files[anchor.at.place.file].name;
        let uncertainty = i128::try_from(self.settings.uncertainty_of(file)?.as_nanos());
        let (uncertainty, wall) = (uncertainty.ok()?, i128::from(anchor.wall));
        let within = at_most(anchor.within, self.drift());
        Some((wall - uncertainty - within, wall + uncertainty))
    }

    /// The time of each reading by the wall clock at the last clock line before it, or the first
    /// one. A clock without any is guessed late: nodes only move to earlier times, so this clock is
    /// fitted to the others.
    fn guesses(&self) -> Vec<i128> {
        let mut anchors: Vec<(u64, u64)> =
            self.clock.anchors.iter().map(|anchor| (anchor.at.reading, anchor.wall)).collect();
        anchors.sort_unstable();
        let mut next = 0;
        let mut guesses = Vec::with_capacity(self.readings.len());
        for reading in &self.readings {
            while next + 1 < anchors.len() && anchors[next + 1].0 <= *reading {
                next += 1;
            }
            let (at, wall) = anchors.get(next).copied().unwrap_or((0, READING_MOST));
            guesses.push(i128::from(wall) + i128::from(*reading) - i128::from(at));
        }
        guesses
    }

    /// Spreads the bounds of the clock lines to all readings.
    fn spread(&self, bounds: &mut [Bounds]) {
        let drift = self.drift();
        let span = |place: usize| self.readings[place] - self.readings[place - 1];
        for place in 1..bounds.len() {
            let (most, least) = (at_most(span(place), drift), at_least(span(place), drift));
            let Bounds { earliest, latest } = bounds[place - 1];
            let here = &mut bounds[place];
            here.latest = lower(here.latest, latest.map(|latest| latest + most));
            here.earliest = here.earliest.max(earliest.map(|earliest| earliest + least));
        }
        for place in (1..bounds.len()).rev() {
            let (most, least) = (at_most(span(place), drift), at_least(span(place), drift));
            let Bounds { earliest, latest } = bounds[place];
            let here = &mut bounds[place - 1];
            here.latest = lower(here.latest, latest.map(|latest| latest - least));
            here.earliest = here.earliest.max(earliest.map(|earliest| earliest - most));
        }
    }
}

/// The lower bound of two, where `None` is none.
fn lower(one: Option<i128>, other: Option<i128>) -> Option<i128> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
