//! The verdict of a campaign: whether its runs failed, and whether they prove enough if they did
//! not.

use serde::{Deserialize, Serialize};

use super::{Failure, Ordered, Soak, Summary};
use crate::plan::FaultKind;

/// A kind of fault that was ordered at least this often must have had an effect.
pub(crate) const OFTEN: u64 = 20;

/// The verdict of a campaign. The verdict of several is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No run failed, and nothing is [missing](Summary::missing).
    Held,
    /// No run failed, but something is [missing](Summary::missing): the runs prove less than they
    /// should.
    Inconclusive,
    /// The same plan gave two traces.
    Nondeterministic,
    /// A property was violated, or a run did not complete.
    Violated,
}

impl Verdict {
    /// The command's exit code.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Violated => 1,
            Self::Inconclusive => 2,
            Self::Nondeterministic => 3,
        }
    }

    /// The verdict of a failure.
    pub const fn of(failure: &Failure) -> Self {
        match failure {
            Failure::Violated { .. } | Failure::Refused { .. } | Failure::Broke { .. } => {
                Self::Violated
            }
            Failure::Nondeterministic { .. } => Self::Nondeterministic,
        }
    }
}

impl Summary {
    /// The conditions that no run has met.
    pub fn unmet(&self) -> Vec<&str> {
        let never = self.sometimes.iter().filter(|(_, count)| **count == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }

    /// The kinds of faults that were ordered often, and never had an effect: the engine does not
    /// carry them out.
    pub fn without_effect(&self) -> Vec<FaultKind> {
        let never = |count: &Ordered| count.ordered >= OFTEN && count.effects == 0;
        self.faults.iter().filter(|(_, count)| never(count)).map(|(kind, _)| *kind).collect()
    }

    /// The properties that have compared nothing in any run: it means nothing that they were not
    /// violated.
    pub fn unexercised(&self) -> Vec<&str> {
        let never = self.properties.iter().filter(|(_, judged)| judged.compared == 0);
        never.map(|(name, _)| name.as_str()).collect()
    }

    /// The reasons why the campaign is inconclusive, each with at most that many names.
    pub fn missing(&self, most: usize) -> Vec<String> {
        let kinds: Vec<&str> = self.without_effect().into_iter().map(FaultKind::name).collect();
        let lists = [
            ("never met", self.unmet()),
            ("ordered, but without effect", kinds),
            ("never exercised", self.unexercised()),
        ];
        let missing = lists.into_iter().filter(|(_, names)| !names.is_empty());
        let missing = missing.map(|(what, names)| format!("{what}: {}", listed(&names, most)));
        let short = self.soak.as_ref().filter(|soak| !soak.is_long_enough());
        let short = short.map(|soak| {
            format!("growth of memory and descriptors: too few blocks ({})", soak.blocks().len())
        });
        missing.chain(short).collect()
    }

    /// The growth of this process's resources, in words. Always empty if that was not watched.
    pub fn growth(&self) -> Vec<String> {
        self.soak.as_ref().map(Soak::growth).unwrap_or_default()
    }

    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        match &self.failed {
            Some(failed) => Verdict::of(&failed.failure),
            None if !self.growth().is_empty() => Verdict::Violated,
            None if self.missing(0).is_empty() => Verdict::Held,
            None => Verdict::Inconclusive,
        }
    }
}

/// The first names, and how many more there are.
fn listed(names: &[&str], most: usize) -> String {
    match names.len().saturating_sub(most) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names[..most].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Judged;
    use super::super::summary::tests::{campaign, meeting};
    use super::*;
    use crate::judge::properties::PropertyName;

    #[test]
    fn a_fault_without_effects_is_inconclusive() {
        let summary = |count| {
            let mut summary = Summary::new(&campaign());
            (summary.sometimes, summary.properties) = Default::default();
            summary.faults.insert(FaultKind::Cut, count);
            summary
        };
        for (ordered, effects, verdict) in [
            (OFTEN, 0, Verdict::Inconclusive),
            (OFTEN - 1, 0, Verdict::Held),
            (OFTEN, 1, Verdict::Held),
        ] {
            let summary = summary(Ordered { ordered, effects });
            assert_eq!(summary.verdict(), verdict, "{ordered} ordered, {effects} effects");
        }
    }

    #[test]
    fn a_property_that_compared_nothing_is_inconclusive() {
        let judged_in = |runs: &[u64]| {
            let mut summary = Summary::new(&campaign());
            summary.sometimes.clear();
            summary.properties = [("luck".to_owned(), Judged::default())].into();
            for compared in runs {
                let mut run = meeting(10);
                (run.sometimes, run.judged) =
                    (Vec::new(), vec![(PropertyName::new("luck"), *compared)]);
                summary.add(run);
            }
            summary
        };
        for (runs, exercised, verdict) in [
            (&[][..], 0, Verdict::Inconclusive),
            (&[0, 0], 0, Verdict::Inconclusive),
            (&[0, 3, 1], 2, Verdict::Held),
        ] {
            let summary = judged_in(runs);
            assert_eq!(summary.verdict(), verdict, "{runs:?}");
            let judged = summary.properties["luck"];
            assert_eq!((judged.checked, judged.exercised), (runs.len() as u64, exercised));
            assert_eq!(judged.compared, runs.iter().sum::<u64>());
        }
    }

    #[test]
    fn the_worst_verdict_counts_for_all() {
        use Verdict::{Held, Inconclusive, Nondeterministic, Violated};
        let worst = [Inconclusive, Violated, Held, Nondeterministic].into_iter().max();
        assert_eq!(worst.map(Verdict::exit_code), Some(1));
        assert_eq!([Held, Inconclusive].into_iter().max(), Some(Inconclusive));
    }
}
