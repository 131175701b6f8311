//! The data of one run for its page.

use std::collections::BTreeMap;

use serde::Serialize;

use super::clocks::{self, Error};
use super::collect;
use super::item::{Item, Kind};
use super::thinned::thinned;
use super::tokens::Tokens;
use super::{ITEMS_MOST, RunPage, causes};
use crate::judge::properties::{PropertyName, Violation};
use crate::plan::{FaultKind, Plan, SimTime};

/// Numbers that may have more than 53 bits are text here, because a browser would round them.
#[derive(Serialize)]
pub(super) struct RunData<'a> {
    engine: &'a str,
    seed: String,
    version: &'static str,
    verdict: &'static str,
    end: SimTime,
    nodes: usize,
    events: usize,
    hash: Option<String>,
    again: &'a str,
    #[serde(rename = "trouble")]
    failure: Option<&'a str>,
    judged: &'a [PropertyName],
    beyond: Vec<String>,
    settings: Vec<(String, Vec<(String, String)>)>,
    plan: String,
    violations: Vec<ViolationData>,
    kinds: Vec<KindData>,
    items: Vec<Item>,
    left_out: BTreeMap<Kind, usize>,
    clocks: Vec<Error>,
    /// The rates of all clocks, as text.
    drift: String,
    /// The most important violation.
    headline: Option<usize>,
    /// The faults before the headline, and the clocks, as text.
    cause: Option<String>,
}

#[derive(Serialize)]
struct KindData {
    kind: Kind,
    name: &'static str,
    about: &'static str,
}

pub(super) fn data<'a>(run: &'a RunPage<'_>) -> RunData<'a> {
    let clocks = clocks::errors(run.plan, run.entries, run.end);
    let drift = causes::drift(&clocks);
    let mut items = collect::items(run.entries, run.violations, run.end);
    let facts: Vec<Option<(&str, String)>> = items
        .iter()
        .map(|item| match item.kind {
            Kind::Violation => Some(("faults until then", causes::faults_before(&items, item.at))),
            Kind::Fault if item.label == FaultKind::Drift.name() => Some(("rates", drift.clone())),
            _ => None,
        })
        .collect();
    for (item, fact) in items.iter_mut().zip(facts) {
        item.facts.extend(fact);
    }
    let headline = headline(run.violations);
    let cause = headline.map(|index| {
        let at = run.violations[index].at;
        format!("Faults until then: {}. Clocks: {drift}.", causes::faults_before(&items, at))
    });
    let tokens = Tokens::of(run.entries);
    let thinned = thinned(items, ITEMS_MOST);
    RunData {
        engine: run.engine,
        seed: run.seed.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        verdict: run.verdict_name(),
        end: run.end,
        nodes: run.plan.nodes.len(),
        events: run.entries.len(),
        hash: run.hash.map(|hash| hash.to_string()),
        again: &run.again,
        failure: run.failure.as_deref(),
        judged: &run.judged,
        beyond: run.plan.broken().iter().map(plain).collect(),
        settings: settings(run.plan),
        plan: run.plan.to_text(),
        violations: run.violations.iter().map(|violation| short(violation, &tokens)).collect(),
        kinds: Kind::ALL.map(described).into(),
        items: thinned.items,
        left_out: thinned.left_out,
        clocks,
        drift,
        headline,
        cause,
    }
}

#[derive(Serialize)]
struct ViolationData {
    property: PropertyName,
    at: SimTime,
    what: String,
}

fn short(violation: &Violation, tokens: &Tokens) -> ViolationData {
    let what = tokens.in_short(&violation.finding.to_string());
    ViolationData { property: violation.property, at: violation.at, what }
}

fn described(kind: Kind) -> KindData {
    let (name, about) = kind.described();
    KindData { kind, name, about }
}

/// The promises to users, the costliest first. Properties that only support them come last.
const MOST_IMPORTANT: [PropertyName; 8] = [
    PropertyName::SINGLE_LEADER,
    PropertyName::FENCED_WRITES,
    PropertyName::FENCED_READS,
    PropertyName::TOKEN_MONOTONIC,
    PropertyName::LINEARIZABLE,
    PropertyName::OWN_LEASE_ONLY,
    PropertyName::UNFENCED_IN_ORDER,
    PropertyName::STORE_LOSS_QUARANTINE,
];

/// The first violation of the most important property.
fn headline(violations: &[Violation]) -> Option<usize> {
    let rank = |violation: &Violation| {
        let place = MOST_IMPORTANT.iter().position(|name| *name == violation.property);
        place.unwrap_or(MOST_IMPORTANT.len())
    };
    (0..violations.len()).min_by_key(|&index| (rank(&violations[index]), index))
}

/// The settings of all candidates; equal ones are listed once.
fn settings(plan: &Plan) -> Vec<(String, Vec<(String, String)>)> {
    let mut groups: Vec<(Vec<usize>, _)> = Vec::new();
    for node in 0..plan.nodes.len() {
        let settings = plan.settings_of(node);
        match groups.iter_mut().find(|(_, other)| *other == settings) {
            Some((nodes, _)) => nodes.push(node),
            None => groups.push((vec![node], settings)),
        }
    }
    let name = |nodes: Vec<usize>| {
        let names: Vec<String> = nodes.iter().map(|node| format!("n{node}")).collect();
        names.join(", ")
    };
    let fields = |settings| match serde_json::to_value(settings) {
        Ok(serde_json::Value::Object(fields)) => {
            fields.into_iter().map(|(name, value)| (name, value.to_string())).collect()
        }
        _ => Vec::new(),
    };
    groups.into_iter().map(|(nodes, settings)| (name(nodes), fields(settings))).collect()
}

/// A value's word in JSON.
fn plain(of: &impl Serialize) -> String {
    let value = serde_json::to_value(of).unwrap_or_default();
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::finding::Finding;

    #[test]
    fn the_headline_is_the_most_important_violation() {
        let violation = |property| {
            let finding = Finding::from(String::new());
            Violation { property, at: SimTime::from_nanos(1), finding }
        };
        let of = |names: &[PropertyName]| {
            headline(&names.iter().map(|name| violation(*name)).collect::<Vec<_>>())
        };
        assert_eq!(
            of(&[
                PropertyName::MARGIN_KEPT,
                PropertyName::FAIL_CLOSED,
                PropertyName::SINGLE_LEADER,
                PropertyName::SINGLE_LEADER
            ]),
            Some(2)
        );
        assert_eq!(of(&[PropertyName::MARGIN_KEPT, PropertyName::FAIL_CLOSED]), Some(0));
        assert_eq!(of(&[]), None);
    }
}
