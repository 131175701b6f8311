//! The result of a margin search.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::super::formula::Bounds;
use super::{Climb, ENDINGS};
use crate::judge::margin::Ending;
use crate::plan::Plan;
use crate::search::campaign::milliseconds;

/// The result of a margin search.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The least margin after each way in which a tenure may end.
    pub least: Vec<Least>,
    /// The margin that the property `margin-kept` promises: `stop margin/(1 + rho)`.
    #[serde(rename = "promised_ms", serialize_with = "in_ms")]
    pub promised: Duration,
    /// The number of tried plans.
    pub tried: u64,
    /// The number of plans that kept all assumptions, and were run.
    pub within: u64,
    /// A violation in one of the runs: the property and the description.
    pub violation: Option<String>,
    /// The plan with the violation.
    #[serde(skip)]
    violating: Option<Plan>,
}

/// The least margin after one way in which a tenure may end.
#[derive(Clone, Debug, Serialize)]
pub struct Least {
    /// The end of the first tenure.
    pub after: Ending,
    /// The least time between two tenures' permitted writes; `None` if no tenure followed another.
    #[serde(rename = "margin_ms", serialize_with = "in_ms_if_any")]
    pub margin: Option<Duration>,
    /// The lower bound of the margin.
    #[serde(rename = "bound_ms", serialize_with = "in_ms")]
    pub bound: Duration,
    /// The number of runs.
    pub runs: u64,
    /// The plan with the least margin.
    #[serde(skip)]
    pub plan: Option<Plan>,
}

impl Least {
    /// The end of the first tenure's lease, in words.
    pub const fn after_words(&self) -> &'static str {
        match self.after {
            Ending::Lapsed => "lapsed",
            Ending::HandedBack => "was handed back",
        }
    }

    fn of(bounds: &Bounds, after: Ending, climbs: &[Climb<'_>]) -> Self {
        let climbs = || climbs.iter().filter(|climb| climb.ending == after);
        let best = climbs().filter_map(|climb| climb.best.as_ref()).min_by_key(|best| best.0);
        let plan = best.map(|best| best.1.clone());
        let bound = match after {
            Ending::Lapsed => bounds.gap(),
            // One latency for the release to the store, and one for the grant to the successor.
            Ending::HandedBack => {
                Duration::from_micros(plan.as_ref().map_or(0, |plan| 2 * plan.latency_us.0))
            }
        };
        let runs = climbs().map(|climb| climb.within).sum();
        Self { after, margin: best.map(|best| best.0), bound, runs, plan }
    }
}

impl Found {
    pub(super) fn of(bounds: &Bounds, climbs: Vec<Climb<'_>>) -> Self {
        let least = ENDINGS.map(|after| Least::of(bounds, after, &climbs)).to_vec();
        let (tried, within) =
            (climbs.iter().map(|one| one.tried).sum(), climbs.iter().map(|one| one.within).sum());
        let (violation, violating) = climbs.into_iter().find_map(|climb| climb.violation).unzip();
        let promised = bounds.promised_gap();
        Self { least, promised, tried, within, violation, violating }
    }

    /// The plan to examine: one with a violation, or else the one with the least margin after a
    /// lapse.
    pub fn plan(&self) -> Option<&Plan> {
        let least = self.least.first().and_then(|least| least.plan.as_ref());
        self.violating.as_ref().or(least)
    }

    /// Zero if no margin is below its bound; one if a margin is, or if a property was violated; two
    /// if after one of the endings no tenure followed another.
    pub fn exit_code(&self) -> u8 {
        let is_below = |least: &Least| least.margin.is_some_and(|margin| margin < least.bound);
        if self.violation.is_some() || self.least.iter().any(is_below) {
            1
        } else if self.least.iter().any(|least| least.margin.is_none()) {
            2
        } else {
            0
        }
    }
}

fn in_ms<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(*time))
}

#[allow(clippy::ref_option, reason = "as serde calls it")]
fn in_ms_if_any<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(milliseconds).serialize(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(margins_ms: [Option<u64>; 2], violation: Option<&str>) -> Found {
        let least = |(after, margin): (Ending, Option<u64>)| Least {
            after,
            margin: margin.map(Duration::from_millis),
            bound: Duration::from_millis(5),
            runs: 1,
            plan: None,
        };
        Found {
            least: ENDINGS.into_iter().zip(margins_ms).map(least).collect(),
            promised: Duration::from_millis(4),
            tried: 2,
            within: 2,
            violation: violation.map(str::to_owned),
            violating: None,
        }
    }

    #[test]
    fn a_margin_below_its_bound_is_a_violation() {
        assert_eq!(found([Some(5), Some(9)], None).exit_code(), 0);
        assert_eq!(found([Some(5), Some(4)], None).exit_code(), 1);
        assert_eq!(found([Some(4), None], None).exit_code(), 1);
        assert_eq!(found([Some(5), None], None).exit_code(), 2);
        assert_eq!(found([Some(5), Some(9)], Some("single-leader")).exit_code(), 1);
    }
}
