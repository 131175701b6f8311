//! Merging the summaries of several machines.

use std::collections::BTreeSet;

use super::Summary;

/// An error in merging summaries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There are no summaries.
    #[error("there is nothing to merge")]
    Nothing,
    /// The summaries are of different campaigns.
    #[error("{other}: field {field:?} is {found}, and must be {must}, as in {one}")]
    Differ {
        /// One source.
        one: String,
        /// Another source.
        other: String,
        /// The field in which they differ.
        field: &'static str,
        /// The value in the other source.
        found: String,
        /// The value in the one source.
        must: String,
    },
    /// A run would count twice.
    #[error("{one} and {other} both hold seed {seed} of the {engine} engine")]
    Overlap {
        /// One source.
        one: String,
        /// Another source.
        other: String,
        /// The lowest seed that both hold.
        seed: u64,
        /// The engine.
        engine: String,
    },
}

/// Merges the summaries of all sources: one summary for each engine, in the order of the
/// first source.
///
/// # Errors
/// If their versions, engines, faults or properties differ, or if two hold the same seed.
pub fn merged(sources: Vec<(String, Vec<Summary>)>) -> Result<Vec<Summary>, MergeError> {
    check(&sources)?;
    let mut merged: Vec<Summary> = Vec::new();
    for summary in sources.into_iter().flat_map(|(_, summaries)| summaries) {
        match merged.iter_mut().find(|sum| sum.engine == summary.engine) {
            Some(sum) => {
                sum.add_parallel(&summary);
                sum.absorb(summary);
            }
            None => merged.push(summary),
        }
    }
    if merged.is_empty() { Err(MergeError::Nothing) } else { Ok(merged) }
}

fn check(sources: &[(String, Vec<Summary>)]) -> Result<(), MergeError> {
    let (first, their) = sources.first().ok_or(MergeError::Nothing)?;
    for (name, summaries) in sources {
        Pair { one: first, other: name }.same("engine", engines(their), engines(summaries))?;
    }
    let all: Vec<(&String, &Summary)> = sources
        .iter()
        .flat_map(|(name, summaries)| summaries.iter().map(move |summary| (name, summary)))
        .collect();
    for (number, (name, summary)) in all.iter().enumerate() {
        let earlier = all[..number].iter().filter(|(_, other)| other.engine == summary.engine);
        if let Some((first, one)) = earlier.clone().next() {
            Pair { one: first, other: name }.alike(one, summary)?;
        }
        for (other_name, other) in earlier {
            Pair { one: other_name, other: name }.disjoint(other, summary)?;
        }
    }
    Ok(())
}

/// The names of two sources.
struct Pair<'a> {
    one: &'a str,
    other: &'a str,
}

impl Pair<'_> {
    fn same(&self, field: &'static str, must: String, found: String) -> Result<(), MergeError> {
        if must == found {
            return Ok(());
        }
        let (one, other) = (self.one.to_owned(), self.other.to_owned());
        Err(MergeError::Differ { one, other, field, found, must })
    }

    fn alike(&self, one: &Summary, other: &Summary) -> Result<(), MergeError> {
        self.same("version", one.version.clone(), other.version.clone())?;
        self.same("allowed", list(&one.allowed), list(&other.allowed))?;
        let properties = |of: &Summary| list(of.properties.keys());
        self.same("properties", properties(one), properties(other))
    }

    fn disjoint(&self, one: &Summary, other: &Summary) -> Result<(), MergeError> {
        let shared = |mine| other.seeds.iter().filter_map(move |others| others.shared(mine));
        match one.seeds.iter().flat_map(shared).min() {
            None => Ok(()),
            Some(seed) => Err(MergeError::Overlap {
                one: self.one.to_owned(),
                other: self.other.to_owned(),
                seed,
                engine: one.engine.clone(),
            }),
        }
    }
}

fn engines(of: &[Summary]) -> String {
    list(of.iter().map(|summary| &summary.engine).collect::<BTreeSet<_>>())
}

fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(",")
}
